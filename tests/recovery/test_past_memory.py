"""The board's truth: the memory of the past, and what wrote it."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

import pytest

from gdb_etm.board.bus import RAM_BASE
from tests.firmware.field.build import PROGRAMS, board_of
from tests.recovery.score import recover
from tests.recovery.truth import Run, Stored, prepare

HALT, WINDOW = 30001, 3000
# Transfers of an exception that pushes floating-point registers (IHI 0064H, table F-23).
EXTENDED = 25
PROGRAM = pytest.mark.parametrize("program", PROGRAMS)


class Past:
    """What was in memory, and what is known of it."""

    def __init__(self, run: Run) -> None:
        self.first, self.recovery = recover(run, WINDOW)
        self.last = len(run) - self.first
        # By byte, the indices of the stores to it, and what they stored, if that is known.
        self._bytes: Dict[int, Tuple[List[int], List[Optional[int]]]] = {}
        # By word, the stores of the window.
        self.stores: Dict[int, List[Stored]] = {}
        # Those that may have stored anything.
        self.reserved: List[Stored] = []
        for _, stores in groupby(run.stores, lambda one: one.index):
            together = list(stores)
            for one in together:
                self._add(one)
            if len(together) >= EXTENDED:
                # The last word of a frame with floating-point registers is reserved, and no transfer.
                last = together[-1]
                self.reserved.append(last._replace(address=last.address + 4))
                self._add(self.reserved[-1], is_known=False)

    def _add(self, one: Stored, is_known: bool = True) -> None:
        for at in range(one.size):
            indices, values = self._bytes.setdefault(one.address + at, ([], []))
            indices.append(one.index)
            values.append(one.value >> 8 * at & 0xFF if is_known else None)
        # Words of devices are no memory.
        if one.index >= self.first and one.address >> 28 == RAM_BASE >> 28:
            for word in range(one.address & ~3, one.address + one.size, 4):
                self.stores.setdefault(word, []).append(one)

    def number(self, one: Stored) -> int:
        """Give the number of the instruction that stored."""
        return one.index - self.first + 1

    def true(self, byte: int, number: int) -> Optional[int]:
        """Give a byte before an instruction; None if that is not known."""
        indices, values = self._bytes.get(byte, ([], []))
        at = bisect_left(indices, number + self.first - 1)
        return values[at - 1] if at else None

    def moments(self) -> Iterator[Tuple[int, int]]:
        """List words with the instructions to look at.

        They are those at both ends of the window, each that stored, and the next one.
        """
        for word, stores in sorted(self.stores.items()):
            numbers = [number for one in stores for number in (self.number(one), self.number(one) + 1)]
            yield from [(word, number) for number in sorted({1, self.last, *numbers}) if number <= self.last]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@lru_cache(maxsize=None)
def past_of(program: str, folder: Path) -> Past:
    board = board_of(program)
    return Past(Run(prepare(program, folder, HALT, board, data=True), program, board))


@pytest.mark.sweep
@PROGRAM
def test_no_byte_is_wrong(program: str, folder: Path) -> None:
    past, known = past_of(program, folder), 0
    for word, number in past.moments():
        for byte, found in enumerate(past.recovery.memory(number, word, 4), word):
            true = past.true(byte, number)
            if found.value is not None and true is not None:
                assert found.value == true, "%#x before #%d: %s" % (byte, number, found.reason)
                known += 1
    assert known > 1000


@pytest.mark.sweep
@PROGRAM
def test_what_wrote_a_word(program: str, folder: Path) -> None:
    past, seen = past_of(program, folder), 0
    for word, stores in past.stores.items():
        newer = past.last + 1
        for write in past.recovery.writes(word, 4).writes:
            true = [one for one in stores if past.number(one) == write.number and one.address == write.address]
            assert not write.certain or [one.size for one in true] == [write.size]
            assert not true or true[0] in past.reserved or write.value.value in (None, true[0].value)
            # Where no store may be missing, none is.
            between = [one for one in stores if write.number < past.number(one) < newer]
            assert write.unknown_after or not between
            newer, seen = write.number, seen + 1
    assert seen > 50
