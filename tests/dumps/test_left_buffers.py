"""The board's truth: buffers that are left without a record.

They are decoded, their beginning found.
"""

from __future__ import annotations

from pathlib import Path
from typing import List

import pytest

from gdb_etm.board.bus import RAM_BASE
from gdb_etm.capture import BufferEnd, BufferFormat
from gdb_etm.errors import EtmError
from gdb_etm.framing.formatter import deframe
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.dumps import DumpRequest, LoadedDump, load_dump
from gdb_etm.session.session import DebugSession
from tests.dumps.crashed import RAM, crash
from tests.dumps.made import elf_core
from tests.firmware.build import symbol
from tests.firmware.cortex_m0.build import elf
from tests.protocols.mtb.boards import BUFFER, POSITION, MtbRun, decoded


def loaded(session: DebugSession, request: DumpRequest, *programs: str) -> LoadedDump:
    """Load trace that was left."""
    return load_dump(session, request, programs)


def ran(session: DebugSession, record: CaptureRecord) -> List[int]:
    """Give the addresses of the instructions that ran."""
    history = session.decode(record).history
    return [history.instruction(number).address for number in range(1, len(history) + 1)]


def dumped(name: str, size: int, folder: Path) -> MtbRun:
    """Run a program, and write its buffer to a file."""
    run = MtbRun("m0", elf(name), size)
    run.run(9000)
    (folder / "mtb.bin").write_bytes(run.machine.read_block(BUFFER, size))
    return run


@pytest.mark.parametrize("name, size, end", [("nested", 1024, BufferEnd.WRAPPED), ("faults", 4096, BufferEnd.STARTED)])
def test_an_mtb_with_its_position(name: str, size: int, end: BufferEnd, tmp_path: Path) -> None:
    run = dumped(name, size, tmp_path)
    session = DebugSession(OfflineDebugger())
    request = DumpRequest(raw=str(tmp_path / "mtb.bin"), position=run.read(POSITION), unit="mtb")
    found = loaded(session, request, elf(name))
    assert found.record.capture.end is end and not found.notes
    history = decoded(session.decode(found.record).history)
    # Neither where it began is in the dump, nor where the core halted.
    history = history[1:] if end is BufferEnd.STARTED else history
    truth = run.result().truth
    at = next(n for n in range(len(truth)) if truth[n : n + len(history)] == history)
    assert 0 < at and len(history) > 100 and len(truth) - at - len(history) < 40


def test_an_mtb_without_its_position(tmp_path: Path) -> None:
    """The oldest packet is where the trace as it lies breaks off."""
    run = dumped("nested", 1024, tmp_path)
    session = DebugSession(OfflineDebugger())
    known = loaded(
        session, DumpRequest(None, None, str(tmp_path / "mtb.bin"), run.read(POSITION), "mtb"), elf("nested")
    )
    found = loaded(session, DumpRequest(None, None, str(tmp_path / "mtb.bin"), None, "mtb"), elf("nested"))
    within = (run.read(POSITION) & ~7) - (BUFFER - RAM_BASE)
    assert found.notes == [
        "no write pointer: the trace breaks off at byte 0x%x, so that is where its oldest byte is taken to be" % within
    ]
    assert found.record.capture.buffer == known.record.capture.buffer


def test_an_mtb_that_is_not_full(tmp_path: Path) -> None:
    run = dumped("faults", 4096, tmp_path)
    session = DebugSession(OfflineDebugger())
    found = loaded(session, DumpRequest(None, None, str(tmp_path / "mtb.bin"), None, "mtb"), elf("faults"))
    assert "the buffer has not wrapped" in found.notes[0]
    history, truth = decoded(session.decode(found.record).history)[1:], run.result().truth
    # What ran after the last packet is in no dump.
    assert any(truth[len(truth) - len(history) - n : len(truth) - n] == history for n in range(40))


