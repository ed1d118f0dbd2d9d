"""Configuration of an ETMv4 for decoding, from its registers.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 7.3.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple

from gdb_etm.capture import TraceSource
from gdb_etm.protocols.profile import is_m_profile, needed_registers

_NEEDED = ("TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2")


class Etmv4Config(NamedTuple):
    """The facts about a unit that decide how bytes are read."""

    # ATB trace ID, 0 to 0x7F (TRCTRACEIDR.TRACEID).
    trace_id: int
    # Minor architecture version: 5 for ETMv4.5 (TRCIDR1.TRCARCHMIN).
    version: int
    # Whether the core has the M-profile exception model.
    m_profile: bool
    # Whether targets that match the return stack are left out (TRCCONFIGR.RS).
    return_stack: bool
    # Layout of cycle count packets, 0 or 1 (TRCIDR0.COMMOPT).
    commit_mode: int
    # Size of a Context ID in bytes (TRCIDR2.CIDSIZE).
    context_id_bytes: int
    # Size of a VMID in bytes (TRCIDR2.VMIDSIZE).
    vmid_bytes: int
    # Whether WFI and WFE are traced as branches (TRCIDR2.WFXMODE, from 4.3).
    waits: bool
    # Whether branch-future instructions are traced (TRCIDR0.BF, from 4.5).
    futures: bool
    # How many P0 elements may be uncommitted (TRCIDR8.MAXSPEC).
    max_speculation: int
    # Whether loads are P0 instructions (TRCCONFIGR.INSTP0).
    loads: bool = False
    # Whether stores are P0 instructions (TRCCONFIGR.INSTP0).
    stores: bool = False
    # Which conditional non-branch instructions are traced (TRCCONFIGR.COND): 0 none, 1 loads, 2 stores, 3 both,
    # 7 all.
    conditional: int = 0
    # Whether their results are the APSR flags and not just pass or fail (TRCIDR0.CONDTYPE).
    condition_flags: bool = False
    # Whether the data stream has addresses (TRCCONFIGR.DA).
    data_addresses: bool = False
    # Whether the data stream has values (TRCCONFIGR.DV).
    data_values: bool = False
    # ATB trace ID of the data stream (TRCTRACEIDR; before 4.5 the instruction stream's plus one).
    data_trace_id: int = 0
    # How many keys P0 elements count through (TRCIDR9.NUMP0KEY; 0 and 1 both mean one).
    p0_keys: int = 1
    # How many right keys P1 elements count through (TRCIDR10.NUMP1KEY less TRCIDR11.NUMP1SPC); higher ones are
    # special.
    p1_keys: int = 1
    # How many keys conditional elements count through (TRCIDR12.NUMCONDKEY less TRCIDR13.NUMCONDSPC); higher ones are
    # special.
    condition_keys: int = 1
    # Whether a Timestamp's place is that of the Timestamp Marker before it (TRCIDR0.TSMARK, from 4.6).
    marked_timestamps: bool = False
    # Whether the unit has cycle counting (TRCIDR0.TRCCCI).
    can_count: bool = True
    # Whether the unit has tracing of conditional non-branch instructions (TRCIDR0.TRCCOND).
    can_trace_conditions: bool = True
    # Whether the unit has data trace (TRCIDR0.TRCDATA).
    can_trace_data: bool = True
    # Whether the unit has Q elements (TRCIDR0.QSUPP).
    can_skip: bool = True

    @property
    def data_trace(self) -> bool:
        """Whether the unit has a data stream beside the instruction stream."""
        return self.data_addresses or self.data_values

    @classmethod
    def from_registers(cls, registers: Mapping[str, int], m_profile: bool) -> "Etmv4Config":
        """Read the configuration from register values by datasheet name.

        :param registers: TRCCONFIGR, TRCTRACEIDR, TRCIDR0, TRCIDR1, TRCIDR2, and TRCIDR8 to TRCIDR13 where not zero.
        :param m_profile: Whether the core is an M-profile one; no trace register says so.
        :raises KeyError: When a needed register is missing.
        """
        config = registers["TRCCONFIGR"]
        idr0 = registers["TRCIDR0"]
        idr2 = registers["TRCIDR2"]
        version = registers["TRCIDR1"] >> 4 & 0xF
        loads_stores = config >> 1 & 3 if idr0 >> 1 & 3 == 3 else 0
        data = config >> 16 & 3 if idr0 >> 3 & 3 == 3 else 0
        trace_id = registers["TRCTRACEIDR"] & 0x7F

        def keys(total: str, special: str) -> int:
            return max(registers.get(total, 0) - registers.get(special, 0), 1)

        return cls(
            trace_id=trace_id,
            version=version,
            m_profile=m_profile,
            return_stack=bool(config >> 12 & 1),
            commit_mode=idr0 >> 29 & 1,
            context_id_bytes=idr2 >> 5 & 0x1F,
            vmid_bytes=idr2 >> 10 & 0x1F,
            waits=bool(idr2 >> 31) and version >= 3,
            futures=idr0 >> 18 & 3 == 1 and version >= 5,
            max_speculation=registers.get("TRCIDR8", 0),
            loads=bool(loads_stores & 1),
            stores=bool(loads_stores & 2),
            conditional=config >> 8 & 7 if idr0 >> 6 & 1 else 0,
            condition_flags=idr0 >> 12 & 3 == 1,
            data_addresses=bool(data & 1),
            data_values=bool(data & 2),
            data_trace_id=registers["TRCTRACEIDR"] >> 8 & 0x7F if version >= 5 else trace_id + 1,
            p0_keys=max(registers.get("TRCIDR9", 0), 1),
            p1_keys=keys("TRCIDR10", "TRCIDR11"),
            condition_keys=keys("TRCIDR12", "TRCIDR13"),
            can_count=bool(idr0 >> 7 & 1),
            can_trace_conditions=bool(idr0 >> 6 & 1),
            can_trace_data=idr0 >> 3 & 3 == 3,
            can_skip=idr0 >> 15 & 3 != 0,
            marked_timestamps=bool(idr0 >> 23 & 1) and version >= 6,
        )

    @classmethod
    def from_source(cls, source: TraceSource) -> "Etmv4Config":
        """Read the configuration of a capture's source.

        :raises CaptureError: When a register that decoding needs is missing, naming it.
        """
        return cls.from_registers(needed_registers(source, _NEEDED), is_m_profile(source.core))
