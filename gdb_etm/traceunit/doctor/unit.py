"""What checks of every kind of trace unit share."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.registers import etmv3, etmv4, mtb
from gdb_etm.registers.coresight import CLAIM_EXTERNAL
from gdb_etm.registers.page import Page, Register
from gdb_etm.traceunit.apply import differences
from gdb_etm.traceunit.doctor.findings import FIX, START, DoctorFinding, Mend, bad, ok
from gdb_etm.traceunit.doctor.reading import Reading, RegisterBlock
from gdb_etm.traceunit.plan import Plan, RegisterWrite
from gdb_etm.traceunit.session import TraceSession

FILTER = "filter"
STARTED = "the start/stop block is on: a start point ran, or the trace began so"
_FIRST_RESERVED_ID = 0x70
_SHOWN = 3


class Circumstances(NamedTuple):
    """What is known besides the registers.

    :param session: The trace session, once trace unit and buffer are ours.
    :param is_tracing: Whether tracing was started.
    :param is_empty: Whether the last capture holds no instruction; None without one since tracing was started.
    """

    session: Optional[TraceSession]
    is_tracing: bool
    is_empty: Optional[bool]

    @property
    def advice(self) -> str:
        """What sets right what "etm start" sets."""
        return FIX if self.is_tracing else START

    @property
    def is_unprogrammed(self) -> bool:
        """Whether "etm start" has not programmed the unit yet.

        An idle unit's filter and trace ID mean nothing then.
        """
        return self.session is None or self.session.plan is None

    @property
    def unit_mend(self) -> Mend:
        """What opens a unit that is closed."""
        return Mend.UNIT if self.session is not None else Mend.ATTACH

    def power(self, block: RegisterBlock, register: Register) -> Reading:
        """Read the unit's power status.

        A read clears its sticky bit: while the unit is ours, its driver keeps that.
        """
        if self.session is None:
            return block.read(register)
        return Reading(register, self.session.unit.look(register))

    def check_programming(self, block: RegisterBlock, page: Page, enable: int) -> Iterator[DoctorFinding]:
        """Compare the unit with its plan, but for volatile fields.

        :param page: The unit's registers.
        :param enable: The bits that switch it on and off.
        """
        if self.session is None or self.session.plan is None:
            return
        writes = [_lasting(write, page, enable) for write in self.session.plan.writes]
        found = differences(Plan(tuple(writes)), *block.place)
        if not found:
            number = len({write.offset for write in writes if write.mask})
            yield ok("programming", "%d registers read as they were written" % number)
            return
        more = ", and %d registers more" % (len(found) - 1) if len(found) > 1 else ""
        yield bad("programming", found[0] + more, FIX, Mend.START)


def _lasting(write: RegisterWrite, page: Page, enable: int) -> RegisterWrite:
    # Without the bits that change in use.
    register = page.by_offset.get(write.offset)
    moving = 0 if register is None else register.moving & 0xFFFFFFFF
    if write.name in (etmv4.TRCPRGCTLR.name, etmv3.ETMCR.name, mtb.MASTER.name):
        moving |= enable
    return write._replace(mask=write.mask & ~moving)


def claim(block: RegisterBlock, tags: Reading, register: Register) -> DoctorFinding:
    """Judge the claim tags."""
    others = tags["CLR"] & ~CLAIM_EXTERNAL
    if others:
        words = "software on the target uses the unit (tag 0x%02x)" % others
        advice = "stop that software; if there is none: %s" % block.write_text(register, others)
        return bad("claim", tags.says(words), advice)
    return ok("claim", tags.says("a debugger's" if tags["CLR"] else "nobody's"))


def trace_id(register: Reading, field: str, advice: str) -> DoctorFinding:
    """Check the trace ID against the reserved ones (CoreSight D4.2).

    0x00 and those from 0x70 on are reserved.
    """
    value = register[field]
    if 0 < value < _FIRST_RESERVED_ID:
        return ok("trace ID", register.says("ID 0x%02x" % value))
    return bad("trace ID", register.says("0x%02x is reserved: no trace is kept under it" % value), advice, Mend.START)


def ranges(
    lists: Reading, include: Sequence[Tuple[int, int]], exclude: Sequence[Tuple[int, int]], around: Circumstances
) -> DoctorFinding:
    """Check a filter's address ranges, by first and last addresses."""
    words = [verb + _listed(pairs) for verb, pairs in (("only ", include), ("not ", exclude)) if pairs]
    whole = include or [(0, 0xFFFFFFFF)]
    if all(any(low <= first and last <= high for low, high in exclude) for first, last in whole):
        return bad(FILTER, lists.says("it excludes everything: " + ", ".join(words)), START)
    if around.is_empty:
        return bad(FILTER, lists.says("nothing of it ran: " + ", ".join(words)), "%s with another filter" % START)
    return ok(FILTER, lists.says(", ".join(words)))


def start_point(status: Reading, field: str, around: Circumstances) -> DoctorFinding:
    """Judge a start/stop block that is off and has a start point."""
    words = "the start/stop block is off (%s)" % field
    if around.is_empty:
        return bad(FILTER, status.says(words + ": its start point never ran"), "%s with another filter" % START)
    return ok(FILTER, status.says(words + ": tracing waits for its start point"))


def _listed(pairs: Sequence[Tuple[int, int]]) -> str:
    shown = ", ".join("0x%08x-0x%08x" % pair for pair in pairs[:_SHOWN])
    return shown + (" and %d more" % (len(pairs) - _SHOWN) if len(pairs) > _SHOWN else "")
