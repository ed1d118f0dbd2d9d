"""Captures on their way from GDB's plug-in to the process beside it."""

from __future__ import annotations

import base64
from typing import Any, Dict, List, Mapping, Optional, Sequence

from gdb_etm.access.wire import Message
from gdb_etm.capture import BufferEnd, BufferFormat, Capture, Core, MemoryImage, TraceSource
from gdb_etm.commands.anchors import Anchor, Anchored
from gdb_etm.replay.reliance import Reliance, reliance_of

_PIECE = 1 << 19
# Bytes of a buffer in one message.


def capture_messages(
    capture: Capture, files: Sequence[str], anchored: Anchored, settings: Mapping[str, str]
) -> List[Message]:
    """Write a capture, without the program, as requests to the process.

    :param files: ELF files of the program.
    :param anchored: What is known of the ends of its trace; memory at the end the process reads from GDB's server.
    :param settings: What values may rest on, see :func:`~gdb_etm.replay.reliance.reliance_of`.
    """
    begin, end = anchored.begin, anchored.end
    messages: List[Message] = []
    for image in begin.images if begin is not None else ():
        messages += [_data(image.data[at : at + _PIECE], begin_at=image.address + at)
                     for at in range(0, len(image.data), _PIECE)]
    messages += [_data(capture.buffer[at : at + _PIECE]) for at in range(0, max(len(capture.buffer), 1), _PIECE)]
    messages[-1].update(
        sources=[_fields(source) for source in capture.sources],
        format=capture.format.value,
        end=capture.end.name,
        name=capture.name,
        files=list(files),
        whole=anchored.is_whole,
        untouched=anchored.is_untouched,
        begin=None if begin is None else dict(begin.registers),
        halt=None if end is None else dict(end.registers),
        settings=dict(settings),
    )
    return messages


def _data(data: bytes, **more: int) -> Message:
    return {"op": "capture", "data": base64.b64encode(data).decode("ascii"), **more}


def _fields(source: TraceSource) -> Dict[str, Any]:
    # The program comes from the files, and the core's state from GDB's server.
    core = None if source.core is None else [source.core.name, source.core.type]
    return {"name": source.name, "protocol": source.protocol, "registers": dict(source.registers), "core": core}


def anchored_from(message: Message, memory: Sequence[MemoryImage]) -> Anchored:
    """Read what is known of the ends of a capture's trace.

    :param message: The last one of the capture's.
    :param memory: When the run began, from those before.
    :raises ValueError, TypeError: It is none.
    """
    begin, end = (_registers(message.get(name)) for name in ("begin", "halt"))
    return Anchored(
        None if begin is None else Anchor(begin, images=memory),
        None if end is None else Anchor(end),
        message.get("whole") is True,
        message.get("untouched") is True,
    )


def _registers(found: Any) -> Optional[Dict[str, int]]:
    return None if found is None else {str(name): int(value) for name, value in dict(found).items()}


def reliance_from(message: Message) -> Reliance:
    """Read what values may rest on.

    :raises ValueError, TypeError: It says nothing of it.
    """
    return reliance_of({str(name): str(text) for name, text in dict(message["settings"]).items()})


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
