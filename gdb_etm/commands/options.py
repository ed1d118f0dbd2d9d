"""What can be asked of the trace unit: the options of ``etm start``, and the settings that stand in for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, TypeVar

from gdb_etm.commands.declare import Argument, Setting, Values
from gdb_etm.commands.filter_set import Range, ranges_of
from gdb_etm.commands.parse import count, on, one_of, size
from gdb_etm.errors import CommandError

if TYPE_CHECKING:
    from gdb_etm.commands.session import Session


T = TypeVar("T")


def _range(text: str) -> Tuple[int, int]:
    first, dash, last = text.partition("-")
    if not dash:
        raise CommandError('"%s" is no range of addresses; try FIRST-LAST, such as 0x100-0x1ff' % text)
    return count(first), count(last)


def _named(kind: str, make: Callable[[str], T]) -> Callable[[str], T]:
    # Options take addresses; what has a name is a filter's.
    def convert(text: str) -> T:
        try:
            return make(text)
        except CommandError as error:
            if not re.match("[A-Za-z_]", text):
                raise
            what = str(error).partition(";")[0]
            raise CommandError('%s; "etm filter %s %s" takes names' % (what, kind, text))

    return convert


def _level(text: str) -> int:
    level = count(text)
    if level > 15:
        raise CommandError("levels are 0 to 15, not %s" % text)
    return level


DATA_CHOICES = ("off", "addresses", "values", "both")
CONTEXT_CHOICES = ("off", "id", "vmid", "both")
CONDITIONAL_CHOICES = ("off", "loads", "stores", "both", "all")
Q_CHOICES = ("off", "counts", "on")
_SWITCH = ("off", "on")
_STACK: Dict[str, Optional[bool]] = {"auto": None, "on": True, "off": False}

INCLUDE = Argument(
    "--include",
    _named("include", _range),
    "trace only these addresses; may be given more than once",
    "FIRST-LAST",
    many=True,
)
EXCLUDE = Argument(
    "--exclude",
    _named("exclude", _range),
    "do not trace these addresses; may be given more than once",
    "FIRST-LAST",
    many=True,
)
START_AT = Argument(
    "--start-at", _named("start", count), "trace from the instruction at this address on", "ADDRESS", many=True
)
STOP_AT = Argument(
    "--stop-at", _named("stop", count), "trace no more from the instruction at this address on", "ADDRESS", many=True
)
CYCLES = Argument(
    "--cycles", count, "trace processor cycles too, at least this many between two counts (ETMv3, PTM: 1)", "N"
)
TIMESTAMPS = Argument("--timestamps", on, "trace the chip's time too", flag=True)
BROADCAST = Argument("--branch-broadcast", on, "trace the address of every branch that is taken", flag=True)
BROADCAST_RANGE = Argument(
    "--broadcast-range", _range, "the same, but only of branches at these addresses", "FIRST-LAST", many=True
)
NO_STACK = Argument("--no-return-stack", on, "trace the address of every return", flag=True)
CONTEXT = Argument(
    "--context",
    one_of(*CONTEXT_CHOICES),
    "trace which program runs: its Context ID, its virtual machine's ID, or both",
    "WHAT",
    choices=CONTEXT_CHOICES,
)
SYNC_PERIOD = Argument("--sync-period", size, "bytes of trace between two synchronisation points", "BYTES")
STALL = Argument("--stall", on, "stall the processor rather than lose trace", flag=True)
STALL_LEVEL = Argument("--stall-level", _level, "the same, from 0 (stalls least) to 15 (loses least)", "N")
PREVENT = Argument(
    "--overflow-prevention", on, "have the unit do all it can so that it never loses trace", flag=True
)
DATA = Argument(
    "--data",
    one_of(*DATA_CHOICES),
    'loads and stores too: off | addresses | values | both; without it as "set etm data" says',
    "WHAT",
    choices=DATA_CHOICES,
)
DATA_RANGE = Argument(
    "--data-range", _named("data-include", _range), "only loads and stores at these addresses", "FIRST-LAST", many=True
)
DATA_EXCLUDE = Argument(
    "--data-exclude", _named("data-exclude", _range), "no loads and stores at these addresses", "FIRST-LAST", many=True
)
CONDITIONAL = Argument(
    "--conditional",
    one_of(*CONDITIONAL_CHOICES),
    "tell whether the condition held of loads | stores | both | all but branches",
    "WHAT",
    choices=CONDITIONAL_CHOICES,
)
Q_ELEMENTS = Argument(
    "--q-elements",
    one_of(*Q_CHOICES),
    "let the unit say less: that so many instructions ran (counts), or some (on)",
    "WHAT",
    choices=Q_CHOICES,
)

OPTIONS: Tuple[Argument[Any], ...] = (
    INCLUDE, EXCLUDE, START_AT, STOP_AT, CYCLES, TIMESTAMPS, BROADCAST, BROADCAST_RANGE, NO_STACK, CONTEXT, SYNC_PERIOD,
    STALL, STALL_LEVEL, PREVENT, DATA, DATA_RANGE, DATA_EXCLUDE, CONDITIONAL, Q_ELEMENTS
)
"""What can be asked of the trace unit."""


def _cycle_count(text: str) -> Optional[int]:
    if text == "off":
        return None
    cycles = count(text)
    if not cycles:
        raise CommandError("cycle counts are at least 1 cycle apart; off is without any")
    return cycles


def _sync_period(text: str) -> Optional[int]:
    return None if text == "auto" else size(text)


def _stall(text: str) -> Tuple[bool, Optional[int]]:
    return (text == "on", None) if text in _SWITCH else (True, _level(text))


def _broadcast(text: str) -> str:
    if not text.strip():
        raise CommandError("off, on, or a location: a function, FILE:LINE or FIRST-LAST")
    return text.strip()


OPTION_SETTINGS: Tuple[Setting, ...] = (
    Setting(
        "cycle-count",
        'cycle counts that "etm start" asks for',
        "off, or the least number of processor cycles between two counts; an ETMv3 or a PTM counts each, so 1.\n"
        "TRCIDR3.CCITMIN is the least that an ETMv4 takes.",
        "off",
        ("off",),
        _cycle_count,
    ),
    Setting(
        "timestamps",
        'whether "etm start" asks for timestamps',
        "The chip's time, in ticks of its timestamp generator; all are 0 where nobody switched that on.\n"
        "With data trace they are on anyway.",
        "off",
        _SWITCH,
    ),
    Setting(
        "return-stack",
        "whether return addresses are left out that can be worked out",
        "auto: if the unit can.  on: refused if it cannot.  off: every return takes its address in the trace.",
        "auto",
        tuple(_STACK),
    ),
    Setting(
        "branch-broadcast",
        "whether the target of every taken branch is traced",
        "off, on, or the locations of the branches: a function, FILE:LINE, FIRST-LAST, more of them after a comma.\n"
        "Locations need a pair of address comparators each, which only an ETMv4 has for it.",
        "off",
        _SWITCH,
        _broadcast,
    ),
    Setting(
        "context",
        "whether it is traced which program runs",
        "id: the Context ID that its operating system gave it.  vmid: the virtual machine's.  A Cortex-M has neither.",
        "off",
        CONTEXT_CHOICES,
    ),
    Setting(
        "sync-period",
        "number of bytes of trace between two synchronisation points",
        "auto: to suit the buffer, or a power of two, such as 512 or 1K.  When the buffer has wrapped, up to so many\n"
        "of its oldest bytes cannot be decoded.  Many units have a fixed period.",
        "auto",
        ("auto",),
        _sync_period,
    ),
    Setting(
        "stall",
        "whether the processor is stalled rather than trace lost",
        "off, on, or how soon: from 0, which stalls least, to 15, which loses least.",
        "off",
        _SWITCH,
        _stall,
    ),
    Setting(
        "overflow-prevention",
        "whether the unit does all it can so that it never loses trace",
        "An ETMv4 with TRCIDR3.NOOVERFLOW only; the program may become much slower.",
        "off",
        _SWITCH,
    ),
    Setting(
        "data",
        'data trace that "etm start" asks for',
        "addresses, values or both, where the trace unit can; such trace fills the buffer many times faster.",
        "off",
        DATA_CHOICES,
    ),
    Setting(
        "conditional",
        "of which conditional instructions the trace tells whether their condition held",
        "loads, stores, both, or all instructions; of branches the trace always tells.",
        "off",
        CONDITIONAL_CHOICES,
    ),
    Setting(
        "q-elements",
        "whether the unit may leave out which way the program went",
        "counts: it then tells how many instructions ran.  on: or not even that.  Trace becomes small, and has gaps.",
        "off",
        Q_CHOICES,
    ),
)
"""What is asked for where ``etm start`` has no option that says so."""

_DEFAULTS = {setting.name: setting.default for setting in OPTION_SETTINGS}


def chosen_ranges(session: Session, values: Values) -> Dict[str, List[Range]]:
    """List the ranges of addresses that were typed or set, by the names of the trace unit's options."""
    broadcast = values.all(BROADCAST_RANGE)
    text = _setting(session, "branch-broadcast")
    if text not in _SWITCH and not broadcast and values.get(BROADCAST) is None:
        broadcast = ranges_of(text, session.locations)
    return {
        "include": values.all(INCLUDE),
        "exclude": values.all(EXCLUDE),
        "data_include": values.all(DATA_RANGE),
        "data_exclude": values.all(DATA_EXCLUDE),
        "broadcast_ranges": broadcast,
    }


