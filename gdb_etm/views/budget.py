"""What a trace buffer's bytes are spent on, as text."""

from __future__ import annotations

from typing import Iterator, List, Optional, Sequence

from gdb_etm.history.budget import StreamBudget, Worth
from gdb_etm.views.text import align, bytes_text, plural


def rate_line(size: int, instructions: int, holds: Optional[int] = None) -> str:
    """Describe how many instructions the bytes hold, in a line.

    :param size: Bytes in the capture, or of one trace ID.
    :param holds: Size of the buffer that they were in; None where others were in it too.
    """
    if not instructions:
        return "%s, and no instruction was decoded from them" % plural(size, "byte")
    rate = size / instructions
    line = "%s in %s: %.3g bytes each" % (plural(instructions, "instruction"), plural(size, "byte"), rate)
    if holds is None:
        return line
    return "%s, so %s hold about %s" % (line, bytes_text(holds), plural(round(holds / rate), "instruction"))


def stream_lines(streams: Sequence[StreamBudget], size: int, others: int) -> Iterator[str]:
    """Write trace IDs and packet kinds in columns, with bytes and share.

    :param others: Bytes of trace IDs that are not among them.
    """
    rows: List[List[str]] = []
    for stream in streams:
        rows.append(["ID 0x%02x, %s" % (stream.trace_id, stream.title), "", *_size(stream.size, size)])
        for share in stream.shares:
            rows.append(["  " + share.name, "{:,}".format(share.packets), *_size(share.size, size)])
    if others:
        rows.append(["other trace IDs", "", *_size(others, size)])
    frames = size - others - sum(stream.size for stream in streams)
    if frames:
        rows.append(["frames: trace IDs, flags, padding", "", *_size(frames, size)])
    yield from align([["", "packets", "bytes", "share"], *rows])


def worth_lines(worths: Sequence[Worth], size: int) -> Iterator[str]:
    """Write what options cost or save, in columns."""
    rows = []
    for worth in worths:
        state = "" if worth.is_on is None else "on" if worth.is_on else "off"
        would = "would " if worth.is_on is False else ""
        verb = ("save" if worth.saves else "take") + ("" if would or worth.option.endswith("s") else "s")
        cells = ["?", ""] if worth.size is None else _size(worth.size, size)
        rows.append([worth.option, state, would + verb, *cells, worth.how])
    yield from align(rows)


def _size(size: int, of: int) -> List[str]:
    return ["{:,}".format(size), "%.1f%%" % (100 * size / of if of else 0)]
