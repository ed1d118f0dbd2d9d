"""Vectors worked by hand from IHI 0035B, chapter 4: executions."""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.protocols.ptm.decoder import Decoder
from tests.protocols.armv7_lines import line
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.histories import decode_pieces
from tests.protocols.ptm.streams import ASYNC, PLAIN, STACK, story

# T32:
# 1000 movs r0, #1 | 1002 bl 1020 | 1006 cmp r0, #0 | 1008 beq 1000 | 100a isb | 100e dsb | 1012 b 1000
# 1020 adds r0, #1 | 1022 bx lr
# 1030 blx 2000 | 1034 nop.w | 1038 nop
# 1040 movs r0, #1 | 1042 enterx | 1046 bx lr
# 1060 bl 1070 | 1064 nop | 1066 bx lr | 1070 blx r3 | 1072 bx lr | 1080 it eq | 1082 bleq 1070 | 1086 nop | 1088 bx lr
# A32:
# 2000 mov r0, #1 | 2004 bl 2010 | 2008 movne r0, #2 | 200c b 2000 | 2010 bx lr | 2014 svc #0
# 2020 beq 2020 | 2024 beq 2020 | 2028 beq 2020 | 202c beq 2020 | 2030 beq 2020
# 0008 movs pc, lr | 0018 subs pc, lr, #4
PROGRAM = program(
    Code(0x1000, "0120 00f00df8 0028 fad0 bff36f8f bff34f8f f5e7"),
    Code(0x1020, "0130 7047"),
    Code(0x1030, "00f0e6ef aff30080 00bf"),
    Code(0x1040, "0120 bff31f8f 7047"),
    Code(0x1060, "00f006f8 00bf 7047"),
    Code(0x1070, "9847 7047"),
    Code(0x1080, "08bf fff7f5ff 00bf 7047"),
    Code(0x2000, "0100a0e3 010000eb 0200a013 fbffffea 1eff2fe1 000000ef"),
    Code(0x2020, "feffff0a fdffff0a fcffff0a fbffff0a faffff0a"),
    Code(0x0008, "0ef0b0e1"),
    Code(0x0018, "04f05ee2"),
)

THUMB = ASYNC + "08 %02x 10 00 00 21 "
# I-sync: the address, bit 0 of which is T, then the reason: tracing was enabled; Secure.
ARM = ASYNC + "08 %02x 20 00 00 21 "
STARTED = ["gap TRACE_ON", "S"]
# In ARM state to 0x18: A[7:2] is 6; information follows the fifth byte; type 14.
IRQ = "8d 80 80 80 48 1c "


def run(text: str, at: int = 0x1000, **options: object) -> List[str]:
    """Decode after an I-sync packet, without its two elements."""
    start = THUMB % (at & 0xFF | 1) if at < 0x2000 else ARM % (at & 0xFF)
    found = story(PLAIN._replace(**options), PROGRAM, start + text)
    assert found[:2] == STARTED
    return found[2:]


# Atoms (4.5.3): one for each waypoint; 0 is E.  Above them is a stop bit; the oldest is the highest below it.


def test_an_atom_for_each_waypoint() -> None:
    # MOVS is told with BL; a direct branch needs no packet.
    assert run("84") == ["1000-1006 2E"]


def test_a_branch_packet_implies_an_atom() -> None:
    # Up to BX LR, and to 0x1006: A[6:1] is 3. BEQ is not taken.
    assert run("84 07 86") == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2N"]


