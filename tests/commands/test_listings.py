"""Vectors worked by hand from the specification, listed by the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Dict, List

import pytest

from gdb_etm.__main__ import main
from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.program.isa import Isa
from gdb_etm.session.walk import Arguments, placed
from gdb_etm.snapshot.writer import write_snapshot

# 1000 cmp r0, #0 | moveq r0, #1 | strne r1, [r2] | addgt r1, r1, #1 | b 1000
CODE = bytes.fromhex("000050e3 0100a003 00108215 011081c2 faffffea")
UNIT = {"TRCCONFIGR": 0, "TRCTRACEIDR": 0x10, "TRCIDR0": 0x28000EA1, "TRCIDR1": 0x4100F400, "TRCIDR2": 0x488}
CONDITIONS = {"TRCCONFIGR": 7 << 8, "TRCIDR0": UNIT["TRCIDR0"] | 1 << 6, "TRCIDR12": 8}
SPECULATION = {"TRCIDR8": 16}
CYCLES = {"TRCCONFIGR": 1 << 4}

ASYNC = "00 " * 11 + "80 "
# Trace On, then Context (EL1, NS) and Long Address 0x1000 IS0.
BEGIN = "04 81 21 9a 00 08 00 00 "


@pytest.fixture()
def listing(tmp_path: Path, capsys: pytest.CaptureFixture) -> "Listing":
    return Listing(tmp_path, capsys)


class Listing:
    """Makes a snapshot of packets and lists it."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture) -> None:
        self._path = path
        self._capsys = capsys

    def of(self, registers: Dict[str, int], packets: str, *words: str) -> List[str]:
        """Run a command on packets after an A-Sync."""
        core = Core("cpu_0", "Cortex-A9", {})
        source = TraceSource("ETM_0", "etmv4", dict(UNIT, **registers), core, (MemoryImage(0x1000, CODE, "code"),))
        buffer = bytes.fromhex(ASYNC + packets)
        write_snapshot(
            RawCapture(buffer, BufferFormat.RAW, (source,), BufferEnd.UNKNOWN), str(self._path), replace=True
        )
        command, *rest = words
        assert main([command, str(self._path), *rest]) == 0
        return self._capsys.readouterr().out.splitlines()


def test_conditions(listing: Listing) -> None:
    # As in tests/protocols/etmv4/test_outcome_vectors.py: C elements with the keys 1, 2, 3, then an R for each.
    packets = "01 01 0e " + BEGIN + "6d 06 6e 11 6e 20 6e 31 f7"
    lines = listing.of(CONDITIONS, packets, "history")
    assert [" ".join(line.split()) for line in lines[2:]] == [
        "1 0x00001000 cmp r0, #0",
        "2 0x00001004 moveq r0, #1",
        "3 0x00001008 strne r1, [r2] [condition failed]",
        "4 0x0000100c addgt r1, r1, #1",
        "5 0x00001010 b 0x1000",
    ]
    told = [line.split()[2:] for line in listing.of(CONDITIONS, packets, "elements") if " condition " in line]
    assert told == [["condition", "instruction=%d" % n, "passed=%s" % p] for n, p in ((2, True), (3, False), (4, True))]
    objects = [json.loads(line) for line in listing.of(CONDITIONS, packets, "history", "--format", "jsonl")]
    passed = [found.get("passed") for found in objects if found["kind"] == "instruction"]
    assert passed == [None, True, False, True, None]


def test_what_is_not_committed(listing: Listing) -> None:
    # Two atoms, of which one is committed when the trace ends (L7996).
    lines = listing.of(SPECULATION, "01 01 00 " + BEGIN + "db 2d 01", "history")
    assert lines[2:3] + lines[6:] == [
        "1   0x00001000   cmp    r0, #0",
        "5   0x00001010   b      0x1000",
        "[gap: not committed when the trace ended: E]",
    ]


def test_cycles_and_timestamps(listing: Listing) -> None:
    # Threshold 16 (L9152).  Cycle Count format 3 commits and adds 1 to 4 (map 1.1); a Timestamp of 0x5, 3 cycles on.
    packets = "01 09 01 10 " + BEGIN + "f7 0f f7 10 03 05 03 f7 02 06"
    lines = [line.partition("0x")[0].rstrip() for line in listing.of(CYCLES, packets, "history", "/t")]
    assert [line for line in lines if "cycle" in line or "time" in line] == [
        "5    cycle unknown",
        "10   cycle 16 (+16)   time 5 (+3 cycles)",
        "15                    time 6",
    ]


def test_what_was_not_traced_is_told(listing: Listing) -> None:
    lines = listing.of({}, "01 01 00 " + BEGIN + "f7", "history", "/td")
    assert lines[:2] == ["no cycle counts and no timestamps in this trace", "no loads and stores in this trace"]


def test_an_instruction_that_runs_often_is_disassembled_once(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: List[int] = []
    real = OfflineDebugger.disassemble

    def counting(debugger: OfflineDebugger, address: int, code: bytes, isa: Isa, before: bytes = b"") -> str:
        asked.append(address)
        return real(debugger, address, code, isa, before)

    monkeypatch.setattr(OfflineDebugger, "disassemble", counting)
    lines = listing.of({}, "01 01 00 " + BEGIN + "f7 " * 400, "history", "1,2000")
    assert len(lines) == 2002
    assert sorted(asked) == [0x1000, 0x1004, 0x1008, 0x100C, 0x1010]


def test_arguments_find_their_frames() -> None:
    # A debugger leaves out what has gone on in another function, and may have other names.
    given = [
        Arguments("core::fmt::write", None, "output=...", ""),
        Arguments("app::{impl#2}::sample", 0x364, "self=1", ""),
        Arguments("poll", 0x382, "count=2", "(assumed)"),
        Arguments("poll", None, "count=1", ""),
    ]
    frames = [
        ("core::fmt::write", 0xC3E),
        ("<&T as core::fmt::Display>::fmt", 0x20),
        ("<app::Table as app::Sensor>::sample", 0x364),
        (None, 0x10),
        ("poll(int)", 0x400),
        ("poll", 0x402),
        ("main", 0x4F8),
    ]
    found = [one.text if one is not None else "" for one in placed(given, frames)]
    assert found == ["output=...", "", "self=1", "", "count=2", "count=1", ""]
