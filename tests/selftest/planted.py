"""Defects of hardware as data, with the step that must fail.

A defect changes a board after it was made: a register with stuck bits, a unit that acts as if something else were
programmed, bytes that are lost on their way.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple

from gdb_etm.board.board import Board

UNIT, FUNNEL, BUFFER, DWT = 0xE0041000, 0xE0042000, 0xE0043000, 0xE0001000
ETB, M4_FUNNEL, ROM_TABLE = 0xE0042000, 0xE0043000, 0xE00FF000
M0_MTB, M23_MTB = 0x41006000, 0xE0043000
_RAM_WORD, _BUFFER_WORD = 0x20000080, 0x20001008

Plant = Callable[[Board], None]
Change = Callable[[int], int]


class Defect(NamedTuple):
    """One defect."""

    name: str
    board: str
    plant: Plant
    # The subject of the first step that must fail, and what its line must say (a regular expression).
    step: str
    why: str
    options: Dict[str, Any] = {}


class _Altered:
    # A device on the bus, some of whose registers are not what they should be.

    def __init__(self, device: Any, offset: int, read: Change, write: Change) -> None:
        self.base, self.size = device.base, device.size
        self._device, self._offset, self._read, self._write = device, offset, read, write

    def read32(self, offset: int) -> int:
        value: int = self._device.read32(offset)
        return self._read(value) if offset == self._offset else value

    def write32(self, offset: int, value: int) -> None:
        self._device.write32(offset, self._write(value) if offset == self._offset else value)


def _same(value: int) -> int:
    return value


def altered(address: int, read: Change = _same, write: Change = _same) -> Plant:
    """Change what a register reads as, or takes."""

    def plant(board: Board) -> None:
        machine: Any = board.machine
        pages: Any = machine.bus._pages
        if address // 0x1000 not in pages:
            pages = machine.debug_bus._bus._pages
        device = pages[address // 0x1000]
        pages[address // 0x1000] = _Altered(device, address & 0xFFF, read, write)

    return plant


def stuck(address: int, bits: int, value: int = 0) -> Plant:
    """Have bits of a register stuck, for writes and for reads."""
    return altered(address, *[lambda found: found & ~bits | value] * 2)


def reads(address: int, bits: int, value: int = 0) -> Plant:
    """Have bits of a register read as something else."""
    return altered(address, read=lambda found: found & ~bits | value)


def acts_as(**registers: Tuple[int, Change]) -> Plant:
    """Have a trace unit act as if other values were programmed.

    :param registers: Any word, and the register's offset and the change.
    """

    def plant(board: Board) -> None:
        unit: Any = board.unit
        name = "_start" if hasattr(unit, "_start") else "_begin"
        begin = getattr(unit, name)
        real = unit.register
        changes = dict(registers.values())

        def started(*control: int) -> Any:
            # Who asks for a register while it begins goes on asking so; a debugger reads what it has written.
            unit.register = lambda offset: changes.get(offset, _same)(real(offset))
            try:
                with _programmed(unit, changes):
                    return begin(*[changes.get(0, _same)(one) for one in control])
            finally:
                del unit.register

        setattr(unit, name, started)

    return plant


@contextmanager
def _programmed(unit: Any, changes: Dict[int, Change]) -> Iterator[None]:
    values, fixed = dict(unit._values), dict(unit._fixed)
    for offset, change in changes.items():
        for table in (unit._values, unit._fixed):
            if offset in table:
                table[offset] = change(table[offset])
    try:
        yield
    finally:
        unit._values.update({offset: values[offset] for offset in changes if offset in values})
        unit._fixed.update({offset: fixed[offset] for offset in changes if offset in fixed})


def writer(method: str, change: Callable[..., Tuple[Any, ...]]) -> Plant:
    """Change what the unit's packet writer is asked to write."""

    def plant(board: Board) -> None:
        unit: Any = board.unit
        name = "_start" if hasattr(unit, "_start") else "_begin"
        begin = getattr(unit, name)

        def started(*control: int) -> Any:
            found = begin(*control)
            target = (found if found is not None else unit._encoder)._writer
            real = getattr(target, method)
            setattr(target, method, lambda *values: real(*change(*values)))
            return found

        setattr(unit, name, started)

    return plant


def on_the_way(change: Callable[[int, bytes], Tuple[int, bytes]]) -> Plant:
    """Change what goes from the trace unit to the funnel."""

    def plant(board: Board) -> None:
        unit: Any = board.unit
        out = unit._out
        unit._out = lambda trace_id, data: out(*change(trace_id, data))

    return plant


