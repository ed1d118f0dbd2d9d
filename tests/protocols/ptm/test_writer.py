"""Vectors worked by hand from the specification, and real captures written anew.

The encodings are those of ../shared/spec/protocol-map.md, 8.4.
"""

from __future__ import annotations

import gzip
import re
from typing import Dict, Iterator, Optional, Tuple

import pytest

from gdb_etm.protocols.armv7.fields import Information, IsaState, Reason, Reference
from gdb_etm.protocols.ptm.encode import packets
from gdb_etm.protocols.ptm.encode.packets import Regime
from gdb_etm.protocols.ptm.encode.writer import PacketWriter
from tests.shared import shared

SECURE, NON_SECURE, HYP = Regime(), Regime(True), Regime(True, True)


class Written:
    """What a writer wrote."""

    def __init__(self, cycle_accurate: bool = False, wide_timestamps: bool = False) -> None:
        self._out = bytearray()
        self.writer = PacketWriter(self._out.extend, cycle_accurate, wide_timestamps)

    def take(self) -> str:
        """Return what was written since this was asked last."""
        self.writer.flush_atoms()
        self.writer.deliver()
        data = self._out.hex(" ")
        self._out.clear()
        return data


def arm(address: int) -> Reference:
    return Reference(address, IsaState.ARM)


def thumb(address: int) -> Reference:
    return Reference(address, IsaState.THUMB)


def told(number: int, non_secure: bool = False, hyp: Optional[bool] = None, thumbee: bool = False) -> Information:
    return Information(number, non_secure, thumbee, False, hyp, None)


@pytest.mark.parametrize(
    "pattern, expected",
    [
        # From bit 1 up, with a stop bit above: the oldest atom in the highest of the F bits; 0 means E.
        ("E", "84"),
        ("N", "86"),
        ("EN", "8a"),
        ("NE", "8c"),
        ("NEE", "98"),
        ("ENEN", "aa"),
        ("NNNNN", "fe"),
        ("EEEEEN", "c0 86"),
    ],
)
def test_atoms(pattern: str, expected: str) -> None:
    written = Written()
    for atom in pattern:
        written.writer.atom(atom == "E")
    assert written.take() == expected


@pytest.mark.parametrize(
    "taken, cycles, expected",
    [
        # 1CccccF0 with the lowest four bits of the count, then seven a byte.
        (True, 0, "80"),
        (False, 15, "be"),
        (True, 16, "c0 01"),
        (False, 522, "ea 20"),
        # 32 bits: 4, and four times 7.
        (True, 0xFFFFFFFF, "fc ff ff ff 7f"),
    ],
)
def test_counted_atoms(taken: bool, cycles: int, expected: str) -> None:
    written = Written(True)
    written.writer.atom(taken, cycles)
    assert written.take() == expected


def test_synchronisation() -> None:
    written = Written()
    written.writer.alignment()
    assert written.take() == "00 00 00 00 00 80"
    # The address first, with the Thumb bit, then bits 6:5 the reason, 3 NS, 2 AltISA, 1 Hyp, 0 always 1.
    written.writer.sync(thumb(0xC0018D82), Reason.PERIODIC, SECURE)
    assert written.take() == "08 83 8d 01 c0 01"
    written.writer.sync(arm(0x1000), Reason.OVERFLOW, HYP, context_id=b"\x34\x12")
    assert written.take() == "08 00 10 00 00 4b 34 12"
    written.writer.sync(Reference(0x2000, IsaState.THUMBEE), Reason.DEBUG, NON_SECURE)
    assert written.take() == "08 01 20 00 00 6d"
    written = Written(True)
    # Only in one that is not periodic there is a count, before the Context ID; its bit 7 is set.
    written.writer.sync(arm(0x1000), Reason.PERIODIC, SECURE, 99, b"\x07")
    assert written.take() == "08 00 10 00 00 01 07"
    written.writer.sync(arm(0x1000), Reason.ENABLED, SECURE, 99, b"\x07")
    assert written.take() == "08 00 10 00 00 21 cc 06 07"


def test_branches() -> None:
    written = Written()
    written.writer.sync(thumb(0x1000), Reason.ENABLED, SECURE)
    written.take()
    for address, expected in (
        (0x107E, "7f"),
        (0x1FFE, "ff 3f"),
        (0x2000, "81 c0 00"),
        (0x102000, "81 c0 c0 00"),
        (0x87F02000, "81 c0 c0 bf 18"),
    ):
        written.writer.branch(thumb(address))
        assert written.take() == expected
    # Another instruction set takes all five bytes, whose last is 00001aaa for ARM.
    written.writer.branch(arm(0x87F02000))
    assert written.take() == "81 a0 e0 9f 0c"
    written.writer.branch(arm(0x87F02004))
    assert written.take() == "03"


