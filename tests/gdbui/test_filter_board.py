"""Real GDB, real pyOCD: ``etm filter`` and the board's truth.

The history is the truth, cut by the filters.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import List, Sequence

import pytest

from tests.firmware.build import elf, symbol
from tests.firmware.cortex_a.build import elf as elf_a
from tests.firmware.cortex_m4.build import elf as elf_m4
from tests.gdb_session import run_gdb
from tests.gdbui.traced import (
    Wanted,
    branches,
    cut,
    filtered,
    functions,
    history,
    instructions,
    ran_on_a9,
    truth,
    within,
)

M33, M7 = ("m33", "--etb-size 1M --option board.comparators=4"), ("m7", "--etb-size 1M --option board.comparators=4")


@pytest.mark.parametrize("board, options", [M33, M7])
def test_functions_and_no_others(board: str, options: str, tmp_path: Path) -> None:
    path = elf("interrupts")
    output = filtered(board, path, tmp_path, ["include note,IRQ1_Handler,happened"], options)
    inside = within(path, "note", "IRQ1_Handler", "happened")
    assert history(output) == [each.address for each in instructions(tmp_path) if inside(each.address)] != []
    output = filtered(board, path, tmp_path, ["exclude note,pend", "exclude IRQ1_Handler"], options)
    outside = within(path, "note", "pend", "IRQ1_Handler")
    assert history(output) == [each.address for each in instructions(tmp_path) if not outside(each.address)] != []


@pytest.mark.sweep
@pytest.mark.parametrize(
    "words, is_handler",
    [("exceptions off", False), ("exceptions only", True), ("level thread", False), ("level s3", True)],
)
def test_handlers(words: str, is_handler: bool, tmp_path: Path) -> None:
    """The M33's own unit has no comparators; interruptions end a block."""
    output = filtered("m33", elf("interrupts"), tmp_path, [words])
    wanted = [each.address for each in instructions(tmp_path) if each.in_handler == is_handler]
    assert history(output) == wanted != []


@pytest.mark.parametrize("word, told", [("on", True), ("off", False)])
def test_system_errors_are_told_wherever_they_are(word: str, told: bool, tmp_path: Path) -> None:
    """Only one function is traced; the fault is elsewhere (TRCVICTLR.TRCERR)."""
    path = elf("faults")
    output = filtered("m33", path, tmp_path, ["include run", "exceptions " + word], M33[1])
    lines = (tmp_path / "truth").read_text("ascii").splitlines()
    faults = {line.split()[-1] for line in lines if line.startswith("exception 3 ")}
    found = re.findall(r"^\[gap: tracing was off\]\n<HardFault \(exception 3\), return address (\w+)>$", output, re.M)
    assert bool(found) == told and set(found) <= faults
    inside = within(path, "run")
    assert history(output) == [each.address for each in instructions(tmp_path) if inside(each.address)] != []


def test_from_a_function_to_another(tmp_path: Path) -> None:
    path = elf("sort")
    filters = ["start " + sorted(functions(path))[-1], "stop run"]
    output = filtered("m33", path, tmp_path, filters, M33[1])
    assert history(output) == cut(truth(tmp_path), Wanted(path, filters), branches(path))


_BLOCK = (0x170, 0x172, 0x176, 0x178, 0x17C, 0x17E, 0x182, 0x184)  # "run" of faults.elf, up to its first call
_APPENDIX_D = (
    ("include 0x170-0x187", _BLOCK),  # D.1.1, L20065
    ("exclude 0x170-0x187", ()),
    ("include 0x176-0x17d", _BLOCK[2:]),  # D.1.2, L20075: from the low address to the end of the block
    ("exclude 0x176-0x17d", _BLOCK),
    ("include 0x160-0x17d", _BLOCK),  # D.1.3, L20088
    ("exclude 0x160-0x17d", _BLOCK[5:]),
    ("include 0x17c-0x18f", _BLOCK[4:]),  # D.1.4, L20098
    ("exclude 0x17c-0x18f", _BLOCK),
)


