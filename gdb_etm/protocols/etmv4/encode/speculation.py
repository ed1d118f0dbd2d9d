"""Encoder stage of a core that speculates.

P0 elements are committed late, and some are cancelled.

A real core traces what it believes, and takes back what was wrong (IHI 0064, 2.6.1).  Here it is known what really ran
from the start, so the beliefs are made up: now and then an atom is traced in the wrong direction, or leads to a wrong
target, and some elements of a path that never ran follow; then they are cancelled.  All is drawn from one generator,
so that the same run gives the same trace.
"""

from __future__ import annotations

import random
from typing import Callable, List, Optional

from gdb_etm.protocols.encode.output import Sink
from gdb_etm.protocols.etmv4.encode.packets import (
    cancel_1,
    cancel_2,
    cancel_3,
    commit,
    cycle_count_1,
    cycle_count_2,
    cycle_count_3,
    mispredict,
    trace_info,
    unnumbered_sync,
)
from gdb_etm.protocols.etmv4.encode.writer import PacketWriter

# In a trail: P0 elements were cancelled.
CANCEL = -1

_TRAIL = 4096
_MOST_WRONG = 6
_WRONG_EXCEPTION = 0x0F  # SysTick
_MOST_FORMAT_3 = 5
_MOST_SYNC_ATOMS = 4


class Setup:
    """Speculation of a unit: what Trace Info says, and the depth.

    :param depth: How many P0 elements may be uncommitted (TRCIDR8.MAXSPEC).
    :param keys: How many keys P0 elements count through (TRCIDR9.NUMP0KEY), at least 1.
    :param commit_mode: TRCIDR0.COMMOPT.
    :param loads: Whether loads are P0 instructions.
    :param stores: Whether stores are P0 instructions.
    """

    def __init__(
        self,
        depth: int = 0,
        keys: int = 1,
        commit_mode: int = 1,
        loads: bool = False,
        stores: bool = False,
    ) -> None:
        self.depth = depth
        self.keys = keys
        self.commit_mode = commit_mode
        self.loads = loads
        self.stores = stores