class _EachNth:
    # Does something to every so many-th byte.

    def __init__(self, period: int, change: Callable[[int], bytes]) -> None:
        self._period, self._change, self._seen = period, change, 0

    def __call__(self, trace_id: int, data: bytes) -> Tuple[int, bytes]:
        found = bytearray()
        for byte in data:
            self._seen += 1
            found += self._change(byte) if self._seen % self._period == 0 else bytes((byte,))
        return trace_id, bytes(found)


def each(period: int, change: Callable[[int], bytes]) -> Plant:
    """Change every so many-th byte of the unit's trace."""

    def plant(board: Board) -> None:
        on_the_way(_EachNth(period, change))(board)

    return plant


def frames(change: Callable[[bytes], bytes]) -> Plant:
    """Change what the formatter stores."""

    def plant(board: Board) -> None:
        buffer: Any = board.buffer
        store = buffer._store
        buffer._store = lambda data: store(change(data))

    return plant


def shifted(board: Board) -> None:
    """Have the formatter's frames begin a byte late."""
    held = bytearray(b"\0")

    def late(data: bytes) -> bytes:
        found = bytes(held) + data
        held[:] = found[-1:]
        return found[:-1]

    frames(late)(board)


def stuck_word(board: Board) -> None:
    """Have a word of the trace buffer's RAM keep nothing."""
    buffer: Any = board.buffer
    put = buffer._put

    def kept(word: bytes) -> None:
        put(word)
        buffer._ram[0xA04:0xA08] = b"\x5a\x5a\x5a\x5a"

    buffer._put = kept


def bad_ram(board: Board) -> None:
    """Have a bit of the chip's RAM stuck."""
    bus: Any = board.machine.bus
    write = bus.write

    def written(address: int, size: int, value: int) -> None:
        write(address, size, value & ~(1 << 13) if address == _RAM_WORD else value)

    bus.write = written


def packets(period: int, change: Callable[[int, int, bool], Optional[Tuple[int, int, bool]]]) -> Plant:
    """Change each nth packet of a Micro Trace Buffer; None loses it."""

    def plant(board: Board) -> None:
        encoder: Any = board.unit._encoder
        out, seen = encoder._out, count(1)

        def packet(source: int, destination: int, atomic: bool) -> None:
            found = (source, destination, atomic)
            if next(seen) % period == 0:
                found = change(*found)
            if found is not None:
                out(*found)

        encoder._out = packet

    return plant


def stuck_buffer_word(board: Board) -> None:
    """Have a word of the trace's RAM keep nothing."""
    bus: Any = board.machine.bus
    write = bus.write
    bus.write = lambda address, size, value: None if address == _BUFFER_WORD else write(address, size, value)


def flush_never_ends(board: Board) -> None:
    """Have no flush of the trace buffer come to an end."""
    buffer: Any = board.buffer
    control = buffer._set_control

    def set_control(value: int) -> None:
        buffer.stuck_flush = 1
        control(value)

    buffer._set_control = set_control


def method(part: str, name: str, result: Any = None) -> Plant:
    """Have a method of a part do nothing but return something.

    :param part: ``"unit"``, ``"buffer"``, or a number of a comparator of the DWT.
    """

    def plant(board: Board) -> None:
        found: Any = board.machine.dwt.comparators[int(part)] if part.isdigit() else getattr(board, part)
        setattr(found, name, lambda *_: result)

    return plant


def together(*plants: Plant) -> Plant:
    """Plant several at once."""

    def plant(board: Board) -> None:
        for one in plants:
            one(board)

    return plant


def no_clock(board: Board) -> None:
    """Have the clock of the trace bus stand still: no byte arrives."""
    unit: Any = board.unit
    unit._out = lambda trace_id, data: None


def without(bits: int) -> Change:
    """Clear bits."""
    return lambda value: value & ~bits


def with_(bits: int) -> Change:
    """Set bits."""
    return lambda value: value | bits


def to(value: int) -> Change:
    """Make it a value."""
    return lambda _: value


FULL = {"resources": "full"}
DATA = {"data_trace": 1}

