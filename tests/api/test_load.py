"""Real captures with OpenCSD's result, loaded by a script."""

from __future__ import annotations

from pathlib import Path

import pytest

import gdb_etm
from gdb_etm.errors import CommandError, SnapshotError
from tests.access.processes import DEMO
from tests.shared import capture_folder


def test_a_snapshot_of_several_cores() -> None:
    captures = gdb_etm.load(capture_folder("juno_r1_1"))
    histories = captures[0].decode()
    assert len(captures) == 2 and 0x10 in histories and 0x11 in histories
    assert len(histories[0x10]) == 18878 and len(captures[0].history(0x11)) == 164
    assert captures[0].content.sources and captures[0].origin.startswith("loaded from ")
    with pytest.raises(CommandError, match="no trace ID 0x01 in capture 1"):
        captures[0].history(1)


def test_loaded_is_what_was_saved(tmp_path: Path) -> None:
    pytest.importorskip("unicorn")
    with gdb_etm.connect("board:m33", elf=DEMO) as session:
        session.start()
        session.run_to("dispatch")
        saved = session.capture()
        saved.save(tmp_path / "snap shot")
        assert session.capture().number == saved.number
    (loaded,) = gdb_etm.load(tmp_path / "snap shot", elf=[DEMO])
    assert list(loaded.history().instructions()) == list(saved.history().instructions())
    assert list(loaded.history().functions()) == list(saved.history().functions())
    (bare,) = gdb_etm.load(str(tmp_path / "snap shot"))
    assert len(bare.history()) == len(saved.history()) and bare.history().instruction(1).function == ""


def test_registers_and_memory_of_the_past() -> None:
    pytest.importorskip("unicorn")
    with gdb_etm.connect("board:m33", elf=DEMO) as session:
        session.start()
        session.run_to("HardFault_Handler")
        history = session.capture().history()
        newest, *_ = history.writes(0x200000BC, 4).writes
        assert (newest.value.value, newest.value.tier, newest.unknown_after) == (0x163333, gdb_etm.Tier.EXACT, 0)
        before, after = history.registers(newest.number), history.registers(newest.number + 1)
        # What is stored is in r0, at eight words behind the array's address in r7.
        assert (before["r0"].value, before["r4"].value, before["r7"].value) == (0x163333, 8, 0x2000009C)
        assert before["pc"].value == history.instruction(newest.number).address and after["r0"].value == 0x163333
        held = [history.memory(number, 0x200000BC, 4) for number in (newest.number, newest.number + 1)]
        assert [bytes(one.value or 0 for one in values).hex() for values in held] == ["5b040000", "33331600"]
        (step,) = history.why(newest.number, "R4")
        assert step.tier is gdb_etm.Tier.EXACT and history.findings == ()
        with pytest.raises(CommandError, match="no instruction 0"):
            history.registers(0)
        with pytest.raises(CommandError, match='no register "r16"'):
            history.why(1, "r16")
        session.command("set recovery off")
        with pytest.raises(CommandError, match="set etm recovery assumed"):
            history.memory(1, 0x20000000, 4)


def test_what_is_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError):
        gdb_etm.load(tmp_path)
    with pytest.raises(CommandError, match="no file"):
        gdb_etm.load(tmp_path, elf=tmp_path / "none.elf")


def test_why_it_faulted_and_where_values_came_from() -> None:
    pytest.importorskip("unicorn")
    with gdb_etm.connect("board:m33", elf=DEMO) as session:
        session.start()
        session.run_to("HardFault_Handler")
        history = session.capture().history()
        fault = history.fault()
        assert isinstance(fault, gdb_etm.Fault) and fault.exception == "HardFault"
        assert fault.number == len(history) and fault.text[0].startswith("what   HardFault")
        assert fault.bad[0].value == 0x163333 and fault.bad[0].what == "the address that it goes to"
        assert fault.verdict is not None and fault.verdict.line == "rx.c:83" and fault.verdict.number == 13594
        assert fault.verdict.tier is gdb_etm.Tier.EXACT and "past the end of station.values" in fault.verdict.text
        assert [step.what for step in fault.chain] == ["r3", "station.table[0].handler"]
        chain = history.origin("r3")
        assert chain.title.endswith("at the fault, after #18,364") and chain.steps[0].parent is None
        first, stored = chain.steps[:2]
        assert (first.number, first.value, first.made, stored.parent) == (18363, 0x163333, "loaded", 0)
        assert (stored.number, stored.what, stored.place) == (13594, "station.table[0].handler", "<parse_values+26>")
        assert not any(step.is_address for step in chain.steps)
        assert any(step.is_address for step in history.origin("r3", 18364, addresses=True).steps)
        used = history.uses("r0", 13594)
        assert (used.steps[0].made, used.steps[0].line) == ("stored", "rx.c:83")
        for number in (0, len(history) + 2):
            with pytest.raises(CommandError, match="no instruction"):
                history.origin("r3", number)
        with pytest.raises(CommandError, match="nothing ran after"):
            history.uses("r3", len(history) + 1)
