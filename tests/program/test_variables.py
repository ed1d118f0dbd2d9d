"""Worked by hand, and a differential run against GDB: static variables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List, Union

import pytest

from gdb_etm.errors import ImageError
from gdb_etm.program.containers import Container, Pointee
from gdb_etm.program.datatypes import ARRAY, POINTER, SCALAR, STRUCT, UNION, UNKNOWN
from gdb_etm.program.variables import StaticVariables, load_variables
from tests.firmware.build import symbol
from tests.program.declared import Said, ask_gdb, compiled

C = """
typedef unsigned char u8;
typedef u8 cell;
typedef int handler_t(int, char *);
struct item { u8 kind; struct item *next; handler_t *handler; };
union word { unsigned all; u8 bytes[4]; struct { unsigned low : 4, middle : 9, high : 19; } bits; };
struct nameless { int before; union { float real; unsigned raw; }; struct { short left, right; }; int after; };
struct open { int count; struct item items[]; };
struct ends { u8 few[2]; u8 none[0]; };
enum colour { RED, GREEN };
struct hidden;
struct station {
    struct item table[3];
    union word words[2];
    struct nameless inner;
    enum colour colour;
    const volatile cell cells[2][3][5];
    void *any;
    struct hidden *secret;
    const char *const names[2];
    _Atomic int guard;
    struct ends ends;
    long long wide;
} station;
struct open opened = { 2, { { 1 }, { 2 } } };
static int secret[7];
extern int outside[];
int outside[5] = { 1 };
int (*grid)[4];
double *volatile *real;
int count(void) { static int calls[4]; return calls[secret[1]]++; }
__asm__(".data\\n.type plain, %object\\nplain: .space 12\\n.size plain, 12\\n.text\\n");
int main(void) { return count() + secret[count()]++ + outside[0] + opened.count; }
"""
PATHS = """
station station.table station.table[2] station.table[2].next station.table[1].handler station.words[1]
station.words[1].all station.inner station.inner.before station.inner.real station.inner.left station.inner.right
station.inner.after station.colour station.cells station.cells[1] station.cells[1][2] station.cells[1][2][4]
station.any station.secret station.names station.names[1] station.guard station.ends station.ends.few
station.ends.few[1] station.wide opened.count opened.items[1].next secret secret[6] outside outside[4] grid real
count::calls count::calls[3]
""".split()
OPTIONS = [(dwarf, level) for dwarf in ("-gdwarf-5", "-gdwarf-4", "-gdwarf-2") for level in ("-O0", "-O2")]
OPTIONS += [("-gdwarf-4", "-fdebug-types-section"), ("-gdwarf-5", "-fdebug-types-section")]


def unqualified(one: Union[Container, Said]) -> str:
    """Return a type's name.

    Of an array it is without what GDB says twice of its elements."""
    is_array = one.type_name.endswith("]")
    return re.sub("^((const|volatile) )*", "", one.type_name) if is_array else one.type_name


def find(variables: StaticVariables, path: str, address: int) -> Container:
    """Return the container with a path at an address."""
    found = [one for one in variables.containers(address) if one.path == path]
    assert found, (path, hex(address), variables.containers(address))
    return found[0]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_members_are_where_gdb_says(options: List[str], tmp_path: Path) -> None:
    path = compiled(C, tmp_path, *options)
    variables = load_variables([path])
    for name, said in zip(PATHS, ask_gdb(path, PATHS, tmp_path)):
        assert said is not None and said.address is not None, name
        for address in (said.address, said.address + said.size - 1):
            found = find(variables, name, address)
            assert (found.start, found.size) == (said.address, said.size), name
            assert unqualified(found) == unqualified(said), name


def test_kinds_elements_and_pointees(tmp_path: Path) -> None:
    path = compiled(C, tmp_path)
    variables = load_variables([path])
    start = symbol(path, "station")
    kinds = [(one.path, one.kind, one.element_size, one.element_count) for one in variables.containers(start + 16)]
    assert kinds == [
        ("station", STRUCT, 0, 0),
        ("station.table", ARRAY, 12, 3),
        ("station.table[1]", STRUCT, 0, 0),
        ("station.table[1].next", POINTER, 0, 0),
    ]
    item = Pointee("struct item", 12, False)
    assert [variables.pointee(start + at) for at in (4, 7, 8, 0)] == [
        item,
        item,
        Pointee("handler_t", 0, True),
        None,
    ]
    (found,) = ask_gdb(path, ["station.any"], tmp_path)
    assert found is not None and found.address is not None
    assert [variables.pointee(found.address + at) for at in (0, 4)] == [None, None]
    assert variables.pointee(symbol(path, "grid")) == Pointee("int [4]", 16, False)
    assert variables.pointee(symbol(path, "real")) == Pointee("double * volatile", 4, False)


def test_of_a_union_the_first_member_and_of_bits_the_first_with_a_bit(tmp_path: Path) -> None:
    path = compiled(C, tmp_path)
    variables = load_variables([path])
    start = symbol(path, "station") + 36
    found = variables.containers(start + 3)[-2:]
    assert [(one.path, one.kind, one.size) for one in found] == [
        ("station.words[0]", UNION, 4),
        ("station.words[0].all", SCALAR, 4),
    ]


def test_an_array_without_a_bound_has_what_is_left_of_its_variable(tmp_path: Path) -> None:
    path = compiled(C, tmp_path)
    start = symbol(path, "opened")
    found = load_variables([path]).containers(start + 4 + 12 + 5)
    assert [(one.path, one.start - start, one.size, one.element_count) for one in found] == [
        ("opened", 0, 28, 0),
        ("opened.items", 4, 24, 2),
        ("opened.items[1]", 16, 12, 0),
        ("opened.items[1].next", 20, 4, 0),
    ]


def test_what_has_no_debug_information_is_one_piece(tmp_path: Path) -> None:
    path = compiled(C, tmp_path)
    start = symbol(path, "plain")
    variables = load_variables([path])
    assert variables.containers(start + 11) == [Container("plain", start, 12, UNKNOWN, "")]
    assert variables.path_at(start + 12) is None or variables.path_at(start + 12).path != "plain"
    assert not variables.containers(0x8000) and not variables.containers(0xFFFFFFFF)
    assert variables.pointee(start) is None


def test_a_variable_without_a_symbol_is_known_by_debug_information(tmp_path: Path) -> None:
    path = compiled(C, tmp_path)
    start = symbol(path, "secret")
    stripped = compiled(C, tmp_path, "-Wl,--discard-all")
    found = load_variables([stripped]).containers(start + 9)
    assert [one.path for one in found] == ["secret", "secret[2]"]
    with pytest.raises(KeyError):
        symbol(stripped, "secret")


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "elf").write_text("nothing")
    with pytest.raises(ImageError):
        load_variables([str(tmp_path / "elf")])
    assert not load_variables([]).containers(0)


INDEXED = """
    .section .debug_info
    .4byte 9f - 8f