_ETMV4: Tuple[Defect, ...] = (
    Defect("a bit of RAM is stuck", "m33", bad_ram, "RAM", "0x20000080 was written 0x[0-9a-f]* and reads"),
    Defect(
        "a bit of the trace ID is stuck", "m33", stuck(UNIT + 0x040, 1 << 6, 1 << 6), "unit registers", "TRCTRACEIDR"
    ),
    Defect(
        "a bit of the cycle threshold", "m33", stuck(UNIT + 0x038, 1 << 9), "unit registers", "TRCCCCTLR.*0x00000200"
    ),
    Defect(
        "a bit of a comparator", "m33", stuck(UNIT + 0x410, 1 << 29), "unit registers", "TRCACVR2.*0x20000000", FULL
    ),
    Defect(
        "a bit of a counter", "m33", stuck(UNIT + 0x164, 1 << 3, 8), "unit registers", "TRCCNTVR1.*0x00000008", FULL
    ),
    Defect("a bit of a DWT comparator", "m33", stuck(DWT + 0x40, 1 << 12), "unit registers", "DWT_COMP2.*0x00001000"),
    Defect("more comparators than there are", "m33", reads(UNIT + 0x1F0, 0xF, 8), "unit registers", "TRCACVR8", FULL),
    Defect("it is no ETM", "m33", reads(UNIT + 0xFBC, 0xFFFF, 0x0A63), "trace hardware", "no trace unit"),
    Defect("no entry in the ROM table", "m33", reads(ROM_TABLE + 0xC, 1), "trace hardware", "no trace unit found"),
    Defect("no leave to trace", "m33", reads(UNIT + 0xFB8, 0xFF, 0x88), "trace hardware", "TRCAUTHSTATUS is 0x88"),
    Defect("claimed by software", "m33", reads(UNIT + 0xFA4, 0xFF, 0x02), "trace hardware", "claim tags 0x02"),
    Defect("in integration mode", "m33", reads(UNIT + 0xF00, 1, 1), "trace hardware", "TRCITCTRL.IME"),
    Defect("no power", "m33", reads(UNIT + 0x314, 1), "trace hardware", "no power .TRCPDSR is 0x"),
    Defect("IDLE stuck at 0", "m33", reads(UNIT + 0x00C, 1), "unit registers", "TRCSTATR .*stays 0x"),
    Defect("IDLE stuck at 1", "m33", reads(UNIT + 0x00C, 3, 3), "instructions", "TRCSTATR .*stays 0x"),
    Defect("PMSTABLE stuck at 0", "m33", reads(UNIT + 0x00C, 2), "instructions", "TRCSTATR .*registers are stable"),
    Defect("it cannot be enabled", "m33", stuck(UNIT + 0x004, 1), "instructions", "TRCSTATR|TRCPRGCTLR"),
    Defect(
        "funnel's ports are closed", "m33", stuck(FUNNEL, 0xFF), "instructions", "the buffer is empty|no trace with ID"
    ),
    Defect("the trace bus has no clock", "m33", no_clock, "instructions", "the buffer is empty|no trace with ID"),
    Defect(
        "another trace ID on the bus", "m33", on_the_way(lambda i, d: (i + 1, d)), "instructions", "ID 0x11: .* bytes"
    ),
    Defect("a frame begins a byte late", "m33", shifted, "instructions", "."),
    Defect(
        "byte 15 of a frame is lost",
        "m33",
        frames(lambda d: d[:15] + b"\0" if len(d) == 16 else d),
        "instructions",
        ".",
    ),
    Defect("the formatter is off", "m33", stuck(BUFFER + 0x304, 1), "instructions", "."),
    Defect("a byte in 10,000 is lost", "m33", each(10000, lambda b: b""), "long trace", "instruction|byte 0x"),
    Defect(
        "a byte in 10,000 comes twice", "m33", each(10000, lambda b: bytes((b, b))), "long trace", "instruction|byte 0x"
    ),
    Defect(
        "a bit in 9,000 bytes turns", "m33", each(9000, lambda b: bytes((b ^ 1,))), "long trace", "instruction|byte 0x"
    ),
    Defect("a word of the buffer is stuck", "m33", stuck_word, "long trace", "byte 0x|instruction"),
    Defect(
        "RWP's bit 8 is stuck", "m33", reads(BUFFER + 0x18, 0x100), "buffer memory", "RWP reads 0x00000000, 0x00000100"
    ),
    Defect("RWP is a word ahead", "m33", altered(BUFFER + 0x18, lambda v: v + 4), "buffer memory", "RWP reads 0x"),
    Defect("RRP stands still", "m33", reads(BUFFER + 0x14, 0xFFFFFFFF), "buffer memory", "RRP reads 0x00000000"),
    Defect("RRD's bit 31 is stuck", "m33", reads(BUFFER + 0x10, 1 << 31), "buffer memory", "reads 0x.*RRD"),
    Defect("RSZ says twice the size", "m33", reads(BUFFER + 0x04, 0xFFFF, 2048), "buffer memory", "R[RW]P reads"),
    Defect("Full is stuck at 0", "m33", reads(BUFFER + 0x0C, 1), "buffer wraps", "STS.Full is 0"),
    Defect("Full is stuck at 1", "m33", reads(BUFFER + 0x0C, 1, 1), "instructions", "STS.Full is 1|byte|instruction"),
    Defect("Triggered is stuck at 0", "m33", reads(BUFFER + 0x0C, 2), "stop on trigger", "STS.Triggered is 0"),
    Defect("TMCReady is stuck at 0", "m33", reads(BUFFER + 0x0C, 4), "buffer memory", "STS .*TMCReady=1 was awaited"),
    Defect("capture cannot be enabled", "m33", stuck(BUFFER + 0x20, 1), "instructions", "no trace with ID"),
    Defect("a trigger does not stop it", "m33", stuck(BUFFER + 0x304, 1 << 13), "stop on trigger", "STS|bytes|stop"),
    Defect("no flush comes to an end", "m33", flush_never_ends, "instructions", "FFCR .*FlushMan=0 was awaited"),
    Defect(
        "exceptions are not traced", "m33", method("unit", "exception"), "exception", "NMI|trace and program disagree"
    ),
    Defect(
        "exception returns are not traced", "m33", method("unit", "exception_return"), "exception", "return|NMI|instr"
    ),
    Defect(
        "return stack ignored", "m33", acts_as(r=(0x10, without(1 << 12))), "return stack", "bytes with it, .* without"
    ),
    Defect(
        "branch broadcast ignored",
        "m33",
        acts_as(r=(0x10, without(8))),
        "branch broadcast",
        "bytes with it, .* without",
    ),
    Defect(
        "cycle counts ignored", "m33", acts_as(r=(0x10, without(16))), "cycle counts", "no cycle counts|decode|packet"
    ),
    Defect(
        "a cycle count is one short",
        "m33",
        writer("cycle_count", lambda n: (None if n is None else max(n - 1, 0),)),
        "cycle counts",
        "add up to .*, DWT_CYCCNT to",
    ),
    Defect("conditions ignored", "m33", acts_as(r=(0x10, without(7 << 8))), "conditions", "does not say whether"),
    Defect("timestamps ignored", "m33", acts_as(r=(0x10, without(1 << 11))), "timestamps", "no timestamp in"),
    Defect("the time stands still", "m33", writer("timestamp", lambda v, c: (0x1000, c)), "timestamps", "stands still"),
    Defect(
        "synchronisation ignored",
        "m33",
        together(acts_as(r=(0x34, to(0))), method("buffer", "request_sync")),
        "buffer wraps",
        "no instruction|can be decoded",
    ),
    Defect(
        "synchronisation too rare",
        "m7",
        together(acts_as(r=(0x34, to(11))), method("buffer", "request_sync")),
        "synchronisation",
        "bytes without a synchronisation point",
    ),
    Defect(
        "a DWT match is ignored", "m33", method("2", "is_at", False), "start address, DWT comparator 2", "never matches"
    ),
    Defect(
        "a DWT comparator always matches", "m33", method("1", "is_at", True), "start address, DWT comparator 1", "early"
    ),
    Defect(
        "a comparator never matches",
        "m33",
        acts_as(r=(0x498, with_(0xF00))),
        "start address, comparator 3",
        "never",
        FULL,
    ),
    Defect(
        "start/stop is always on",
        "m33",
        acts_as(r=(0x080, with_(1 << 9))),
        "start address, comparator 0",
        "too early",
        FULL,
    ),
    Defect(
        "a pair matches everywhere",
        "m33",
        acts_as(low=(0x420, to(0)), high=(0x428, to(0xFFFFFFFF))),
        "address range, pair 2",
        "it matches elsewhere too.*pair 2",
        FULL,
    ),
    Defect(
        "a pair never matches", "m33", acts_as(r=(0x490, with_(0xF00))), "address range, pair 1", "never matches", FULL
    ),
    Defect("event 1 never happens", "m33", acts_as(r=(0x20, without(0xFF00))), "event 1", "event 1 is 0 times", FULL),
    Defect("a counter does not count", "m33", acts_as(r=(0x150, without(0xFF))), "counter 0", "TRCCNTVR0 is 100", FULL),
    Defect(
        "a counter does not reload", "m33", acts_as(r=(0x158, without(1 << 16))), "counter 2", "TRCCNTVR2 is 0", FULL
    ),
    Defect(
        "the sequencer is stuck", "m33", acts_as(r=(0x104, to(0))), "sequencer", "TRCSEQSTR is 1 after 2 steps", FULL
    ),
    Defect("a single shot fires again", "m33", acts_as(r=(0x280, with_(1 << 24))), "single-shot control 0", "6 times"),
    Defect(
        "a single shot fires once",
        "m33",
        acts_as(r=(0x284, without(1 << 24))),
        "single-shot control 1",
        "once|1 times",
        FULL,
    ),
    Defect("a PE input is not connected", "m33", method("3", "is_at", False), "PE comparator input 3", "0 times", FULL),
    Defect(
        "data addresses ignored", "m7", acts_as(r=(0x10, without(1 << 16))), "data: addresses", "trace says|no load"
    ),
    Defect("data values ignored", "m7", acts_as(r=(0x10, without(1 << 17))), "data: values", "trace says|no load"),
    Defect(
        "data trace does not arrive",
        "m7",
        lambda b: setattr(b.unit, "data_out", lambda i, d: None),
        "data: addresses",
        "no load",
    ),
)

