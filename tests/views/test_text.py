"""Listings, worked by hand, to the character."""

from __future__ import annotations

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, RawCapture
from gdb_etm.history.calls import Break, Interrupt, Segment
from gdb_etm.history.clock import CycleCount, TraceTime
from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Function
from gdb_etm.protocols.elements import (
    Context,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Timestamp,
    TraceEvent,
    Transfer,
)
from gdb_etm.protocols.packet import Packet
from gdb_etm.views.captures import CaptureRow, capture_lines, counts_text, size_text
from gdb_etm.views.history import (
    EventRow,
    FunctionRow,
    InstructionRow,
    SourceRow,
    TracedData,
    TransferRow,
    event_text,
    function_lines,
    instruction_lines,
)
from gdb_etm.views.packets import packet_lines
from gdb_etm.views.text import bytes_text, gap_lines, plural, short_names

FAULT = Exception_(0, 3, "HardFault", 3, 0x2000015C)
TICK = Exception_(0, 15, "SysTick", 15, 0x4F2)
LOST = Gap(0, GapReason.NO_CODE, "", 0x20000100)


def test_instructions_with_source() -> None:
    rows = [
        SourceRow("rx.c:57", "table[id].handler(&msg);"),
        InstructionRow(21902, 0x4F2, "dispatch+18", b"", "ldr\tr3, [r4, #4]", False),
        InstructionRow(21903, 0x4F4, "dispatch+20", b"", "blx\tr3", False),
        EventRow(FAULT),
        SourceRow("faults.c:12", None),
        InstructionRow(21904, 0x188, "HardFault_Handler", b"", "bkpt\t0x0000", False),
    ]
    assert list(instruction_lines(rows)) == [
        "rx.c:57       table[id].handler(&msg);",
        "21902   0x000004f2 <dispatch+18>         ldr   r3, [r4, #4]",
        "21903   0x000004f4 <dispatch+20>         blx   r3",
        "<HardFault (exception 3), return address 0x2000015c>",
        "faults.c:12",
        "21904   0x00000188 <HardFault_Handler>   bkpt  0x0000",
    ]


def test_instructions_with_bytes_doubt_and_the_histories_beginning() -> None:
    rows = [
        BufferEnd.WRAPPED,
        InstructionRow(9, 0x100, "", b"\x70\x47", "bx\tlr", False),
        InstructionRow(10, 0x104, "", b"\x00\xf0\x00\xf8", "bl\t0x108", True),
    ]
    assert list(instruction_lines(rows)) == [
        "[the buffer wrapped here: what ran before was overwritten]",
        "9    0x00000100 70 47         bx  lr",
        "10 ! 0x00000104 00 f0 00 f8   bl  0x108",
    ]


def test_events() -> None:
    assert event_text(ExceptionReturn(0)) == ["<return from exception>"]
    assert event_text(Exception_(0, 0x18, "Debug halt", None, None)) == ["<Debug halt>"]
    assert event_text(TraceEvent(0, 2)) == ["<event 2>"]
    assert event_text(Context(0, 0, False, False, None, None)) == []


def test_instructions_with_times() -> None:
    # In a column beside instructions, at the end of an event's line, alone where they belong to nothing.
    first, later = TraceTime(CycleCount(None, None), None), TraceTime(CycleCount(18, 1204), Timestamp(0, 77215, 6))
    rows = [
        EventRow(None, TraceTime(None, Timestamp(0, 77000, None))),
        InstructionRow(1, 0x4F2, "dispatch", b"", "ldr\tr3, [r4, #4]", False, first),
        InstructionRow(2, 0x4F4, "", b"", "blx\tr3", False, later),
        InstructionRow(3, 0x4F6, "", b"", "nop", False),
        EventRow(TICK, TraceTime(CycleCount(20, None), Timestamp(0, 0, None))),
    ]
    assert list(instruction_lines(rows)) == [
        "<time 77000>",
        "1   cycle unknown                               0x000004f2 <dispatch>   ldr  r3, [r4, #4]",
        "2   cycle 1204 (+18)   time 77215 (+6 cycles)   0x000004f4              blx  r3",
        "3                                               0x000004f6              nop",
        "<SysTick (exception 15), return address 0x000004f2>   cycle unknown (+20), time unknown",
    ]


