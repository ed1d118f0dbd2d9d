"""Differential run: exports are read by other tools.

gcovr, genhtml of lcov, callgrind_annotate of Valgrind, and protobuf read what is written; what they say is
compared with what was counted.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from gdb_etm.analysis.profile import CallProfile
from gdb_etm.errors import CommandError
from gdb_etm.exports.encode import pprof_messages, write
from gdb_etm.exports.formats import ProfileExport, export_coverage, export_profile
from tests.analysis.programs import FOLDER, Ran, count, ran


def _needs(command: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(command) is None, reason=command + " is not installed")


def _export(found: Ran) -> ProfileExport:
    profile = CallProfile("instructions")
    profile.add(found.calls, len(found.history), lambda first, last: last - first + 1, lambda number: "main")
    return ProfileExport(profile, count([found.history]), found.sources.function_at, found.sources.source_of)


def _coverage(found: Ran, path: Path) -> None:
    export_coverage(str(path), found.sources.coverage(count([found.history]), found.history.blocks))


def _run(*words: str) -> str:
    # callgrind_annotate shortens names below the folder that it runs in, in some places.
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, universal_newlines=True, cwd="/").stdout


def test_gcovr_reads_the_coverage(tmp_path: Path) -> None:
    pytest.importorskip("gcovr")
    found = ran("tables")
    _coverage(found, tmp_path / "run.json")
    command = [sys.executable, "-m", "gcovr", "--root", FOLDER, "--add-tracefile", str(tmp_path / "run.json")]
    summary = json.loads(_run(*command, "--json-summary"))
    coverage = found.sources.coverage(count([found.history]), found.history.blocks)
    mine = {file.file: file for file in coverage.files}
    assert len(summary["files"]) == len(mine)
    for one in summary["files"]:
        file = mine[os.path.join(FOLDER, one["filename"])]
        assert (one["line_covered"], one["line_total"]) == tuple(file.line_ratio)
        assert (one["branch_covered"], one["branch_total"]) == tuple(file.branch_ratio)
        assert (one["function_covered"], one["function_total"]) == tuple(file.function_ratio)


@_needs("genhtml")
def test_genhtml_reads_the_coverage(tmp_path: Path) -> None:
    found = ran("tables")
    _coverage(found, tmp_path / "run.info")
    text = _run("genhtml", "--branch-coverage", "-o", str(tmp_path / "html"), str(tmp_path / "run.info"))
    coverage = found.sources.coverage(count([found.history]), found.history.blocks)
    for kind, ratios in (
        ("lines", [file.line_ratio for file in coverage.files]),
        ("functions", [file.function_ratio for file in coverage.files]),
        ("branches", [file.branch_ratio for file in coverage.files]),
    ):
        said = re.search(kind + r"\.*: [\d.]+% \((\d+) of (\d+)", text)
        assert said is not None, text
        assert (int(said[1]), int(said[2])) == (sum(one.seen for one in ratios), sum(one.all for one in ratios))


@_needs("callgrind_annotate")
def test_callgrind_annotate_reads_the_profile(tmp_path: Path) -> None:
    export = _export(ran("sort"))
    path = tmp_path / "callgrind.out.1"
    export_profile(str(path), export, write)
    text = _run("callgrind_annotate", "--threshold=100", str(path))
    found = {
        name: int(cost.replace(",", "")) for cost, name in re.findall(r"^ *([\d,]+) \([^)]*\) +\S+:(\S+)", text, re.M)
    }
    assert found == {one.function.name: one.own for one in export.profile.functions()}
    tree = _run("callgrind_annotate", "--threshold=100", "--inclusive=yes", "--tree=calling", str(path))
    called = re.findall(r"^ *([\d,]+) \([^)]*\) +> +\S+:(\S+) \((\d+)x\)", tree, re.M)
    expected: List[Any] = []
    for function in export.profile.functions():
        callees: Dict[str, List[int]] = {}
        for site, cost in export.profile.sites.items():
            if site.caller == function.function:
                known = callees.setdefault(site.callee.name, [0, 0])
                known[0] += cost.inclusive
                known[1] += cost.calls
        expected += [("{:,}".format(cost), name, str(calls)) for name, (cost, calls) in callees.items()]
    assert sorted(called) == sorted(expected)


def test_pprof_holds_every_stack_with_calls_and_cost(tmp_path: Path) -> None:
    export = _export(ran("interrupts"))
    path = tmp_path / "run.pb.gz"
    assert export_profile(str(path), export, write) == "pprof"
    message = pprof_messages()["Profile"]()
    message.ParseFromString(gzip.decompress(path.read_bytes()))
    texts = list(message.string_table)
    assert texts[0] == ""
    assert [(texts[one.type], texts[one.unit]) for one in message.sample_type] == [
        ("calls", "count"),
        ("instructions", "count"),
    ]
    names = {one.id: texts[one.name] for one in message.function}
    at = {one.id: names[one.line[0].function_id] for one in message.location}
    own: Dict[str, int] = Counter()
    calls: Dict[str, int] = Counter()
    for sample in message.sample:
        calls[at[sample.location_id[0]]] += sample.value[0]
        own[at[sample.location_id[0]]] += sample.value[1]
    assert own == {one.function.name: one.own for one in export.profile.functions()}
    assert +Counter(calls) == {one.function.name: one.calls for one in export.profile.functions() if one.calls}


def test_collapsed_stacks_add_up(tmp_path: Path) -> None:
    export = _export(ran("interrupts"))
    export_profile(str(tmp_path / "run.folded"), export, write)
    lines = (tmp_path / "run.folded").read_text().splitlines()
    rows = [line.rsplit(" ", 1) for line in lines]
    assert sum(int(cost) for _, cost in rows) == export.profile.total
    assert len({stack for stack, _ in rows}) == len(rows)


def test_speedscope_has_a_profile_for_each_root(tmp_path: Path) -> None:
    export = _export(ran("interrupts"))
    export_profile(str(tmp_path / "run.speedscope.json"), export, write)
    document: Dict[str, Any] = json.loads((tmp_path / "run.speedscope.json").read_text())
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames: List[Dict[str, Any]] = document["shared"]["frames"]
    assert len(document["profiles"]) == len(export.profile.root.children)
    for profile, root in zip(document["profiles"], export.profile.root.children.values()):
        assert profile["endValue"] == sum(profile["weights"]) == root.inclusive()
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= number < len(frames) for stack in profile["samples"] for number in stack)


# What speedscope's file-format-schema.json says of a file, a frame and a sampled profile: the fields that it requires,
# and those that may be there, with their types.
_NUMBER = (int, float)
_FILE = (
    {"$schema": str, "shared": dict, "profiles": list},
    {"name": str, "activeProfileIndex": _NUMBER, "exporter": str},
)
_FRAME = ({"name": str}, {"file": str, "line": _NUMBER, "col": _NUMBER})
_SAMPLED = (
    {
        "type": str,
        "name": str,
        "unit": str,
        "startValue": _NUMBER,
        "endValue": _NUMBER,
        "samples": list,
        "weights": list,
    },
    {},
)
_UNITS = ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")


def _conforms(found: Dict[str, Any], schema: Tuple[Dict[str, Any], Dict[str, Any]]) -> None:
    required, optional = schema
    assert required.keys() <= found.keys() <= {*required, *optional}
    for name, value in found.items():
        assert isinstance(value, {**required, **optional}[name]) and not isinstance(value, bool), name


@pytest.mark.parametrize("program", ("sort", "interrupts", "tasks"))
def test_speedscope_conforms_to_its_schema(tmp_path: Path, program: str) -> None:
    export_profile(str(tmp_path / "run.speedscope.json"), _export(ran(program)), write)
    document: Dict[str, Any] = json.loads((tmp_path / "run.speedscope.json").read_text())
    _conforms(document, _FILE)
    assert document["shared"].keys() == {"frames"} and document["profiles"]
    for frame in document["shared"]["frames"]:
        _conforms(frame, _FRAME)
    for profile in document["profiles"]:
        _conforms(profile, _SAMPLED)
        assert profile["type"] == "sampled" and profile["unit"] in _UNITS
        assert profile["startValue"] <= profile["endValue"]
        assert all(type(number) is int for stack in profile["samples"] for number in stack)
        assert all(isinstance(weight, _NUMBER) and weight >= 0 for weight in profile["weights"])


@pytest.mark.parametrize("name", ("run.txt", "run", "run.json.bak"))
def test_a_name_that_says_no_format_is_refused_in_a_line(tmp_path: Path, name: str) -> None:
    found = ran("sort")
    with pytest.raises(CommandError, match="the end of the name says the format: .info"):
        _coverage(found, tmp_path / name)
    with pytest.raises(CommandError, match="the end of the name says the format: .folded"):
        export_profile(str(tmp_path / name), _export(found), write)


def test_a_file_that_cannot_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot write .*: No such file or directory"):
        _coverage(ran("sort"), tmp_path / "none" / "run.info")
    with pytest.raises(CommandError, match="cannot write .*: No such file or directory"):
        export_profile(str(tmp_path / "none" / "run.pb.gz"), _export(ran("sort")), write)
