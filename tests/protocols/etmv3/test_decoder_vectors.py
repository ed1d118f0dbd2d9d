"""Vectors worked by hand from IHI 0014Q, chapter 7: executions.

P-headers and branch packets with the original address encoding, of a core with A profile.
"""

from __future__ import annotations

from typing import List

import pytest

from tests.protocols.etmv3.streams import A_PROFILE, ASYNC, story
from tests.protocols.etmv4.streams import Code, program

# T32:
# 1000 movs r0, #1 | 1002 bl 1020 | 1006 cmp r0, #0 | 1008 beq 1000 | 100a it ne | 100c addne r0, #1 | 100e b 1000
# 1020 adds r0, #1 | 1022 bx lr
# 1030 blx 2000 | 1034 nop.w | 1038 nop
# A32:
# 2000 mov r0, #1 | 2004 bl 2010 | 2008 movne r0, #2 | 200c b 2000 | 2010 bx lr | 2014 svc #0
# 0008 movs pc, lr | 0018 subs pc, lr, #4
PROGRAM = program(
    Code(0x1000, "0120 00f00df8 0028 fad0 18bf 0130 f7e7"),
    Code(0x1020, "0130 7047"),
    Code(0x1030, "00f0e6ef aff30080 00bf"),
    Code(0x2000, "0100a0e3 010000eb 0200a013 fbffffea 1eff2fe1 000000ef"),
    Code(0x0008, "0ef0b0e1"),
    Code(0x0018, "04f05ee2"),
)

# I-sync: tracing was enabled, Secure; T32 at 0x1000, A32 at 0x2000 (7.10.5; bit 0 of the address is T).
THUMB = ASYNC + "08 21 01 10 00 00 "
ARM = ASYNC + "08 21 00 20 00 00 "
STARTED = ["gap TRACE_ON", "S"]


def run(text: str, start: str = THUMB, **options: object) -> List[str]:
    """Decode from the first I-sync packet on, without its two elements."""
    found = story(A_PROFILE._replace(**options), PROGRAM, start + text)
    assert found[:2] == STARTED
    return found[2:]


# P-headers (7.3.1): 1NEEEE00 is EEEE times E, then N times N; 1000FF10 is two atoms, 0 for E.


def test_every_instruction_takes_an_atom() -> None:
    # E E: MOVS and BL.  A direct branch needs no packet.  E: ADDS.
    assert run("88 84") == ["1000-1006 2E", "1020-1022 1E"]


def test_an_indirect_branch_is_followed_by_its_target() -> None:
    # ADDS and BX LR; then a branch packet of one byte: A[6:1] is 3, the rest is as in the last address output, 0x1000.
    # E N: CMP, and BEQ is not taken.
    assert run("88 88 07 c4") == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2N"]


def test_a_taken_branch_goes_on_at_its_target() -> None:
    # E E E: CMP, BEQ, and MOVS at its target.
    assert run("88 88 07 8c") == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2E", "1000-1002 1E"]


def test_an_instruction_whose_condition_failed_takes_n() -> None:
    # After BEQ: IT is executed, ADDNE is not, B is.
    assert run("88 88 07 c4 c4 84") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "1006-100a 2N",
        "100a-100e 2N",
        "100e-1010 1E",
    ]


@pytest.mark.parametrize(
    "header, lines",
    [
        ("82", ["1006-100a 2E"]),
        ("86", ["1006-100a 2N"]),
        ("8a", ["1006-1008 1N", "1008-100a 1E"]),
        ("8e", ["1006-1008 1N", "1008-100a 1N"]),
    ],
)
def test_two_atoms_in_one_header(header: str, lines: List[str]) -> None:
    # Bit 3 is the older one.
    assert run("88 88 07 " + header)[2:] == lines


def test_header_of_many_atoms() -> None:
    # Five E from 0x2008: MOVNE and B, MOV and BL, BX.
    assert run("94", ASYNC + "08 21 08 20 00 00 ") == ["2008-2010 2E", "2000-2008 2E", "2010-2014 1E"]
    # Four E and an N, of CMP, BEQ, MOVS, BL and ADDS.
    assert run("d0", ASYNC + "08 21 07 10 00 00 ") == ["1006-100a 2E", "1000-1006 2E", "1020-1022 1N"]