_ETMV3: Tuple[Defect, ...] = (
    Defect(
        "a bit of the trace ID is stuck", "m4", stuck(UNIT + 0x200, 1 << 4), "unit registers", "ETMTRACEIDR.*0x00000010"
    ),
    Defect(
        "a bit of the trigger event",
        "m4",
        stuck(UNIT + 0x008, 1 << 14),
        "unit registers",
        "ETMTRIGGER at 0xe0041008 was written",
    ),
    Defect("a bit of a comparator", "m4", stuck(UNIT + 0x04C, 1 << 7, 1 << 7), "unit registers", "ETMACVR4", DATA),
    Defect("another architecture", "m4", reads(UNIT + 0x1E4, 0xF00, 0x100), "trace hardware", "ETM"),
    Defect("Prog stuck at 0", "m4", reads(UNIT + 0x010, 2), "trace hardware", "ETMSR .*stays 0x"),
    Defect("Prog stuck at 1", "m4", reads(UNIT + 0x010, 2, 2), "instructions", "ETMSR .*stays 0x"),
    Defect("the port is not selected", "m4", stuck(UNIT, 1 << 11), "instructions", "the buffer is empty"),
    Defect(
        "funnel's ports are closed",
        "m4",
        stuck(M4_FUNNEL, 0xFF),
        "instructions",
        "the buffer is empty|no trace with ID",
    ),
    Defect("another trace ID on the bus", "m4", on_the_way(lambda i, d: (i ^ 2, d)), "instructions", "ID 0x12"),
    Defect("a frame begins a byte late", "m4", shifted, "instructions", "."),
    Defect("a byte in 10,000 is lost", "m4", each(10000, lambda b: b""), "long trace", "instruction|byte 0x"),
    Defect("Full is stuck at 0", "m4", reads(ETB + 0x0C, 1), "buffer wraps", "STS.Full is 0"),
    Defect("Full is stuck at 1", "m4", reads(ETB + 0x0C, 1, 1), "instructions", "STS.Full is 1|byte|instruction"),
    Defect("RWP is a word ahead", "m4", altered(ETB + 0x18, lambda v: v + 1), "buffer memory", "RWP reads 0x"),
    Defect("FtStopped stuck at 0", "m4", reads(ETB + 0x300, 2), "buffer memory", "FFSR .*FtStopped=1 was awaited"),
    Defect(
        "branch output ignored", "m4", acts_as(r=(0, without(1 << 8))), "branch broadcast", "bytes with it, .* without"
    ),
    Defect("timestamps ignored", "m4", acts_as(r=(0, without(1 << 28))), "timestamps", "no timestamp in"),
    Defect("the time stands still", "m4", writer("timestamp", lambda v, *m: (0x77, *m)), "timestamps", "stands still"),
    Defect(
        "exceptions are not traced", "m4", method("unit", "exception"), "exception", "NMI|trace and program disagree"
    ),
    Defect(
        "a DWT match is ignored", "m4", method("2", "is_at", False), "start address, DWT comparator 2", "never matches"
    ),
    Defect(
        "data addresses ignored", "m4", acts_as(r=(0, without(8))), "data: addresses", "trace says|no load|byte", DATA
    ),
    Defect("a counter does not count", "m4", acts_as(r=(0x154, to(0x2406F))), "counter 1", "ETMCNTVR2 is 100", DATA),
    Defect(
        "the sequencer is stuck", "m4", acts_as(r=(0x188, to(0x406F))), "sequencer", "ETMSQR is 1 after 2 steps", DATA
    ),
    Defect(
        "a trigger is not heard", "m4", lambda b: setattr(b.unit, "trigger_out", lambda: None), "stop on trigger", "STS"
    ),
)