def test_instructions_with_transfers() -> None:
    store = Transfer(0, True, 4, 0x20000050, 0x1B, True)
    load = Transfer(0, False, 1, None, 2, False)
    strange = Transfer(0, None, None, 0x20000054, None, True)
    named, others = (TransferRow(store, "station+80"),), (TransferRow(load, ""), TransferRow(strange, ""))
    rows = [
        InstructionRow(9, 0x300, "dispatch+16", b"", "str\tr2, [r3, #80]", False, None, named),
        InstructionRow(10, 0x302, "", b"", "ldr\tr3, [r3]", False, None, others),
        EventRow(TICK, None, (TransferRow(store, ""),)),
    ]
    assert list(instruction_lines(rows)) == [
        "9    0x00000300 <dispatch+16>   str  r2, [r3, #80]",
        "       store     4 bytes  at 0x20000050 <station+80>  = 0x0000001b",
        "10   0x00000302                 ldr  r3, [r3]",
        "       load      1 byte   at an address unknown  = 0x02  [may belong to another instruction]",
        "       transfer           at 0x20000054          value unknown",
        "<SysTick (exception 15), return address 0x000004f2>",
        "       store     4 bytes  at 0x20000050  = 0x0000001b",
    ]


@pytest.mark.parametrize(
    "traced, line",
    [
        (TracedData(True, True), "      load  4 bytes  at an address unknown  value unknown"),
        (TracedData(True, False), "      load  4 bytes  at an address unknown"),
        (TracedData(False, True), "      load  4 bytes  value unknown"),
    ],
)
def test_what_is_not_traced_at_all_is_no_unknown(traced: TracedData, line: str) -> None:
    unknown = (TransferRow(Transfer(0, False, 4, None, None, True), "", traced),)
    rows = [InstructionRow(9, 0x300, "", b"", "ldr\tr2, [r3]", False, None, unknown)]
    assert list(instruction_lines(rows))[1:] == [line]


def test_a_note_stands_behind_its_instruction() -> None:
    row = InstructionRow(9, 0x300, "", b"", "addne\tr0, r1", False, note="condition failed")
    assert list(instruction_lines([row])) == ["9   0x00000300   addne  r0, r1   [condition failed]"]


def test_gaps_of_one_reason_are_counted() -> None:
    overflow = Gap(0, GapReason.OVERFLOW, "")
    bad = Gap(0, GapReason.BAD_PACKET, "0xd0")
    assert list(gap_lines([LOST, LOST, LOST, overflow, bad, bad])) == [
        "[gap: no code at 0x20000100]",
        "[2 more gaps like it]",
        "[gap: the trace unit's FIFO overflowed]",
        "[gap: bad packet: 0xd0]",
        "[1 more gap like it]",
    ]


def test_tracing_was_not_off_behind_an_overflow() -> None:
    overflow, on = Gap(0, GapReason.OVERFLOW, ""), Gap(0, GapReason.TRACE_ON, "")
    assert list(gap_lines([overflow, on])) == ["[gap: the trace unit's FIFO overflowed]"]
    assert list(gap_lines([on, overflow, on, on])) == [
        "[gap: tracing was off]",
        "[gap: the trace unit's FIFO overflowed]",
        "[gap: tracing was off]",
    ]


def test_functions() -> None:
    dispatch, handler = Function("dispatch", 0x4E0, 0x520), Function("on_temperature", 0x600, 0x640)
    rows = [
        FunctionRow(Segment(43, 0, dispatch, 0x4E0, 1, 9, Entered.CALL), "rx.c", 51, 57),
        FunctionRow(Segment(44, 1, handler, 0x600, 10, 30, Entered.CALL), "app.c", 88, 93),
        FunctionRow(Interrupt(45, 2, TICK, 30), "", 0, 0),
        FunctionRow(Break(2, LOST, 30), "", 0, 0),
        FunctionRow(Break(2, LOST, 30), "", 0, 0),
        FunctionRow(Segment(46, 2, None, 0x20000200, 31, 31, Entered.START), "", 0, 0),
    ]
    assert function_lines(rows, calls=True, instructions=True) == [
        "43   dispatch               inst 1,9     at rx.c:51,57",
        "44     on_temperature       inst 10,30   at app.c:88,93",
        "45       <SysTick (exception 15)>",
        "         [gap: no code at 0x20000100]",
        "         [1 more gap like it]",
        "46       ?? at 0x20000200   inst 31,31",
    ]
    assert function_lines([row._replace(path="") for row in rows[:2]], calls=False, instructions=False) == [
        "43   dispatch",
        "44   on_temperature",
    ]