@pytest.mark.parametrize(
    "packet, atoms",
    [
        ("84", "E"),
        ("86", "N"),
        ("88", "EE"),
        ("8a", "EN"),
        ("8c", "NE"),
        ("8e", "NN"),
        ("90", "EEE"),
        ("9e", "NNN"),
        ("98", "NEE"),
        ("a0", "EEEE"),
        ("a2", "EEEN"),
        ("be", "NNNN"),
        ("c0", "EEEEE"),
        ("fe", "NNNNN"),
        ("e0", "NEEEE"),
        ("d4", "ENENE"),
    ],
)
def test_packets_of_one_to_five_atoms(packet: str, atoms: str) -> None:
    # A BEQ is taken to the first of them, or is followed by the next.
    one_by_one = "".join({"E": "84 ", "N": "86 "}[atom] for atom in atoms)
    assert run(packet, 0x2020) == run(one_by_one, 0x2020)
    assert [line[-1] for line in run(packet, 0x2020)] == list(atoms)


def test_a_direct_branch_back() -> None:
    # BEQ taken: MOVS and BL again.
    assert run("84 07 88") == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2E", "1000-1006 2E"]


def test_isb_is_a_waypoint() -> None:
    # N N: BEQ and ISB, whatever ISB's atom says. DSB is none: B.
    assert run("84 07 86 86 84 84") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "1006-100a 2N",
        "100a-100e 1N",
        "100e-1014 2E",
        "1000-1006 2E",
    ]


def test_barriers_may_be_waypoints() -> None:
    # ETMCCER[24].
    assert run("84 07 86 84 84 84", barriers=True)[3:] == ["100a-100e 1E", "100e-1012 1E", "1012-1014 1E"]


def test_no_target() -> None:
    assert run("88 84") == ["1000-1006 2E", "1020-1024 2E", "gap NO_ADDRESS: no target for the branch before"]


def test_missing_code_is_told_once() -> None:
    # BLX leads to A32; the branch back to 0x1034: the state is told by the fifth byte, 0001AAAA.
    assert run("84 84 b5 a0 80 80 10 84 84 08 01 10 00 00 01 84", 0x1030) == [
        "1030-1034 1E",
        "2000-2008 2E",
        "2010-2014 1E",
        "1034-103a 2E",
        "gap NO_CODE 103a",
        "1000-1006 2E",
    ]


# Addresses (4.5.4).


def test_addresses_of_arm_state() -> None:
    # From T32 BX LR to A32 0x2000: fifth byte 00001AAA. Then BX LR with A[7:2] 2.
    assert run("84 81 a0 80 80 08 84 05 84")[2:] == ["2000-2008 2E", "2010-2014 1E", "2008-2010 2E"]


def test_two_bytes_of_address() -> None:
    # Thumb: A[6:1] 0x18, A[12:7] 0x20: 0x1030.  Bit 6 of the last byte would tell of information.
    assert run("84 b1 20 84")[2:] == ["1030-1034 1E"]


def test_branch_broadcast() -> None:
    # The packet of BL itself: 0x1020. It stands in for the atom.
    assert run("21 07 86") == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2N"]


def test_a_target_that_the_program_contradicts() -> None:
    # BL goes to 0x1020, the trace to 0x1030.
    assert run("31 84") == [
        "1000-1006 2E",
        "gap BAD_IMAGE: the program goes on at 0x00001020, the trace at 0x00001030",
        "1030-1034 1E",
    ]


def test_jazelle_is_not_followed() -> None:
    # Fifth byte 001AAAAA; back to 0x1020 in T32.
    assert run("84 81 80 80 80 20 84 86 a1 a0 80 80 10 07 86")[2:] == [
        "gap NOT_FOLLOWED: Jazelle bytecode",
        "1020-1024 2E",
        "1006-100a 2N",
    ]


def test_enterx_is_a_waypoint_to_thumbee() -> None:
    assert run("84 84 08 01 10 00 00 01 84", 0x1040) == [
        "1040-1046 2E",
        "gap NOT_FOLLOWED: ThumbEE code",
        "1000-1006 2E",
    ]


# Waypoint update (4.5.5) and exceptions (4.5.4).


