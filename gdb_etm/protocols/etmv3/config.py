"""Configuration of an ETMv3 for decoding, from its registers.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 3.5.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Tuple

from gdb_etm.capture import TraceSource
from gdb_etm.protocols.armv7.fields import CONTEXT_ID_BYTES
from gdb_etm.protocols.profile import is_m_profile, needed_registers

_NEEDED = ("ETMCR", "ETMTRACEIDR", "ETMIDR")


class Etmv3Config(NamedTuple):
    """The facts about a unit that decide how bytes are read."""

    # ATB trace ID, 0 to 0x7F (ETMTRACEIDR).
    trace_id: int
    # Minor architecture version: 5 for ETMv3.5 (ETMIDR[7:4]).
    version: int
    # Whether the core has the M-profile exception model.
    m_profile: bool
    # Whether P-headers count cycles (ETMCR[12]).
    cycle_accurate: bool = False
    # Size of a Context ID in bytes: 0, 1, 2 or 4 (ETMCR[15:14]).
    context_id_bytes: int = 0
    # Whether branch packets have the alternative address encoding (ETMIDR[20]).
    alternative_branches: bool = False
    # Whether a 32-bit Thumb instruction takes one atom and not two (ETMIDR[18]).
    whole_instructions: bool = True
    # Whether data packets have addresses (ETMCR[3]).
    data_addresses: bool = False
    # Whether data packets have values (ETMCR[2]).
    data_values: bool = False
    # Whether instructions are not traced (ETMCR[20]).
    data_only: bool = False
    # Whether coprocessor register transfers are traced with the data (ETMCR[1]).
    coprocessor: bool = False
    # Whether timestamps have 64 bits and not 48 (ETMCCER[29]).
    wide_timestamps: bool = False
    # Whether timestamps are Gray-coded (ETMCCER[28] is 0).
    gray_timestamps: bool = False

    @property
    def data_trace(self) -> bool:
        """Whether loads and stores are traced."""
        return self.data_addresses or self.data_values

    @property
    def timestamp_bytes(self) -> int:
        """How many bytes a timestamp has at most."""
        return 9 if self.wide_timestamps else 7

    @classmethod
    def from_registers(cls, registers: Mapping[str, int], m_profile: bool) -> "Etmv3Config":
        """Read the configuration from register values by datasheet name.

        :param registers: ETMCR, ETMTRACEIDR, ETMIDR and, of ETMv3.5, ETMCCER.
        :param m_profile: Whether the core is an M-profile one; no trace register says so.
        :raises KeyError: When a needed register is missing.
        """
        control, identity = registers["ETMCR"], registers["ETMIDR"]
        version = identity >> 4 & 0xF
        # Before 3.5 there are no timestamps.
        extension = registers["ETMCCER"] if version >= 5 else 1 << 28
        return cls(
            trace_id=registers["ETMTRACEIDR"] & 0x7F,
            version=version,
            m_profile=m_profile,
            cycle_accurate=bool(control >> 12 & 1),
            context_id_bytes=CONTEXT_ID_BYTES[control >> 14 & 3],
            alternative_branches=bool(identity >> 20 & 1),
            whole_instructions=bool(identity >> 18 & 1),
            data_addresses=bool(control >> 3 & 1),
            data_values=bool(control >> 2 & 1),
            data_only=bool(control >> 20 & 1),
            coprocessor=bool(control >> 1 & 1),
            wide_timestamps=bool(extension >> 29 & 1),
            gray_timestamps=not extension >> 28 & 1,
        )

    @classmethod
    def from_source(cls, source: TraceSource) -> "Etmv3Config":
        """Read the configuration of a capture's source.

        :raises CaptureError: When a register that decoding needs is missing, naming it.
        """
        needed: Tuple[str, ...] = _NEEDED
        if source.registers.get("ETMIDR", 0) >> 4 & 0xF >= 5:
            needed += ("ETMCCER",)
        return cls.from_registers(needed_registers(source, needed), is_m_profile(source.core))
