"""DWT comparators for an ETMv4 without address comparators.

They drive its PE comparator inputs.

IHI 0064, 4.2.6 (PE comparator inputs) and 4.1.3; TRCIDR4.NUMPC.  Addresses become inputs, and ranges the event that
enables ViewInst; all else is planned as for any other unit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.actions import Rule, StartTracing, StopTracing, Trace
from gdb_etm.traceunit.dwt_match import DwtComparators, MatchTarget, note
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.events import (
    Accessed,
    And,
    Committed,
    Event,
    Executed,
    ExecutedIn,
    Not,
    Or,
    Watched,
    alternatives,
    any_of,
)
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite, Taken
from gdb_etm.traceunit.ranges import joined, without

_FIELD = "TRCIDR4.NUMACPAIRS"


class Lent(NamedTuple):
    """Options in which comparators of the DWT stand for addresses."""

    options: TraceOptions
    dwt: Tuple[RegisterWrite, ...] = ()
    taken: Tuple[Taken, ...] = ()
    notes: Tuple[str, ...] = ()


def lend(options: TraceOptions, capabilities: Capabilities) -> Lent:
    """Replace addresses by DWT comparators where the unit has none.

    :raises UnsupportedError: Too few are free, or they cannot compare what is asked for.
    """
    there = capabilities.dwt
    if capabilities.field(_FIELD) or not there.free:
        return Lent(options)
    lender = _Lender(there)
    rules = [rule._replace(when=lender.replaced(rule.when), text=rule.text or str(rule.when)) for rule in options.rules]
    rules += [
        Rule(lender.at(address, "start", StartTracing()), StartTracing(), "start 0x%08x" % address)
        for address in options.start_at
    ]
    rules += [
        Rule(lender.at(address, "stop", StopTracing()), StopTracing(), "stop 0x%08x" % address)
        for address in options.stop_at
    ]
    view = _view(options, lender)
    if view is not None:
        # A range and what enables the trace besides must both be so.
        others = [rule.when for rule in rules if rule.do == Trace()]
        rules = [rule for rule in rules if rule.do != Trace()]
        rules.append(Rule(And(view, any_of(others)) if others else view, Trace(), "ranges"))
    found = replace(options, rules=tuple(rules), start_at=(), stop_at=(), include=(), exclude=())
    if not lender.used:
        return Lent(options)
    lender.check()
    return Lent(found, tuple(lender.writes()), tuple(lender.taken), (note(tuple(lender.used)),))


def _view(options: TraceOptions, lender: _Lender) -> Optional[Event]:
    ranges = without(options.include, options.exclude) if options.include else joined(options.exclude)
    if options.include and not ranges:
        raise UnsupportedError(
            "nothing is left to trace: what is included is excluded as well (TRCVIIECTLR.EXCLUDE)",
            "TRCVIIECTLR.EXCLUDE",
        )
    if not ranges:
        return None
    matched = any_of([lender.within(pair, "include" if options.include else "exclude") for pair in ranges])
    return matched if options.include else Not(matched)


class _Lender:
    # Gives out comparators, one block the same one each time.

    def __init__(self, there: DwtComparators) -> None:
        self._there = there
        self._given: Dict[MatchTarget, int] = {}
        self.taken: List[Taken] = []

    @property
    def used(self) -> Sequence[int]:
        """Which comparators are given."""
        return list(self._given.values())

    def writes(self) -> List[RegisterWrite]:
        return [write for block, number in self._given.items() for write in self._there.writes(number, block)]

    def at(self, address: int, use: str, action: object) -> Event:
        return self._input(MatchTarget(address, 1, "%s 0x%08x" % (action, address)), use)

    def within(self, pair: AddressRange, use: str) -> Event:
        return self._inputs(ExecutedIn(pair), use)

    def replaced(self, event: Event) -> Event:
        """Put inputs in the place of addresses."""
        if isinstance(event, (Executed, ExecutedIn, Accessed)):
            return self._inputs(event, "event")
        if isinstance(event, And):
            return And(self.replaced(event.first), self.replaced(event.second))
        if isinstance(event, Or):
            return Or(self.replaced(event.first), self.replaced(event.second))
        if isinstance(event, Not):
            return Not(self.replaced(event.of))
        if isinstance(event, Committed):
            inner = [leaf for each in event.of for leaf in alternatives(self.replaced(each))]
            return replace(event, of=tuple(dict.fromkeys(inner)))
        return event

    def _inputs(self, event: Event, use: str) -> Event:
        return any_of([self._input(block, use) for block in self._there.blocks_of(event, _FIELD)])

    def _input(self, block: MatchTarget, use: str) -> Event:
        known = block._replace(why="")
        for given, number in self._given.items():
            if given._replace(why="") == known:
                return Watched(number)
        # The number needed is reported at the end.
        there = self._there.free
        number = there[len(self._given)] if len(self._given) < len(there) else len(self._given)
        self._given[block] = number
        self.taken.append(Taken(use, block.where, "DWT comparator %d" % number))
        return Watched(number)

    def check(self) -> None:
        """See that there are enough.

        :raises UnsupportedError: There are not.
        """
        if len(self._given) <= len(self._there.free):
            return
        raise UnsupportedError(
            "this unit has no address comparators (TRCIDR4.NUMACPAIRS), and of the DWT's, which match %s, %d are free:"
            " the filters need %d; watchpoints take them too"
            % (self._there.words, len(self._there.free), len(self._given)),
            _FIELD,
        )