def test_an_update_is_up_to_and_with_the_instruction() -> None:
    # 0x1006: CMP ran.  IRQ; SUBS returns to 0x1008, in T32.
    assert run("84 07 72 06 " + IRQ + "89 a0 80 80 10 86") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "1006-1008 1E",
        "IRQ, return 1008",
        "18-1c 1E",
        "1008-100a 1N",
    ]


def test_an_exception_right_after_a_waypoint() -> None:
    assert run("84 " + IRQ) == ["1000-1006 2E", "IRQ, return 1020"]


def test_an_update_of_a_long_stretch() -> None:
    # In the middle of it; the waypoint is told later.  0x2000: the first bit of the address bytes means nothing.
    assert run("72 00 84", 0x2000) == ["2000-2004 1E", "2004-2008 1E"]


def test_an_update_with_state() -> None:
    # Fifth byte with bit 6: one more byte, AltISA in its bit 6.  T32, 0x1006.
    assert run("84 07 72 86 a0 80 80 10 86")[2:] == ["1006-1008 1E", "1008-100a 1N"]


def test_an_update_that_the_program_contradicts() -> None:
    # From 0x1006 to 0x1012: BEQ and ISB are between, each of which would have a packet.
    assert run("84 07 72 12 86") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "gap BAD_IMAGE: the program does not go from 0x00001008 to 0x00001012",
    ]
    # And one that lies behind.
    assert run("84 07 72 00 86")[2:] == ["gap BAD_IMAGE: the program does not go from 0x00001006 to 0x00001000"]


def test_an_update_into_missing_code() -> None:
    # 0x103C, from 0x1034: NOP.W and NOP are known.
    assert run("72 3c " + IRQ, 0x1034) == ["1034-103a 2E", "gap NO_CODE 103a", "IRQ, return unknown"]


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
def test_exceptions(code: int, name: str) -> None:
    assert run("84 8d 80 80 80 48 %02x 84" % (code << 1)) == ["1000-1006 2E", "%s, return 1020" % name, "18-1c 1E"]


def test_exceptions_of_both_security_states() -> None:
    # Non-secure: SMC into Secure state; FIQ there; an exception into Non-secure state; Hyp mode is told by bit 5 of the
    # second information byte.
    start = ASYNC + "08 01 10 00 00 29 "
    assert story(PLAIN, PROGRAM, start + "84 8d 80 80 80 48 04 8d 80 80 80 48 1e 8d 80 80 80 48 87 20 84") == [
        "gap TRACE_ON",
        "NS",
        "1000-1006 2E",
        "SMC, return 1020",
        "S",
        "FIQ, return 18",
        "Hyp, return 18",
        "NS EL2",
        "18-1c 1E",
    ]


def test_a_branch_that_changes_security_state() -> None:
    # Type 0: no exception.  BX LR to 0x1006, Non-secure.
    assert run("84 87 60 01 86") == [
        "1000-1006 2E",
        "1020-1024 2E",
        "NS",
        "1006-100a 2N",
    ]


def test_exception_return() -> None:
    assert run("84 07 76 86") == ["1000-1006 2E", "1020-1024 2E", "exception return", "1006-100a 2N"]


# Return stack (4.13).


def test_the_return_stack_knows_the_target() -> None:
    assert run("88 86", return_stack=True) == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2N"]


def test_an_entry_is_taken_off_before_one_is_put_on() -> None:
    # BL puts on 0x1064.  BLX takes that off, as its target, and puts on 0x1072.  BX goes there.  BX: nothing is left.
    assert run("84 84 84 84 84", 0x1060, return_stack=True) == [
        "1060-1064 1E",
        "1070-1072 1E",
        "1064-1068 2E",
        "1072-1074 1E",
        "gap NO_ADDRESS: no target for the branch before",
    ]