def test_a_branch_that_is_always_taken_has_no_n() -> None:
    # Four E and an N, of MOVNE, B, MOV, BL and BX; then a branch packet to 0x2008, and MOVNE.
    assert run("d0 05 84", ASYNC + "08 21 08 20 00 00 ") == [
        "2008-2010 2E",
        "2000-2008 2E",
        "gap BAD_IMAGE 2010: the branch at 0x00002010 is always taken, the trace says it was not",
        "2008-200c 1E",
    ]
    # IT and the branch in its block: then it is conditional.
    code = program(Code(0x1000, "08bf 7047 7047"))
    assert story(A_PROFILE, code, THUMB + "c4 84") == STARTED + ["1000-1004 2N", "1004-1006 1E"]


def test_arm_code_begins_at_words() -> None:
    # An I-sync packet in ARM state whose address has bit 1 set; then one that has not.
    assert run("", ASYNC + "08 21 0a 20 00 00 84 08 21 0c 20 00 00 84") == [
        "gap BAD_IMAGE 200a: no A32 instruction begins at 0x0000200a",
        "gap TRACE_ON",
        "200c-2010 1E",
    ]


def test_header_with_no_atoms() -> None:
    assert run("80 84") == ["1000-1002 1E"]


def test_a_header_ends_in_an_indirect_branch() -> None:
    # More atoms than the code has room for up to BX: where it leads is not known yet.
    assert run("90 84") == ["1000-1006 2E", "1020-1024 2E", "gap NO_ADDRESS: no target for the branch before"]
    # The packet that comes too late is followed all the same.
    assert run("90 84 07 84")[3:] == ["1006-1008 1E"]


def test_missing_code_is_told_once() -> None:
    # NOP.W and NOP at 0x1034, then there is no code: the rest of the atoms and the next header cannot be followed.
    start = ASYNC + "08 21 35 10 00 00 "
    assert run("90 88 07 84", start) == ["1034-103a 2E", "gap NO_CODE 103a", "1006-1008 1E"]


# State (7.3.5).


def test_blx_changes_state() -> None:
    # BLX from T32 to A32 is direct: the instruction tells the state.  E E E: BLX MOV BL.
    start = ASYNC + "08 21 31 10 00 00 "
    assert run("8c", start) == ["1030-1034 1E", "2000-2008 2E"]


def test_a_fifth_byte_tells_the_state() -> None:
    # From A32 BX LR to T32 0x1020: A[6:1] 0x10, A[13:7] 0x20, zeros, fifth byte 0001AAAA with A[31:28] 0.
    assert run("8c a1 a0 80 80 10 84", ARM) == ["2000-2008 2E", "2010-2014 1E", "1020-1022 1E"]
    # And from T32 BX LR to A32 0x2000: A[7:2] 0, A[14:8] 0x20, fifth byte 00001AAA with A[31:29] 0.
    assert run("90 81 a0 80 80 08 84") == ["1000-1006 2E", "1020-1024 2E", "2000-2004 1E"]


def test_arm_addresses_are_one_bit_higher() -> None:
    # A[7:2] 2: 0x2008.
    assert run("8c 05 84", ARM) == ["2000-2008 2E", "2010-2014 1E", "2008-200c 1E"]


def test_two_bytes_of_address() -> None:
    # Thumb: A[6:1] 0x18, A[13:7] 0x20: 0x1030.
    assert run("90 b1 20 84") == ["1000-1006 2E", "1020-1024 2E", "1030-1034 1E"]


def test_the_reference_is_the_last_address_output() -> None:
    # BLX goes to 0x2000 without a packet. A branch packet's upper bits are those of the I-sync packet's address. The
    # state is as there too: T32.
    start = ASYNC + "08 21 31 10 00 00 "
    assert run("90 21 84", start) == ["1030-1034 1E", "2000-2008 2E", "2010-2014 1E", "1020-1022 1E"]


