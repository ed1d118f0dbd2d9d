"""Differential runs against AutoFDO's and LLVM's own tools.

The program ran on the board.

create_llvm_prof 0.19 made ``_AUTOFDO`` of the counts; its totals count bytes and its names of inlined functions are
garbled, so its lines are what is compared.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Dict, List

import pytest

from gdb_etm.analysis.coverage import code_instructions
from gdb_etm.analysis.edges import EdgeCounts
from gdb_etm.exports.sample_profile import LlvmProfile, autofdo_counts, base_discriminator
from gdb_etm.program.inline_stacks import InlineStacks
from tests.analysis.programs import FOLDER, Ran, ran

_PROGRAM = os.path.join(FOLDER, "dropped4.elf")
# Of the functions of dropped.c; those in assembly have no lines of their own.
_AUTOFDO = """run
 1: 1
 2: 1
 3: 1
 3.1: 12
 4: 12 sized:12 thrice:12
 5: 12
 6: 3
 7: 3
 10: 1
 11: 1
 4: INLINED
  4: 15
  5: 15
thrice
 65505: 12
 65506: 12
 2: INLINED
  4: 2
  5: 2
  14: 12
switch_done
 2: 3
 3: 3
 65517: 3"""
# Functions that are found by their symbols alone.
_ASSEMBLY = re.compile(r" (?:asked|typed|untyped):\d+")


@lru_cache(maxsize=None)
def edge_counts() -> EdgeCounts:
    """Count what ran on the board."""
    counts = EdgeCounts()
    counts.add(ran("dropped4").history)
    return counts


@lru_cache(maxsize=None)
def llvm_lines() -> List[str]:
    """Write LLVM's profile of it."""
    found: Ran = ran("dropped4")
    profile = LlvmProfile(found.sources.function_at, InlineStacks([found.path]).at)
    addresses = [address for _, address in code_instructions(found.history.blocks, found.sources.code)]
    profile.add(addresses, Counter(found.addresses), edge_counts().edges)
    return list(profile.lines())


def functions(lines: List[str]) -> Dict[str, List[str]]:
    """Cut a profile by functions, without totals."""
    found: Dict[str, List[str]] = {}
    name = ""
    for line in lines:
        if not line.startswith(" "):
            name = line.partition(":")[0]
        else:
            words = re.sub(r"^( +[\d.]+): \S+:\d+$", r"\1: INLINED", _ASSEMBLY.sub("", line))
            found.setdefault(name, []).append(words)
    return found


def test_lines_are_those_of_autofdo() -> None:
    expected = functions(_AUTOFDO.splitlines())
    found = functions(llvm_lines())
    assert len(expected) == 3
    assert {name: found.get(name) for name in expected} == expected


def test_totals_are_the_instructions_that_ran() -> None:
    own = Counter(ran("dropped4").sources.function_at(address) for address in ran("dropped4").addresses)
    by_name = {function.name: times for function, times in own.items() if function is not None}
    totals = {line.split(":")[0]: int(line.split(":")[1]) for line in llvm_lines() if not line.startswith(" ")}
    # One instruction of run() has no line.
    assert totals == {"run": by_name["run"] - 1, **{name: by_name[name] for name in totals if name != "run"}}
    heads = {line.split(":")[0]: int(line.split(":")[2]) for line in llvm_lines() if not line.startswith(" ")}
    # As dropped.c calls them: thrice twelve times; a reset enters once.
    assert (heads["run"], heads["thrice"], heads["Reset_Handler"]) == (1, 12, 1)


def test_discriminators_are_unpacked_as_llvm_packs_them() -> None:
    # By hand, from the comment at encodeDiscriminator in DebugInfoMetadata.h: 0 is one bit that is set; below 32 five
    # bits between two that are clear; else twelve bits with one that is set in the middle.
    assert [base_discriminator(found) for found in (0, 1, 2, 4, 0x3E)] == [0, 0, 1, 2, 31]
    assert base_discriminator((0x21 & 0x1F | 0x20 | (0x21 & 0xFE0) << 1) << 1) == 0x21


@pytest.mark.skipif(shutil.which("llvm-profdata") is None, reason="no llvm-profdata")
def test_llvm_reads_it_and_writes_the_same(tmp_path: Path) -> None:
    path, merged = tmp_path / "run.prof", tmp_path / "merged.prof"
    path.write_text("\n".join(llvm_lines()) + "\n")
    subprocess.run(["llvm-profdata", "merge", "--sample", "--text", str(path), "-o", str(merged)], check=True)
    assert sorted(merged.read_text().splitlines()) == sorted(llvm_lines())
    shown = subprocess.run(["llvm-profdata", "show", "--sample", str(path)], stdout=subprocess.PIPE, check=True).stdout
    assert b"calls: sized:12 thrice:12" in re.sub(rb" (asked|typed|untyped):12", b"", shown)


@pytest.mark.skipif(shutil.which("create_gcov") is None, reason="no AutoFDO (Debian: autofdo)")
def test_autofdo_reads_the_counts(tmp_path: Path) -> None:
    counts = edge_counts()
    path, gcov, text = tmp_path / "run.afdo", tmp_path / "run.gcov", tmp_path / "llvm.prof"
    path.write_text("\n".join(autofdo_counts(counts.stretches, counts.edges)) + "\n")
    common = ["--binary=" + _PROGRAM, "--profiler=text", "--profile=%s" % path]
    subprocess.run(
        ["create_llvm_prof", *common, "--format=text", "--out=%s" % text], check=True, stderr=subprocess.DEVNULL
    )
    # Its garbled names may have any character.
    assert " 2: 3\n 3: 3\n 65517: 3\n" in text.read_text("latin-1")
    subprocess.run(
        ["create_gcov", *common, "--gcov=%s" % gcov, "--gcov_version=2"], check=True, stderr=subprocess.DEVNULL
    )
    shown = subprocess.run(
        ["dump_gcov", "--gcov_version=2", str(gcov)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
    ).stdout
    assert b"run total:" in shown and b"  4: folded total:30\n    4: 15\n    5: 15\n" in shown
