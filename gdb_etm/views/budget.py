"""What a trace buffer's bytes are spent on, as text."""

from __future__ import annotations

from typing import Iterator, List, Sequence

from gdb_etm.history.budget import StreamBudget, Worth
from gdb_etm.views.text import align, bytes_text, plural


def rate_line(size: int, instructions: int, holds: int) -> str:
    """Say how many instructions the bytes are.

    :param size: Bytes in the capture.
    :param holds: Size of the buffer that they were in.
    """
    if not instructions:
        return "%s, and no instruction was decoded from them" % plural(size, "byte")
    rate = size / instructions
    return "%s in %s: %.3g bytes each, so %s hold about %s" % (
        plural(instructions, "instruction"), plural(size, "byte"), rate, bytes_text(holds),
        plural(round(holds / rate), "instruction"))


def stream_lines(streams: Sequence[StreamBudget], size: int) -> Iterator[str]:
    """Write trace IDs and their packets in columns: what, packets, bytes, share of the buffer."""
    rows: List[List[str]] = []
    for stream in streams:
        rows.append(["ID 0x%02x, %s" % (stream.trace_id, stream.title), "", *_size(stream.size, size)])
        for share in stream.shares:
            rows.append(["  " + share.name, "{:,}".format(share.packets), *_size(share.size, size)])
    frames = size - sum(stream.size for stream in streams)
    if frames:
        rows.append(["frames: trace IDs, flags, padding", "", *_size(frames, size)])
    yield from align([["", "packets", "bytes", "share"], *rows])


def worth_lines(worths: Sequence[Worth], size: int) -> Iterator[str]:
    """Write what options take or save: name, state, bytes, share, how it was found out."""
    rows = []
    for worth in worths:
        state = "" if worth.is_on is None else "on" if worth.is_on else "off"
        would = "would " if worth.is_on is False else ""
        verb = ("save" if worth.saves else "take") + ("" if would else "s")
        rows.append([worth.option, state, would + verb, *_size(worth.size, size), worth.how])
    yield from align(rows)


def _size(size: int, of: int) -> List[str]:
    return ["{:,}".format(size), "%.1f%%" % (100 * size / of if of else 0)]
