"""Vectors worked by hand: ELF files with one damaged field.

Each is given to everything that reads ELF files: what is told is one line with the file's name, and no reader waits,
or asks for more memory than the file holds.
"""

from __future__ import annotations

import io
import os
import socket
import struct
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from gdb_etm.board.system import load_elf as load_into_board
from gdb_etm.errors import ImageError
from gdb_etm.files import open_regular, size_of
from gdb_etm.offline.debugger import load_lines
from gdb_etm.offline.symbols import load_symbols, load_variables
from gdb_etm.program import elf as opener
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.elf import open_elf, profile_of
from gdb_etm.program.image import load_constants, load_elf
from gdb_etm.program.ram import load_writable
from tests.firmware.build import elf

# What is not reached: no file here gets as far as the board's memory.
NO_BUS: Any = None

READERS: Dict[str, Callable[[str], object]] = {
    "segments": load_elf,
    "constants": load_constants,
    "writable": load_writable,
    "functions": lambda path: load_symbols([path]),
    "variables": lambda path: load_variables([path]),
    "frames": lambda path: load_frames([path]),
    "lines": lambda path: load_lines([path]),
    "board": lambda path: load_into_board(NO_BUS, path),
}
# Offsets of e_shoff and e_shnum in the header of an ELF32 file.
SHOFF, SHNUM = 0x20, 0x30
# Offsets of fields in a section header of an ELF32 file.
TYPE, FLAGS, ADDRESS, OFFSET, SIZE, LINK, INFO, ALIGN, ENTSIZE = range(4, 40, 4)
COMPRESSED = 0x800


def headers(data: bytes) -> Dict[str, int]:
    """Return the section headers' offsets in an ELF32 file, by name."""
    (start,) = struct.unpack_from("<I", data, SHOFF)
    return {section.name: start + 40 * index for index, section in enumerate(ELFFile(io.BytesIO(data)).iter_sections())}


def damaged(path: Path, *changes: Tuple[str, int, int]) -> str:
    """Write a firmware's ELF file with words of section headers changed.

    :param changes: Section, field and new value.
    """
    data = bytearray(Path(elf("sort")).read_bytes())
    places = headers(data)
    for section, field, value in changes:
        struct.pack_into("<I", data, places[section] + field, value)
    path.write_bytes(data)
    return str(path)


def refusal(read: Callable[[str], object], path: str) -> str:
    """Return the line that a reader refuses a file with."""
    with pytest.raises(ImageError) as caught:
        read(path)
    assert path in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", [name for name in READERS if name != "board"])
def test_a_whole_file_is_read(name: str) -> None:
    assert READERS[name](elf("sort")) is not None
    assert profile_of(elf("sort")) == "M"


@pytest.mark.parametrize("name", READERS)
def test_no_reader_waits_for_a_fifo(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.elf"
    os.mkfifo(path)
    assert refusal(READERS[name], str(path)) == "cannot read %s: it is a FIFO, not a file" % path
    assert profile_of(str(path)) == ""


def test_what_else_is_no_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "door"))
        assert refusal(load_elf, str(tmp_path / "door")).endswith("it is a socket, not a file")
    assert refusal(load_elf, "/dev/zero").endswith("it is a device, not a file")
    assert refusal(load_elf, str(tmp_path)).endswith("it is a directory, not a file")


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "changes, message",
    [
        ([(".text", SIZE, 0xFFFFFFFF)], "section .text of 4294967295 bytes; at most 1073741824 are read"),
        ([(".bss", SIZE, 0xFFFFFFFF)], "section .bss of 4294967295 bytes"),
        ([(".symtab", OFFSET, 0x3FFFFFFF)], "is cut short: section .symtab ends at byte "),
        ([(".debug_line", TYPE, 8)], "section .debug_line has a size and no content"),
    ],
)
def test_sizes_are_not_believed(name: str, changes: List[Tuple[str, int, int]], message: str, tmp_path: Path) -> None:
    assert message in refusal(READERS[name], damaged(tmp_path / "program.elf", *changes))


@pytest.mark.parametrize("name", READERS)
def test_four_thousand_million_sections_are_not_counted(name: str, tmp_path: Path) -> None:
    """System V ABI, 4: section 0's size may be the count."""
    path = tmp_path / "program.elf"
    data = bytearray(Path(damaged(path, ("", SIZE, 0xFFFFFFF0))).read_bytes())
    data[SHNUM : SHNUM + 2] = b"\0\0"
    path.write_bytes(data)
    assert refusal(READERS[name], str(path)).endswith("says that it has more than 16384 sections or segments")


