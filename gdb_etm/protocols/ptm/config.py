"""Configuration of a PTM for decoding, from its registers.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 3.13.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gdb_etm.capture import TraceSource
from gdb_etm.protocols.armv7.fields import CONTEXT_ID_BYTES
from gdb_etm.protocols.profile import needed_registers

_NEEDED = ("ETMCR", "ETMTRACEIDR", "ETMIDR", "ETMCCER")


class PtmConfig(NamedTuple):
    """The facts about a unit that decide how bytes are read."""

    # ATB trace ID, 0 to 0x7F (ETMTRACEIDR).
    trace_id: int
    # Minor architecture version: 1 for PFTv1.1 (ETMIDR[7:4]).
    version: int
    # Whether packets count cycles (ETMCR[12]).
    cycle_accurate: bool = False
    # Size of a Context ID in bytes: 0, 1, 2 or 4 (ETMCR[15:14]).
    context_id_bytes: int = 0
    # Whether targets that match the return stack are left out (ETMCR[29]).
    return_stack: bool = False
    # Whether DMB and DSB are waypoints (ETMCCER[24]).
    barriers: bool = False
    # Whether timestamps have 64 bits and not 48 (ETMCCER[29]).
    wide_timestamps: bool = False
    # Whether timestamps are Gray-coded (ETMCCER[28] is 0).
    gray_timestamps: bool = False

    @property
    def timestamp_bytes(self) -> int:
        """How many bytes a timestamp has at most."""
        return 9 if self.wide_timestamps else 7

    @classmethod
    def from_registers(cls, registers: Mapping[str, int]) -> "PtmConfig":
        """Read the configuration from register values by datasheet name.

        :param registers: ETMCR, ETMTRACEIDR, ETMIDR and ETMCCER.
        :raises KeyError: When a needed register is missing.
        """
        control, extension = registers["ETMCR"], registers["ETMCCER"]
        return cls(
            trace_id=registers["ETMTRACEIDR"] & 0x7F,
            version=registers["ETMIDR"] >> 4 & 0xF,
            cycle_accurate=bool(control >> 12 & 1),
            context_id_bytes=CONTEXT_ID_BYTES[control >> 14 & 3],
            return_stack=bool(control >> 29 & 1),
            barriers=bool(extension >> 24 & 1),
            wide_timestamps=bool(extension >> 29 & 1),
            gray_timestamps=not extension >> 28 & 1,
        )

    @classmethod
    def from_source(cls, source: TraceSource) -> "PtmConfig":
        """Read the configuration of a capture's source.

        :raises CaptureError: When a register that decoding needs is missing, naming it.
        """
        return cls.from_registers(needed_registers(source, _NEEDED))
