"""Symbols and lines beside functions that the linker dropped, in the shell.

A differential run against GDB's own "info symbol" and "info line", calls counted by hand that the board then makes, and
vectors worked by hand from DWARF 5 (6.2.5).
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest
from elftools.elf.elffile import ELFFile

from gdb_etm.errors import CommandError
from gdb_etm.history.calls import Segment, call_history
from gdb_etm.history.exits import Exits
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.offline.symbols import load_symbols, without_hashes
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.dropped import dropped_end, without_dropped
from tests.firmware.build import elf, size, symbol
from tests.firmware.cortex_a import build as cortex_a
from tests.gdb_session import run_gdb
from tests.history.executed import history_of, run_on_board

PROGRAMS = ("dropped", "dropped4")
DROPPED = ("never_called", "never_called_either")

_SYMBOLS = "python import json; print('@' + json.dumps([gdb.execute('info symbol %%d' %% a, False, True) for a in %r]))"
_LINES = """python
import json
def row(address):
    found = gdb.find_pc_line(address)
    return [found.line, found.pc, found.last] if found.symtab is not None and found.line else None
print('@' + json.dumps([row(address) for address in %r]))
end
"""


def code(path: str) -> List[int]:
    """List the halfwords of a program's .text."""
    with open(path, "rb") as file:
        section = ELFFile(file).get_section_by_name(".text")
        return list(range(section["sh_addr"], section["sh_addr"] + section["sh_size"], 2))


