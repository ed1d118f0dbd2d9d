"""Vectors worked by hand: when a capture's anchors are read."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Tuple

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.errors import AccessError
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.program.image import load_elf
from gdb_etm.session.anchor import Anchor, ram_in_use
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.halt_states import Anchored, Anchors, anchored_of, with_anchored
from gdb_etm.session.joined import DEFAULT_LIMIT, JoinedCaptures, history_limit
from gdb_etm.session.progress import Meter
from tests.firmware.build import symbol
from tests.firmware.recovery.build import elf
from tests.history.executed import Taken, history_of
from tests.recovery.small import CODE, built

PROGRAM = elf("algorithms-Os")
RAM, END = 0x20000000, 0x20001000


class Debugger(OfflineDebugger):
    """A target with 4 KiB of RAM: address xor `.fill`."""

    def __init__(self) -> None:
        super().__init__([])
        self.fill = 0
        self.asked: List[Tuple[int, int]] = []
        self.now: Dict[str, int] = {"pc": 0x100, "r0": 1, "sp": 0x20000800}
        self.running = False

    def registers(self) -> Mapping[str, int]:
        return dict(self.now)

    def read_memory(self, address: int, size: int) -> bytes:
        self.asked.append((address, size))
        if not RAM <= address <= END - size:
            raise AccessError("nothing there", address)
        return bytes(at & 0xFF ^ self.fill for at in range(address, address + size))

    def is_running(self) -> bool:
        return self.running


@pytest.fixture()
def debugger() -> Debugger:
    return Debugger()


def test_memory_is_read_once_and_kept(debugger: Debugger) -> None:
    anchor = Anchor({"pc": 0x101}, debugger)
    assert anchor.pc == 0x100
    state = anchor.state()
    assert state.read(0x20000104, 4) == bytes([4, 5, 6, 7])
    debugger.fill = 0xFF
    assert state.read(0x20000106, 2) == bytes([6, 7])
    assert debugger.asked == [(0x20000100, 256)]
    assert state.read(0x200001FE, 4) == bytes([0xFE, 0xFF, 0xFF, 0xFE])
    anchor.leave()
    assert state.read(0x20000104, 4) == bytes([4, 5, 6, 7])
    assert state.read(0x20000304, 4) is None
    assert [(image.address, len(image.data)) for image in anchor.images] == [(0x20000100, 512)]


def test_registers_of_other_architectures_are_no_part_of_a_state() -> None:
    assert Anchor({"r0": 0xFFFFFFFF, "r1": 1 << 32, "q0": 1 << 127}).state().registers == {"r0": 0xFFFFFFFF}


def test_what_is_not_there_is_asked_for_once(debugger: Debugger) -> None:
    anchor = Anchor({}, debugger)
    assert anchor.pc is None
    assert anchor.read(0x30000000, 4) is None and anchor.read(0x30000010, 4) is None
    assert len(debugger.asked) == 1
    assert anchor.read(END - 2, 4) is None
    assert anchor.read(END - 2, 2) == bytes([0xFE, 0xFF])


def test_many_blocks_are_one_read_where_they_are_there(debugger: Debugger) -> None:
    anchor = Anchor({}, debugger)
    anchor.keep([(RAM, END)])
    assert debugger.asked == [(RAM, END - RAM)]
    debugger.asked.clear()
    other = Anchor({}, debugger)
    other.keep([(END - 0x200, END + 0x100)])
    assert debugger.asked == [(END - 0x200, 0x300), (END - 0x200, 256), (END - 0x100, 256), (END, 256)]
    assert other.read(END - 4, 4) is not None and other.read(END, 4) is None


def test_what_the_user_wrote_is_not_what_was_there(debugger: Debugger) -> None:
    anchor = Anchor({}, debugger)
    assert anchor.read(0x20000100, 4) is not None
    anchor.change(0x200000FE, 4)
    anchor.keep([(RAM, END)])
    assert anchor.read(0x20000100, 4) is not None  # read before
    assert anchor.read(0x20000000, 4) is None
    assert anchor.read(0x20000200, 4) is not None


def test_a_run_begins_where_the_buffer_was_empty(debugger: Debugger) -> None:
    anchors = Anchors(debugger, debugger)
    anchors.on_halt()
    assert anchors.halt is not None and anchors.take_begin() is None
    anchors.on_resume(False, None)
    assert anchors.halt is None and anchors.take_begin() is None
    anchors.emptied()
    debugger.now["r0"] = 7
    anchors.on_resume(True, None)
    debugger.now["r0"] = 8
    anchors.on_halt()
    anchors.on_resume(True, None)
    begin = anchors.take_begin()
    assert begin is not None and begin.registers["r0"] == 7
    assert anchors.take_begin() is None
    # The buffer was not emptied since.
    anchors.on_halt()
    anchors.on_resume(True, None)
    assert anchors.take_begin() is None


def test_what_was_changed_between_runs(debugger: Debugger) -> None:
    anchors = Anchors(debugger, debugger)
    anchors.emptied()
    anchors.changed(RAM, 4)
    anchors.touched()
    assert anchors.is_untouched  # before the first run
    anchors.on_resume(True, None)
    anchors.on_halt()
    for address in (0xE000EDF4, 0x40000000, 0x5FFFFFFC, 0xA0000000):
        anchors.changed(address, 4)
    assert anchors.is_untouched
    anchors.changed(RAM, 4)
    assert not anchors.is_untouched
    anchors.emptied()
    assert anchors.is_untouched
    anchors.on_resume(True, None)
    anchors.touched()
    assert not anchors.is_untouched


def test_what_began_while_the_core_ran_has_no_beginning(debugger: Debugger) -> None:
    anchors = Anchors(debugger, debugger)
    debugger.running = True
    anchors.emptied()
    anchors.on_halt()
    debugger.running = False
    anchors.on_resume(True, None)
    assert anchors.take_begin() is None


def test_memory_is_read_at_the_resume_for_both_ends(debugger: Debugger) -> None:
    anchors = Anchors(debugger, debugger)
    anchors.on_halt()
    anchors.emptied()
    halt = anchors.halt
    anchors.on_resume(True, load_elf(PROGRAM))
    debugger.fill = 0xFF
    begin = anchors.take_begin()
    assert halt is not None and begin is not None
    for anchor in (halt, begin):
        assert anchor.read(symbol(PROGRAM, "seed"), 4) == bytes(symbol(PROGRAM, "seed") + at & 0xFF for at in range(4))


def test_the_ram_in_use_is_data_and_stack() -> None:
    pieces = ram_in_use(load_elf(PROGRAM), {"sp": 0x2007FF00, "msp": 0x2007FF00, "psp": 0})
    assert pieces == [(0x20000000, 0x20080000)]


def capture_with(core: Optional[Core]) -> RawCapture:
    source = TraceSource("ETM_0", "etmv4", {}, core, ())
    return RawCapture(b"", BufferFormat.FRAMES, (source,), BufferEnd.STARTED)


def test_captures_hold_the_states_at_both_ends(debugger: Debugger) -> None:
    bare = capture_with(Core("cpu_0", "Cortex-M33", {}))
    assert anchored_of(capture_with(None)) == anchored_of(bare) == Anchored()
    assert with_anchored(bare, Anchored()) == bare
    end, begin = Anchor({"pc": 0x100}, debugger), Anchor({"pc": 0x200}, debugger)
    assert end.read(RAM, 4) is not None and begin.read(RAM + 0x100, 4) is not None
    again = anchored_of(with_anchored(bare, Anchored(begin, end, True)))
    assert again.is_whole and again.begin is not None and again.end is not None
    assert again.end.registers == {"pc": 0x100} and again.begin.registers == {"pc": 0x200}
    assert again.end.read(RAM + 4, 4) == bytes([4, 5, 6, 7]) and again.end.read(RAM + 0x100, 4) is None
    assert again.begin.read(RAM + 0x104, 4) == bytes([4, 5, 6, 7]) and again.begin.read(RAM, 4) is None
    assert with_anchored(capture_with(None), Anchored(begin, end)) == capture_with(None)


def history(count: int, halted_at: Optional[int] = None, begin: BufferEnd = BufferEnd.STARTED) -> ExecutionHistory:
    """Return the first instructions of the program as a history."""
    start = symbol(PROGRAM, "Reset_Handler")
    found = history_of(PROGRAM, [start, start + 2, start + 4][:count], halted_at)
    found.end_reason = begin
    return found


def anchor_at(pc: int) -> Anchor:
    return Anchor({"pc": pc}, images=(MemoryImage(RAM, b"RAM!", ""),))


def test_the_end_counts_where_the_core_was_halted_behind_the_last_instruction() -> None:
    start = symbol(PROGRAM, "Reset_Handler")
    told = history(2, halted_at=start + 4)
    assert Anchored(end=anchor_at(start + 4)).after(told) is not None
    assert Anchored(end=anchor_at(start + 6)).after(told) is None
    assert Anchored().after(told) is None
    untold = history(2)
    assert Anchored(end=anchor_at(start + 4), is_whole=True).after(untold) is not None
    assert Anchored(end=anchor_at(start + 4)).after(untold) is None
    assert Anchored(end=anchor_at(start + 6), is_whole=True).after(untold) is None


def test_the_end_counts_at_the_first_instruction_of_a_handler() -> None:
    # Of an ETMv3, which does not tell of the halt; the vector table is the program's.
    start, handler = (symbol(PROGRAM, name) for name in ("Reset_Handler", "Unexpected_Handler"))
    for number, place, counts in ((3, handler, True), (3, handler + 2, False), (3, start + 4, False), (1, start, True)):
        told = history_of(PROGRAM, [start, start + 2, Taken(number, start + 4)])
        told.source = told.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
        found = Anchored(end=anchor_at(place), is_whole=True).after(told)
        assert (found is not None) == counts, (number, place)
        assert Anchored(end=anchor_at(place)).after(told) is None


@pytest.mark.parametrize(
    "source, counts",
    [("bx lr", True), ("pop {r4, pc}", True), ("blx r3", True), ("bx r4", False), ("ldr pc, [r2]", False)],
)
def test_the_end_counts_where_the_last_branch_went(source: str, counts: bool) -> None:
    # An ETMv3 does not tell of the halt: what a branch went by is still there, in its register or just below SP.
    path, there = built(source), CODE + 0x40
    ran = history_of(path, [CODE])
    ran.source = ran.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    stack = MemoryImage(0x20000000, (there | 1).to_bytes(4, "little"), "")
    registers = {"pc": there, "lr": there | 1, "r3": there | 1, "r4": 7, "sp": 0x20000004}
    found = Anchored(end=Anchor(registers, images=(stack,)), is_whole=True)
    assert (found.after(ran) is not None) == counts
    elsewhere = Anchor({**registers, "pc": there + 2}, images=(stack,))
    assert Anchored(end=elsewhere, is_whole=True).after(ran) is None
    assert found._replace(is_whole=False).after(ran) is None


def test_the_beginning_counts_where_the_history_reaches_back_to_it() -> None:
    start = symbol(PROGRAM, "Reset_Handler")
    whole = Anchored(begin=anchor_at(start), is_whole=True)
    assert whole.before(history(3)) is not None
    assert whole.before(history(3, begin=BufferEnd.WRAPPED)) is None
    assert whole._replace(is_whole=False).before(history(3)) is None
    assert Anchored(begin=anchor_at(start + 2), is_whole=True).before(history(3)) is None
    assert Anchored(is_whole=True).before(history(3)) is None


@pytest.mark.parametrize("resumed_at, stays", [(4, True), (6, False)])
def test_the_state_stays_known_where_the_core_halts_before_anything_ran(resumed_at: int, stays: bool) -> None:
    halted = symbol(PROGRAM, "Reset_Handler") + 4
    resumed = halted - 4 + resumed_at
    first = Anchored(anchor_at(halted - 4), anchor_at(halted), is_whole=True, is_untouched=True)
    parts = [(history(2), first), (history(0), first._replace(begin=anchor_at(resumed), end=anchor_at(halted)))]
    decoded = {number: Decoded(ran, Meter(), ends, 16) for number, (ran, ends) in enumerate(parts)}
    joined = JoinedCaptures(Meter(), lambda record, trace_id: {16: decoded[record.number]}, OfflineDebugger())
    for number in decoded:
        joined.add(CaptureRecord(number, capture_with(None), "halt", True, Meter()), history_limit(DEFAULT_LIMIT))
    whole = joined.decoded(history_limit(DEFAULT_LIMIT))
    assert len(whole.history) == 2 and (whole.anchored.end is not None) == stays
