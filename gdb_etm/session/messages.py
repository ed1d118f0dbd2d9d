"""Captures on their way from GDB's plug-in to the process beside it."""

from __future__ import annotations

import base64
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, TypeVar

from gdb_etm.access.wire import Message
from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.replay.reliance import RELIED_ON
from gdb_etm.session.anchor import Anchor
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.joined import HISTORY_LIMIT

# Bytes of a buffer in one message.
_PIECE = 1 << 19
_MOST_SOURCES = 64
_MOST_FILES = 256
_MOST_REGISTERS = 2048
_LONGEST_TEXT = 4096
_NUMBER_MAX = (1 << 64) - 1
_Read = TypeVar("_Read")


class HandedOver(NamedTuple):
    """A capture as the process gets it."""

    capture: RawCapture
    # ELF files of the program.
    files: List[str]
    # What is known of the ends of its trace.
    anchored: Anchored
    # What more has happened since the capture before; empty where nothing has.
    unseen: str
    # Whether nothing was changed from the halt before until the core ran on.
    follows_untouched: bool
    # Settings that the user has changed, by their names.
    settings: Dict[str, str]
    # What GDB knows of the kernel's control blocks, by expressions.
    constants: Dict[str, int]


def capture_messages(handed: HandedOver) -> List[Message]:
    """Write a capture, without the program, as requests to the process.

    Memory at its end the process reads from GDB's server.
    """
    capture, anchored = handed.capture, handed.anchored
    begin, end = anchored.begin, anchored.end
    messages: List[Message] = []
    for image in begin.images if begin is not None else ():
        messages += [
            _data(image.data[at : at + _PIECE], begin_at=image.address + at) for at in range(0, len(image.data), _PIECE)
        ]
    messages += [_data(capture.buffer[at : at + _PIECE]) for at in range(0, max(len(capture.buffer), 1), _PIECE)]
    messages[-1].update(
        sources=[_fields(source) for source in capture.sources],
        format=capture.format.value,
        end=capture.end.name,
        name=capture.name,
        files=handed.files,
        whole=anchored.is_whole,
        untouched=anchored.is_untouched,
        begin=None if begin is None else dict(begin.registers),
        halt=None if end is None else dict(end.registers),
        unseen=handed.unseen,
        follows_untouched=handed.follows_untouched,
        settings=handed.settings,
        constants=handed.constants,
    )
    return messages


def _data(data: bytes, **more: int) -> Message:
    return {"op": "capture", "data": base64.b64encode(data).decode("ascii"), **more}


def _fields(source: TraceSource) -> Dict[str, Any]:
    # The program comes from the files, and the core's state from GDB's server.
    core = None if source.core is None else [source.core.name, source.core.type]
    return {"name": source.name, "protocol": source.protocol, "registers": dict(source.registers), "core": core}


def shared_settings(settings: Mapping[str, str]) -> Dict[str, str]:
    """Choose the settings that the process has to know of."""
    return {name: settings[name] for name in (*RELIED_ON, HISTORY_LIMIT) if name in settings}


def handed_over(buffer: bytes, memory: Sequence[MemoryImage], message: Message) -> HandedOver:
    """Read a capture again.

    :param buffer: What all messages hold of it, put together.
    :param memory: When the run began, from the messages.
    :param message: The last one.
    :raises ValueError: It is none.
    """
    return HandedOver(
        _capture(buffer, message),
        [text_of(name) for name in _list(message.get("files"), _MOST_FILES)],
        _anchored(message, memory),
        text_of(message.get("unseen")),
        message.get("follows_untouched") is True,
        settings_from(message),
        _registers(message.get("constants", {})),
    )


def settings_from(message: Message) -> Dict[str, str]:
    """Read the settings that the user has changed, by their names.

    :raises ValueError: It says nothing of them.
    """
    return {name: text_of(text) for name, text in _fields_of(message.get("settings")).items()}


def _anchored(message: Message, memory: Sequence[MemoryImage]) -> Anchored:
    begin, end = (_optional(_registers, message.get(name)) for name in ("begin", "halt"))
    return Anchored(
        None if begin is None else Anchor(begin, images=memory),
        None if end is None else Anchor(end),
        message.get("whole") is True,
        message.get("untouched") is True,
    )


def _capture(buffer: bytes, message: Message) -> RawCapture:
    sources = tuple(_source(_fields_of(fields)) for fields in _list(message.get("sources"), _MOST_SOURCES))
    end = text_of(message.get("end"))
    if end not in BufferEnd.__members__:
        raise ValueError("the buffer ends in no known way: %r" % end)
    return RawCapture(
        buffer, BufferFormat(message.get("format")), sources, BufferEnd[end], text_of(message.get("name"))
    )


def number_of(found: Any) -> int:
    """Read a whole number of at most 64 bits.

    :raises ValueError: It is no whole number, or another one.
    """
    if not isinstance(found, int) or not 0 <= found <= _NUMBER_MAX:
        raise ValueError("%.40r is no whole number of 64 bits" % (found,))
    return int(found)


def text_of(found: Any) -> str:
    """Read a name or a path.

    :raises ValueError: It is no text, or too long.
    """
    if not isinstance(found, str) or len(found) > _LONGEST_TEXT or "\0" in found:
        raise ValueError("%.40r is no text of up to %d characters" % (found, _LONGEST_TEXT))
    return found


def _source(fields: Dict[str, Any]) -> TraceSource:
    registers = _registers(fields.get("registers"))
    name, protocol = text_of(fields.get("name")), text_of(fields.get("protocol"))
    return TraceSource(name, protocol, registers, _optional(_core, fields.get("core")), ())


def _core(found: Any) -> Core:
    words = [text_of(word) for word in _list(found, 2)]
    if len(words) != 2:
        raise ValueError("a core is its name and its type")
    return Core(words[0], words[1], {})


def _registers(found: Any) -> Dict[str, int]:
    return {name: number_of(value) for name, value in _fields_of(found).items()}


def _optional(read: Callable[[Any], _Read], found: Any) -> Optional[_Read]:
    return None if found is None else read(found)


def _fields_of(found: Any) -> Dict[str, Any]:
    if not isinstance(found, dict) or len(found) > _MOST_REGISTERS:
        raise ValueError("%.40r is no object of up to %d fields" % (found, _MOST_REGISTERS))
    return found


def _list(found: Any, most: int) -> List[Any]:
    if not isinstance(found, list) or len(found) > most:
        raise ValueError("%.40r is no list of up to %d" % (found, most))
    return found
