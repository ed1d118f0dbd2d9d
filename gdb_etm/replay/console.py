"""A replay's texts on GDB's console: ends of runs, answers to ``monitor``."""

from __future__ import annotations

import re
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import harmless
from gdb_etm.replay.layout import RegisterLayout
from gdb_etm.replay.motion import Motion, Stopped, Why
from gdb_etm.replay.past import LIMIT_HINT, Impatient, Past
from gdb_etm.replay.reliance import RELIED_ON, reliance_of
from gdb_etm.replay.threads import PastThreads
from gdb_etm.replay.watching import Missed
from gdb_etm.views.text import gap_text, plural

_GOAL = re.compile(r"end|(-?)([0-9][0-9,]{0,18})")


class Replay(NamedTuple):
    """A history that is replayed."""

    motion: Motion
    past: Past
    layout: RegisterLayout
    # Why the oldest instruction is the oldest, as a line of text.
    begin: str
    # What comes after the newest, as a line of text.
    finish: str
    # The threads that do not run.
    threads: Optional[PastThreads] = None


def console(text: str) -> bytes:
    """Write a line on GDB's console."""
    return b"O" + _hexadecimal([text])


def missed_text(missed: Sequence[Missed]) -> str:
    """Describe possible accesses to watched memory that a run passed."""
    unknown, unseen = max(one.unknown for one in missed), max(one.unseen for one in missed)
    texts: List[str] = []
    if unknown:
        texts.append("%s to addresses that are not known" % plural(unknown, "access", "accesses"))
    if unseen:
        texts.append("%s whose accesses are not worked out" % plural(unseen, "instruction"))
    addresses = sorted({"0x%08x" % one.address for one in missed})
    return "on the way: %s; they may have been to %s" % (", ".join(texts), " or ".join(addresses))


def stop_text(replay: Replay, stop: Stopped) -> str:
    """Give the text for a run's end; empty where GDB has one."""
    if stop.why is Why.GAP and stop.gap is not None:
        return "%s: what ran here is unknown; the next command goes on beyond it" % gap_text(stop.gap)
    if stop.why is Why.UNSEEN:
        what = "what instruction {:,} and those before it accessed is not worked out ({}); {}"
        return what.format(stop.number, LIMIT_HINT, "the next command goes on beyond it")
    if stop.why is Why.BEGIN:
        return replay.begin
    if stop.why is Why.END:
        gap = "%s: " % gap_text(stop.gap) if stop.gap is not None else ""
        return gap + replay.finish
    return ""


_HELP = (
    "goto N|-N|end             have the next step go to instruction N, or to the last but N-1",
    "where                     show the instruction's number in the history",
    "recovery                  show how far registers and memory are worked out",
    "recovery exact|assumed|off",
    "recovery-limit            show for how many instructions before the end",
    "recovery-limit N|unlimited",
    "volatile                  show which memory others write",
    "volatile none|ADDRESS,SIZE...",
)


def monitor(replay: Replay, command: str) -> List[str]:
    """Run a ``monitor`` command of a replay; return its lines."""
    name, _, words = command.partition(" ")
    motion = replay.motion
    if command in ("", "help"):
        return list(_HELP)
    if command == "where":
        if motion.number == motion.end:
            return ["after instruction {:,}, the last".format(motion.end - 1)]
        return ["instruction {:,} of {:,}".format(motion.number, motion.end - 1)]
    if name in RELIED_ON:
        return _rely(replay, name, words.strip())
    return ['"%s" is not for a replay; "monitor where" shows the instruction\'s number' % command[:80]]


def is_goto(command: str) -> bool:
    """Tell whether a ``monitor`` command is one that moves the replayed core."""
    return command.partition(" ")[0] == "goto"


def take_goto(motion: Motion, command: str) -> Tuple[Optional[int], List[str]]:
    """Read where ``monitor goto`` is to go.

    :returns: A position, None if there is no such one; and the answer's lines.
    """
    words, last = command.partition(" ")[2].strip(), motion.end - 1
    found = _GOAL.fullmatch(words)
    if found is None:
        return None, ['"%s" is none of: N, -N, end' % words[:80]]
    if words == "end":
        return motion.end, ['the next "reverse-stepi" goes to the end']
    number = int(found[2].replace(",", ""))
    number = last - number + 1 if found[1] else number
    if not 1 <= number <= last:
        return None, ["%s is outside the history: the instructions are numbered 1 to %d" % (words, last)]
    return number, ['the next "reverse-stepi" goes to instruction {:,} of {:,}'.format(number, last)]


def monitor_reply(lines: Iterable[str]) -> bytes:
    """Write the answer to ``monitor`` as a packet's data."""
    return _hexadecimal(lines)


def _hexadecimal(lines: Iterable[str]) -> bytes:
    # Names of files and symbols are in them: they are to be no commands to a terminal.
    text = "".join(harmless(line) + "\n" for line in lines)
    return text.encode("utf-8", "replace").hex().encode()


def _rely(replay: Replay, name: str, words: str) -> List[str]:
    reliance = replay.past.reliance
    if reliance is None:
        return ["no values are worked out here"]
    if words:
        try:
            reliance = reliance_of({**reliance.words, name: words})
        except ValueError as error:
            return ["%s: %s" % (name, error)]
        replay.past.rely(reliance)
        try:
            replay.past.prepare(replay.motion.number)
        except Impatient:
            return ["interrupted: registers and memory are not all worked out here"]
    return ["%s is %s" % (name, reliance.words[name])]
