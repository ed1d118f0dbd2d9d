"""Differential run against OpenCSD's trc_pkt_lister: all kinds of packets.

What is compared is where packets begin, and all that both tell.  Left out is what Debian's 1.3.3 reads otherwise, and
why the text of the specification is followed instead:

- the Atom headers 80 and 82, which have no stop bit and so no atom (4.5.3), and which it takes for one atom: units send
  84 and 86 for that, and a byte that no unit sends is where damage begins;
- packets of what a unit does not trace: a VMID of PFTv1.0, a Context ID where ETMCR has it off;
- Gray-coded timestamps, which it does not decode (ETMCCER bit 28);
- the AltISA bit, which it keeps from one packet to the next through other states.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Set, Tuple

import pytest

from gdb_etm.capture import Core, TraceSource
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.listing import list_packets
from tests.protocols.etmv3.test_packets_opencsd import STATES
from tests.protocols.histories import same
from tests.protocols.opencsd import Listed, opencsd_packets
from tests.protocols.ptm.dice import Dice
from tests.protocols.ptm.streams import ASYNC

NAMES = {
    "ASYNC": "A-sync",
    "ISYNC": "I-sync",
    "BRANCH_ADDRESS": "Branch address",
    "ATOM": "Atom",
    "WP_UPDATE": "Waypoint update",
    "TIMESTAMP": "Timestamp",
    "TRIGGER": "Trigger",
    "IGNORE": "Ignore",
    "ERET": "Exception return",
    "VMID": "VMID",
    "CTXTID": "Context ID",
    "RESERVED": "reserved",
}
# Registers of a unit: ETMCR, ETMIDR, ETMCCER; and its core.
UNITS: Dict[str, Tuple[int, int, int, str]] = {
    "Cortex-A9": (0x10000000, 0x411CF301, 0x10C019A2, "Cortex-A9"),
    "Cortex-A9, cycle-accurate": (0x10009000, 0x411CF301, 0x10C019A2, "Cortex-A9"),
    "Cortex-A15": (0x1000C000, 0x411CF312, 0x34C01AC2, "Cortex-A15"),
    "Cortex-A15, cycle-accurate": (0x10001000, 0x411CF312, 0x34C01AC2, "Cortex-A15"),
}


def fields_of(packet: Packet, theirs: Listed) -> Tuple[List[str], List[str]]:
    """Return what both tell of a packet, in the same words."""
    ours, told = packet.fields, theirs.text
    pairs = {
        "Addr": (re.search(r"0x([0-9a-f]{8}) ", ours), re.search(r"Addr=0x([0-9A-F]{8})", told, re.IGNORECASE)),
        "TS": (re.search(r"^0x([0-9a-f]+)", ours), re.search(r"TS=0x([0-9A-F]+)", told)),
        "CtxtID": (re.search(r"(?:Context ID |^)0x([0-9a-f]+)", ours), re.search(r"CtxtID=(?:0x)?([0-9a-f]+)", told)),
        "Cycles": (re.search(r"(\d+) cycles", ours), re.search(r"Cycles=(\d+)", told)),
    }
    left: List[str] = []
    right: List[str] = []
    for name, (mine, other) in pairs.items():
        if other is not None:
            left.append("%s %s" % (name, mine[1].upper().lstrip("0") if mine is not None else "not told"))
            right.append("%s %s" % (name, other[1].upper().lstrip("0")))
    state = re.search(r"ISA=([A-Za-z0-9()]+)", told)
    if state is not None:
        right.append(STATES[state[1]])
        left += re.findall(r"0x[0-9a-f]{8} (\w+)", ours)
    security = re.search(r"; (N?S);", told)
    if security is not None:
        right.append(security[1])
        left += re.findall(r", (N?S)\b", ours)
    if packet.name == "Atom":
        right += re.findall(r"[EN]+(?=;)", told)
        left.append(ours.split(",")[0])
    return left, right


def source_of(unit: str) -> TraceSource:
    control, identity, extension, core = UNITS[unit]
    registers = {"ETMCR": control, "ETMIDR": identity, "ETMCCER": extension, "ETMTRACEIDR": 0x10}
    return TraceSource("PTM_0", "ptm", registers, Core("cpu_0", core, {}), ())


def not_traced(config: PtmConfig) -> Set[int]:
    """Return the first bytes that only OpenCSD takes for packets."""
    found = set() if config.cycle_accurate else {0x80, 0x82}
    found |= set() if config.version else {0x3C}
    return found | (set() if config.context_id_bytes else {0x6E})


def start(dice: Dice, config: PtmConfig) -> bytes:
    """Make what a stream begins with: all that packets are compressed against."""
    time = b"\x42" + b"\x80" * (config.timestamp_bytes - 1) + b"\0" + dice.counted()
    return bytes.fromhex(ASYNC) + dice.isync() + time


def first_bytes(config: PtmConfig) -> Tuple[bytes, List[int]]:
    """Make a stream of all first bytes; return it with positions.

    After it come Ignore packets, which end every other packet.
    """
    dice = Dice(0, config)
    data, places = bytearray(), []
    for byte in range(256):
        data += start(dice, config)
        places.append(len(data))
        data += bytes([byte]) + (b"\0\0\0\0\x80" if byte == 0 else b"") + b"\x66" * 24
    return bytes(data) + bytes.fromhex(ASYNC), places


@pytest.mark.parametrize("unit", UNITS)
def test_every_first_byte(unit: str, tmp_path: Path) -> None:
    source = source_of(unit)
    config = PtmConfig.from_source(source)
    data, places = first_bytes(config)
    listed = opencsd_packets(tmp_path, source, data)
    theirs = {one.offset: (one, after.offset) for one, after in zip(listed, listed[1:])}
    ours = {packet.offset: packet for packet in list_packets(config, data, same)}
    differ = set()
    for byte, place in enumerate(places):
        mine, (other, after) = ours[place], theirs[place]
        if mine.name != NAMES[other.name]:
            assert mine.name == "reserved"
            differ.add(byte)
        elif mine.name != "reserved":
            assert place + len(mine.raw) == after, "0x%02x" % byte
            left, right = fields_of(mine, other)
            assert left == right, "0x%02x" % byte
    assert differ == not_traced(config)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(2))
def test_same_packets(unit: str, seed: int, tmp_path: Path) -> None:
    source = source_of(unit)
    config = PtmConfig.from_source(source)
    dice = Dice(seed, config)
    data = start(dice, config) + b"".join(dice.packet() for _ in range(3000)) + bytes.fromhex(ASYNC)
    theirs = opencsd_packets(tmp_path, source, data)
    ours = list(list_packets(config, data, same))
    for mine, other in zip(ours, theirs):
        assert (mine.offset, mine.name) == (other.offset, NAMES[other.name]), (mine, other)
        left, right = fields_of(mine, other)
        assert left == right, (mine, other)
    assert len(ours) == len(theirs)
