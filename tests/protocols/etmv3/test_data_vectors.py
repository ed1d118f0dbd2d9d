"""Vectors worked by hand from IHI 0014Q, 7.4 and 7.5: transfers."""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import DataGap, Event, Exception_, Transfer
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.decoder import Decoder
from tests.protocols.armv7_lines import line
from tests.protocols.etmv3.streams import ASYNC, DATA
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.histories import history_of, same

# T32:
# 1000 ldr r0, [r1] | 1002 str r0, [r1] | 1004 ldmia r0!, {r1, r2} | 1006 adds r0, #1 | 1008 push {r4, lr}
# 100a ldrb r0, [r1] | 100c it ne | 100e ldrne r0, [r1] | 1010 b 1000
# 1020 movs r1, #0 | 1022 bx lr
# A32:
# 2000 swp r0, r1, [r2] | 2004 mrc p15, 0, r0, c0, c0, 0 | 2008 strex r0, r1, [r2] | 200c ldrd r0, r1, [r2]
# 2010 mcrr p15, 0, r0, r1, c2
PROGRAM = program(
    Code(0x1000, "0868 0860 06c8 0130 10b5 0878 18bf 0868 f6e7"),
    Code(0x1020, "0021 7047"),
    Code(0x2000, "910002e1 100f10ee 910f82e1 d000c2e1 020f41ec"),
)
THUMB = ASYNC + "08 21 %02x 10 00 00 "
ARM = ASYNC + "08 21 %02x 20 00 00 "
# The address 0x20000000 in full: seven bits a byte, four in the fifth.
RAM = "80 80 80 80 02 "
WORD = "78 56 34 12 "


def told(data: bytes, unit: Etmv3Config) -> List[str]:
    """List loads, stores and gaps, those of instructions by address."""
    decoder = Decoder(unit, PROGRAM)
    history = history_of(decoder.decode(data, same), decoder)
    found = []
    for number in range(1, len(history) + 1):
        address = history.instruction(number).address
        found += ["%x: %s" % (address, transfer_line(one)) for one in history.transfers(number)]
    for event in history.events:
        found += ["%s: %s" % (name_of(event), transfer_line(one)) for one in history.event_transfers(event)]
        if isinstance(event, DataGap):
            found.append(line(event))
    return found


def name_of(event: Event) -> str:
    return event.name if isinstance(event, Exception_) else type(event).__name__


def transfer_line(one: Transfer) -> str:
    kind = {True: "store", False: "load", None: "load or store"}[one.store]
    where = "" if one.address is None else " at %x" % one.address
    value = "" if one.value is None else " of %x" % one.value
    role = "" if one.role is TransferRole.DATA else " (%s)" % one.role.name
    return kind + ("" if one.size is None else " %d" % one.size) + where + value + role + ("" if one.certain else "?")


def run(text: str, at: int = 0x1000, unit: Etmv3Config = DATA) -> List[str]:
    """Decode what follows an I-sync packet for an address."""
    start = THUMB % (at & 0xFF | 1) if at < 0x2000 else ARM % (at & 0xFF)
    return told(bytes.fromhex(start + text), unit)


# Addresses and values (7.4.2): 00A0SS10.


@pytest.mark.parametrize(
    "packet, value",
    [
        ("2e " + RAM + WORD, "12345678"),
        ("2a " + RAM + "78 56", "5678"),
        ("26 " + RAM + "78", "78"),
        ("22 " + RAM, "0"),
    ],
)
def test_values_of_all_sizes(packet: str, value: str) -> None:
    # Leading zeros are left out.
    assert run("84 " + packet) == ["1000: load 4 at 20000000 of " + value]


def test_addresses_are_compressed() -> None:
    # STR: only A[6:0] changes. Then LDM: A[13:0], and 4 up.  PUSH: A[20:0].
    packets = "84 2e " + RAM + WORD + "84 26 04 01 84 26 84 01 02 06 03 84 84 26 84 81 01 04 06 05"
    assert run(packets) == [
        "1000: load 4 at 20000000 of 12345678",
        "1002: store 4 at 20000004 of 1",
        "1004: load 4 at 20000084 of 2",
        "1004: load 4 at 20000088 of 3",
        "1008: store 4 at 20004084 of 4",
        "1008: store 4 at 20004088 of 5",
    ]


