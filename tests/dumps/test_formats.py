"""Worked by hand from the formats' descriptions: dumps of others.

They are whole, cut and wrong.

The descriptions are named in :mod:`tests.dumps.made`, which writes them.  The lines of a Zephyr log are those of its
documentation's example; CrashCatcher's registers those of its README.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Callable, Dict

import pytest

from gdb_etm.dumps.dump import Dump
from gdb_etm.dumps.recognise import read_dump
from gdb_etm.errors import ImageError
from tests.dumps import made

MEMORY = [(0x20000000, bytes(range(64))), (0x20001000, b"\xaa" * 8)]
REGISTERS = {name: 0x1000 + number for number, name in enumerate(made.ORDER)}
FAULTS = (0xE000ED28, bytes.fromhex("00820000" "00000040" "08000000" "FFFFFFFF" "FFFFFFFF"))
WHOLE: Dict[str, Callable[[], bytes]] = {
    "elf": lambda: made.elf_core(MEMORY, REGISTERS),
    "zephyr": lambda: made.zephyr(MEMORY, REGISTERS),
    "zephyr log": lambda: made.zephyr_log(made.zephyr(MEMORY, REGISTERS)).encode(),
    "crash catcher": lambda: made.crash_catcher(MEMORY, REGISTERS),
    "crash catcher 3": lambda: made.crash_catcher(MEMORY, REGISTERS, 3, floats=True),
    "crash catcher text": lambda: made.crash_catcher_text(made.crash_catcher(MEMORY, REGISTERS)).encode(),
}


def read(folder: Path, data: bytes) -> Dump:
    """Read a dump of these bytes."""
    path = folder / "dump"
    path.write_bytes(data)
    return read_dump(str(path))


@pytest.mark.parametrize("kind", WHOLE)
def test_memory_and_registers(kind: str, tmp_path: Path) -> None:
    dump = read(tmp_path, WHOLE[kind]())
    assert [(image.address, image.data) for image in dump.images] == MEMORY
    assert {name: dump.registers[name] for name in REGISTERS} == REGISTERS


def test_versions(tmp_path: Path) -> None:
    dump = read(tmp_path, made.zephyr(MEMORY, REGISTERS, 1))
    assert dump.registers["sp"] == REGISTERS["sp"] and "r4" not in dump.registers
    dump = read(tmp_path, made.zephyr(MEMORY, REGISTERS, 3))
    assert {name: dump.registers[name] for name in REGISTERS} == REGISTERS and "" not in dump.registers
    dump = read(tmp_path, made.crash_catcher([*MEMORY, FAULTS], {**REGISTERS, "msp": 5, "psp": 6}, 3))
    assert (dump.registers["msp"], dump.registers["psp"]) == (5, 6)
    assert (dump.registers["cfsr"], dump.registers["hfsr"], dump.registers["dfsr"]) == (0x8200, 0x40000000, 8)
    assert "CPU exception" in read(tmp_path, made.zephyr(MEMORY, REGISTERS)).kind
    assert "2 threads" in read(tmp_path, made.elf_core(MEMORY, REGISTERS, 2)).notes[0]
    overflow = made.crash_catcher(MEMORY, REGISTERS) + bytes.fromhex("ACCE55ED")
    assert "own stack overflowed" in read(tmp_path, overflow).notes[0]


def test_the_log_of_a_terminal_has_colours(tmp_path: Path) -> None:
    # "<err>" in red, and the colour's end behind the digits (Zephyr, log_output.c, CONFIG_LOG_BACKEND_SHOW_COLOR).
    lines = made.zephyr_log(made.zephyr(MEMORY, REGISTERS)).splitlines()
    text = "".join("[00:00:00.010,000] \x1b[1;31m<err> coredump: %s\x1b[0m\r\n" % line[3:] for line in lines)
    dump = read(tmp_path, text.encode())
    assert [(image.address, image.data) for image in dump.images] == MEMORY


def test_the_example_of_the_documentation_is_of_another_processor(tmp_path: Path) -> None:
    lines = ["BEGIN#", "5a4501000100050000000000", "4101003800", "END#"]
    with pytest.raises(ImageError, match="is a Zephyr coredump of target 1 with 2\\*\\*5 bits; a Cortex-M is 3"):
        read(tmp_path, "".join("E: #CD:%s\n" % line for line in lines).encode())


@pytest.mark.parametrize("kind", WHOLE)
def test_what_is_cut_says_where(kind: str, tmp_path: Path) -> None:
    data = WHOLE[kind]()
    for size in range(len(data)):
        try:
            dump = read(tmp_path, data[:size])
        except ImageError as error:
            assert str(error).startswith(("%s " % (tmp_path / "dump"), "%s:" % (tmp_path / "dump"), "cannot read"))
            assert "\n" not in str(error)
        else:
            # Between two blocks nothing says that another one is missing.
            images = [(image.address, image.data) for image in dump.images]
            assert images == MEMORY[: len(images)]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "is no dump that is known"),
        (b"ZE", "is cut short: the header at byte 0x0: 12 bytes, of which 2 are left"),
        (b"ZE\x03\0\x03\0\x05\0\0\0\0\0", "of version 3; 1 and 2 are known"),
        (made.zephyr(MEMORY, REGISTERS) + b"Q\0\0\0\0", "has a block b'Q', 5 bytes before its end"),
        (made.zephyr([], {}) + b"M\1\0\0\x10\0\0\0\0\0\0", "memory ends at 0x0, before its start 0x1000"),
        (made.zephyr([], {}) + b"M\1\0\0\0\0\0\0\0\0\xf0", "4026531840 bytes, of which 0 are left"),
        (b"cC\x05\0", "of version 5.0; 2.0 and 3.0 are known"),
        (b"#CD:BEGIN#\n#CD:5a4\n#CD:END#\n", ":2: no bytes in hexadecimal after #CD:"),
        (b"#CD:BEGIN#\n#CD:5a45\n", "without its #CD:END#"),
        (b"#CD:BEGIN#\n#CD:ERROR CANNOT DUMP#\n", ":2: the dump says that it failed on the target"),
        (made.elf_core([], {}), "holds no memory"),
        (made.elf_core(MEMORY, {}, 4097), "has more than 4096 threads"),
        (
            made.elf_core(MEMORY, {}).replace(b"\x04\0\x28\0", b"\x04\0\x3e\0", 1),
            "is of EM_X86_64, not of a 32-bit Arm",
        ),
        (
            made.elf_core(MEMORY, {}).replace(b"\x04\0\x28\0", b"\x02\0\x28\0", 1),
            "and no core file: its type is ET_EXEC",
        ),
    ],
)
def test_what_is_wrong_says_what(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ImageError) as error:
        read(tmp_path, data)
    assert message in str(error.value)


@pytest.mark.parametrize("kind", WHOLE)
def test_what_is_damaged_is_one_line_at_most(kind: str, tmp_path: Path) -> None:
    chance = random.Random(kind)
    data = WHOLE[kind]()
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        try:
            read(tmp_path, bytes(changed))
        except ImageError as error:
            assert "\n" not in str(error)