def chosen(session: Session, values: Values) -> Dict[str, Any]:
    """Give all else that was typed or set, in the words of the trace unit's options."""

    def setting(name: str) -> str:
        return _setting(session, name)

    stalls, level = _stall(setting("stall"))
    if values.get(STALL) is not None or values.get(STALL_LEVEL) is not None:
        stalls, level = True, values.get(STALL_LEVEL)
    context = values.get(CONTEXT) or setting("context")
    cycles, sync = values.get(CYCLES), values.get(SYNC_PERIOD)
    broadcasts = values.get(BROADCAST) is not None or bool(values.all(BROADCAST_RANGE))
    return {
        "cycle_count": _cycle_count(setting("cycle-count")) if cycles is None else cycles,
        "timestamps": values.get(TIMESTAMPS) is not None or setting("timestamps") == "on",
        "branch_broadcast": broadcasts or setting("branch-broadcast") != "off",
        "return_stack": _STACK[setting("return-stack")] if values.get(NO_STACK) is None else False,
        "context_id": context in ("id", "both"),
        "vmid": context in ("vmid", "both"),
        "sync_bytes": _sync_period(setting("sync-period")) if sync is None else sync,
        "stall": stalls,
        "stall_level": level,
        "overflow_prevention": values.get(PREVENT) is not None or setting("overflow-prevention") == "on",
        "data": values.get(DATA) or setting("data"),
        "conditional": values.get(CONDITIONAL) or setting("conditional"),
        "q_elements": values.get(Q_ELEMENTS) or setting("q-elements"),
    }


def _setting(session: Session, name: str) -> str:
    return session.settings.get(name, _DEFAULTS[name])
