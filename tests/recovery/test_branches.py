"""Vectors worked by hand from the Armv8-M manual: branch targets."""

from __future__ import annotations

from typing import List, Optional, Tuple

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.functions.branches import FunctionCode
from gdb_etm.recovery.lift.template import Templates

START, END = 0x100, 0x140


class One:
    """Call frame information of one function whose frame becomes empty."""

    def __init__(self, empty: int = END) -> None:
        self._empty = empty

    def row(self, address: int) -> Optional[FrameRow]:
        return FrameRow(13, 8 if address < self._empty else 0, {})

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        return (START, END) if START <= address < END else None


def after(halves: Tuple[int, ...], index: int = 0, empty: int = END) -> Optional[List[int]]:
    """Follow the instruction that begins with a halfword."""
    code = b"".join(half.to_bytes(2, "little") for half in halves).ljust(END - START, b"\0")
    program = Program([MemoryImage(START, code, "test")])
    address = START + 2 * index
    templates = Templates(program, True)
    size = 4 if halves[index] >= 0xE800 else 2
    template = templates.of_range(address, address + size, Isa.T32, 0)[0][0]
    return FunctionCode(One(empty), program).after(template, (START, END))


@pytest.mark.parametrize(
    "halves, expected",
    [
        ((0xE002,), [START + 8]),  # b
        ((0xD002,), [START + 8, START + 2]),  # beq
        ((0xB110,), [START + 8, START + 2]),  # cbz r0
        ((0xF000, 0xF802), [START + 4]),  # bl
        ((0x4788,), [START + 2]),  # blx r1
        ((0x4770,), []),  # bx lr
        ((0xBD10,), []),  # pop {r4, pc}
        ((0x4708,), None),  # bx r1
        ((0xE8DF, 0xF003, 0x0302), [START + 8, START + 10]),  # tbb [pc, r3]
        ((0xE8DF, 0xF003, 0x0401, 0x0006), [START + 6, START + 12]),  # 6 is behind where the first leads
        ((0xE8DF, 0xF013, 0x0002, 0x0004), [START + 8, START + 12]),  # tbh [pc, r3, lsl #1]
        ((0xE8D2, 0xF003, 0x0302), None),  # tbb [r2, r3]
    ],
)
def test_where_a_function_goes_on(halves: Tuple[int, ...], expected: Optional[List[int]]) -> None:
    found = after(halves)
    assert found == expected if found is None or expected is None else sorted(found) == sorted(expected)


def test_a_table_of_addresses() -> None:
    # adr r2; ldr.w pc, [r2, r3, lsl #2]; its words end where the first of them leads.
    table = (0xBF00, 0xA201, 0xF852, 0xF023, 0x0111, 0, 0x0115, 0, 0x0000, 0x0000)
    assert after(table, 2) == [START + 0x10, START + 0x14]


@pytest.mark.parametrize(
    "branch", [(0x4718,), (0x469F,), (0xF852, 0xF023)]
)  # bx r3; mov pc, r3; ldr.w pc, [r2, r3, lsl #2]
def test_labels_whose_addresses_the_program_holds(branch: Tuple[int, ...]) -> None:
    # The words are at a multiple of 4; that of the function's beginning is a pointer to the function.
    words = (0x0111, 0, 0x0114, 0, START | 1, 0, END, 0)
    padding = (0xBF00,) * (4 - len(branch))
    assert after((*branch, *padding, *words)) == [START + 0x10, START + 0x14]
    assert after((*branch, *padding, 0xBF00, *words)) is None


@pytest.mark.parametrize("branch", [(0x449F, 0xBF00), (0xE8D2, 0xF003)])  # add pc, r3; tbb [r2, r3]
def test_a_branch_by_a_distance_leads_to_no_label(branch: Tuple[int, ...]) -> None:
    assert after((*branch, 0xBF00, 0xBF00, 0x0111, 0, 0x0114, 0)) is None


def test_with_an_empty_frame_it_goes_on_elsewhere() -> None:
    assert after((0x4708,), empty=START) == []
