"""A history compared with the execution that is known, instruction by instruction."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Tuple

from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.protocols.elements import DEBUG_STATE, Exception_, Gap, GapReason
from gdb_etm.selftest.findings import StepFailure
from gdb_etm.selftest.program import Layout
from gdb_etm.views.text import gap_text, plural

# Before the first instruction these are no loss.
_AT_FIRST = (GapReason.NOT_SYNCHRONISED, GapReason.OVERWRITTEN, GapReason.TRACE_ON, GapReason.NO_ADDRESS)
# After the last instruction of a buffer that stopped while the core ran on.
_AT_LAST = (GapReason.UNCOMMITTED, GapReason.CUT)


class TracedPath(NamedTuple):
    """Instructions of a history, and the gaps between them."""

    addresses: List[int]
    # Each with the number of instructions before it.
    gaps: List[Tuple[int, Gap]]
    # Exceptions that were taken, each with the number of instructions before it.
    exceptions: List[Tuple[int, Exception_]]


def executed(history: ExecutionHistory) -> TracedPath:
    """Take a history apart."""
    found = TracedPath([], [], [])
    for item in history.spans(1, len(history)):
        if isinstance(item, Span):
            found.addresses.extend(history.addresses(item.range))
        elif isinstance(item, Gap):
            found.gaps.append((len(found.addresses), item))
        elif isinstance(item, Exception_):
            found.exceptions.append((len(found.addresses), item))
    return found


def check_gaps(found: TracedPath, filtered: bool = False, may_be_cut: bool = False, is_stopped: bool = False) -> None:
    """See that nothing is missing within the trace.

    :param filtered: Whether the trace may go off and on again.
    :param may_be_cut: Whether the end of the trace may be missing.
    :param is_stopped: Whether the trace is known to end before the core halts.
    :raises StepFailure: Something is.
    """
    for before, gap in found.gaps:
        off = gap.reason is GapReason.TRACE_ON and (filtered or gap.detail == DEBUG_STATE)
        cut = may_be_cut and before == len(found.addresses) and gap.reason in _AT_LAST
        stopped = is_stopped and before == len(found.addresses) and gap.reason is GapReason.TRACE_ON
        if not off and not cut and not stopped and not (before == 0 and gap.reason in _AT_FIRST):
            where = " after %s" % plural(before, "instruction")
            raise StepFailure("byte 0x%x of the buffer%s: %s" % (gap.offset, where, gap_text(gap)))


def check_whole(found: TracedPath, wanted: Sequence[int], layout: Layout) -> None:
    """See that exactly what was wanted ran.

    :raises StepFailure: It did not, or the trace says something else.
    """
    check_gaps(found)
    _check_same(found.addresses, wanted, layout, 0)
    if len(found.addresses) < len(wanted):
        raise StepFailure(
            "the trace ends after %d of %s, before %s"
            % (
                len(found.addresses),
                plural(len(wanted), "instruction"),
                layout.name(wanted[len(found.addresses)]),
            )
        )


def check_end(found: TracedPath, wanted: Sequence[int], layout: Layout) -> int:
    """See that the trace is the end of what was wanted.

    :returns: How many instructions of it there are.
    :raises StepFailure: It is not.
    """
    check_gaps(found)
    kept = _without_end(found.addresses, wanted, layout)
    number = len(kept)
    if not number:
        raise StepFailure("no instruction in the trace")
    if number > len(wanted):
        raise StepFailure("%s in the trace, and only %d ran" % (plural(number, "instruction"), len(wanted)))
    _check_same(kept, wanted[len(wanted) - number :], layout, len(wanted) - number)
    return number


def check_begin(found: TracedPath, wanted: Sequence[int], layout: Layout, is_stopped: bool = False) -> int:
    """See that the trace is the beginning of what was wanted.

    :param is_stopped: Whether the trace is known to end before the core halts.

    :returns: How many instructions of it there are.
    :raises StepFailure: It is not.
    """
    check_gaps(found, may_be_cut=True, is_stopped=is_stopped)
    _check_same(found.addresses, wanted, layout, 0)
    return len(found.addresses)


def _without_end(addresses: List[int], wanted: Sequence[int], layout: Layout) -> List[int]:
    # The BKPT that ends the program may be in the trace, though it was not executed.
    return addresses[:-1] if len(addresses) and addresses[-1] == _bkpt(layout) else addresses


def _check_same(addresses: Sequence[int], wanted: Sequence[int], layout: Layout, skipped: int) -> None:
    for number, (one, other) in enumerate(zip(addresses, wanted), 1 + skipped):
        if one != other:
            raise StepFailure(
                "instruction %d: the trace says %s, the core ran %s" % (number, layout.name(one), layout.name(other))
            )
    if len(addresses) > len(wanted) and list(addresses[len(wanted) :]) != [_bkpt(layout)]:
        raise StepFailure("the trace goes on after the program's end: %s" % layout.name(addresses[len(wanted)]))


def _bkpt(layout: Layout) -> int:
    return layout.at("done")