@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_an_etm_of_which_registers_alone_are_known(board: str, tmp_path: Path) -> None:
    """The black box's own trace, with its record and without.

    Without it turned, in frames and not.
    """
    left = crash("O2", board, "call")
    session = DebugSession(OfflineDebugger())
    whole = loaded(session, DumpRequest(left.core(tmp_path)), left.elf).record
    source = whole.capture.sources[0]
    unit = tmp_path / "ETM_0.ini"
    lines = ["%s(0x0)=0x%x ; as read" % (name, value) for name, value in source.registers.items()]
    unit.write_text("\n".join(["[device]", "name=ETM_0", "[regs]", *lines]) + "\n")
    raw = tmp_path / "TB.raw"
    addresses = ran(session, whole)
    buffer = whole.capture.buffer
    for turn in (0, 16 * (len(buffer) // 48)):
        raw.write_bytes(buffer[turn:] + buffer[:turn])
        for position in (None, (len(buffer) - turn) % len(buffer)):
            found = loaded(session, DumpRequest(None, None, str(raw), position, str(unit)), left.elf).record
            assert found.capture.format is BufferFormat.FRAMES
            assert ran(session, found)[-200:] == addresses[-200:]
    (stream,) = (one for one in deframe(buffer).streams.values() if len(one.data) > 100)
    raw.write_bytes(stream.data)
    found = loaded(session, DumpRequest(None, None, str(raw), 0, str(unit)), left.elf).record
    assert found.capture.format is BufferFormat.RAW and ran(session, found)[:-8] == addresses[:-8]


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m33", "m7", "m4", "a9"])
def test_a_file_cut_anywhere_tells_a_part_of_what_ran(board: str, tmp_path: Path) -> None:
    left = crash("O2", board, "call")
    session = DebugSession(OfflineDebugger())
    whole = loaded(session, DumpRequest(left.core(tmp_path)), left.elf).record
    unit = tmp_path / "ETM_0.ini"
    registers = whole.capture.sources[0].registers.items()
    unit.write_text("\n".join(["[regs]", *("%s(0x0)=0x%x" % register for register in registers)]))
    words = "".join("%08x" % address for address in ran(session, whole))
    raw, buffer = tmp_path / "TB.raw", whole.capture.buffer
    request = DumpRequest(raw=str(raw), unit=str(unit))
    seen = 0
    for size in (1, 7, 16, 39, len(buffer) // 3, len(buffer) // 2 + 5, len(buffer) - 16, len(buffer) - 1):
        for cut in (buffer[:size], buffer[-size:]):
            raw.write_bytes(cut)
            # Where it breaks off is not known: what is told of before the first and after the last packets is left out.
            addresses = ran(session, loaded(session, request, left.elf).record)[5:-40]
            seen += len(addresses)
            assert "".join("%08x" % address for address in addresses) in words, size
    assert seen > len(words) // 8
    raw.write_bytes(b"")
    with pytest.raises(EtmError, match="0 bytes are no buffer"):
        loaded(session, request, left.elf)


def test_an_mtb_in_a_core_file_by_address_and_symbol(tmp_path: Path) -> None:
    left = crash("Os", "m0", "call")
    session = DebugSession(OfflineDebugger())
    start = symbol(left.elf, "etm_blackbox_trace")
    core = tmp_path / "crash.core"
    # Its record is not in the dump.
    size = 1024
    core.write_bytes(elf_core([(start, left.ram[start - RAM : start - RAM + size])], left.registers))
    buffers: List[bytes] = []
    for where in ("etm_blackbox_trace", "0x%x,1K" % start, "etm_blackbox_trace,1024"):
        buffers.append(
            loaded(session, DumpRequest(str(core), where, None, None, "mtb"), left.elf).record.capture.buffer
        )
    assert len(set(buffers)) == 1 and len(buffers[0]) > 500
    with pytest.raises(EtmError, match="crash.core, an ELF core file: no crash is kept in etm_blackbox at 0x"):
        loaded(session, DumpRequest(str(core)), left.elf)


@pytest.mark.parametrize(
    "request_, message",
    [
        (DumpRequest(raw="{}", unit="mtb"), "0 bytes are no buffer"),
        (DumpRequest(raw="{}/nothing", unit="mtb"), "No such file|Not a directory"),
        (DumpRequest(raw="{}"), "what traced it"),
        (DumpRequest(raw="{}", unit="0x1000"), "no registers of a trace unit are there"),
        (DumpRequest(raw="{}", unit="nothing.txt"), "--unit nothing.txt: no such file"),
        (DumpRequest(raw="{}", profile="samd21", position=0), "0 bytes are no buffer"),
        (DumpRequest(raw="{}", profile="stm32h743"), "profile stm32h743 does not say what traced"),
        (DumpRequest(memory="buffer"), "GDB has no target whose memory could be read"),
    ],
)
def test_what_is_missing(request_: DumpRequest, message: str, tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    path.write_bytes(b"")
    raw = request_.raw.format(path) if request_.raw is not None else None
    with pytest.raises(EtmError, match=message):
        loaded(DebugSession(OfflineDebugger()), request_._replace(raw=raw))
