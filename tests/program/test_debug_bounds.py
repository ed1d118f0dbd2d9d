"""Vectors worked by hand: debug information that takes all memory or time.

Each file is small, and is read by a process with bounds of its own.
"""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest
from elftools.elf.elffile import ELFFile

from gdb_etm.errors import ImageError
from gdb_etm.offline.lines import load_lines
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.debug_sections import DebugInformation
from gdb_etm.program.elf import reason
from gdb_etm.program.frame_variables import load_frame_variables
from gdb_etm.program.variables import load_variables
from tests.firmware.build import elf
from tests.firmware.field.build import elf as field_elf
from tests.program.test_elf import OFFSET, SIZE, damaged
from tests.test_style import ROOT

# Kibibytes of memory that are used, bytes of address space that are given, seconds of processor time.
USED, MEMORY, SECONDS = 400 << 10, 2 << 30, 40
# Where there is code, of which debug information is believed.
CODE, CODE_SIZE = 0x100, 0x40

LOW, HIGH, LINES, NAME, RANGES, UNUSED = 0x11, 0x12, 0x10, 0x03, 0x55, 0x2000
ADDRESS, DATA4, STRING, OFFSET_FORM, PRESENT, UNSIGNED = 0x01, 0x06, 0x08, 0x17, 0x19, 0x0F
UNIT, FUNCTION = 0x11, 0x2E


def uleb(number: int) -> bytes:
    """Write a number in LEB128."""
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def abbreviation(code: int, tag: int, children: bool, *attributes: int) -> bytes:
    """Write an abbreviation: attributes and forms, in turn."""
    return uleb(code) + uleb(tag) + bytes([children]) + b"".join(map(uleb, attributes)) + b"\0\0"


def unit(body: bytes, version: int = 4) -> bytes:
    """Write a unit after its length."""
    head = struct.pack("<HIB", 4, 0, 4) if version == 4 else struct.pack("<HBBI", 5, 1, 4, 0)
    return struct.pack("<I", len(head + body)) + head + body


def covering(body: bytes, version: int = 4) -> bytes:
    """Write a unit that says to be of all code."""
    return unit(b"\1" + struct.pack("<II", CODE, CODE_SIZE) + body, version)


def line_table(version: int, names: bytes, program: bytes) -> bytes:
    """Write a line table."""
    sizes = b"\4\0" if version >= 5 else b""
    head = b"\1\1\1\xfb\x0e\x0d" + bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)) + names
    body = struct.pack("<H", version) + sizes + struct.pack("<I", len(head)) + head + program
    return struct.pack("<I", len(body)) + body


def frame(*words: int, rest: bytes = b"") -> bytes:
    """Write an entry of .debug_frame after its length."""
    body = struct.pack("<%dI" % len(words), *words) + rest
    return struct.pack("<I", len(body)) + body


COVERING = (LOW, ADDRESS, HIGH, DATA4)
PLAIN = abbreviation(1, UNIT, False, LINES, OFFSET_FORM, *COVERING) + b"\0"
OLD_NAMES = b"\0a.c\0\0\0\0\0"
WITH_LINES = unit(b"\1" + struct.pack("<III", 0, CODE, CODE_SIZE))
# Each line table holds all that follow it: as many as 1,000.
NESTED = len(line_table(4, OLD_NAMES, b""))
RULES = b"\x01\0\x01\x7c\x0e\x0c\x0d\0" + b"".join(b"\x05" + uleb(number) + b"\0" for number in range(30000))

