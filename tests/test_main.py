"""Real captures with OpenCSD's result, through the shell.

Every command runs as a user runs it, well and with mistakes.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, NamedTuple, Tuple

import pytest

from tests.shared import SHARED, capture_folder, shared

ROOT = Path(__file__).resolve().parents[1]


class Result(NamedTuple):
    """What a command printed."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> List[str]:
        """The lines of its standard output."""
        return self.out.splitlines()


def run(*words: str) -> Result:
    command = [sys.executable, "-m", "gdb_etm", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, timeout=120)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def well(*words: str) -> Result:
    result = run(*words)
    assert (result.status, result.err) == (0, "")
    return result


def refused(*words: str) -> str:
    """Run a command that has to fail with one line; return it."""
    result = run(*words)
    assert result.status == 1
    assert result.err.startswith("gdb-etm: ") and result.err.count("\n") == 1, result.err
    return result.err


COMMANDS = ["packets", "elements", "history", "functions", "install", "serve"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str) -> None:
    assert well(command, "--help").out.startswith("usage: gdb-etm %s" % command)


def test_overview() -> None:
    text = well("--help").out
    assert all(re.search(r"^ +%s( |$)" % command, text, re.MULTILINE) for command in COMMANDS)
    assert re.fullmatch(r"gdb_etm \d\S+ \((compiled|pure Python)\)\n", well("--version").out)


