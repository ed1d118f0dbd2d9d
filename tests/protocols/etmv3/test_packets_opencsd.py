"""Differential run against OpenCSD's trc_pkt_lister: random packets.

What is compared is where packets begin, and all that both tell.  Left out is what Debian's 1.3.3 reads otherwise, and
why the text of the specification is followed instead:

- the P-header 80 of cycle-accurate trace, which it passes over (format 0 is one W);
- reserved P-headers, some of which it takes for others (table 7.2 and the formats of cycle-accurate P-headers);
- a cycle count of more than a byte: it ends the packet at every byte (003: bit 7 says that there is more);
- an I-sync of a load or store in progress: it takes the end of the first address for that of the second (000);
- a data address: it reads one byte of it, into the instruction address, and waits for a value where the size is 0 (001:
  bit 7 of each byte, size bits); in Value not traced it takes bit 5 for the A bit, which is bit 4 (table 7.1);
- a value where the unit traces addresses only (001: "Data value. Present only if data value tracing is enabled");
- IRQ8, which it takes for IRQ24 (DDI 0337G, 14-8), and exceptions told in the old way, which it names by the numbers of
  the new one, and takes a reset for none;
- the AltISA bit, which it keeps from one branch packet to the next through other states;
- exception information beyond byte 2, which it reads for as long as bit 7 is set, and a ninth byte of a timestamp.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Match, Optional, Tuple

import pytest

from gdb_etm.capture import Core, TraceSource
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.listing import list_packets
from gdb_etm.protocols.packet import Packet
from tests.protocols.etmv3.dice import Dice
from tests.protocols.etmv3.streams import ASYNC
from tests.protocols.histories import same
from tests.protocols.opencsd import Listed, opencsd_packets

NAMES = {
    "BRANCH_ADDRESS": "Branch address",
    "A_SYNC": "A-sync",
    "CYCLE_COUNT": "Cycle count",
    "I_SYNC": "I-sync",
    "I_SYNC_CYCLE": "I-sync with cycle count",
    "TRIGGER": "Trigger",
    "P_HDR": "P-header",
    "STORE_FAIL": "Store failed",
    "OOO_DATA": "Out-of-order data",
    "OOO_ADDR_PLC": "Out-of-order placeholder",
    "NORM_DATA": "Normal data",
    "DATA_SUPPRESSED": "Data suppressed",
    "VAL_NOT_TRACED": "Value not traced",
    "IGNORE": "Ignore",
    "CONTEXT_ID": "Context ID",
    "VMID": "VMID",
    "EXCEPTION_ENTRY": "Exception entry",
    "EXCEPTION_EXIT": "Exception exit",
    "TIMESTAMP": "Timestamp",
}
STATES = {"ARM(32)": "ARM", "Thumb2": "Thumb", "ThumbEE": "ThumbEE", "Jazelle": "Jazelle"}
EXCEPTIONS = {
    "Async Data Abort": "Asynchronous data abort",
    "Data Fault": "Data abort",
    "Debug Halt": "Debug halt",
    "Jazelle": "Jazelle or ThumbEE",
    "Mem Manage": "MemManage",
    "PE Reset": "Reset",
    "Prefetch Abort": "Prefetch abort",
    "Undefined Instr": "Undefined Instruction",
    "usage Fault": "UsageFault",
}
# Registers of a unit: ETMCR, ETMIDR, ETMCCER; and its core.
UNITS: Dict[str, Tuple[int, int, int, str]] = {
    "Cortex-A7, cycle-accurate": (0x10001860, 0x410CF250, 0x344008F2, "Cortex-A7"),
    "Cortex-A8": (0x1000C000, 0x410CF250, 0x34000000, "Cortex-A8"),
    "Cortex-M4": (0x10000880, 0x4114F250, 0x18541800, "Cortex-M4"),
    "Cortex-M4, cycle-accurate": (0x10001880, 0x4114F250, 0x18541800, "Cortex-M4"),
    "Cortex-R4, values": (0x00000004, 0x4104F230, 0, "Cortex-R4"),
    "Cortex-R5, addresses and values": (0x0000000C, 0x4104F250, 0x34000000, "Cortex-R5"),
}


def fields_of(packet: Packet, theirs: Listed) -> Tuple[List[str], List[str]]:
    """Return what both tell of a packet, in the same words."""
    ours, told = packet.fields, theirs.text
    if packet.name == "P-header":
        return [ours], [told.split("; ")[1].strip(" ;") if "; " in told else ""]
    pairs: Dict[str, Tuple[Optional[Match[str]], Optional[Match[str]]]] = {
        "Addr": (re.search(r"0x([0-9a-f]{8}) ", ours), re.search(r"Addr=0x([0-9A-F]{8})", told, re.IGNORECASE)),
        "TS": (re.search(r"^0x([0-9a-f]+)", ours), re.search(r"TS=0x([0-9a-f]+)", told)),
        "CtxtID": (re.search(r"(?:Context ID |^)0x([0-9a-f]+)", ours), re.search(r"CtxtID=(?:0x)?([0-9a-f]+)", told)),
        "Cycles": (re.search(r"(\d+) cycles", ours), re.search(r"Cycles=(\d+)", told)),
        "Val": (re.search(r"value 0x([0-9a-f]+)", ours), re.search(r"Val=0x([0-9a-f]+)", told)),
        "Tag": (re.search(r"tag (\d)", ours), re.search(r"OO_Tag=0x(\d)", told)),
    }
    left: List[str] = []
    right: List[str] = []
    for name, (mine, other) in pairs.items():
        if other is not None:
            left.append("%s %x" % (name, int(mine[1], 16)) if mine is not None else name)
            right.append("%s %x" % (name, int(other[1], 16)))
    state = re.search(r"ISA=([A-Za-z0-9()]+)", told)
    if state is not None:
        right.append(STATES[state[1]])
        left += re.findall(r"0x[0-9a-f]{8} (\w+)", ours)
    exception = re.search(r"Exception=([A-Za-z0-9 ]+)", told)
    is_old = len(packet.raw) == 5 and packet.raw[4] & 0x80
    if exception is not None and exception[1] not in ("No Exception", "Reserved") and not is_old:
        name = EXCEPTIONS.get(exception[1], exception[1])
        right.append(name)
        left += [name] if name in ours.replace("SVCall", "SVC").split(", ") else []
    return left, right


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(2))
def test_same_packets(unit: str, seed: int, tmp_path: Path) -> None:
    control, identity, extension, core = UNITS[unit]
    registers = {"ETMCR": control, "ETMIDR": identity, "ETMCCER": extension, "ETMTRACEIDR": 0x10}
    source = TraceSource("ETM_0", "etmv3", registers, Core("cpu_0", core, {}), ())
    config = Etmv3Config.from_source(source)
    dice = Dice(seed, config)
    # What packets are compressed against is to be known from the start.
    time = b"\x42" + b"\x80" * (config.timestamp_bytes - 1) + b"\0" if config.version >= 5 else b""
    start = bytes.fromhex(ASYNC) + dice.isync(0x08, b"") + time
    data = start + b"".join(dice.packet() for _ in range(3000)) + bytes.fromhex(ASYNC)
    theirs = opencsd_packets(tmp_path, source, data)
    ours = list(list_packets(config, data, same))
    for mine, other in zip(ours, theirs):
        assert (mine.offset, mine.name) == (other.offset, NAMES[other.name]), (mine, other)
        left, right = fields_of(mine, other)
        assert left == right, (mine, other)
    assert len(ours) == len(theirs)
