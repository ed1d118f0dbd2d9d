"""A unit's two streams in one buffer: instructions and their accesses.

Evidence: vectors worked by hand from the specification, packet by packet (6.4, 6.5) and transfer by transfer (F.2); for
arbitrary bytes a property test.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Dict, List, Optional, Tuple, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.__main__ import main
from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.history.build import build, parts, streams
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.transfers import TransferRole
from gdb_etm.protocols.elements import DataGap, Exception_, ExceptionReturn, Gap, GapReason, Transfer
from gdb_etm.session.packet_listing import packets_of
from gdb_etm.snapshot.writer import write_snapshot
from gdb_etm.views.history import event_text
from tests.history.frames import frames

# At 0x1000: a loop of loads and stores; at 0x1100 a handler.
CODE = bytes.fromhex(
    "0868"  # 1000 ldr   r0, [r1]
    "1060"  # 1002 str   r0, [r2]
    "10b5"  # 1004 push  {r4, lr}
    "40e80013"  # 1006 strex r3, r1, [r0]
    "d1e90645"  # 100a ldrd  r4, r5, [r1, #24]
    "f7e7"  # 100e b     1000
)
HANDLER = bytes.fromhex("7047")  # 1100 bx lr
REGISTERS: Dict[str, int] = {
    "TRCCONFIGR": 0x30006,  # loads and stores as P0 elements, data addresses and values
    "TRCTRACEIDR": 0x10,
    "TRCIDR0": 0x0800001E,  # loads, stores and data can be traced
    "TRCIDR1": 0x4100F420,  # ETMv4.2: the data stream's ID is one more
    "TRCIDR2": 0x00000004,
    "TRCIDR9": 6,
    "TRCIDR10": 32,
}
A_SYNC = "00" * 11 + "80"
# Trace Info (loads and stores as P0 elements, key 0), Trace On, Context (Thread), Address 0x1000, Timestamp 10.
BEGIN = A_SYNC + "01 03 30 00 04 81 00 9b 00 10 00 00 02 0a "
DATA_BEGIN = A_SYNC + "00 01 00 "


def capture(instructions: str, data: str, registers: Dict[str, int] = REGISTERS) -> RawCapture:
    images = (MemoryImage(0x1000, CODE, "code"), MemoryImage(0x1100, HANDLER, "handler"))
    source = TraceSource("ETM_0", "etmv4", registers, Core("cpu_0", "Cortex-M7", {}), images)
    buffer = frames([(0x10, bytes.fromhex(instructions)), (0x11, bytes.fromhex(data))])
    return RawCapture(buffer, BufferFormat.FRAMES, (source,), BufferEnd.STARTED, "made by hand")


def decode(instructions: str, data: str, registers: Dict[str, int] = REGISTERS) -> ExecutionHistory:
    (history,) = build(capture(BEGIN + instructions, DATA_BEGIN + data, registers)).values()
    return history


Plain = Tuple[Union[int, bool, None, str], ...]


def plain(transfer: Transfer) -> Plain:
    way = {True: "store", False: "load", None: "?"}[transfer.store]
    if transfer.role is not TransferRole.DATA:
        way = transfer.role.name.lower()
    return way, transfer.size, transfer.address, transfer.value


def story(history: ExecutionHistory) -> List[Tuple[int, List[Plain]]]:
    """List the instructions' addresses, each with its transfers."""
    found = []
    for number in range(1, len(history) + 1):
        transfers = [plain(transfer) for transfer in history.transfers(number)]
        found.append((history.instruction(number).address, transfers))
    return found


def gaps(history: ExecutionHistory) -> List[Tuple[GapReason, str, int]]:
    """List the data stream's gaps, each with its instruction number."""
    return [
        (event.reason, event.detail, history.number_at(at))
        for at, event in enumerate(history.events)
        if isinstance(event, DataGap)
    ]


# E (ldr, key 0), the marker, then E for str, push, strex, ldrd and b, and once more ldr (key 0); Timestamp 30.
TURN = "f7 20 ff ff 02 1e"
# Marker 0, Timestamp 20; then for each instruction its transfers.
TURN_DATA = (
    "00 11 02 14"
    "7a 90 80 80 80 02 00 21 2a"  # P1 0x20000010 of key 0; value 0x2a
    "94 22 34 12"  # P1 0x20000014 of key 1; value 0x1234
    "72 f8 9f 80 80 02 f8 38 44 00 00 00 00 11 00 00"  # P1 0x20000ff8 of key 2 and the next word; their values
    "94 f8 10 20"  # P1 0x20000fd4 of key 3, the success indicator; values 1 and 0
    "72 a8 80 80 80 02 f8 20 10"  # P1 0x20000028 of key 4 and the next word; values 0 and 1
)