@pytest.mark.parametrize(
    "words, message",
    [
        ((), "COMMAND"),
        (("zork",), "zork"),
        (("elements",), "SNAPSHOT"),
        (("elements", "folder", "--id", "zork"), '"zork" is no number'),
        (("elements", "folder", "--id", "-1"), "-1 is negative"),
        (("elements", "folder", "--format", "xml"), "xml"),
        (("elements", "folder", "1,5"), "1,5"),
        (("history", "folder", "--zork"), "--zork"),
        (("history", "folder", "-x"), "-x"),
    ],
)
def test_wrong_words(words: Tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert result.status == 2
    assert result.err.startswith("usage: ") and message in result.err.splitlines()[-1]
    assert "Traceback" not in result.err


def test_packets() -> None:
    # OpenCSD lists the same bytes.
    folder = capture_folder("juno_r1_1")
    expected = ""
    with gzip.open(shared("captures", "expected", "juno_r1_1.packets.tsv.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            _, trace_id, raw, text = line.rstrip("\n").split("\t", 3)
            if int(trace_id, 16) == 0x13 and "NOT_SYNC" not in text:
                expected += bytes(int(word, 16) for word in raw.strip("[] ;").split()).hex()
    found = [json.loads(line) for line in well("packets", folder, "--id", "0x13", "--format", "jsonl").lines]
    assert all(set(packet) == {"schema", "kind", "index", "id", "bytes", "name", "fields"} for packet in found)
    assert {packet["id"] for packet in found} == {0x13}
    # It lists an Exception packet and the address in it as two.
    assert "".join(packet["bytes"] for packet in found if packet["name"] != "not synchronised") == expected
    # As text it is a line each, with the same names and fields.
    text = well("packets", folder, "--id", "19").lines
    assert len(text) == len(found)
    for packet, line in zip(found, text):
        assert packet["name"] in line and line.endswith(packet["fields"])


def test_elements() -> None:
    folder = capture_folder("armv8_1m_branches")
    objects = [json.loads(line) for line in well("elements", folder, "--format", "jsonl").lines]
    assert [found["kind"] for found in objects[:2]] == ["context", "range"]
    assert objects[1] == {
        "schema": 2,
        "index": 23,
        "id": 0,
        "kind": "range",
        "start": "0x4f9a02",
        "end": "0x4f9a06",
        "isa": "T32",
        "instructions": 2,
        "taken": False,
    }
    assert objects[-1] == {"schema": 2, "index": 33, "id": 0, "kind": "end"}
    text = well("elements", folder).lines
    assert len(text) == len(objects) - 1
    assert "range" in text[1] and "start=0x4f9a02" in text[1]
    assert well("elements", folder, "--format", "none").out == ""


def test_elements_are_in_the_buffer_s_order() -> None:
    lines = well("elements", capture_folder("juno_r1_1"), "--format", "jsonl").lines
    found = [json.loads(line) for line in lines]
    assert {element["id"] for element in found} == {0x10, 0x11, 0x12, 0x13, 0x15}
    offsets = [element["index"] for element in found]
    assert offsets == sorted(offsets)
    one = well("elements", capture_folder("juno_r1_1"), "--format", "jsonl", "--id", "0x11").lines
    assert one == [line for line in lines if json.loads(line)["id"] == 0x11]


def test_history() -> None:
    folder = capture_folder("armv8_1m_branches")
    objects = [json.loads(line) for line in well("history", folder, "--format", "jsonl").lines]
    instructions = [found for found in objects if found["kind"] == "instruction"]
    assert [found["number"] for found in instructions] == list(range(1, 210))
    assert instructions[0]["address"] == "0x4f9a02"
    text = [line for line in well("history", folder).lines if re.match(r"\d", line)]
    assert len(text) == 209
    assert re.match(r"1\s+0x0*4f9a02\s", text[0])


@pytest.mark.parametrize(
    "words, numbers",
    [
        (("5",), [5, 14]),
        (("5,8",), [5, 8]),
        (("5,+3",), [5, 7]),
        (("-3",), [207, 209]),
        (("--id", "0", "5,8"), [5, 8]),
        (("5,8", "--id", "0"), [5, 8]),
        (("/r", "5,8"), [5, 8]),
        (("-5,+2",), [205, 206]),
    ],
)
def test_ranges_of_the_history(words: Tuple[str, ...], numbers: List[int]) -> None:
    lines = well("history", capture_folder("armv8_1m_branches"), *words).lines
    found = [int(line.split()[0]) for line in lines if re.match(r"\d", line)]
    assert found[0] == numbers[0]
    assert found[-1] == numbers[1] or words == ("5",)


def test_ranges_of_objects() -> None:
    folder = capture_folder("armv8_1m_branches")
    objects = [json.loads(line) for line in well("history", folder, "--format", "jsonl", "5,+3").lines]
    assert [found["number"] for found in objects if found["kind"] == "instruction"] == [5, 6, 7]
    everything = well("packets", folder, "--format", "jsonl").lines
    assert well("packets", folder, "--format", "jsonl", "-3").lines == everything[-3:]


@pytest.mark.parametrize(
    "name, words, message",
    [
        ("armv8_1m_branches", ("/d", "5"), "/d is for text"),
        ("armv8_1m_branches", ("9999",), "numbered 1 to 209"),
        ("juno_r1_1", ("1,5",), "0x10, 0x11, 0x12, 0x13, 0x15"),
    ],
)
def test_wrong_ranges_of_objects(name: str, words: Tuple[str, ...], message: str) -> None:
    assert message in refused("history", capture_folder(name), "--format", "jsonl", *words)


def test_a_history_of_several_tells_whose_it_is() -> None:
    folder = capture_folder("juno_r1_1")
    assert well("history", folder, "-3").lines[0] == "trace ID 0x10 of 0x10, 0x11, 0x12, 0x13, 0x15"
    assert "trace ID" not in well("history", folder, "-3", "--id", "0x10").out


def test_functions() -> None:
    lines = well("functions", capture_folder("armv8_1m_branches")).lines
    assert [line.split()[0] for line in lines if re.match(r"\d", line)] == ["1", "2", "3", "4", "5", "6"]


def test_a_capture_without_code() -> None:
    # Packets and gaps; no instruction is made up.
    folder = capture_folder("rp2350-m33-0")
    assert len(well("packets", folder).lines) > 100
    objects = [json.loads(line) for line in well("elements", folder, "--format", "jsonl").lines]
    assert not [found for found in objects if found["kind"] == "range"]
    assert [found["kind"] for found in objects].count("unknown_address") > 50


@pytest.mark.parametrize("command", ["packets", "elements", "history"])
@pytest.mark.parametrize("format_", ["text", "jsonl"])
def test_the_reader_may_stop(command: str, format_: str) -> None:
    # As "| head -1" does.
    folder = capture_folder("juno_r1_1")
    words = [sys.executable, "-m", "gdb_etm", command, folder, "--format", format_, "--id", "0x10"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(60)


def test_a_name_in_an_error_is_one_line_that_shows_all() -> None:
    assert refused("functions", "no\n\x1bsuch\u202e") == "gdb-etm: no ?such?/snapshot.ini: no such file\n"


@pytest.mark.parametrize("command", ["packets", "elements", "history", "functions"])
@pytest.mark.parametrize("format_", ["text", "jsonl"])
def test_wrong_id(command: str, format_: str) -> None:
    message = refused(command, capture_folder("juno_r1_1"), "--id", "0x42", "--format", format_)
    # What there is instead is told.
    assert "0x42" in message and "0x10, 0x11, 0x12, 0x13, 0x15" in message


@pytest.mark.parametrize("command", ["packets", "elements", "history", "functions"])
def test_bad_snapshots(command: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert str(missing) in refused(command, str(missing))
    assert "snapshot.ini" in refused(command, str(tmp_path))
    file = tmp_path / "snapshot.ini"
    file.write_text("[snapshot]\nversion=1.0\n[device_list]\ndevice0=gone.ini\n")
    assert "gone.ini" in refused(command, str(tmp_path))
    file.write_bytes(bytes(range(256)))
    assert str(tmp_path) in refused(command, str(tmp_path))


@pytest.mark.parametrize("command", ["packets", "elements", "history", "functions"])
def test_captures_that_are_not_decoded(command: str, tmp_path: Path) -> None:
    files = {
        "snapshot.ini": "[device_list]\ndevice0=itm.ini\n[trace]\nmetadata=trace.ini\n",
        "itm.ini": "[device]\nname=ITM_0\nclass=trace_source\ntype=ITM\n",
        "trace.ini": "[trace_buffers]\nbuffers=one\n[one]\nname=ETB_0\nfile=trace.bin\nformat=coresight\n",
        "trace.bin": "\0" * 16,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert "ITM_0 (itm)" in refused(command, str(tmp_path))


def test_trace_ids_that_are_not_decoded(tmp_path: Path) -> None:
    # The buffer of the ETM shares its frames with an ITM, and with a source that the snapshot does not name.
    shutil.copytree(capture_folder("TC2"), tmp_path / "TC2", copy_function=shutil.copyfile)
    buffer = tmp_path / "TC2" / "cstrace.bin"
    os.chmod(tmp_path / "TC2", 0o700)
    frames = bytes([0x20 << 1 | 1]) + bytes(14) + b"\0" + bytes([0x55 << 1 | 1, 0x11]) + bytes(14)
    buffer.write_bytes(buffer.read_bytes() + frames)
    lines = run("packets", str(tmp_path / "TC2")).out.splitlines()
    named = [line.split("not decoded")[1].strip() for line in lines if "not decoded" in line]
    assert named == ["14 bytes of ITM_0 (itm)", "14 bytes of no source that the capture names"]
    assert any("0x13  bc" in line for line in lines)
    assert run("packets", str(tmp_path / "TC2"), "--id", "0x55").status == 0


@pytest.mark.parametrize("command", ["elements", "history", "functions"])
def test_bad_program_files(command: str, tmp_path: Path) -> None:
    folder = capture_folder("armv8_1m_branches")
    assert "missing.elf" in refused(command, folder, "--elf", str(tmp_path / "missing.elf"))
    text = tmp_path / "text.elf"
    text.write_text("no ELF file")
    assert "text.elf" in refused(command, folder, "--elf", str(text))


def test_wrong_range() -> None:
    assert "zork" in refused("history", capture_folder("armv8_1m_branches"), "zork")


@pytest.mark.skipif(not SHARED.exists(), reason="no shared beside the checkout")
def test_every_capture_gives_output_or_one_line() -> None:
    # The same for all commands, whatever a capture holds.
    for folder in sorted((SHARED / "captures").iterdir()):
        if not (folder / "snapshot.ini").exists() or folder.name == "bugfix-exact-match":
            continue
        for command in ("packets", "elements", "history", "functions"):
            result = run(command, str(folder))
            if result.status:
                assert result.err.startswith("gdb-etm: ") and result.err.count("\n") == 1, (folder, command)
            else:
                notes = [line for line in result.err.splitlines() if line.startswith("gdb-etm: note: ")]
                assert result.out and notes == result.err.splitlines(), (folder, command)


def test_a_missing_dump_is_told_beside_the_listing(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(capture_folder("armv8_1m_branches"), str(copy))
    (copy / "range1.bin").unlink()
    result = run("history", str(copy))
    assert result.err == "gdb-etm: note: %s/cpu_0.ini:13: range1.bin: no such file\n" % copy
    assert (result.status, result.lines[0]) == (0, "[the capture begins here]")


def test_a_capture_without_a_program_shows_its_events() -> None:
    for command in ("history", "functions"):
        result = well(command, capture_folder("rp2350-m33-0"))
        assert "[gap: no code at 0x1000032e]" in result.out
        assert result.lines[-1] == 'no instructions: there is no program; "file" or --elf gives one'
