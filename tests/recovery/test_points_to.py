"""Worked by hand: where addresses go, and where stores may write."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict, Set, Tuple

import pytest

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.objects import Objects, load_objects
from gdb_etm.program.ram import SRAM
from gdb_etm.recovery.pointers.points_to import PointsTo, points_to
from tests.firmware.build import symbol

HEAD = """
    .syntax unified
    .thumb
    .cfi_sections .debug_frame
    .macro function name
        .text
        .balign 4
        .type \\name, %function
        .thumb_func
    \\name:
        .cfi_startproc
    .endm
    .macro object name size
        .bss
        .balign 4
        .type \\name, %object
        .size \\name, \\size
    \\name:
        .space \\size
    .endm
"""
# The headers of the linked file, which are loaded with its code, have the address of the first.
OBJECTS = """
    .bss
    bss_start:
    object bottom, 64
    object before, 4
    object one, 4
    object array, 64
    object two, 4
    object after, 4
    bss_end:
"""
# Reads through its argument.
READ = """
    function read
        ldr r0, [r0]
        bx lr
        .cfi_endproc
"""
# Stores its argument; gives it back.
GO = """
    function go
        ldr r1, =array
        str r0, [r1]
        bx lr
        .cfi_endproc
        .ltorg
    function same
        bx lr
        .cfi_endproc
"""
# Stores through its argument.
WRITE = """
    function write
        movs r1, #0
        str r1, [r0]
        bx lr
        .cfi_endproc
"""


def analysed(folder: Path, source: str, data: str = "") -> Tuple[PointsTo, Dict[int, str]]:
    """Assemble a program; give its analysis, and its objects' names by number."""
    text, unit, elf = folder / "small.s", folder / "small.o", folder / "small.elf"
    text.write_text(HEAD + READ + WRITE + GO + source + OBJECTS + data)
    subprocess.run(["arm-none-eabi-as", "-mcpu=cortex-m33", "-mfpu=fpv5-d16", "-o", unit, text], check=True)
    place = ["-Ttext=0x100", "-Tbss=0x20000000", "-Tdata=0x20001000", "-e", "read"]
    subprocess.run(["arm-none-eabi-ld", *place, "-o", elf, unit], check=True, stderr=subprocess.DEVNULL)
    objects = load_objects([str(elf)])
    names = {objects.at(symbol(str(elf), name)): name for name in ("before", "one", "array", "two", "after")}
    assert len(names) == 5
    program = Program(load_elf(str(elf)))
    return PointsTo(program, objects, load_frames([str(elf)]), [SRAM]), names


def escaped(folder: Path, source: str, data: str = "") -> Set[str]:
    """Give the names of the objects whose address leaves."""
    found, names = analysed(folder, source, data)
    return {names[number] for number in found.escaped if number in names}


def body(text: str) -> str:
    """Make a function of some instructions."""
    return "function main\n push {r4, lr}\n .cfi_def_cfa_offset 8\n %s\n pop {r4, pc}\n .cfi_endproc\n .ltorg\n" % text


@pytest.mark.parametrize(
    "text, wanted",
    [
        # What stays: a store to it, an argument that is only read through, what is kept in the frame.
        ("ldr r3, =one; str r0, [r3]", set()),
        ("ldr r0, =one; bl read", set()),
        ("sub sp, #8; ldr r3, =one; str r3, [sp]; ldr r2, [sp]; str r0, [r2]; add sp, #8", set()),
        # What a function finds in a register that it does not read.
        ("ldr r3, =one; bl read", set()),
        # What leaves: stored, passed on, in the frame whose address is passed on, as a stack pointer.
        ("ldr r3, =one; str r3, [r0]", {"one"}),
        ("ldr r0, =one; bl go", {"one"}),
        ("ldr r0, =one; blx r3", {"one"}),
        ("ldr r0, =one; svc 0", {"one"}),
        ("sub sp, #8; ldr r3, =one; str r3, [sp]; mov r0, sp; bl write; add sp, #8", set()),
        ("ldr r0, =array + 64; msr psp, r0", {"array", "two"}),
        # In a word of the frame that somebody else may load: through an argument, or through an index; or that is not
        # known on one of two ways, or since a store with an index; or that a function gives an address of again.
        ("sub sp, #8; ldr r3, =one; str r3, [sp]; mov r0, sp; bl read; add sp, #8", {"one"}),
        ("sub sp, #8; ldr r3, =one; str r3, [sp]; add r2, sp, r1; ldr r2, [r2]; str r0, [r2]; add sp, #8", {"one"}),
        (
            "sub sp, #8; ldr r3, =one; str r3, [sp]; mov r0, sp; bl same; ldr r0, [r0]; str r1, [r0]; add sp, #8",
            {"one"},
        ),
        ("sub sp, #8; cmp r1, #0; beq 1f; ldr r3, =one; str r3, [sp]; 1: ldr r0, [sp]; bl go; add sp, #8", {"one"}),
        (
            "sub sp, #8; ldr r3, =one; str r3, [sp]; add r2, sp, r1; str r0, [r2]; ldr r0, [sp]; bl go; add sp, #8",
            {"one"},
        ),
        ("sub sp, #8; ldr r3, =one; str r3, [sp]; vldr d0, [sp]; vstr d0, [r0]; add sp, #8", {"one"}),
        ("sub sp, #8; ldr r3, =one; str r3, [sp]; mov r12, sp; bl read; add sp, #8", {"one"}),
        # By its middle, and by a place from which it is addressed.
        ("ldr r0, =array + 20; bl go", {"array"}),
        ("ldr r0, =one; adds r0, #4; bl go", {"array"}),
        # Made by two instructions; on one of two ways; in a loop, which stays in its object.
        ("movw r0, #:lower16:one; movt r0, #:upper16:one; bl go", {"one"}),
        ("ldr r0, =one; cmp r1, #0; beq 1f; ldr r0, =after; 1: bl go", {"one", "after"}),
        ("ldr r0, =array; movs r1, #0; 1: str r1, [r0], #4; cmp r2, r0; bne 1b; bl go", {"array"}),
    ],
)
def test_what_leaves(tmp_path: Path, text: str, wanted: Set[str]) -> None:
    """What is stored, passed on or becomes a stack leaves its function."""
    assert escaped(tmp_path, body(text.replace(";", "\n"))) == wanted


