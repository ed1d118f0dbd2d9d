"""Two executions compared, as lines and as an object."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.analysis.compare import ElsewhereInterrupted, ExecutionComparison
from gdb_etm.recovery.values import Tier
from gdb_etm.views.schema import document
from gdb_etm.views.text import align, plural

# Functions that are listed; an object has all.
_MOST = 10
_BRANCH = "first branch that went another way"
_CALL = "first call that went another way"


class ComparedOperand(NamedTuple):
    """What a branch was decided by."""

    # Lower-case.
    register: str
    # None where it is not known.
    value: Optional[int]
    tier: Tier
    # Where it came from, in words; may be empty.
    origin: str


class ComparedPlace(NamedTuple):
    """Where one execution was."""

    number: int
    address: int
    # ``"parse+34"``, ``"rx.c:97"`` and the line itself; empty where unknown.
    symbol: str
    line: str
    source: str
    # The instruction.
    text: str


class ComparedBranch(NamedTuple):
    """The branch of one execution, and where it led."""

    branch: ComparedPlace
    # None where the execution ended.
    next: Optional[ComparedPlace]
    # What decided it; the branch itself where that is no other instruction.
    decided: ComparedPlace
    operands: Tuple[ComparedOperand, ...]
    # The functions around it, innermost first; the last may be an exception.
    callers: Tuple[str, ...]
    # Whether it was executed, where only one of both did; None of a branch.
    passed: Optional[bool] = None


class FunctionChange(NamedTuple):
    """How a function ran in both."""

    name: str
    # Calls that were seen to begin, and own instructions.
    left_calls: int
    right_calls: int
    left: int
    right: int


class TimeChange(NamedTuple):
    """The median cost of whole calls of a function in both."""

    name: str
    left: int
    right: int


class CalledAlike(NamedTuple):
    """Two builds compared by calls."""

    # How many functions.
    functions: int
    # Arguments and results that are known, and alike.
    values: int
    # The first that differs, such as ``"result"``; empty where it is a call that does, or nothing.
    differs: str


class ComparedExecutions(NamedTuple):
    """How two executions compare."""

    # What the user calls them, and how many instructions they have.
    names: Tuple[str, str]
    lengths: Tuple[int, int]
    # Whether they were compared by source line: two builds.
    by_line: bool
    comparison: ExecutionComparison
    # Of both, where there is a divergence.
    branches: Optional[Tuple[ComparedBranch, ComparedBranch]]
    # Of the exception that came elsewhere; None where it did not come.
    interrupted: Tuple[Optional[ComparedPlace], Optional[ComparedPlace]]
    functions: Tuple[FunctionChange, ...]
    # ``"cycles"`` where both were traced with them, else ``"instructions"``.
    unit: str
    times: Tuple[TimeChange, ...]
    doubts: Tuple[str, ...]
    # How many instructions there are before that which may be skipped without the trace saying so.
    unseen: int = 0
    # What was compared in place of lines; None where lines were.
    called: Optional[CalledAlike] = None

    @property
    def interrupt(self) -> Optional[ElsewhereInterrupted]:
        """The exception that came elsewhere."""
        return self.comparison.interrupt


def compare_lines(found: ComparedExecutions) -> Iterator[str]:
    """Say how two executions compare."""
    names = zip("AB", found.names, found.lengths)
    yield "; ".join("%s: %s, %s" % (letter, name, plural(length, "instruction")) for letter, name, length in names)
    what, how, part = "instruction", "", "branch"
    if found.called is not None:
        how = "two builds with lines in another order, compared by calls of %s: "
        how %= plural(found.called.functions, "function")
        what = part = "call"
    elif found.by_line:
        what, how = "source line", "two builds, compared by source line: "
    went = "" if found.branches else "; no %s went another way" % part
    yield "%salike for %s%s" % (how, plural(found.comparison.alike, what), went)
    if found.interrupt is not None:
        yield "%s came elsewhere:" % found.interrupt.name
        for letter, place in zip("AB", found.interrupted):
            yield "    %s  %s" % (letter, "after " + _place_text(place) if place is not None else "not before that")
    if found.branches is not None:
        yield from _branch_lines(found.branches, found.comparison, _title(found.called))
    if found.unseen:
        words = "not seen: whether %s (IT blocks) executed, but for what branches on it"
        yield words % plural(found.unseen, "conditional instruction")
    if found.called is not None:
        words = "not seen: what differs without another call, argument or result; %s known on both sides and alike"
        yield words % ("%d of the latter are" % found.called.values)
    yield from _change_lines(found)
    for doubt in found.doubts:
        yield "doubt: " + doubt


def _title(called: Optional[CalledAlike]) -> str:
    if called is None:
        return _BRANCH
    return "first %s that differs" % called.differs if called.differs else _CALL


def _branch_lines(
    branches: Tuple[ComparedBranch, ComparedBranch], comparison: ExecutionComparison, title: str
) -> Iterator[str]:
    left, right = branches
    there = comparison.divergence
    handler = ", in %s" % there.handler if there is not None and there.handler else ""
    what = "first instruction that only one of them executed" if there is not None and there.is_skipped else title
    yield "%s%s:" % (what, handler)
    for letter, one in zip("AB", branches):
        yield "    %s  %s  %s" % (letter, _place_text(one.branch), one.branch.text)
        if one.passed is not None:
            yield "       %s" % ("executed" if one.passed else "skipped: its condition failed")
        else:
            yield "       -> %s" % (_place_text(one.next) if one.next is not None else "the end")
    if left.branch.source:
        yield "    " + left.branch.source
    if left.decided.number != left.branch.number:
        yield "    decided by %s  %s" % (left.decided.text, left.decided.line)
    for operand, other in zip(left.operands, right.operands):
        yield "    %-4s A %s" % (operand.register, _operand_text(operand))
        yield "    %-4s B %s" % (other.register, _operand_text(other))
    yield "    in %s" % ", called by ".join(left.callers)


def _place_text(place: ComparedPlace) -> str:
    return " ".join(filter(None, ("#{:,}".format(place.number), "<%s>" % place.symbol, place.line)))


def _operand_text(operand: ComparedOperand) -> str:
    if operand.value is None:
        return "<unavailable>"
    origin = ": " + operand.origin if operand.origin else ""
    return "0x%08x (%s)%s" % (operand.value, operand.tier.name.lower(), origin)


def _change_lines(found: ComparedExecutions) -> Iterator[str]:
    if found.functions:
        yield "functions that ran more, less, or in one only:"
        rows: List[List[str]] = [["    ", "calls A", "calls B", "instructions A", "instructions B"]]
        for one in found.functions[:_MOST]:
            rows.append(["    " + one.name, *["{:,}".format(number) for number in one[1:]]])
        yield from align(rows)
        if len(found.functions) > _MOST:
            yield "    ... and %d more" % (len(found.functions) - _MOST)
    if found.times:
        yield "%s of a call, median:" % found.unit
        rows = [["    " + one.name, "%d -> %d" % (one.left, one.right)] for one in found.times[:_MOST]]
        yield from align(rows)


def compare_object(found: ComparedExecutions) -> Dict[str, Any]:
    """Make the object of a comparison."""
    there, interrupt = found.comparison.divergence, found.interrupt
    return document(
        "compare",
        {
            "names": list(found.names),
            "instructions": list(found.lengths),
            "by_line": found.by_line,
            "alike": found.comparison.alike,
            "handler": there.handler or None if there is not None else None,
            "unseen_conditions": found.unseen,
            "calls": found.called._asdict() if found.called is not None else None,
            "branch": [_branch_object(one) for one in found.branches] if found.branches is not None else None,
            "interrupt": (
                {"name": interrupt.name, "after": [_place_object(one) for one in found.interrupted]}
                if interrupt is not None
                else None
            ),
            "functions": [one._asdict() for one in found.functions],
            "unit": found.unit,
            "times": [one._asdict() for one in found.times],
            "doubts": list(found.doubts),
        },
    )


def _branch_object(one: ComparedBranch) -> Dict[str, Any]:
    return {
        "branch": _place_object(one.branch),
        "next": _place_object(one.next),
        "decided": _place_object(one.decided),
        "passed": one.passed,
        "operands": [
            {
                "register": operand.register,
                "value": operand.value,
                "tier": operand.tier.name.lower(),
                "origin": operand.origin or None,
            }
            for operand in one.operands
        ],
        "callers": list(one.callers),
    }


def _place_object(place: Optional[ComparedPlace]) -> Optional[Dict[str, Any]]:
    if place is None:
        return None
    return {
        "number": place.number,
        "address": hex(place.address),
        "symbol": place.symbol or None,
        "line": place.line or None,
        "source": place.source or None,
        "text": place.text,
    }