8:  .2byte 5
    .byte 1, 4
    .4byte 0
    .byte 1
    .4byte 8
    .byte 2
    .asciz "first"
    .4byte 7f - 8b + 4
    .byte 2, 0xa1, 0
    .byte 2
    .asciz "second"
    .4byte 7f - 8b + 4
    .byte 2, 0xa1, 1
7:  .byte 3
    .asciz "word"
    .byte 4, 7
    .byte 0
9:
    .section .debug_addr
    .4byte 12
    .2byte 5
    .byte 4, 0
    .4byte first, second
    .section .debug_abbrev
    .byte 1, 0x11, 1, 0x73, 0x17, 0, 0
    .byte 2, 0x34, 0, 3, 8, 0x49, 0x13, 2, 0x18, 0, 0
    .byte 3, 0x24, 0, 3, 8, 0xb, 0xb, 0x3e, 0xb, 0, 0, 0
    .data
    .globl _start
_start: .space 4
first: .4byte 0
second: .4byte 0
"""


def test_addresses_by_index(tmp_path: Path) -> None:
    path = compiled(INDEXED, tmp_path, "-g0", name="declared.s")
    variables = load_variables([path])
    start = symbol(path, "second")
    assert variables.containers(start) == [Container("second", start, 4, SCALAR, "word")]
    assert variables.containers(start - 1) == [Container("first", start - 4, 4, SCALAR, "word")]
