"""Real pyOCD: the board as a debug probe."""

from __future__ import annotations

import subprocess
import sys
from typing import List

import pytest
from pyocd.core import exceptions
from pyocd.core.helpers import ConnectHelper
from pyocd.core.memory_map import RamRegion
from pyocd.core.target import Target
from pyocd.flash.file_programmer import FileProgrammer

from gdb_etm.access.pyocd_port import PyocdPort
from tests.board import hand

SORT = str(hand.FIRMWARE / "sort.elf")
RAM = 0x20000000


def pyocd(*arguments: str) -> str:
    """Run a pyocd command to its end; return what it printed."""
    command = [sys.executable, "-m", "pyocd", *arguments]
    finished = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    return finished.stdout


@pytest.mark.parametrize("name", ["m33", "m7"])
def test_pyocd_lists_the_board(name: str) -> None:
    (line,) = [line for line in pyocd("list").splitlines() if "board:%s " % name in line]
    assert "gdb_etm simulated board " + name in line


def test_pyocd_commander_uses_the_board() -> None:
    options = ("-u", "board:m33", "-t", "cortex_m", "-O", "board.elf=" + SORT)
    text = pyocd("commander", *options, "-c", "halt", "-c", "read32 0xE000ED00", "-c", "read32 0xE0041FBC")
    assert "Successfully halted" in text
    assert "410fd214" in text and "47724a13" in text


@pytest.mark.parametrize("name", ["board:m33", "board:M33", "m33"])
def test_names_of_the_board(name: str) -> None:
    session = ConnectHelper.session_with_chosen_probe(
        blocking=False, unique_id=name, target_override="cortex_m", options={"board.elf": SORT}
    )
    assert session is not None
    with session:
        assert session.target.read32(0xE000ED00) == 0x410FD214


def test_components_in_the_rom_tables_of_a_cortex_m7() -> None:
    with hand.board("m7", elf=SORT) as session:
        core = session.target.cores[0]
        assert core.name == "Cortex-M7" and core.read32(0xE000ED00) == 0x411FC272
        table = session.target.aps[0].rom_table
        (inner,) = [component for component in table.components if hasattr(component, "components")]
        found = {component.address: component.name for component in [*table.components, *inner.components]}
    assert found == {
        0xE00FF000: "ROM",
        0xE000E000: "SCS",
        0xE0001000: "DWT",
        0xE0002000: "FPB",
        0xE0041000: "ETM",
        0xE0042000: "Trace Funnel",
        0xE0043000: "ETF",
    }


def test_components_in_the_rom_table() -> None:
    with hand.board(elf=SORT) as session:
        components = session.target.aps[0].rom_table.components
        found = {component.address: component.name for component in components}
    assert found == {
        0xE000E000: "SCS",
        0xE0001000: "DWT",
        0xE0002000: "BPU",
        0xE0041000: "ETM",
        0xE0042000: "Trace Funnel",
        0xE0043000: "ETF",
        0xE0046000: "CTI",
        0xE0048000: "CTI",
    }


def test_halt_step_and_breakpoints() -> None:
    with hand.board(elf=SORT) as session:
        target = session.target
        start = target.read_core_register("pc")
        target.step()
        second = target.read_core_register("pc")
        assert second != start
        target.step()
        third = target.read_core_register("pc")
        target.reset_and_halt()
        assert target.read_core_register("pc") == start
        target.set_breakpoint(third)
        hand.run_to_halt(session)
        assert target.read_core_register("pc") == third
        target.remove_breakpoint(third)
        hand.run_to_halt(session)
        # It has come to the BKPT at the program's end.
        assert target.read16(target.read_core_register("pc")) == 0xBE00


def test_registers() -> None:
    with hand.board(elf=SORT) as session:
        target = session.target
        for name, value in (("r0", 0x12345678), ("r12", 0xFFFFFFFF), ("lr", 0x1001), ("s0", 1.5)):
            target.write_core_register(name, value)
            assert target.read_core_register(name) == value


def test_memory_of_all_sizes_and_alignments() -> None:
    with hand.board(elf=SORT) as session:
        target = session.target
        data = bytes(range(256)) * 20
        for start, length in ((RAM + 0x1001, 1), (RAM + 0x2003, 4999), (RAM + 0x13FE, 4), (0x40001, 2050)):
            target.write_memory_block8(start, data[:length])
            assert bytes(target.read_memory_block8(start, length)) == data[:length]
        target.write16(RAM + 0x1002, 0xBEEF)
        target.write8(RAM + 0x1001, 0xAD)
        assert target.read32(RAM + 0x1000) & 0xFFFFFF00 == 0xBEEFAD00


