"""Captures on their way from GDB's plug-in to the process beside it."""

from __future__ import annotations

import base64
from typing import Any, Dict, List, Sequence

from gdb_etm.access.wire import Message
from gdb_etm.capture import BufferEnd, BufferFormat, Capture, Core, TraceSource

_PIECE = 1 << 19
# Bytes of a buffer in one message.


def capture_messages(capture: Capture, files: Sequence[str]) -> List[Message]:
    """Write a capture, without memory, as requests to the process.

    :param files: ELF files of the program.
    """
    pieces = [capture.buffer[at : at + _PIECE] for at in range(0, len(capture.buffer), _PIECE)] or [b""]
    messages: List[Message] = [{"op": "capture", "data": base64.b64encode(piece).decode("ascii")} for piece in pieces]
    sources = [dict(source._asdict(), core=source.core and source.core._asdict()) for source in capture.sources]
    for source in sources:
        del source["images"]
    messages[-1].update(
        sources=sources, format=capture.format.value, end=capture.end.name, name=capture.name, files=list(files)
    )
    return messages


def capture_of(buffer: bytes, message: Message) -> Capture:
    """Read a capture again.

    :param buffer: What all messages hold of it, put together.
    :param message: The last one.
    :raises ValueError, KeyError, TypeError: It is none.
    """
    sources = [_source(fields) for fields in message["sources"]]
    kind, end = BufferFormat(message["format"]), BufferEnd[message["end"]]
    return Capture(buffer, kind, tuple(sources), end, str(message["name"]))


def _source(fields: Dict[str, Any]) -> TraceSource:
    core = fields.pop("core")
    registers = {str(name): int(value) for name, value in fields["registers"].items()}
    known = {**fields, "registers": registers, "images": (), "core": None if core is None else Core(**core)}
    if "marks" in known:
        known["marks"] = tuple((int(number), str(text)) for number, text in known["marks"])
    return TraceSource(**known)
