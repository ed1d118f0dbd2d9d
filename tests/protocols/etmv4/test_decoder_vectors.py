"""Vectors worked by hand from IHI 0064 H.a, chapters 5, 6.

Which instructions ran, for an M-profile core without speculation, over a small T32 program.
"""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.program.image import Program
from tests.protocols.etmv4.streams import ASYNC, M_PROFILE, Code, program, story

WITH_STACK = M_PROFILE._replace(return_stack=True)

# 1000 movs r0, #1 | 1002 bl 1020 | 1006 cmp r0, #0 | 1008 beq 1000 | 100a vadd.f32 s0, s0, s1 | 100e b 1000
# 1020 adds r0, #1 | 1022 bx lr
# 1040 movs r1, #0 | 1042 ldr r2, [r3] | 1044 bx lr
# 1060 movs r2, #0 | 1062 pop {r4, pc}
# 1080 blx r3 | 1082 b 1000
# 10a0 it eq | 10a2 blxeq r3 | 10a4 b 1000
MAIN = Code(0x1000, "0120 00f00df8 0028 fad0 30ee200a f7e7")
PROGRAM = program(
    MAIN,
    Code(0x1020, "0130 7047"),
    Code(0x1040, "0021 1a68 7047"),
    Code(0x1060, "0022 10bd"),
    Code(0x1080, "9847 bde7"),
    Code(0x10A0, "08bf 9847 ace7"),
)

# A-Sync, Trace Info without sections, Trace On, Context Secure EL0 (Thread mode), Long Address IS1 0x1000.
START = ASYNC + "01 00 04 81 00 9b 00 10 00 00 "
START_LINES = ["gap: tracing was off", "EL0 S"]
# To 0x1020 and back to 0x1006, where BEQ is not taken.
CALL = "f7 f7 96 03 f6 "
CALL_LINES = ["1000-1006 2E", "1020-1024 2E", "1006-100a 2N"]


def run(text: str, **options: object) -> List[str]:
    """Decode from the first Address on, without the first two elements."""
    found = story(M_PROFILE._replace(**options), PROGRAM, START + text)
    assert found[:2] == START_LINES
    return found[2:]


# Exceptions (5.2.7, L7042; return addresses of M-profile, Table 5-5, L7165).


def test_interrupt_and_tail_chaining() -> None:
    # IRQ3 is TYPE 0x13 (L9613).  The handler returns (L7572: BX, then Exception Return), and PendSV is tail-chained:
    # 0xFFFFFFFE says that nothing ran in between; it also takes part in compression.
    stream = "f7 f7 96 03 06 27 90 81 03 96 20 f7 07 06 1d 9b 7f ff ff ff 9b 30 10 00 00 f7 07 81 00 96 03 f6"
    assert run(stream) == [
        "1000-1006 2E",
        "1020-1024 2E",
        "IRQ3, return 1006",
        "EL3 S",
        "1040-1046 3E",
        "exception return",
        "PendSV, return fffffffe",
        "1060-1064 2E",
        "exception return",
        "EL0 S",
        "1006-100a 2N",
    ]


@pytest.mark.parametrize(
    "info, name",
    [
        ("05", "NMI"),
        ("07", "HardFault"),
        ("09", "MemManage"),
        ("0b", "BusFault"),
        ("0d", "UsageFault"),
        ("0f", "SecureFault"),
        ("17", "SVCall"),
        ("19", "DebugMonitor"),
        ("1d", "PendSV"),
        ("1f", "SysTick"),
        ("21", "IRQ0"),
        ("2f", "IRQ7"),
        ("31", "Debug halt"),
        ("91 10", "IRQ8"),
        ("87 20", "HardFault"),
        ("9f 1f", "IRQ495"),
    ],
)
def test_exception_types(info: str, name: str) -> None:
    # TYPE[4:0] in bits 5:1, TYPE[9:5] in the second byte (L9544, L9613); bit 5 of that is the pending fault.
    assert run("06 %s 96 01" % info) == ["1000-1002 1E", name + ", return 1002"]


def test_exception_at_the_target_of_an_indirect_branch() -> None:
    # E1:E0 = 0b10 (L9559): the return address is the branch's target as well.
    assert run("f7 f7 06 66 96 03 81 03 96 20 f7") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "IRQ3, return 1006",
        "EL3 S",
        "1040-1046 3E",
    ]
    # With an Address with Context packet: the context is the one from before the exception.
    assert run("f7 f7 06 66 83 03 10 00 00 03") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "EL3 S",
        "IRQ3, return 1006",
    ]


