"""Checks of quantities: calls, costs, latencies, coverage, stack."""

from __future__ import annotations

import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.analysis.measured import MeasuredCall
from gdb_etm.api.measures import STACK_SIZE
from gdb_etm.profiles.tables import TableReader
from gdb_etm.recovery.values import Tier
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS
from gdb_etm.unattended.figures import Figure, Judgement, Observed, Sample, where_text
from gdb_etm.views.text import plural

_EXCEPTION = re.compile(
    r"NMI|HardFault|MemManage|BusFault|UsageFault|SecureFault|SVC(?:all)?|DebugMonitor|PendSV|SysTick|IRQ[0-9]+"
)
_MOST = (1 << 63) - 1
_CALLS = "calls"


class CheckLimits(NamedTuple):
    """What values of a quantity may be."""

    at_least: Optional[int] = None
    at_most: Optional[int] = None
    median_at_least: Optional[int] = None
    median_at_most: Optional[int] = None

    @property
    def words(self) -> str:
        """The limits in words."""
        named = zip(("at least", "at most", "median at least", "median at most"), self)
        return ", ".join("%s %d" % (word, limit) for word, limit in named if limit is not None)


def limits_of(reader: TableReader, with_median: bool) -> CheckLimits:
    """Read limits; one at least."""
    keys = ["at-least", "at-most"] + (["median-at-least", "median-at-most"] if with_median else [])
    found = CheckLimits(*[reader.number(key, _MOST) if reader.has(key) else None for key in keys])
    if not any(one is not None for one in found):
        raise reader.refuse("a limit is missing: one of " + ", ".join(keys))
    for least, most, what in (
        (found.at_least, found.at_most, ""),
        (found.median_at_least, found.median_at_most, "median-"),
    ):
        if least is not None and most is not None and least > most:
            raise reader.refuse("%sat-least %d is above %sat-most %d" % (what, least, what, most))
    return found


def is_exception(name: str) -> bool:
    """Tell whether a name is an exception's, as the trace gives it."""
    return _EXCEPTION.fullmatch(name) is not None


class LimitCheck:
    """A check whose figure has limits.

    :param what: The quantity, such as ``"cycles of dispatch"``.
    :param unit: Of its values.
    :param limits: Its limits.
    :param measure: Gives the samples of a run.
    :param is_total: Whether a run has one sample, which what was not seen could only make larger.
    :param nothing: What is said where there is no sample.
    :param doubts: Filled with what of it is not known.
    """

    def __init__(
        self,
        what: str,
        unit: str,
        limits: CheckLimits,
        measure: Callable[[Observed], Iterator[Sample]],
        is_total: bool = False,
        nothing: str = "was not seen from begin to end",
        doubts: Sequence[str] = (),
    ) -> None:
        self.what = what
        self.unit = unit
        self.limits = limits
        self._measure = measure
        self._is_total = is_total
        self._nothing = nothing
        self._samples: List[Sample] = []
        self._doubts = doubts

    @property
    def doubts(self) -> Sequence[str]:
        """What of it is not known."""
        return self._doubts

    @property
    def title(self) -> str:
        """What is checked, in words."""
        return "%s: %s" % (self.what, self.limits.words)

    def take(self, observed: Observed) -> bool:
        """Measure a run; tell whether it broke a limit."""
        found = list(self._measure(observed))
        self._samples += found
        return any(self._broken(one) for one in found)

    @property
    def figures(self) -> Tuple[Figure, ...]:
        """All that was measured."""
        return (Figure(self.what, self.unit, tuple(self._samples)),)

    def _broken(self, sample: Sample) -> str:
        least, most = self.limits.at_least, self.limits.at_most
        if most is not None and sample.value > most:
            return "at most"
        return "at least" if least is not None and sample.value < least else ""

    def judge(self) -> Judgement:
        """Judge what was measured."""
        (figure,) = self.figures
        low, middle, high = figure.minimum, figure.median, figure.maximum
        if low is None or middle is None or high is None:
            return Judgement(False, False, self._nothing)
        for sample in (high, low):
            broken = self._broken(sample)
            if broken:
                is_sure = broken == "at most" or not self._is_total
                return Judgement(False, is_sure, "%s in %s" % (self._amount(sample.value), where_text(sample)))
        least, most = self.limits.median_at_least, self.limits.median_at_most
        if most is not None and middle.value > most or least is not None and middle.value < least:
            return Judgement(False, False, "the median is %s, in %s" % (self._amount(middle.value), where_text(middle)))
        only_least = self._is_total and self.limits.at_most is None
        spread = "" if low.value == high.value else "{:,} to ".format(low.value)
        return Judgement(True, only_least, spread + self._amount(high.value))

    def _amount(self, value: int) -> str:
        return plural(value, self.unit[:-1])


def calls_check(reader: TableReader) -> LimitCheck:
    """How often a function was called, or an exception taken."""
    name = reader.text("calls-of")

    def measure(observed: Observed) -> Iterator[Sample]:
        measures = observed.history.measures
        if is_exception(name):
            numbers = [one.after for one in measures.exceptions() if one.name == name]
        else:
            measures.require(name)
            numbers = [one.first for one in _of(measures.calls(INSTRUCTIONS), name) if one.begun]
        yield observed.sample(len(numbers), numbers[0] if numbers else 0)

    return LimitCheck("calls of " + name, _CALLS, limits_of(reader, True), measure, is_total=True)


