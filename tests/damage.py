"""Randomly damaged files: each is read, or refused in one line.

The line names the file.

``python -m tests.damage KIND COUNT SEED`` tries some within bounds on memory and processor time.
"""

from __future__ import annotations

import os
import random
import re
import resource
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Dict, Iterator

from gdb_etm.errors import CaptureError, EtmError
from gdb_etm.offline.debugger import load_lines
from gdb_etm.offline.symbols import load_symbols, load_variables
from gdb_etm.profiles.library import load, own_lines
from gdb_etm.profiles.profile import PartId
from gdb_etm.program import variables
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.elf import profile_of
from gdb_etm.program.frame_variables import load_frame_variables
from gdb_etm.program.image import load_constants, load_elf
from gdb_etm.program.ram import load_writable
from gdb_etm.session.decoding import decode_capture
from gdb_etm.session.programs import with_programs
from gdb_etm.session.progress import Meter
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.firmware.build import elf
from tests.snapshot.test_bad_input import GOOD

# Bounds of one run of this module: bytes of address space, seconds of processor time.
MEMORY, SECONDS = 1 << 30, 120

_PROGRAMS = ("sort", "faults", "interrupts", "fpu")
_NUMBER = re.compile(rb"0x[0-9A-Fa-f]+|\d+")
_NUMBERS = (b"0", b"-1", b"4294967295", b"0xFFFFFFFFFFFFFFFF", b"1" + b"0" * 30, b"9" * 5000, b"1e9", b"nan")
_WORDS = (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\0\0", b"\x01\0\0\0", b"\xff\xff\0\0")
_TEXTS = (b"[", b"]", b"=", b"\n[dump9]\n", b"[[", b"..", b"\xef\xbb\xbf", b"\0", b"\x1b[2J", b"\n" * 50, b"'''", b"{")


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change, cut and lengthen a file, mostly near its beginning and end."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 30))):
        size = len(found) or 1
        near = chance.randrange(min(size, chance.choice((64, 2000))))
        at = chance.choice((chance.randrange(size), near, size - 1 - near))
        way = chance.randrange(7)
        if way == 0:
            found[at : at + 1] = bytes([chance.randrange(256)])
        elif way == 1:
            found[at : at + 1] = bytes([found[at] ^ 1 << chance.randrange(8)]) if found else b""
        elif way == 2:
            found[at : at + 4] = chance.choice(_WORDS)
        elif way == 3:
            found[at:at] = chance.choice(_TEXTS)
        elif way == 4:
            del found[at : at + chance.choice((1, 2, 16, 300))]
        elif way == 5:
            numbers = list(_NUMBER.finditer(found))
            if numbers:
                start, end = chance.choice(numbers).span()
                found[start:end] = chance.choice(_NUMBERS)
        elif chance.random() < 0.3:
            del found[at:]
    return bytes(found)


@contextmanager
def one_line(path: str) -> Iterator[None]:
    """Accept a refusal in one line with a file's name."""
    try:
        yield
    except EtmError as error:
        assert path in str(error) and "\n" not in str(error), error


def check_elf(chance: random.Random, folder: str) -> None:
    """Give a firmware's damaged ELF file to everything that reads ELF files."""
    path = os.path.join(folder, "program.elf")
    Path(path).write_bytes(damaged(Path(elf(chance.choice(_PROGRAMS))).read_bytes(), chance))
    for read in (load_elf, load_constants, load_writable, profile_of):
        with one_line(path):
            read(path)
    for read_several in (load_symbols, load_variables, load_lines):
        with one_line(path):
            read_several([path])
    with one_line(path):
        frames = load_frames([path])
        for address in range(0, 0x800, 2):
            frames.row(address)
    with one_line(path):
        locals_ = load_frame_variables([path])
        for address in range(0, 0x800, 14):
            assert len(locals_.functions(address)) + len(locals_.variables(address)) < 1000
    with one_line(path):
        statics = variables.load_variables([path])
        for address in (*range(0, 0x100, 20), *range(0x20000000, 0x20000800, 20)):
            assert len(statics.containers(address)) < 100


def check_snapshot(chance: random.Random, folder: str) -> None:
    """Damage one or two files of a snapshot, and read it.

    What can be read is decoded, written and read again.
    """
    path = os.path.join(folder, "snapshot")
    os.mkdir(path)
    spoilt = chance.sample(sorted(GOOD), chance.choice((1, 1, 2)))
    for name, text in GOOD.items():
        data = text.encode()
        Path(path, name).write_bytes(damaged(data, chance) if name in spoilt else data)
    with one_line(path):
        for number, capture in enumerate(with_programs(read_snapshot(path), [])):
            with one_line(folder):
                write_snapshot(capture, os.path.join(folder, "again-%d" % number))
                (again,) = read_snapshot(os.path.join(folder, "again-%d" % number))
                assert again.buffer == capture.buffer
            try:
                decode_capture(capture, Meter())
            except CaptureError as error:
                assert "\n" not in str(error)


PROFILE = Path(__file__).parents[1] / "gdb_etm" / "profiles" / "stm32h743.toml"


def check_profile(chance: random.Random, folder: str) -> None:
    """Leave a damaged profile in the working directory, and name it."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        Path("mine.etm.toml").write_bytes(damaged(PROFILE.read_bytes(), chance))
        lines = list(own_lines([PartId(0x020, 0x450)]))
        assert all(line.startswith("note: ") and "mine.etm.toml" in line and "\n" not in line for line in lines)
        with one_line("mine.etm.toml"):
            load("mine")
    finally:
        os.chdir(before)


CHECKS: Dict[str, Callable[[random.Random, str], None]] = {
    "ELF files": check_elf,
    "snapshots": check_snapshot,
    "profiles": check_profile,
}


def check(kind: str, seed: int) -> None:
    """Try one file.

    :param kind: Of :data:`CHECKS`.
    :param seed: Decides the damage.
    """
    with tempfile.TemporaryDirectory() as folder:
        CHECKS[kind](random.Random(seed), folder)


def main() -> None:
    """Try some files, and print how many."""
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    for number in range(seed, seed + count):
        try:
            check(kind, number)
        except BaseException:
            print("%s: seed %d" % (kind, number), file=sys.stderr)
            raise
    print("%s: %d tried" % (kind, count))


if __name__ == "__main__":
    main()
