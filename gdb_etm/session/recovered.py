"""A history's recovery on request, with progress, and its findings."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Iterator, List, Optional, Set

from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.values import Finding, Written
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.progress import Meter, Task
from gdb_etm.views.text import plural

_PARTS = 1000
# Instructions that are worked out for a value that nobody has asked for; it takes a second for each 10,000.
_UNASKED = 20000
_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")


# The setting ``gdb`` that asks for this GDB's own program, started a second time.
THIS_GDB = "auto"


class Recovered:
    """A history's recovery, and which findings were reported.

    :param recovery: It.
    :param asked: The settings and the program that it was made with.
    :param watch: Receives the progress of the work.
    """

    def __init__(self, recovery: Recovery, asked: object, watch: Watch) -> None:
        self.recovery = recovery
        self.asked = asked
        # Whether the user has ended the work before it was done.
        self.is_refused = False
        self._watch = watch
        self._told: Set[Finding] = set()

    def is_long(self, number: int) -> bool:
        """Check whether solving up to an instruction would take long."""
        return self.recovery.pending(number) > _UNASKED

    def solve(self, number: int, meter: Meter) -> None:
        """Work out what leads to an instruction, unless that is done already.

        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        with self._task(number, meter):
            self.recovery.register(number, "r0")

    def writes(self, address: int, size: int, enough: Optional[int], meter: Meter) -> Written:
        """Find the stores that wrote a piece of memory.

        :param enough: How many will do.
        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        with self._task(self.recovery.first(len(self.recovery.history)), meter):
            return self.recovery.writes(address, size, enough)

    @contextmanager
    def _task(self, number: int, meter: Meter) -> Iterator[None]:
        what = "working out the values of %s" % plural(self.recovery.pending(number), "instruction")
        with meter.task(what, _PARTS) as task:
            self._watch.begin(task)
            try:
                yield
            except KeyboardInterrupt:
                self.is_refused = True
                raise
            finally:
                self._watch.begin(None)

    def news(self, debugger: Debugger) -> List[str]:
        """Give the findings that were not reported yet, as lines."""
        found = [one for one in self.recovery.findings if one not in self._told]
        self._told.update(found)
        return ["etm: " + _finding_text(debugger, one) for one in found]


class Watch:
    """Where a recovery's progress goes: to the task of the moment."""

    def __init__(self) -> None:
        self._task: Optional[Task] = None
        self._done = 0

    def begin(self, task: Optional[Task]) -> None:
        """Pass progress on to a task, or to nobody."""
        self._task, self._done = task, 0

    def __call__(self, share: float) -> None:
        if self._task is not None:
            now = int(share * _PARTS)
            self._task.advance(now - self._done)
            self._done = now


def _finding_text(debugger: Debugger, finding: Finding) -> str:
    where = "" if finding.number is None else " (instruction {:,})".format(finding.number)
    return named(debugger, finding.text) + where


def named(debugger: Debugger, text: str) -> str:
    """Add symbols after addresses: ``the call at 0x1dc <main+24> kept r4``."""

    def name(found: "re.Match[str]") -> str:
        symbol = debugger.symbol_at(int(found.group(), 16))
        return "%s <%s>" % (found.group(), symbol) if symbol else found.group()

    return _ADDRESS.sub(name, text)