class Broken:
    """pyelftools' file, with what it was seen to raise."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, stream: Any) -> Any:
        """Fail."""
        raise self.error


@pytest.mark.parametrize(
    "error, told",
    [
        (KeyError(92), "KeyError 92"),
        (AssertionError(), "AssertionError"),
        (MemoryError(), "MemoryError"),
        (RecursionError("maximum recursion depth exceeded"), "maximum recursion depth exceeded"),
        (ValueError("two\nlines"), "two lines"),
    ],
)
@pytest.mark.parametrize("name", READERS)
def test_whatever_is_raised_is_one_line(
    name: str, error: BaseException, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = damaged(tmp_path / "program.elf")
    monkeypatch.setattr("elftools.elf.elffile.ELFFile", Broken(error))
    assert refusal(READERS[name], path).endswith(": " + told)


def test_ctrl_c_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = damaged(tmp_path / "program.elf")
    monkeypatch.setattr("elftools.elf.elffile.ELFFile", Broken(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        load_elf(path)


def test_parts_that_overlap_are_not_read_for_ever(tmp_path: Path) -> None:
    """Ten thousand segments that are each the whole file."""
    count, size = 10000, 1 << 22
    path = tmp_path / "program.elf"
    head = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 40, 1, 0, 52, 0, 0, 52, 32, count, 40, 0, 0)
    path.write_bytes(head + struct.pack("<8I", 1, 0, 0x1000, 0, size, size, 5, 4) * count)
    os.truncate(path, size)
    assert "its parts overlap: 4194304 bytes were read more than 16 times" in refusal(load_elf, str(path))


def test_more_is_not_asked_for_than_there_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    with open_regular(str(tmp_path / "file"), 10) as file:
        file.seek(4)
        assert (file.read(1 << 60), file.read(1 << 60), size_of(file)) == (b"456789", b"", 10)
    with pytest.raises(OSError, match="it holds 10 bytes; at most 9 are read"):
        open_regular(str(tmp_path / "file"), 9)


@pytest.mark.parametrize("name", READERS)
def test_a_bomb_is_not_unpacked(name: str, tmp_path: Path) -> None:
    """A section compressed to a thousandth, by gABI's Elf32_Chdr: type, size, alignment."""
    path = tmp_path / "program.elf"
    packed = struct.pack("<3I", 1, 0x10000000, 1) + zlib.compress(bytes(0x10000000), 1)
    end = os.path.getsize(elf("sort"))
    changes = [(".debug_line", FLAGS, COMPRESSED), (".debug_line", OFFSET, end), (".debug_line", SIZE, len(packed))]
    damaged(path, *changes)
    with open(path, "ab") as file:
        file.write(packed)
    assert "its debug information may unpack to 268435456 bytes" in refusal(READERS[name], str(path))


def test_compressed_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = tmp_path / "program.elf", Path(elf("sort")).read_bytes()
    at = headers(data)[".debug_line"]
    offset, size = struct.unpack_from("<2I", data, at + OFFSET)
    packed = struct.pack("<3I", 1, size, 1) + zlib.compress(data[offset : offset + size])
    changes = [
        (".debug_line", FLAGS, COMPRESSED),
        (".debug_line", OFFSET, len(data)),
        (".debug_line", SIZE, len(packed)),
    ]
    damaged(path, *changes)
    with open(path, "ab") as file:
        file.write(packed)
    code = load_symbols([elf("sort")]).functions
    lines = [load_lines([name]).at(function.start) for name in (elf("sort"), str(path)) for function in code]
    assert any(lines) and lines[: len(code)] == lines[len(code) :]
    monkeypatch.setattr(opener, "_SPARE", 0)
    monkeypatch.setattr(opener, "_MOST_UNPACKED", 0)
    assert "may unpack to %d bytes" % size in refusal(READERS["lines"], str(path))


def test_what_goes_wrong_in_the_block_is_told_with_the_files_name() -> None:
    path = elf("sort")
    with pytest.raises(ImageError, match=r"sort.*\.elf has no sense: KeyError 'x'"):
        with open_elf(path, "has no sense"):
            raise KeyError("x")


def test_line_tables_are_read_once_for_all_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of a hundred units would be read a hundred times."""
    read: List[str] = []
    whole = Section.data
    monkeypatch.setattr(Section, "data", lambda section: read.append(section.name) or whole(section))
    assert load_lines([elf("dropped")], 0x200).lines_of("dropped.c")
    assert read.count(".debug_line") == 1