def test_a_branch_packet_leaves_the_return_stack_alone() -> None:
    # BL puts on 0x1064.  BLX has a packet, to 0x1064, and puts on 0x1072.  BX to 0x1072, BX to 0x1064: both by atoms.
    assert run("84 65 84 84 84", 0x1060, return_stack=True) == [
        "1060-1064 1E",
        "1070-1072 1E",
        "1064-1068 2E",
        "1072-1074 1E",
        "1064-1068 2E",
    ]


@pytest.mark.parametrize("atoms", [1, 5])
@pytest.mark.parametrize("calls", [3, 4, 5, 6, 12, 30])
@pytest.mark.parametrize("pieces", [1, 4, 1000])
def test_a_deep_return_stack(calls: int, atoms: int, pieces: int) -> None:
    # 1000 it eq | 1002 bleq 100a | 1006 bx lr | 100a it eq | 100c bleq 1000 | 1010 bx lr: two functions that call one
    # another, and at last one does not: N.  Then all return, and one more.
    memory = program(Code(0x1000, "08bf 00f002f8 7047 00bf 08bf fff7f8ff 7047"))
    told = "E" * calls + "N" + "E" * (calls + 1)
    packets = [{"E": "84", "N": "86"}[atom] for atom in told]
    if atoms == 5:
        whole = len(told) // 5
        five = [told[5 * at : 5 * at + 5] for at in range(whole)]
        codes = [sum((atom == "N") << 5 - at for at, atom in enumerate(one)) for one in five]
        packets = ["%02x" % (0xC0 | code) for code in codes] + packets[5 * whole :]
    unit = Decoder(STACK, memory)
    stream = bytes.fromhex(THUMB % 1 + " ".join(packets))
    data = stream * 5
    cuts = [data[at : at + pieces] for at in range(0, len(data), pieces)]
    found = [line(element) for _, element in decode_pieces(unit, cuts if pieces > 1 else [data])]
    place, back, expected = 0x1000, [], ["gap TRACE_ON"]
    for atom in told:
        called = place in (0x1000, 0x100A)
        end = place + (6 if called else 2)
        expected.append("%x-%x %d%s" % (place, end, 2 if called else 1, atom))
        if called and atom == "E":
            back.append(end)
            place = 0x100A - (place - 0x1000)
        elif called:
            place = end
        else:
            place = back.pop() if back else 0
    assert [one for one in found if one != "S"] == expected * 5


@pytest.mark.parametrize("info", ["01", "21", "41", "61"])
def test_isync_empties_the_return_stack(info: str) -> None:
    found = run("84 08 21 10 00 00 %s 84 84" % info, return_stack=True)
    assert found[-2:] == ["1020-1024 2E", "gap NO_ADDRESS: no target for the branch before"]


def test_a_branch_not_taken_puts_nothing_on_the_return_stack() -> None:
    assert run("86 84", 0x1080, return_stack=True) == ["1080-1086 2N", "1086-108a 2E"]


def test_a_branch_that_is_always_taken_has_no_n() -> None:
    # BL; then BX LR not taken, which cannot be; then a branch packet, whose atom belongs nowhere, to 0x1006.
    assert run("84 86 84 07 86") == [
        "1000-1006 2E",
        "gap BAD_IMAGE 1022: the branch at 0x00001022 is always taken, the trace says it was not",
        "1006-100a 2N",
    ]


def test_arm_code_begins_at_words() -> None:
    # An I-sync packet in ARM state whose address has bit 1 set.
    assert run("84 08 04 20 00 00 01 84", 0x200A) == [
        "gap BAD_IMAGE 200a: no A32 instruction begins at 0x0000200a",
        "2004-2008 1E",
    ]


# Synchronisation (4.5.1).


def test_periodic_isync_changes_nothing() -> None:
    assert run("84 08 21 10 00 00 01 07 86") == ["1000-1006 2E", "1020-1024 2E", "1006-100a 2N"]


