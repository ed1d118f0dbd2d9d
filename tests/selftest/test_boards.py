"""The self test on boards without a defect.

It passes, and leaves no mark.  Real pyOCD, without GDB.
"""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from gdb_etm.board.cortex_a_board import CORE_DEBUG
from gdb_etm.board.cortex_a_itr import REGISTERS as A_REGISTERS
from gdb_etm.coresight.core_debug import CoreDebugDriver
from gdb_etm.errors import CaptureError, CommandError
from gdb_etm.selftest.bench import SelfTestBench
from gdb_etm.selftest.findings import StepFinding, StepOutcome
from gdb_etm.session.selftesting import selftest
from tests.selftest.harness import BoardAtHand, board_at_hand

_BOARDS: Dict[str, Dict[str, Any]] = {
    "m33": {},
    "m7": {},
    "m4": {},
    "m33 full": {"resources": "full"},
    "m7 full": {"resources": "full", "etb_size": 8192},
    "m7 deep": {"speculation": 40},
    "m4 data": {"data_trace": 1},
    "m0": {},
    "m23": {},
    "a9": {},
    "zynq7000": {},
}


def _failed(found: List[StepFinding]) -> List[StepFinding]:
    return [one for one in found if one.outcome is StepOutcome.FAILED]


@pytest.mark.sweep
@pytest.mark.parametrize("name", _BOARDS)
def test_passes(name: str) -> None:
    with board_at_hand(name.split()[0], **_BOARDS[name]) as hand:
        found = hand.findings()
    assert not _failed(found)
    subjects = [one.subject for one in found if one.outcome is StepOutcome.OK]
    assert subjects[:5] == ["RAM", "core", "unit registers", "buffer memory", "instructions"]
    # A Micro Trace Buffer has no options.
    assert len(subjects) >= (11 if name in ("m0", "m23") else 20) and subjects[-1] == "put back"
    # What is left out says which field says so, or what is missing here.
    for one in found:
        assert one.outcome is not StepOutcome.SKIPPED or one.proof.count("(") or "here" in one.proof, one


def _everything(hand: BoardAtHand) -> Dict[str, Any]:
    machine: Any = hand.board.machine
    unit: Any = hand.board.unit
    engine = machine.core.engine
    return {
        "ram": bytes(machine.bus.ram),
        "core": [hand.session.connected().trace is not None, engine.pc, engine.xpsr, engine.registers.now()],
        "unit": dict(unit._values) if hasattr(unit, "_values") else [unit._read(offset) for offset in range(0, 24, 4)],
        "dwt": [(each.address, each.read(4), each.read(8)) for each in machine.dwt.comparators],
        "scs": [
            machine.bus.read(0xE000E000 + offset, 4) for offset in (0xD08, 0xD24, 0xD28, 0xD2C, 0xD30, 0xDFC, 0xDF8)
        ],
        "mask": machine.core.interrupts_masked,
    }


@pytest.mark.parametrize("name", ["m33 full", "m7", "m4 data", "m0", "m23"])
def test_leaves_no_mark(name: str) -> None:
    """Memory, core, unit and DWT are as before."""
    with board_at_hand(name.split()[0], **_BOARDS[name]) as hand:
        machine: Any = hand.board.machine
        machine.bus.ram[:12288] = bytes(n * 7 & 0xFF for n in range(12288))
        hand.port.write32(0xE000EDF8, 0x12345678)
        before = _everything(hand)
        assert not _failed(hand.findings())
        after = _everything(hand)
        assert {key: after[key] for key in before if before[key] != after[key]} == {}