def test_jazelle_is_not_followed() -> None:
    # Fifth byte 001AAAAA; atoms there are bytecodes.  Back in T32 the trace is followed again.
    jazelle = "81 80 80 80 20 84 84 "
    assert run("90 " + jazelle + "a1 a0 80 80 10 84") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "gap NOT_FOLLOWED: Jazelle bytecode",
        "1020-1022 1E",
    ]


def test_jazelle_in_isync() -> None:
    assert run("84", ASYNC + "08 31 01 10 00 00 ") == ["gap NOT_FOLLOWED: Jazelle bytecode"]


def test_thumbee_is_not_followed() -> None:
    # I-sync with AltISA and T.
    assert run("84 a1 a0 80 80 50 00 84", ASYNC + "08 25 01 10 00 00 ") == [
        "gap NOT_FOLLOWED: ThumbEE code",
        "1020-1022 1E",
    ]


# 32-bit Thumb instructions of two atoms (ETMIDR[18] is 0).


def test_two_atoms_for_a_wide_instruction() -> None:
    # E: MOVS; E E: BL; E: ADDS.
    assert run("84 84 84 84", whole_instructions=False) == ["1000-1002 1E", "1002-1006 1E", "1020-1022 1E"]
    assert run("90", whole_instructions=False) == ["1000-1006 2E", "1020-1022 1E"]


def test_an_exception_between_two_atoms() -> None:
    # The second half did not run: IRQ, 0x18 in ARM state; the preferred return is to BL.
    assert run("88 8d 80 80 80 48 1c", whole_instructions=False) == ["1000-1002 1E", "IRQ, return 1002"]


# Branch packets where none is needed (7.3.5).


def test_branch_output_says_again_what_is_known() -> None:
    # E E, and the target of BL: 0x1020.
    assert run("88 21 84") == ["1000-1006 2E", "1020-1022 1E"]


def test_only_the_last_of_several_addresses_counts() -> None:
    # After BX LR: 0x1006, and then 0x1000.
    assert run("90 07 01 84") == ["1000-1006 2E", "1020-1024 2E", "1000-1002 1E"]


def test_an_address_that_the_program_contradicts() -> None:
    # After MOVS at 0x1000 the trace is at 0x1020.
    assert run("84 21 84") == [
        "1000-1002 1E",
        "gap BAD_IMAGE: the program goes on at 0x00001002, the trace at 0x00001020",
        "1020-1022 1E",
    ]


# Synchronisation (7.10.5).


def test_periodic_isync_changes_nothing() -> None:
    assert run("88 08 01 21 10 00 00 84") == ["1000-1006 2E", "1020-1022 1E"]


@pytest.mark.parametrize(
    "info, gap",
    [("21", "gap TRACE_ON"), ("41", "gap OVERFLOW"), ("61", "gap TRACE_ON: the core was in debug state")],
)
def test_isync_after_a_discontinuity(info: str, gap: str) -> None:
    assert run("88 08 %s 31 10 00 00 84" % info) == ["1000-1006 2E", gap, "1030-1034 1E"]


def test_first_isync_may_be_periodic() -> None:
    assert story(A_PROFILE, PROGRAM, ASYNC + "08 01 01 10 00 00 84") == ["S", "1000-1002 1E"]


def test_atoms_before_the_first_isync_are_not_told() -> None:
    assert story(A_PROFILE, PROGRAM, ASYNC + "84 21 84 08 21 01 10 00 00 84")[-1] == "1000-1002 1E"
    assert len(story(A_PROFILE, PROGRAM, ASYNC + "84 21 84 08 21 01 10 00 00 84")) == 4


def test_a_load_is_in_progress_at_isync() -> None:
    # The load or store at 0x1000 takes an E atom by itself; meanwhile the instruction at 0x1020 is executing, whose
    # address is compressed against 0x1000.
    assert story(A_PROFILE, PROGRAM, ASYNC + "08 a1 01 10 00 00 21 84") == STARTED + ["1000-1002 1E", "1020-1022 1E"]


# Context (7.3.6 to 7.3.8).