def test_one_range_and_one_block() -> None:
    """IHI 0064, appendix D: a range that covers a block or part."""
    each = [
        [
            "monitor reset halt",
            "etm filter delete all",
            "etm filter " + words,
            "etm start",
            "continue",
            "etm captures %d" % number,
            "echo >>>\\n",
            "etm history 1,100000",
            "echo <<<\\n",
        ]
        for number, (words, _) in enumerate(_APPENDIX_D, 1)
    ]
    output = run_gdb(["etm connect board:m33 --elf %s %s" % (elf("faults"), M33[1]), *sum(each, [])])
    parts = [part.partition("<<<")[0] for part in output.split(">>>\n")[1:]]
    found = [tuple(at for at in history(part) if at in _BLOCK) for part in parts]
    assert found == [wanted for _, wanted in _APPENDIX_D]


def combination(path: str, seed: int) -> List[str]:
    """Choose filters at random: functions, addresses, points and exceptions."""
    chance = random.Random(seed)
    names = sorted(functions(path))
    first = chance.randrange(functions(path)["run"][0], functions(path)["run"][1] - 8, 2)
    choices = [
        "include " + ",".join(chance.sample(names, 2)),
        "include 0x%x-0x%x" % (first, first + chance.randrange(2, 200, 2)),
        "exclude " + chance.choice(names),
        "exclude 0x%x-0x%x" % (first, first + 7),
        "exceptions " + chance.choice(("off", "only", "on")),
        "start " + names[0],
        "stop " + names[1],
    ]
    return chance.sample(choices, chance.randint(1, 4))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(8))
def test_combinations(seed: int, tmp_path: Path) -> None:
    board, options = (M33, M7)[seed % 2]
    path = elf(("interrupts", "tasks", "sort", "steps")[seed // 2])
    filters = combination(path, seed)
    output = filtered(board, path, tmp_path, filters, options.replace("=4", "=8"))
    assert history(output) == cut(truth(tmp_path), Wanted(path, filters), branches(path)), filters


def test_data_trace_unit_of_the_m4(tmp_path: Path) -> None:
    """An ETMv3, which tells every instruction by itself; its own comparators."""
    path = elf_m4("sort")
    filters = [
        "include run,fill,is_even",
        "exclude 0x%x-0x%x" % (symbol(path, "run"), symbol(path, "run") + 15),
        "start next_random",
        "stop is_odd",
    ]
    output = filtered("m4", path, tmp_path, filters, "--data-trace --etb-size 1M")
    view = Wanted(path, filters)
    assert history(output) == [each.address for each in instructions(tmp_path) if view(each)] != []


def test_watchpoint_unit_of_the_m4(tmp_path: Path) -> None:
    """An ETMv3 whose comparators are those of the DWT."""
    path = elf_m4("interrupts")
    output = filtered("m4", path, tmp_path, ["start IRQ1_Handler", "stop IRQ2_Handler"], "--etb-size 1M")
    view = Wanted(path, ["start IRQ1_Handler", "stop IRQ2_Handler"])
    assert history(output) == [each.address for each in instructions(tmp_path) if view(each)] != []


def session_a9(program: str, folder: Path, filters: Sequence[str]) -> List[int]:
    return history(filtered("a9", elf_a(program), folder, filters))


def test_functions_on_the_a9(tmp_path: Path) -> None:
    inside = functions(elf_a("sort-t32"))["run"]
    found = session_a9("sort-t32", tmp_path, ["include run"])
    assert found == [address for address in ran_on_a9(tmp_path) if inside[0] <= address < inside[1]] != []


def test_security_states_on_the_a9(tmp_path: Path) -> None:
    """Around a change a few instructions are in both states.

    An event is not exact (IHI 0035B, 3.4).
    """
    secure = session_a9("worlds", tmp_path, ["nonsecure off"])
    other = session_a9("worlds", tmp_path, ["secure off"])
    both, ran = Counter(secure + other), Counter(ran_on_a9(tmp_path))
    code = functions(elf_a("worlds")).values()
    twice = both - ran
    assert not ran - both and len(twice) < 8 and not any(first <= at < end for at in twice for first, end in code)
    work = functions(elf_a("worlds"))["work"][0]
    assert [secure.count(work), other.count(work)] == [3, 2]


def test_a_context_on_the_a9(tmp_path: Path) -> None:
    """Between two writes of CONTEXTIDR, approximately."""
    found = session_a9("modes", tmp_path, ["context 0x1234"])
    ran = ran_on_a9(tmp_path)
    first, second = (at for at, address in enumerate(ran) if address == symbol(elf_a("modes"), "set_context_id"))
    start = ran.index(found[0])
    assert found == ran[start : start + len(found)]
    assert abs(first - start) < 10 and abs(second - start - len(found)) < 10
