"""The board's truth: what is shown at once, and what later."""

from __future__ import annotations

from pathlib import Path
from typing import List

import pytest

from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.session.background import Background
from gdb_etm.session.progress import Meter
from gdb_etm.session.recovered import Recovered, Watch
from tests.recovery.test_pieces import run_of

METER = Meter()
ALL, PIECE = 16000, 5000
NAMES = ("r0", "r4", "sp", "lr")


class Shown:
    """A history at a prompt.

    :param folder: Where its run is kept.
    :param most: How far it is worked out.
    """

    def __init__(self, folder: Path, most: int = ALL) -> None:
        found = run_of("text-O2", folder)
        self.background = Background()
        self.background.is_attended = True
        watch = Watch(self.background)
        rules = Rules(window=PIECE, most=most)
        self.recovery = Recovery(found.history(found.start(ALL)), found.end(), rules=rules, progress=watch)
        self.found = Recovered(self.recovery, None, watch, self.background)
        self.length = len(self.recovery.history)

    def settle(self) -> None:
        """Wait until the background has nothing to do."""
        while self.background.works_for(self.found):
            self.background.join()

    def known(self, number: int) -> int:
        """Count the registers that are known around a place."""
        near = self.recovery.near(number)
        return sum(near.register(at, name).value is not None for at in range(number - 50, number) for name in NAMES)


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def test_the_first_answer_is_provisional_and_gets_better(folder: Path) -> None:
    shown = Shown(folder)
    number, found = shown.length - 7000, shown.found
    # Each instruction counts once, though pieces overlap.
    first = shown.recovery.first(number)
    assert shown.recovery.pending(first) == shown.length + 1 - first
    with shown.background.held():
        found.look(number, METER)
        known = shown.known(number)
        (note,) = found.notes(number)
        assert shown.recovery.pending(number) > PIECE and note.startswith("[provisional: worked out from 2,0")
        assert note.endswith(" instructions up to the end are being worked out]")
        assert found.status.endswith("none is worked out up to the end, going on in the background")
    shown.settle()
    found.look(number, METER)
    assert not found.notes(number) and shown.known(number) > known
    assert found.status == "values of the past: worked out from instruction {:,} to {:,}".format(
        shown.recovery.since, shown.length
    )


def test_a_place_that_is_asked_about_meanwhile_is_worked_out_too(folder: Path) -> None:
    shown = Shown(folder)
    with shown.background.held():
        shown.found.look(shown.length - 3000, METER)
        shown.found.look(100, METER)
    shown.settle()
    assert not shown.recovery.pending(100) and shown.found.is_final(100)


def test_who_needs_all_waits_and_the_background_goes_on(folder: Path) -> None:
    shown = Shown(folder)
    shown.found.look(100, METER)
    assert shown.found.writes(0x20000000, 4, 1, METER).first <= shown.length
    shown.settle()
    assert shown.found.is_final(100)


def test_what_the_limit_leaves_out_stays_provisional(folder: Path) -> None:
    shown = Shown(folder, PIECE)
    shown.found.look(3000, METER)
    shown.settle()
    (note,) = shown.found.notes(3000)
    assert '"set etm recovery-limit"' in note and shown.known(3000)
    assert shown.recovery.since == shown.length + 1
    # Nobody waits for it where there is no prompt.
    shown.background.is_attended = False
    shown.found.look(9000, METER)
    assert shown.found.notes(9000) and not shown.background.works_for(shown.found)


@pytest.mark.parametrize("attribute", ["is_attended", "is_wanted"])
def test_without_the_background_a_command_waits(folder: Path, attribute: str) -> None:
    shown = Shown(folder)
    setattr(shown.background, attribute, False)
    shown.found.look(shown.length - 7000, METER)
    assert shown.found.is_final(shown.length - 7000) and not shown.found.notes(shown.length - 7000)


def test_registers_that_nobody_asked_for_start_nothing(folder: Path) -> None:
    shown = Shown(folder)
    values = shown.found.registers(shown.length - 7000, NAMES, METER)
    assert set(values) == set(NAMES) and any(value is not None for value in values.values())
    assert shown.recovery.pending(shown.length - 7000) and not shown.background.works_for(shown.found)


def test_the_end_is_known(folder: Path) -> None:
    shown = Shown(folder)
    shown.found.look(shown.length + 1, METER)
    assert not shown.found.notes(shown.length + 1) and not shown.background.works_for(shown.found)
    assert shown.recovery.near(shown.length + 1).register(shown.length + 1, "sp").value is not None


def test_ctrl_c_ends_a_first_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(folder)

    def interrupt(watch: Watch, share: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "__call__", interrupt)
    messages: List[str] = []
    try:
        shown.found.look(5000, METER)
    except KeyboardInterrupt as stop:
        messages.append(str(stop))
    assert messages == ["while working out the values around instruction 5,000, at 0%"] and shown.found.is_refused
