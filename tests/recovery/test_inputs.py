"""Worked by hand: what is read of the program's files, and when."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Tuple

import pytest

from gdb_etm.beside.replays import make_replay
from gdb_etm.capture import MemoryImage
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.elf import open_elf
from gdb_etm.program.ram import SRAM, load_writable
from gdb_etm.session.anchor import Anchor
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.progress import Meter
from gdb_etm.session.recovery_inputs import frames_and_objects, rules_of
from tests.firmware.build import elf
from tests.history.executed import history_of


def test_files_are_read_again_when_they_have_changed(tmp_path: Path) -> None:
    path = str(shutil.copy(elf("sort"), tmp_path / "program.elf"))
    frames, objects = frames_and_objects([path])
    assert frames is not None and objects is not None
    assert frames_and_objects([path])[0] is frames
    assert frames_and_objects([path])[1] is objects
    os.utime(path, ns=(1, 1))
    assert frames_and_objects([path])[0] is not frames
    os.remove(path)
    assert frames_and_objects([path]) == (None, None)


def history_from(path: str) -> ExecutionHistory:
    """Make the history of a program's first instruction."""
    with open_elf(path) as program:
        return history_of(path, [int(program["e_entry"]) & ~1])


def test_files_of_another_program_say_nothing_of_a_history(tmp_path: Path) -> None:
    path = str(shutil.copy(elf("sort"), tmp_path / "program.elf"))
    history = history_from(path)
    rules = rules_of(Anchored(), history, [path])
    assert rules.frames is not None and rules.objects is not None and rules.stacks
    # Built again since it ran, or beside it in the debugger.
    other = str(shutil.copy(elf("steps"), tmp_path / "other.elf"))
    shutil.copy(other, path)
    for file in (path, other):
        rules = rules_of(Anchored(), history, [file])
        assert rules.frames is None and rules.objects is None and not rules.stacks


@pytest.mark.parametrize("below", [0x20, 0])
@pytest.mark.parametrize(
    "read, is_memory",
    [
        # Of what it had, the core has no memory below RAM; of nothing that was read, it may have.
        ((SRAM[0],), False),
        ((SRAM[0] - 256, SRAM[0]), True),
        ((), True),
    ],
)
def test_a_stack_that_has_left_its_memory_is_no_ram(read: Tuple[int, ...], is_memory: bool, below: int) -> None:
    path = elf("sort")
    assert load_writable(path)[0][0] == SRAM[0]
    images = [MemoryImage(start, bytes(256), "RAM") for start in read]
    halt = Anchor({"sp": SRAM[0] - below, "psp": 0}, images=images)
    rules = rules_of(Anchored(end=halt), history_from(path), [path])
    assert any(start <= SRAM[0] - 4 < end for start, end in rules.ram) == is_memory


def test_a_replay_has_the_constants_of_what_ran(tmp_path: Path) -> None:
    path = str(shutil.copy(elf("sort"), tmp_path / "program.elf"))
    history = history_from(path)
    at, size = history.instruction(1).address, 0x80
    code = history.program.read(at, size)
    assert history_from(elf("steps")).program.read(at, size) != code
    shutil.copy(elf("steps"), path)
    replay = make_replay(Decoded(history, Meter(), Anchored(), 0), lambda address: None, [path], Anchored())
    assert replay.past.memory(1, at, size) == code
