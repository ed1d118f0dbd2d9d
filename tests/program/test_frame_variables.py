"""Worked by hand, and a differential run against GDB: local variables."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any, List, Optional, Sequence, Tuple

import pytest

from gdb_etm.errors import ImageError
from gdb_etm.offline.symbols import load_symbols
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.containers import Pointee
from gdb_etm.program.datatypes import SCALAR, STRUCT
from gdb_etm.program.frame_variables import load_frame_variables
from gdb_etm.program.places import CFA, Place
from tests.firmware.build import symbol
from tests.firmware.field import build as field
from tests.program.declared import compiled, run_gdb

# In GDB: for each address the functions from the innermost out, and what "info scope" says.
_SCRIPT = """
import json
def answer(address):
    block, names, arguments = gdb.block_for_pc(address), [], []
    while block is not None and not block.is_global and not block.is_static:
        if block.function is not None:
            names.append(block.function.name)
            arguments.append([[one.name, one.type.sizeof] for one in block if one.is_argument])
        block = block.superblock
    return names, arguments, gdb.execute("info scope *%%d" %% address, False, True)
with open(%r) as file:
    asked = json.load(file)
with open(%r, "w") as file:
    json.dump([answer(one) for one in asked], file)
"""
_SYMBOL = re.compile(r"^Symbol (.*?) is (.*?)(?:, length (\d+))?\.$", re.MULTILINE | re.DOTALL)
_RANGE = re.compile(r"Range 0x(\w+)-0x(\w+): (.*?)(?=\n  (?:Base|Range)|\Z)", re.DOTALL)
_IN_FRAME = re.compile(r"a complex DWARF expression:\s+0: DW_OP_fbreg (-?\d+)\s*$")
_IN_REGISTER = re.compile(r"a variable in \$(\w+)")
_BY_REGISTER = re.compile(r"a complex DWARF expression:\s+0: DW_OP_breg\d+ (-?\d+) \[\$(\w+)\]\s*$")
_PIECE = re.compile(r"(?:a variable in \$(\w+) \[|an empty )(\d+)-byte piece")
# A register that GDB does not know where no target describes it.
_UNKNOWN, _IS_FLOAT = "bad_register_number", re.compile("[sd][0-9]")


def ask(path: str, addresses: List[int], folder: Path) -> List[Any]:
    """Ask GDB what is at some addresses."""
    asked, answered = folder / "asked.json", folder / "answered.json"
    asked.write_text(json.dumps(addresses))
    run_gdb(path, _SCRIPT % (str(asked), str(answered)), folder)
    return list(json.loads(answered.read_text()))


def place(text: str, size: int, address: int) -> Optional[List[Place]]:
    """Read where GDB says that a variable is, if anywhere."""
    text = text.strip()
    if text.startswith("multi-location"):
        for start, end, inner in _RANGE.findall(text):
            if int(start, 16) <= address < int(end, 16):
                return place(inner, size, address)
        return None
    if "-byte piece" in text:
        pieces = [Place(name, None, int(length)) for name, length in _PIECE.findall(text)]
        return pieces if len(pieces) == text.count("-byte piece") else None
    in_frame, in_register, by_register = _IN_FRAME.match(text), _IN_REGISTER.match(text), _BY_REGISTER.match(text)
    if in_frame:
        return [Place(CFA, int(in_frame.group(1)), size)]
    if by_register:
        return [Place(by_register.group(2), int(by_register.group(1)), size)]
    return [Place(in_register.group(1), None, size)] if in_register else None


def by_gdb(text: str, address: int) -> List[Tuple[str, List[Place]]]:
    """Read which variables of the innermost function have a place."""
    found = []
    for name, where, size in _SYMBOL.findall(text):
        places = place(where, int(size or 0), address)
        if places:
            found.append((name, places))
    return sorted(found)


def _is_left_out(places: Sequence[Place]) -> bool:
    # GDB does not know these registers, and does not say where in a frame a piece is.
    return any(_IS_FLOAT.match(one.base) or len(places) > 1 and one.is_in_memory for one in places)


def addresses_of(path: str, most: int) -> List[int]:
    """Choose instructions' addresses of all functions."""
    frames, chance = load_frames([path]), random.Random(path)
    # The table's functions by their beginnings: those of symbols, at any distance.
    functions = sorted({frames.function(address) for address in range(0, 0x8000, 2)} - {None})
    assert functions
    found = [start for start, _ in functions if start]
    found += [chance.randrange(start, end) & ~1 for start, end in functions for _ in range(6)]
    return sorted(set(chance.sample(found, min(most, len(found)))))


