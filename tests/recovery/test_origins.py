"""Worked by hand, and the board's truth: where values came from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Iterator, Tuple

import pytest

from gdb_etm.recovery.makers import Maker, MakerKind, MemoryPlace, Place, RegisterPlace
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.values import Tier
from tests.firmware.field.build import board_of
from tests.recovery.score import NAMES, recover
from tests.recovery.small import DEVICE, RAM, run
from tests.recovery.truth import Run, prepare

HALT, WINDOW = 30001, 4000
SMALL = """
    ldr r0, [r4]        @ 1: from a device
    adds r1, r0, #4     @ 2
    push {r1, r5}       @ 3
    mov r1, r6          @ 4
    str r7, [r6]        @ 5: it hides the stack while r6 is not known
    pop {r2, r3}        @ 6
    strb r2, [r8]       @ 7
    movs r9, #0         @ 8
    strb r9, [r8, #1]   @ 9
    ldrh r10, [r8]      @ 10
    eor r11, r10, r2    @ 11
"""


def test_each_kind() -> None:
    ran = run(SMALL.replace("movs r9", "mov r9"), {"r4": DEVICE, "r6": RAM + 64, "r8": RAM + 16})
    recovery = ran.recovery()

    def of(number: int, name: str) -> Tuple[MakerKind, int, Tuple[Place, ...]]:
        return shown(recovery.origin(RegisterPlace(number, name)))

    last = len(ran.history) + 1
    assert of(last, "r11") == (MakerKind.COMPUTED, 11, (RegisterPlace(11, "r2"), RegisterPlace(11, "r10")))
    half = MemoryPlace(10, RAM + 16, 2)
    assert of(last, "r10") == (MakerKind.LOADED, 10, (half,))
    low, high = half._replace(size=1), half._replace(address=RAM + 17, size=1)
    assert shown(recovery.origin(half)) == (MakerKind.MERGED, 10, (low, high))
    assert shown(recovery.origin(low)) == (MakerKind.STORED, 7, (RegisterPlace(7, "r2"),))
    assert recovery.origin(low).address == (RegisterPlace(7, "r8"),)
    assert shown(recovery.origin(high)) == (MakerKind.STORED, 9, (RegisterPlace(9, "r9"),))
    assert of(9, "r9") == (MakerKind.CONSTANT, 8, ())
    pushed = MemoryPlace(6, ran.before[5]["sp"], 4)
    assert of(7, "r2") == (MakerKind.LOADED, 6, (pushed,))
    assert shown(recovery.origin(pushed)) == (MakerKind.STORED, 3, (RegisterPlace(3, "r1"),))
    assert of(5, "r1") == (MakerKind.COPIED, 4, (RegisterPlace(4, "r6"),))
    assert of(3, "r1") == (MakerKind.COMPUTED, 2, (RegisterPlace(2, "r0"),))
    assert of(2, "r0") == (MakerKind.LOADED, 1, (MemoryPlace(1, DEVICE, 4),))
    assert shown(recovery.origin(MemoryPlace(1, DEVICE, 4))) == (MakerKind.DEVICE, 1, ())
    assert of(3, "r5") == (MakerKind.BEFORE, 1, ())


def test_a_store_of_unknown_address_hides() -> None:
    ran = run(SMALL.replace("str r7, [r6]", "str r7, [r0]"), {"r4": DEVICE, "r6": RAM, "r8": RAM + 16}, {DEVICE: RAM})
    # What was pushed has been overwritten since, so nothing tells that it was not when it was popped.
    recovery = ran.recovery()
    pushed = MemoryPlace(6, ran.before[5]["sp"], 4)
    assert recovery.origin(pushed).kind in (MakerKind.HIDDEN, MakerKind.STORED)
    assert recovery.origin(MemoryPlace(6, RAM + 128, 4)).kind is not MakerKind.STORED


def shown(maker: Maker) -> Tuple[MakerKind, int, Tuple[Place, ...]]:
    return maker.kind, maker.number, maker.sources


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["station-O2", "gateway-Og", "plant-Os", "logger-O2", "json-O0", "files-Os"])
def test_what_is_said_to_be_the_same_is_the_same(program: str, folder: Path) -> None:
    board = board_of(program)
    truth = Run(prepare(program, folder, HALT, board), program, board)
    first, recovery = recover(truth, WINDOW)

    def real(place: RegisterPlace) -> int:
        return truth.value(place.name, first + place.number - 1)

    found: Counter[MakerKind] = Counter()
    for place, size, above, kind, source in same(recovery, len(recovery.history)):
        mask = (1 << 8 * size) - 1
        assert real(place) & mask == real(source) >> 8 * above & mask, (place, kind, source)
        found[kind] += 1
    assert found[MakerKind.STORED] > 30 and found[MakerKind.COPIED] > 50, found


def same(recovery: Recovery, last: int) -> Iterator[Tuple[RegisterPlace, int, int, MakerKind, RegisterPlace]]:
    # Registers of which so many bytes are said to be those of another one from so many bytes on.
    for number in range(2, last + 2):
        for name in NAMES:
            place = RegisterPlace(number, name)
            maker = recovery.origin(place)
            if maker.kind is MakerKind.BEFORE or maker.number != number - 1 or maker.tier > Tier.ASSUMED:
                continue
            size, above, loaded = 4, 0, maker.accessed
            if maker.kind is MakerKind.LOADED and loaded is not None:
                maker = recovery.origin(loaded)
                if maker.kind is not MakerKind.STORED or maker.accessed is None or maker.tier > Tier.ASSUMED:
                    continue
                size, above = loaded.size, loaded.address - maker.accessed.address
            if maker.kind in (MakerKind.STORED, MakerKind.COPIED, MakerKind.KEPT):
                (source,) = maker.sources or (None,)
                if isinstance(source, RegisterPlace):
                    yield place, size, above, maker.kind, source
