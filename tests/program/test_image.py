"""Vectors worked by hand, and a property test: memory in pieces.

ELF files are written here byte by byte as the ELF specification (System V ABI, chapter 4) lays them out.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.capture import MemoryImage
from gdb_etm.errors import ImageError
from gdb_etm.program.image import Program, load_elf


def image(address: int, data: bytes, name: str = "test") -> MemoryImage:
    return MemoryImage(address, data, name)


def test_reads_end_where_memory_ends() -> None:
    program = Program([image(0x100, b"abcd")])
    assert program.read(0x100, 4) == b"abcd"
    assert program.read(0x102, 10) == b"cd"
    assert program.read(0x104, 1) == b""
    assert program.read(0xFE, 4) == b""
    assert program.piece_at(0x103) == (0x100, b"abcd")
    assert program.piece_at(0x104) is None
    assert program.piece_at(0) is None


def test_reads_go_over_the_border_of_adjacent_pieces() -> None:
    program = Program([image(0x104, b"efgh"), image(0x100, b"abcd"), image(0x10A, b"kl")])
    assert program.read(0x102, 4) == b"cdef"
    assert program.read(0x100, 100) == b"abcdefgh"
    assert program.read(0x107, 4) == b"h"


def test_the_earlier_image_wins() -> None:
    # Memory read from the target stands before the ELF file: what is there now is what ran.
    program = Program([image(0x102, b"XY"), image(0x100, b"abcdef"), image(0x0FE, b"--------------")])
    assert program.read(0x0FE, 12) == b"--abXYef----"
    # An image within another that comes first is not seen at all.
    assert Program([image(0, b"abcdef"), image(2, b"XY")]).read(0, 6) == b"abcdef"


def test_empty_images_are_nothing() -> None:
    program = Program([image(0x100, b"")])
    assert program.images == ()
    assert program.read(0x100, 4) == b""


def test_top_of_memory() -> None:
    top = 0xFFFFFFFFFFFFFFFC
    assert Program([image(top, b"abcd")]).read(top, 8) == b"abcd"


def test_identity_is_of_the_bytes() -> None:
    whole = Program([image(0x100, b"abcd", "a")])
    assert whole.identity() == Program([image(0x100, b"abcd", "b")]).identity()
    assert whole.identity() != Program([image(0x104, b"abcd")]).identity()
    assert whole.identity() != Program([image(0x100, b"abce")]).identity()
    # What lies hidden under an earlier image makes no difference.
    assert Program([image(0x100, b"abcd"), image(0x101, b"X")]).identity() == whole.identity()
    assert Program([]).identity() != whole.identity()


images = st.lists(st.tuples(st.integers(0, 40), st.binary(max_size=12)), max_size=8)


@given(images, st.integers(0, 60), st.integers(0, 40))
def test_agrees_with_a_dictionary(pieces: List[Tuple[int, bytes]], address: int, size: int) -> None:
    memory: Dict[int, int] = {}
    for start, data in pieces:
        for index, byte in enumerate(data):
            memory.setdefault(start + index, byte)
    expected = bytearray()
    while len(expected) < size and address + len(expected) in memory:
        expected.append(memory[address + len(expected)])
    assert Program([image(start, data) for start, data in pieces]).read(address, size) == bytes(expected)


EM_ARM = 40
EM_AARCH64 = 183
EM_X86_64 = 62


def elf32(machine: int, segments: List[Tuple[int, int, bytes]], loaded: Sequence[int] = ()) -> bytes:
    """Return a little-endian ELF32 executable; segments are (p_type, p_vaddr, content).

    :param loaded: Their p_paddr, if that is another one.
    """
    places = loaded or [address for _, address, _ in segments]
    count = len(segments)
    ident = b"\x7fELF\x01\x01\x01"
    header = struct.pack("<16sHHIIIIIHHHHHH", ident, 2, machine, 1, 0, 52, 0, 0, 52, 32, count, 40, 0, 0)
    at = 52 + 32 * count
    table = body = b""
    for (kind, address, data), place in zip(segments, places):
        table += struct.pack("<8I", kind, at + len(body), address, place, len(data), len(data) + 16, 5, 4)
        body += data
    return header + table + body


def elf64(machine: int, address: int, data: bytes) -> bytes:
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, machine, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 120, address, address, len(data), len(data), 4) + data


def written(folder: Path, data: bytes) -> str:
    path = folder / "program.elf"
    path.write_bytes(data)
    return str(path)


def test_elf_segments(tmp_path: Path) -> None:
    # Only PT_LOAD (1) is loaded, at p_vaddr, with its bytes in the file; PT_NOTE (4) and empty segments (.bss) are not.
    path = written(tmp_path, elf32(EM_ARM, [(1, 0x1000, b"code"), (4, 0x3000, b"note"), (1, 0x20000000, b"")]))
    assert load_elf(path) == [MemoryImage(0x1000, b"code", path)]


def test_what_is_copied_when_a_program_begins_is_where_it_is_loaded_to(tmp_path: Path) -> None:
    # p_paddr is the segment's place for systems where that is another one; linkers put .data behind the code so.
    segments = [(1, 0x1000, b"code"), (1, 0x20000000, b"data")]
    path = written(tmp_path, elf32(EM_ARM, segments, (0x1000, 0x1004)))
    assert Program(load_elf(path)).read(0x1000, 16) == b"codedata"
    assert Program(load_elf(path)).read(0x20000000, 16) == b"data"
    # Of a file that says nothing of it all are 0, where the vector table is.
    path = written(tmp_path, elf32(EM_ARM, segments, (0, 0)))
    assert Program(load_elf(path)).read(0, 4) == b""


def test_elf_of_64_bits(tmp_path: Path) -> None:
    path = written(tmp_path, elf64(EM_AARCH64, 0xFFFFFFC000080000, b"code"))
    assert load_elf(path) == [MemoryImage(0xFFFFFFC000080000, b"code", path)]


def refusal(path: str) -> str:
    with pytest.raises(ImageError) as caught:
        load_elf(path)
    message = str(caught.value)
    assert path in message and "\n" not in message
    return message


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"", "not a readable ELF file"),
        (b"not an ELF file at all", "not a readable ELF file"),
        (b"\x7fELF\x01\x01\x01", "not a readable ELF file"),
        (elf64(EM_X86_64, 0, b"code"), "not for an Arm processor"),
        (elf32(EM_ARM, []), "no loadable segments"),
        (elf32(EM_ARM, [(4, 0, b"note")]), "no loadable segments"),
    ],
)
def test_files_that_are_no_program(tmp_path: Path, data: bytes, reason: str) -> None:
    assert reason in refusal(written(tmp_path, data))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "No such file" in refusal(str(tmp_path / "missing.elf"))
    assert "directory" in refusal(str(tmp_path)).lower()


def test_a_huge_segment_is_not_read(tmp_path: Path) -> None:
    # A size from a file is not believed.
    data = bytearray(elf32(EM_ARM, [(1, 0x1000, b"code")]))
    data[52 + 16 : 52 + 20] = struct.pack("<I", 0x7FFFFFFF)
    assert "is cut short: 4 of 2147483647 bytes of a segment" in refusal(written(tmp_path, bytes(data)))


def test_a_cut_file_is_told(tmp_path: Path) -> None:
    # The segment's bytes are not all there: a program with a hole at its end would decode wrong.
    data = elf32(EM_ARM, [(1, 0x1000, b"code" * 10)])
    for length in range(52, len(data)):
        refusal(written(tmp_path, data[:length]))


@given(data=st.data())
def test_damaged_files_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(elf32(EM_ARM, [(1, 0x1000, b"code"), (1, 0x2000, b"more")]))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = written(tmp_path_factory.getbasetemp(), bytes(whole))
    try:
        assert all(piece.data for piece in load_elf(path))
    except ImageError as error:
        assert path in str(error) and "\n" not in str(error)
