"""The board's truth, and differential runs of the black box.

What it keeps says what a live session says.

No debugger is there when the program crashes; the live session runs the same program to the same place.  The checksum
is zlib's CRC-32.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import List

import pytest

from gdb_etm.commands.parse import parse
from gdb_etm.commands.registry import command_named
from gdb_etm.dumps.record import read_record
from gdb_etm.errors import CommandError, ImageError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.program.image import load_elf
from gdb_etm.session.dumps import DumpRequest, load_dump
from gdb_etm.session.saved import read_captures
from gdb_etm.session.session import DebugSession
from tests.dumps.crashed import (
    MTB_BOARDS,
    RAM,
    board_with,
    crash,
    left,
    live,
    parts,
    reset_by_watchdog,
    until,
    verdict,
)
from tests.dumps.made import crash_catcher, crash_catcher_text, elf_core, zephyr, zephyr_log
from tests.firmware.blackbox.build import BLACK_BOX, BOARDS, LEVELS, elf
from tests.firmware.build import compiler, symbol

pytestmark = pytest.mark.skipif(compiler() is None, reason="no arm-none-eabi-gcc")

LIVE = {("m33", "O0"), ("m33", "Os"), ("m7", "Og"), ("m7", "O2"), ("m4", "O1"), ("m4", "Os"), ("m0", "O0")}
LIVE |= {("m0", "O3"), ("m23", "O2"), ("m23", "Os"), ("m33,mtb", "O2"), ("m33,mtb", "Os")}
LIVE |= {("a9", "O0"), ("a9", "Os")}
# Each way to crash on one board at least, beside the one that is tried at every level on each.
OTHERS = [("m33", "O2", "load"), ("m7", "Os", "load"), ("m4", "Og", "load"), ("m0", "O1", "load")]
OTHERS += [("m33", "O2", "stack"), ("m7", "O2", "division"), ("m4", "Os", "assertion"), ("m33,mtb", "O3", "division")]
OTHERS += [("m23", "O1", "load"), ("a9", "O2", "load"), ("a9", "O3", "stack"), ("a9", "O0", "trap")]
OTHERS += [("a9", "Og", "assertion")]


def said(path: str, program: str, command: str = "fault") -> List[str]:
    """Say what a command says of a dump, as in a shell."""
    debugger = OfflineDebugger([program])
    session = DebugSession(debugger)
    session.locations = ElfLocations(debugger)
    (capture,) = read_captures(path, [program])
    session.add(capture, path, is_live=False)
    return list(command_named(command).run(session, parse(command_named(command), [])))


def told(lines: List[str]) -> List[str]:
    """Take what happened, where, and the culprit out of a verdict."""
    # Of a recursion the live history may show the beginning.
    lines = [line.replace("itself at least ", "itself ") for line in lines]
    why = next((number for number, line in enumerate(lines) if line.startswith("why")), len(lines))
    return lines[:why] + [line for line in lines[why:] if line.startswith("==>")]


@pytest.mark.sweep
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("board", BOARDS)
def test_a_core_file_says_what_the_live_session_says(board: str, level: str, tmp_path: Path) -> None:
    found = crash(level, board, "call")
    lines = verdict(said(found.core(tmp_path), found.elf))
    # A live session takes seconds: two levels for each board.
    if (board, level) in LIVE:
        assert lines == live(found.elf, board, "call")
    # What that loop has become there stores to device.filter first, by an index of 8: nothing is seen to grow.
    wanted = "makes the value" if (board, level) == ("a9", "O3") else "over device.filter"
    assert any(line.startswith("==> collect, crash.c:") and wanted in line for line in lines)


@pytest.mark.sweep
@pytest.mark.parametrize("board, level, way", OTHERS)
def test_other_crashes(board: str, level: str, way: str, tmp_path: Path) -> None:
    found = crash(level, board, way)
    if way == "assertion":
        # It is no fault, and the trace ends with the call.
        path = found.core(tmp_path)
        names = [line.split()[-1] for line in said(path, found.elf, "functions")]
        # A PTM traces no instruction after the last branch.
        assert board == "a9" or names.pop().endswith("_Handler")
        assert names[-1] in ("check", "run")
        return
    lines = verdict(said(found.core(tmp_path), found.elf))
    # How often the way to it was gone before depends on how much trace there is.
    assert told(lines) == told(live(found.elf, board, way)) and len(told(lines)) > 2


@pytest.mark.sweep
@pytest.mark.parametrize("board, level", [("m33", "O0"), ("m4", "O2"), ("m0", "Os"), ("m33,mtb", "O1"), ("a9", "Os")])
def test_other_formats_say_the_same(board: str, level: str, tmp_path: Path) -> None:
    found = crash(level, board, "call")
    expected = said(found.core(tmp_path), found.elf)
    dump = tmp_path / "dump"
    pieces = parts(found.ram)
    for content in (
        zephyr(pieces, found.registers),
        zephyr_log(zephyr(pieces, found.registers)).encode(),
        crash_catcher(pieces, found.registers),
        crash_catcher_text(crash_catcher(pieces, found.registers)).encode(),
    ):
        dump.write_bytes(content)
        assert said(str(dump), found.elf) == expected


def test_what_sdk_nrf_keeps(tmp_path: Path) -> None:
    """The trace of a Cortex-M33 in ``etb_buf``.

    As its "etb_trace" writes it; what traced, a profile says.
    """
    source = tmp_path / "nordic.c"
    found = crash("Os", "m33", "call")
    (capture,) = read_captures(found.core(tmp_path), [found.elf])
    padded = bytes(1024 - len(capture.buffer)) + capture.buffer
    words = ["0x%08x" % int.from_bytes(padded[at : at + 4], "little") for at in range(0, len(padded), 4)]
    source.write_text(
        "unsigned etb_buf[] = {%s}, etb_buf_valid = 0xdeadbeef, etm_trcconfigr = 0x1001, etm_trctraceidr = 0x10;\n"
        % ", ".join(words)
    )
    program = str(tmp_path / "nordic.elf")
    options = ["-mcpu=cortex-m33", "-mthumb", "-nostdlib", "-nostartfiles", "-Wl,-e,0", "-Wl,-Tdata=0x20010000"]
    subprocess.run([compiler() or "", *options, str(source), "-o", program], check=True)
    memory = [(image.address, image.data) for image in load_elf(program) if image.address >= RAM]
    path = tmp_path / "nordic.core"
    path.write_bytes(elf_core(memory, {}))
    session = DebugSession(OfflineDebugger())
    loaded = load_dump(session, DumpRequest(str(path), "etb_buf", profile="nrf5340"), [program, found.elf])
    assert not loaded.notes
    expected = session.add(capture, "expected", is_live=False)
    assert len(session.decode(loaded.record).history) == len(session.decode(expected).history) > 1000


def hung(lines: List[str]) -> List[str]:
    """Take what happened, and where the program was, out of a verdict."""
    function = next(line.split("<")[1].split("+")[0] for line in lines if line.startswith("where"))
    why = next(line for line in lines if line.startswith("why"))
    return [lines[0].rpartition("what ")[2], function, why.partition(" (assumed)")[0]]


@pytest.mark.sweep
@pytest.mark.parametrize("board", BOARDS)
def test_a_watchdog_resets_while_it_traces(board: str, tmp_path: Path) -> None:
    found = reset_by_watchdog("Os", board)
    core = found.core(tmp_path)
    (capture,) = read_captures(core, [found.elf])
    assert capture.notes[0].startswith("a reset came while it traced") and not capture.sources[0].core.registers
    lines = verdict(said(core, found.elf))
    what, function, why = hung(lines)
    assert re.search(r"\breset( \(exception 1\))?$", what, re.IGNORECASE)
    assert function == "await" and "loaded from answers" in why
    # The loop, which the next start ends, but for a Micro Trace Buffer: a reset switches that off.
    before, after = re.split(r"eset(?: \(exception 1\))?>", " ".join(said(core, found.elf, "functions")))
    assert "await" in before and ("etm_blackbox_begin" in after) == (board not in MTB_BOARDS)
    if board == "a9":
        # Behind OpenOCD it is halted, and the watchdog with it, until the trace is started.
        return
    if board not in MTB_BOARDS:
        assert hung(live(found.elf, board, "watchdog")) == [what, function, why]
        return
    # Of its trace a debugger does not know why it ends.
    with pytest.raises(CommandError, match="the core's state at the end of this history is not known"):
        live(found.elf, board, "watchdog")


@pytest.mark.parametrize("board", ["m7", "m33,mtb", "a9"])
def test_a_crash_outlives_a_reset(board: str, tmp_path: Path) -> None:
    path = elf("Os", board)
    made = board_with(path, board, "call")
    try:
        until(made, path, "finished_crashes")
        before = left(made, path)
        made.reset()
        until(made, path, "begun")
        after = left(made, path)
    finally:
        made.close()
    first, second = said(before.core(tmp_path), path), said(after.core(tmp_path), path)
    (capture,) = read_captures(after.core(tmp_path), [path])
    assert "has started once since" in capture.notes[0] and not capture.sources[0].core.memory
    assert capture.buffer == read_captures(before.core(tmp_path), [path])[0].buffer
    # Without the RAM less is known of why, and nothing else is said of what and where.
    assert second[:3] == first[:3]


def test_what_is_damaged_or_not_there() -> None:
    found = crash("Os", "m33", "call")
    at = symbol(found.elf, "etm_blackbox") - RAM

    def read(ram: bytes) -> object:
        return read_record(lambda address, size: ram[max(address - RAM, 0) : address - RAM + size], RAM + at)

    def changed(offset: int, *values: int) -> bytes:
        return found.ram[:offset] + bytes(values) + found.ram[offset + len(values) :]

    assert read(found.ram) is not None
    trace = symbol(found.elf, "etm_blackbox_trace") - RAM
    for offset in (trace + 5, at + 60, at + 330):
        with pytest.raises(ImageError, match="is damaged: its checksum is 0x"):
            read(changed(offset, found.ram[offset] ^ 1))
    with pytest.raises(ImageError, match="has version 2 and 340 bytes; version 1 is known"):
        read(changed(at + 14, 2))
    with pytest.raises(ImageError, match="is damaged: kind 0, 4278255360 bytes of trace"):
        read(changed(at + 20, 0, 0, 0, 0, *found.ram[at + 24 : at + 36], 0, 255, 0, 255))
    with pytest.raises(ImageError, match="names [0-9]+ bytes of trace at 0x[0-9a-f]+, and 0 of them are there"):
        read(changed(at + 32, 0, 0, 0, 0x60))
    with pytest.raises(ImageError, match="still traces: no crash is kept before"):
        read(changed(at, *b"MBTR"))
    assert read(changed(at, 0)) is None


@pytest.mark.parametrize("board", BOARDS)
def test_its_size(board: str, tmp_path: Path) -> None:
    """Under a kilobyte of code for each Cortex-M.

    With the search of the ROM tables; A-profile's handler changes modes, and cleans the caches.
    """
    out = tmp_path / "blackbox.o"
    gcc = compiler() or ""
    is_a = board == "a9"
    options = ["-DETM_BLACKBOX_ROM=0xf8800000"] if is_a else []
    options += ["-mthumb", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-Os"]
    source = str(BLACK_BOX / "etm_blackbox.c")
    subprocess.run([gcc, "-mcpu=" + BOARDS[board][0], *options, "-c", source, "-o", str(out)], check=True)
    sizes = subprocess.run([gcc[:-3] + "size", "-A", str(out)], stdout=subprocess.PIPE, check=True).stdout.decode()
    by_name = {line.split()[0]: int(line.split()[1]) for line in sizes.splitlines() if line.startswith(".")}
    handler = by_name.pop(".text.etm_blackbox_fault", 0)
    assert 0 < by_name[".text"] + handler < (1200 if is_a else 1024) and by_name[".rodata"] < 300
    assert not {
        name
        for name, size in by_name.items()
        if size and name not in (".text", ".rodata", ".data", ".noinit") and not name.startswith((".comment", ".ARM"))
    }
