"""Vectors worked by hand from ADIv5.2: debug and access port."""

from __future__ import annotations

from typing import Callable, List

import pytest

from gdb_etm.board.bus import Bus
from gdb_etm.board.dap import ABORT, CTRL_STAT, RDBUFF, SELECT, AhbAccessPort, DebugPort, FaultResponse, WaitResponse
from gdb_etm.board.faults import Faults, parse_faults

RAM = 0x20000000
CSW, TAR, DRW = 0x0, 0x4, 0xC
WORD, HALF, BYTE, INCREMENT = 2, 1, 0, 0x10


def port(faults: Faults = Faults(), reset: Callable[[], None] = lambda: None) -> DebugPort:
    dp = DebugPort([AhbAccessPort(Bus(), 0xE00FF000)], reset, faults)
    dp.write(CTRL_STAT, 0x50000000)
    dp.write(SELECT, 0)
    return dp


def test_identity_and_power() -> None:
    dp = DebugPort([AhbAccessPort(Bus(), 0xE00FF000)], lambda: None)
    assert dp.read(0) == 0x6BA02477
    # Without power the access port answers FAULT, and the error sticks.
    with pytest.raises(FaultResponse):
        dp.read_ap(CSW)
    assert dp.read(CTRL_STAT) == 0x20
    dp.write(ABORT, 0x1E)
    dp.write(CTRL_STAT, 0x50000000)
    assert dp.read(CTRL_STAT) == 0xF0000000
    dp.write(SELECT, 0xF0)
    assert dp.read_ap(0xC) == 0x84770011
    assert dp.read_ap(0x8) == 0xE00FF003
    dp.write(SELECT, 0x010000F0)
    assert dp.read_ap(0xC) == 0


def test_a_debug_reset_request_resets_once() -> None:
    resets: List[int] = []
    dp = port(reset=lambda: resets.append(1))
    dp.write(CTRL_STAT, 0x54000000)
    dp.write(CTRL_STAT, 0x54000000)
    assert len(resets) == 1
    assert dp.read(CTRL_STAT) & 0x0C000000 == 0x0C000000


def test_increment_wraps_at_4_kib() -> None:
    dp = port()
    dp.write_ap(CSW, WORD | INCREMENT)
    dp.write_ap(TAR, RAM + 0xFF8)
    for value in (1, 2, 3):
        dp.write_ap(DRW, value)
    assert dp.read_ap(TAR) == RAM + 4
    dp.write_ap(TAR, RAM + 0xFF8)
    assert [dp.read_ap(DRW) for _ in range(3)] == [1, 2, 3]
    assert dp.read(RDBUFF) == 3


def test_lanes_of_small_accesses() -> None:
    dp = port()
    dp.write_ap(CSW, BYTE | INCREMENT)
    dp.write_ap(TAR, RAM + 1)
    dp.write_ap(DRW, 0x00AB00)
    dp.write_ap(DRW, 0xCD0000)
    dp.write_ap(CSW, HALF)
    assert dp.read_ap(TAR) == RAM + 3
    dp.write_ap(TAR, RAM + 2)
    assert dp.read_ap(DRW) == 0x00CD0000
    assert dp.read_ap(TAR) == RAM + 2
    # Packed transfers are not implemented: AddrInc 0b10 reads back as 0.  Nor are 64-bit accesses.
    dp.write_ap(CSW, 0x20 | WORD)
    assert dp.read_ap(CSW) & 0x37 == WORD
    dp.write_ap(CSW, 3)
    assert dp.read_ap(CSW) & 0x7 == WORD


def test_banked_data_registers() -> None:
    dp = port()
    dp.write_ap(CSW, WORD | INCREMENT)
    dp.write_ap(TAR, RAM + 0x10)
    dp.write(SELECT, 0x10)
    for register in (0x0, 0x4, 0x8, 0xC):
        dp.write_ap(register, register)
    assert [dp.read_ap(register) for register in (0x0, 0x4, 0x8, 0xC)] == [0x0, 0x4, 0x8, 0xC]
    dp.write(SELECT, 0)
    assert dp.read_ap(TAR) == RAM + 0x10


def test_a_bus_error_sticks_until_it_is_cleared() -> None:
    dp = port()
    dp.write_ap(CSW, WORD)
    dp.write_ap(TAR, 0x60000000)
    with pytest.raises(FaultResponse):
        dp.read_ap(DRW)
    with pytest.raises(FaultResponse):
        dp.read_ap(CSW)
    assert dp.read(CTRL_STAT) & 0x20
    dp.write(ABORT, 0x4)
    assert not dp.read(CTRL_STAT) & 0x20
    assert dp.read_ap(TAR) == 0x60000000


def test_waiting() -> None:
    dp = port(Faults(wait=3))
    answers = []
    for _ in range(6):
        try:
            dp.read_ap(CSW)
            answers.append("ok")
        except WaitResponse:
            answers.append("wait")
    assert answers == ["ok", "ok", "wait", "ok", "ok", "wait"]
    dp = port(Faults(hang=2))
    dp.read_ap(CSW)
    for _ in range(3):
        with pytest.raises(WaitResponse):
            dp.read_ap(CSW)


def test_faults_in_text() -> None:
    assert parse_faults(["wait:10", " no-etm", "busy"]) == Faults(wait=10, no_etm=True, busy=True)
    for bad, message in (
        ("rain", "no fault is called 'rain'; there are wait, hang,"),
        ("wait", "fault 'wait' needs a positive number"),
        ("wait:0", "fault 'wait' needs a positive number"),
        ("busy:1", "fault 'busy' takes no number"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_faults([bad])