PROGRAMS = ["station-O0", "station-Og", "plant-O2", "gateway-O2", "gateway-Og", "json-O0", "files-Os", "script-O2"]


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_scopes_and_places_are_gdbs(program: str, tmp_path: Path) -> None:
    path = field.elf(program)
    variables = load_frame_variables([path])
    addresses = addresses_of(path, 300)
    placed = 0
    for address, (names, arguments, text) in zip(addresses, ask(path, addresses, tmp_path)):
        functions = variables.functions(address)
        if not names or names[0].startswith("__aeabi"):
            # The assembler's descriptions of its functions overlap.
            assert not any(one.parameters or one.line for one in functions), (hex(address), functions)
            continue
        assert [one.name for one in functions] == names, hex(address)
        for function, expected in zip(functions, arguments):
            declared = [[one.name, one.size] for one in function.parameters]
            assert sorted(declared) == sorted(expected) or not expected, hex(address)
        found = [one for one in variables.variables(address) if one.level == 0]
        theirs = [one for one in by_gdb(text, address) if one[1][0].base != _UNKNOWN]
        mine = sorted((one.name, list(one.places)) for one in found if not _is_left_out(one.places))
        assert mine == theirs, (hex(address), mine, theirs, text)
        placed += len(mine)
    assert placed > 100


C = """
struct pair { short first, second; };
struct item { int kind; struct pair pair; struct item *next; };
struct big { int all[4]; };
int sum(struct item *list, char tag, ...) { return list->kind + tag; }
struct big make(struct pair pair) { struct big big = { { pair.first } }; return big; }
void nothing(void) { __asm__ volatile(""); }
static inline int twice(int value) { return value * 2; }
int work(int count, struct item *start)
{
    struct item items[3];
    int total = count;
    items[1].next = start;
    {
        char text[6];
        __asm__ volatile("inner: nop" : : "r"(text), "r"(items));
        total += text[count];
    }
    __asm__ volatile("outer: nop" : : "r"(items));
    return total + items[count].pair.second;
}
int main(void) { struct item one = { 1 }; nothing(); return sum(&one, 2) + work(1, &one) + make(one.pair).all[0]; }
"""


def test_what_a_function_takes_and_returns(tmp_path: Path) -> None:
    path = compiled(C, tmp_path)
    variables = load_frame_variables([path])
    found = {name: variables.beginning(symbol(path, name) & ~1) for name in ("sum", "make", "nothing", "work")}
    told = {
        name: (one.is_variadic, one.result_size, one.result_kind, [tuple(each)[:3] for each in one.parameters])
        for name, one in found.items()
        if one is not None
    }
    assert told == {
        "sum": (True, 4, SCALAR, [("list", 4, True), ("tag", 1, False)]),
        "make": (False, 16, STRUCT, [("pair", 4, False)]),
        "nothing": (False, 0, "", []),
        "work": (False, 4, SCALAR, [("count", 4, False), ("start", 4, True)]),
    }
    assert found["sum"] is not None
    assert (found["sum"].file, found["sum"].line) == ("declared.c", 5)
    assert variables.beginning((symbol(path, "sum") & ~1) + 2) is None
    assert variables.beginning(0x10) is None


