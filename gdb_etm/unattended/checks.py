"""A script's checks: which key asks for which."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.profiles.tables import TableReader
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS
from gdb_etm.unattended.figures import CheckResult, Figure, Judgement, Observed, decided
from gdb_etm.unattended.limits import CoverageCheck, calls_check, cost_check, latency_check, stack_check
from gdb_etm.unattended.rules import FaultCheck, HandlerCheck, OrderCheck


class CheckRule(Protocol):
    """What is checked."""

    @property
    def title(self) -> str:
        """What is checked, in words."""

    @property
    def figures(self) -> Tuple[Figure, ...]:
        """What was measured."""

    @property
    def doubts(self) -> Sequence[str]:
        """What of it is not known, beside what was not seen."""

    def take(self, observed: Observed) -> bool:
        """Look at a run; tell whether something of it is wrong."""

    def judge(self) -> Judgement:
        """Judge what was seen."""


_RULES: Dict[str, Callable[[TableReader], CheckRule]] = {
    "calls-of": calls_check,
    "instructions-of": lambda reader: cost_check(reader, INSTRUCTIONS),
    "cycles-of": lambda reader: cost_check(reader, CYCLES),
    "latency": latency_check,
    "order": OrderCheck,
    "coverage": CoverageCheck,
    "not-in-handlers": HandlerCheck,
    "stack": stack_check,
    "fault": FaultCheck,
}


class CheckRequest(NamedTuple):
    """A check that a script asks for."""

    # What it is called; made of what it checks unless the script names it.
    name: str
    kind: str
    # Makes it, without anything measured.
    make: Callable[[], CheckRule]
    # Whether what was seen is enough to decide it; None: as for all.
    accepts: Optional[bool]


def is_accepted(reader: TableReader) -> Optional[bool]:
    """Read what is done where not all was seen."""
    if not reader.has("incomplete"):
        return None
    found = reader.text("incomplete")
    if found not in ("accept", "refuse"):
        raise reader.refuse('incomplete must be "accept" or "refuse"')
    return found == "accept"


def check_of(reader: TableReader) -> CheckRequest:
    """Read a check's table."""
    kinds = [key for key in reader.keys if key in _RULES]
    if len(kinds) != 1:
        found = "; it has " + ", ".join(kinds) if kinds else ""
        raise reader.refuse("a check has one of %s%s" % (", ".join(_RULES), found))
    name = reader.text("name", "")
    accepts = is_accepted(reader)
    copy = reader.copy()
    rule = _RULES[kinds[0]](reader)
    return CheckRequest(name or rule.title, kinds[0], lambda: _RULES[kinds[0]](copy.copy()), accepts)


class RunningCheck:
    """A check, with what it has seen so far.

    :param request: Which.
    """

    def __init__(self, request: CheckRequest) -> None:
        self._request = request
        self._rule = request.make()
        # Why it cannot be decided; empty where it can.
        self._error = ""

    def take(self, observed: Observed) -> bool:
        """Look at a run; tell whether something of it is wrong."""
        try:
            return self._rule.take(observed)
        except CommandError as error:
            self._error = self._error or str(error)
            return True

    def result(self, missing: Sequence[str], inexact: Sequence[str], accepts: bool) -> CheckResult:
        """Decide it.

        :param missing: What was not seen of the runs.
        :param inexact: How figures in cycles are inexact.
        :param accepts: What the script says of that.
        """
        request, found = self._request, Judgement(False, True, self._error) if self._error else self._rule.judge()
        missing = [*missing, *dict.fromkeys(self._rule.doubts)]
        outcome = decided(found, missing, accepts if request.accepts is None else request.accepts)
        figures = self._rule.figures
        basis = [*missing, *(inexact if any(one.unit == CYCLES for one in figures) else ())]
        return CheckResult(request.name, request.kind, outcome, found.text, figures, tuple(basis))


def kinds() -> List[str]:
    """List what can be checked, by the key of each."""
    return list(_RULES)
