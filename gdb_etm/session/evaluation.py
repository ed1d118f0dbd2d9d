"""Values of the past as a second GDB prints them.

It is asked once for each tier, to mark what is not exact.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence

from gdb_etm.errors import CommandError
from gdb_etm.history.activations import Activations
from gdb_etm.history.path import Path
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.neighbourhoods import Answers
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.values import Tier
from gdb_etm.replay.console import Replay
from gdb_etm.replay.layout import RegisterLayout, a_profile, m_profile
from gdb_etm.replay.motion import Motion
from gdb_etm.replay.view import PastView, View
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.past import recovered, walked_in
from gdb_etm.session.recovered import THIS_GDB, Recovered
from gdb_etm.session.second_gdb import Answer, SecondGdb
from gdb_etm.session.session import DebugSession
from gdb_etm.session.walk import Arguments
from gdb_etm.views.values import mark

# Each round finds more unknown memory; a list with unknown links ends at the first.
_ROUNDS = 200
_NO_MEMORY = re.compile(r"<error: Cannot access memory at address 0x[0-9a-f]+>")
# How print counts: the numbers are the second GDB's own.
_COUNT = re.compile(r"\A\$\d+ = ")
_UNAVAILABLE = "<unavailable>"
# A line without a value.
_NOTHING = re.compile(r"(?:=|\A\w+ ) *<(?:unavailable|optimized out)>\Z")


class Marked(NamedTuple):
    """A line, and what it rests on."""

    text: str
    tier: Tier


class Moment(NamedTuple):
    """A moment of a history: the state before an instruction."""

    session: DebugSession
    decoded: Decoded
    known: Recovered
    number: int
    # Of the selected frame.
    level: int = 0
    # Where execution goes on in that frame, when it is not the innermost.
    address: Optional[int] = None

    @property
    def recovery(self) -> Recovery:
        """What is worked out of its history."""
        return self.known.recovery

    @property
    def answers(self) -> Answers:
        """What is worked out about it by now."""
        return self.recovery.near(self.number)

    def notes(self) -> List[str]:
        """Say that it is provisional, if it is, as lines."""
        return self.known.notes(self.number)

    def news(self) -> List[str]:
        """Give the findings that were not reported yet, as lines."""
        return self.known.news(self.session.debugger)


def moment(
    session: DebugSession, at: Optional[int], trace_id: Optional[int] = None, needs_position: bool = True
) -> Moment:
    """Give a moment of the newest capture, and work it out.

    :param at: The number of an instruction, the moment before it; None: where the cursor is.
    :param trace_id: Of the core; None: the one that was looked at last.
    :param needs_position: Whether the end will not do where there is no cursor.
    :raises CommandError: There is no such moment.
    """
    decoded = session.shown(trace_id)
    known = recovered(session, decoded)
    if at is None and session.places is None and needs_position:
        raise CommandError("without GDB there is no position: say before which instruction")
    found = _at_cursor(session, decoded, known) if at is None else None
    if found is None:
        last = len(decoded.history)
        if at is not None and not 1 <= at <= last:
            raise CommandError("--at %d: the instructions are numbered 1 to %d" % (at, last))
        found = Moment(session, decoded, known, last + 1 if at is None else at)
    known.look(found.number, session.meter)
    return found


def _at_cursor(session: DebugSession, decoded: Decoded, known: Recovered) -> Optional[Moment]:
    walked = walked_in(session, decoded)
    if walked is None:
        return None
    cursor = walked.cursor
    address = cursor.stack()[cursor.selected].address if cursor.selected else None
    return Moment(session, decoded, known, cursor.position.number, cursor.selected, address)


def printed(at: Moment, command: str, in_part: bool = False) -> List[Marked]:
    """Run a command of the second GDB at a moment.

    :param in_part: Whether what it printed before something went wrong will do.
    :raises CommandError: It could not; in its words.
    :raises ConnectError: There is none.
    """
    viewer = _Viewer(at)
    final = viewer.ask(command, at.known.recovery.rules.limit)
    worst = viewer.past.worst
    if final.error is not None and not (in_part and final.lines):
        raise CommandError(final.error.rstrip("."))
    tiers = [worst] * len(final.lines)
    for tier in reversed([one for one in (Tier.EXACT, Tier.ASSUMED) if one < worst]):
        weaker = viewer.ask(command, tier)
        lines = weaker.lines if weaker.error is None or in_part else []
        for index, line in enumerate(lines[: len(tiers)]):
            if _body(line) == _body(final.lines[index]):
                tiers[index] = tier
    return [Marked(_body(line), tier) for line, tier in zip(final.lines, tiers)]


class _Viewer:
    # The second GDB, turned to one moment.

    def __init__(self, at: Moment) -> None:
        history = at.decoded.history
        if at.number <= len(history) and history.instruction(at.number).isa is Isa.A64:
            raise CommandError("values of the past are worked out for 32-bit cores only")
        if at.answers.register(at.number, "pc").value is None:
            raise CommandError('where the capture ends is not known; "etm goto -1" is the last instruction before')
        self._at = at
        layout = _layout(at)
        path = Path(history)
        self.past = PastView(at.answers, path)
        self.past.look(at.number, Tier.EXACT)
        if at.number > len(history):
            path.halted_at = at.answers.register(at.number, "pc").value

        def activations() -> Activations:
            return Activations(at.decoded.calls(at.session.debugger.function_at), len(history))

        motion = Motion(path, activations, self.past)
        motion.number = at.number
        self._second_gdb = _second_gdb(at.session, Replay(motion, self.past, layout, "", ""), self.past)

    def ask(self, command: str, limit: Tier) -> Answer:
        """Run a command until it meets no more missing memory."""
        self.past.look(self._at.number, limit)
        self.past.unwinds = bool(self._at.level) or command == "backtrace"
        answer = Answer([])
        for _ in range(_ROUNDS):
            self.past.missed = False
            self._second_gdb.show()
            answer = self._select() or self._second_gdb.run(command)
            if not self.past.missed:
                break
        return answer

    def _select(self) -> Optional[Answer]:
        # The selected frame; what went wrong where it is not this one.
        if not self._at.level:
            return None
        frames = self._second_gdb.run("backtrace %d" % (self._at.level + _SPARE)).lines
        for number in range(self._at.level, len(frames)):
            chosen = self._second_gdb.run("frame %d" % number)
            found = self._second_gdb.run("output/x (unsigned long) $pc")
            if chosen.error is None and found.lines == ["0x%x" % (self._at.address or 0)]:
                return None
        return Answer([], "the registers of frame %d are not known here" % self._at.level)


# Frames that GDB makes of a wild jump, and the history does not.
_SPARE = 4


def _layout(at: Moment) -> RegisterLayout:
    if not is_m_profile(at.decoded.history.source.core):
        return a_profile()
    anchored = at.decoded.anchored
    ends = [anchor.registers for anchor in (anchored.begin, anchored.end) if anchor is not None]
    has_both = any("psp" in registers for registers in ends)
    return m_profile(has_both, any("fpscr" in registers for registers in ends))


def _second_gdb(session: DebugSession, replay: Replay, past: PastView) -> SecondGdb:
    second_gdb = session.second_gdb
    if second_gdb is not None and second_gdb.is_alive and second_gdb.view.replay.layout.xml == replay.layout.xml:
        second_gdb.view.turn(replay, past)
        return second_gdb
    session.end_second_gdb()
    places = session.places
    if places is None:
        raise CommandError("this needs GDB: its types and its symbols")
    chosen = session.settings.get("gdb", THIS_GDB)
    command = places.gdb_command() if chosen == THIS_GDB else [chosen]
    session.second_gdb = SecondGdb(command, places.symbol_files(), View(replay, past))
    return session.second_gdb


def _body(line: str) -> str:
    return _NO_MEMORY.sub(_UNAVAILABLE, _COUNT.sub("", line))


def marks(lines: Sequence[Marked]) -> List[str]:
    """Write lines with their tiers after them, unless exact."""
    return [one.text if _NOTHING.search(one.text) else ("%s %s" % (one.text, mark(one.tier))).rstrip() for one in lines]


def arguments(at: Moment) -> List[Arguments]:
    """List the frames' arguments, innermost first, as far as GDB unwinds."""
    lines = printed(at._replace(level=0, address=None), "backtrace", in_part=True)
    return [one for one in map(arguments_of, lines) if one is not None]


def arguments_of(line: Marked) -> Optional[Arguments]:
    """Read a line of GDB's backtrace; None of other lines."""
    found = _FRAME.match(line.text)
    at = _arguments_at(found[2]) if found is not None else None
    rest = _REST.match(found[2], at) if found is not None and at is not None else None
    if found is None or rest is None:
        return None
    address, function, text = found[1], found[2][:at], rest[1]
    return Arguments(function, int(address, 16) if address else None, text, mark(line.tier))


def _arguments_at(text: str) -> Optional[int]:
    # Where a name ends: the arguments of its templates have parentheses, too.
    depth = 0
    for found in _BRACKETS.finditer(text):
        if found[0] == " (" and not depth:
            return found.start()
        depth = max(depth + {"<": 1, ">": -1}.get(found[0], 0), 0)
    return None


_FRAME = re.compile(r"#\d+ +(?:(0x[0-9a-f]+) in )?(\S.*)$")
_BRACKETS = re.compile(r"\boperator *[<>][<>=]*|->|<|>| \(")
_REST = re.compile(r" \((.*)\)(?: at \S.*:\d+| from .*)?$")