def test_what_is_passed(tmp_path: Path) -> None:
    """What is passed is reached by stores through arguments alone."""
    source = body("ldr r0, =one\n bl write\n ldr r0, [r4]\n str r0, [r0]")
    found, names = analysed(tmp_path, source)
    elf = str(tmp_path / "small.elf")
    one = next(number for number, name in names.items() if name == "one")
    stores = [symbol(elf, "write") + 2, symbol(elf, "main") + 10]
    assert set(stores) <= set(found.stores)
    assert one not in found.escaped
    assert [found.may_reach(store, one) for store in stores] == [True, False]


def test_what_another_function_passes_on(tmp_path: Path) -> None:
    """What is passed on is reached where it comes to."""
    source = "function middle\n b write\n .cfi_endproc\n" + body("ldr r0, =one\n bl middle\n ldr r0, =two\n bl read")
    found, names = analysed(tmp_path, source)
    store = symbol(str(tmp_path / "small.elf"), "write") + 2
    assert {name for number, name in names.items() if found.may_reach(store, number)} == {"one"}


FRAME = "sub sp, #8; %s; add sp, #8"


@pytest.mark.parametrize(
    "text, keeps",
    [
        ("str r0, [sp]", True),
        ("mov r0, sp; bl write", True),
        ("mov r0, sp; bl read", True),
        ("mov r0, sp; bl go", False),
        ("str sp, [r0]", False),
        # In a word of its own; and if others may load that.
        ("add r1, sp, #4; str r1, [sp]", True),
        ("add r1, sp, #4; str r1, [sp]; mov r0, sp; bl read", False),
        ("str r0, [sp, r1]", True),
        # It goes on in another part of the function, which has a name of its own.
        ("cmp r0, #0; beq write", False),
    ],
)
def test_frames(tmp_path: Path, text: str, keeps: bool) -> None:
    """A frame may be passed, but not stored elsewhere."""
    found, _ = analysed(tmp_path, body((FRAME % text).replace(";", "\n")))
    elf = str(tmp_path / "small.elf")
    main, write, push = symbol(elf, "main"), symbol(elf, "write") + 2, symbol(elf, "main")
    assert found.frame_of(push) == (main if keeps else None)
    # A store through an argument may reach it if it is passed there; its own ones may always.
    assert found.may_reach_frame(write, main) == ("bl write" in text)
    assert found.may_reach_frame(push, main)
    assert not keeps or not found.may_reach_frame(push, write)


def test_returned(tmp_path: Path) -> None:
    """What is returned goes on in the caller."""
    source = "function give\n ldr r0, =one\n bx lr\n .cfi_endproc\n .ltorg\n"
    assert escaped(tmp_path, source) == set()
    assert escaped(tmp_path, source + body("bl give\n bl read")) == set()
    assert escaped(tmp_path, source + body("bl give\n bl go")) == {"one"}
    # A function whose address is data may be called by anybody.
    assert escaped(tmp_path, source, "    .data\n    .word give + 1\n") == {"one"}


def test_returned_by_a_handler(tmp_path: Path) -> None:
    """An exception's return loads r0 again."""
    source = "function give\n ldr r0, =one\n bx lr\n .cfi_endproc\n .ltorg\n"
    table = "    .data\n    .word 0x20002000, read + 1, read + 1, read + 1, 0\n"
    table += "    .rept 11\n    .word give + 1\n    .endr\n"
    assert escaped(tmp_path, source, table) == set()
    # The address is in another place, too, or it is no table.
    assert escaped(tmp_path, source, table + "    .word 1, give + 1\n") == {"one"}
    assert escaped(tmp_path, source, table.replace("0x20002000", "0x2000")) == {"one"}


