"""Worked by hand from AAPCS32, 6.4; GCC's programs, changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import pytest

from gdb_etm.program.conventions import has_convention, placed, refutes
from gdb_etm.program.elf import open_elf
from gdb_etm.program.frame_variables import load_frame_variables
from tests.firmware.build import symbol
from tests.program.declared import compiled

SOURCE = """
int state[4];
int words(int first, int second) { return state[first] + second; }
int floats(float first, int second) { return state[second] + (int)first; }
int main(void) { return words(1, 2) + floats(1, 2); }
"""
FLOATS = ("-O1", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16")


def told(path: str, *names: str) -> List[bool]:
    """Return whether the parameters of functions are told."""
    variables = load_frame_variables([path])
    return [variables.beginning(symbol(path, name)) is not None for name in names]


@pytest.mark.parametrize(
    "sizes, by_pointer, words",
    [
        ([4, 1, 2], False, ([0, 1, 2], 3)),
        ([4, 8, 4], False, ([0, 2, 4], 5)),
        ([12, 4], True, ([1, 4], 5)),
        ([], False, ([], 0)),
    ],
)
def test_words(sizes: List[int], by_pointer: bool, words: object) -> None:
    assert placed(sizes, by_pointer) == words


def test_what_debug_information_says_counts() -> None:
    assert not refutes([0, 1, 4], ["r0", "", ""])
    assert refutes([0, 1], ["r1", "r2"])
    assert refutes([0, 1], ["", "r0"])
    assert refutes([4], ["r0"])


def test_parameters_in_other_registers_are_not_told(tmp_path: Path) -> None:
    # A float takes none of the core's registers.
    assert told(compiled(SOURCE, tmp_path, *FLOATS), "words", "floats", "main") == [True, False, True]


@pytest.mark.parametrize("language, known", [(0x0C, True), (0x21, True), (0x1C, False), (0x27, False)])
def test_languages_with_a_convention_of_their_own(language: int, known: bool, tmp_path: Path) -> None:
    path = Path(compiled(SOURCE, tmp_path, "-O1"))
    data = bytearray(path.read_bytes())
    with open_elf(str(path)) as elf:
        start = elf.get_section_by_name(".debug_info")["sh_offset"]
        for unit in elf.get_dwarf_info().iter_CUs():
            found = unit.get_top_DIE().attributes["DW_AT_language"]
            # An assembler's takes more than a byte.
            if found.form == "DW_FORM_data1":
                data[start + found.offset] = language
    path.write_bytes(data)
    assert told(str(path), "words") == [known]


def entry(unit: Optional[Dict[str, Any]] = None, **attributes: int) -> Any:
    """Return a function's entry with attributes, and some of its unit's."""

    def made(values: Dict[str, Any]) -> Any:
        return SimpleNamespace(
            attributes={"DW_AT_" + name: SimpleNamespace(value=one, form="") for name, one in values.items()}
        )

    die, top = made(attributes), made(unit or {})
    die.cu = SimpleNamespace(get_top_DIE=lambda: top)
    return die


def test_what_compilers_say_themselves() -> None:
    # DW_CC_normal and DW_CC_nocall, as LLVM has it where it has changed parameters (DWARF 5, 7.15).
    assert has_convention(entry()) and has_convention(entry(calling_convention=1))
    assert not has_convention(entry(calling_convention=3))
    assert has_convention(entry({"producer": b"clang version 22.1.8", "language": 0x0C}))
    assert not has_convention(entry({"producer": b"zig 0.17.1", "language": 0x0C}))
