"""Vectors worked by hand from IHI 0064 H.a: contexts and exceptions.

Lines are those of its text in ../shared/spec.
"""

from __future__ import annotations

from typing import List

import pytest

from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, M_PROFILE, Code, program, story

# A64 at 0x400000:
#   ldr x0, [x1] | bl 400010 | b . | nop | 400010: add x0, x0, #1 | ret | eret
# A32 at 0x2000: mov r0, #1 | ldr r1, [r0] | blx 3000 (T32) | bx lr; T32 at 0x3000: movs r0, #1 | bx lr
MEMORY = program(
    Code(0x400000, "200040f9 03000094 00000014 1f2003d5 00040091 c0035fd6 e0039fd6"),
    Code(0x2000, "0100a0e3 001090e5 fc0300fa 1eff2fe1"),
    Code(0x3000, "0120 7047"),
)
SYNC = ASYNC + "01 00 04 "
AT_400000 = "9d 00 00 40 00 00 00 00 00 "
# NS, SF, EL1: bits 5, 4 and 1:0 of the information byte (L12185).
CONTEXT_64 = "81 31 "
CONTEXT_32 = "81 21 "


def run(text: str, **options: object) -> List[str]:
    """Decode what follows a Trace On, without that gap."""
    found = story(A_PROFILE._replace(**options), MEMORY, SYNC + text)
    assert found[0] == "gap: tracing was off"
    return found[1:]


def test_context_and_address_in_either_order() -> None:
    # L10875: IS0 is A32 or A64 as the Context says, which may come after the Address.
    expected = ["EL1 NS 64", "400000-400008 2E"]
    assert run(CONTEXT_64 + AT_400000 + "f7") == expected
    assert run(AT_400000 + CONTEXT_64 + "f7") == expected
    assert run("85 00 00 40 00 00 00 00 00 31 f7") == expected
    # The same from one 64-bit state to the other, with nothing executed in between.
    assert run(CONTEXT_32 + AT_400000 + CONTEXT_64 + "f7") == ["EL1 NS"] + expected


def test_a32_in_32_bit_state() -> None:
    # BLX immediate goes to T32, and its return address is A32 code (L8146).
    expected = ["EL1 NS", "2000-200c 3E", "3000-3004 2E", "200c-2010 1E"]
    at_2000 = "9a 00 10 00 00 "
    assert run(CONTEXT_32 + at_2000 + "f7 f7 95 03 f7") == expected
    assert run(CONTEXT_32 + at_2000 + "ff", return_stack=True) == expected


def test_an_address_without_a_context() -> None:
    # L7619: both are needed; A32 would be a guess, and so would A64.
    assert run(AT_400000 + "f7 " + CONTEXT_64 + "f7 95 00 f7") == [
        "gap: address unknown",
        "EL1 NS 64",
        "400000-400008 2E",
    ]
    # An exception's return address tells as little.
    assert run(AT_400000 + "06 1d 95 01") == ["gap: address unknown", "IRQ, return 400004"]
    # T32 is T32 in any context; M-profile has no other.
    thumb = program(Code(0x1000, "0120 7047"))
    assert story(M_PROFILE, thumb, ASYNC + "01 00 9b 00 10 00 00 f7") == ["1000-1004 2E"]


def test_lost_synchronisation_loses_the_context() -> None:
    # What was missed may have changed it.
    stream = CONTEXT_64 + AT_400000 + "f7 09 " + SYNC + AT_400000 + "f7"
    assert run(stream) == [
        "EL1 NS 64",
        "400000-400008 2E",
        "gap: bad packet",
        "gap: tracing was off",
        "gap: address unknown",
    ]


def test_trace_on_keeps_the_context() -> None:
    # L6797: it is told again only when it has changed.
    assert run(CONTEXT_64 + AT_400000 + "f7 04 95 04 f7") == [
        "EL1 NS 64",
        "400000-400008 2E",
        "gap: tracing was off",
        "400010-400018 2E",
    ]


def test_identifiers_stay_until_they_are_told_anew() -> None:
    # L12203: bit 7 of the information byte says that a Context ID follows, bit 6 a VMID, which comes first.
    stream = "81 f1 01 00 00 00 aa 00 00 00 81 31 81 b2 bb 00 00 00 81 72 02 00 00 00 80"
    assert run(stream) == [
        "EL1 NS 64 CID aa VMID 1",
        "EL2 NS 64 CID bb VMID 1",
        "EL2 NS 64 CID bb VMID 2",
    ]


def test_trace_info_resets_what_contexts_are_compressed_against() -> None:
    # Table 6-4, L8777: to zero.  The context itself stays until a Context element changes it.
    told = "81 f1 01 00 00 00 aa 00 00 00 " + AT_400000 + "f7 "
    first = ["EL1 NS 64 CID aa VMID 1", "400000-400008 2E"]
    again = ASYNC + "01 00 "
    assert run(told + again + "f7 81 f1 01 00 00 00 aa 00 00 00 " + AT_400000 + "f7") == first + [
        "400010-400018 2E",
        "400000-400008 2E",
    ]
    # Left out after it, they are zero.
    assert run(told + again + CONTEXT_64) == first + ["EL1 NS 64 CID 0 VMID 0"]
    # A Context packet without payload after it is all zero (L11183).
    assert run(told + again + "80") == first + ["EL0 S CID 0 VMID 0"]


