"""From a capture to histories, watched by a meter."""

from __future__ import annotations

from typing import ContextManager, Dict, Optional

from gdb_etm.capture import RawCapture
from gdb_etm.history.build import DecoderCache, decode_parts, histories, parts
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.session.progress import Meter, Task
from gdb_etm.views.text import about_text


def decode_capture(
    capture: RawCapture, meter: Meter, cache: Optional[DecoderCache] = None, trace_id: Optional[int] = None
) -> Dict[int, ExecutionHistory]:
    """Decode a capture.

    :param cache: Decoders of earlier captures.
    :param trace_id: Only this trace ID; None takes all.
    :returns: Histories by trace ID, in the capture's order of sources.
    :raises CaptureError: When nothing in the capture can be decoded.
    """
    decoders = cache if cache is not None else DecoderCache()
    with taking_apart(capture, meter) as taken:
        todo = parts(capture, None, trace_id, taken.advance)
    size = sum(part.size for part in todo)
    with meter.task("decoding %s of trace" % about_text(size), size) as task:
        recorders = decode_parts(todo, decoders, task.advance)
    return histories(capture, todo, recorders, decoders)


def taking_apart(capture: RawCapture, meter: Meter) -> ContextManager[Task]:
    """Measure the deframing of a capture, in bytes of its buffer."""
    size = len(capture.buffer)
    return meter.task("taking %s of frames apart" % about_text(size), size)
