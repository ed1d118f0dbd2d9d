"""Real pyOCD, real GDB: the JSON is what the guide says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

import pytest

import gdb_etm
from gdb_etm.commands import catalogue
from gdb_etm.commands.value_objects import OBJECTS
from gdb_etm.views.schema import SCHEMA, document_lines
from tests.access.processes import DEMO
from tests.gdb_session import SCRIPT, gdb_program, run_gdb
from tests.pages import GUIDE

pytest.importorskip("unicorn")

PAGE = GUIDE / "json.md"
_ADDRESS = re.compile(r"0x[0-9a-f]+")
# Each offline command, with words after the snapshot.
COMMANDS: Tuple[Tuple[str, ...], ...] = (
    ("packets", "-300"),
    ("elements",),
    ("history", "-300"),
    ("functions", "-50"),
    ("budget",),
    ("coverage",),
    ("profile",),
    ("info", "--at", "17000", "registers"),
    ("why", "17000", "r3"),
    ("fault",),
    ("origin", "17000", "r3"),
    ("uses", "17000", "r3"),
    ("writes", "ticks"),
    ("race", "ticks"),
)
LISTINGS = ("packets", "elements", "history", "functions", "profile")
# Kinds that the demo's history does not have.
ABSENT = {
    "gap",
    "no_sync",
    "unknown_address",
    "timestamp",
    "transfer",
    "event",
    "buffer",
    "switch",
    "threads",
    "captures",
}
ABSENT |= {"threads-row", "captures-row", "race-row", "uses-row", "run", "run-ended", "exception_return"}
# Those of commands that write files or test a board, which have tests of their own.
WRITTEN = {"report", "blackbox", "anonymise", "anonymise-row"}
TESTED = {"selftest", "selftest-row", "replay-bundle", "replay-bundle-row"}


def documented() -> Dict[str, Set[str]]:
    """Read the page's tables: the fields of each kind."""
    found: Dict[str, Set[str]] = {}
    for kinds, fields in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|$", PAGE.read_text("utf-8"), re.MULTILINE):
        for kind in re.findall(r"`([\w-]+)`", kinds):
            found[kind] = set(re.findall(r"`([\w-]+)`", fields)) - {"functions" if kind in ("gap", "exception") else ""}
    return found


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, up to its fault."""
    folder = tmp_path_factory.mktemp("schema") / "crash"
    with gdb_etm.connect("board:m33", elf=DEMO) as session:
        session.configure(cycles=64)
        session.start()
        session.run_to("HardFault_Handler", 60.0)
        session.capture().save(folder)
    return folder


def written(*words: str) -> List[Dict[str, Any]]:
    """Run a command; give what it writes, parsed."""
    command = [sys.executable, "-m", "gdb_etm", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=DEMO.parent, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_lines(document: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Write a document as JSON lines."""
    return [json.loads(line) for line in document_lines(document, "jsonl")]


def addresses(value: Any) -> Iterator[Any]:
    """Find all addresses."""
    if isinstance(value, dict):
        yield from (one for key, one in value.items() if key.endswith("address") and key != "is_address")
        for one in value.values():
            yield from addresses(one)
    elif isinstance(value, list):
        for one in value:
            yield from addresses(one)


def test_every_command_writes_what_the_page_says(snapshot: Path) -> None:
    known, seen = documented(), {}
    for name, *words in COMMANDS:
        elf = ["--elf", str(DEMO)]
        snapshots = [str(snapshot)]
        (document,) = written(name, *snapshots, *elf, *words, "--format", "json")
        # Those that work out values take long, and are written alike.
        is_listing = name in LISTINGS
        lines = written(name, *snapshots, *elf, *words, "--format", "jsonl") if is_listing else as_lines(document)
        rows = document.get("rows", [])
        assert document["kind"] == name and len(lines) - len(rows) in (0, 1)
        for one in [document, *lines]:
            assert one["schema"] == SCHEMA
            seen.setdefault(one["kind"], set()).update(one.keys() - {"schema", "kind"})
            assert all(one is None or _ADDRESS.fullmatch(one) for one in addresses(one)), one
        for row, line in zip(rows, lines[len(lines) - len(rows) :]):
            assert {**line, **row} == line or row.get("kind") == line["kind"]
    (compared,) = written(
        "compare", str(snapshot) + "@1-50", str(snapshot) + "@60-99", "--elf", str(DEMO), "--format=json"
    )
    seen[compared["kind"]] = compared.keys() - {"schema", "kind"}
    for kind, fields in seen.items():
        assert fields <= known[kind], kind
    assert known.keys() - seen.keys() <= ABSENT | WRITTEN | TESTED
    assert "`schema` is %d." % SCHEMA in PAGE.read_text("utf-8")


def test_each_object_has_a_command_over_mi() -> None:
    assert sorted(catalogue.kept().with_object) == sorted(OBJECTS)


def test_coverage_and_profile_have_numbers_for_all(snapshot: Path) -> None:
    (profile,) = written("profile", str(snapshot), "--elf", str(DEMO), "--format", "json")
    (history,) = written("history", str(snapshot), "--elf", str(DEMO), "--format", "json", "-500")
    instructions = [row for row in history["rows"] if row["kind"] == "instruction"]
    last = instructions[-1]["number"]
    assert sum(row["own"] for row in profile["rows"]) == profile["instructions"] == last
    assert [row["number"] for row in instructions] == list(range(last - 499, last + 1))
    at = next(row for row in instructions if row["line"] == "rx.c:121")
    assert at["source"] == "subscription->handler(message);" and at["function"] == "dispatch" and at["text"]


