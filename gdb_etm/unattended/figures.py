"""Figures of checks, and verdicts on them."""

from __future__ import annotations

from enum import Enum
from typing import List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.api.history import History
from gdb_etm.errors import CommandError


class ScriptError(CommandError):
    """Script or check that cannot be read."""


class CheckOutcome(Enum):
    """What became of a check."""

    PASSED = "passed"
    FAILED = "failed"
    # What was seen would pass or fail, but what was not seen may change that.
    UNCERTAIN = "uncertain"


class Sample(NamedTuple):
    """One value, and where it was measured."""

    value: int
    # Which run, from 1.
    run: int
    # Number of the instruction where it began; 0 where it is of the run as a whole.
    number: int
    # Such as ``"rx.c:121"``; empty where unknown.
    line: str = ""


class Figure(NamedTuple):
    """All values of one quantity."""

    # Such as ``"cycles of dispatch"``.
    what: str
    # ``"calls"``, ``"instructions"``, ``"cycles"``, ``"bytes"``, ``"percent"`` or ``"faults"``.
    unit: str
    samples: Tuple[Sample, ...]

    def ordered(self) -> List[Sample]:
        """Give the samples by value; of equal ones the earlier first."""
        return sorted(self.samples)

    @property
    def minimum(self) -> Optional[Sample]:
        """The smallest; None without samples."""
        return min(self.samples, default=None)

    @property
    def median(self) -> Optional[Sample]:
        """The lower one of two in the middle; None without samples."""
        return self.ordered()[(len(self.samples) - 1) // 2] if self.samples else None

    @property
    def maximum(self) -> Optional[Sample]:
        """The largest, the first of equal ones; None without samples."""
        return max(self.samples, key=lambda one: (one.value, -one.run, -one.number), default=None)


class Judgement(NamedTuple):
    """What a check says of what was seen."""

    is_right: bool
    # Whether what was not seen could not change that, had there been any.
    is_sure: bool
    # One line: what was found.
    text: str


class CheckResult(NamedTuple):
    """A check's outcome with the figures that it rests on."""

    name: str
    # The key that says what is checked, such as ``"cycles-of"``.
    kind: str
    outcome: CheckOutcome
    text: str
    figures: Tuple[Figure, ...]
    # What was not seen, or how figures are inexact; empty where they rest on all that ran.
    basis: Tuple[str, ...]


class Observed(NamedTuple):
    """One run, to be asked."""

    # From 1.
    run: int
    history: History

    def line(self, number: int) -> str:
        """Name the source line of an instruction; empty where unknown."""
        if not 1 <= number <= len(self.history):
            return ""
        return self.history.line_at(self.history.instruction(number).address)

    def sample(self, value: int, number: int) -> Sample:
        """Make a sample."""
        return Sample(value, self.run, number, self.line(number))


def where_text(sample: Sample) -> str:
    """Say where a sample is from, such as ``run 2, #1,234 rx.c:93``."""
    place = " #{:,}".format(sample.number) if sample.number else ""
    line = " " + sample.line if sample.line else ""
    return "run %d%s" % (sample.run, ("," + place if place else "") + line)


def decided(judgement: Judgement, missing: Sequence[str], accepts: bool) -> CheckOutcome:
    """Decide a check.

    :param missing: What was not seen.
    :param accepts: Whether what was seen is enough.
    """
    if missing and not judgement.is_sure and not accepts:
        return CheckOutcome.UNCERTAIN
    return CheckOutcome.PASSED if judgement.is_right else CheckOutcome.FAILED