def test_debug_halt_and_restart() -> None:
    assert run("f7 06 31 96 11 04 96 20 f7") == [
        "1000-1006 2E",
        "1020-1022 1E",
        "Debug halt, return 1022",
        "gap: tracing was off",
        "1040-1046 3E",
    ]


def test_pe_reset_tells_no_execution() -> None:
    # L7154: the return address is unknown and nothing is said to have run; the packet still moves the address
    # registers (L9662): the Exact Match after it is 0x1008.
    assert run("06 03 96 04 81 03 96 20 f7") == ["PE reset, return unknown", "EL3 S", "1040-1046 3E"]
    assert run("06 03 96 04 90 f6") == ["PE reset, return unknown", "1008-100a 1N"]
    # The same where the address would also be a target (E1:E0 = 0b10): it is unknown all the same.
    assert run("06 42 96 04 96 20 f7") == ["PE reset, return unknown", "1040-1046 3E"]


def test_lockup() -> None:
    # L7384: at the instruction that caused it; then nothing runs until an exception whose return address is the
    # lockup address, 0xEFFFFFFE as an Address packet can carry it.
    stream = "06 07 96 01 81 03 96 20 06 35 96 21 06 05 9b 7f ff ff ef 9b 30 10 00 00 f7"
    assert run(stream) == [
        "1000-1002 1E",
        "HardFault, return 1002",
        "EL3 S",
        "1040-1042 1E",
        "Lockup, return 1042",
        "NMI, return effffffe",
        "1060-1064 2E",
    ]


def test_lazy_fp_push_goes_on_where_it_was() -> None:
    # TYPE 0x19: execution goes on with the instruction that needed the FPU; no Address has to follow.
    expected = CALL_LINES + ["Lazy FP push, return 100a", "100a-1010 2E"]
    assert run(CALL + "06 33 96 05 f7") == expected
    assert run(CALL + "06 33 96 05 96 05 f7") == expected


def test_implementation_defined_exception() -> None:
    # L7610: its target may be the next instruction, and then no Address has to follow.  TYPE 0x20.
    assert run("06 81 01 96 01 f7") == ["1000-1002 1E", "exception type 0x20, return 1002", "1002-1006 1E"]
    # Otherwise an Address tells the target.
    assert run("06 81 01 96 01 96 20 f7") == ["1000-1002 1E", "exception type 0x20, return 1002", "1040-1046 3E"]


def test_exception_needs_the_address_of_its_handler() -> None:
    assert run("06 27 96 01 f7 96 20 f7") == [
        "1000-1002 1E",
        "IRQ3, return 1002",
        "gap: address unknown",
        "1040-1046 3E",
    ]


def test_reserved_exception_form() -> None:
    # E1:E0 = 0b00 is reserved, 0b11 not listed (L9559).
    for info in ("26", "67"):
        assert run("06 %s 96 01 f7" % info) == ["gap: bad packet", "gap: waiting for synchronisation"]


# Addresses (5.2.9, L7582; 6.4.12).


def test_the_last_address_wins() -> None:
    # L7652: an address that was speculated wrong is corrected by another Address element.
    assert run("f7 f7 96 20 96 03 f6") == CALL_LINES
    # With other packets in between, and from a position that a Trace On opened.
    assert run("f7 f7 96 20 02 05 96 03 f6") == CALL_LINES[:2] + ["time 5", "1006-100a 2N"]
    assert run("96 20 f7") == ["1040-1046 3E"]
    assert run("04 96 20 96 10 f7") == ["gap: tracing was off", "1020-1024 2E"]


def test_an_address_that_agrees_is_no_gap() -> None:
    # L7653: the target of a direct branch may be told, as branch broadcasting does.
    assert run("f7 96 10 f7 96 03 96 03 f6 96 05 f7") == CALL_LINES + ["100a-1010 2E"]


def test_an_address_that_contradicts_the_program() -> None:
    assert run("f7 96 20 f7") == ["1000-1006 2E", "gap: trace and program disagree", "1040-1046 3E"]


