"""Documents to files, by libraries of the extra ``report``.

:func:`main` runs in a process that has these; it reads a document, as JSON, from its standard input.
"""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.exports.page import encode_report
from gdb_etm.files import through_own_links

# The messages of profile.proto, as far as they are written: of each field its number, its name, and its type; those
# that begin with a capital are messages, those with "*" are repeated.
_PPROF: Mapping[str, Sequence[Tuple[int, str, str]]] = {
    "ValueType": ((1, "type", "int64"), (2, "unit", "int64")),
    "Sample": ((1, "location_id", "*uint64"), (2, "value", "*int64")),
    "Location": ((1, "id", "uint64"), (3, "address", "uint64"), (4, "line", "*Line")),
    "Line": ((1, "function_id", "uint64"), (2, "line", "int64")),
    "Function": (
        (1, "id", "uint64"),
        (2, "name", "int64"),
        (3, "system_name", "int64"),
        (4, "filename", "int64"),
        (5, "start_line", "int64"),
    ),
    "Profile": (
        (1, "sample_type", "*ValueType"),
        (2, "sample", "*Sample"),
        (4, "location", "*Location"),
        (5, "function", "*Function"),
        (6, "string_table", "*string"),
        (14, "default_sample_type", "int64"),
    ),
}


def pprof_messages() -> Dict[str, Any]:
    """Make the classes of pprof's messages, by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="gdb_etm_pprof.proto", package="perftools.profiles", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in _PPROF.items():
        made = file.message_type.add(name=message)
        for number, name, kind in fields:
            label = kinds.LABEL_REPEATED if kind[0] == "*" else kinds.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            field = made.field.add(name=name, number=number, label=label)
            if kind[0].isupper():
                field.type, field.type_name = kinds.TYPE_MESSAGE, ".perftools.profiles." + kind
            else:
                field.type = getattr(kinds, "TYPE_" + kind.upper())
    pool = descriptor_pool.DescriptorPool()
    found = pool.Add(file) or pool.FindFileByName(file.name)
    return {name: message_factory.GetMessageClass(found.message_types_by_name[name]) for name in _PPROF}


def encode_pprof(document: Mapping[str, Any]) -> bytes:
    """Make pprof's file, which is compressed."""
    profile = pprof_messages()["Profile"]()
    texts: Dict[str, int] = {"": 0}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    for kind, unit in (("calls", "count"), (document["unit"], "count")):
        profile.sample_type.add(type=text(kind), unit=text(unit))
    profile.default_sample_type = text(document["unit"])
    for number, one in enumerate(document["functions"], 1):
        name = text(one["name"])
        profile.function.add(id=number, name=name, system_name=name, filename=text(one["file"]), start_line=one["line"])
        location = profile.location.add(id=number, address=one["address"])
        location.line.add(function_id=number, line=one["line"])
    for sample in document["samples"]:
        profile.sample.add(location_id=sample["stack"], value=sample["values"])
    profile.string_table.extend(texts)
    return gzip.compress(profile.SerializeToString(deterministic=True), mtime=0)


# Of perfetto's tracks: the whole program's, gaps, what was marked; the others follow.
_PROGRAM, _GAPS, _MARKS, _FIRST = 1, 2, 3, 4
_SEQUENCE = 1


class _PerfettoTrace:
    # Packets of one trusted sequence, whose names are interned.

    def __init__(self) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

        self._messages = messages
        self._trace = messages.Trace()
        self._names: Dict[str, int] = {}
        first = self._packet()
        first.sequence_flags = messages.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED

    def _packet(self) -> Any:
        return self._trace.packet.add(
            trusted_packet_sequence_id=_SEQUENCE,
            sequence_flags=self._messages.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
        )

    def track(self, uuid: int, name: str, is_counter: bool = False) -> None:
        """Declare a track below the program's."""
        track = self._packet().track_descriptor
        track.uuid, track.name = uuid, name
        if uuid != _PROGRAM:
            track.parent_uuid = _PROGRAM
        if is_counter:
            track.counter.SetInParent()

    def event(self, time: int, uuid: int, kind: str, name: Optional[str] = None, value: Optional[int] = None) -> None:
        """Add an event, whose kind is one of TrackEvent.Type without its prefix."""
        packet = self._packet()
        packet.timestamp = time
        event = packet.track_event
        event.track_uuid, event.type = uuid, getattr(self._messages.TrackEvent, "TYPE_" + kind)
        if name is not None:
            number = self._names.get(name)
            if number is None:
                number = self._names[name] = len(self._names) + 1
                packet.interned_data.event_names.add(iid=number, name=name)
            event.name_iid = number
        if value is not None:
            event.counter_value = value

    def data(self) -> bytes:
        """Give the file's content."""
        return bytes(self._trace.SerializeToString())


def encode_perfetto(document: Mapping[str, Any]) -> bytes:
    """Make Perfetto's file; its nanoseconds are the document's unit."""
    trace = _PerfettoTrace()
    trace.track(_PROGRAM, "%s (1 ns is one of: %s)" % (document["name"], document["unit"]))
    trace.track(_GAPS, "not seen")
    trace.track(_MARKS, "marks")
    for number, name in enumerate(document["tracks"]):
        trace.track(_FIRST + number, name)
    for time, track, name in document["events"]:
        trace.event(time, _FIRST + track, "SLICE_END" if name is None else "SLICE_BEGIN", name)
    for uuid, kind in ((_GAPS, "gaps"), (_MARKS, "instants")):
        for time, name in document[kind]:
            trace.event(time, uuid, "INSTANT", name)
    for number, (name, points) in enumerate(document["counters"], _FIRST + len(document["tracks"])):
        trace.track(number, name, is_counter=True)
        for time, value in points:
            trace.event(time, number, "COUNTER", value=value)
    return trace.data()


# By the kind of document.
ENCODERS: Mapping[str, Callable[[Mapping[str, Any]], bytes]] = {
    "pprof": encode_pprof,
    "perfetto": encode_perfetto,
    "report": encode_report,
}


def main(words: Sequence[str]) -> int:
    """Read a document and write a file.

    :param words: Its kind, and the file's path.
    :returns: The exit status: 0, or 1 after an error, which is printed in one line.
    """
    kind, path = words
    try:
        write(kind, path, json.load(sys.stdin))
    except EtmError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def write(kind: str, path: str, document: Mapping[str, Any]) -> None:
    """Write a document's file.

    :raises CommandError: A library is missing, or the file cannot be written.
    """
    try:
        data = ENCODERS[kind](document)
    except ImportError as error:
        wanted = error.name or "a library"
        raise CommandError('%s is missing for this format: pip install "gdb_etm[report]"' % wanted) from error
    try:
        with open(path, "wb", opener=through_own_links) as file:
            file.write(data)
    except OSError as error:
        raise CommandError("cannot write %s: %s" % (path, error.strerror)) from error
