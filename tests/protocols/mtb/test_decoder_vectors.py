"""Vectors worked by hand from CoreSight MTB-M0+ TRM (DDI 0486), 2.3.1: executions."""

from __future__ import annotations

from struct import pack

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Exception_
from gdb_etm.protocols.mtb.config import BufferEnds, MtbConfig
from gdb_etm.protocols.mtb.exceptions import read_table
from gdb_etm.protocols.mtb.listing import list_packets
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.histories import same
from tests.protocols.mtb.streams import buffer, history, story

# Vectors 1 to 17; two interrupts share a handler.
_HANDLERS = {1: 0x100, 2: 0x1C0, 3: 0x1C0, 11: 0x140, 14: 0x160, 15: 0x170, 16: 0x180, 17: 0x180}
TABLE = pack("<18I", 0x20001000, *(_HANDLERS.get(number, -1) + 1 for number in range(1, 18)))
# 100 movs r0, #1 | 102 cmp r0, #0 | 104 beq 100 | 106 bl 120 | 10a b 100
# 10c svc #1 | 10e movs r1, #2 | 110 b 100 | 112 isb | 116 movs r2, #3 | 118 bx r3
# 120 adds r0, #1 | 122 bx lr
# 140 movs r0, #0 | 142 bx lr | 160 push {lr} | 162 pop {pc} | 170 movs r0, #0 | 172 bx lr | 180 bx lr | 1c0 b 1c0
PROGRAM = program(
    Code(0, TABLE.hex()),
    Code(0x100, "0120 0028 fcd0 00f00bf8 f9e7 01df 0221 f6e7 bff36f8f 0322 1847"),
    Code(0x120, "0130 7047"),
    Code(0x140, "0020 7047"),
    Code(0x160, "00b5 00bd"),
    Code(0x170, "0020 7047"),
    Code(0x180, "7047"),
    Code(0x1C0, "fee7"),
)
# Tracing began at 100, and nothing is known of its end.
AT_100 = BufferEnds(is_first=True, begin=0x100)


def test_between_two_packets_the_core_ran_straight_on() -> None:
    # BL, BX LR, B: the BEQ in between has no packet, so it was not taken.
    assert story(PROGRAM, "106>120 122>10a 10a>100 106>120") == [
        "106-10a 1E",
        "120-124 2E",
        "10a-10c 1E",
        "100-106 3N",
        "106-10a 1E",
    ]


def test_a_taken_branch() -> None:
    assert story(PROGRAM, "10a>100 104>100") == ["10a-10c 1E", "100-106 3E"]


def test_of_the_oldest_packet_only_the_branch_is_known() -> None:
    assert story(PROGRAM, "122>10a") == ["122-124 1E"]


def test_an_exception_as_the_oldest_packet_says_nothing_before() -> None:
    # A bit: the source is the preferred return address, so that instruction did not run.
    assert story(PROGRAM, "104!>160") == ["PendSV, return 104"]


def test_start_at_a_known_place() -> None:
    assert story(PROGRAM, "106>120*", AT_100) == ["100-106 3N", "106-10a 1E"]


def test_start_at_an_unknown_place() -> None:
    assert story(PROGRAM, "106>120*", BufferEnds(is_first=True)) == ["gap TRACE_ON", "106-10a 1E"]


def test_started_again() -> None:
    # S bit: "the memory might contain several packets with the S-bit set to 1".
    assert story(PROGRAM, "106>120 122>10a 106>120*") == ["106-10a 1E", "120-124 2E", "gap TRACE_ON", "106-10a 1E"]


def test_the_first_packet_is_gone() -> None:
    missing = "gap TRACE_ON: the first packet since tracing started is missing"
    assert story(PROGRAM, "106>120", AT_100) == [missing, "106-10a 1E"]


def test_svc_has_run_and_the_source_is_the_instruction_after() -> None:
    # "if an exception was caused by an SVC instruction, then the source address field contains the address of the
    # following instruction".
    assert story(PROGRAM, "118>10c 10e!>140") == ["118-11a 1E", "10c-10e 1E", "SVCall, return 10e"]


def test_an_exception_return_is_two_packets() -> None:
    # To EXC_RETURN with A = 0, from it with A = 1.
    assert story(PROGRAM, "106>120 122!>160 162>fffffff8 fffffff8!>122 122>10a") == [
        "106-10a 1E",
        "120-122 1E",
        "PendSV, return 122",
        "160-164 2E",
        "exception return",
        "122-124 1E",
    ]


