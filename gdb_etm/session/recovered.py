"""The past's registers and memory of a capture, worked out at the first look and kept with it."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Dict, Iterator, List, Mapping, Optional, Set

from gdb_etm.errors import CommandError
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.values import Finding, Tier, Written
from gdb_etm.replay.reliance import reliance_of
from gdb_etm.session.captures import Decoded, Record
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.progress import Interrupted, Meter, Task
from gdb_etm.session.recovery_inputs import recovery_of
from gdb_etm.session.session import Session
from gdb_etm.views.text import plural

_PARTS = 1000
_KEPT = 3
# Histories whose values are kept.
_UNASKED = 20000
# Instructions that are worked out for a value that nobody has asked for; it takes a second for each 10,000.
_REGISTERS = ["r%d" % number for number in range(13)] + ["sp", "lr", "xpsr"]
VARIABLES: Mapping[str, None] = {"etm_" + name: None for name in _REGISTERS}
"""The convenience variables for registers, void."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")


THIS_GDB = "auto"
"""The setting ``gdb`` that asks for this GDB's own program, started a second time."""


class Recovered:
    """The recovery of one history, with how far the user was told of it.

    :param recovery: It.
    :param asked: The settings and the program that it was made with.
    :param watch: Is told how far the work is.
    """

    def __init__(self, recovery: Recovery, asked: object, watch: _Watch) -> None:
        self.recovery = recovery
        self.asked = asked
        self.is_refused = False
        """Whether the user has ended the work before it was done."""
        self._watch = watch
        self._told: Set[Finding] = set()

    def is_long(self, number: int) -> bool:
        """Tell whether what leads to an instruction takes so long that nobody wants it unasked."""
        return self.recovery.pending(number) > _UNASKED

    def solve(self, number: int, meter: Meter) -> None:
        """Work out what leads to an instruction, unless that is done already.

        :raises Interrupted: By Ctrl-C; it goes on when it is asked for.
        """
        with self._task(number, meter):
            self.recovery.register(number, "r0")

    def writes(self, address: int, size: int, enough: Optional[int], meter: Meter) -> Written:
        """Find the stores that wrote a piece of memory, working out what they were found among.

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
        """Tell what the user should know of it and was not told yet."""
        found = [one for one in self.recovery.findings if one not in self._told]
        self._told.update(found)
        return ["etm: " + _finding_text(debugger, one) for one in found]


class _Watch:
    # Where the recovery's progress goes: to the task of the moment.

    def __init__(self) -> None:
        self._task: Optional[Task] = None
        self._done = 0

    def begin(self, task: Optional[Task]) -> None:
        self._task, self._done = task, 0

    def __call__(self, share: float) -> None:
        if self._task is not None:
            now = int(share * _PARTS)
            self._task.advance(now - self._done)
            self._done = now


def _finding_text(debugger: Debugger, finding: Finding) -> str:
    where = "" if finding.number is None else " (instruction {:,})".format(finding.number)
    return named(debugger, finding.text) + where


def recovered(session: Session, record: Record, decoded: Decoded) -> Recovered:
    """Give the recovery of a history; it works when it is asked.

    :raises CommandError: It is off, or there is nothing in the history.
    """
    reliance = reliance_of(session.settings)
    if reliance.limit is Tier.UNKNOWN:
        raise CommandError('the past\'s registers and memory are not worked out: "set etm recovery assumed" has them')
    if not len(decoded.history):
        raise CommandError("the history holds no instructions")
    files = tuple(session.debugger.program_files())
    asked = reliance, files
    known = decoded.recovered
    if known is None or known.asked != asked:
        watch = _Watch()
        recovery = recovery_of(record, decoded, files, reliance, watch)
        decoded.recovered = known = Recovered(recovery, asked, watch)
        _drop_old(session.worked_out, decoded)
    return known


def _drop_old(worked_out: List[Decoded], decoded: Decoded) -> None:
    # A recovery takes up to a hundred megabytes; it can be made again.
    worked_out[:] = [one for one in worked_out if one is not decoded] + [decoded]
    for old in worked_out[:-_KEPT]:
        old.recovered = None
    del worked_out[:-_KEPT]


class Variables:
    """The registers at a walk's position, for convenience variables.

    :param session: Its settings say how far to go.
    :param record: The capture.
    :param decoded: The history of the walk.
    """

    def __init__(self, session: Session, record: Record, decoded: Decoded) -> None:
        self._session = session
        self._record = record
        self._decoded = decoded

    def at(self, number: int) -> Dict[str, Optional[int]]:
        """Give them before an instruction; what is not known is None, and so is all that would take long."""
        values: Dict[str, Optional[int]] = dict(VARIABLES)
        history = self._decoded.history
        if number > len(history):
            end = self._record.anchored.after(history)
            values.update({"etm_" + name: end.registers.get(name) for name in _REGISTERS} if end is not None else {})
            return values
        try:
            found = recovered(self._session, self._record, self._decoded)
            if found.is_long(number) or found.is_refused and found.recovery.pending(number):
                return values
            found.solve(number, self._session.meter)
        except (CommandError, Interrupted):
            return values
        values.update({"etm_" + name: found.recovery.register(number, name).value for name in _REGISTERS})
        return values

    def news(self) -> List[str]:
        """Tell what the user should know of how they were worked out."""
        found = self._decoded.recovered
        return found.news(self._session.debugger) if found is not None else []


def named(debugger: Debugger, text: str) -> str:
    """Put names behind the addresses in a reason: ``the call at 0x1dc <main+24> kept r4``."""

    def name(found: "re.Match[str]") -> str:
        symbol = debugger.symbol_at(int(found.group(), 16))
        return "%s <%s>" % (found.group(), symbol) if symbol else found.group()

    return _ADDRESS.sub(name, text)
