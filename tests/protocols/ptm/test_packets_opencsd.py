"""A differential run against OpenCSD's trc_pkt_lister: packets of all kinds in random order, listed by both.

What is compared is where packets begin, and all that both tell.  Left out is what Debian's 1.3.3 reads otherwise, and
why the text of the specification is followed instead:

- the reserved Atom headers 84 and 86, which it takes for one atom (4.5.3: 100000F0);
- Gray-coded timestamps, which it does not decode (ETMCCER bit 28);
- the AltISA bit, which it keeps from one packet to the next through other states.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from gdb_etm.capture import Core, TraceSource
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.listing import list_packets
from tests.protocols.etmv3.test_packets_opencsd import STATES
from tests.protocols.etmv4.streams import same
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


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(2))
def test_same_packets(unit: str, seed: int, tmp_path: Path) -> None:
    control, identity, extension, core = UNITS[unit]
    registers = {"ETMCR": control, "ETMIDR": identity, "ETMCCER": extension, "ETMTRACEIDR": 0x10}
    source = TraceSource("PTM_0", "ptm", registers, Core("cpu_0", core, {}), ())
    config = PtmConfig.from_source(source)
    dice = Dice(seed, config)
    # What packets are compressed against is to be known from the start.
    time = b"\x42" + b"\x80" * (config.timestamp_bytes - 1) + b"\0" + dice.counted()
    start = bytes.fromhex(ASYNC) + dice.isync() + time
    data = start + b"".join(dice.packet() for _ in range(3000)) + bytes.fromhex(ASYNC)
    theirs = opencsd_packets(tmp_path, source, data)
    ours = list(list_packets(config, data, same))
    for mine, other in zip(ours, theirs):
        assert (mine.offset, mine.name) == (other.offset, NAMES[other.name]), (mine, other)
        left, right = fields_of(mine, other)
        assert left == right, (mine, other)
    assert len(ours) == len(theirs)
