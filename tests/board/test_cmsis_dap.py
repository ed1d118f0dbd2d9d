"""Vectors worked by hand from Arm's CMSIS-DAP documentation: the probe's commands."""

from __future__ import annotations

import struct
from typing import Callable, List, Tuple, Union

import pytest

from gdb_etm.board.bus import Bus
from gdb_etm.board.cmsis_dap import Firmware
from gdb_etm.board.dap import AhbAccessPort, DebugPort
from gdb_etm.board.faults import parse_faults

RAM = 0x20000000
OK, WAIT, FAULT, MISMATCH = 1, 2, 4, 0x10
# Transfer requests: APnDP, RnW, A[3:2], value match, match mask.
DP_IDR, CTRL_STAT, SELECT, RDBUFF = 0x02, 0x04, 0x08, 0x0E
CSW, TAR, DRW, READ_DRW, READ_TAR = 0x01, 0x05, 0x0D, 0x0F, 0x07
MATCH, MASK = 0x10, 0x20


def probe(*faults: str, size: int = 64, reset: Callable[[], None] = lambda: None) -> Firmware:
    dp = DebugPort([AhbAccessPort(Bus(), 0xE00FF000)], lambda: None, parse_faults(faults))
    dp.write(0x4, 0x50000000)
    return Firmware(dp, reset, size)


def transfer(*requests: Union[Tuple[int, int], int]) -> bytes:
    """Write a DAP_Transfer: a pair has a data word."""
    text = b"\x05\x00" + bytes((len(requests),))
    for each in requests:
        text += bytes((each,)) if isinstance(each, int) else struct.pack("<BI", *each)
    return text


SET_UP = ((CSW, 0x12), (TAR, RAM))


def test_what_the_probe_says_of_itself() -> None:
    small, large = probe(), probe(size=512)
    assert small.respond(b"\x00\xf0") == b"\x00\x01\x01"
    assert small.respond(b"\x00\xfe") == b"\x00\x01\x04"
    assert small.respond(b"\x00\xff") == b"\x00\x02\x40\x00"
    assert large.respond(b"\x00\xff") == b"\x00\x02\x00\x02"
    # A text has its zero, and its length counts it.
    assert small.respond(b"\x00\x04") == b"\x00\x051.10\x00"
    assert large.respond(b"\x00\x04") == b"\x00\x062.0.0\x00"
    assert small.respond(b"\x00\x03") == b"\x00\x00"
    # Connected to SWD, and not to JTAG.
    assert [small.respond(bytes((2, port))) for port in (0, 1, 2)] == [b"\x02\x01", b"\x02\x01", b"\x02\x00"]
    assert small.respond(b"\x14\x00") == b"\xff"
    for request in (b"\x01\x00\x01", b"\x03", b"\x09\x10\x00", b"\x11\x40\x42\x0f\x00", b"\x13\x00"):
        assert small.respond(request) == request[:1] + b"\x00"
    assert small.respond(b"\x0a") == b"\x0a\x00\x00"
    assert small.respond(b"\x1d\x02\x05\x1f\x89") == b"\x1d\x00\xff\xff"


def test_transfers_and_blocks() -> None:
    firmware = probe()
    assert firmware.respond(transfer(*SET_UP, (DRW, 0x11), (DRW, 0x22), DP_IDR)) == b"\x05\x05\x01\x77\x24\xa0\x6b"
    block = b"\x06\x00" + struct.pack("<HBII", 2, DRW, 0x33, 0x44)
    assert firmware.respond(block) == b"\x06\x02\x00\x01"
    assert firmware.respond(transfer((TAR, RAM))) == b"\x05\x01\x01"
    expected = b"\x06\x04\x00\x01" + struct.pack("<4I", 0x11, 0x22, 0x33, 0x44)
    assert firmware.respond(b"\x06\x00" + struct.pack("<HB", 4, READ_DRW)) == expected


def test_a_fault_ends_the_packet_and_sticks_until_it_is_aborted() -> None:
    firmware = probe()
    # The two before it were done; what comes after it is not tried.
    answer = firmware.respond(transfer((CSW, 0x12), (TAR, 0x70000000), READ_DRW, (TAR, RAM)))
    assert answer == bytes((5, 2, FAULT))
    assert firmware.respond(transfer(READ_TAR)) == bytes((5, 0, FAULT))
    assert firmware.respond(b"\x08\x00\x1e\x00\x00\x00") == b"\x08\x00"
    assert firmware.respond(transfer(READ_TAR)) == b"\x05\x01\x01\x00\x00\x00\x70"


def test_wait_is_tried_again_as_often_as_was_configured() -> None:
    firmware = probe("wait:3")
    assert firmware.respond(transfer(*SET_UP, (DRW, 5))) == bytes((5, 3, OK))
    assert firmware.transfers == 4
    firmware = probe("hang:2")
    firmware.respond(b"\x04\x00\x05\x00\x00\x00")
    assert firmware.respond(transfer(*SET_UP)) == bytes((5, 1, WAIT))
    assert firmware.transfers == 1 + 6
    # A block tells how many words it has.
    firmware = probe("hang:5")
    firmware.respond(transfer(*SET_UP))
    answer = firmware.respond(b"\x06\x00" + struct.pack("<HB", 5, READ_DRW))
    assert answer == b"\x06\x02\x00\x02" + bytes(8)


def test_a_value_is_matched() -> None:
    firmware = probe()
    firmware.respond(b"\x04\x00\x64\x00\x02\x00")
    ram = (*SET_UP, (DRW, 0xABCD1234), (TAR, RAM), (MASK, 0xFFFF))
    found = firmware.respond(transfer(*ram, (READ_DRW | MATCH, 0x1234)))
    assert found == bytes((5, 6, OK))
    # It is read three times: once, and two times again.
    firmware.respond(transfer((CSW, 0x02), (TAR, RAM)))
    before = firmware.transfers
    assert firmware.respond(transfer((READ_DRW | MATCH, 0x9999))) == bytes((5, 0, OK | MISMATCH))
    assert firmware.transfers == before + 3


def test_the_reset_pin() -> None:
    resets: List[int] = []
    firmware = probe(reset=lambda: resets.append(1))
    assert firmware.respond(b"\x10\x00\x80\x00\x00\x00\x00") == b"\x10\x00" and not resets
    assert firmware.respond(b"\x10\x80\x80\x00\x00\x00\x00") == b"\x10\x80" and len(resets) == 1


def test_a_packet_holds_so_many_bytes() -> None:
    with pytest.raises(ValueError, match="a request of 65 bytes in packets of 64"):
        probe().respond(bytes(65))
    with pytest.raises(ValueError, match="a response of 68 bytes in packets of 64"):
        firmware = probe()
        firmware.respond(transfer(*SET_UP))
        firmware.respond(b"\x06\x00" + struct.pack("<HB", 16, READ_DRW))