def cost_check(reader: TableReader, unit: str) -> LimitCheck:
    """What calls of a function or runs of a handler cost."""
    name = reader.text(unit + "-of")

    def measure(observed: Observed) -> Iterator[Sample]:
        measures = observed.history.measures
        if not is_exception(name):
            measures.require(name)
        for one in _of(measures.calls(unit), name):
            if one.cost is not None:
                yield observed.sample(one.cost, one.first)

    return LimitCheck("%s of %s" % (unit, name), unit, limits_of(reader, True), measure)


def latency_check(reader: TableReader) -> LimitCheck:
    """How long it took from an exception to a function."""
    exception, function = pair(reader, "latency")
    unit = reader.text("unit", INSTRUCTIONS)
    if unit not in (INSTRUCTIONS, CYCLES):
        raise reader.refuse('unit must be "%s" or "%s"' % (INSTRUCTIONS, CYCLES))
    if not is_exception(exception):
        raise reader.refuse('latency: "%s" is no exception; such as SysTick, IRQ0' % exception)

    def measure(observed: Observed) -> Iterator[Sample]:
        observed.history.measures.require(function)
        for one in observed.history.measures.latencies(exception, function, unit):
            if one.cost is not None:
                yield observed.sample(one.cost, one.first)

    what = "latency from %s to %s" % (exception, function)
    return LimitCheck(what, unit, limits_of(reader, True), measure, nothing="no %s came to it" % exception)


def stack_check(reader: TableReader) -> LimitCheck:
    """How deep a stack was, in bytes."""
    if not reader.flag("stack"):
        raise reader.refuse("stack must be true")
    top = reader.number("top") if reader.has("top") else None
    size = reader.number("size", default=STACK_SIZE)

    doubts: List[str] = []

    def measure(observed: Observed) -> Iterator[Sample]:
        found = observed.history.measures.stack(top, size)
        if found.unknown:
            unknown = plural(found.unknown, "instruction")
            doubts.append("run %d: the stack pointer before %s is not known" % (observed.run, unknown))
        if found.tier is Tier.ASSUMED:
            doubts.append("run %d: the deepest stack pointer rests on assumptions" % observed.run)
        yield observed.sample(found.size, found.number)

    what = "depth of the main stack" if top is None else "depth of the stack below 0x%08x" % top
    return LimitCheck(what, "bytes", limits_of(reader, False), measure, is_total=True, doubts=doubts)


class CoverageCheck:
    """A check of a source file's coverage, in all runs together.

    :param reader: Its table.
    """

    def __init__(self, reader: TableReader) -> None:
        self._file = reader.text("coverage")
        kinds = ("lines", "branches", "functions")
        self._wanted = {kind: reader.number(kind, 100) for kind in kinds if reader.has(kind)}
        if not self._wanted:
            raise reader.refuse("a limit is missing: one of %s, in percent" % ", ".join(kinds))
        # Of each kind what was seen, each by its place.
        self._seen: Dict[str, Dict[Tuple[int, int, int], bool]] = {kind: {} for kind in kinds}
        self._run = 0
        # What of it is not known: nothing.
        self.doubts: Sequence[str] = ()

    @property
    def title(self) -> str:
        """What is checked, in words."""
        wanted = ", ".join("%s at least %d %%" % one for one in self._wanted.items())
        return "coverage of %s: %s" % (self._file, wanted)

    def take(self, observed: Observed) -> bool:
        """Add a run."""
        self._run = observed.run
        found = observed.history.measures.coverage(self._file)
        for line in found.lines:
            self._add("lines", (line.line, 0, 0), line.times > 0)
            for at, branch in enumerate(line.branches):
                for way, times in enumerate(branch):
                    self._add("branches", (line.line, at, way), times > 0)
        for at, function in enumerate(found.functions):
            self._add("functions", (function.line, at, 0), function.times > 0)
        return False

    def _add(self, kind: str, place: Tuple[int, int, int], was_seen: bool) -> None:
        self._seen[kind][place] = self._seen[kind].get(place, False) or was_seen

    def _percent(self, kind: str) -> int:
        # Rounded down: 100 is all of them.
        seen = self._seen[kind].values()
        return 100 * sum(seen) // len(seen) if seen else 0

    @property
    def figures(self) -> Tuple[Figure, ...]:
        """The percentages of all kinds."""
        kinds = [kind for kind in self._seen if self._seen[kind]]
        named = [("%s of %s" % (kind, self._file), self._percent(kind)) for kind in kinds]
        return tuple([Figure(what, "percent", (Sample(value, self._run, 0),)) for what, value in named])

    def judge(self) -> Judgement:
        """Judge what was seen."""
        short = [kind for kind, least in self._wanted.items() if self._percent(kind) < least]
        found = ", ".join(
            "%s %d/%d" % (kind, sum(self._seen[kind].values()), len(self._seen[kind])) for kind in self._wanted
        )
        return Judgement(not short, not short, found)


def pair(reader: TableReader, key: str) -> Sequence[str]:
    """Read a list of two names."""
    found = reader.texts(key)
    if len(found) != 2:
        raise reader.refuse("%s must be a list of two names" % key)
    return found


def _of(calls: Sequence[MeasuredCall], name: str) -> Iterator[MeasuredCall]:
    # Of a function, or of the handlers of an exception.
    by_exception = is_exception(name)
    for one in calls:
        if one.is_handler and one.exception == name if by_exception else one.name == name:
            yield one
