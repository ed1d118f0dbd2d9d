"""Steps for the buffer: long trace, wrap, synchronisation, stop on trigger."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, List

from gdb_etm.capture import BufferEnd
from gdb_etm.selftest.basic import plain
from gdb_etm.selftest.compare import check_begin, check_end, check_whole
from gdb_etm.selftest.findings import StepFailure, StepSkipped
from gdb_etm.selftest.rig import Rig, TracedRun
from gdb_etm.traceunit.actions import Rule, Trigger
from gdb_etm.traceunit.events import Executed
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.views.text import plural

# Bytes that are compared without a loss.  A byte that is lost in 10,000 is among them.
_COMPARED = 12000
_MOST_CAPTURES = 16
# Larger buffers are not filled: they would take too long to read and to compare.
_LARGEST = 1 << 16
_SHARE = 0.7
# Alignment synchronisation packets.
_SYNC: Dict[str, bytes] = {"etmv4": b"\0{11}\x80", "etmv3": b"\0{5,}\x80", "ptm": b"\0{5,}\x80"}
# Times as many as asked for: unit and buffer may both ask for them.
_MOST_POINTS = 4
# A unit may be late by as much as a packet and what its FIFO holds.
_LATE = 64


def long_trace(rig: Rig) -> str:
    """Compare many bytes of trace, in as many captures as it takes."""
    size = min(rig.trace.sink.size, 2 * _COMPARED)
    passes = max(int(_SHARE * size / rig.pass_bytes), 1)
    compared = captures = 0
    instructions = 0
    while compared < _COMPARED and captures < _MOST_CAPTURES:
        run = rig.run(plain(rig), passes)
        captures += 1
        if run.sink.wrapped:
            raise StepFailure("%s is 1 after about %d bytes of %d" % (rig.full, run.size, rig.trace.sink.size))
        check_whole(run.executed, rig.layout.path(passes), rig.layout)
        compared += run.size
        instructions += len(run.decoded())
    return "%s in %s of %s, none lost" % (
        plural(instructions, "instruction"),
        plural(compared, "byte"),
        plural(captures, "capture"),
    )


def wrap(rig: Rig) -> str:
    """Fill the buffer more than once: the newest trace must be whole."""
    passes = _passes(rig, 1.5)
    run = rig.run(plain(rig), passes)
    if not run.sink.wrapped or run.capture.end is not BufferEnd.WRAPPED:
        raise StepFailure(
            "%s is 0 after about %d bytes of trace in a buffer of %d"
            % (rig.full, passes * rig.pass_bytes, rig.trace.sink.size)
        )
    number = check_end(run.executed, rig.layout.path(passes), rig.layout)
    share = number / len(rig.layout.path(passes))
    if share < 0.1:
        raise StepFailure("only %s of the newest trace can be decoded" % plural(number, "instruction"))
    return "the last {:,} of {}, in {:,} bytes".format(
        number, plural(len(rig.layout.path(passes)), "instruction"), len(run.capture.buffer)
    )


def _passes(rig: Rig, times: float) -> int:
    if rig.trace.sink.size > _LARGEST:
        raise StepSkipped("a buffer of %d bytes is not filled: it takes too long" % rig.trace.sink.size)
    return int(times * rig.trace.sink.size / rig.pass_bytes) + 1


def synchronisation(rig: Rig) -> str:
    """See that synchronisation points are as far apart as they should be."""
    run = rig.run(plain(rig), _passes(rig, 1.5))
    if run.stream is None:
        raise StepFailure("no trace with ID 0x%02x" % run.options.trace_id)
    found: List[int] = [match.start() for match in re.finditer(_SYNC[rig.trace.unit.protocol], run.stream.data, re.S)]
    period = rig.trace.sync_bytes
    if not period:
        raise StepSkipped("this unit does not synchronise by itself (TRCSYNCPR.PERIOD is 0)")
    gaps = [second - first for first, second in zip([0] + found, found + [len(run.stream.data)])]
    if max(gaps) > 2 * period + _LATE:
        raise StepFailure(
            "%d bytes without a synchronisation point, every %d bytes were asked for" % (max(gaps), period)
        )
    most = _MOST_POINTS * len(run.stream.data) // period + 2
    if len(found) > most:
        raise StepFailure(
            "%d synchronisation points in %d bytes, every %d bytes were asked for"
            % (len(found), len(run.stream.data), period)
        )
    return "%s in %d bytes, at most %d apart" % (plural(len(found), "point"), len(run.stream.data), max(gaps))


def watermark_stop(rig: Rig) -> str:
    """Stop a Micro Trace Buffer at its watermark."""
    after, passes = rig.buffer.size // 4, _passes(rig, 0.7)
    run = rig.run(replace(plain(rig), stop_after=after), passes)
    _check_watermark(rig, run, after, "AUTOSTOP")
    number = check_begin(run.executed, rig.layout.path(passes), rig.layout, is_stopped=True)
    return "AUTOSTOP: it stopped itself with %d bytes, and the first %s" % (after, plural(number, "instruction"))


def watermark_halt(rig: Rig) -> str:
    """Have a Micro Trace Buffer halt the core at its watermark."""
    passes = _passes(rig, 1.5)
    run = rig.halted(replace(plain(rig), halts_when_full=True), passes)
    _check_watermark(rig, run, rig.trace.watermark or 0, "AUTOHALT")
    number = check_begin(run.executed, rig.layout.path(passes), rig.layout)
    words = "AUTOHALT: the core halted with %d bytes, all of the first %s in it"
    return words % (len(run.capture.buffer), plural(number, "instruction"))


def _check_watermark(rig: Rig, run: TracedRun, wanted: int, name: str) -> None:
    # A core that is asked to halt may make some branches more.
    most = wanted + (_LATE if name == "AUTOHALT" else 0)
    if run.sink.wrapped or not wanted <= run.sink.filled <= most:
        words = "%s: %d bytes in the buffer, %d were asked for (%s is %d)"
        raise StepFailure(words % (name, run.sink.filled, wanted, rig.full, run.sink.wrapped))


def trigger(rig: Rig) -> str:
    """Stop the buffer some time after an instruction."""
    options: TraceOptions = replace(
        plain(rig), rules=(Rule(Executed(rig.layout.at("leaf")), Trigger()),), trigger_position=25
    )
    passes = _passes(rig, 1.5)
    run = rig.run(options, passes)
    if any("ETB may not hear" in note for note in run.plan.notes) and not run.sink.triggered:
        raise StepSkipped("an ETB does not hear of a trigger on the trace bus")
    if not run.sink.triggered:
        raise StepFailure("STS.Triggered is 0 after %d triggers" % (3 * passes))
    if run.sink.wrapped:
        raise StepFailure("STS.Full is 1: the buffer did not stop after the trigger")
    path = rig.layout.path(passes)
    number = check_begin(run.executed, path, rig.layout)
    size = len(run.capture.buffer)
    if number >= len(path):
        raise StepFailure("the buffer did not stop: all %s are in it" % plural(number, "instruction"))
    after = rig.trace.sink.size // 4
    if not number or size > after + rig.trace.sink.size // 4 or size < after:
        raise StepFailure("%d bytes when the buffer had stopped, %d after the trigger were asked for" % (size, after))
    return "STS.Triggered; it stopped itself with %d bytes, and the first %s" % (size, plural(number, "instruction"))
