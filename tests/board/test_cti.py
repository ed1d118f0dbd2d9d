"""Vectors worked by hand from the manual of the CTI (DDI 0314H)."""

from __future__ import annotations

from typing import List, Tuple

from gdb_etm.board.cti import DEVID, CtiDevice, TriggerMatrix
from gdb_etm.board.identity import identification

KEY = 0xC5ACCE55
CONTROL, INTACK, APPSET, APPCLEAR, APPPULSE, INEN, OUTEN = 0x000, 0x010, 0x014, 0x018, 0x01C, 0x020, 0x0A0
TRIGIN, TRIGOUT, CHIN, CHOUT, GATE = 0x130, 0x134, 0x138, 0x13C, 0x140


def two() -> Tuple[CtiDevice, CtiDevice, List[bool]]:
    """Return an interface, another, and a wire to the first."""
    wire, matrix = [False], TriggerMatrix()
    identity = identification(0x906, 0x14, devid=DEVID)
    first = CtiDevice(0xE0048000, identity, {2: lambda: wire[0]}, matrix, has_lock=True)
    second = CtiDevice(0xE0046000, identity, {}, matrix, has_lock=False)
    first.write32(0xFB0, KEY)
    return first, second, wire


def joined(channel: int = 1) -> Tuple[CtiDevice, CtiDevice, List[bool]]:
    first, second, wire = two()
    first.write32(INEN + 4 * 2, 1 << channel)
    second.write32(OUTEN, 1 << channel)
    first.write32(CONTROL, 1)
    second.write32(CONTROL, 1)
    return first, second, wire


def test_identification_and_reset() -> None:
    first, second, _ = two()
    # DEVID: eight triggers, four channels; the gate lets all channels through.
    assert (first.read32(0xFC8), first.read32(0xFCC), first.read32(GATE)) == (0x40800, 0x14, 0xF)
    assert (first.read32(0xFB4), second.read32(0xFB4)) == (1, 0)
    assert [first.read32(offset) for offset in (CONTROL, INEN, OUTEN, TRIGIN, TRIGOUT, CHOUT)] == [0] * 6


def test_locked_registers_stay() -> None:
    first, _, _ = two()
    first.write32(0xFB0, 0)
    first.write32(CONTROL, 1)
    assert first.read32(CONTROL) == 0


def test_inputs_are_shown_while_it_is_off() -> None:
    first, second, wire = two()
    wire[0] = True
    assert (first.read32(TRIGIN), second.read32(TRIGIN)) == (4, 0)


def test_a_trigger_becomes_another_and_waits_for_software() -> None:
    first, second, wire = joined()
    assert not second.output(0)
    wire[0] = True
    assert second.output(0) and second.read32(TRIGOUT) == 1
    assert (first.read32(CHOUT), second.read32(CHIN)) == (2, 2)
    # An acknowledgement does nothing while the channel is active.
    second.write32(INTACK, 1)
    assert second.output(0)
    wire[0] = False
    assert second.output(0)
    second.write32(INTACK, 2)
    assert second.output(0)
    second.write32(INTACK, 1)
    assert not second.output(0)


def test_gates_and_enables_stop_it() -> None:
    for which, offset, value in ((0, GATE, 0xD), (1, GATE, 0xD), (0, CONTROL, 0), (1, CONTROL, 0), (0, INEN + 8, 0xD)):
        first, second, wire = joined()
        (first, second)[which].write32(offset, value)
        wire[0] = True
        assert not second.output(0), (which, offset)


def test_its_own_channel_passes_no_gate() -> None:
    first, _, wire = joined()
    first.write32(GATE, 0)
    first.write32(OUTEN + 4 * 3, 2)
    wire[0] = True
    assert first.output(3) and first.read32(CHOUT) == 0


def test_turned_off_it_forgets_its_outputs() -> None:
    _, second, wire = joined()
    wire[0] = True
    assert second.output(0)
    wire[0] = False
    second.write32(CONTROL, 0)
    second.write32(CONTROL, 1)
    assert not second.output(0)


def test_software_makes_channels_active() -> None:
    first, second, _ = joined()
    first.write32(APPPULSE, 2)
    assert second.output(0) and first.read32(APPSET) == 0
    second.write32(INTACK, 1)
    first.write32(APPSET, 2)
    assert first.read32(APPSET) == 2
    second.write32(INTACK, 1)
    assert second.output(0)
    first.write32(APPCLEAR, 2)
    second.write32(INTACK, 1)
    assert not second.output(0)