class Speculator(PacketWriter):
    """Writes an instruction stream's packets with speculation.

    :param sink: Called with complete packets.
    :param setup: How the unit is built and programmed.
    """

    def __init__(self, sink: Sink, setup: Setup) -> None:
        super().__init__(sink)
        self._setup = setup
        self._random = random.Random(setup.depth)
        self._uncommitted = 0
        self._next_key = 0
        # An address may follow that the analyser needs to find where it is: nothing is made up before it.
        self._lost = True
        # The key of the last P0 element, after a wrong path that of the last one before it.
        self.last_key = 0
        # Its position in the trail, counted from the beginning of the stream.
        self.last_position = 0
        # The keys of the latest P0 elements, cancelled ones too, and :data:`CANCEL` where some were cancelled.
        self.trail: List[int] = []
        # How many items of the trail have been dropped at its beginning.
        self.trail_start = 0
        # Called when an element of a wrong path has been written that may own data.
        self.on_wrong: Callable[[], None] = lambda: None

    # P0 elements.

    def atom(self, taken: bool, fixed: bool = False) -> None:
        """Add an Atom element.

        :param fixed: Whether it is never traced in the wrong direction: loads and stores, which are always E, and
            calls, for the return stack of an analyser goes by what was traced first (5.3.1), and decoders differ.
        """
        room = self._setup.depth - self._uncommitted - 1
        if room > 0 and self._chance(8) and not self._lost:
            self._speculate(taken, fixed, min(room, _MOST_WRONG))
        else:
            self._element(taken)
        self._resolve()

    def exception(self, number: int, address: int, known: bool, level: Optional[int] = None) -> None:
        """Write an Exception packet, after cancelling a wrong path (6.4.5)."""
        room = self._setup.depth - self._uncommitted
        if known and room > 0 and self._chance(4) and not self._lost:
            wrong = self._wrong_path(min(room, _MOST_WRONG))
            self._cancel(wrong)
        super().exception(number, address, known, level)
        self._count()
        self._resolve()

    def exception_return(self) -> None:
        """Write Exception Return (6.4.5)."""
        super().exception_return()
        self._count()
        self._resolve()

    def location(self, address: int, level: Optional[int]) -> None:
        """Write an address, perhaps after a wrong path."""
        room = self._setup.depth - self._uncommitted
        if room > 0 and level is None and not self._lost and self._chance(6):
            super().location(address ^ self._random.randrange(2, 512, 2), None)
            self._cancel(self._wrong_path(min(room, _MOST_WRONG)))
        super().location(address, level)
        self._lost = False

    # The rest.

    def settle(self) -> None:
        """Commit all that is uncommitted: nothing can cancel it any more."""
        self.flush_atoms()
        self._commit(self._uncommitted)

    def cycle_count(self, cycles: Optional[int]) -> None:
        """Write Cycle Count, which commits in commit mode 0 (6.4.6)."""
        if self._setup.commit_mode:
            super().cycle_count(cycles)
            return
        commits = self._random.randint(0, self._uncommitted)
        depth = self._setup.depth
        if cycles is None:
            data = cycle_count_1(None, commits)
        elif cycles < 4 and 1 <= commits <= 4:
            data = cycle_count_3(cycles, commits)
        elif cycles < 16 and (1 <= commits <= 16 or 0 <= commits + 15 - depth <= 15):
            data = cycle_count_2(cycles, commits, depth)
        else:
            data = cycle_count_1(cycles, commits)
        self.put(data)
        self._uncommitted -= commits

    def synchronise(self, threshold: Optional[int], info: bytes = b"") -> None:
        """Write A-Sync and Trace Info (6.4.2)."""
        setup = self._setup
        super().synchronise(
            threshold,
            info
            or trace_info(threshold, 0, setup.loads, setup.stores, self._next_key or None, self._uncommitted or None),
        )
        self._lost = True

    def overflow(self) -> None:
        """Write Overflow (6.4.2): uncommitted elements are lost."""
        super().overflow()
        self._uncommitted = 0

    def unnumbered_sync(self) -> None:
        """Write an Unnumbered Data Synchronization Marker, with waiting atoms (6.4.7)."""
        atoms = self._atoms
        if len(atoms) <= _MOST_SYNC_ATOMS and "N" not in atoms:
            self.drop_atoms()
            self._put(unnumbered_sync(len(atoms)))
        else:
            self.put(unnumbered_sync())

    # How it is done.

    def _chance(self, one_in: int) -> bool:
        return self._random.randrange(one_in) == 0

    def _element(self, taken: bool) -> None:
        super().atom(taken)
        self._count()

    def _count(self) -> None:
        # One more P0 element; where too many would be uncommitted, it commits the oldest by itself (6.4.1).
        keys = self._setup.keys
        self.last_key = self._next_key
        self._next_key = (self._next_key + 1) % keys
        self._uncommitted = min(self._uncommitted + 1, self._setup.depth)
        self._record(self.last_key)
        self.last_position = self.trail_start + len(self.trail) - 1

    def _record(self, item: int) -> None:
        self.trail.append(item)
        if len(self.trail) > 2 * _TRAIL:
            del self.trail[:_TRAIL]
            self.trail_start += _TRAIL

    def _resolve(self) -> None:
        if self._uncommitted and self._chance(4):
            self.flush_atoms()
            self._commit(self._random.randint(1, self._uncommitted))

    def _commit(self, elements: int) -> None:
        if elements:
            self._put(commit(elements))
            self._uncommitted -= elements

    def _speculate(self, taken: bool, fixed: bool, room: int) -> None:
        if fixed or self._chance(2):
            # The whole is done again.
            self._element(taken if fixed else not taken)
            self._cancel(1 + (self._wrong_path(room) if self._chance(2) else 0))
            self._element(taken)
        elif self._chance(2):
            self.flush_atoms()
            self._count()
            self._put(mispredict("N" if taken else "E"))
        else:
            self._element(not taken)
            real = self.last_key, self.last_position
            if not taken and self._chance(2):
                self.flush_atoms()
                super().location(self._random.randrange(0, 1 << 16, 2), None)
            self._mispredict(self._wrong_path(room))
            self.last_key, self.last_position = real

    def _wrong_path(self, room: int) -> int:
        # Elements that never were; return how many.
        count = self._random.randint(1, room)
        for _ in range(count):
            kind = self._random.randrange(16)
            if kind == 0:
                self.flush_atoms()
                super().exception(_WRONG_EXCEPTION, self._random.randrange(0, 1 << 16, 2), True)
                self._count()
                continue
            taken = kind > 4
            self._element(taken)
            if taken:
                self.on_wrong()
            if taken and kind > 13:
                self.flush_atoms()
                super().location(self._random.randrange(0, 1 << 16, 2), None)
        return count

    def _take_back(self, elements: int) -> None:
        self._uncommitted -= elements
        self._next_key = (self._next_key - elements) % self._setup.keys
        self._record(CANCEL)

    def _cancel(self, elements: int) -> None:
        self.put(cancel_1(elements))
        self._take_back(elements)

    def _mispredict(self, wrong: int) -> None:
        # Cancel a wrong path, and turn the atom before it.
        if wrong == 1 and self._chance(2):
            data = cancel_2(self._last_atoms("EE", "E", "N"))
        elif 2 <= wrong <= _MOST_FORMAT_3 and self._chance(2):
            data = cancel_3(wrong, self._last_atoms("E") == "E")
        else:
            data = cancel_1(wrong, True)
        self.put(data)
        self._take_back(wrong)

    def _last_atoms(self, *choices: str) -> str:
        # Take the first of some endings that the waiting atoms have, for a packet that holds them itself.
        for ending in choices:
            if self._atoms.endswith(ending):
                self._atoms = self._atoms[: -len(ending)]
                return ending
        return ""
