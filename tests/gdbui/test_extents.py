"""Differential run: a location's code by GDB and by pyelftools."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

import pytest
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import RangeEntry
from elftools.elf.elffile import ELFFile

from tests.firmware.build import elf, size, symbol
from tests.gdb_session import run_gdb
from tests.gdb_texts import gdb_version

_PRINT = (
    "python import json, gdb_etm.gdbui.start as s; p = s.session().places; "
    "print('@' + json.dumps([[text, p.code(text), [] if '-' in text else p.entries(text)] for text in %r]))"
)
Found = Dict[str, Tuple[List[List[int]], List[int]]]


def asked(path: str, texts: List[str]) -> Found:
    """Ask GDB for the code of locations and where they begin."""
    output = run_gdb(["file %s" % path, _PRINT % (texts,)])
    (line,) = [line for line in output.splitlines() if line.startswith("@")] or [output]
    return {text: (code, entries) for text, code, entries in json.loads(line[1:])}


def dwarf_code(path: str) -> Dict[str, Set[int]]:
    """Collect the addresses of each function, those where it was inlined too."""
    found: Dict[str, Set[int]] = {}
    with open(path, "rb") as file:
        info = ELFFile(file).get_dwarf_info()
        for unit in info.iter_CUs():
            base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
            for die in unit.iter_DIEs():
                if die.tag not in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
                    continue
                origin = die
                while "DW_AT_abstract_origin" in origin.attributes:
                    origin = origin.get_DIE_from_attribute("DW_AT_abstract_origin")
                name = origin.attributes.get("DW_AT_name")
                for first, end in _ranges(die, info, base.value if base is not None else 0) if name is not None else ():
                    if first == end and gdb_version() >= 18:
                        # GDB 18 takes a part without code for one of a byte.
                        end += 2
                    found.setdefault(name.value.decode("ascii"), set()).update(range(first, end))
    return found


def _ranges(die: DIE, info: DWARFInfo, base: int) -> Iterator[Tuple[int, int]]:
    if "DW_AT_ranges" in die.attributes:
        lists = info.range_lists()
        for entry in lists.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, cu=die.cu):
            if isinstance(entry, RangeEntry):
                start = 0 if entry.is_absolute else base
                yield start + entry.begin_offset, start + entry.end_offset
            else:
                base = entry.base_address
    elif "DW_AT_low_pc" in die.attributes:
        low, high = die.attributes["DW_AT_low_pc"].value, die.attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value


def addresses(ranges: List[List[int]]) -> Set[int]:
    return {at for first, last in ranges for at in range(first, last + 1)}


@pytest.mark.parametrize("name", ["steps", "sort", "tables", "faults", "tasks", "branches"])
def test_functions(name: str) -> None:
    """All of each, where it was inlined too, often in several parts."""
    code = dwarf_code(elf(name))
    found = asked(elf(name), sorted(code))
    assert len(code) > 5
    for function, expected in code.items():
        assert addresses(found[function][0]) == expected, function
        assert min(expected) in found[function][1] or len(found[function][1]) > 1


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_a_function_in_two_parts(tmp_path: Path) -> None:
    """What runs seldom lies elsewhere, with other functions between (-freorder-blocks-and-partition)."""
    source, program = tmp_path / "parts.c", str(tmp_path / "parts")
    source.write_text(
        "volatile int v;\n"
        "__attribute__((cold, noinline)) void bad(int x) { v = x * 3; }\n"
        "int work(int n) { int s = 0; for (int i = 0; i < n; i++) { if (__builtin_expect(v == 99, 0))"
        " { bad(i); bad(i + 1); v = s; bad(s); } s += v; } return s; }\n"
        "int main(void) { return work(5); }\n"
    )
    options = ["-O2", "-g", "-freorder-blocks-and-partition", "-fno-ipa-cp"]
    subprocess.run(["gcc", *options, str(source), "-o", program, "-no-pie"], check=True)
    code, entries = asked(program, ["work"])["work"]
    expected = dwarf_code(program)["work"]
    gaps = max(expected) - min(expected) + 1 - len(expected)
    if not gaps:
        pytest.skip("this compiler leaves the function in one part")
    # An x86 instruction can begin at an odd address; Arm's do not.
    assert {at & ~1 for at in addresses(code)} == {at & ~1 for at in expected}
    assert [entry & ~1 for entry in entries] == [symbol(program, "work")]


def test_lines_and_instructions() -> None:
    path = elf("steps")
    run = symbol(path, "run")
    texts = ["*0x%x" % run, "steps.c:35", "steps.c:33-37", "leaf", "steps.c:leaf"]
    found = asked(path, texts)
    assert found[texts[0]] == ([[run, run]], [run])
    leaf = set(range(symbol(path, "leaf"), symbol(path, "leaf") + size(path, "leaf")))
    assert addresses(found["steps.c:35"][0]) < leaf and found["steps.c:35"][1][0] in leaf
    assert addresses(found["steps.c:33-37"][0]) == leaf
    assert found["leaf"] == found["steps.c:leaf"]


def test_what_is_not_there() -> None:
    output = run_gdb(
        [
            "file %s" % elf("steps"),
            "etm filter include nosuch",
            "etm filter include steps.c:40-20",
            "etm filter start steps.c:99999",
            "etm filter include 0x20-0x10",
            "etm filter include leaf,,tail",
        ]
    )
    assert output.splitlines() == [
        'Function "nosuch" not defined',
        "the range steps.c:40-20 ends before it begins",
        output.splitlines()[2],
        "the range 0x20-0x10 ends before it begins",
        "etm filter include needs a location",
    ]
    assert "99999" in output


@pytest.mark.parametrize("text", ["*nosuch", "*(leaf", "*0x20 0", "*1/0", "*$nosuch", "*", "'leaf", '"steps.c', "x:'y"])
def test_what_cannot_be_parsed_does_not_crash_gdb(text: str) -> None:
    """Of gdb.decode_line alone GDB 13 crashes: by what Python frees."""
    output = run_gdb(["file %s" % elf("steps"), "etm filter include %s" % text, "python import argparse", "echo alive"])
    assert output.endswith("\nalive") and output.count("\n") == 1, output


@pytest.mark.parametrize("text", [", leaf", "if 1", "task 1", "thread 1", "-probe x", "-force-condition"])
def test_what_is_no_location_does_not_crash_gdb(text: str) -> None:
    """GDB 13 ends by assertions in linespec.c."""
    script = "python from gdb_etm.gdbui.start import session; session().places.code(%r)" % text
    output = run_gdb(["file %s" % elf("steps"), script, "echo alive"])
    assert '"%s" is no location' % text in output and output.endswith("\nalive"), output


def test_quoted_locations() -> None:
    ask = ["etm filter include %s" % text for text in ("'leaf'", "'steps.c':leaf", '"steps.c":35')]
    plain = ["etm filter include %s" % text for text in ("leaf", "steps.c:leaf", "steps.c:35")]
    quoted, expected = (run_gdb(["file %s" % elf("steps"), *each, "etm filter list"]) for each in (ask, plain))
    assert re.findall("0x[0-9a-f]+", quoted) == re.findall("0x[0-9a-f]+", expected) != []


def test_completion_is_that_of_break() -> None:
    output = run_gdb(
        [
            "file %s" % elf("steps"),
            "complete etm filter include le",
            "complete etm filter stop leaf,ta",
            "complete etm filter sec",
            "complete etm filter exceptions o",
        ]
    )
    lines = output.splitlines()
    assert "etm filter include leaf" in lines and "etm filter stop leaf,tail" in lines
    words = ["secure", "exceptions off", "exceptions on", "exceptions only"]
    assert lines[-4:] == ["etm filter " + each for each in words]
