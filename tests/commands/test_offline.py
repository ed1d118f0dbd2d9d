"""Differential run against GDB: symbols, lines and text without it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gdb_etm.errors import ConnectError, ImageError
from gdb_etm.history.frames import Function
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.symbols import SymbolTable, load_symbols
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.isa import Isa
from gdb_etm.session.debugger import SourceLine
from gdb_etm.session.disassembler import ItBlocks
from tests.firmware.cortex_a import build as cortex_a
from tests.gdb_session import ROOT, run_gdb

ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"

_ASK = """python
import json
from gdb_etm.gdbui.debugger import GdbDebugger
from gdb_etm.program.isa import Isa
debugger = GdbDebugger()
def answer(address, code):
    function = debugger.function_at(address)
    line = debugger.line_at(address)
    text = debugger.disassemble(address, bytes.fromhex(code), Isa.T32)
    return [function and function.name, function and function.start, line and [line.path, line.line], text]
asked = json.load(open("asked.json"))
print("ANSWER " + json.dumps([answer(*pair) for pair in asked]))
print("DATA " + json.dumps([debugger.symbol_at(0x20000000 + 2 * at) for at in range(0x100)]))
end
"""


def test_agrees_with_gdb(tmp_path: Path) -> None:
    program = Program(load_elf(str(ELF)))
    symbols = load_symbols([str(ELF)])
    places = []
    for function in symbols.functions:
        addresses = Blocks(program).addresses(function.start, function.end, Isa.T32) + [function.end]
        places += [(at, program.read(at, after - at).hex()) for at, after in zip(addresses, addresses[1:])]
    assert len(places) > 300
    (tmp_path / "asked.json").write_text(json.dumps(places))
    (tmp_path / "ask.gdb").write_text(_ASK)
    output = run_gdb(["source ask.gdb"], cwd=tmp_path, arguments=[str(ELF)])
    answers = json.loads(output.split("ANSWER ")[1].splitlines()[0])
    offline = OfflineDebugger([str(ELF)])
    mnemonics = 0
    for (address, code), (name, start, line, text) in zip(places, answers):
        function = offline.function_at(address)
        assert function is not None and (function.name, function.start) == (name, start), hex(address)
        found = offline.line_at(address)
        assert (found and [found.path, found.line]) == line, hex(address)
        ours = offline.disassemble(address, bytes.fromhex(code), Isa.T32)
        mnemonics += ours.partition("\t")[0].partition(".")[0] == text.partition("\t")[0].partition(".")[0]
    assert mnemonics > 0.97 * len(places)
    variables = [offline.symbol_at(0x20000000 + 2 * at) for at in range(0x100)]
    assert variables == json.loads(output.split("DATA ")[1].splitlines()[0])
    assert len({name.partition("+")[0] for name in variables}) > 8


def test_text_names_branch_targets_and_keeps_what_is_no_instruction() -> None:
    offline = OfflineDebugger([str(ELF)])
    main = next(one for one in load_symbols([str(ELF)]).functions if one.name == "main")
    assert offline.disassemble(main.start, bytes.fromhex("fff7feff"), Isa.T32) == "bl\t0x%x <main>" % main.start
    assert offline.disassemble(main.start, bytes.fromhex("fff7ffff"), Isa.T32).endswith("<main+2>")
    assert offline.disassemble(0, bytes.fromhex("ffff"), Isa.T32) == ".inst\t0xffff"
    assert offline.disassemble(0x1000, bytes.fromhex("c0035fd6"), Isa.A64) == "ret"
    # A microcontroller's special registers (Armv8-M ARM, D1.2): msr basepri, r0; mrs r0, control.
    assert offline.disassemble(0x1000, bytes.fromhex("80f31188"), Isa.T32) == "msr\tbasepri, r0"
    assert offline.disassemble(0x1000, bytes.fromhex("eff31480"), Isa.T32) == "mrs\tr0, control"
    # it ne | movne r0, #1: the second is conditional because of the first.
    assert offline.disassemble(0x1002, bytes.fromhex("0120"), Isa.T32, bytes.fromhex("18bf")) == "movne\tr0, #1"


def test_the_symbol_that_begins_last_is_found() -> None:
    table = SymbolTable([Function("b", 0x20, 0x30), Function("a", 0x10, 0x20), Function("alias", 0x10, 0x20)])
    assert [one.name if one else None for one in map(table.at, (0xF, 0x10, 0x1F, 0x20, 0x30))] == [
        None,
        "alias",
        "alias",
        "b",
        None,
    ]


def test_the_last_symbol_without_size_reaches_to_the_end_of_its_section() -> None:
    # Its instructions: push, smc, pop; its section ends with a literal.
    table = load_symbols([str(cortex_a.elf("worlds"))])
    last = next(one for one in table.functions if one.name == "ask_monitor")
    assert [one.name if one else None for one in map(table.at, range(last.start, last.start + 0x14, 4))] == (
        ["ask_monitor"] * 4 + [None]
    )


def test_there_is_no_target() -> None:
    offline = OfflineDebugger()
    assert offline.connection() is None and not offline.is_running() and offline.location() == ""
    assert offline.function_at(0) is None and offline.line_at(0) is None
    for refused in (lambda: offline.connect(None), offline.access_port):
        with pytest.raises(ConnectError, match="inside GDB"):
            refused()


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no ELF")
    with pytest.raises(ImageError, match="is not a readable ELF file"):
        OfflineDebugger([str(tmp_path / "text")])
    with pytest.raises(ImageError, match="cannot read .*none: No such file"):
        OfflineDebugger([str(tmp_path / "none")])


def test_conditions_of_an_it_block() -> None:
    # ite eq | moveq r0, #1 | movne r0, #2 | movs r0, #3; then the same block begun and left by an exception.
    blocks = ItBlocks()
    codes = [(0x1000, "0cbf"), (0x1002, "0120"), (0x1004, "0220"), (0x1006, "0320")]
    found = [blocks.before(address, bytes.fromhex(code), Isa.T32).hex() for address, code in codes]
    assert found == ["", "0cbf", "0cbf0120", ""]
    codes[2:] = [(0x40, "0320")]
    found = [blocks.before(address, bytes.fromhex(code), Isa.T32).hex() for address, code in codes]
    assert found == ["", "0cbf", ""]


def test_source_is_read_from_files_alone(tmp_path: Path) -> None:
    """Debug information may name a FIFO, device or folder as source."""
    (tmp_path / "app.c").write_text("int one;\n  int two;\n")
    os.mkfifo(tmp_path / "fifo")
    debugger = OfflineDebugger()
    assert debugger.source_text(SourceLine("app.c", 2, str(tmp_path / "app.c"))) == "int two;"
    for name in ("app.c/none", "fifo", "", "none"):
        assert debugger.source_text(SourceLine("app.c", 1, str(tmp_path / name))) is None
    assert debugger.source_text(SourceLine("app.c", 1, "/dev/zero")) is None