def test_exact_match_pushes_as_well() -> None:
    # L11151: 0x1000, 0x1020 and 0x1040 are told; 92 is the oldest of three and pushes, so the next 92 is another.
    stream = "96 10 96 20 92 f7 04 92 f7 04 90 f7"
    assert run(stream) == [
        "1000-1006 2E",
        "gap: tracing was off",
        "1020-1024 2E",
        "gap: tracing was off",
        "1020-1024 2E",
    ]


def test_addresses_in_exception_packets_push() -> None:
    # L9582: after 0x1000 and 0x1002 the Exact Match 91 is 0x1000.
    assert run("06 27 96 01 91 f7") == ["1000-1002 1E", "IRQ3, return 1002", "1000-1006 2E"]


# The return stack (5.3, L8142).


def test_return_stack() -> None:
    assert run("f7 f7 f6", return_stack=True) == CALL_LINES
    assert run("fb", return_stack=True) == CALL_LINES
    # A Trace On where the target would be: not popped (L8247), so the entry serves the next return.
    assert run("f7 f7 04 96 10 f7 f6", return_stack=True) == [
        "1000-1006 2E",
        "1020-1024 2E",
        "gap: tracing was off",
        "1020-1024 2E",
        "1006-100a 2N",
    ]


def test_exception_takes_the_target_from_the_stack() -> None:
    # L8247: an Exception element comes after the target, so it pops.
    assert run("f7 f7 06 27 96 04 81 03 96 20 f7", return_stack=True) == [
        "1000-1006 2E",
        "1020-1024 2E",
        "1006-1008 1E",
        "IRQ3, return 1008",
        "EL3 S",
        "1040-1046 3E",
    ]


def test_exception_return_does_not_pop() -> None:
    # L8178: BX LR with EXC_RETURN is an indirect branch; its target is in the Address after the Exception Return.
    assert run("f7 06 27 96 10 81 03 96 20 f7 07 81 00 96 10 f7 f6", return_stack=True) == [
        "1000-1006 2E",
        "IRQ3, return 1020",
        "EL3 S",
        "1040-1046 3E",
        "exception return",
        "EL0 S",
        "1020-1024 2E",
        "1006-100a 2N",
    ]


def test_blx_pushes_before_it_compares() -> None:
    # L8167: a BLX to its own return address matches what it has just pushed.
    assert run("96 40 f7 f7", return_stack=True) == ["1080-1082 1E", "1082-1084 1E"]
    assert run("96 40 db", return_stack=True) == ["1080-1082 1E", "1082-1084 1E"]


# 1000 it eq | 1002 bleq 1000 | 1006 bx lr: each taken BL pushes 0x1006.
RECURSION = program(Code(0x1000, "08bf fff7fdff 7047"))


@pytest.mark.parametrize("atoms", ["ed cc f7", "cc f6 cc f7", "f7 " * 16 + "f6 " + "f7 " * 17])
def test_return_stack_holds_fifteen(atoms: str) -> None:
    # L8241: 16 calls, BL not taken, 16 returns; the stack held 15 return addresses, so the last target is unknown.
    # In few atom packets or in packets of one atom: the limit does not depend on how many are remembered at once.
    assert story(WITH_STACK, RECURSION, START + atoms)[2:] == (
        ["1000-1006 2E"] * 16 + ["1000-1006 2N"] + ["1006-1008 1E"] * 16 + ["gap: address unknown"]
    )


def test_a_branch_that_is_not_taken_pushes_nothing() -> None:
    # L8146: the BLXEQ falls through; then B 1000, BL and BX LR to 0x1006.
    assert run("96 50 f6 f7 f7 f7 f6", return_stack=True) == ["10a0-10a4 2N", "10a4-10a6 1E"] + CALL_LINES
    # And with nothing else on the stack:
    assert run("96 50 f6 04 96 10 f7 f6", return_stack=True)[-2:] == ["1020-1024 2E", "gap: address unknown"]


def test_no_target_is_not_address_zero() -> None:
    # BX LR, and no Address (5.2.9): what lies at 0 did not run, though there is code.
    memory = program(Code(0x0000, "0120 0120 fce7"), Code(0x1000, "7047"))
    for packets in ("f7 f7 f7", "db f7", "ff"):
        assert story(M_PROFILE, memory, START + packets)[2:] == ["1000-1002 1E", "gap: address unknown"]