def test_a_fault_leaves_the_connection_usable() -> None:
    with hand.board(elf=SORT) as session:
        with pytest.raises(exceptions.TransferFaultError) as caught:
            session.target.read32(0x60000000)
        assert caught.value.fault_address == 0x60000000
        with pytest.raises(exceptions.TransferFaultError):
            session.target.write_memory_block32(0x60000000, [1, 2, 3])
        assert session.target.read32(0xE000ED00) == 0x410FD214


def test_an_elf_file_is_loaded_by_pyocd() -> None:
    with hand.board() as session:
        # Flash can be written like RAM.
        session.target.memory_map.add_region(RamRegion(name="code", start=0, length=0x100000))
        FileProgrammer(session).program(SORT)
        session.target.reset_and_halt()
        hand.run_to_halt(session)
        assert session.target.get_state() is Target.State.HALTED


def test_transfers_are_counted_as_on_the_wire() -> None:
    with hand.board(elf=SORT) as session:
        probe = hand.probe_of(session)
        ap = session.target.aps[0]
        ap.read_memory_block32(RAM, 4)
        before = probe.etm_wire.transfers
        ap.read_memory_block32(RAM + 0x100, 64)
        # TAR, 64 reads, and RDBUFF for the last.
        assert probe.etm_wire.transfers - before == 66
        before = probe.etm_wire.transfers
        ap.read32(RAM)
        assert probe.etm_wire.transfers - before == 3


def test_draining_costs_about_one_transfer_a_word() -> None:
    with hand.board(elf=SORT) as session:
        hand.start_trace(session.target)
        hand.run_to_halt(session)
        hand.flush(session.target)
        probe = hand.probe_of(session)
        before = probe.etm_wire.transfers
        words = PyocdPort(session.target.aps[0]).read_fifo(hand.ETF + hand.RRD, 1024)
        assert 0xFFFFFFFF not in words
        assert probe.etm_wire.transfers - before <= 1.1 * 1024


def failing_board(faults: str) -> List[str]:
    """Open a board with faults; return its exceptions' messages, outermost first."""
    with pytest.raises(exceptions.Error) as caught:
        with hand.board(elf=SORT, faults=faults) as session:
            hand.start_trace(session.target)
            hand.run_to_halt(session)
            hand.stop_trace(session.target)
    return [type(caught.value).__name__, str(caught.value)]


def test_faults_on_demand() -> None:
    assert failing_board("busy") == ["ProbeError", "board:m33 is in use by another program"]
    assert failing_board("unplug-after:8,in-drain") == ["ProbeDisconnected", "board:m33 is not connected any more"]
    assert failing_board("rain")[1].startswith("board:m33: no fault is called 'rain'")
    name, message = failing_board("hang:2000")
    assert (name, message) == ("TransferTimeoutError", "board:m33: the access port answers WAIT")


def test_bad_options() -> None:
    for options, message in (
        ({"etb_size": 100}, "board:m33: a trace buffer of 100 bytes"),
        ({"comparators": 9}, "board:m33: 9 address comparator pairs"),
        ({"elf": "/nowhere.elf"}, "/nowhere.elf"),
        ({"truth": "/nowhere/truth"}, "/nowhere/truth"),
    ):
        with pytest.raises(exceptions.ProbeError, match=message):
            with hand.board(**options):
                pass


def test_waits_are_tried_again() -> None:
    with hand.board(elf=SORT, faults="wait:7") as session:
        assert session.target.read32(0xE000ED00) == 0x410FD214
        hand.run_to_halt(session)


@pytest.mark.parametrize("fault, missing", [("no-etm", hand.ETM), ("no-funnel", hand.FUNNEL), ("no-sink", hand.ETF)])
def test_components_that_are_not_there(fault: str, missing: int) -> None:
    with hand.board(elf=SORT, faults=fault) as session:
        found = [component.address for component in session.target.aps[0].rom_table.components]
        assert missing not in found and len(found) == 7
        with pytest.raises(exceptions.TransferFaultError):
            session.target.read32(missing)
