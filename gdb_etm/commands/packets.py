"""``etm packets``: the trace streams themselves."""

from __future__ import annotations

from typing import Iterable

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.history import PACKET_RANGE, range_text
from gdb_etm.session.numbers import count
from gdb_etm.session.ranges import window
from gdb_etm.session.session import DebugSession
from gdb_etm.views.packets import packet_lines

TRACE_ID = Argument("--id", count, "only the stream with this trace ID, numbered by itself", "ID")

_SHOWN = 10


def run_packets(session: DebugSession, values: Values) -> Iterable[str]:
    """List packets."""
    packets = session.look().packets(values.get(TRACE_ID))
    shown = window(range_text(values, PACKET_RANGE), len(packets), _SHOWN, packets.shown, "packets")
    packets.shown = shown
    return packet_lines(packets.rows(shown), shown.first, packets.are_several)


PACKETS = Command(
    "packets",
    "Print the packets of the trace streams.",
    run_packets,
    details="Each line has the packet's number, its offset in the trace buffer, its trace ID where the buffer holds\n"
    "several, its bytes, and its kind and fields by the names of the architecture specification.  A unit that\n"
    "traces data has a second trace ID for it.",
    arguments=(PACKET_RANGE, TRACE_ID),
    examples=(
        ("packets 1,+20", "the oldest twenty"),
        ("packets -20", "the newest twenty"),
        ("packets --id 0x11 -20", "of one trace ID"),
    ),
)
