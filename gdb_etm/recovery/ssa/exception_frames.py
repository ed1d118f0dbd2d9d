"""Exception frames of waiting threads, found in memory at the end."""

from __future__ import annotations

from typing import (
    Callable,
    Collection,
    Dict,
    Final,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from gdb_etm.program.ram import joined

# Gives the word at an aligned address at the end, if known.
Word = Callable[[int], Optional[int]]

# Bytes that are searched.
_MOST: Final = 1 << 20
# Where LR is in a frame, and how large that is.
LR_AT: Final = 20
_SIZE: Final = 32
# Words above one another in which return addresses are looked for.
_ABOVE: Final = 64
# Memory beside sections is looked at by so many bytes, no further away from them than that.
_PAGE: Final = 1 << 10
_NEAR: Final = 1 << 20
# Above a saved stack pointer: the registers that a handler has pushed, and the exception's frame.
_FAR: Final = 0x100
# Bytes of instructions after a request that its handler may skip.
_SKIPPED: Final = 8
# EXC_RETURN of a thread: the bits that are the same always; bit 2 is 1 on PSP.
_FIXED: Final = 0xFFFFFF8E
_EXC_RETURN: Final = 0xFFFFFF88
_ON_PROCESS: Final = 4
# T and the exception's number, which is 0 in Thread mode.
_XPSR: Final = 0x010001FF


def can_search(pieces: Iterable[Tuple[int, int]]) -> bool:
    """Check whether regions of memory are small enough to search.

    What is found in a part of them is not all.
    """
    return sum([high - low for low, high in pieces]) <= _MOST


def held(pieces: Iterable[Tuple[int, int]], word: Word, step: int) -> Iterator[Tuple[int, int]]:
    """List the known words of some regions, with their addresses.

    :param step: The alignment of the addresses, a multiple of 4.
    """
    for low, high in pieces:
        for address in range(-(-low // step) * step, high - 3, step):
            value = word(address)
            if value is not None:
                yield address, value


def reached(
    pieces: Sequence[Tuple[int, int]], ram: Sequence[Tuple[int, int]], word: Word, pointer: Optional[int]
) -> List[Tuple[int, int]]:
    """Add the memory to regions that their words lead to.

    That is a heap, in which threads may have their stacks.

    :param pieces: The program's sections.
    :param ram: Where memory may be; nothing else is read.
    :param pointer: A stack pointer, if known.
    :returns: The regions, in order and apart.
    """
    found = joined(pieces)
    new, seen = list(found), set([] if pointer is None else _pages(pointer))
    near = [(max(low - _NEAR, start), min(high + _NEAR, end)) for low, high in found for start, end in ram]
    looked: Set[int] = set()
    while new:
        seen.update([page for _, value in held(new, word, 4) for page in _pages(value)])
        pages = [page for page in seen - looked if any(low <= page <= high - _PAGE for low, high in near)]
        looked |= seen
        inside = [page for page in pages if any(low <= page and page + _PAGE <= high for low, high in found)]
        new = [(page, page + _PAGE) for page in set(pages).difference(inside) if word(page) is not None]
        found = joined(found + new)
    return found


def _pages(pointer: int) -> Tuple[int, int]:
    # Where what it leads to may lie.
    return pointer & -_PAGE, pointer + _FAR & -_PAGE


def goes_on(address: int, asked: bool) -> Sequence[int]:
    """List where a thread left at an address may go on.

    Some handlers skip an instruction or two.

    :param asked: Whether it has asked for the exception.
    """
    return range(address, address + _SKIPPED + 1, 2) if asked else (address,)


class SwitchedOut(NamedTuple):
    """A thread that was left."""

    # Where it goes on.
    address: int
    # Return addresses of its calls, as far as they are known, innermost last.
    calls: Tuple[int, ...]


class Waiting(NamedTuple):
    """What an exception pushed for a thread that still waits."""

    address: int
    # R0 to R3, R12, LR and xPSR.
    words: Tuple[int, ...]
    # EXC_RETURN, where the handler has pushed it below the frame.
    returns: Optional[int]


class ExceptionFrames:
    """Finds exceptions' frames in memory at the halt.

    :param pieces: Where stacks may be.
    :param word: Reads it.
    :param wanted: Return addresses of the frames.
    :param asked: Those of them at which threads have asked for an exception: its handler may let them go on a little
        later.
    :param is_process: Whether threads use PSP.
    """

    def __init__(
        self,
        pieces: Iterable[Tuple[int, int]],
        word: Word,
        wanted: Set[int],
        asked: Collection[int] = (),
        is_process: bool = True,
    ) -> None:
        self._word = word
        self._returns = _EXC_RETURN | _ON_PROCESS * is_process
        self._asked = asked
        self._found: Dict[int, List[int]] = {}
        # Where frames are the running thread's.
        self._own = range(0)
        targets = {target for address in wanted for target in goes_on(address, address in asked)}
        for address, value in held(pieces, word, 8):
            if value in targets:
                self._found.setdefault(value, []).append(address - 24)

    def exclude(self, low: int, pointer: int, left_at: Optional[int]) -> None:
        """Set where frames are the running thread's, which does not wait.

        :param low: From where on.
        :param pointer: Its stack pointer; what is below is what the thread has left.
        :param left_at: The return address of the exception whose handler runs, perhaps on the same stack; None if none
            does.
        """
        above = [] if left_at is None else [at for at in self.at(left_at) if at >= pointer]
        self._own = range(low, min(above, default=pointer) + 1)

    def own(self, addresses: Iterable[Optional[int]]) -> List[int]:
        """List the running thread's frames, of some return addresses."""
        return [frame for one in addresses if one is not None for frame in self.at(one) if frame in self._own]

    def at(self, address: int) -> List[int]:
        """List the frames of threads that were left at a return address."""
        targets = goes_on(address, address in self._asked)
        return [frame for target in targets for frame in self._found.get(target, ()) if self._is_frame(frame)]

    def _is_frame(self, address: int) -> bool:
        status = self._word(address + 28)
        return status is not None and status & _XPSR == 1 << 24

    def of(self, left: SwitchedOut) -> List[Waiting]:
        """List the frames that fit a thread that was left.

        Its return address counts, and the calls above.

        Those with the innermost return address in LR count alone, if there are any.
        """
        found: Dict[bool, List[Waiting]] = {True: [], False: []}
        for address in self.at(left.address):
            if address not in self._own and self.follow(address, self.above(address), left.calls):
                in_register = bool(left.calls) and self._word(address + 20) == left.calls[-1] | 1
                found[in_register].append(self.read(address))
        return found[True] or found[False]

    def read(self, address: int) -> Waiting:
        """Read the frame at an address."""
        words = [self._word(address + 4 * index) for index in (0, 1, 2, 3, 4, 5, 7)]
        known = tuple([word for word in words if word is not None])
        return Waiting(address, known if len(known) == 7 else (), self.returns(address - 4))

    def returns(self, address: int) -> Optional[int]:
        """Read a thread's EXC_RETURN at an address, if it is one."""
        word = self._word(address)
        return word if word is not None and word & _FIXED == self._returns else None

    def above(self, frame: int) -> int:
        """Give where return addresses begin above a frame: with LR in it."""
        return frame + LR_AT

    def follow(self, frame: int, at: int, calls: Sequence[int]) -> int:
        """Find return addresses above a frame.

        The innermost one may be in LR.

        :param at: From where on; :data:`LR_AT` bytes above the frame at first.
        :param calls: The return addresses, innermost last.
        :returns: The address after the outermost one; 0 if one of them is not there.
        """
        return find_calls(self._word, at, calls, frame + _SIZE)


def find_calls(word: Word, at: int, calls: Sequence[int], rest: int = 0) -> int:
    """Find return addresses above one another.

    :param word: Reads memory.
    :param at: From where on.
    :param calls: The return addresses, innermost last.
    :param rest: Where all but the first of them are at the lowest.
    :returns: The address after the outermost one; 0 if one of them is not there.
    """
    for address in reversed(calls):
        reach = range(at, at + 4 * _ABOVE, 4)
        found = next((one for one in reach if word(one) in (address, address | 1)), None)
        if found is None:
            return 0
        # Without T it is where a handler has made the thread call a function: the frame's LR is right below.
        at = max(found + 4 if word(found) == address | 1 else found - 4, rest)
    return at