def test_a_branch_that_is_always_taken_has_no_n() -> None:
    # L6879: such an N is corrected, and here is no Mispredict.  BL, and BX LR not taken; what follows it is not told
    # before the next Address, 0x1006.  Many atoms in a packet, or one at a time.
    impossible = "gap: trace and program disagree 1022"
    for packets in ("f7 f6 f7 96 03 f6", "d9 f7 96 03 f6", "f7 d8 96 03 f6"):
        assert run(packets) == ["1000-1006 2E", impossible, "1006-100a 2N"]
    # The BLX, and behind it IT and the same: with the return stack.
    assert run("96 40 f6 96 50 f6", return_stack=True) == ["gap: trace and program disagree 1080", "10a0-10a4 2N"]


def test_no_push_between_trace_info_and_address() -> None:
    # L8195: the BL's atom comes after Trace Info and before the address, so neither side pushes.
    sync = ASYNC + "01 00 "
    there = "81 00 96 90 10 "
    assert run(sync + "f7 " + there + "f7 f6", return_stack=True) == CALL_LINES[:2] + ["gap: address unknown"]
    # With the address first it pushes.
    here = "81 00 96 80 10 "
    assert run(sync + here + "f7 f7 f6", return_stack=True) == CALL_LINES
    # What was pushed before Trace Info stays where it is: the unit's stack is empty, so it tells the target.
    assert run("f7 " + sync + there + "f7 96 03 f6", return_stack=True) == CALL_LINES


# Synchronisation and discontinuity (5.2.1 to 5.2.4).


def test_periodic_synchronisation_is_no_gap() -> None:
    # The Address and Context tell the target of the last P0 element, before Trace Info or after it (L6741).
    sync = ASYNC + "01 00 "
    assert run("f7 " + sync + "81 00 96 90 10 f7 96 03 f6") == CALL_LINES
    assert run("f7 " + sync + "f7 81 00 96 83 10 f6") == CALL_LINES


def test_trace_info_resets_what_packets_are_compressed_against() -> None:
    # Table 6-4, L8777: after it Short Addresses build on 0, and timestamps too (L9194).
    assert run("02 aa 01 02 05 " + ASYNC + "01 00 02 05 81 00 96 80 10 f7") == [
        "time 170",
        "time 133",
        "time 5",
        "1000-1006 2E",
    ]


def test_bytes_before_synchronisation() -> None:
    found = story(M_PROFILE, PROGRAM, "f7 f7 96 03 " + START + "f7")
    assert found == ["gap: waiting for synchronisation"] + START_LINES + ["1000-1006 2E"]
    # What comes between A-Sync and Trace Info cannot be read either (L2188).
    found = story(M_PROFILE, PROGRAM, ASYNC + "f7 " + START[len(ASYNC) :] + "f7")
    assert found == ["gap: waiting for synchronisation"] + START_LINES + ["1000-1006 2E"]
    assert story(M_PROFILE, PROGRAM, "f7 f7") == ["gap: waiting for synchronisation"]


def test_nothing_is_said_of_atoms_before_the_first_address() -> None:
    assert story(M_PROFILE, PROGRAM, ASYNC + "01 00 f7 f6 81 00 9b 00 10 00 00 f7") == ["EL0 S", "1000-1006 2E"]


def test_overflow() -> None:
    # L9301: Overflow, perhaps an Event, A-Sync, Trace Info, Trace On, Context, Address.
    assert run("f7 00 05 71 " + START + "f7") == [
        "1000-1006 2E",
        "gap: the trace unit's FIFO overflowed",
        "event 0",
        "gap: tracing was off",
        "1000-1006 2E",
    ]


def test_discard() -> None:
    assert run("f7 00 03 " + START + "f7") == [
        "1000-1006 2E",
        "gap: the trace unit discarded what it had not output yet",
        "gap: tracing was off",
        "1000-1006 2E",
    ]


def test_atoms_after_trace_on_need_an_address() -> None:
    assert run("04 f7 f7 96 10 f7") == ["gap: tracing was off", "gap: address unknown", "1020-1024 2E"]


