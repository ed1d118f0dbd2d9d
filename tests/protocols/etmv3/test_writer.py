"""Vectors worked by hand from the specification, and real captures written anew.

The encodings are those of ../shared/spec/protocol-map.md, 8.3, and of IHI 0014Q in 000, 001 and 003 beside it.
"""

from __future__ import annotations

import gzip
import re
from typing import Dict, Iterator, List, Optional, Tuple

import pytest

from gdb_etm.protocols.armv7.fields import Information, IsaState
from gdb_etm.protocols.etmv3.encode import packets
from gdb_etm.protocols.etmv3.encode.encoder import exception_type
from gdb_etm.protocols.etmv3.encode.writer import Layout, PacketWriter
from gdb_etm.protocols.etmv3.exceptions import exception_name
from gdb_etm.protocols.etmv3.listing import list_packets
from gdb_etm.protocols.etmv3.packets import ATOMS, CYCLE_ATOMS
from tests.protocols.etmv3.streams import A_PROFILE, CYCLES, DATA, M_PROFILE
from tests.protocols.histories import same
from tests.shared import shared

WIDE = Layout(alternative=False, timestamp_bytes=9)
BOTH = Layout(data_addresses=True, data_values=True)


class Written:
    """What a writer wrote."""

    def __init__(self, layout: Layout = Layout()) -> None:
        self._out = bytearray()
        self.writer = PacketWriter(self._out.extend, layout)

    def take(self) -> str:
        """Return what was written since this was asked last."""
        self.writer.flush_atoms()
        self.writer.deliver()
        data = self._out.hex(" ")
        self._out.clear()
        return data


def atoms(pattern: str, accurate: bool = False) -> str:
    written = Written(Layout(cycle_accurate=accurate))
    for atom in pattern:
        written.writer.atoms(atom)
    return written.take()


@pytest.mark.parametrize(
    "pattern, expected",
    [
        # Format 1: EEEE in bits 5:2 times E, then N if bit 6. Format 2: two atoms in bits 3 and 2, 1 is N.
        ("E", "84"),
        ("N", "c0"),
        ("EEN", "c8"),
        ("NE", "8a"),
        ("NN", "8e"),
        ("E" * 15, "bc"),
        ("E" * 15 + "N", "fc"),
        ("E" * 16, "bc 84"),
        ("NNNEEN", "8e 8a c4"),
    ],
)
def test_atoms(pattern: str, expected: str) -> None:
    assert atoms(pattern) == expected


@pytest.mark.parametrize(
    "pattern, expected",
    [
        # Format 1: EEE in bits 4:2 times WE, then WN if bit 6.
        ("WE", "84"),
        ("WN", "c0"),
        ("WEWEWN", "c8"),
        ("WE" * 7 + "WN", "dc"),
        ("WE" * 8, "9c 84"),
        # Format 2: one cycle and two atoms.
        ("WEE", "82"),
        ("WEN", "86"),
        ("WNE", "8a"),
        ("WNN", "8e"),
        # Format 3: WWW in bits 4:2 plus one times W, then E if bit 6.
        ("W", "a0"),
        ("WWWE", "e8"),
        ("W" * 8, "bc"),
        ("W" * 9 + "E", "bc 84"),
        # Format 4: one atom.
        ("E", "92"),
        ("N", "96"),
        ("WWN", "a4 96"),
    ],
)
def test_atoms_and_cycles(pattern: str, expected: str) -> None:
    assert atoms(pattern, accurate=True) == expected


