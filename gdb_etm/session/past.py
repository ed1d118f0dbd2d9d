"""The walk and the recovery of a capture, made at first use."""

from __future__ import annotations

from functools import partial
from typing import Dict, Iterator, List, Mapping, Optional

from gdb_etm.errors import CommandError
from gdb_etm.recovery.values import Tier
from gdb_etm.replay.reliance import reliance_of
from gdb_etm.session.anchor import ram_in_use
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.progress import Interrupted
from gdb_etm.session.recovered import Recovered, Watch
from gdb_etm.session.recovery_inputs import has_a64, recovery_of
from gdb_etm.session.reverse import follow, shared
from gdb_etm.session.session import DebugSession
from gdb_etm.session.walk import Walk

# Histories whose values are kept.
_KEPT = 3
_REGISTERS = ["r%d" % number for number in range(13)] + ["sp", "lr", "xpsr"]
# The convenience variables for registers, void.
VARIABLES: Mapping[str, None] = {"etm_" + name: None for name in _REGISTERS}


def walk(session: DebugSession) -> Walk:
    """Give the walk through the shown history, from its end.

    Where the debugger moves through the same history, it is where the debugger is.

    :raises CommandError: There is no capture, or nothing in it.
    """
    decoded = session.shown()
    if session.places is None:
        raise CommandError("this needs a debugger's symbols")
    if not len(decoded.history):
        raise CommandError("the history holds no instructions")
    if decoded.walk is None:
        is_halted = session.look().is_live and decoded.anchored.end is not None
        calls = partial(decoded.calls, session.places.function_at)
        variables = RecoveredVariables(session, decoded)
        decoded.walk = Walk(decoded.history, calls, session.places, is_halted, variables)
        decoded.walk.cursor.marks = decoded.marks
    follow(session, decoded.walk)
    return decoded.walk


def walked_in(session: DebugSession, decoded: Decoded) -> Optional[Walk]:
    """Give a history's walk; None where nobody has moved in it."""
    return walk(session) if shared(session) is not None and decoded is session.shown() else decoded.walk


def position(session: DebugSession, decoded: Decoded) -> int:
    """Give the number of the instruction at the position.

    At the end it is one more than there are; 0 is before the first.
    """
    try:
        walked = walked_in(session, decoded)
    except CommandError:
        return 0
    return walked.cursor.position.number if walked is not None else len(decoded.history) + 1


def recovered(session: DebugSession, decoded: Decoded) -> Recovered:
    """Give the recovery of a history; it works when it is asked.

    :raises CommandError: It is off, or there is nothing in the history.
    """
    reliance = reliance_of(session.settings)
    if reliance.limit is Tier.UNKNOWN:
        raise CommandError(
            'the past\'s registers and memory are not worked out; "set etm recovery assumed" turns that on'
        )
    if not len(decoded.history):
        raise CommandError("the history holds no instructions")
    files = tuple(session.debugger.program_files())
    asked = reliance, files
    known = decoded.recovered
    if known is None or known.asked != asked:
        if has_a64(decoded.history):
            raise CommandError("values of the past are worked out for 32-bit cores only")
        session.background.stop()
        watch = Watch(session.background)
        recovery = recovery_of(decoded, files, reliance, watch)
        decoded.recovered = known = Recovered(
            recovery, asked, watch, session.background, partial(_read_memory, session, decoded)
        )
        _drop_old(session.worked_out, decoded)
    return known


def _read_memory(session: DebugSession, decoded: Decoded) -> Iterator[None]:
    # The RAM in use at the halt; each block is read once.  What the debugger itself reads is read before this returns.
    end = decoded.anchored.end
    if end is None:
        return iter(())
    reading = end.reading(ram_in_use(session.images(), end.registers))
    return reading if session.reads_beside else iter(list(reading))


def _drop_old(worked_out: List[Decoded], decoded: Decoded) -> None:
    # A recovery takes up to a hundred megabytes; it can be made again.
    worked_out[:] = [one for one in worked_out if one is not decoded] + [decoded]
    for old in worked_out[:-_KEPT]:
        old.recovered = None
    del worked_out[:-_KEPT]


class RecoveredVariables:
    """The registers at a walk's position, for convenience variables.

    :param session: Its settings say how far to go.
    :param decoded: The history of the walk.
    """

    def __init__(self, session: DebugSession, decoded: Decoded) -> None:
        self._session = session
        self._decoded = decoded
        # What was given last is provisional: the number of its instruction.
        self._provisional: Optional[int] = None

    def at(self, number: int) -> Dict[str, Optional[int]]:
        """Give the registers before an instruction, None where unknown.

        What would take long is told by its neighbourhood alone.
        """
        values: Dict[str, Optional[int]] = dict(VARIABLES)
        history = self._decoded.history
        self._provisional = None
        if number > len(history):
            end = self._decoded.anchored.after(history)
            values.update({"etm_" + name: end.registers.get(name) for name in _REGISTERS} if end is not None else {})
            return values
        mover = shared(self._session)
        if mover is not None:
            # The debugger knows them.
            there = mover.registers()
            values.update({"etm_" + name: there.get(name) for name in _REGISTERS})
            return values
        try:
            found = recovered(self._session, self._decoded)
            if found.is_refused and not found.is_final(number):
                return values
            registers = found.registers(number, _REGISTERS, self._session.meter)
        except (CommandError, Interrupted):
            return values
        self._provisional = None if found.is_final(number) else number
        values.update({"etm_" + name: value for name, value in registers.items()})
        return values

    @property
    def is_behind(self) -> bool:
        """Whether more is known by now than was given last."""
        found = self._decoded.recovered
        return found is not None and self._provisional is not None and found.is_final(self._provisional)

    def news(self) -> List[str]:
        """Give the findings of their recovery that were not reported yet."""
        found = self._decoded.recovered
        return found.news(self._session.debugger) if found is not None else []