def test_data(tmp_path: Path) -> None:
    """What the program has as data may be loaded by anybody."""
    assert escaped(tmp_path, "", "    .data\n    .word one\n") == {"one"}


def test_code_not_followed(tmp_path: Path) -> None:
    """Code whose branches are unknown lets all of its constants go."""
    assert escaped(tmp_path, body("ldr r3, =one\n ldr pc, [r1]")) == {"one"}


@pytest.mark.parametrize(
    "text, wanted, other",
    [
        ("ldr r3, =one; str r0, [r3]", {"one"}, False),
        ("ldr r3, =one; str r0, [r3, #72]", {"after"}, False),
        # With an index it may be that of the object before, which ends there; or of the next, as an index from 1 on
        # lets a compiler begin before an array.
        ("ldr r3, =array; str r0, [r3, r1]", {"one", "array"}, False),
        ("ldr r3, =array - 4; str r0, [r3, r1, lsl #2]", {"before", "one", "array"}, False),
        ("ldr r3, =array + 64; str r0, [r3, r1]", {"array", "two", "after"}, False),
        # The distance of two arrays, and an address in one of them.
        ("ldr r3, =array; subs r2, r3; str r0, [r3, r2]", {"array"}, True),
        ("str r0, [r1]", set(), True),
        ("ldr r3, =0x40000000; str r0, [r3]", set(), True),
    ],
)
def test_where_stores_reach(tmp_path: Path, text: str, wanted: Set[str], other: bool) -> None:
    """A store reaches the objects that its address is made from."""
    found, names = analysed(tmp_path, body("nop\n" * 2 + text.replace(";", "\n")))
    main = symbol(str(tmp_path / "small.elf"), "main")
    sites = [found.site(at) for at in range(main, main + 64, 2) if at in found.stores]
    assert len(sites) == 2
    assert {names[number] for number in sites[-1].objects} == wanted
    assert sites[-1].other == other


def test_initialisers(tmp_path: Path) -> None:
    """Code that clears a section is known by the section's bounds."""
    source = body("ldr r3, =bss_start\n ldr r2, =bss_end\n1: str r0, [r3], #4\n cmp r3, r2\n bne 1b")
    found, _ = analysed(tmp_path, source)
    at = symbol(str(tmp_path / "small.elf"), "main")
    assert found.is_initialiser(at + 4) and not found.is_initialiser(symbol(str(tmp_path / "small.elf"), "write"))
    assert found.is_initialiser(0x10000)


@pytest.mark.parametrize(
    "text",
    [
        # One loop in another; and one whose index is added to an address.
        "movs r1, #0; 1: movs r2, #0; 2: adds r2, #1; cmp r2, r4; bne 2b; adds r1, #16; add r4, r2; cmp r1, r4; bne 1b",
        "movs r1, #0; mov r2, r1; ldr r0, =array; 1: adds r5, r0, r1; movs r6, #0; 2: ldrb r4, [r5, r6]; cbnz r4, 3f;"
        "adds r1, #16; add r2, r6; cmp r1, #64; bne 1b; b 4f; 3: adds r6, #1; b 2b; 4:",
    ],
)
def test_counters(tmp_path: Path, text: str) -> None:
    """What is known of a counter comes to an end."""
    found, names = analysed(tmp_path, body((text + "; ldr r3, =one; str r7, [r3]").replace(";", "\n")))
    main = symbol(str(tmp_path / "small.elf"), "main")
    stores = [found.site(at) for at in range(main, main + 64, 2) if at in found.stores]
    assert {names[number] for site in stores for number in site.objects} == {"one"}
    assert not found.escaped.intersection(names)


def test_remembered(tmp_path: Path) -> None:
    """A program is analysed once."""
    analysed(tmp_path, "")
    path = str(tmp_path / "small.elf")
    program, frames = Program(load_elf(path)), load_frames([path])
    first = points_to(program, load_objects([path]), frames, (SRAM,))
    assert points_to(Program(load_elf(path)), load_objects([path]), frames, (SRAM,)) is first
    assert points_to(program, Objects([], [], []), frames, (SRAM,)) is not first


def test_an_analysis_can_be_ended(tmp_path: Path) -> None:
    """Who ends it has lost nothing but it."""
    analysed(tmp_path, "")
    path = str(tmp_path / "small.elf")

    def end() -> None:
        raise KeyboardInterrupt

    given = Program(load_elf(path)), load_objects([path]), load_frames([path]), (SRAM, (1, 2))
    with pytest.raises(KeyboardInterrupt):
        points_to(*given, tick=end)
    assert points_to(*given, known=True) is None
    assert points_to(*given) is not None and points_to(*given, known=True) is not None