def test_tail_chaining() -> None:
    # The second packet leads to the next handler, and what that returns to is what the first one would have.
    assert story(PROGRAM, "106>120 122!>140 142>fffffff8 fffffff8!>160 162>fffffff8 fffffff8!>122 122>10a") == [
        "106-10a 1E",
        "120-122 1E",
        "SVCall, return 122",
        "140-144 2E",
        "exception return",
        "PendSV, return fffffffe",
        "160-164 2E",
        "exception return",
        "122-124 1E",
    ]


def test_return_to_a_handler_that_was_interrupted_before_its_first_instruction() -> None:
    # This is no tail-chaining: it is where the inner exception came from.
    assert story(PROGRAM, "106>120 122!>160 160!>170 172>fffffff0 fffffff0!>160 162>fffffff8 fffffff8!>122") == [
        "106-10a 1E",
        "120-122 1E",
        "PendSV, return 122",
        "SysTick, return 160",
        "170-174 2E",
        "exception return",
        "160-164 2E",
        "exception return",
    ]


def test_several_exceptions_with_one_handler() -> None:
    assert story(PROGRAM, "106>120 122!>180") == ["106-10a 1E", "120-122 1E", "IRQ0 or IRQ1, return 122"]


def test_the_exception_in_which_the_core_halted_has_its_number() -> None:
    # IPSR.
    ends = BufferEnds(stopped=False, halted_at=0x180, exception=17)
    (taken, halt) = [one for _, one in history(PROGRAM, buffer("122!>180"), ends).elements()]
    assert isinstance(taken, Exception_) and (taken.name, taken.vector) == ("IRQ1", 17)
    assert isinstance(halt, Exception_) and (halt.name, halt.return_address) == ("Debug halt", 0x180)


def test_a_number_that_is_not_that_handler_s() -> None:
    ends = BufferEnds(stopped=False, halted_at=0x180, exception=15)
    assert story(PROGRAM, "122!>180", ends)[0] == "IRQ0 or IRQ1, return 122"


def test_up_to_the_halt() -> None:
    ends = BufferEnds(stopped=False, halted_at=0x106)
    assert story(PROGRAM, "10a>100", ends) == ["10a-10c 1E", "100-106 3N", "Debug halt, return 106"]
    assert story(PROGRAM, "", AT_100._replace(stopped=False, halted_at=0x104)) == [
        "100-104 2E",
        "Debug halt, return 104",
    ]


def test_the_trace_stopped_before_the_halt() -> None:
    ends = BufferEnds(stopped=True, halted_at=None)
    assert story(PROGRAM, "10a>100", ends)[1:] == ["gap TRACE_ON: the trace stopped before the core halted"]


def test_a_debugger_writes_the_pc() -> None:
    # A = 1, and the destination is no handler: "a PC update in Debug state".
    assert story(PROGRAM, "10a>100 104!>10e 110>100") == [
        "10a-10c 1E",
        "100-104 2E",
        "Debug halt, return 104",
        "gap TRACE_ON: the core was in debug state",
        "10e-112 2E",
    ]


def test_a_debugger_writes_the_pc_that_was_there() -> None:
    assert story(PROGRAM, "10a>100 104!>104 104>100") == ["10a-10c 1E", "100-104 2E", "104-106 1E"]
    assert story(PROGRAM, "100!>100* 104>100", AT_100) == ["100-106 3E"]
    # Not a reset either: that stops the MTB.
    assert story(PROGRAM, "122>10e 110!>100")[2:] == [
        "Debug halt, return 110",
        "gap TRACE_ON: the core was in debug state",
    ]


def test_a_debugger_wrote_the_pc_before_the_run() -> None:
    assert story(PROGRAM, "1c0!>100* 104>100", AT_100) == ["100-106 3E"]


def test_a_packet_for_any_instruction() -> None:
    # "The processor can cause a trace packet to be generated for any instruction."
    assert story(PROGRAM, "10a>100 100>102 102>104 104>106 106>120") == [
        "10a-10c 1E",
        "100-102 1E",
        "102-104 1E",
        "104-106 1N",
        "106-10a 1E",
    ]