@pytest.mark.parametrize("accurate", [False, True])
def test_every_pattern_is_told(accurate: bool) -> None:
    kinds, told = ("WEN", CYCLE_ATOMS) if accurate else ("EN", ATOMS)
    for number in range(len(kinds) ** 7):
        pattern = "".join(kinds[number // len(kinds) ** place % len(kinds)] for place in range(7))
        assert "".join(told[header] for header in bytes.fromhex(atoms(pattern, accurate))) == pattern


def test_synchronisation() -> None:
    written = Written()
    written.writer.asynchronise()
    assert written.take() == "00 00 00 00 00 80"
    # 000: header, information byte with the reason in bits 6:5, address with the Thumb bit.
    written.writer.isync(1, 0xC004F698)
    assert written.take() == "08 21 99 f6 04 c0"
    written.writer.isync(2, 0x1000, IsaState.ARM)
    assert written.take() == "08 41 00 10 00 00"
    written.writer.isync(1, 0xC004F698, cycles=0x1E0F)
    assert written.take() == "70 8f 3c 21 99 f6 04 c0"
    assert packets.isync(3, 0x2000, IsaState.JAZELLE).hex(" ") == "08 71 00 20 00 00"
    assert packets.cycle_count(0x81).hex() == "048101"


def test_branches_in_the_alternative_encoding() -> None:
    written = Written()
    written.writer.isync(1, 0x1000)
    written.take()
    # The first byte holds bits 6:1, those between seven bits more, and the last of two to four bytes six.
    for address, expected in (
        (0x107E, "7f"),
        (0x1FFE, "ff 3f"),
        (0x2000, "81 c0 00"),
        (0x82000, "81 c0 20"),
        (0x82004, "05"),
        (0x102000, "81 c0 c0 00"),
        # Up to bit 26; five bytes end in 0E01aaaa, bits 31:28.
        (0x7F02000, "81 c0 c0 3f"),
        (0x87F02000, "81 c0 c0 bf 18"),
    ):
        written.writer.branch(address)
        assert written.take() == expected


def test_exceptions() -> None:
    written = Written()
    written.writer.isync(1, 0xA500)
    irq1 = Information(1, False, False, False, None, None)
    # Captured of a Cortex-M3: IRQ1 with its handler at 0xa564, then the same with the cancel bit, then IRQ22.
    written.writer.branch(0x70918)
    written.take()
    written.writer.branch(0xA564, information=irq1)
    assert written.take() == "e5 ca 42 02"
    written.writer.branch(0x70918)
    written.take()
    written.writer.branch(0xA564, information=irq1._replace(cancel=True))
    assert written.take() == "e5 ca 42 22"
    written.writer.branch(0xB588, information=Information(38, False, False, False, None, None))
    assert written.take() == "89 6b 8c 02"
    # At least two bytes of address; a third byte of information tells how far an instruction got.
    written.writer.branch(0xB588, information=Information(11, False, False, False, None, 5))
    assert written.take() == "89 6b 96 45"


def test_the_original_encoding_tells_exceptions_after_five_bytes() -> None:
    written = Written(WIDE)
    written.writer.isync(1, 0xC0000000)
    written.take()
    written.writer.branch(0xC0000004)
    assert written.take() == "05"
    # Seven bits in each byte: up to bit 13, 20 and 27.
    written.writer.branch(0xC0003000)
    assert written.take() == "81 60"
    written.writer.branch(0xFFFF0018, IsaState.ARM, Information(14, False, False, False, None, None))
    # ARM: bits 7:2, 14:8, 21:15, 28:22, then 0E001aaa with bits 31:29, and the type in bits 4:1.
    assert written.take() == "8d 80 fe ff 4f 1c"


def test_timestamps() -> None:
    written = Written(WIDE)
    # Captured of a Cortex-A7: all nine bytes after A-sync, then those that changed.
    for value, data in (
        (0x82F9D0CD3D, "42 bd 9a c3 ce af 90 80 80 00"),
        (0x82F9D0CF5F, "42 df 1e"),
        (0x82F9D0D279, "42 f9 24"),
    ):
        written.writer.timestamp(value)
        assert written.take() == data
    written.writer.timestamp(0x82F9D0D279, clock_changed=True)
    assert written.take() == "46 79"
    # With 48 bits there are seven bytes, the last of which holds six bits.
    written = Written()
    written.writer.timestamp(0xFFFFFFFFFFFF)
    assert written.take() == "42 ff ff ff ff ff ff 3f"


def test_data() -> None:
    written = Written(BOTH)
    writer = written.writer
    # 001: the first address has five bytes, the last of them bits 31:28 below the BE bit.
    writer.data(0x20001004, 0)
    assert written.take() == "22 84 a0 80 80 02"
    # Table 7.17: sizes of values without leading zeros.
    writer.data(0x20001008, 0xFF)
    assert written.take() == "26 08 ff"
    writer.data(None, 0x100)
    assert written.take() == "0a 00 01"
    writer.data(0x20002008, 0x10000)
    assert written.take() == "2e 88 40 00 00 01 00"
    writer.placeholder(2, 0x20002000)
    assert written.take() == "78 00"
    writer.put(packets.late_value(2, 0x1234))
    assert written.take() == "48 34 12"
    writer.not_traced(None)
    writer.not_traced(0x20002010)
    assert written.take() == "6a 7a 10"
    writer.lose_data_address()
    writer.data(0x20002014, 0)
    assert written.take() == "22 94 c0 80 80 02"


def test_what_is_not_traced_is_left_out() -> None:
    written = Written(Layout(data_values=True))
    # The A bit may be set all the same (001).
    written.writer.data(0x20001004, 0x12)
    assert written.take() == "26 12"
    written = Written(Layout(data_addresses=True))
    written.writer.data(0x20001004, 0x12)
    assert written.take() == "22 84 a0 80 80 02"


def test_what_has_no_state_is_listed_as_what_it_is() -> None:
    data = packets.A_SYNC + packets.isync(1, 0x1000) + packets.TRIGGER + b"\x66"
    data += packets.EXCEPTION_EXIT + packets.EXCEPTION_ENTRY + b"\x3c\x07"
    names = [packet.name for packet in list_packets(M_PROFILE, data, same)]
    assert names == ["A-sync", "I-sync", "Trigger", "Ignore", "Exception exit", "Exception entry", "VMID"]
    data = packets.A_SYNC + packets.isync(1, 0x1000) + packets.DATA_SUPPRESSED + b"\x50"
    names = [packet.name for packet in list_packets(DATA, data, same)]
    assert names == ["A-sync", "I-sync", "Data suppressed", "Store failed"]


def test_exception_types() -> None:
    # DDI 0337G, table 14-8: each type names the exception whose number it was made of.
    for number in (1, 2, 3, 4, 5, 6, 11, 12, 14, 15, *range(16, 512)):
        assert exception_name(exception_type(number), True)[1] == number


_ADDRESS = re.compile(r"Addr=0x([0-9A-Fa-f]{8})\b(?: ~)?")
_EXCEPTION = re.compile(r"Exception=([A-Za-z]+)(\d*)")
_NUMBERS = {"IRQ": 16, "PendSV": 14, "SVC": 11, "SysTick": 15}


def captured(name: str, trace_id: str) -> Iterator[Tuple[bytes, str]]:
    """Return the packets of a capture from its first I-sync packet on."""
    begun = False
    with gzip.open(shared("captures", "expected", name + ".packets.tsv.gz"), "rt") as file:
        for line in file:
            _, source, data, text = line.rstrip("\n").split("\t")
            begun = begun or text.startswith("I_SYNC")
            if source == trace_id and begun:
                yield bytes.fromhex(data.strip("[] ;").replace("0x", "")), text


SOURCES: List[Tuple[str, str, Layout]] = [("lpc1769-m3", "2", Layout())]
SOURCES += [("TC2", trace_id, WIDE) for trace_id in ("10", "11", "12")]


@pytest.mark.parametrize("name, trace_id, layout", SOURCES)
def test_captured_packets_are_written_as_the_hardware_did(name: str, trace_id: str, layout: Layout) -> None:
    """Branch addresses, I-sync packets and exceptions have the same bytes."""
    written = Written(layout)
    seen: Dict[str, int] = {}
    state = IsaState.THUMB
    for data, text in captured(name, trace_id):
        kind = text.split()[0]
        match = _ADDRESS.search(text)
        if match is None or kind not in ("BRANCH_ADDRESS", "I_SYNC", "I_SYNC_CYCLE"):
            continue
        address = int(match[1], 16)
        if "ISA=" in text:
            state = IsaState.ARM if "ISA=ARM" in text else IsaState.THUMB
        if kind == "BRANCH_ADDRESS":
            written.writer.branch(address, state, _told(text))
        else:
            cycles = re.search(r"Cycles=(\d+)", text)
            count: Optional[int] = int(cycles[1]) if cycles else None
            written.writer.isync(int("Trace Enable" in text), address, state, count)
        assert written.take() == data.hex(" "), text
        seen[kind] = seen.get(kind, 0) + 1
    assert seen["BRANCH_ADDRESS"] > 20


def _told(text: str) -> Optional[Information]:
    match = _EXCEPTION.search(text)
    if match is None:
        return None
    number = exception_type(_NUMBERS[match[1]] + int(match[2] or 0))
    return Information(number, False, False, "Cancel" in text, None, None)


def test_the_listing_tells_what_was_written() -> None:
    written = Written(Layout(alternative=False, cycle_accurate=True, timestamp_bytes=9))
    writer = written.writer
    writer.asynchronise()
    writer.isync(0, 0x1000)
    writer.atoms("WEWE")
    writer.branch(0x2000)
    names = [packet.name for packet in list_packets(CYCLES, bytes.fromhex(written.take()), same)]
    assert names == ["A-sync", "I-sync", "P-header", "Branch address"]
    assert A_PROFILE.alternative_branches is False
