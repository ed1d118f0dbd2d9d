"""Property and the board's truth: decoded again, a capture tells the same.

The second time whatever was learned is used: what were single events are parts of runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, Tuple

import pytest

from gdb_etm.farm.measure import FarmProgram, Subject, measure
from gdb_etm.history.build import DecoderCache, build, parts
from gdb_etm.history.halts import pauses
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.history.untraced import untraced_exceptions
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Exception_, Range, breaks, is_reset
from gdb_etm.protocols.registry import PROTOCOLS
from gdb_etm.recovery.ssa.segments import cut_segments
from gdb_etm.session.halt_states import anchored_of
from gdb_etm.snapshot.reader import read_snapshot
from tests.firmware.faulty.build import missing
from tests.firmware.faulty.run import Outcome, outcome
from tests.shared import capture_folder

CAPTURES = ("TC2", "Snowball", "juno_r1_1", "lpc1769-m3", "rp2350-m33-0", "v7m-svc", "v8m-svc", "trace_cov_a15")
PROGRAMS = (("keypad", "O2", "m7"), ("kernel", "O0", "m33"), ("ripples", "O2", "m33"), ("weather", "O2", "m4"))


def ran(program: str, level: str, board: str) -> Outcome:
    """Give a faulty program's run."""
    reason = missing(program)
    if reason is not None:
        pytest.skip(reason)
    return outcome(program, level, board)


def told(history: ExecutionHistory) -> Tuple[object, ...]:
    """List what is asked of a history's events."""
    numbers = sorted({before for before, _ in history.exceptions(lambda _: True)} | {0, 1, len(history)})
    return (
        list(history.elements()),
        list(history.interruptions()),
        history.exceptions(lambda _: True),
        history.events,
        [history.events_after(number) for number in numbers[:50]],
        pauses(history),
        untraced_exceptions(history, None, True),
        cut_segments(history, True),
    )


def check(folder: Path) -> List[ExecutionHistory]:
    """Decode each capture of a snapshot three times with the same decoders."""
    found: List[ExecutionHistory] = []
    for capture in read_snapshot(folder):
        if not any(source.protocol in PROTOCOLS for source in capture.sources):
            continue
        cache = DecoderCache()
        first = build(capture, cache=cache)
        for again in (build(capture, cache=cache), build(capture, cache=cache)):
            assert {trace_id: told(one) for trace_id, one in again.items()} == {
                trace_id: told(one) for trace_id, one in first.items()
            }
            found += again.values()
    return found


@pytest.mark.parametrize("name", CAPTURES)
def test_a_real_capture(name: str) -> None:
    for history in check(capture_folder(name)):
        before = 0
        broken, taken = [], []
        for _, element in history.elements():
            if isinstance(element, Range):
                before += element.instructions
                continue
            if breaks(element):
                broken.append((before, element))
            if isinstance(element, Exception_) and not is_reset(element):
                taken.append((before, element))
        assert list(history.interruptions()) == broken
        assert history.exceptions(lambda event: not is_reset(event)) == taken


def test_a_decoder_is_kept_for_equal_memory() -> None:
    (capture,) = read_snapshot(capture_folder("v7m-svc"))
    (part,) = parts(capture)
    images = part.program.images
    copies = [image._replace(data=bytes(bytearray(image.data))) for image in images]
    others = [image._replace(data=bytes(len(image.data))) for image in images]
    cache = DecoderCache()
    first = cache.get("etmv4", part.config, part.program)
    assert cache.get("etmv4", part.config._replace(trace_id=5), Program(copies)) is first
    assert cache.get("etmv4", part.config, Program(others)) is not first
    # What was learned of the older program is gone.
    assert cache.get("etmv4", part.config, part.program) is not first


@pytest.mark.parametrize("piece", [2, 9])
def test_a_piece_of_64_bit_trace_ends_without_a_state(piece: int, tmp_path: Path) -> None:
    """It ends in mid run: no registers say what ran next."""
    size = 65536
    for one in Path(capture_folder("bugfix-exact-match")).iterdir():
        data = one.read_bytes()
        (tmp_path / one.name).write_bytes(data[piece * size :][:size] if one.name == "cstrace.bin" else data)
    (capture,) = read_snapshot(tmp_path)
    anchored = anchored_of(capture)
    assert anchored.end is not None and anchored.end.pc is not None
    for history in build(capture).values():
        assert len(history) > 100_000 and anchored.after(history) is None
    assert not measure(FarmProgram([], ""), Subject(str(tmp_path), "", ""))[1].reason


@pytest.mark.parametrize("program, level, board", PROGRAMS)
def test_a_crash(program: str, level: str, board: str) -> None:
    assert any(history.exceptions(lambda event: event.vector == 3) for history in check(ran(program, level, board)[0]))


@pytest.mark.parametrize("program, level, board", PROGRAMS)
def test_its_verdict(program: str, level: str, board: str) -> None:
    found = ran(program, level, board)
    analysis, subject = FarmProgram([str(found.elf)], ""), Subject(str(found.snapshot), "", "")
    first, again = measure(analysis, subject), measure(analysis, subject)
    assert first == again
    assert first[1].verdicts not in ((), ("none",))
