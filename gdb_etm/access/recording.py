"""Log of every access through the ports of a connection, bounded.

What is done with the hardware is a step: the accesses of one step stand together, with what was asked for.  The first
steps are kept whatever happens, since nothing is understood without them.  Of those that may be repeated the oldest are
dropped when the log is full.
"""

from __future__ import annotations

from array import array
from contextlib import contextmanager
from functools import wraps
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Sequence, TypeVar, Union, cast

from gdb_etm.access.port import AccessPort
from gdb_etm.errors import AccessError, EtmError

# About how many bytes of memory a log takes, and one step of it.
MOST_BYTES, MOST_OF_STEP = 1 << 23, 1 << 22
_OF_ACCESS, _OF_WORD = 200, 4

# The operations of a port; and what is no register of a port, but of the debug port.
READ, WRITE, BLOCK, FIFO, DEBUG_PORT = "read32", "write32", "read_block", "read_fifo", "debug_port"
# The step of accesses that nobody named.
OTHER = ""
# The steps that are done again and again; the others are kept.
_DROPPED = (OTHER, "drain", "doctor", "selftest")

_F = TypeVar("_F", bound=Callable[..., Any])


class PortAccess(NamedTuple):
    """One access, and what came of it."""

    operation: str
    # The number of the port in the log.
    port: int
    address: int
    # What was read or written; of several words all of them.
    value: Union[int, Sequence[int], None]
    # How many words were asked for.
    words: int = 1
    # Why it failed.
    error: Optional[AccessError] = None


class RecordedStep:
    """What was done with the hardware, and its accesses.

    :param name: Such as ``"start"``; :data:`OTHER` for what nobody named.
    :param asked: What was asked for.
    """

    def __init__(self, name: str, asked: Sequence[Any] = ()) -> None:
        self.name = name
        self.asked = asked
        self.accesses: List[PortAccess] = []
        # Why it failed; None where it did not.
        self.error: Optional[str] = None
        # Whether there were more accesses than are kept.
        self.is_cut = False
        # Bytes of memory, about.
        self.size = 0

    def add(self, access: PortAccess) -> None:
        """Keep an access, if there is room."""
        self.size += _OF_ACCESS + _OF_WORD * access.words
        if self.size > MOST_OF_STEP:
            self.is_cut = True
        else:
            self.accesses.append(access)


class AccessLog:
    """The steps of a connection, oldest first.

    :param most: Bytes of memory that it may take, about.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._is_named = False
        self.steps: List[RecordedStep] = []
        # How many steps were dropped.
        self.dropped = 0
        # The names of the ports by their numbers.
        self.ports: List[str] = []

    def port(self, port: AccessPort) -> RecordingPort:
        """Make the port that does what another does, and records it."""
        self.ports.append(port.name)
        return RecordingPort(port, self, len(self.ports) - 1)

    @contextmanager
    def step(self, name: str, asked: Sequence[Any] = ()) -> Iterator[None]:
        """Name what is done meanwhile.

        A step in a step is part of it.
        """
        if self._is_named:
            yield
            return
        self._is_named = True
        step = RecordedStep(name, asked)
        self._begin(step)
        try:
            yield
        except EtmError as error:
            step.error = str(error)
            raise
        finally:
            self._is_named = False

    def add(self, access: PortAccess) -> None:
        """Keep an access."""
        if not self.steps or (not self._is_named and self.steps[-1].name != OTHER):
            self._begin(RecordedStep(OTHER))
        self.steps[-1].add(access)

    def _begin(self, step: RecordedStep) -> None:
        size = sum(min(each.size, MOST_OF_STEP) for each in self.steps)
        for old in [each for each in self.steps if each.name in _DROPPED]:
            if size <= self._most - MOST_OF_STEP // 4:
                break
            size -= min(old.size, MOST_OF_STEP)
            self.steps.remove(old)
            self.dropped += 1
        self.steps.append(step)


def recorded(name: str, asked: slice = slice(0, 0)) -> Callable[[_F], _F]:
    """Make a method of what has a ``log`` a step of it.

    :param asked: Which of its arguments by position are kept.
    """

    def decorate(method: _F) -> _F:
        @wraps(method)
        def step(self: Any, *arguments: Any, **named: Any) -> Any:
            with self.log.step(name, arguments[asked]):
                return method(self, *arguments, **named)

        return cast(_F, step)

    return decorate


class RecordingPort:
    """An access port that writes down every access of another.

    :param port: The port that does the accesses.
    :param log: Where they are kept.
    :param number: The port's in the log.
    """

    def __init__(self, port: AccessPort, log: AccessLog, number: int) -> None:
        self._port = port
        self._log = log
        self._number = number
        # The ``id`` of a port of the process beside GDB; None of any other.
        self.ap: Optional[int] = getattr(port, "ap", None)

    @property
    def name(self) -> str:
        """The recorded port's name."""
        return self._port.name

    def read32(self, address: int) -> int:
        """Read one word."""
        try:
            value = self._port.read32(address)
        except AccessError as error:
            self._log.add(PortAccess(READ, self._number, address, None, 1, error))
            raise
        self._log.add(PortAccess(READ, self._number, address, value))
        return value

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        try:
            self._port.write32(address, value)
        except AccessError as error:
            self._log.add(PortAccess(WRITE, self._number, address, value, 1, error))
            raise
        self._log.add(PortAccess(WRITE, self._number, address, value))

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        return self._read_many(BLOCK, self._port.read_block, address, words)

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times."""
        return self._read_many(FIFO, self._port.read_fifo, address, words)

    def _read_many(self, operation: str, read: Callable[[int, int], List[int]], address: int, words: int) -> List[int]:
        try:
            values = read(address, words)
        except AccessError as error:
            self._log.add(PortAccess(operation, self._number, address, None, words, error))
            raise
        self._log.add(PortAccess(operation, self._number, address, array("I", values), words))
        return values
