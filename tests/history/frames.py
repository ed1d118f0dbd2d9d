"""Streams put into formatter frames."""

from __future__ import annotations

from typing import Iterable, Tuple

from gdb_etm.board.formatter import Formatter


def frames(streams: Iterable[Tuple[int, bytes]]) -> bytes:
    """Put streams one after the other into formatter frames.

    :param streams: Trace IDs and bytes.
    """
    out = bytearray()
    formatter = Formatter(out.extend)
    for trace_id, data in streams:
        formatter.write(trace_id, data)
    formatter.stop()
    return bytes(out)
