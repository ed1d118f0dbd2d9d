"""The settings for a start of tracing, as typed values."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.session.filters import ranges_of
from gdb_etm.session.numbers import count, size
from gdb_etm.session.places import Locations
from gdb_etm.session.request import Range

SWITCH = ("off", "on")
RETURN_STACK = {"auto": None, "on": True, "off": False}
# What each setting is until it is changed.
DEFAULTS = {
    "cycle-count": "off",
    "timestamps": "off",
    "return-stack": "auto",
    "branch-broadcast": "off",
    "context": "off",
    "sync-period": "auto",
    "stall": "off",
    "overflow-prevention": "off",
    "data": "off",
    "conditional": "off",
    "q-elements": "off",
}


class TraceSettings(NamedTuple):
    """The settings, converted."""

    # Least number of processor cycles between two cycle counts.
    cycle_count: Optional[int]
    timestamps: bool
    # None: if the unit can.
    return_stack: Optional[bool]
    # off, on, or locations.
    branch_broadcast: str
    context: str
    # Bytes between two synchronisation points; None: to suit the buffer.
    sync_bytes: Optional[int]
    stall: bool
    stall_level: Optional[int]
    overflow_prevention: bool
    data: str
    conditional: str
    q_elements: str

    def broadcast_ranges(self, locations: Optional[Locations]) -> List[Range]:
        """Find the code whose branches are broadcast, if it is chosen.

        :raises CommandError: There is no such place.
        """
        return [] if self.branch_broadcast in SWITCH else ranges_of(self.branch_broadcast, locations)


def trace_settings(texts: Mapping[str, str]) -> TraceSettings:
    """Convert settings.

    :param texts: Values by name; what is absent has its default.
    :raises CommandError: A value makes no sense.
    """
    text = {**DEFAULTS, **texts}
    stalls, level = stall(text["stall"])
    return TraceSettings(
        cycle_count(text["cycle-count"]),
        text["timestamps"] == "on",
        RETURN_STACK[text["return-stack"]],
        text["branch-broadcast"],
        text["context"],
        sync_period(text["sync-period"]),
        stalls,
        level,
        text["overflow-prevention"] == "on",
        text["data"],
        text["conditional"],
        text["q-elements"],
    )


def level(text: str) -> int:
    """Convert a stall level, 0 to 15.

    :raises CommandError: It is none.
    """
    number = count(text)
    if number > 15:
        raise CommandError("levels are 0 to 15, not %s" % text)
    return number


def cycle_count(text: str) -> Optional[int]:
    """Convert a least number of cycles; None for ``off``.

    :raises CommandError: It is none.
    """
    if text == "off":
        return None
    cycles = count(text)
    if not cycles:
        raise CommandError("cycle counts are at least 1 cycle apart; off is without any")
    return cycles


def sync_period(text: str) -> Optional[int]:
    """Convert a number of bytes; None for ``auto``.

    :raises CommandError: It is none.
    """
    return None if text == "auto" else size(text)


def stall(text: str) -> Tuple[bool, Optional[int]]:
    """Convert off, on or a level to stalling and its level.

    :raises CommandError: It is none of these.
    """
    return (text == "on", None) if text in SWITCH else (True, level(text))


def broadcast(text: str) -> str:
    """Check off, on or locations, which are resolved at the start.

    :raises CommandError: Nothing was said.
    """
    if not text.strip():
        raise CommandError("off, on, or a location: a function, FILE:LINE or FIRST-LAST")
    return text.strip()