@pytest.mark.parametrize("options", [("-O0",), ("-O2", "-fno-inline"), ("-Og", "-gdwarf-4")], ids=" ".join)
def test_members_of_local_variables(options: Tuple[str, ...], tmp_path: Path) -> None:
    path = compiled(C, tmp_path, *options)
    variables, inner, outer = load_frame_variables([path]), symbol(path, "inner"), symbol(path, "outer")
    placed = {one.name: one for one in variables.variables(inner)}
    (items,), (text,) = placed["items"].places, placed["text"].places
    assert items.base == text.base == CFA and items.offset is not None and text.offset is not None
    cfa = 0x20001000
    found = variables.containers(inner, {CFA: cfa}, cfa + items.offset + 12 + 6)
    assert [(one.path, one.start - cfa - items.offset, one.size) for one in found] == [
        ("items", 0, 36),
        ("items[1]", 12, 12),
        ("items[1].pair", 16, 4),
        ("items[1].pair.second", 18, 2),
    ]
    item = Pointee("struct item", 12, False)
    assert variables.pointee(inner, {CFA: cfa}, cfa + items.offset + 12 + 8) == item
    assert variables.pointee(inner, {CFA: cfa}, cfa + items.offset + 12) is None
    assert placed["items"].pointee is None and "start" in placed and placed["start"].pointee == item
    assert [one.path for one in variables.containers(inner, {CFA: cfa}, cfa + text.offset + 5)] == ["text", "text[5]"]
    assert "text" not in {one.name for one in variables.variables(outer)}
    assert not variables.containers(inner, {}, cfa + items.offset)
    assert not variables.containers(inner, {CFA: cfa}, cfa + 0x100)


def test_a_copy_with_other_parameters_is_not_told(tmp_path: Path) -> None:
    source = """
    int state[4];
    static __attribute__((noinline)) int apart(int unused, int *where, int by) { return state[by] += *where; }
    int main(void) { return apart(1, state, 2) + apart(2, state + 1, 2); }
    """
    path = compiled(source, tmp_path, "-O2")
    frames, variables = load_frames([path]), load_frame_variables([path])
    copies = [start for start, _ in filter(None, map(frames.function, range(0x8000, 0x8100, 2)))]
    named = {one.name for start in copies for one in variables.functions(start)}
    assert named == {"apart", "main"}
    assert {one.name for start in copies for one in [variables.beginning(start)] if one is not None} == {"main"}


def test_files_that_have_nothing(tmp_path: Path) -> None:
    (tmp_path / "elf").write_text("nothing")
    with pytest.raises(ImageError):
        load_frame_variables([str(tmp_path / "elf")])
    path = compiled(C, tmp_path, "-g0")
    variables = load_frame_variables([path])
    assert not variables.functions(0x8000) and not variables.variables(0x8000) and variables.beginning(0x8000) is None
    assert not variables.containers(0x8000, {CFA: 0}, 0)


# In GDB: of each function its parameters' sizes, and what it returns.
_TYPES = """
import json
def answer(name):
    try:
        kind = gdb.parse_and_eval(name).type
        returned = kind.target()
    except (gdb.error, RuntimeError):
        return None
    size = 0 if returned.code == gdb.TYPE_CODE_VOID else returned.sizeof
    return [[one.type.sizeof for one in kind.fields()], size]
with open(%r) as file:
    asked = json.load(file)
with open(%r, "w") as file:
    json.dump([answer(one) for one in asked], file)
"""


@pytest.mark.parametrize("program", ["station-Os", "gateway-O2", "gateway-flto", "plant-O0", "json-flto", "logger-O2"])
def test_parameters_and_results_are_gdbs(program: str, tmp_path: Path) -> None:
    path = field.elf(program)
    variables = load_frame_variables([path])
    functions = {one.name: one.start for one in load_symbols([path]).functions if "." not in one.name}
    asked, answered = tmp_path / "asked.json", tmp_path / "answered.json"
    asked.write_text(json.dumps(list(functions)))
    run_gdb(path, _TYPES % (str(asked), str(answered)), tmp_path)
    compared = 0
    for (name, start), said in zip(functions.items(), json.loads(answered.read_text())):
        found = variables.beginning(start)
        if said is None or found is None or found.name != name or name.startswith("__"):
            continue
        assert [[one.size for one in found.parameters], found.result_size] == said, name
        compared += 1
    assert compared > 10, compared
