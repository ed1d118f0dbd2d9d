"""Real pyOCD on boards that are chips, and the board's truth.

What the boards say is from other public documents than the profiles, which gdb_etm/board/chips.py names.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Dict

import pytest

from gdb_etm.board.chips import CHIPS, ZYNQ
from gdb_etm.profiles.library import load
from gdb_etm.session import connecting
from tests.bundle.boards import PROGRAMS, SECONDS, bundle, repeated, session_on
from tests.gdb_session import run_gdb

pytest.importorskip("unicorn")

# By the ID in their ROM table the profile is found; of the others no document says it.
KNOWN = {"stm32h743", "stm32h563", "stm32f407"}
NO_BUFFER = {"rp2350": "its TPIU feeds pins", "stm32f407": "(RM0090, 38.17)", "samv71": "(DS60001527)"}


def request(chip: str) -> Dict[str, Any]:
    """Return what connecting to a chip needs besides its name."""
    if chip == ZYNQ:
        return {"elf": (PROGRAMS["a9"],), "dap_only": True, "option": ("board.hold=1",), "unit": 0, "profile": chip}
    program = PROGRAMS["m4" if CHIPS[chip].base.name in ("lpc4330", "stm32f407") else "m33"]
    return {"elf": (program,), **({} if chip in KNOWN else {"profile": chip})}


def test_each_chip_is_a_board_and_has_a_profile() -> None:
    assert set(connecting.CHIPS) == {*CHIPS, ZYNQ}
    for chip in connecting.CHIPS:
        assert load(chip).sources


@pytest.mark.parametrize("chip", CHIPS)
def test_profile_and_board_agree_though_they_have_other_sources(chip: str) -> None:
    profile, board = load(chip), CHIPS[chip]
    words = {word.address: word for word in board.words}
    if profile.identity is not None:
        found = words[profile.identity.address].reset
        assert not (found ^ profile.identity.value) & profile.identity.mask
    for enable in profile.enables:
        assert not enable.mask & ~words[enable.address].writable
        # It is needed: after power-up the register holds something else.
        assert (words[enable.address].reset ^ enable.value) & enable.mask
    if board.gate is not None:
        (enable,) = [each for each in profile.enables if each.address == board.gate.address]
        assert enable.mask & board.gate.mask == board.gate.mask
        assert enable.value & board.gate.mask == board.gate.value
    assert bool(profile.no_buffer) == (not board.has_buffer)
    assert (profile.part_id is not None) == (board.rom_id is not None)
    assert profile.part_id is None or profile.part_id == board.rom_id


@pytest.mark.parametrize("chip", sorted({*CHIPS, ZYNQ} - set(NO_BUFFER)))
def test_a_chip_from_connecting_to_the_history(chip: str, tmp_path: Path) -> None:
    with session_on(chip, truth=str(tmp_path / "truth"), **request(chip)) as session:
        info = session.info()
        assert any(line.startswith("Profile %s: " % chip) for line in info)
        session.command("start")
        if chip == ZYNQ:
            time.sleep(1.0)
            verdict = session.command("doctor")
            session.command("stop")
        else:
            session.run(SECONDS)
        (capture,) = session.captures
        ran = [each.address for each in capture.history().instructions()]
        verdict = session.command("doctor") if chip != ZYNQ else verdict
        assert verdict[-1] == "Nothing is wrong.", verdict
        path, _ = bundle(session, tmp_path, "--with-program")
    truth = [int(line.split()[0], 16) for line in (tmp_path / "truth").read_text().splitlines() if line[:2] == "0x"]
    text, part = ",".join(map(str, truth)), ",".join(map(str, ran))
    assert len(ran) > 500 and part in text
    assert repeated(path)[1][-1] == "The same as recorded."


@pytest.mark.parametrize("chip", NO_BUFFER)
def test_the_doctor_says_that_there_is_no_buffer(chip: str) -> None:
    with session_on(chip, **request(chip)) as session:
        lines = session.command("doctor")
    (line,) = [line for line in lines if "  bad  " in line]
    assert "no trace buffer: " in line and NO_BUFFER[chip] in line


@pytest.mark.parametrize("chip", ["nrf5340", "lpc4330"])
def test_without_its_profile_the_doctor_names_it(chip: str) -> None:
    with session_on(chip, elf=request(chip)["elf"]) as session:
        if chip == "lpc4330":
            session.command("start")
            session.run(SECONDS)
        lines = session.command("doctor")
    (line,) = [line for line in lines if " profile " in line]
    assert "no profile has this chip's ID" in line and "--profile NAME" in lines[lines.index(line) + 1]
    assert chip in lines[lines.index(line) + 1]


def test_the_profile_of_another_chip_writes_nothing() -> None:
    with session_on("stm32h743", elf=(PROGRAMS["m33"],), profile="stm32h563") as session:
        lines = session.command("doctor")
    assert any("this is no stm32h563" in line and "nothing was written" in line for line in lines)


def test_a_chip_in_gdb(tmp_path: Path) -> None:
    printed = run_gdb(
        ["etm connect board:stm32h743 --elf %s" % PROGRAMS["m33"], "etm start", "continue", "etm disconnect"],
        cwd=tmp_path,
    )
    assert "Profile stm32h743: " in printed and "funnel 0xe00f3000" in printed
    assert "HardFault (a jump to where no code is)" in printed
    assert "disconnected from Cortex-M7" in printed