def test_bad_packet() -> None:
    # 09 is reserved (L8874): hunting for the next A-Sync; then decoding goes on.
    assert run("f7 09 f7 f7 " + START + "f7") == [
        "1000-1006 2E",
        "gap: bad packet",
        "gap: waiting for synchronisation",
        "gap: tracing was off",
        "EL0 S",
        "1000-1006 2E",
    ]


def test_reserved_trace_info_sections() -> None:
    # PLCTL has four bits (L9136); sections that nobody knows have no known length.
    assert run(ASYNC + "01 10 00 f7") == ["gap: bad packet", "gap: waiting for synchronisation"]


def test_the_end_of_the_buffer() -> None:
    assert run("f7 9b 00 10") == ["1000-1006 2E", "gap: the buffer ends inside a packet"]
    # A formatter fills up with zeros, which is where a packet may begin.
    assert run("f7 00 00 00") == ["1000-1006 2E"]


# Where trace and program do not fit together.


def test_missing_code() -> None:
    # BX LR goes to 0x5000; what runs there is unknown until the next address.
    assert run("f7 f7 96 80 50 f7 f7 96 83 10 f6") == CALL_LINES[:2] + ["gap: no code 5000", "1006-100a 2N"]


def test_code_that_ends() -> None:
    # Instructions before the missing code did run.
    cut = program(Code(0x1000, "0120 0120 00f0"))
    assert story(M_PROFILE, cut, START + "f7")[2:] == ["1000-1004 2E", "gap: no code 1004"]


def test_exception_beyond_a_branch() -> None:
    # Everything up to the return address ran (L7048), but there is a BL in between.
    assert run("06 27 96 05 81 03 96 20 f7") == [
        "gap: trace and program disagree",
        "IRQ3, return 100a",
        "EL3 S",
        "1040-1046 3E",
    ]


def test_exception_beyond_missing_code() -> None:
    assert run("f7 f7 96 88 10 06 27 96 10 81 03 96 20 f7") == CALL_LINES[:2] + [
        "gap: no code 1010",
        "IRQ3, return 1020",
        "EL3 S",
        "1040-1046 3E",
    ]


def test_no_branch_far_and_wide() -> None:
    # 70,000 times NOP: this is not the program that ran, so no instruction of it is told.
    plain = program(Code(0x1000, "00bf" * 70000))
    (found,) = story(M_PROFILE, plain, START + "f7 f7")[2:]
    assert found.startswith("gap: trace and program disagree")


# What the unit cannot have sent, and what it does not tell, is a gap, never a wrong instruction.


@pytest.mark.parametrize("packet", ["2d 01", "2e 01", "2f 01", "34", "30"])
def test_speculation_of_a_unit_that_does_not_speculate(packet: str) -> None:
    # TRCIDR8.MAXSPEC is 0: every P0 element is committed at once (L9173), so there is none to commit or to cancel.
    found = run("f7 %s f7 f6 f7 96 03 f6" % packet, version=5)
    assert found == ["1000-1006 2E", "gap: bad packet", "1006-100a 2N"]


UNTOLD = "gap: instructions whose path was not traced"


@pytest.mark.parametrize(
    "packet, known", [("af", [UNTOLD]), ("ac 05", ["1020-1022 1E", UNTOLD]), ("ac 02", ["1020-1024 2E"])]
)
def test_q_without_an_address(packet: str, known: List[str]) -> None:
    # L7028: an Address has to follow; an atom before it cannot be followed.  The BX LR at 0x1022 may go anywhere.
    found = run("f7 %s f7 f6 f7 96 03 f6" % packet)
    assert found == ["1000-1006 2E", *known, "gap: address unknown", "1006-100a 2N"]


@pytest.mark.parametrize("packet", ["a6 03 02", "a6 83 10 02", "ab 03 10 00 00 02"])
def test_q_tells_an_address(packet: str) -> None:
    # The address comes before the count (L12661); it is where the second instruction, a branch, went.
    assert run("f7 %s f6" % packet) == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2N"]


def test_q_counts_more_than_can_be_followed() -> None:
    # 130 instructions: all after the first branch are unknown, for its target is not told (L7026).
    assert run("f7 ab 03 10 00 00 82 01 f6") == ["1000-1006 2E", "1020-1022 1E", UNTOLD, "1006-100a 2N"]