def test_context_id_and_vmid() -> None:
    start = ASYNC + "08 78 56 34 12 21 01 10 00 00 "
    found = story(A_PROFILE._replace(context_id_bytes=4), PROGRAM, start + "84 6e 01 02 03 04 3c 05 6e 01 02 03 04")
    assert found == [
        "gap TRACE_ON",
        "S CID 12345678",
        "1000-1002 1E",
        "S CID 4030201",
        "S CID 4030201 VMID 5",
    ]


def test_security_and_hyp() -> None:
    # I-sync: Non-secure, Hyp. Back in Secure state there is no Hyp mode.
    assert story(A_PROFILE, PROGRAM, ASYNC + "08 2b 01 10 00 00 88 a1 a0 80 80 50 00 84") == [
        "gap TRACE_ON",
        "NS EL2",
        "1000-1006 2E",
        "S",
        "1020-1022 1E",
    ]


def test_hyp_is_told_by_the_second_information_byte() -> None:
    # Non-secure, with bit 5 of the second byte: Hyp mode.
    assert run("88 a1 a0 80 80 50 81 20 84")[1:] == ["NS EL2", "1020-1022 1E"]


# Exceptions (7.3.5).


def test_irq_and_return() -> None:
    # MOVS and BL ran. IRQ: ARM state, A[7:2] 6 for 0x18, E in the fifth byte 01001AAA; information: type 14.
    # The handler returns: SUBS, and where to.
    assert run("88 8d 80 80 80 48 1c 84 a1 a0 80 80 10 84") == [
        "1000-1006 2E",
        "IRQ, return 1020",
        "18-1c 1E",
        "1020-1022 1E",
    ]


def test_an_exception_cancels_the_instruction_before() -> None:
    # Information: cancel, type 12 (data abort), to a vector without code.  BL did not complete.
    assert run("88 89 80 80 80 48 38") == ["1000-1002 1E", "Data abort, return 1002"]


def test_a_cancelled_instruction_may_be_alone() -> None:
    assert run("88 84 89 80 80 80 48 38") == ["1000-1006 2E", "Data abort, return 1020"]


@pytest.mark.parametrize(
    "code, name",
    [
        (1, "Debug halt"),
        (2, "SMC"),
        (3, "Hyp"),
        (4, "Asynchronous data abort"),
        (5, "Jazelle or ThumbEE"),
        (8, "Reset"),
        (9, "Undefined Instruction"),
        (10, "SVC"),
        (11, "Prefetch abort"),
        (12, "Data abort"),
        (13, "Generic"),
        (14, "IRQ"),
        (15, "FIQ"),
    ],
)
def test_exceptions_of_a_profile(code: int, name: str) -> None:
    assert run("88 8d 80 80 80 48 %02x" % (code << 1)) == ["1000-1006 2E", "%s, return 1020" % name]


@pytest.mark.parametrize(
    "code, name",
    [
        (0, "Reset"),
        (1, "IRQ"),
        (4, "Jazelle or ThumbEE"),
        (5, "FIQ"),
        (6, "Asynchronous data abort"),
        (7, "Debug halt"),
    ],
)
def test_exceptions_in_the_old_fifth_byte(code: int, name: str) -> None:
    # 1CeeeAAA: no information byte follows; the state is ARM.
    vector = "8d 80 80 80 %02x" % (0x80 | code << 3)
    assert run("88 " + vector + " 84")[1:] == ["%s, return 1020" % name, "18-1c 1E"]
    cancelled = "8d 80 80 80 %02x" % (0xC0 | code << 3)
    assert run("88 " + cancelled) == ["1000-1002 1E", "%s, return 1002" % name]


def test_an_exception_changes_security_state() -> None:
    # SMC: type 2, Secure.
    found = story(A_PROFILE, PROGRAM, ASYNC + "08 29 01 10 00 00 84 8d 80 80 80 48 04 84")
    assert found == ["gap TRACE_ON", "NS", "1000-1002 1E", "SMC, return 1002", "S", "18-1c 1E"]


# Events and time (7.3.4, 7.3.9).

# A timestamp of all bits: 300.
FULL = "42 ac 82 80 80 80 80 80 80 00 "