@pytest.mark.parametrize(
    "info, gap",
    [("21", "gap TRACE_ON"), ("41", "gap OVERFLOW"), ("61", "gap TRACE_ON: the core was in debug state")],
)
def test_isync_after_a_discontinuity(info: str, gap: str) -> None:
    assert run("84 08 31 10 00 00 %s 84" % info) == ["1000-1006 2E", gap, "1030-1034 1E"]


def test_nothing_is_executed_before_the_first_isync() -> None:
    assert story(PLAIN, PROGRAM, ASYNC + "84 07 72 06 76 " + IRQ + "08 01 10 00 00 01 84") == [
        "gap NO_ADDRESS: no I-sync packet yet",
        "S",
        "1000-1006 2E",
    ]


# Context and events.


def test_context_id_and_vmid() -> None:
    found = story(
        PLAIN._replace(context_id_bytes=4),
        PROGRAM,
        ASYNC + "08 01 10 00 00 21 78 56 34 12 84 6e 01 02 03 04 3c 05 6e 01 02 03 04",
    )
    assert found == [
        "gap TRACE_ON",
        "S CID 12345678",
        "1000-1006 2E",
        "S CID 4030201",
        "S CID 4030201 VMID 5",
    ]


def test_trigger_and_time() -> None:
    # 300 in full, then only its lowest seven bits.
    assert run("42 ac 82 80 80 80 80 80 80 00 84 0c 46 2d") == ["time 300", "1000-1006 2E", "event 0", "time 301"]


def test_gray_time() -> None:
    assert run("42 83 80 80 80 80 80 80 80 00 42 02", gray_timestamps=True) == ["time 2", "time 3"]


# Cycles (4.4): each count stands after what it belongs to.


def count(text: str, version: int = 1, start: str = ASYNC + "08 01 10 00 00 21 14 ") -> List[str]:
    """Decode cycle-accurate trace; the I-sync packet has a count of 5."""
    return story(PLAIN._replace(version=version, cycle_accurate=True), PROGRAM, start + text)[2:]


def test_cycles_of_atoms() -> None:
    # 1CccccF0: E with 3; N with 20, of which bits 10 to 4 are in a second byte; five bytes.
    at_beq = ASYNC + "08 07 10 00 00 21 14 "
    assert count("8c") == ["cycles 5", "1000-1006 2E", "cycles 3"]
    assert count("d2 01", start=at_beq) == ["cycles 5", "1006-100a 2N", "cycles 20"]
    assert count("fe ff ff ff 7f", start=at_beq) == ["cycles 5", "1006-100a 2N", "cycles %d" % 0xFFFFFFFF]


def test_no_cycles() -> None:
    assert count("80") == ["cycles 5", "1000-1006 2E"]


def test_cycles_of_branches_and_exceptions() -> None:
    # The count follows the address, or the information: 0CccccXX.
    assert count("8c 07 0c " + IRQ + "50 01") == [
        "cycles 5",
        "1000-1006 2E",
        "cycles 3",
        "1020-1024 2E",
        "cycles 3",
        "IRQ, return 1006",
        "cycles 20",
    ]


def test_cycles_of_timestamps() -> None:
    assert count("42 ac 82 80 80 80 80 80 80 00 0c 8c") == [
        "cycles 5",
        "cycles 3",
        "time 300",
        "1000-1006 2E",
        "cycles 3",
    ]


def test_no_cycles_in_a_periodic_isync() -> None:
    assert count("8c 08 21 10 00 00 01 8c") == ["cycles 5", "1000-1006 2E", "cycles 3", "1020-1024 2E", "cycles 3"]


@pytest.mark.parametrize("version", [0, 1])
def test_cycles_after_a_discontinuity(version: int) -> None:
    # From PFTv1.1 what the count says after an overflow or debug state is not known.
    for info, known in (("21", True), ("41", version < 1), ("61", version < 1)):
        found = count("", version, ASYNC + "08 01 10 00 00 %s 14" % info)
        assert found == ["cycles 5" if known else "cycles unknown"]