def test_every_instruction_shows_its_transfers() -> None:
    history = decode(TURN, TURN_DATA)
    assert story(history) == [
        (0x1000, [("load", 4, 0x20000010, 0x2A)]),
        (0x1002, [("store", 4, 0x20000014, 0x1234)]),
        (0x1004, [("store", 4, 0x20000FF8, 0x44), ("store", 4, 0x20000FFC, 0x1100)]),
        (0x1006, [("store", 4, 0x20000FD4, 1), ("status", 4, None, 0)]),
        (0x100A, [("load", 4, 0x20000028, 0), ("load", 4, 0x2000002C, 1)]),
        (0x100E, []),
        (0x1000, []),
    ]
    assert all(transfer.certain for number in range(1, 7) for transfer in history.transfers(number))
    assert not gaps(history) and not any(isinstance(event, Gap) and event.detail for event in history.events)


def test_both_streams_are_listed() -> None:
    split = streams(capture(BEGIN + TURN, DATA_BEGIN + TURN_DATA))
    assert [(stream.trace_id, stream.is_data) for stream in split] == [(0x10, False), (0x11, True)]
    assert split[1].data == bytes.fromhex(DATA_BEGIN + TURN_DATA)
    names = {packet.name for trace_id, packet in packets_of(split) if trace_id == 0x11}
    assert {"P1 format 1", "P1 format 2", "P2 format 6", "Numbered Data Sync Mark"} <= names
    (part,) = parts(capture(BEGIN + TURN, DATA_BEGIN + TURN_DATA), trace_id=0x11)
    assert part.stream.trace_id == 0x10 and part.transfers is not None
    assert part.size == sum(len(stream.data) for stream in split)


@pytest.mark.parametrize(
    "text, expected",
    [
        # The push is key 2: its first word with an address, its second without, and the other way round; neither.
        ("7a f8 9f 80 80 02 02 f8", [0x20000FF8, 0x20000FFC]),
        ("fd 7f fc 9f 80 80 02 02 05 01", [0x20000FF8, 0x20000FFC]),
        ("fd f8", [None, None]),
        # Addresses that contradict one another tell nothing about a third.
        ("7a f8 9f 80 80 02 02 7f f8 9f 80 80 02 02 05 01", [0x20000FF8, 0x20000FF8]),
    ],
)
def test_addresses_follow_from_those_of_the_same_instruction(text: str, expected: List[Optional[int]]) -> None:
    # L20404: address order 32.
    history = decode(TURN, "00 11 02 14 7a 00 00" + text)
    assert [transfer.address for transfer in history.transfers(3)] == expected


def test_without_addresses_or_without_values() -> None:
    # L8369: P1 elements link values to instructions, or give addresses alone.
    values = decode(TURN, "00 11 02 14 7a 90 80 80 80 02 00 21 2a", dict(REGISTERS, TRCCONFIGR=0x20006))
    assert story(values)[0] == (0x1000, [("load", 4, None, 0x2A)])
    addresses = decode(TURN, "00 11 02 14 7a 90 80 80 80 02 00", dict(REGISTERS, TRCCONFIGR=0x10006))
    assert story(addresses)[0] == (0x1000, [("load", 4, 0x20000010, None)])


def test_exceptions_push_and_pop() -> None:
    # IRQ0 (L9613) after the store: Exception is key 2, its handler's bx lr key 3, the Exception Return key 4.
    instructions = "db 06 21 96 02 20 81 03 96 80 11 f7 07 81 00 96 82 10 f7 02 1e"
    # The return address of the frame (transfer index 6, table F-23) and xPSR without an address; R0 as it is popped.
    data = "00 11 02 14 7f 98 9f 80 80 02 02 01 06 f8 22 04 10 10 7a 80 9f 80 80 02 04 21 07"
    history = decode(instructions, data)
    entry = next(event for event in history.events if isinstance(event, Exception_))
    left = next(event for event in history.events if isinstance(event, ExceptionReturn))
    assert [plain(one) for one in history.event_transfers(entry)] == [
        ("store", 4, 0x20000F98, 0x1004),
        ("store", 4, 0x20000F9C, 1),
    ]
    assert [plain(one) for one in history.event_transfers(left)] == [("load", 4, 0x20000F80, 7)]


def test_what_is_missing_stays_visible() -> None:
    history = decode(TURN, "00 11 02 14 7a 90 80 80 80 02 00 94 00 05 " + A_SYNC + "00 01 00 72 10 06")
    assert gaps(history) == [
        (GapReason.OVERFLOW, "", 2),
        (GapReason.UNPLACED, "1 transfer", 2),
        (GapReason.BAD_PACKET, "06", 2),
    ]
    assert len(history) == 7


