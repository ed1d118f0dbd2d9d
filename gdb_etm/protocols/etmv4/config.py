"""What a decoder must know of the unit before the first byte, from its registers.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 7.3.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from gdb_etm.capture import TraceSource
from gdb_etm.errors import CaptureError

_NEEDED = ("TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2")


class Etmv4Config(NamedTuple):
    """The facts about a trace unit that decide how its bytes are read."""

    trace_id: int
    """ATB trace ID, 0 to 0x7F (TRCTRACEIDR.TRACEID)."""
    version: int
    """Minor architecture version: 5 for ETMv4.5 (TRCIDR1.TRCARCHMIN)."""
    m_profile: bool
    """Whether the core has the M-profile exception model."""
    return_stack: bool
    """Whether targets that match the return stack are left out (TRCCONFIGR.RS)."""
    commit_mode: int
    """Layout of cycle count packets, 0 or 1 (TRCIDR0.COMMOPT)."""
    context_id_bytes: int
    """Size of a Context ID in bytes (TRCIDR2.CIDSIZE)."""
    vmid_bytes: int
    """Size of a VMID in bytes (TRCIDR2.VMIDSIZE)."""
    waits: bool
    """Whether WFI and WFE are traced as branches (TRCIDR2.WFXMODE, from 4.3)."""
    futures: bool
    """Whether branch-future instructions are traced (TRCIDR0.BF, from 4.5)."""
    max_speculation: int
    """How many P0 elements may be uncommitted (TRCIDR8.MAXSPEC)."""

    @classmethod
    def from_registers(cls, registers: Mapping[str, int], m_profile: bool) -> "Etmv4Config":
        """Read the configuration from register values by datasheet name.

        :param registers: TRCCONFIGR, TRCTRACEIDR, TRCIDR0, TRCIDR1, TRCIDR2, and TRCIDR8 when not zero.
        :param m_profile: Whether the core is an M-profile one; no trace register says so.
        :raises KeyError: When a needed register is missing.
        """
        config = registers["TRCCONFIGR"]
        idr0 = registers["TRCIDR0"]
        idr2 = registers["TRCIDR2"]
        version = registers["TRCIDR1"] >> 4 & 0xF
        return cls(
            trace_id=registers["TRCTRACEIDR"] & 0x7F,
            version=version,
            m_profile=m_profile,
            return_stack=bool(config >> 12 & 1),
            commit_mode=idr0 >> 29 & 1,
            context_id_bytes=idr2 >> 5 & 0x1F,
            vmid_bytes=idr2 >> 10 & 0x1F,
            waits=bool(idr2 >> 31) and version >= 3,
            futures=idr0 >> 18 & 3 == 1 and version >= 5,
            max_speculation=registers.get("TRCIDR8", 0),
        )

    @classmethod
    def from_source(cls, source: TraceSource) -> "Etmv4Config":
        """Read the configuration of a capture's source.

        :raises CaptureError: When a register that decoding needs is missing, naming it.
        """
        missing: Optional[str] = next((name for name in _NEEDED if name not in source.registers), None)
        if missing is not None:
            raise CaptureError("%s: register %s is missing; decoding needs its value" % (source.name, missing))
        core = source.core.type.lower() if source.core is not None else ""
        return cls.from_registers(source.registers, "cortex-m" in core or core.startswith("star-mc"))