def test_an_address_is_not_told_before_all_of_it_is_known() -> None:
    assert run("84 26 04 01 84 26 " + RAM + "02") == ["1000: load 4 of 1", "1002: store 4 at 20000000 of 2"]


def test_an_address_of_big_endian_data() -> None:
    # BE is bit 4 of the fifth byte.
    assert run("84 26 " + RAM.replace("02", "12") + "01") == ["1000: load 4 at 20000000 of 1"]


def test_addresses_that_are_not_contiguous() -> None:
    # A further packet of an LDM with an address of its own, as where memory wraps around.
    assert run("84 26 " + RAM + "02 26 00 03", 0x1004) == [
        "1004: load 4 at 20000000 of 2",
        "1004: load 4 at 20000000 of 3",
    ]


def test_addresses_only() -> None:
    assert run("84 22 " + RAM, unit=DATA._replace(data_values=False)) == ["1000: load 4 at 20000000"]


def test_values_only() -> None:
    # The A bit has no meaning then.
    unit = DATA._replace(data_addresses=False)
    assert run("84 0e " + WORD + "84 26 01", unit=unit) == ["1000: load 4 of 12345678", "1002: store 4 of 1"]


def test_an_instruction_without_packets() -> None:
    # ViewData left it out.
    assert run("84 84 26 " + RAM + "01") == ["1002: store 4 at 20000000 of 1"]


def test_a_load_whose_condition_failed() -> None:
    # IT, LDRNE with N, B, and LDR.
    assert run("84 c0 88 26 " + RAM + "01", 0x100C) == ["1000: load 4 at 20000000 of 1"]
    assert run("88 26 " + RAM + "01", 0x100C) == ["100e: load 4 at 20000000 of 1"]


def test_atoms_after_a_load() -> None:
    # Data belongs to the last data instruction: LDM and ADDS in one header.
    assert run("88 26 " + RAM + "01 06 02", 0x1004) == [
        "1004: load 4 at 20000000 of 1",
        "1004: load 4 at 20000004 of 2",
    ]


def test_sizes_are_the_instructions() -> None:
    assert run("84 26 " + RAM + "01", 0x100A) == ["100a: load 1 at 20000000 of 1"]


def test_a_doubleword_is_two_words() -> None:
    assert run("84 26 " + RAM + "01 06 02", 0x200C) == [
        "200c: load 4 at 20000000 of 1",
        "200c: load 4 at 20000004 of 2",
    ]


# Value not traced (7.4.5).


def test_only_some_words_are_traced() -> None:
    # The address is told with the first one, though its value is not.
    assert run("84 7a " + RAM + "06 02", 0x1004) == ["1004: load 4 at 20000004 of 2"]
    assert run("84 26 " + RAM + "01 6a", 0x1004) == ["1004: load 4 at 20000000 of 1"]


def test_tracing_begins_within_a_load_of_several_words() -> None:
    # The last packet is of the last word.
    assert run("84 26 " + RAM + "02", 0x1004) == ["1004: load 4 at 20000000 of 2"]


def test_more_packets_than_words() -> None:
    assert run("84 26 " + RAM + "02 06 03") == [
        "1000: load 4 at 20000000 of 2?",
        "1000: load 4 at 20000004 of 3?",
    ]


# SWP (7.4.2).


def test_swap() -> None:
    # In ETMv3.0 only the first access has an address; from ETMv3.1 both have.
    unit = DATA._replace(version=0)
    assert run("84 26 " + RAM + "01 06 02", 0x2000, unit) == [
        "2000: load 4 at 20000000 of 1",
        "2000: store 4 at 20000000 of 2",
    ]
    assert run("84 26 " + RAM + "01 26 00 02", 0x2000) == [
        "2000: load 4 at 20000000 of 1",
        "2000: store 4 at 20000000 of 2",
    ]


# Out of order (7.4.3).


def test_a_late_value() -> None:
    # Placeholder with tag 1; ADDS is executed; the value. 01A1TT00, and 0TT0SS00.
    assert run("84 74 " + RAM + "84 26 04 05 2c " + WORD) == [
        "1000: load 4 at 20000000 of 12345678",
        "1002: store 4 at 20000004 of 5",
    ]


def test_late_values_of_other_order() -> None:
    # Tags 2 and 3; that of tag 3 comes first.
    assert run("84 78 " + RAM + "84 7c 04 64 01 44 02") == [
        "1000: load 4 at 20000000 of 2",
        "1002: store 4 at 20000004 of 1",
    ]