def test_q_ends_elsewhere() -> None:
    # One instruction leads from 0x1020 to 0x1022, not to TYPE 1's address, 0x1000.
    found = run("f7 96 10 a1 01 f7")
    assert found == ["1000-1006 2E", "1020-1022 1E", "gap: trace and program disagree", "1000-1006 2E"]


def test_q_with_exact_match_pushes() -> None:
    # TYPE 1: the address before the most recent one, 0x1000; it is the most recent one then.
    found = run("f7 96 10 a1 02 f7 04 90 f7")
    assert found == ["1000-1006 2E", "1020-1024 2E", "1000-1006 2E", "gap: tracing was off", "1000-1006 2E"]


@pytest.mark.parametrize("packet", ["20", "27", "43"])
def test_packets_that_do_not_move_the_place(packet: str) -> None:
    assert run("f7 %s f7 96 03 f6" % packet) == CALL_LINES


@pytest.mark.parametrize("packet, version", [("70", 3), ("88", 6), ("00 07", 5)])
def test_packets_that_say_nothing_of_execution(packet: str, version: int) -> None:
    assert run("f7 %s f7 96 03 f6" % packet, version=version) == CALL_LINES


@pytest.mark.parametrize("info", ["10", "20", "30"])
def test_loads_and_stores_as_p0_elements_are_refused(info: str) -> None:
    # INFO bits 4 and 5 (L9182): atoms would be counted against the wrong instructions.
    stream = ASYNC + "01 01 %s 04 81 00 9b 00 10 00 00 f7 f7 96 03 9b 03 10 00 00 f6" % info
    found = story(M_PROFILE, PROGRAM, stream)
    assert found == ["gap: packet not decoded", "gap: tracing was off", "EL0 S"]
    # A trace run without them is decoded again.
    assert story(M_PROFILE, PROGRAM, stream + START + "f7")[3:] == ["gap: tracing was off", "1000-1006 2E"]


def test_branch_futures_are_plain_instructions_where_they_are_not_traced() -> None:
    # bf 1006, 1000 under TRCIDR0.BF = 0 (L7002).
    future = program(Code(0x1000, "0120 c1f0ffef 0120 fbe7"))
    assert story(M_PROFILE, future, START + "f7")[2:] == ["1000-100a 4E"]


# Time and events (5.2.11 and on).


def test_events() -> None:
    # L10756: a bit for each of events 0 to 3.
    assert run("f7 79 7f") == ["1000-1006 2E", "event 0", "event 3", "event 0", "event 1", "event 2", "event 3"]


@pytest.mark.parametrize(
    "mode, packet, cycles",
    [
        # COMMOPT=0 has a COMMIT section, COMMOPT=1 has none (L9793); the threshold, 16, is added.
        (0, "0e 02 83 01", "147"),
        (1, "0e 83 01", "147"),
        (0, "0f 01", "unknown"),
        (1, "0f", "unknown"),
        (1, "0e ff ff 3f", str(0xFFFFF + 16)),
        (0, "0c 13", "19"),
        (1, "0d 15", "21"),
        (0, "16", "18"),
        (1, "13", "19"),
    ],
)
def test_cycle_counts(mode: int, packet: str, cycles: str) -> None:
    stream = ASYNC + "01 09 01 10 04 81 00 9b 00 10 00 00 f7 %s f7" % packet
    found = story(M_PROFILE._replace(commit_mode=mode), PROGRAM, stream)
    assert found == START_LINES + ["1000-1006 2E", "cycles " + cycles, "1020-1024 2E"]


def test_threshold_needs_cycle_counting() -> None:
    # L9136: CYCT counts only when INFO.cc_enabled is set.
    assert story(M_PROFILE, PROGRAM, ASYNC + "01 09 00 10 12") == ["cycles 2"]


def test_timestamps() -> None:
    # L9365: bits that are not sent stay; the ninth byte has eight bits; COUNT has no threshold (L9423).
    stream = "02 88 99 aa bb cc dd ee ff 81 02 05 03 06 81 01"
    full = sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(bytes.fromhex("8899aabbccddeeff")))
    full |= 0x81 << 56
    low = full >> 7 << 7
    assert run(stream) == ["time %d" % full, "time %d" % (low | 5), "time %d cycles 129" % (low | 6)]


def test_empty_program() -> None:
    assert story(M_PROFILE, Program([]), START + "f7 f7")[2:] == ["gap: no code 1000"]