def documented_kinds(document: Dict[str, Any]) -> Set[str]:
    """Give the kinds of a document and its rows.

    The page names all their fields.
    """
    known = documented()
    found = [document, *as_lines(document)]
    for one in found:
        assert one["schema"] == SCHEMA and one.keys() - {"schema", "kind"} <= known[one["kind"]], one
    return {one["kind"] for one in found}


def test_what_writes_files_says_which(snapshot: Path, tmp_path: Path) -> None:
    said = [
        written("report", str(snapshot), "--elf", str(DEMO), "-o", str(tmp_path / "page"), "--format", "json"),
        written("anonymise", str(snapshot), "--elf", str(DEMO), "-o", str(tmp_path / "passed"), "--format", "json"),
        written("blackbox", "-o", str(tmp_path / "c"), "--format", "json"),
        written(
            "coverage", str(snapshot), "--elf", str(DEMO), "--export", str(tmp_path / "run.info"), "--format", "json"
        ),
        written(
            "profile", str(snapshot), "--elf", str(DEMO), "--export", str(tmp_path / "run.pb.gz"), "--format", "json"
        ),
    ]
    assert [one["kind"] for (one,) in said] == ["report", "anonymise", "blackbox", "coverage", "profile"]
    there = {str(path) for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(name for (one,) in said for name in one["written"]) == sorted(there)
    assert {kind for (one,) in said for kind in documented_kinds(one)} >= WRITTEN
    (report,), (anonymise,) = said[:2]
    assert report["bytes"] == (tmp_path / "page" / "index.html").stat().st_size and report["instructions"] > 17000
    assert {"what": "RAM", "text": "none"} in anonymise["rows"]


def test_selftest_and_its_bundle(tmp_path: Path) -> None:
    bundle = tmp_path / "board.etmb"
    (found,) = written("selftest", "board:m33", "--bundle", str(bundle), "--format", "json")
    kinds = documented_kinds(found)
    assert found["works"] and found["written"] == [str(bundle)] and found["doctor"] == []
    assert {"ok", "skipped"} == {row["outcome"] for row in found["rows"]} and len(found["rows"]) > 20
    document, *rows = written("replay-bundle", str(bundle), "--format", "jsonl")
    assert kinds | documented_kinds({**document, "rows": rows}) == TESTED
    assert document["same"] and document["target"] == found["target"]
    assert [row["name"] for row in rows][:2] == ["connect", "doctor"]
    command = [sys.executable, "-m", "gdb_etm", "selftest", "board:m33", "--option", "board.faults=no-authentication"]
    done = subprocess.run([*command, "--format", "json"], stdout=subprocess.PIPE, text=True, timeout=120, check=False)
    failed = json.loads(done.stdout)
    assert documented_kinds(failed) and not failed["works"] and done.returncode == 1
    bad = [one["subject"] for one in failed["doctor"] if one["verdict"] == "bad"]
    assert "unit authentication" in bad and failed["rows"][0]["subject"] == "trace hardware"


@pytest.mark.every_gdb
def test_mi_gives_the_same(snapshot: Path, tmp_path: Path) -> None:
    has_commands = run_gdb(["python print(hasattr(gdb, 'MICommand'))"], source=False).strip() == "True"
    lines = ['-interpreter-exec console "%s"' % one for one in ("source %s" % SCRIPT, "etm load %s" % snapshot)]
    lines += ["-etm-functions -1", "-etm-why 17000 r3", "-etm-why 17000", "-etm-packets -2"]
    lines += ["-etm-report %s" % (tmp_path / "page"), "-etm-anonymise %s" % (tmp_path / "passed")]
    lines += ['-interpreter-exec console "etm connect board:m0"', "-etm-selftest", "-gdb-exit"]
    command = [gdb_program(), "-q", "-nx", "-i=mi", str(DEMO)]
    done = subprocess.run(command, input="\n".join(lines), stdout=subprocess.PIPE, text=True, timeout=120, check=False)
    assert ("Undefined MI command: etm-functions" in done.stdout) != has_commands
    if not has_commands:
        pytest.skip("GDB before 12 has no MICommand")
    results = re.findall(r"^\^(?:done|error)(.*)$", done.stdout, re.MULTILINE)
    (why,) = written("why", str(snapshot), "--elf", str(DEMO), "17000", "r3", "--format", "json")
    assert ',schema="%d",kind="functions"' % SCHEMA in results[2]
    assert 'value="%d"' % why["value"] in results[3] and 'register="r3"' in results[3]
    assert "a register is missing: etm why 17000 r3" in results[4]
    packets = written("packets", str(snapshot), "-2", "--format", "jsonl")
    assert re.findall(r'index="(\d+)"', results[5]) == [str(packet["index"]) for packet in packets]
    assert 'written=["%s' % (tmp_path / "page" / "index.html") in results[6]
    assert '{what="RAM",text="none"}' in results[7] and (tmp_path / "passed" / "snapshot.ini").is_file()
    assert 'kind="selftest"' in results[-1] and 'works="true"' in results[-1] and 'outcome="ok"' in results[-1]