def test_cancelled_and_unknown_parents() -> None:
    # Before the first address nothing is known to run: the P0 element is there, and its transfer is counted.
    begin = A_SYNC + "01 03 30 00 04 02 0a f7 20 81 00 9b 00 10 00 00 f7 02 1e"
    taken = capture(begin, DATA_BEGIN + "00 11 02 14 7a 10 00 72 14")
    (part,) = parts(taken)
    (history,) = build(taken).values()
    assert story(history) == [(0x1000, [("load", 4, 0x14, None)])]
    assert history.data_counts is not None
    assert (history.data_counts.executed, history.data_counts.unexecuted) == (1, 1)


def test_a_transfer_of_no_load_is_not_certain() -> None:
    # The branch at 0x100e makes none: its key is 5, and an unnumbered marker follows it.
    history = decode("f7 20 ff db 28 f7 02 1e", "00 11 02 14 7a 00 00 01 7a 10 05")
    (found,) = history.transfers(6)
    assert (found.store, found.size, found.address, found.certain) == (None, None, 0x10, False)


def test_whether_the_streams_are_whole_decides_on_doubt() -> None:
    # No timestamps around the marker: of two streams from their beginnings on the first markers are the same.
    for skipped, certain in (("", True), ("04", False)):
        taken = capture(BEGIN.replace("02 0a", "") + "f7 20 f7", skipped + DATA_BEGIN + "00 11 7a 10 00")
        (history,) = build(taken).values()
        (found,) = history.transfers(1)
        assert (found.address, found.certain) == (0x10, certain)


def test_a_capture_without_the_data_stream_says_so() -> None:
    alone = capture(BEGIN + TURN, "")
    (history,) = build(alone).values()
    assert gaps(history) == [(GapReason.ABSENT, "trace ID 0x11", 0)]
    raw = alone._replace(buffer=bytes.fromhex(BEGIN + TURN), format=BufferFormat.RAW)
    (history,) = build(raw).values()
    assert gaps(history) == [(GapReason.ABSENT, "trace ID 0x11", 0)]


def test_the_shell_shows_both_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "snapshot")
    write_snapshot(capture(BEGIN + TURN, DATA_BEGIN + TURN_DATA + "03"), folder)

    def told(*words: str) -> List[str]:
        assert main([*words, folder]) == 0
        return capsys.readouterr().out.splitlines()

    elements = [" ".join(line.split()[1:]) for line in told("elements")]
    store = "11 transfer store=True size=4 address=0x20000014 value=0x1234 role=data certain=True instruction=2"
    assert store in elements
    status = "11 transfer store=True size=4 value=0x0 role=status certain=True instruction=4"
    assert status in elements
    assert sum(line.startswith("11 transfer") for line in elements) == 8
    assert "11 data_gap reason=" + GapReason.SUPPRESSED.value in elements
    objects = [json.loads(line) for line in told("elements", "--format", "jsonl")]
    transfers = [one for one in objects if one["kind"] == "transfer"]
    assert transfers[1]["instruction"] == 2 and transfers[1]["value"] == "0x1234" and transfers[1]["id"] == 0x11
    packets = told("packets")
    assert any("P2 format 1" in line and "value 0x1234, P1 key 2" in line for line in packets)


PIECES = st.sampled_from([bytes.fromhex(one) for one in (A_SYNC, DATA_BEGIN, TURN_DATA, BEGIN, TURN, "00 05", "2e01")])
BYTES = st.lists(st.one_of(PIECES, st.binary(max_size=6)), max_size=12).map(b"".join)


@settings(max_examples=150)
@given(BYTES, BYTES, st.sampled_from([0, 4]))
def test_any_bytes_in_both_streams(instructions: bytes, data: bytes, speculation: int) -> None:
    """Nothing raises; each transfer and each gap has its place."""
    registers = dict(REGISTERS, TRCIDR8=speculation)
    taken = capture(BEGIN + "f7 20" + instructions.hex(), DATA_BEGIN + "00 11 7a 10 00" + data.hex(), registers)
    (history,) = build(taken).values()
    told = [history.transfers(number) for number in range(1, len(history) + 1)]
    told += [history.event_transfers(event) for event in history.events]
    counts = history.data_counts
    assert counts is not None and counts.executed == sum(len(found) for found in told)
    assert all(len(event_text(event)) == 1 for event in history.events if isinstance(event, DataGap))
    assert len(list(history.elements())) >= len(history.events)
