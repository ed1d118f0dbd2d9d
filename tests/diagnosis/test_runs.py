"""Worked by hand: which stores are one copy."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple, cast

from gdb_etm.diagnosis.runs import runs
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.makers import Maker, MakerKind
from gdb_etm.recovery.values import Tier, Value, Write


class Stored(NamedTuple):
    """A store: by which instruction, and for which call of a library."""

    number: int
    address: int
    size: int = 1
    at: int = 0x100
    call: Optional[int] = None
    unknown: int = 0
    is_pushed: bool = False


class Fake:
    """A scene in which it is known who stored."""

    def __init__(self, stores: Dict[int, Stored]) -> None:
        self._stores = stores
        # It is its own index, recovery, and origins.
        self.index = self.recovery = self

    def user(self, number: int) -> int:
        """Give the call, or the instruction itself."""
        call = self._stores[number].call
        return number if call is None else call

    def activation(self, number: int) -> object:
        """Give what executed it: one function for each page of code."""
        return self._stores[number].at >> 8

    def address(self, number: int) -> int:
        """Give an instruction's address."""
        return self._stores[number].at

    def origins(self, number: int) -> "Fake":
        """Give the steps back."""
        return self

    def stored(self, number: int, address: int) -> Tuple[Maker, None]:
        """Say how it was stored."""
        return Maker(MakerKind.PUSHED if self._stores[number].is_pushed else MakerKind.STORED, number), None


def found(*stores: Stored) -> List[Tuple[int, int, int, int, Optional[int]]]:
    """Put stores together, the newest first: newest, oldest, address, size, call."""
    scene = cast(Scene, Fake({one.number: one for one in stores}))
    value = Value(0, Tier.EXACT, "")
    newest = sorted(stores, reverse=True)
    writes = [Write(one.number, one.address, one.size, value, True, one.unknown) for one in newest]
    return [(run.number, run.oldest, run.address, run.size, run.caller) for run in runs(scene, writes)]


def test_a_loop_over_bytes_is_one() -> None:
    loop = [Stored(10 + 3 * at, 0x20000000 + at) for at in range(5)]
    assert found(*loop) == [(22, 10, 0x20000000, 5, None)]
    # Downward, too.
    down = [Stored(10 + 3 * at, 0x20000004 - at) for at in range(5)]
    assert found(*down) == [(22, 10, 0x20000000, 5, None)]


def test_a_librarys_call_is_one_whatever_it_stores() -> None:
    # Words, and bytes by another instruction; then another call.
    copy = [
        Stored(10, 0x20000000, 4, 0x200, 5),
        Stored(12, 0x20000004, 4, 0x200, 5),
        Stored(15, 0x20000008, 1, 0x220, 5),
    ]
    assert found(*copy) == [(15, 10, 0x20000000, 9, 5)]
    assert found(*copy, Stored(30, 0x20000009, 1, 0x220, 25)) == [
        (30, 30, 0x20000009, 1, 25),
        (15, 10, 0x20000000, 9, 5),
    ]


def test_what_stays_by_itself() -> None:
    # Words of the program's own code; another instruction; another function; not side by side; a store of unknown
    # address in between.
    assert len(found(Stored(1, 0x20000000, 4), Stored(2, 0x20000004, 4))) == 2
    assert len(found(Stored(1, 0x20000000), Stored(2, 0x20000001, at=0x102))) == 2
    assert len(found(Stored(1, 0x20000000), Stored(2, 0x20000001, at=0x200))) == 2
    assert len(found(Stored(1, 0x20000000), Stored(2, 0x20000002))) == 2
    assert len(found(Stored(1, 0x20000000, unknown=1), Stored(2, 0x20000001))) == 2


def test_what_an_exception_pushed_is_no_part_of_a_copy() -> None:
    pushed = Stored(12, 0x20000004, 4, 0x200, 5, is_pushed=True)
    assert found(Stored(10, 0x20000000, 4, 0x200, 5), pushed) == [
        (12, 12, 0x20000004, 4, None),
        (10, 10, 0x20000000, 4, 5),
    ]