@pytest.mark.sweep
@pytest.mark.parametrize("pc, cpsr", [(0x20001000, 0x600001D3), (0x20001003, 0x2000013F), (0x20001003, 0x800000F2)])
def test_leaves_no_mark_on_a_cortex_a(pc: int, cpsr: int) -> None:
    """Whatever mode and instruction set it is in, halted or not."""
    with board_at_hand("a9") as hand:
        machine: Any = hand.board.machine
        with machine.turn():
            engine = machine.core.engine
            machine.core.halt()
            machine.bus.ram[:] = (b"\xfe\xe7\xfe\xe7" if pc & 1 else b"\xfe\xff\xff\xea") * (len(machine.bus.ram) // 4)
            engine.change_mode(cpsr)
            for number in range(15):
                engine.write(A_REGISTERS[number], 0x11111111 * number & 0x7FFFFFFF)
            engine.pc = pc
        driver, debug = CoreDebugDriver(hand.port, CORE_DEBUG), (0x01C, 0x088, *range(0x100, 0x118, 4), 0x140)

        def everything() -> Dict[str, Any]:
            with machine.turn():
                return {
                    "ram": bytes(machine.bus.ram),
                    "core": [engine.pc, engine.cpsr, [engine.read(number) for number in A_REGISTERS]],
                    "system": [engine.read_system((*one, 0, 0), True) for one in ((12, 0), (5, 0), (6, 0))],
                    "unit": dict(hand.board.unit._values),
                    "debug": [hand.port.read32(CORE_DEBUG + offset) & 0xFFFFFFC3 for offset in debug],
                }

        before = everything()
        assert not _failed(hand.findings())
        after = everything()
        assert {key: after[key] for key in before if before[key] != after[key]} == {}
        # And one that runs: it runs on.
        driver.restart()
        assert not _failed(hand.findings())
        assert driver.status("HALTED") == 0
        driver.halt()
        assert everything()["core"] == before["core"]


def test_refuses_a_cortex_a_that_cannot_be_put_back() -> None:
    with board_at_hand("a9") as hand:
        machine: Any = hand.board.machine
        with machine.turn():
            machine.core.halt()
            machine.core.engine.change_mode(0x1D6)
            machine.core.engine.pc = 0x20000000
        with pytest.raises(CaptureError, match="the core is in Monitor mode"):
            hand.findings()
        with pytest.raises(CaptureError, match="no RAM is known"):
            with machine.turn():
                machine.core.engine.change_mode(0x1D3)
            list(selftest(hand.session))
        hand.port.write32(CORE_DEBUG + 0x080, 1)
        with pytest.raises(CaptureError, match="a word waits in the core's debug channel .DBGDSCR.RXfull."):
            hand.findings()


def test_goes_on_tracing() -> None:
    """A trace that was on before is on again."""
    from gdb_etm.traceunit.options import TraceOptions

    with board_at_hand("m33") as hand:
        connection = hand.session.connected()
        connection.start(TraceOptions(branch_broadcast=True))
        assert not _failed(hand.findings())
        trace = connection.session()
        assert connection.is_tracing and trace.options == TraceOptions(branch_broadcast=True)
        assert trace.status().unit.enabled


def test_refusals() -> None:
    with board_at_hand("m33") as hand:
        trace = hand.session.connected().session()
        with pytest.raises(CaptureError, match="no RAM is known .0x40000000 holds no code.: type .etm selftest --ram"):
            list(selftest(hand.session, 0x40000000))
        with pytest.raises(CaptureError, match="0x00000080 is no RAM|0x10000000 is no RAM"):
            list(selftest(hand.session, 0x10000000))
        # Nothing was touched: the same session still has the hardware.
        assert hand.session.connected().trace is trace
        hand.session.connected().has_core = False
        with pytest.raises(CommandError, match="--dap-only"):
            list(selftest(hand.session))


def test_running_core() -> None:
    with board_at_hand("m33") as hand:
        # A branch to itself, so that it runs for ever.
        hand.port.write32(0x20000000, 0xE7FEE7FE)
        bench = SelfTestBench(hand.core(), hand.session.connected().session())
        hand.core().enter(0x20000000, 0x20001000)
        hand.port.write32(0xE000EDF0, 0xA05F0001)
        with pytest.raises(CaptureError, match="the core runs; halt it first"):
            bench.check()
        hand.port.write32(0xE000EDF0, 0xA05F0003)


def test_limit() -> None:
    """After so many runs no other step begins."""
    with board_at_hand("m33") as hand:
        bench = SelfTestBench(hand.core(), hand.session.connected().session())
        bench.check()
        found = list(bench.findings(3))
    assert [one.outcome for one in found[-2:]] == [StepOutcome.SKIPPED, StepOutcome.OK]
    assert found[-2].proof == "and what follows: the program ran 3 times" and found[-1].subject == "put back"
    assert len(found) == 8


def test_interrupted() -> None:
    """Whoever stops listening gets the target back as well."""
    with board_at_hand("m33") as hand:
        before = _everything(hand)
        running = selftest(hand.session)
        assert [next(running).subject for _ in range(3)] == ["RAM", "core", "unit registers"]
        running.close()
        assert _everything(hand) == before