def test_late_values_of_one_tag() -> None:
    assert run("84 74 " + RAM + "54 24 01 24 02", 0x1004) == [
        "1004: load 4 at 20000000 of 1",
        "1004: load 4 at 20000004 of 2",
    ]


def test_a_value_that_never_comes() -> None:
    assert run("84 74 " + RAM) == ["1000: load 4 at 20000000"]


def test_a_late_value_that_nothing_waits_for() -> None:
    assert run("84 24 01") == ["data gap UNPLACED: out of order, and nothing waits for it"]


# Store failed (7.4.4).


def test_a_store_that_failed() -> None:
    assert run("84 26 " + RAM + "01 50", 0x2008) == [
        "2008: store 4 at 20000000",
        "2008: store 4 of 1 (STATUS)",
    ]


def test_a_store_that_took_place() -> None:
    assert run("84 26 " + RAM + "01", 0x2008) == ["2008: store 4 at 20000000 of 1"]


# Data suppressed (7.4.6).


def test_suppressed() -> None:
    # What is traced goes on with the next data instruction.
    assert run("84 62 84 26 " + RAM + "01") == ["1002: store 4 at 20000000 of 1", "data gap SUPPRESSED"]


def test_suppressed_within_an_instruction() -> None:
    # How many packets are missing nobody knows.
    assert run("84 26 " + RAM + "01 62", 0x1004) == ["1004: load 4 at 20000000 of 1?", "data gap SUPPRESSED"]


# Coprocessor registers (ETMCR[1]).


def test_coprocessor_registers() -> None:
    unit = DATA._replace(coprocessor=True)
    assert run("84 06 07", 0x2004, unit) == ["2004: load 4 of 7 (COPROCESSOR)"]
    assert run("84 06 07 06 08", 0x2010, unit) == [
        "2010: store 4 of 7 (COPROCESSOR)",
        "2010: store 4 of 8 (COPROCESSOR)",
    ]
    # Without them the packets are nobody's.
    assert run("84 06 07", 0x2004) == ["data gap UNPLACED"]


# Exceptions (7.5).


def test_data_of_a_cancelled_instruction() -> None:
    # Data abort: cancel, type 12, to 0x10 in ARM state.
    assert run("84 26 " + RAM + "01 89 80 80 80 48 38") == [
        "data gap UNPLACED: 1 of an instruction that did not complete"
    ]


def test_stacking_of_m_profile() -> None:
    # LDR; Exception entry; the frame, of which two words; PendSV, to 0x1020.
    unit = DATA._replace(m_profile=True, version=5)
    entry = "7e 26 " + RAM + "01 06 02 91 60 1c "
    exit_ = "88 76 26 " + RAM + "03 "
    unit = unit._replace(alternative_branches=True)
    assert run("84 26 04 09 " + entry + exit_, unit=unit) == [
        "1000: load 4 of 9",
        "PendSV: store 4 at 20000000 of 1",
        "PendSV: store 4 at 20000004 of 2",
        "ExceptionReturn: load 4 at 20000000 of 3",
    ]
    # The packets may also come after the branch.
    later = "91 60 1c 7e 26 " + RAM + "01 06 02 "
    assert run("84 26 04 09 " + later, unit=unit) == [
        "1000: load 4 of 9",
        "PendSV: store 4 at 20000000 of 1",
        "PendSV: store 4 at 20000004 of 2",
    ]


# Where instructions are not known.


def test_data_only() -> None:
    # An I-sync packet has no address then.
    unit = DATA._replace(data_only=True)
    stream = bytes.fromhex(ASYNC + "08 21 26 " + RAM + "01 26 04 02")
    assert told(stream, unit) == ["data gap UNPLACED: instructions are not traced"]


def test_data_of_unknown_code() -> None:
    # At 0x1024 there is no code: told once, and again after the next I-sync packet.
    more = "08 21 01 10 00 00 84 26 04 02"
    assert run("84 26 " + RAM + "01 06 02 " + more, 0x1024) == [
        "1000: load 4 at 20000004 of 2",
        "data gap UNPLACED",
    ]


def test_data_before_the_first_isync() -> None:
    stream = bytes.fromhex(ASYNC + "26 " + RAM + "01" + THUMB[len(ASYNC) :] % 1 + "84 26 04 02")
    assert told(stream, DATA) == [
        "1000: load 4 at 20000004 of 2",
        "data gap UNPLACED",
    ]
