"""A capture in a line."""

from __future__ import annotations

from typing import Callable, Iterator

from gdb_etm.capture import BufferFormat
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.views.captures import counts_text, size_text

# Captures up to this size are decoded for the line after a halt; it takes milliseconds for each 4 KiB.
_DECODED_BYTES = 1 << 16


def halt_lines(
    record: CaptureRecord, decode: Callable[[CaptureRecord], Decoded], debugger: Debugger, is_piece: bool
) -> Iterator[str]:
    """Say what was read at a halt.

    :param is_piece: Whether it is one of many, which are summarised together.
    """
    if not is_piece:
        yield "etm: " + summary(record, decode, debugger)
    for note in record.capture.notes:
        yield "note: " + note


def summary(record: CaptureRecord, decode: Callable[[CaptureRecord], Decoded], debugger: Debugger) -> str:
    """Summarise a capture in a line; a big one is not decoded."""
    is_big = not record.is_decoded and len(record.capture.buffer) > _DECODED_BYTES
    # What ran straight on is no packet of a Micro Trace Buffer.
    is_empty = not record.capture.buffer and record.capture.format is not BufferFormat.RAW
    if is_big or is_empty:
        return size_text(record.capture)
    decoded = decode(record)
    if not record.capture.buffer and not len(decoded.history):
        return size_text(record.capture)
    if not record.has_program:
        return size_text(record.capture) + '; no program: "file PROGRAM" lets them be decoded'
    calls = decoded.calls(debugger.function_at)
    history = decoded.history
    span = _function_of(debugger, history, 1), _function_of(debugger, history, len(history))
    counts = counts_text(record.capture, len(history), span, calls.calls, calls.exceptions)
    return counts + ("; the program and the target's memory differ" if decoded.doubt.addresses else "")


def _function_of(debugger: Debugger, history: ExecutionHistory, number: int) -> str:
    function = debugger.function_at(history.instruction(number).address) if len(history) else None
    return function.name if function is not None else ""