def test_exceptions() -> None:
    written = Written()
    written.writer.sync(arm(0x1000), Reason.ENABLED, SECURE)
    written.take()
    # At least two bytes of address, of which the last has bit 6 set; then the type in bits 4:1, and NS.
    written.writer.branch(arm(0x1018), told(14, True))
    assert written.take() == "8d 50 1d"
    written.writer.branch(thumb(0x1018), told(10))
    assert written.take() == "99 a0 80 80 50 14"
    # The second byte: Hyp in bit 5, the type's bits 8:4 below it.
    written.writer.branch(thumb(0x101A), told(3, True, True))
    assert written.take() == "9b 60 87 20"
    written.writer.branch(thumb(0x101C), told(0x12))
    assert written.take() == "9d 60 84 01"
    # ThumbEE is told by AltISA alone.
    written.writer.branch(Reference(0x1020, IsaState.THUMBEE), told(0, thumbee=True))
    assert written.take() == "a1 60 40"


def test_waypoint_updates() -> None:
    written = Written()
    written.writer.sync(arm(0xC0010EE0), Reason.ENABLED, SECURE)
    written.take()
    written.writer.update(arm(0xC0010EF0))
    assert written.take() == "72 79"
    # What follows is compressed against it.
    written.writer.branch(arm(0xC0010EF4))
    assert written.take() == "7b"
    written.writer.update(thumb(0xC0010EF4))
    # Thumb: bits 6:1, 13:7, 20:14, 27:21, and 0001aaaa with bits 31:28.
    assert written.take() == "72 f5 9d 84 80 1c"
    # Only five address bytes can tell ThumbEE, in a byte after them.
    written.writer.update(Reference(0xC0010EF6, IsaState.THUMBEE))
    assert written.take() == "72 f7 9d 84 80 5c 40"


def test_others() -> None:
    assert packets.context_id(b"\x01\x02").hex(" ") == "6e 01 02"
    assert packets.vmid(9).hex(" ") == "3c 09"
    assert (packets.TRIGGER + packets.EXCEPTION_RETURN).hex(" ") == "0c 76"
    assert [packets.to_gray(value) for value in range(5)] == [0, 1, 3, 2, 6]


_ADDRESS = re.compile(r"Addr=0x([0-9A-Fa-f]{8})\b")
_CYCLES = re.compile(r"Cycles=(\d+)")
_EXCEPTION = re.compile(r" (NS|S); +Excep=.*\[([0-9a-f]+)\]")
_VALUE = re.compile(r"TS=0x([0-9A-F]{16})")
_REASONS = {"Periodic": Reason.PERIODIC, "Trace Enable": Reason.ENABLED}


def captured(name: str, trace_id: str) -> Iterator[Tuple[bytes, str]]:
    """Return the packets of a capture from its first I-sync packet on."""
    begun = False
    with gzip.open(shared("captures", "expected", name + ".packets.tsv.gz"), "rt") as file:
        for line in file:
            _, source, data, text = line.rstrip("\n").split("\t")
            if source == trace_id:
                begun = begun or text.startswith("ISYNC")
                if begun:
                    yield bytes.fromhex(data.strip("[] ;").replace("0x", "")), text


@pytest.mark.parametrize("name, trace_id", [("Snowball", "10"), ("Snowball", "11"), ("TC2", "13")])
def test_captured_packets_are_written_as_the_hardware_did(name: str, trace_id: str) -> None:
    """All packets of real units: as few bytes, and the same ones."""
    written = Written(True, name == "TC2")
    writer = written.writer
    seen: Dict[str, int] = {}
    state = IsaState.ARM
    for data, text in captured(name, trace_id):
        kind = text.split()[0]
        match, count = _ADDRESS.search(text), _CYCLES.search(text)
        cycles = int(count[1]) if count else 0
        if "ISA=" in text:
            state = IsaState.ARM if "ISA=ARM" in text else IsaState.THUMB
        if kind == "ASYNC":
            writer.put(packets.A_SYNC)
        elif kind == "ERET":
            writer.put(packets.EXCEPTION_RETURN)
        elif kind == "ATOM":
            writer.atom("; E;" in text, cycles)
        elif kind == "TIMESTAMP":
            value = _VALUE.search(text)
            assert value is not None
            if "~[0x%s]" % value[1].lstrip("0") in text:
                # All of it, which these units write at other times.
                writer.alignment()
                written.take()
            writer.timestamp(int(value[1], 16), cycles)
        elif match is None:
            continue
        elif kind == "ISYNC":
            reason = next(reason for words, reason in _REASONS.items() if words in text)
            writer.sync(Reference(int(match[1], 16), state), reason, Regime("; NS;" in text), cycles)
        elif kind == "WP_UPDATE":
            writer.update(Reference(int(match[1], 16), state))
        else:
            taken = _EXCEPTION.search(text)
            information = told(int(taken[2], 16), taken[1] == "NS") if taken else None
            writer.branch(Reference(int(match[1], 16), state), information, cycles)
        assert written.take() == data.hex(" "), text
        seen[kind] = seen.get(kind, 0) + 1
    assert seen["ATOM"] > 100 and seen["BRANCH_ADDRESS"] > 20 and seen["ISYNC"] > 20 and seen["TIMESTAMP"] > 3
