"""Property test: of damaged debug information nothing is known or raised."""

from __future__ import annotations

import random
from pathlib import Path
from typing import List, Tuple

import pytest
from elftools.elf.elffile import ELFFile

from gdb_etm.program.frame_variables import load_frame_variables
from gdb_etm.program.places import CFA
from gdb_etm.program.variables import load_variables
from tests.firmware.field.build import elf
from tests.program.declared import compiled

PROGRAMS = ("station-Og", "gateway-flto", "json-O0", "plant-O2")
# What debug information is, and where it is changed most.
SECTIONS = (".debug_info", ".debug_abbrev", ".debug_loclists", ".debug_rnglists", ".debug_aranges", ".symtab")
WORDS = (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\0\0", b"\x01\0\0\0", b"\x80\x80\x80\x80")


def sections(path: str) -> List[Tuple[int, int]]:
    """Return where the sections are in the file: offset and size."""
    with open(path, "rb") as file:
        parts = ELFFile(file)
        found = [parts.get_section_by_name(name) for name in SECTIONS]
        return [(one["sh_offset"], one["sh_size"]) for one in found if one is not None]


def ask_everything(path: str) -> int:
    """Ask about memory and code, and count the answers."""
    variables, frames = load_variables([path]), load_frame_variables([path])
    count = 0
    for address in [*range(0, 0x60, 9), *range(0x20000000, 0x20001000, 77), 0xFFFFFFFF]:
        found = variables.containers(address)
        count += len(found)
        variables.pointee(address)
        for outer, inner in zip(found, found[1:]):
            assert outer.start <= inner.start and inner.end <= outer.end
    for address in range(0x100, 0x1400, 0x26):
        count += len(frames.functions(address)) + len(frames.variables(address))
        frames.containers(address, {CFA: 0x20001000, "sp": 0x20000F00, "r7": 0x20000F00}, 0x20000FF4)
        frames.beginning(address)
    return count


@pytest.mark.parametrize("program", PROGRAMS)
def test_damaged_sections_are_as_none(program: str, tmp_path: Path) -> None:
    good, places = Path(elf(program)).read_bytes(), sections(elf(program))
    path = str(tmp_path / "damaged.elf")
    Path(path).write_bytes(good)
    whole = ask_everything(path)
    assert whole > 200
    for seed in range(25):
        chance = random.Random(seed)
        data = bytearray(good)
        for _ in range(chance.choice((1, 3, 30, 300))):
            start, size = chance.choice(places)
            at = start + chance.randrange(min(size, chance.choice((40, size))))
            change = chance.choice((bytes([chance.randrange(256)]), bytes([data[at] ^ 1 << chance.randrange(8)])))
            change = chance.choice(WORDS) if chance.random() < 0.3 else change
            data[at : at + len(change)] = change
        Path(path).write_bytes(data)
        ask_everything(path)


SELF = """
    .section .debug_info
    .4byte 9f - 8f
8:  .2byte 4
    .4byte 0
    .byte 4
    .uleb128 1
    .byte 12
var: .uleb128 2
    .asciz "loop"
    .4byte kind - 8b + 4
    .byte 5, 3
    .4byte loop
kind: .uleb128 %d
    .byte 8
    .uleb128 4
    .asciz "again"
    .4byte kind - 8b + 4
    .byte 0
    .byte 0
    .byte 0
9:
    .section .debug_abbrev
    .uleb128 1, 0x11
    .byte 1
    .uleb128 0x13, 0xb, 0, 0
    .uleb128 2, 0x34
    .byte 0
    .uleb128 3, 8, 0x49, 0x13, 2, 0x18, 0, 0
    .uleb128 3, 0x13
    .byte 1
    .uleb128 0xb, 0xb, 0, 0
    .uleb128 4, 0xd
    .byte 0
    .uleb128 3, 8, 0x49, 0x13, 0, 0
    .uleb128 0
"""


def test_a_structure_that_contains_itself_ends(tmp_path: Path) -> None:
    lines = "\\n".join((SELF % 3).strip().splitlines()).replace('"', '\\"')
    source = (
        '__asm__("%s\\n.data\\n.type loop, %%object\\nloop: .space 8\\n.size loop, 8\\n.text\\n"); int main(void) { }'
    )
    path = compiled(source % lines, tmp_path, "-g0")
    variables = load_variables([path])
    (symbol,) = [one for one in variables.symbols if one.name == "loop"]
    found = variables.containers(symbol.start + 3)
    assert 1 < len(found) < 100
    assert found[0].type_name == "struct {...}"
    assert found[-1].path.startswith("loop.again.again")


def test_arrays_of_any_size_are_asked_about_at_once(tmp_path: Path) -> None:
    path = compiled("struct { char all[300000000][3]; int last; } far; int main(void) { return far.last; }", tmp_path)
    variables = load_variables([path])
    (symbol,) = [one for one in variables.symbols if one.name == "far"]
    assert symbol.size == 900000004
    found = variables.containers(symbol.start + 3 * 299999999 + 2)
    assert [one.path for one in found] == ["far", "far.all", "far.all[299999999]", "far.all[299999999][2]"]
