"""Vectors worked by hand from DWARF 5, and a differential run: readelf."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest

from gdb_etm.errors import ImageError
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.frame_rows import CALLEE_SAVED, FrameRow
from tests.firmware.build import elf, symbol
from tests.firmware.cortex_a import build as cortex_a
from tests.firmware.recovery import build as recovery

ADVANCE, OFFSET, RESTORE = 1 << 6, 2 << 6, 3 << 6
DEF_CFA, DEF_CFA_REGISTER, DEF_CFA_OFFSET, DEF_CFA_EXPRESSION, SAME_VALUE, REMEMBER, RECALL = 12, 13, 14, 15, 8, 10, 11


def entry(identifier: int, body: bytes) -> bytes:
    """Return an entry of .debug_frame: its length, its identifier, and the rest."""
    body = struct.pack("<I", identifier) + body
    body += bytes(-len(body) % 4)
    return struct.pack("<I", len(body)) + body


# Version 1, no augmentation, code alignment 2, data alignment -4, return address in LR; the frame is at SP + 0.
CIE = entry(0xFFFFFFFF, bytes([1, 0, 2, 0x7C, 14, DEF_CFA, 13, 0]))


def fde(start: int, size: int, *program: int) -> bytes:
    """Return an entry for a function."""
    return entry(0, struct.pack("<II", start, size) + bytes(program))


def file_with(frames: bytes, code: bytes = b"", address: int = 0x1000, machine: int = 40) -> bytes:
    """Return an ELF file with code at an address, and .debug_frame."""
    code = code or b"\x00\xbf" * 32
    names = b"\0.debug_frame\0.names\0"
    at = 52 + 32
    places = [at, at + len(code), at + len(code) + len(frames)]
    table = places[2] + len(names)
    header = b"\x7fELF\1\1\1" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, machine, 1, address, 52, table, 0, 52, 32, 1, 40, 3, 2)
    segment = struct.pack("<8I", 1, places[0], address, address, len(code), len(code), 5, 4)
    sections = bytes(40)
    sections += struct.pack("<10I", 1, 1, 0, 0, places[1], len(frames), 0, 0, 1, 0)
    sections += struct.pack("<10I", 14, 3, 0, 0, places[2], len(names), 0, 0, 1, 0)
    return header + segment + code + frames + names + sections


def rows(path: Path, frames: bytes, addresses: List[int], code: bytes = b"") -> List[Optional[FrameRow]]:
    """Return what is told of some addresses."""
    path.write_bytes(file_with(frames, code))
    found = load_frames([str(path)])
    return [found.row(address) for address in addresses]


def test_a_push_and_a_frame_pointer(tmp_path: Path) -> None:
    # push {r4, r7, lr}; sub sp, #8; add r7, sp, #0
    program = [ADVANCE | 1, DEF_CFA_OFFSET, 12, OFFSET | 4, 3, OFFSET | 7, 2, OFFSET | 14, 1]
    program += [ADVANCE | 1, DEF_CFA_OFFSET, 20, ADVANCE | 1, DEF_CFA_REGISTER, 7]
    found = rows(tmp_path / "elf", CIE + fde(0x1000, 16, *program), [0x0FFE, 0x1000, 0x1002, 0x1004, 0x100E, 0x1010])
    saved, kept = {4: -12, 7: -8, 14: -4}, (5, 6, 8, 9, 10, 11)
    assert found == [
        None,
        FrameRow(13, 0, {}, CALLEE_SAVED),
        FrameRow(13, 12, saved, kept),
        FrameRow(13, 20, saved, kept),
        FrameRow(7, 20, saved, kept),
        None,
    ]


def test_what_is_remembered_restored_and_the_same(tmp_path: Path) -> None:
    program = [SAME_VALUE, 12, ADVANCE | 1, DEF_CFA_OFFSET, 8, OFFSET | 4, 2, OFFSET | 14, 1]
    program += [ADVANCE | 1, REMEMBER, RESTORE | 4, DEF_CFA_OFFSET, 0, ADVANCE | 1, RECALL]
    found = rows(tmp_path / "elf", CIE + fde(0x1000, 12, *program), [0x1000, 0x1002, 0x1004, 0x1006])
    pushed = FrameRow(13, 8, {4: -8, 14: -4}, (5, 6, 7, 8, 9, 10, 11, 12))
    assert found == [
        FrameRow(13, 0, {}, (*CALLEE_SAVED, 12)),
        pushed,
        FrameRow(13, 0, {14: -4}, (*CALLEE_SAVED, 12)),
        pushed,
    ]


def test_an_expression_and_a_register_that_is_none_tell_nothing(tmp_path: Path) -> None:
    frames = CIE + fde(0x1000, 8, ADVANCE | 2, DEF_CFA_EXPRESSION, 2, 0x7D, 0, ADVANCE | 1, DEF_CFA, 64, 0)
    found = rows(tmp_path / "elf", frames, [0x1002, 0x1004, 0x1006])
    assert found == [FrameRow(13, 0, {}, CALLEE_SAVED), None, None]


MOVES = ("10b5", "82b0", "2de9f04f", "adf20c0d", "adf10c0d", "4df8044d", "80f30988", "04002de5", "10402de9")


@pytest.mark.parametrize("code", MOVES)
def test_code_that_moves_the_stack_pointer_is_not_believed_to_have_no_frame(code: str, tmp_path: Path) -> None:
    plain = b"\x00\xbf" * 2
    told = CIE + fde(0x1000, 12), CIE + fde(0x1000, 12, ADVANCE | 1, DEF_CFA_OFFSET, 8)
    assert rows(tmp_path / "elf", told[0], [0x1004], plain + bytes.fromhex(code) + plain * 3) == [None]
    assert rows(tmp_path / "elf", told[1], [0x1004], plain + bytes.fromhex(code) + plain * 3) != [None]
    assert rows(tmp_path / "elf", told[0], [0x1004]) == [FrameRow(13, 0, {}, CALLEE_SAVED)]


def test_functions_that_the_linker_threw_away_are_left_out(tmp_path: Path) -> None:
    frames = CIE + fde(0, 0x2000, ADVANCE | 1, DEF_CFA_OFFSET, 8)
    assert rows(tmp_path / "elf", frames, [0x1000]) == [None]


def test_files_without_and_with_broken_information(tmp_path: Path) -> None:
    assert rows(tmp_path / "elf", b"", [0x1000]) == [None]
    (tmp_path / "elf").write_bytes(file_with(CIE + fde(0x1000, 8), machine=183))
    assert len(load_frames([str(tmp_path / "elf")])) == 0
    for broken in (CIE[:9], CIE + fde(0x1000, 8)[:11], b"\x40\0\0\0" + bytes(4)):
        (tmp_path / "elf").write_bytes(file_with(broken))
        try:
            load_frames([str(tmp_path / "elf")]).row(0x1000)
        except ImageError as error:
            assert "call frame information" in str(error)
    with pytest.raises(ImageError, match="cannot read"):
        load_frames([str(tmp_path / "nowhere")])


_FDE = re.compile(r"^\w+ \w+ \w+ FDE .*pc=(\w+)\.\.(\w+)")
_NUMBERS = {"ra": 14, **{"r%d" % number: number for number in range(16)}}


def by_readelf(path: str) -> Dict[int, Tuple[int, int, Dict[int, int]]]:
    """Return readelf's rows by address: frame register, offset, saved registers."""
    reader = shutil.which("arm-none-eabi-readelf") or shutil.which("readelf")
    if reader is None:
        pytest.skip("no readelf")
    text = subprocess.run([reader, "-wF", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    found: Dict[int, Tuple[int, int, Dict[int, int]]] = {}
    columns: List[str] = []
    inside = False
    for line in text.splitlines():
        words = line.split()
        if not words or " CIE " in line:
            inside = False
        elif _FDE.match(line):
            inside = True
        elif inside and words[0] == "LOC":
            columns = words[2:]
        elif inside:
            register, _, offset = words[1].partition("+")
            saved = {_NUMBERS[name]: int(rule[1:]) for name, rule in zip(columns, words[2:]) if rule[0] == "c"}
            found[int(words[0], 16)] = int(register[1:]), int(offset), saved
    return found


FILES = [recovery.elf("%s-%s" % (name, level)) for name in ("frames", "kernel", "clobber") for level in recovery.LEVELS]


@pytest.mark.parametrize("path", [*FILES, elf("sort"), cortex_a.elf("sort-a32")], ids=lambda path: Path(path).stem)
def test_every_row_is_readelfs(path: str) -> None:
    frames = load_frames([path])
    theirs = by_readelf(path)
    assert len(theirs) >= 15
    for address, (register, offset, saved) in theirs.items():
        row = frames.row(address)
        assert row is not None, hex(address)
        assert (row.register, row.offset) == (register, offset), hex(address)
        assert row.saved == saved, hex(address)
        assert not set(row.kept) & set(saved)


def test_handlers_in_assembly_tell_nothing() -> None:
    path = recovery.elf("kernel-O2")
    frames = load_frames([path])
    assert frames.row(symbol(path, "PendSV_Handler")) is None
    assert frames.row(symbol(path, "switch_task")) is not None
