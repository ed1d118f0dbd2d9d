"""``etm packets``: the trace stream itself."""

from __future__ import annotations

from typing import Iterable

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.history import RANGE, TRACE_ID
from gdb_etm.commands.ranges import window
from gdb_etm.commands.session import Session
from gdb_etm.views.packets import packet_lines

_SHOWN = 10


def run_packets(session: Session, values: Values) -> Iterable[str]:
    """List packets."""
    record = session.look()
    packets = record.packets(values.get(TRACE_ID))
    shown = window(" ".join(values.all(RANGE)), len(packets.all), _SHOWN, packets.shown, "packets")
    packets.shown = shown
    numbered = enumerate(packets.all[shown.first - 1 : shown.last], shown.first)
    return packet_lines(numbered)


PACKETS = Command(
    "packets",
    "Print the packets of the trace stream.",
    run_packets,
    details="Each line has the packet's number, its offset in the trace buffer, its bytes, its kind and its fields by\n"
    "the names of the architecture specification.",
    arguments=(RANGE, TRACE_ID),
    examples=(("packets 1,+20", "the oldest twenty"), ("packets -20", "the newest twenty")),
)
