"""Captures on their way from GDB's plug-in to the process beside it."""

from __future__ import annotations

import base64
from typing import Any, Dict, List, Optional, Sequence

from gdb_etm.access.wire import Message
from gdb_etm.capture import BufferEnd, BufferFormat, Capture, Core, TraceSource
from gdb_etm.commands.anchors import Anchor, Anchored

_PIECE = 1 << 19
# Bytes of a buffer in one message.


def capture_messages(capture: Capture, files: Sequence[str], anchored: Anchored) -> List[Message]:
    """Write a capture, without memory, as requests to the process.

    :param files: ELF files of the program.
    :param anchored: What is known of the ends of its trace; of the end the process learns from GDB's server.
    """
    pieces = [capture.buffer[at : at + _PIECE] for at in range(0, len(capture.buffer), _PIECE)] or [b""]
    messages: List[Message] = [{"op": "capture", "data": base64.b64encode(piece).decode("ascii")} for piece in pieces]
    messages[-1].update(
        sources=[_fields(source) for source in capture.sources],
        format=capture.format.value,
        end=capture.end.name,
        name=capture.name,
        files=list(files),
        whole=anchored.is_whole,
        begin=None if anchored.begin is None else dict(anchored.begin.registers),
    )
    return messages


def _fields(source: TraceSource) -> Dict[str, Any]:
    # The program comes from the files, and the core's state from GDB's server.
    core = None if source.core is None else [source.core.name, source.core.type]
    return {"name": source.name, "protocol": source.protocol, "registers": dict(source.registers), "core": core}


def begin_of(message: Message) -> Optional[Anchor]:
    """Read the state in which the run began.

    :param message: The last one of a capture's.
    :raises ValueError, TypeError: It is none.
    """
    found = message.get("begin")
    return None if found is None else Anchor({str(name): int(value) for name, value in dict(found).items()})


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
    registers = {str(name): int(value) for name, value in fields["registers"].items()}
    core = None if fields["core"] is None else Core(str(fields["core"][0]), str(fields["core"][1]), {})
    return TraceSource(str(fields["name"]), str(fields["protocol"]), registers, core, ())
