"""The code around an exception: where it was interrupted and goes on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.history.path import Path
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, ExceptionReturn

# Exceptions that are gone past in search of the end, or the beginning, of one.
_FARTHEST = 10_000


class Handler(NamedTuple):
    """A handler that runs, or is interrupted itself."""

    # Number of its first instruction.
    first: int
    # The exception's number, as the status register has it; None when unknown.
    vector: Optional[int]


class Interruptions:
    """The exceptions of a history, and the returns from them.

    :param path: The way that execution took.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        history = path.history
        self._vectors: List[Optional[int]] = []
        # Whether it is a return, and the preferred return address of an exception.
        self._events: List[Tuple[bool, Optional[int]]] = []
        self._afters: List[int] = []
        for index, event in enumerate(history.events):
            is_return = isinstance(event, ExceptionReturn)
            if is_return or isinstance(event, Exception_) and event.name != DEBUG_HALT:
                self._afters.append(history.number_at(index))
                self._events.append((is_return, getattr(event, "return_address", None)))
                self._vectors.append(getattr(event, "vector", None))

    def lies_after(self, number: int) -> bool:
        """Tell whether there is one directly after an instruction."""
        at = bisect_left(self._afters, number)
        return at < len(self._afters) and self._afters[at] == number

    def active(self, number: int) -> List[Handler]:
        """List the active handlers at an instruction, innermost first.

        Only those that began near it are found.
        """
        found: List[Handler] = []
        depth = 0
        last = bisect_right(self._afters, number - 1) - 1
        for at in range(last, max(last - _FARTHEST, -1), -1):
            if self._events[at][0]:
                depth += 1
            elif depth:
                depth -= 1
            else:
                found.append(Handler(self._afters[at] + 1, self._vectors[at]))
        return found

    def resumed(self, number: int) -> Optional[int]:
        """Find where execution goes on after an exception or a return.

        :param number: Of the instruction.
        :returns: None when what is near does not show it.
        """
        first = bisect_left(self._afters, number)
        if self._events[first][0]:
            if not self._is_tail(first):
                return number + 1
            first += 1
        depth = 0
        for at in range(first, min(first + _FARTHEST, len(self._events))):
            is_return, _ = self._events[at]
            if not is_return:
                depth += 1
            elif depth == 1 and not self._is_tail(at):
                landing = self._afters[at] + 1
                is_same = self._path.address(landing) == self._events[first][1]
                return landing if is_same and landing <= self._path.length else None
            else:
                depth -= 1
        return None

    def interrupted(self, number: int) -> Optional[int]:
        """Find the last instruction before an exception or a return.

        :param number: Of the instruction.
        :returns: None when what is near does not show it.
        """
        last = bisect_right(self._afters, number - 1) - 1
        if not self._events[last][0]:
            if not (last and self._is_tail(last - 1)):
                return number - 1
            last -= 1
        depth = 0
        for at in range(last, max(last - _FARTHEST, -1), -1):
            is_return, address = self._events[at]
            if is_return:
                depth += 1
                continue
            depth -= 1
            if not depth and not (at and self._is_tail(at - 1)):
                # After the last of several handlers its own return address is that of the first, too.
                following = self._events[last + 1] if self._is_tail(last) else None
                is_same = address == (following[1] if following else self._path.address(number))
                return self._afters[at] if is_same and self._afters[at] else None
        return None

    def _is_tail(self, at: int) -> bool:
        # Whether a return is followed by another exception at once, for the same context (tail-chaining).
        following = at + 1
        if not self._events[at][0] or following >= len(self._events):
            return False
        return self._afters[following] == self._afters[at] and not self._events[following][0]