def answer(output: str) -> List[object]:
    """Find what GDB was asked to print."""
    found = [line[1:] for line in output.splitlines() if line.startswith("@")]
    assert found, output
    return list(json.loads(found[0]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_symbols_are_those_of_gdb(name: str) -> None:
    path = elf(name)
    debugger = OfflineDebugger([path])
    addresses = code(path)
    told = answer(run_gdb([_SYMBOLS % (addresses,)], source=False, arguments=[path]))
    same = 0
    for address, text in zip(addresses, told):
        wanted = str(text).partition(" in section")[0].replace(" + ", "+")
        function = debugger.function_at(address)
        if address >= symbol(path, "Reset_Handler") and not wanted.startswith(("table", "No symbol")):
            assert function is not None, hex(address)
            offset = address - function.start
            # Of the names of one handler GDB takes another where debug information does not tell.
            others = ("HardFault", "SVC", "IRQ", "SysTick")
            is_alias = function.name == "Unexpected_Handler" and wanted.startswith(others)
            assert is_alias or wanted == ("%s+%d" % (function.name, offset) if offset else function.name), hex(address)
            same += not is_alias
        else:
            assert function is None or function.name in ("finished", "failed"), hex(address)
    assert same > 150


def test_labels_and_functions_without_size() -> None:
    path = elf("dropped")
    table = load_symbols([path])
    places = {one.name: one for one in table.functions}
    assert not set(DROPPED) & set(places) and "$t" not in places and "table" not in places
    # The handler has the size of the weak one that it replaces; its other name, and the labels, have none.
    handler = places["PendSV_Handler"]
    assert handler.end - handler.start == size(path, "Unexpected_Handler") and not handler.is_label
    assert places["switch_context"].end == places["pending_again"].start == symbol(path, "pending_again")
    assert places["pending_again"].end == places["pending_done"].start and places["pending_done"].is_label
    assert table.at(handler.end) == places["pending_again"] and table.at(handler.end - 2) == handler
    assert places["asked"].end == places["typed"].start and not places["untyped"].is_label
    # What has a size keeps it, whatever labels are in it; data ends what has none.
    assert places["sized"].end - places["sized"].start == size(path, "sized")
    assert table.at(symbol(path, "inside")) == places["sized"] == table.at(symbol(path, "inside_end"))
    assert places["untyped"].end == symbol(path, "table") and table.at(symbol(path, "table") + 4) is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_lines_are_those_of_gdb_without_what_was_dropped(name: str, tmp_path: Path) -> None:
    path = elf(name)
    copy = without_dropped(path)
    assert copy is not None
    (tmp_path / "copy").write_bytes(copy)
    addresses = [address for address in code(path) if address >= 4]
    told = answer(run_gdb([_LINES % addresses], source=False, arguments=[str(tmp_path / "copy")]))
    debugger = OfflineDebugger([path])
    for address, row in zip(addresses, told):
        found = debugger.line_at(address)
        assert (found.line if found else None) == (row[0] if isinstance(row, list) else None), hex(address)
    assert debugger.line_at(symbol(path, "Reset_Handler")) is not None and debugger.line_at(0x10) is None


def test_places_of_dropped_functions_are_none() -> None:
    locations = ElfLocations(OfflineDebugger([elf("dropped")]))
    with pytest.raises(CommandError, match='no function "never_called"'):
        locations.code("never_called")
    for alias in ("PendSV_Handler", "switch_context", "HardFault_Handler"):
        assert locations.entries(alias) == [symbol(elf("dropped"), alias)]
    source = (Path(elf("dropped")).parent / "dropped.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "value ^= sum >> i" in text)
    with pytest.raises(CommandError, match="no code for line %d of dropped.c" % line):
        locations.code("dropped.c:%d" % line)


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_those_that_happened(name: str) -> None:
    path = elf(name)
    debugger = OfflineDebugger([path])
    items = run_on_board(path)
    history = history_of(path, items)
    calls = call_history(history, debugger.function_at, Exits(history.program))
    segments = [one for one in calls.entries(1, len(calls)) if isinstance(one, Segment)]
    names = {one.function.name if one.function is not None else None for one in segments}
    assert names >= {"Reset_Handler", "run", "thrice", "asked", "typed", "sized", "untyped", "switch_done"}
    assert names <= {one.name for one in debugger.functions} - set(DROPPED)
    # run; twelve rounds of thrice, asked, typed (and from it untyped), sized, untyped; three switches.
    assert calls.calls == 1 + 12 * 6 + 3
    begun = [one for one in segments if one.function is not None and one.function.name == "thrice"]
    assert len(begun) == sum(item == symbol(path, "thrice") for item in items) == 12


def test_how_far_dropped_lines_reach() -> None:
    ends: Dict[str, Optional[int]] = {}
    for name in (*PROGRAMS, "sort"):
        with open(elf(name), "rb") as file:
            ends[name] = dropped_end(ELFFile(file))
    assert ends["sort"] == 0 and ends["dropped"] == ends["dropped4"]
    # As long as the longest of them, by the size that debug information gives it.
    with open(elf("dropped"), "rb") as file:
        dies = [die for unit in ELFFile(file).get_dwarf_info().iter_CUs() for die in unit.iter_DIEs()]
    dropped = [one.attributes for one in dies if one.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in one.attributes]
    assert ends["dropped"] == max(one["DW_AT_high_pc"].value for one in dropped if one["DW_AT_low_pc"].value == 0)
    assert without_dropped(elf("sort")) is None and without_dropped("/nowhere") is None


def test_code_at_address_zero_is_there() -> None:
    # A Cortex-A's vectors: instructions that have no name.
    path = str(cortex_a.elf("sort-t32"))
    with open(path, "rb") as file:
        assert dropped_end(ELFFile(file)) == 0
    assert without_dropped(path) is None
    found = OfflineDebugger([path]).line_at(0)
    assert found is not None and found.path.endswith("start.S")


def test_call_frame_information_of_dropped_functions_is_nobodys() -> None:
    path = elf("dropped")
    frames = load_frames([path])
    start = symbol(path, "Reset_Handler")
    assert frames.function(start) == (start, start + size(path, "Reset_Handler"))
    assert frames.row(0x10) is None and frames.row(symbol(path, "thrice")) is not None


@pytest.mark.parametrize("tombstone", [0xFFFFFFFF, 0xFFFFFFFE, 0x90000000])
def test_other_linkers_addresses_of_dropped_lines(tombstone: int, tmp_path: Path) -> None:
    # LLD's, and one in no loaded section, in the place of GNU ld's 0: DW_LNE_set_address (DWARF 5, 6.2.5.3).
    content = Path(elf("dropped")).read_bytes()
    with open(elf("dropped"), "rb") as file:
        section = ELFFile(file).get_section_by_name(".debug_line")
        start, length = section["sh_offset"], section["sh_size"]
    zero, other = b"\0\x05\x02" + bytes(4), b"\0\x05\x02" + struct.pack("<I", tombstone)
    lines = content[start : start + length]
    assert lines.count(zero) == 2
    (tmp_path / "elf").write_bytes(content[:start] + lines.replace(zero, other) + content[start + length :])
    ours, theirs = OfflineDebugger([elf("dropped")]), OfflineDebugger([str(tmp_path / "elf")])
    places: List[Tuple[int, ...]] = [(0, 0x400), (0x90000000, 0x90000100), (0xFFFFFF00, 0x100000100)]
    for first, end in places:
        assert [theirs.line_at(at) for at in range(first, end, 2)] == [ours.line_at(at) for at in range(first, end, 2)]
    assert theirs.line_at(0xFFFFFFFD) is None and theirs.line_at(tombstone) is None


def test_of_two_files_in_one_memory_the_first_counts() -> None:
    both = OfflineDebugger([elf("dropped"), elf("sort")])
    alone = OfflineDebugger([elf("dropped")])
    filled = code(elf("dropped"))
    assert [both.function_at(at) for at in filled] == [alone.function_at(at) for at in filled]
    assert [both.line_at(at) for at in filled] == [alone.line_at(at) for at in filled]


@pytest.mark.parametrize(
    "name, wanted",
    [
        # What GDB writes of Rust's names, mangled in the first way and in the second (RFC 2603).
        ("core::fmt::write::h3c7ff4c3b622dfd4", "core::fmt::write"),
        ("<app::Table as app::Sensor>::sample::h05230af48abc3f80+46", "<app::Table as app::Sensor>::sample+46"),
        (
            "<app[c959663c5ce23cef]::Table as app[c959663c5ce23cef]::Sensor>::sample",
            "<app::Table as app::Sensor>::sample",
        ),
        ("core[232079858c45ac0c]::fmt::write+376", "core::fmt::write+376"),
        # Others' names have none of that.
        ("table::h0123456789abcdef::push(int)", "table::h0123456789abcdef::push(int)"),
        ("station+32", "station+32"),
        ("operator[](int)", "operator[](int)"),
        ("fill(char (&) [12345678])", "fill(char (&) [12345678])"),
    ],
)
def test_names_without_hashes(name: str, wanted: str) -> None:
    assert without_hashes(name) == wanted