_MTB: Tuple[Defect, ...] = (
    Defect("a bit of RAM is stuck", "m0", bad_ram, "RAM", "0x20000080 was written 0x[0-9a-f]* and reads"),
    Defect("a bit of the pointer is stuck", "m0", stuck(M0_MTB, 1 << 6), "unit registers", "MTB_POSITION.*0x00000040"),
    Defect("a bit of the watermark", "m0", stuck(M0_MTB + 8, 1 << 9, 1 << 9), "unit registers", "MTB_FLOW.*0x00000200"),
    Defect("a bit of the size", "m0", stuck(M0_MTB + 4, 2), "unit registers", "MTB_MASTER.*0x00000002|MASTER.*reads"),
    Defect("it cannot be enabled", "m0", stuck(M0_MTB + 4, 1 << 31), "buffer memory", "does not start"),
    Defect("no entry in the ROM table", "m0", reads(ROM_TABLE + 0xC, 1), "trace hardware", "no trace unit found"),
    Defect("the pointer has no clock", "m0", altered(M0_MTB, write=to(0)), "buffer memory", "has the MTB a clock"),
    Defect("no packet is written", "m0", packets(1, lambda s, d, a: None), "instructions", "buffer is empty"),
    Defect(
        "WRAP is stuck at 1", "m0", reads(M0_MTB, 4, 4), "buffer memory", "MTB_POSITION was written .* reads 0x1004"
    ),
    Defect("WRAP is stuck at 0", "m0", reads(M0_MTB, 4), "buffer wraps", "MTB_POSITION.WRAP is 0"),
    Defect("the pointer is a packet ahead", "m0", altered(M0_MTB, lambda v: v + 8), "unit registers", "MTB_POSITION"),
    Defect("a packet in 1,000 is lost", "m0", packets(1000, lambda s, d, a: None), "long trace", "instruction|byte 0x"),
    Defect(
        "a destination's bit in 1,000 turns",
        "m0",
        packets(1000, lambda s, d, a: (s, d ^ 0x40, a)),
        "long trace",
        "instruction|byte 0x",
    ),
    Defect(
        "source and destination change places", "m0", packets(1, lambda s, d, a: (d, s, a)), "instructions", "byte|ends"
    ),
    Defect("exceptions have no A bit", "m0", packets(1, lambda s, d, a: (s, d, False)), "instructions", "byte 0x0"),
    Defect("exceptions are not traced", "m0", method("unit", "exception"), "exception", "NMI|byte 0x"),
    Defect(
        "exception returns are not traced", "m0", method("unit", "exception_return"), "exception", "NMI|return|byte"
    ),
    Defect("the pointer stands still", "m0", method("unit", "_advance"), "instructions", "buffer is empty"),
    Defect("AUTOSTOP is stuck", "m0", stuck(M0_MTB + 8, 1), "stop at the watermark", "AUTOSTOP: .* 1024 were asked"),
    Defect("AUTOHALT is stuck", "m23", stuck(M23_MTB + 8, 2), "halt at the watermark", "not halted before the end"),
    Defect("a DWT match is ignored", "m23", method("1", "is_at", False), "start address, DWT comparator 1", "never"),
    Defect(
        "start points are ignored", "m23", stuck(M23_MTB + 0x10, 2), "start address, DWT comparator 1", "MTB_TSTART"
    ),
    Defect("it starts by itself", "m23", stuck(M23_MTB + 4, 1 << 31, 1 << 31), "unit registers", "MTB_MASTER"),
    Defect("a bit of a DWT comparator", "m23", stuck(DWT + 0x30, 1 << 12), "unit registers", "DWT_COMP1.*0x00001000"),
    Defect("a word of the buffer is stuck", "m23", stuck_buffer_word, "buffer memory", "RAM at 0x20001008"),
)

DEFECTS: Tuple[Defect, ...] = _ETMV4 + _ETMV3 + _MTB
