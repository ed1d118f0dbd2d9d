"""A history's recovery on request, with progress, and its findings."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Callable, ContextManager, Dict, Iterable, Iterator, List, Optional, Set

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.neighbourhoods import REACHES, Neighbourhood
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.values import Finding, Written
from gdb_etm.session.background import Background
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.progress import Meter, Task
from gdb_etm.views.text import plural

_PARTS = 1000
# Instructions that are worked out for a value that nobody has asked for; it takes a second for each 10,000.
_UNASKED = 20000
# Those that somebody at a prompt waits for.
_AT_ONCE = 2 * REACHES[0]
_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")


# The setting ``gdb`` that asks for this GDB's own program, started a second time.
THIS_GDB = "auto"


class Recovered:
    """A history's recovery, and which findings were reported.

    :param recovery: It.
    :param asked: The settings and the program that it was made with.
    :param watch: Receives the progress of the work.
    :param background: Goes on with it.
    :param read: Reads what that needs of the target, a part in each step, some of them before the first.
    """

    def __init__(
        self,
        recovery: Recovery,
        asked: object,
        watch: Watch,
        background: Background,
        read: Callable[[], Iterator[None]] = lambda: iter(()),
    ) -> None:
        self.recovery = recovery
        self.asked = asked
        # Whether the user has ended the work before it was done.
        self.is_refused = False
        self._watch = watch
        self._background = background
        self._read = read
        # What a diagnosis looks at, once somebody asked.
        self.scene: Optional[Scene] = None
        # What is not read yet.
        self._unread: Iterator[None] = iter(())
        # What the background works towards.
        self._aim = 0
        self._told: Set[Finding] = set()

    def is_final(self, number: int) -> bool:
        """Check whether all is known of a moment that will be.

        What the core held at the end is.
        """
        recovery = self.recovery
        if number > len(recovery.history):
            return True
        return number >= recovery.first(number) and not recovery.pending(number)

    def waits(self, number: int, most: int = _AT_ONCE) -> bool:
        """Check whether whoever asks for a moment waits for all.

        :param most: How many instructions a user at a prompt waits for.
        """
        if number < self.recovery.first(number):
            return False
        return not self._background.is_possible or self.recovery.pending(number) <= most

    def look(self, number: int, meter: Meter) -> None:
        """Work a moment out; what takes long, in the background.

        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        if self.waits(number):
            self.solve(number, meter)
            return
        self._glance(number, meter)
        if self._background.is_possible and not self.is_final(number):
            self._aim = number
            if not self._background.works_for(self):
                self._unread = self._read()
                self._background.start(self, self._work)

    def registers(self, number: int, names: Iterable[str], meter: Meter) -> Dict[str, Optional[int]]:
        """Give registers that nobody has asked for; nobody waits long for them.

        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        if self.waits(number) and self.recovery.pending(number) <= _UNASKED:
            self.solve(number, meter)
        else:
            self._glance(number, meter)
        near = self.recovery.near(number)
        return {name: near.register(number, name).value for name in names}

    def _glance(self, number: int, meter: Meter) -> None:
        # Its neighbourhood, unless more is known already.
        with self.unchanged():
            with self._task("working out the values around instruction {:,}".format(number), meter):
                self.recovery.near(number)

    @contextmanager
    def solved(self, number: int, meter: Meter) -> Iterator[Recovery]:
        """Work out what leads to an instruction; meanwhile the background stands still.

        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        with self.unchanged():
            self.solve(number, meter)
            yield self.recovery

    def unchanged(self) -> ContextManager[None]:
        """Let the background stand still."""
        return self._background.held()

    def solve(self, number: int, meter: Meter) -> None:
        """Work out what leads to an instruction, unless that is done already.

        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        if self.recovery.pending(number):
            with self._alone(number, meter):
                self.recovery.register(number, "r0")

    @contextmanager
    def _alone(self, number: int, meter: Meter) -> Iterator[None]:
        # What the background has begun is begun again.
        goes_on = self._background.works_for(self)
        self._background.stop()
        try:
            pending = plural(self.recovery.pending(number), "instruction")
            with self._task("working out the values of %s" % pending, meter):
                yield
        finally:
            if goes_on:
                self._background.start(self, self._work)

    def _work(self) -> None:
        for _ in self._unread:
            self._background.tick()
        while self.recovery.extend(self._aim):
            self._background.tick()

    def notes(self, number: int) -> List[str]:
        """Say that what is shown of a moment is provisional."""
        if self.is_final(number):
            return []
        near = self.recovery.near(number)
        size = near.last - near.first + 1 if isinstance(near, Neighbourhood) else 0
        text = "[provisional: worked out from {} around here".format(plural(size, "instruction"))
        if number < self.recovery.first(number):
            text += '; "set etm recovery-limit" leaves out what leads from here to the end'
        elif self._background.works_for(self):
            pending = plural(self.recovery.pending(number), "instruction")
            text += "; {} up to the end are being worked out".format(pending)
        return [text + "]"]

    @property
    def status(self) -> str:
        """Say how much is worked out."""
        since, last = self.recovery.since, len(self.recovery.history)
        text = "none is worked out up to the end"
        if since <= last:
            text = "worked out from instruction {:,} to {:,}".format(since, last)
        return "values of the past: %s%s" % (
            text,
            ", going on in the background" if self._background.works_for(self) else "",
        )

    def writes(self, address: int, size: int, enough: Optional[int], meter: Meter) -> Written:
        """Find the stores that wrote a piece of memory.

        :param enough: How many will do.
        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        with self._alone(self.recovery.first(len(self.recovery.history)), meter):
            return self.recovery.writes(address, size, enough)

    @contextmanager
    def _task(self, what: str, meter: Meter) -> Iterator[None]:
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
    """Where a recovery's progress goes: to the task of the moment.

    :param background: Works on it, too; that has no task.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._task: Optional[Task] = None
        self._done = 0

    def begin(self, task: Optional[Task]) -> None:
        """Pass progress on to a task, or to nobody."""
        self._task, self._done = task, 0

    def __call__(self, share: float) -> None:
        if not self._background.tick() and self._task is not None:
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
