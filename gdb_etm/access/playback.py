"""Ports that answer from a log instead of hardware.

The accesses need not be the recorded ones exactly: a log of yesterday's driver is a test of tomorrow's.  A read that
was recorded and is not made is passed over.  What else differs is a divergence, and is told with its place.  A word
that was never read cannot be answered: then the hardware counts as lost.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple, Union

from gdb_etm.access.recording import BLOCK, DEBUG_PORT, FIFO, READ, WRITE, PortAccess, RecordedStep
from gdb_etm.errors import AccessError

_MOST_TOLD = 20
_Value = Union[int, Sequence[int], None]


class Playback:
    """The hardware as a log has it.

    :param names: The names of the ports by their numbers.
    :param steps: What was recorded.
    """

    def __init__(self, names: Sequence[str], steps: Sequence[RecordedStep]) -> None:
        self._names = names
        # What is known of words: as they were read or written last, and as they are read first.
        self._now: Dict[Tuple[int, int], int] = {}
        self._first: Dict[Tuple[int, int], int] = {}
        for step in steps:
            for access in step.accesses:
                for key, value in _words_of(access):
                    if access.operation != WRITE:
                        self._first.setdefault(key, value)
        # The last access that was made; a poll makes it again and again, as often as there is time for.
        self._last: Optional[PortAccess] = None
        self._title = ""
        self._accesses: Sequence[PortAccess] = ()
        self._next = 0
        # Where what was done differs from the log, a line each.
        self.divergences: List[str] = []

    def port(self, number: int) -> PlayedPort:
        """Give one of the ports."""
        return PlayedPort(self, number, self._names[number])

    def enter(self, title: str, step: RecordedStep) -> None:
        """Begin a step.

        :param title: What it is called in messages.
        """
        self._title, self._accesses, self._next = title, step.accesses, 0
        self._last = None

    def pass_over(self, step: RecordedStep) -> None:
        """Take note of a step that is not repeated."""
        self._last = None
        for access in step.accesses:
            self._note(access)

    def leave(self) -> None:
        """End a step; its rest is known all the same."""
        self._skip(len(self._accesses))

    def take(self, made: PortAccess) -> _Value:
        """Answer an access.

        :raises AccessError: It failed when it was recorded; or nothing is known (kind ``"lost"``).
        """
        found = self._find(made)
        is_poll, self._last = made == self._last and made.operation == READ, made
        if found is None:
            known = self._known(made)
            return known[0] if is_poll and known is not None else self._unrecorded(made)
        self._skip(found)
        recorded = self._accesses[found]
        self._note(recorded)
        self._next = found + 1
        if recorded.error is not None:
            raise recorded.error
        return recorded.value

    def _find(self, made: PortAccess) -> Optional[int]:
        # A read is looked for before the next write first: behind that the word may be another.
        for at in range(self._next, len(self._accesses)):
            recorded = self._accesses[at]
            if _is_same(recorded, made):
                return at
            if recorded.operation == WRITE and made.operation in (READ, BLOCK) and self._known(made) is not None:
                return None
        return None

    def _skip(self, end: int) -> None:
        for at in range(self._next, end):
            passed = self._accesses[at]
            self._note(passed)
            if passed.operation == WRITE:
                self._tell("the record has %s, which is not made", passed, at)
        self._next = max(self._next, end)

    def _note(self, access: PortAccess) -> None:
        for key, value in _words_of(access):
            self._now[key] = value

    def _known(self, made: PortAccess) -> Optional[List[int]]:
        keys = [(made.port, made.address + 4 * n) for n in range(made.words)]
        found = [self._now.get(key, self._first.get(key)) for key in keys]
        values = [value for value in found if value is not None]
        return values if len(values) == len(found) and made.operation != DEBUG_PORT else None

    def _unrecorded(self, made: PortAccess) -> _Value:
        if made.operation == WRITE:
            self._tell("%s is not in the record", made, self._next)
            self._note(made)
            return None
        known = self._known(made) if made.operation in (READ, BLOCK) else None
        if known is None:
            self._tell("%s is not in the record, and nothing answers it", made, self._next)
            raise AccessError("the record ends here: " + self.divergences[-1], made.address, "lost")
        self._tell("%s is not in the record; answered as the word was known", made, self._next)
        return known[0] if made.operation == READ else known

    def _tell(self, words: str, access: PortAccess, at: int) -> None:
        where = "%s, after %d of %d accesses: " % (self._title, at, len(self._accesses))
        if len(self.divergences) < _MOST_TOLD or "nothing answers" in words:
            self.divergences.append(where + words % self._text(access))

    def _text(self, access: PortAccess) -> str:
        port = self._names[access.port] if access.port < len(self._names) else "?"
        value = " = 0x%08x" % access.value if access.operation == WRITE and isinstance(access.value, int) else ""
        words = "" if access.words == 1 else " of %d words" % access.words
        return "%s 0x%08x%s%s on %s" % (access.operation, access.address, value, words, port)


class PlayedPort:
    """One of the ports of a log.

    :param playback: What answers.
    :param number: The port's in the log.
    :param name: As it was called.
    """

    def __init__(self, playback: Playback, number: int, name: str) -> None:
        self._playback = playback
        self._number = number
        self.name = name

    def read32(self, address: int) -> int:
        """Read one word."""
        value = self._playback.take(PortAccess(READ, self._number, address, None))
        assert isinstance(value, int)
        return value

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        self._playback.take(PortAccess(WRITE, self._number, address, value))

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        return self._many(PortAccess(BLOCK, self._number, address, None, words))

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times."""
        return self._many(PortAccess(FIFO, self._number, address, None, words))

    def _many(self, made: PortAccess) -> List[int]:
        values = self._playback.take(made)
        assert values is not None and not isinstance(values, int)
        return list(values)


def _is_same(recorded: PortAccess, made: PortAccess) -> bool:
    if recorded[:3] != made[:3] or recorded.words != made.words:
        return False
    return made.operation != WRITE or recorded.value == made.value


def _words_of(access: PortAccess) -> List[Tuple[Tuple[int, int], int]]:
    # The words that it says something of, with their values.
    if access.error is not None or access.value is None or access.operation in (FIFO, DEBUG_PORT):
        return []
    values = [access.value] if isinstance(access.value, int) else access.value
    return [((access.port, access.address + 4 * n), value) for n, value in enumerate(values)]