def test_identifiers_that_are_not_traced_are_not_told() -> None:
    assert run(CONTEXT_64 + ASYNC + "01 00 " + CONTEXT_64) == ["EL1 NS 64"]


@pytest.mark.parametrize("size, payload, vmid", [(1, "55", "55"), (2, "55 01", "155"), (4, "55 01 00 80", "80000155")])
def test_vmid_sizes(size: int, payload: str, vmid: str) -> None:
    # TRCIDR2.VMIDSIZE, L16213.
    assert run("81 71 %s " % payload, vmid_bytes=size) == ["EL1 NS 64 VMID " + vmid]


def test_exception_return_of_a_profile() -> None:
    # L7566: ERET is an E atom, then the Exception Return, which is no P0 element, then where it went.  The return stack
    # never matches on it (L8178), though the BL has pushed 0x400008.
    stream = CONTEXT_64 + AT_400000 + "f7 04 95 06 f7 07 81 30 95 04 f7 f7"
    assert run(stream, return_stack=True) == [
        "EL1 NS 64",
        "400000-400008 2E",
        "gap: tracing was off",
        "400018-40001c 1E",
        "exception return",
        "EL0 NS 64",
        "400010-400018 2E",
        "400008-40000c 1E",
    ]


@pytest.mark.parametrize(
    "number, name",
    [
        (0x01, "Debug halt"),
        (0x02, "Call"),
        (0x03, "Trap"),
        (0x04, "System error"),
        (0x06, "Inst debug"),
        (0x07, "Data debug"),
        (0x0A, "Alignment"),
        (0x0B, "Inst fault"),
        (0x0C, "Data fault"),
        (0x0E, "IRQ"),
        (0x0F, "FIQ"),
    ],
)
def test_exception_types_of_a_profile(number: int, name: str) -> None:
    # Table 6-12, L9588.
    found = run(CONTEXT_64 + AT_400000 + "06 %02x 95 01" % (number << 1 | 1))
    assert found == ["EL1 NS 64", "400000-400004 1E", "%s, return 400004" % name]


def test_pe_reset_of_a_profile() -> None:
    assert run(CONTEXT_64 + AT_400000 + "06 01 95 01") == ["EL1 NS 64", "PE reset, return unknown"]


def test_implementation_defined_exception_of_a_profile() -> None:
    # L7610, TYPE 0x10 to 0x17: without an Address execution goes on.
    found = run(CONTEXT_64 + AT_400000 + "06 21 95 01 f7")
    assert found[1:] == ["400000-400004 1E", "exception type 0x10, return 400004", "400004-400008 1E"]


def test_exception_with_address_and_context() -> None:
    # L9559: with E1:E0 = 0b10 Context and Address elements come before the Exception: SF decides what IS0 means.
    stream = CONTEXT_64 + AT_400000 + "f7 04 95 05 f7 06 5c 82 00 10 00 00 21 81 31 " + AT_400000 + "f7"
    assert run(stream)[2:] == [
        "gap: tracing was off",
        "400014-400018 1E",
        "EL1 NS",
        "IRQ, return 2000",
        "EL1 NS 64",
        "400000-400008 2E",
    ]


def test_high_addresses() -> None:
    # A 32-bit Long Address keeps bits 63:32 (L11100), a branch back at the bottom of a region too.
    high = program(Code(0xFFFFFFC000080000, "1f2003d5 ffffff17"))
    there = "9d 00 00 08 00 c0 ff ff ff "
    stream = SYNC + CONTEXT_64 + there + "f7 04 9a 00 00 08 00 f7"
    assert story(A_PROFILE, high, stream)[2:] == [
        "ffffffc000080000-ffffffc000080008 2E",
        "gap: tracing was off",
        "ffffffc000080000-ffffffc000080008 2E",
    ]
    # Nor are they lost when the Context comes after the Address.
    assert story(A_PROFILE, high, SYNC + there + CONTEXT_64 + "f7")[2:] == ["ffffffc000080000-ffffffc000080008 2E"]


def test_addresses_in_32_bit_state_have_32_bits() -> None:
    # From A64 code high up in memory to A32 code: what a Long Address leaves in bits 63:32 is of no consequence.
    stream = CONTEXT_64 + "9d 00 00 08 00 c0 ff ff ff 06 1d 90 81 21 9a 00 10 00 00 f7 06 1d 96 81 30"
    assert run(stream) == [
        "EL1 NS 64",
        "IRQ, return ffffffc000080000",
        "EL1 NS",
        "2000-200c 3E",
        "3000-3002 1E",
        "IRQ, return 3002",
    ]


def test_addresses_before_any_context_have_all_their_bits() -> None:
    # As after a Trace Info in the middle of a stream: IRQ, whose Context only comes with the handler.
    stream = SYNC + "06 1d 9d 00 00 08 00 c0 ff ff ff " + CONTEXT_64 + "9d 00 18 00 00 00 00 00 00"
    assert "IRQ, return ffffffc000080000" in story(A_PROFILE, program(), stream)
