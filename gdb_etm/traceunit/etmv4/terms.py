"""Event expressions in terms of an ETMv4's resource selectors.

One selector, or two joined.

IHI 0064, 4.4.1 and 4.4.2, tables 4-13 and 4-14.  A selector is any of some resources of one group, perhaps inverted; a
pair of selectors joins two of these.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple, Union

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv4
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.events import And, Constant, Event, Not, Or
from gdb_etm.traceunit.plan import RegisterWrite

# Values of TRCRSCTLRn.GROUP (table 7-8).
EXTERNAL_INPUTS, PROCESSOR, DERIVED, SINGLE_SHOTS, SINGLES, RANGES, CONTEXTS, MACHINES = range(8)
# The sequencer's first state among the members of :data:`DERIVED`.
STATE_0 = 4
_PAIR = 1 << 7  # of an event field
_MOST_SELECTORS = 32


class Term(NamedTuple):
    """Any of some resources of a group, or none of them."""

    group: int
    # A bit for each.
    members: int
    inverted: bool = False


class Joined(NamedTuple):
    """Conjunction or disjunction of two terms."""

    first: Term
    second: Term
    both: bool


Reduced = Union[bool, Term, Joined]


def reduced(event: Event, term_of: Callable[[Event], Term], words: str) -> Reduced:
    """Put an expression as one term or two joined.

    :param term_of: Finds the resource of an event that is not joined of others.
    :param words: What the expression is called, should it be refused.
    :raises UnsupportedError: It takes more.
    """

    def walk(each: Event, negated: bool) -> Reduced:
        if isinstance(each, Not):
            return walk(each.of, not negated)
        if isinstance(each, Constant):
            return each.value is not negated
        if isinstance(each, (And, Or)):
            # Under a "not", "and" becomes "or" of what is negated.
            both = isinstance(each, And) is not negated
            return _joined((walk(each.first, negated), walk(each.second, negated)), both, words)
        return term_of(each)._replace(inverted=negated)

    return walk(event, False)


def _joined(parts: Sequence[Reduced], both: bool, words: str) -> Reduced:
    if any(part is (not both) for part in parts):
        return not both
    parts = [part for part in parts if not isinstance(part, bool)]
    if len(parts) == 1:
        return parts[0]
    terms: List[Term] = []
    for part in parts:
        if isinstance(part, Term):
            terms.append(part)
        elif isinstance(part, Joined) and part.both is both:
            terms += [part.first, part.second]
        elif isinstance(part, Joined):
            raise _too_many(words)
    terms = _merged(terms, both)
    if any(term._replace(inverted=not term.inverted) in terms for term in terms):
        return not both
    if len(terms) > 2:
        raise _too_many(words)
    if not terms:
        return both
    return terms[0] if len(terms) == 1 else Joined(terms[0], terms[1], both)


def _merged(terms: Sequence[Term], both: bool) -> List[Term]:
    # "a or b" of one group is one selector, and so is "not a and not b".
    result: List[Term] = []
    for term in terms:
        at = next(
            (n for n, each in enumerate(result) if each.group == term.group and each.inverted is term.inverted is both),
            None,
        )
        if at is not None:
            result[at] = term._replace(members=result[at].members | term.members)
        elif term not in result:
            result.append(term)
    return result


def _too_many(words: str) -> UnsupportedError:
    return UnsupportedError(
        '"%s" joins more than an event can: two kinds of resources, each of them perhaps several with "or" between'
        " (TRCRSCTLRn.GROUP); a counter or a state of the sequencer can stand for a part of it" % words,
        "TRCRSCTLRn.GROUP",
    )


class Selectors:
    """The resource selectors of a unit, given out one by one."""

    def __init__(self) -> None:
        self._taken: Dict[int, int] = {}  # number -> value of TRCRSCTLRn
        self._words: Dict[int, str] = {}

    def field(self, event: Reduced, words: str) -> int:
        """Return the event field of an event.

        It may need more selectors than the unit has.

        :param words: What it is, for the plan.
        """
        if isinstance(event, bool):
            return etmv4.EVENT_TRUE if event else etmv4.EVENT_FALSE
        if isinstance(event, Term):
            return self._single(_encoded(event), words)
        return _PAIR | self._pair(_pair(event), words)

    @property
    def needed(self) -> int:
        """How many pairs there must be, with the fixed one."""
        return max(self._taken, default=1) // 2 + 1

    @property
    def numbers(self) -> Tuple[int, ...]:
        """Which are taken."""
        return tuple(sorted(self._taken))

    def writes(self) -> List[RegisterWrite]:
        """Write those that are taken."""
        found = []
        for n in self.numbers:
            register = etmv4.TRCRSCTLR[n]
            found.append(RegisterWrite(register.name, register.offset, self._taken[n], register.mask, self._words[n]))
        return found

    def check(self, capabilities: Capabilities) -> None:
        """Refuse what the unit has not.

        :raises UnsupportedError: It has fewer.
        """
        there = capabilities.selector_pairs
        if self.needed > there:
            raise UnsupportedError(
                "this unit has %d pair%s of resource selectors, the first of them fixed (TRCIDR4.NUMRSPAIR); the events"
                " need %d" % (there, "" if there == 1 else "s", self.needed),
                "TRCIDR4.NUMRSPAIR",
            )

    def _single(self, value: int, words: str) -> int:
        # PAIRINV does not count where one selector is selected, so half of a pair does too.
        pair_inverted = etmv4.TRCRSCTLR[2].fields["PAIRINV"].mask
        same = next((n for n in self.numbers if self._taken[n] & ~pair_inverted == value), None)
        if same is not None:
            return same
        return self._take(next(n for n in range(2, _MOST_SELECTORS * 4) if n not in self._taken), value, words)

    def _pair(self, values: Tuple[int, int], words: str) -> int:
        for pair in range(1, _MOST_SELECTORS * 4):
            halves = 2 * pair, 2 * pair + 1
            held = tuple(self._taken.get(n) for n in halves)
            if held == values:
                return pair
            if held == (None, None):
                for n, value in zip(halves, values):
                    self._take(n, value, words)
                return pair
        raise AssertionError("a plan has finitely many events")

    def _take(self, number: int, value: int, words: str) -> int:
        self._taken[number], self._words[number] = value, words
        return number


def _encoded(term: Term, inverted: bool = False, pair_inverted: bool = False) -> int:
    return etmv4.TRCRSCTLR[2].encode(
        GROUP=term.group, SELECT=term.members, INV=int(term.inverted is not inverted), PAIRINV=int(pair_inverted)
    )


def _pair(event: Joined) -> Tuple[int, int]:
    # A or B is not (not A and not B).  Of the codes that this makes, two are reserved (table 4-14): those in which only
    # the second term is negated, so the terms are swapped.
    first, second = event.first, event.second
    if second.inverted and not first.inverted:
        first, second = second, first
    either = not event.both
    return _encoded(first, either, either), _encoded(second, either)
