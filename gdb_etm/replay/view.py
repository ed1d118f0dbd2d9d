"""One moment of a history as a trace frame of GDB.

GDB asks a target with trace frames which memory is there (Debugging with GDB, appendix E, "Tracepoint Packets", E.6;
"Traceframe Info Format", appendix H) and shows ``<unavailable>`` for the rest, as it does for registers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Dict, Iterator, List, Optional, Tuple

from gdb_etm.history.path import Path
from gdb_etm.recovery.neighbourhoods import Answers
from gdb_etm.recovery.values import Tier, Touched, Value
from gdb_etm.replay.console import Replay
from gdb_etm.replay.past import Patience
from gdb_etm.replay.reliance import Reliance
from gdb_etm.replay.stacked import Stacked
from gdb_etm.replay.target import Reply, Target, piece

_SPACE = 1 << 32
# Bytes after unknown ones that are looked at, at first and at most.
_NEAREST, _FARTHEST = 64, 4096
# What GDB keeps the size of a range of memory in is signed.
_LONGEST = 1 << 30
# Values of bytes that are kept.
_BYTES = 1 << 16
_DOUBLE = re.compile(r"d\d+\Z")
# Packets for what can run.
_MOVES = "scbvZzD"
_STATUS = b"T0;tstop::0;tframes:1;tcreated:1;tsize:0;tfree:0;circular:0;disconn:0"


class PastView:
    """The :class:`~gdb_etm.replay.past.Past` of one moment, up to a tier.

    Nobody can say beforehand what GDB will ask for, and to work out all of memory takes long: so everything counts as
    there until it was asked for in vain.

    :param answers: Gives the values.
    :param path: The way that execution took.
    """

    def __init__(self, answers: Answers, path: Path) -> None:
        self._answers = answers
        self._stacked = Stacked(path, self._stacked_register, answers.memory)
        # Whether GDB looks for its way past a handler, for which it is enough to know a part of a status word.
        self.unwinds = False
        self._number = 0
        self._limit = Tier.EXACT
        self._bytes: Dict[int, Value] = {}
        self._absent: List[Tuple[int, int]] = []
        self._ahead = _NEAREST
        # The worst tier of what was shown since :meth:`look`.
        self.worst = Tier.EXACT
        # Nobody waits here.
        self.patience: Optional[Patience] = None
        # Whether unknown memory was asked for that :meth:`ranges` had called known; the caller clears it.
        self.missed = False

    def look(self, number: int, limit: Tier) -> None:
        """Choose the moment before an instruction, and the worst tier shown."""
        if number != self._number:
            self._bytes.clear()
        self._number, self._limit = number, limit
        self._absent = []
        self._ahead = _NEAREST
        self.worst = Tier.EXACT

    @property
    def reliance(self) -> Optional[Reliance]:
        """Whoever asks has decided that."""
        return None

    def rely(self, reliance: Reliance) -> None:
        """Do nothing: :meth:`look` says how far to go."""

    def prepare(self, number: int) -> str:
        """Do nothing: what takes long is done before."""
        return ""

    def register(self, number: int, name: str) -> Optional[int]:
        """Give a register."""
        if _DOUBLE.match(name):
            halves = [self.register(number, "s%d" % (2 * int(name[1:]) + half)) for half in range(2)]
            low, high = halves
            return None if low is None or high is None else low | high << 32
        return self._shown(self._answers.register(self._number, name))

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give memory, and take note of what of it is not known."""
        if self.unwinds and size == 4:
            word = None if self._is_known(address) else self._status(address)
            if word is not None:
                return word
            if self._is_before_doubt(address):
                for at in range(address, address + size):
                    self._lack(at)
                return None
        found = bytearray()
        for at in range(address, min(address + size, _SPACE)):
            byte = self._shown(self._byte(at, address + size - at))
            if byte is None:
                self._lack(at)
            else:
                found.append(byte)
        if len(found) == size:
            return bytes(found)
        self._look_ahead(address + size)
        return None

    def _is_known(self, address: int) -> bool:
        return all(self._shown(self._byte(address + at, 4 - at)) is not None for at in range(4))

    def _is_before_doubt(self, address: int) -> bool:
        # GDB before 13 takes a status word that it cannot read for one of an aligned SP.  Without the return address
        # before it the way ends there, as it does for later ones.
        status = address + 4
        if not self._stacked.is_status(self._number, status):
            return False
        return not self._is_known(status) and self._status(status) is None

    def _status(self, address: int) -> Optional[bytes]:
        # What the bits of a partly known word rest on is not reported: it may be anything that was worked out.
        limit = self._answers.rules.limit
        word = self._stacked.word(self._number, address) if limit <= self._limit else None
        if word is None:
            return None
        self.worst = max(self.worst, limit)
        return word.to_bytes(4, "little")

    def _stacked_register(self, number: int, name: str) -> Optional[int]:
        value = self._answers.register(number, name)
        return value.value if value.tier <= self._limit else None

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Tell nothing: there are no watchpoints."""
        return Touched(number, number, (), (), False)

    def ranges(self) -> Iterator[Tuple[int, int]]:
        """Go through memory that may be known, as first addresses and sizes."""
        start = 0
        for first, end in [*self._absent, (_SPACE, _SPACE)]:
            while start < first:
                size = min(first - start, _LONGEST)
                yield start, size
                start += size
            start = end

    def _look_ahead(self, start: int) -> None:
        # What reads one piece after the other would otherwise have to begin anew for each.
        end = min(start + self._ahead, _SPACE)
        self._ahead = min(2 * self._ahead, _FARTHEST)
        for at in range(start, end):
            if self._shown(self._byte(at, end - at)) is None:
                self._lack(at)

    def _byte(self, at: int, size: int) -> Value:
        if at not in self._bytes:
            if len(self._bytes) > _BYTES:
                self._bytes.clear()
            values = self._answers.memory(self._number, at, min(size, _SPACE - at))
            self._bytes.update(enumerate(values, at))
        return self._bytes[at]

    def _shown(self, value: Value) -> Optional[int]:
        if value.value is None or value.tier > self._limit:
            return None
        self.worst = max(self.worst, value.tier)
        return value.value

    def _lack(self, at: int) -> None:
        index = bisect_right(self._absent, (at, _SPACE)) - 1
        if index >= 0 and at < self._absent[index][1]:
            return
        self.missed = True
        if index >= 0 and self._absent[index][1] == at:
            self._absent[index] = self._absent[index][0], at + 1
        else:
            self._absent.insert(index + 1, (at, at + 1))


class View(Target):
    """Queries GDB's questions about one moment; nothing runs, nothing can be written.

    :param replay: The history.
    :param past: Its past.
    """

    def __init__(self, replay: Replay, past: PastView) -> None:
        super().__init__(replay)
        self._past = past
        for letter in _MOVES:
            self._packets.pop(letter, None)
        self._packets["Q"] = self._set

    def turn(self, replay: Replay, past: PastView) -> None:
        """Show another history of a core with the same registers."""
        self.replay, self.motion, self._past = replay, replay.motion, past

    def _set(self, text: str) -> Iterator[Reply]:
        name, _, number = text.partition(":")
        if name != "QTFrame":
            yield b""
        elif int(number, 16) == 0xFFFFFFFF:
            yield b"F-1"
        else:
            # Whatever its number, it is the moment that the past is shown at: a new one has GDB forget the one before.
            yield b"F%xT1" % int(number, 16)

    def _query(self, text: str) -> Iterator[Reply]:
        if text == "qTStatus":
            yield _STATUS
        elif text.startswith("qXfer:traceframe-info:read::"):
            offset, _, size = text.rpartition(":")[2].partition(",")
            yield piece(self._info().encode("ascii"), int(offset, 16), int(size, 16))
        elif text.startswith("qSupported"):
            for reply in super()._query(text):
                yield None if reply is None else reply + b";qXfer:traceframe-info:read+"
        else:
            yield from super()._query(text)

    def _info(self) -> str:
        pieces = ['<memory start="0x%x" length="0x%x"/>' % one for one in self._past.ranges()]
        return '<?xml version="1.0"?>\n<traceframe-info>%s</traceframe-info>\n' % "".join(pieces)