def test_packets() -> None:
    rows = [(0x10, Packet(0, b"\x00" * 11 + b"\x80", "A-Sync", "")), (0x11, Packet(12, b"\xf7", "Atom", "E"))]
    assert [" ".join(line.split()) for line in packet_lines(rows, 11, False)] == [
        "11 0x000000 00 00 00 00 00 00 00 00 00 00 00 80 A-Sync",
        "12 0x00000c f7 Atom E",
    ]
    # Where there are several trace IDs, each line tells its own.
    both = [line.split()[:4] for line in packet_lines(rows, 11, True)]
    assert both == [["11", "0x000000", "0x10", "00"], ["12", "0x00000c", "0x11", "f7"]]
    long = Packet(0, bytes(range(16)), "not synchronised", "")
    assert " .. " in next(packet_lines([(1, long)], 1, False))


def capture(size: int, end: BufferEnd) -> RawCapture:
    return RawCapture(bytes(size), BufferFormat.FRAMES, (), end)


def test_captures() -> None:
    rows = [
        CaptureRow(9, False, capture(4096, BufferEnd.WRAPPED), 21904, "halt in main"),
        CaptureRow(10, True, capture(64, BufferEnd.STARTED), -1, "halt in HardFault_Handler"),
    ]
    assert capture_lines(rows) == [
        "  9   4,096 bytes  21,904 instructions  before them the buffer wrapped  halt in main",
        "* 10  64 bytes     not decoded yet      tracing started here            halt in HardFault_Handler",
    ]


def test_counts() -> None:
    wrapped, started = capture(4096, BufferEnd.WRAPPED), capture(16, BufferEnd.STARTED)
    assert counts_text(wrapped, 21904, ("main", "dispatch"), 47, 3) == (
        "21,904 instructions from main to dispatch, 47 calls, 3 exceptions"
        " in 4,096 bytes; before them the buffer wrapped"
    )
    assert counts_text(started, 0, ("", ""), 0, 0) == "0 instructions in 16 bytes"
    assert counts_text(started, 1, ("", "main"), 1, 1).startswith("1 instruction, 1 call, 1 exception in")
    assert counts_text(started, 2, ("main", "main"), 0, 0).startswith("2 instructions in main, 0 calls")
    assert size_text(capture(0, BufferEnd.STARTED)) == "the trace buffer is empty"


def test_numbers() -> None:
    assert [bytes_text(size) for size in (512, 4096, 65536, 1 << 20, 1)] == [
        "512 bytes",
        "4 KiB",
        "64 KiB",
        "1 MiB",
        "1 byte",
    ]
    assert plural(2, "entry", "entries") == "2 entries"


def test_names_of_cpp_are_without_what_templates_have_by_default() -> None:
    """The last parameters have defaults (C++17, 24.3.1, 26.3, 26.4, 23.11)."""
    string = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    row = "std::vector<%s, std::allocator<%s > >" % (string, string)
    assert short_names(row + "::push_back(%s&&)" % string) == "std::vector<std::string>::push_back(std::string&&)"
    tree = "std::map<int, %s, std::less<int>, std::allocator<std::pair<int const, %s > > >" % (string, string)
    assert short_names(tree) == "std::map<int, std::string>"
    assert short_names("std::unique_ptr<A, std::default_delete<A> >::~unique_ptr") == "std::unique_ptr<A>::~unique_ptr"
    # Not a default, not a template's, not whole.
    assert short_names("std::set<int, std::greater<int>, std::allocator<int> >") == "std::set<int, std::greater<int> >"
    for text in ("sort(int*, std::less<int>)", "f<int, std::less<int", "a < b, std::less", "dispatch"):
        assert short_names(text) == text
