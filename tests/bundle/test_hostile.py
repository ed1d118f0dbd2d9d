"""Worked by hand: damaged and malicious bundles are refused in one line."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Callable, Dict, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.bundle.archive import read_bundle, write_bundle
from gdb_etm.bundle.contents import BundleError
from gdb_etm.bundle.privacy import Scrubber
from gdb_etm.bundle.repeat import Repetition
from tests.access.processes import ROOT

KEPT = ROOT / "tests" / "bundles" / "m33.etmb"


def files() -> Dict[str, bytes]:
    """Return the files of a good bundle."""
    with zipfile.ZipFile(str(KEPT)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(content: Dict[str, bytes]) -> bytes:
    """Pack files as a bundle is packed."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return made.getvalue()


def with_line(line: Union[str, bytes]) -> bytes:
    """Pack a good bundle with one more line in its record."""
    text = line if isinstance(line, bytes) else line.encode()
    return packed(dict(files(), **{"record.jsonl": files()["record.jsonl"] + b"\n" + text}))


def with_file(name: str, data: bytes = b"") -> bytes:
    """Pack a good bundle with one more file, or another one."""
    return packed({**files(), name: data})


def _twice() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("bundle.json", b"{}")
        archive.writestr("bundle.jsox", b"{}")
    return made.getvalue().replace(b"bundle.jsox", b"bundle.json")


def _patched(data: bytes, at: int, form: str, *values: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, at % len(data), *values)
    return bytes(changed)


def _about(**changes: object) -> bytes:
    about = json.loads(files()["bundle.json"])
    about["origin"].update(changes)
    return with_file("bundle.json", json.dumps(about).encode())


HOSTILE: Dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "text": lambda: b"hello\n" * 10,
    "cut": lambda: KEPT.read_bytes()[:-30],
    "half": lambda: KEPT.read_bytes()[: len(KEPT.read_bytes()) // 2],
    "bomb in one file": lambda: with_file("record.jsonl", b" " * (1 << 25)),
    "bomb in many": lambda: packed(
        {**files(), **{"captures/%d/trace.bin" % n: bytes(1 << 24) for n in range(1000, 1006)}}
    ),
    "traversal": lambda: with_file("../../evil.ini"),
    "traversal in a capture": lambda: with_file("captures/1/../../../evil.ini"),
    "absolute": lambda: with_file("/tmp/evil"),
    "another name": lambda: with_file("captures/1/Trace.exe"),
    "twice": _twice,
    "a directory of millions": lambda: _patched(KEPT.read_bytes(), -14, "<HH", 65535, 65535),
    "a directory beyond the file": lambda: _patched(KEPT.read_bytes(), -10, "<L", 0xFFFFFFF0),
    "a name that goes on and on": lambda: _patched(KEPT.read_bytes(), 26, "<H", 0x4000),
    "no record": lambda: packed({name: data for name, data in files().items() if name != "record.jsonl"}),
    "no JSON": lambda: with_line("{"),
    "a list": lambda: with_line("[]"),
    "nested": lambda: with_line("[" * 100000),
    "nested objects": lambda: with_line('{"a":' * 50000),
    "a number of a million digits": lambda: with_line('{"op": "read32", "port": %s}' % ("1" * 1000000)),
    "a fraction": lambda: with_line('{"op": "read32", "port": 1e999}'),
    "NaN": lambda: with_line('{"op": "read32", "port": NaN}'),
    "no such port": lambda: with_line('{"op": "read32", "port": 77, "address": "0x0", "value": "0x0"}'),
    "a port below zero": lambda: with_line('{"op": "read32", "port": -1, "address": "0x0", "value": "0x0"}'),
    "a word of 40 bits": lambda: with_line('{"op": "read32", "port": 0, "address": "0x0", "value": "0x1234567890"}'),
    "no hex": lambda: with_line('{"op": "read32", "port": 0, "address": "zz", "value": "0x0"}'),
    "more words than values": lambda: with_line(
        '{"op": "read_fifo", "port": 0, "address": "0x0", "words": 99999999, "values": []}'
    ),
    "another operation": lambda: with_line('{"op": "system", "port": 0, "address": "0x0", "value": "0x0"}'),
    "a request that is none": lambda: with_line('{"step": "start", "asked": [{"is": "Popen"}]}'),
    "options out of range": lambda: with_line('{"step": "start", "asked": [{"is": "TraceOptions", "trace_id": 500}]}'),
    "too few requests": lambda: with_line('{"step": "drain", "asked": []}'),
    "not ASCII": lambda: with_line(b'{"step": "\xff"}'),
    "another format": lambda: _about(format=2),
    "a format of no number": lambda: _about(format="\x1b[2J"),
    "tables of another number": lambda: _about(tables=[]),
    "tables that are no numbers": lambda: _about(tables=["x"]),
    "a table of 400 bits": lambda: _about(tables=[1 << 400]),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_bundle_is_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bundle.etmb"
    path.write_bytes(HOSTILE[kind]())
    with pytest.raises(BundleError) as caught:
        read_bundle(str(path))
    text = str(caught.value)
    assert text.startswith("%s: " % path) and "\n" not in text and len(text) < 400 and text.isprintable()
    assert [each.name for each in tmp_path.iterdir()] == ["bundle.etmb"]


def test_a_link_of_somebody_elses_is_not_followed(tmp_path: Path) -> None:
    mine, path = tmp_path / "mine", tmp_path / "bundle.etmb"
    mine.write_text("kept")
    (tmp_path / "bundle.etmb.new").symlink_to(mine)
    write_bundle(read_bundle(str(KEPT)), str(path), Scrubber())
    assert mine.read_text() == "kept" and not path.is_symlink() and read_bundle(str(path))


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(BundleError):
            read_bundle(str(path))


@settings(max_examples=30)
@given(st.data())
def test_a_damaged_record_ends_in_words(data: st.DataObject) -> None:
    """Lines are cut, doubled or changed."""
    lines = files()["record.jsonl"].split(b"\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    change = data.draw(st.sampled_from(("drop", "double", "digit", "cut")))
    if change == "drop":
        del lines[at]
    elif change == "double":
        lines.insert(at, lines[at])
    elif change == "digit":
        place = data.draw(st.integers(0, len(lines[at]) - 1))
        lines[at] = lines[at][:place] + data.draw(st.sampled_from([b"0", b"f", b'"'])) + lines[at][place + 1 :]
    else:
        del lines[at:]
    made = packed({**files(), "record.jsonl": b"\n".join(lines)})
    try:
        bundle = _read(made)
    except BundleError as error:
        assert "\n" not in str(error)
        return
    said = list(Repetition(bundle).lines())
    assert said and all(line.isprintable() for line in said)


def _read(data: bytes) -> object:
    from gdb_etm.bundle import archive

    try:
        return archive._bundle(archive._files(data))
    except archive.CaptureError as error:
        raise BundleError(str(error)) from None
