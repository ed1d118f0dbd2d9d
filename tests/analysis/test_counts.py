"""The board's truth: counts of instructions, branches and lines.

Capstone says which instructions are conditional branches; GDB says which line an address
is of.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from typing import Dict, Tuple

import capstone
import pytest

from gdb_etm.analysis.counts import ExecutionCounts
from tests.analysis.programs import PROGRAMS, Ran, count, ran


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_instruction_is_counted_as_often_as_it_ran(program: str) -> None:
    found = ran(program)
    counts = count([found.history])
    assert counts.executed == Counter(found.addresses)
    assert counts.instructions == len(found.addresses)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_conditional_branch_went_both_ways_as_often_as_the_board_says(program: str) -> None:
    found = ran(program)
    counts = count([found.history])
    expected = conditional_branches(found)
    assert expected
    for address, (taken, not_taken) in expected.items():
        assert counts.branch(address) == (taken, not_taken), hex(address)
    assert set(counts.taken) | set(counts.not_taken) == set(expected)


def conditional_branches(found: Ran) -> Dict[int, Tuple[int, int]]:
    """Count the ways of the conditional branches: taken, not taken."""
    # By Capstone: B<cond>, CBZ and CBNZ, and branches in an IT block; the way by what ran next.
    decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    decoder.detail = True
    ways: Dict[int, Tuple[int, int]] = {}
    condition_left = 0
    for at, item in enumerate(found.items):
        if not isinstance(item, int):
            continue
        (insn,) = decoder.disasm(found.history.program.read(item, 4), item, 1)
        in_block = condition_left > 0
        condition_left = max(0, condition_left - 1)
        if insn.mnemonic.startswith("it"):
            condition_left = len(insn.mnemonic) - 1
        text = insn.mnemonic.split(".")[0]
        conditional = text in ("cbz", "cbnz") or re.fullmatch(
            r"b(eq|ne|hs|cs|lo|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)", text
        )
        branches = conditional or in_block and _leaves(insn)
        if not branches:
            continue
        following = found.items[at + 1] if at + 1 < len(found.items) else None
        goes_on = following == item + insn.size or getattr(following, "return_address", None) == item + insn.size
        taken, not_taken = ways.get(item, (0, 0))
        ways[item] = (taken, not_taken + 1) if goes_on else (taken + 1, not_taken)
    return ways


def _leaves(insn: capstone.CsInsn) -> bool:
    return (
        insn.group(capstone.CS_GRP_JUMP)
        or insn.group(capstone.CS_GRP_CALL)
        or capstone.arm.ARM_REG_PC in insn.regs_access()[1]
    )


@pytest.mark.gdb
@pytest.mark.parametrize("program", ("sort", "tables"))
def test_lines_are_counted_as_gdb_names_them(program: str) -> None:
    found = ran(program)
    addresses = sorted(set(found.addresses))
    words = ["info line *0x%x" % address for address in addresses]
    command = ["gdb-multiarch", "-q", "-nx", "-batch", found.path]
    for word in words:
        command += ["-ex", word]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    lines = re.findall(r'Line (\d+) of "(?:[^"]*/)?([^"/]*)"', text)
    assert len(lines) == len(addresses)
    executed = Counter(found.addresses)
    expected: Dict[Tuple[str, int], int] = {}
    for address, (line, name) in zip(addresses, lines):
        key = name, int(line)
        expected[key] = max(expected.get(key, 0), executed[address])
    coverage = found.sources.coverage(count([found.history]), found.history.blocks)
    seen = {
        (file.path.rpartition("/")[2], line.line): line.times
        for file in coverage.files
        for line in file.lines
        if line.times
    }
    assert seen == expected


def test_two_runs_add_up() -> None:
    found = ran("sort")
    twice = count([found.history, found.history])
    merged = ExecutionCounts()
    merged.merge(count([found.history]))
    merged.merge(count([found.history]))
    assert twice.executed == merged.executed == Counter(found.addresses * 2)
    assert (twice.taken, twice.not_taken, twice.instructions) == (merged.taken, merged.not_taken, merged.instructions)


def test_what_was_not_seen_is_listed_with_no_count() -> None:
    found = ran("sort")
    coverage = found.sources.coverage(count([]), found.history.blocks)
    lines = [line for file in coverage.files for line in file.lines]
    assert len(lines) > 20 and not any(line.times for line in lines)
    full = found.sources.coverage(count([found.history]), found.history.blocks)
    assert [line.line for file in full.files for line in file.lines] == [line.line for line in lines]
    assert 0 < full.files[0].line_ratio.seen <= full.files[0].line_ratio.all