def test_trigger_and_time() -> None:
    # Then one of which only the lowest seven bits are told.
    assert run(FULL + "84 0c 42 2d") == ["time 300", "1000-1002 1E", "event 0", "time 301"]


def test_time_is_not_told_before_all_of_it_is_known() -> None:
    assert run("42 2d 84 " + FULL + "46 2e") == ["1000-1002 1E", "time 300", "time 302"]


def test_time_of_48_bits() -> None:
    # Seven bytes; the last has six bits.
    assert run("42 ac 82 80 80 80 80 3f 42 01", wide_timestamps=False) == [
        "time %d" % (0x3F << 42 | 300),
        "time %d" % (0x3F << 42 | 0x101),
    ]


def test_gray_time() -> None:
    # 3 stands for 2, 2 for 3.
    assert run(FULL.replace("ac 82", "83 80") + "42 02", gray_timestamps=True) == ["time 2", "time 3"]


# I-sync with a count of 5.
CYCLES_THUMB = ASYNC + "70 05 21 01 10 00 00 "


def count(text: str, version: int = 5, start: str = CYCLES_THUMB) -> List[str]:
    """Decode cycle-accurate trace, without the first I-sync's gap and context."""
    config = A_PROFILE._replace(version=version, cycle_accurate=True)
    return [one for one in story(config, PROGRAM, start + text) if one not in STARTED]


@pytest.mark.parametrize(
    "headers, lines",
    [
        ("80 84", ["cycles 1", "cycles 1", "1006-1008 1E"]),
        ("84", ["cycles 1", "1006-1008 1E"]),
        ("8c", ["cycles 1", "1006-1008 1E", "cycles 1", "1008-100a 1E", "cycles 1", "1000-1002 1E"]),
        ("c4", ["cycles 1", "1006-1008 1E", "cycles 1", "1008-100a 1N"]),
        ("c0", ["cycles 1", "1006-1008 1N"]),
        ("82", ["cycles 1", "1006-100a 2E"]),
        ("86", ["cycles 1", "1006-100a 2N"]),
        ("8a", ["cycles 1", "1006-1008 1N", "1008-100a 1E"]),
        ("8e", ["cycles 1", "1006-1008 1N", "1008-100a 1N"]),
        ("92", ["1006-1008 1E"]),
        ("96", ["1006-1008 1N"]),
        ("bc 84", ["cycles 8", "cycles 1", "1006-1008 1E"]),
        ("e0", ["cycles 1", "1006-1008 1E"]),
        ("fc", ["cycles 8", "1006-1008 1E"]),
    ],
)
def test_cycle_accurate_headers(headers: str, lines: List[str]) -> None:
    # Cycles stand before the instructions that they came before; CMP, BEQ.
    assert count(headers, start=CYCLES_THUMB.replace("01 10", "07 10"))[1:] == lines


def test_cycles_of_a_gap() -> None:
    # The packet comes after the I-sync packet, and counts what lies before it: 0xC8 0x01 is 200.
    start = ASYNC + "08 21 01 10 00 00 "
    assert story(A_PROFILE._replace(cycle_accurate=True), PROGRAM, start + "84 04 c8 01 84") == [
        "gap TRACE_ON",
        "S",
        "cycles 200",
        "cycles 1",
        "1000-1002 1E",
        "cycles 1",
        "1002-1006 1E",
    ]


def test_no_count_is_unknown() -> None:
    assert count("", start=CYCLES_THUMB.replace("70 05", "70 00")) == ["cycles unknown"]
    assert count("84 04 00", start=ASYNC + "08 21 01 10 00 00 ")[0] == "cycles unknown"


@pytest.mark.parametrize(
    "info, unknown",
    [("21", ()), ("41", (0, 5)), ("61", (0,))],
)
def test_versions_that_do_not_count_through_a_discontinuity(info: str, unknown: List[int]) -> None:
    # Reasons: tracing enabled; overflow; debug state (7.3.4).
    for version in range(6):
        found = count("", version, ASYNC + "70 05 %s 01 10 00 00" % info)
        assert found[-1] == ("cycles unknown" if version in unknown else "cycles 5")
