"""The board's truth: faulty programs stop where their marks say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.firmware.faulty.build import FOLDER, elf, marked, missing, source
from tests.firmware.faulty.programs import C_LEVELS, LEFT_OUT, PROGRAMS, builds, levels_of
from tests.firmware.faulty.run import is_right, outcome

# Hosted and not, C and C++, each board and level; faults, an assertion and a reset.
FAST = (
    ("inventory", "Og", "m33"),
    ("keypad", "O2", "m7"),
    ("contacts", "Os", "m4"),
    ("matrix", "O2", "m33"),
    ("kernel", "O0", "m33"),
    ("watch", "Og", "m33"),
    ("widgets", "O2", "m4"),
    ("shapes", "Og", "m33"),
    ("valves", "O2", "m7"),
    ("camera", "Os", "m4"),
    ("signs", "Og", "m33"),
)


@pytest.fixture(autouse=True)
def compiler_and_library() -> None:
    """Skip where the programs cannot be built."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.sweep
@pytest.mark.parametrize("program, level, board", FAST)
def test_it_stops_where_it_should_with_its_culprit_in_the_history(
    program: str, level: str, board: str, tmp_path: Path
) -> None:
    assert (program, level, board) in builds()
    reason = missing(program)
    if reason is not None:
        pytest.skip(reason)
    found = outcome(program, level, board, tmp_path)
    assert found.facts["stop"] == PROGRAMS[program].stop
    assert found.facts["agrees"] and found.facts["in_history"]
    assert is_right(program, found.facts), found.facts["faulted_at"]
    assert (found.snapshot / "snapshot.ini").is_file()
    again = outcome(program, level, board, tmp_path)
    assert again.facts["culprit_count"] == found.facts["culprit_count"]


def test_a_build_is_made_once(tmp_path: Path) -> None:
    path = elf("keypad", "Os", "m4", tmp_path)
    made = path.stat().st_mtime_ns
    assert elf("keypad", "Os", "m4", tmp_path).stat().st_mtime_ns == made
    assert not list(tmp_path.glob("*.o"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_source_marks_its_culprit(program: str) -> None:
    assert 1 <= len(marked(program, "CULPRIT")) <= 4
    comments = [line for line in source(program).read_text("ascii").splitlines() if "CULPRIT" in line]
    assert len(comments) == len(marked(program, "CULPRIT"))


def test_every_source_is_in_the_table_and_every_build_left_out_is_known() -> None:
    assert {path.stem for path in [*FOLDER.glob("*.c"), *FOLDER.glob("*.cpp")]} == set(PROGRAMS)
    for name, *rest in LEFT_OUT:
        assert name in PROGRAMS and rest[0] in C_LEVELS and len(rest) <= 2


def test_the_corpus_is_large() -> None:
    languages = Counter(faulty.language for faulty in PROGRAMS.values())
    assert len(PROGRAMS) >= 36 and languages["cpp"] >= 8
    assert all(len(levels_of(program)) >= 2 for program in PROGRAMS)