SECTIONS: Dict[str, Dict[str, bytes]] = {
    "files that take no bytes": {
        ".debug_abbrev": PLAIN,
        ".debug_info": WITH_LINES,
        ".debug_line": line_table(5, b"\0" + uleb(1 << 50) + b"\0\0", b"\0\1\1"),
    },
    "line tables within line tables": {
        ".debug_abbrev": PLAIN,
        ".debug_info": b"".join(
            unit(b"\1" + struct.pack("<III", number * NESTED, CODE, CODE_SIZE)) for number in range(1000)
        ),
        ".debug_line": b"".join(
            struct.pack("<I", (1000 - number) * NESTED - 1) + line_table(4, OLD_NAMES, b"")[4:]
            for number in range(1000)
        )
        + b"\0\1\1",
    },
    "a line with a million digits": {
        ".debug_abbrev": PLAIN,
        ".debug_info": WITH_LINES,
        ".debug_line": line_table(4, OLD_NAMES, b"\3" + b"\xff" * 1000000 + b"\1\1\0\1\1"),
    },
    "a code with a million digits": {
        ".debug_abbrev": abbreviation(1, UNIT, False, NAME, UNSIGNED) + b"\0",
        ".debug_info": unit(b"\1" + b"\xff" * 1000000 + b"\1"),
    },
    "attributes that take no bytes": {
        ".debug_abbrev": abbreviation(1, UNIT, True, *COVERING)
        + abbreviation(2, FUNCTION, False, *COVERING, *(word for n in range(20000) for word in (UNUSED + n, PRESENT)))
        + b"\0",
        ".debug_info": covering(b"".join(b"\2" + struct.pack("<II", CODE, 2) for _ in range(1000)) + b"\0"),
    },
    "one list of ranges for all": {
        ".debug_abbrev": abbreviation(1, UNIT, True, *COVERING)
        + abbreviation(2, FUNCTION, False, RANGES, OFFSET_FORM)
        + b"\0",
        ".debug_info": covering(b"\2\0\0\0\0" * 20000 + b"\0", 5),
        ".debug_rnglists": b"\4\4\6" * 20000 + b"\0",
    },
    "sets of addresses within sets": {
        ".debug_aranges": struct.pack("<IHIBB", 8, 2, 0, 4, 0) * 4000 + bytes(64),
    },
    "rules for thirty thousand registers": {
        ".debug_frame": frame(0xFFFFFFFF, rest=RULES) + frame(0, CODE, CODE_SIZE, rest=b"\x41" * 40000),
    },
    "states that are remembered for ever": {
        ".debug_frame": frame(0xFFFFFFFF, rest=RULES) + frame(0, CODE, CODE_SIZE, rest=b"\x0a" * 40000),
    },
    "an entry that is its own common one": {
        ".debug_frame": frame(0, CODE, CODE_SIZE, rest=b"\x41" * 4),
    },
}


def written(path: Path, sections: Dict[str, bytes]) -> str:
    """Write a firmware's ELF file with other sections behind it."""
    data = bytearray(Path(elf("sort")).read_bytes())
    changes = []
    for name, content in sections.items():
        changes += [(name, OFFSET, len(data)), (name, SIZE, len(content))]
        data += content
    damaged(path, *changes)
    with open(path, "r+b") as file:
        file.seek(0, 2)
        for content in sections.values():
            file.write(content)
    return str(path)


def most_memory() -> int:
    """Give the most memory that this process has used, in KiB.

    What its parent had when it began is not counted.
    """
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def read_all(path: str) -> None:
    """Read a file's debug information, and print what is refused."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        load_lines([path])
    except ImageError as error:
        print(error)
    try:
        load_frames([path]).row(CODE)
        frames = load_frame_variables([path])
        frames.functions(CODE)
        frames.variables(CODE)
        load_variables([path]).containers(0x20000000)
    except ImageError as error:
        print(error)
    print(most_memory())


@pytest.mark.parametrize("name", SECTIONS)
def test_a_small_file_takes_little_memory_and_time(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "bomb.elf", SECTIONS[name])
    script = "import sys; from tests.program.test_debug_bounds import read_all; read_all(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", script, path], cwd=str(ROOT), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    *refused, used = done.stdout.splitlines()
    assert int(used) < USED and all(line.startswith(path) for line in refused), done.stdout


def test_a_number_that_python_does_not_write_is_told(tmp_path: Path) -> None:
    assert reason(KeyError(1 << 1000000)) == "KeyError"


@pytest.mark.parametrize("program", ["station-Og", "gateway-flto", "json-O0", "plant-O2"])
def test_rows_are_those_that_pyelftools_gives(program: str) -> None:
    with open(field_elf(program), "rb") as file:
        parts = ELFFile(file)
        information, dwarf = DebugInformation(parts), parts.get_dwarf_info()
        count = 0
        for mine, other in zip(information.dwarf.iter_CUs(), dwarf.iter_CUs()):
            found, known = information.line_program(mine), dwarf.line_program_for_CU(other)
            assert found is not None and known is not None
            states = [entry.state for entry in known.get_entries() if entry.state is not None]
            rows = [row for row in found.rows() if not row.ends]
            count += len(rows)
            assert [(row.address, row.file, row.line, row.is_statement, row.discriminator) for row in rows] == [
                (one.address, one.file, one.line, bool(one.is_stmt), one.discriminator)
                for one in states
                if not one.end_sequence
            ]
            assert [one.name for one in found.files] == [one.name for one in known.header["file_entry"]]
            assert found.directories == list(known.header["include_directory"])
    assert count > 100