def test_isb_with_and_without_a_packet() -> None:
    assert story(PROGRAM, "122>112 112>116 118>100") == ["122-124 1E", "112-116 1E", "116-11a 2E"]
    assert story(PROGRAM, "122>112 118>100") == ["122-124 1E", "112-116 1E", "116-11a 2E"]


def test_lockup() -> None:
    # What the PC shows then: Armv6-M ARM (DDI 0419), B1.5.15.
    assert story(PROGRAM, "118>1c0 1c0!>fffffffe")[1:] == ["Lockup, return 1c0"]


@pytest.mark.parametrize(
    "text, gap",
    [
        # An unconditional branch in between; a source before the place.
        ("10a>100 112>116", "BAD_IMAGE 106: the branch at 0x00000106 is always taken, the trace says it was not"),
        ("122>10a 104>100", "BAD_IMAGE 10a: the program goes on at 0x0000010a, the trace comes from 0x00000104"),
        ("118>120 202>100", "BAD_IMAGE 122: the branch at 0x00000122 is always taken, the trace says it was not"),
        # No branch; a branch to somewhere else; one that is always taken.
        ("10a>100 102>120", "BAD_IMAGE 102: no branch at 0x00000102, where the trace has one to 0x00000120"),
        ("10a>100 104>120", "BAD_IMAGE 104: the branch at 0x00000104 leads to 0x00000100, the trace to 0x00000120"),
        ("122>10a 10a>10c", "BAD_IMAGE 10a: the branch at 0x0000010a leads to 0x00000100, the trace to 0x0000010c"),
        # Inside of BL; nothing there.
        ("10a>100 108>10a", "BAD_IMAGE 108: no T32 instruction begins at 0x00000108"),
        ("118>300 304>100", "NO_CODE 300"),
        # SVC without its exception.
        ("118>10c 110>100", "BAD_IMAGE 10c: the instruction at 0x0000010c causes an exception, the trace has none"),
    ],
)
def test_contradictions_are_gaps_and_decoding_goes_on(text: str, gap: str) -> None:
    destination = int(text.rpartition(">")[2], 16)
    found = story(PROGRAM, text, BufferEnds(stopped=False, halted_at=destination))
    assert found[1:] == ["gap " + gap, "Debug halt, return %x" % destination]


def test_half_of_an_exception_return() -> None:
    missing = "gap BAD_PACKET: the %s packet of an exception return is missing"
    assert story(PROGRAM, "142>fffffff8 10a>100")[2:] == [missing % "second", "10a-10c 1E"]
    assert story(PROGRAM, "10a>100 fffffff8!>10a 10a>100")[1:] == [missing % "first", "10a-10c 1E"]
    # As the oldest packet it is whole.
    assert story(PROGRAM, "fffffff8!>10a 10a>100") == ["10a-10c 1E"]


def test_the_buffer_ends_inside_a_packet() -> None:
    found = [one for _, one in history(PROGRAM, buffer("10a>100") + b"\x01\x02\x03").elements()]
    assert [str(getattr(one, "detail", "")) for one in found] == ["", "01 02 03"]


def test_no_vector_table() -> None:
    # An exception then has no number; whether it was one is not known.
    bare = Program([MemoryImage(0x120, bytes.fromhex("01307047"), "test")])
    assert story(bare, "122>120 122!>160", vtor=0x1000) == ["122-124 1E", "120-122 1E", "exception, return 122"]


def test_the_vector_table_is_found_where_a_piece_begins() -> None:
    # A dumped buffer comes without VTOR.
    assert story(PROGRAM, "106>120 122!>160", vtor=None)[-1] == "PendSV, return 122"


def test_a_table_in_ram() -> None:
    config = MtbConfig(vtor=0x20000000, table=TABLE)
    assert read_table(PROGRAM, config.vtor, config.vectors, config.table).name(0x160) == ("PendSV", 14)


def test_packets_listed() -> None:
    data = buffer("106>120* 122!>160 162>fffffff8 fffffff8!>122") + b"\0"
    assert [(one.name, one.fields) for one in list_packets(MtbConfig(), data, same)] == [
        ("branch", "0x00000106 -> 0x00000120, tracing started"),
        ("exception or debug", "0x00000122 -> 0x00000160"),
        ("exception return", "0x00000162 -> 0xfffffff8"),
        ("exception return", "0xfffffff8 -> 0x00000122"),
        ("packet", "cut by the end of the buffer"),
    ]
