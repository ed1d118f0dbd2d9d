"""Facts about unit and core that decide how packets are read.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3 and 3.2; Armv8-M ARM (DDI 0553), D1.2.108,
D1.2.297, DHCSR.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.protocols.mtb.exceptions import FIRST_INTERRUPT, INTERRUPTS

_EN, _TSTOPEN, _TSTARTEN = 1 << 31, 1 << 6, 1 << 5
_MOST_STEPS = 15
# DHCSR.S_RESET_ST.
_WAS_RESET = 1 << 25


class MtbConfig(NamedTuple):
    """What is the same for all captures of a program."""

    # It is on no trace bus.
    trace_id: int = 0
    # Address of the vector table; None where it is not known.
    vtor: Optional[int] = None
    # How many vectors there are at most.
    vectors: int = FIRST_INTERRUPT + INTERRUPTS
    # The vector table as the target's memory had it, if it was read.
    table: bytes = b""

    @classmethod
    def from_source(cls, source: TraceSource) -> "MtbConfig":
        """Read the configuration of a capture's source; no register is needed."""
        vtor = source.registers.get("VTOR")
        steps = source.registers.get("ICTR", 0) & _MOST_STEPS
        vectors = FIRST_INTERRUPT + INTERRUPTS * (steps + 1)
        memory = source.core.memory if source.core is not None else ()
        table = b""
        for image in memory:
            offset = -1 if vtor is None else vtor - image.address
            if 0 <= offset < len(image.data):
                table = image.data[offset : offset + 4 * vectors]
        return cls(0, vtor, vectors, table)


class BufferEnds(NamedTuple):
    """What is known of the two ends of a buffer's trace."""

    # Whether the oldest packet is the first since tracing started.
    is_first: bool = False
    # Where the core was when tracing started; None where that is not known.
    begin: Optional[int] = None
    # Whether tracing had stopped before the core halted; None where that is not known.
    stopped: Optional[bool] = None
    # Whether a reset stopped it.
    was_reset: bool = False
    # Where the core halted; None where that is not known.
    halted_at: Optional[int] = None
    # The exception that it was in then: its number, 0 for none; None where that is not known.
    exception: Optional[int] = None

    @classmethod
    def from_source(cls, source: TraceSource, end: BufferEnd) -> "BufferEnds":
        """Read them from a capture's source.

        :param end: Why the oldest packet is the oldest.
        """
        master = source.registers.get("MTB_MASTER")
        registers: Mapping[str, int] = source.core.registers if source.core is not None else {}
        begin = source.core.begin if source.core is not None else None
        started = end is BufferEnd.STARTED
        # A start event may come later than the run, and after a stop event another one.
        from_begin = started and begin is not None and master is not None and not master & _TSTARTEN
        stopped = None if master is None else not master & _EN
        ends_known = master is not None and master & (_TSTARTEN | _TSTOPEN) != _TSTARTEN | _TSTOPEN
        pc, xpsr = registers.get("pc"), registers.get("xpsr")
        return cls(
            started,
            begin.registers["pc"] & ~1 if from_begin and begin is not None and "pc" in begin.registers else None,
            stopped,
            bool(stopped and source.registers.get("DHCSR", 0) & _WAS_RESET),
            pc & ~1 if pc is not None and stopped is False and ends_known else None,
            None if xpsr is None else xpsr & 0x1FF,
        )
