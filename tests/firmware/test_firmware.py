"""Differential run against QEMU, and a compiler run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable, List, Set, Tuple

import pytest
from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs
from elftools.elf.elffile import ELFFile

import gdb_etm.board
from tests.firmware.an505 import build as an505
from tests.firmware.build import FOLDER, PROGRAMS, build, compiler, elf, symbol
from tests.firmware.cortex_m4 import build as cortex_m4
from tests.firmware.crashes import build as crashes
from tests.qemu import executed

DEMO = Path(gdb_etm.board.__file__).parent / "firmware" / "demo"


def loaded(path: str) -> List[Tuple[int, bytes]]:
    """Return the flash contents: address and bytes of each segment."""
    with open(path, "rb") as file:
        segments = [segment for segment in ELFFile(file).iter_segments() if segment["p_filesz"]]
        return [(segment["p_paddr"], segment.data()) for segment in segments]


def mnemonics(path: str, addresses: Set[int]) -> Set[str]:
    """Return capstone's names of instructions; ``"pop pc"`` where PC is written."""
    base, code = loaded(path)[0]
    disassembler = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8)
    disassembler.skipdata = True
    names = set()
    # In one go, because what an IT block does to a name is known only from the instructions before.
    for instruction in disassembler.disasm(code, base):
        if instruction.address in addresses:
            operands = instruction.op_str.split(", ")
            to_pc = "pc}" in operands[-1] or operands[0] == "pc"
            names.add(instruction.mnemonic.split(".")[0] + (" pc" if to_pc else ""))
    return names


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("built", [elf, cortex_m4.elf], ids=["m33", "m4"])
def test_its_own_checks_hold_in_qemu(name: str, built: Callable[[str], str]) -> None:
    path = built(name)
    addresses = executed(path, symbol(path, "finished"))
    assert addresses[-1] == symbol(path, "finished")
    assert symbol(path, "failed") not in addresses
    assert len(addresses) > 500


@pytest.mark.parametrize(
    "name, expected",
    [
        ("tables", {"tbb", "tbh", "blx", "bx", "b"}),
        ("sort", {"pop pc", "cbz", "cbnz", "bl"}),
        ("interrupts", {"svc", "pop pc", "bx", "cpsie", "msr", "ite"}),
        ("tasks", {"svc", "ldm", "stmdb", "bx"}),
        ("fpu", {"vmul", "vdiv", "vselgt", "vcvt", "vmrs"}),
        ("branches", {"it", "ite", "itt", "ittet", "itttt", "cbz", "cbnz", "pop pc", "popeq pc", "ldm pc", "ldmdb pc"}),
        ("branches", {"ldr pc", "ldreq pc", "add pc", "mov pc", "bxeq", "blgt", "blxhi", "strhgt", "b"}),
    ],
)
def test_what_it_is_there_for_is_executed(name: str, expected: Set[str]) -> None:
    path = elf(name)
    names = mnemonics(path, set(executed(path, symbol(path, "finished"))))
    assert expected <= names


def version(path: str) -> bytes:
    """Return which compiler built a file, as it says itself."""
    with open(path, "rb") as file:
        return bytes(ELFFile(file).get_section_by_name(".comment").data())


@pytest.mark.parametrize("name", [*PROGRAMS, "demo"])
def test_built_file_is_what_the_source_says(name: str, tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    built, out = str(DEMO / "demo.elf") if name == "demo" else elf(name), str(tmp_path / "out.elf")
    if name == "demo":
        subprocess.run([str(DEMO / "build"), out], check=True)
    else:
        build(name, out)
    if version(built) == version(out):
        assert loaded(out) == loaded(built)


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_files_built_for_a_cortex_m4_are_what_the_sources_say(name: str, tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    out = str(tmp_path / "out.elf")
    cortex_m4.build(name, out)
    if version(cortex_m4.elf(name)) == version(out):
        assert loaded(out) == loaded(cortex_m4.elf(name))


@pytest.mark.parametrize("name", crashes.PROGRAMS)
def test_files_that_crash_are_what_the_sources_say(name: str, tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    out = str(tmp_path / "out.elf")
    crashes.build(name, out)
    if version(crashes.elf(name)) == version(out):
        assert loaded(out) == loaded(crashes.elf(name))


def test_the_file_for_an505_is_what_the_sources_say(tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    out = str(tmp_path / "out.elf")
    an505.build(out)
    if version(an505.SORT) == version(out):
        assert loaded(out) == loaded(an505.SORT)


def test_no_built_file_names_where_it_was_built() -> None:
    built = [*map(elf, PROGRAMS), *map(cortex_m4.elf, PROGRAMS), *map(crashes.elf, crashes.PROGRAMS)]
    for path in [*built, an505.SORT, str(DEMO / "demo.elf")]:
        assert str(FOLDER.parent.parent).encode() not in Path(path).read_bytes()
