"""Real captures with OpenCSD's result: packets' bytes, kinds and addresses.

Two things that OpenCSD does otherwise are put right first:

- It lists the address of an Exception packet, and so it does with a Q packet, as a packet of its own.
- After a byte that the unit cannot have sent it goes on with the next byte.  Where the next packet begins is not known
  then, so what both list up to the next A-Sync is left out.
"""

from __future__ import annotations

import gzip
import re
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional

import pytest

from gdb_etm.history.build import streams
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.listing import list_packets
from gdb_etm.protocols.etmv4.packets import Kind
from gdb_etm.protocols.packet import Packet
from gdb_etm.snapshot.reader import read_snapshot
from tests.protocols.etmv4.test_decoder_captures import CAPTURES
from tests.shared import capture_folder, shared

# Ours by the beginning of theirs; the numbers of formats are compared by the bytes.
NAMES = {
    "I_ASYNC": Kind.ASYNC,
    "I_TRACE_INFO": Kind.TRACE_INFO,
    "I_TRACE_ON": Kind.TRACE_ON,
    "I_TIMESTAMP": Kind.TIMESTAMP,
    "I_DISCARD": Kind.DISCARD,
    "I_COMMIT": Kind.COMMIT,
    "I_EVENT": Kind.EVENT,
    "I_IGNORE": Kind.IGNORE,
    "I_ATOM": Kind.ATOM,
    "I_ADDR_MATCH": Kind.EXACT_MATCH,
    "I_ADDR_CTXT": Kind.ADDRESS_CONTEXT,
    "I_ADDR_S": Kind.SHORT_ADDRESS,
    "I_ADDR_L": Kind.LONG_ADDRESS,
    "I_CTXT": Kind.CONTEXT,
    "I_EXCEPT_RTN": Kind.EXCEPTION_RETURN,
    "I_EXCEPT": Kind.EXCEPTION,
}


class Listed(NamedTuple):
    """A packet as both tell it."""

    raw: bytes
    name: str
    address: Optional[int]


def kind_of(text: str) -> str:
    word = text.split(" ")[0]
    for beginning, kind in NAMES.items():
        if word == beginning or word.startswith(beginning + "_"):
            return kind.value
    raise AssertionError("unexpected packet %s" % text)


def theirs(name: str) -> Dict[int, List[Listed]]:
    """Return OpenCSD's packets by trace ID."""
    found: Dict[int, List[Listed]] = {}
    with gzip.open(shared("captures", "expected", name + ".packets.tsv.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            _, trace_id, raw, text = line.rstrip("\n").split("\t")
            data = bytes.fromhex(raw.replace("0x", "").strip("[]; "))
            packets = found.setdefault(int(trace_id, 16), [])
            if "NOT_SYNC" in text:
                continue
            if "RESERVED" in text or "BAD_SEQ" in text or "INCOMPLETE" in text:
                packets.append(Listed(data, Kind.RESERVED.value, None))
                continue
            match = re.search(r"Addr=0x([0-9A-F]+)", text)
            address = int(match[1], 16) if match else None
            if packets and packets[-1].name == Kind.EXCEPTION.value and packets[-1].address is None:
                packets[-1] = packets[-1]._replace(raw=packets[-1].raw + data, address=address)
            else:
                packets.append(Listed(data, kind_of(text), address))
    return found


def ours(packet: Packet) -> Listed:
    match = re.search(r"0x([0-9a-f]{8,}) IS", packet.fields)
    return Listed(packet.raw, packet.name, int(match[1], 16) if match else None)


def between_synchronisation(packets: Iterable[Listed]) -> Iterator[Listed]:
    """Leave out bytes after an invalid one, up to the A-Sync."""
    lost = False
    for packet in packets:
        lost = packet.name != Kind.ASYNC.value and (lost or packet.name == Kind.RESERVED.value)
        if not lost:
            yield packet


@pytest.mark.parametrize("name", CAPTURES)
def test_same_packets(name: str) -> None:
    capture = read_snapshot(capture_folder(name))[0]
    expected = theirs(name)
    compared = 0
    for stream in streams(capture):
        listed = list_packets(Etmv4Config.from_source(stream.source), stream.data, stream.offset_of)
        found = [ours(packet) for packet in listed if packet.name != "not synchronised"]
        # OpenCSD gives ID 0 to a stream that is not framed.
        wanted = expected[stream.trace_id if stream.trace_id in expected else 0]
        if found and found[-1].raw != wanted[-1].raw and wanted[-1].raw.startswith(found[-1].raw):
            found.pop()
        assert list(between_synchronisation(found)) == list(between_synchronisation(wanted))
        compared += len(found)
    assert compared > 7
