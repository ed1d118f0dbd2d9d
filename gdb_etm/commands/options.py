"""The options of ``etm start``, and the settings for their defaults."""

from __future__ import annotations

import re
from typing import Any, Callable, Tuple, TypeVar

from gdb_etm.commands.declare import Argument, Setting, Values
from gdb_etm.commands.parse import choice, flag
from gdb_etm.errors import CommandError
from gdb_etm.session.numbers import count, size
from gdb_etm.session.request import CONDITIONAL_CHOICES, CONTEXT_CHOICES, DATA_CHOICES, Q_CHOICES, TraceRequest
from gdb_etm.session.trace_settings import (
    DEFAULTS,
    RETURN_STACK,
    SWITCH,
    broadcast,
    cycle_count,
    level,
    stall,
    sync_period,
)

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
TIMESTAMPS = flag("--timestamps", "trace the chip's time too")
BROADCAST = flag("--branch-broadcast", "trace the address of every branch that is taken")
BROADCAST_RANGE = Argument(
    "--broadcast-range", _range, "the same, but only of branches at these addresses", "FIRST-LAST", many=True
)
NO_STACK = flag("--no-return-stack", "trace the address of every return")
CONTEXT = choice(
    "--context", CONTEXT_CHOICES, "trace which program runs: its Context ID, its virtual machine's ID, or both", "WHAT"
)
SYNC_PERIOD = Argument("--sync-period", size, "bytes of trace between two synchronisation points", "BYTES")
STALL = flag("--stall", "stall the processor rather than lose trace")
STALL_LEVEL = Argument("--stall-level", level, "the same, from 0 (stalls least) to 15 (loses least)", "N")
PREVENT = flag("--overflow-prevention", "make the unit avoid every loss of trace")
DATA = choice(
    "--data",
    DATA_CHOICES,
    'trace loads and stores: off | addresses | values | both; default: as "set etm data" says',
    "WHAT",
)
DATA_RANGE = Argument(
    "--data-range", _named("data-include", _range), "only loads and stores at these addresses", "FIRST-LAST", many=True
)
DATA_EXCLUDE = Argument(
    "--data-exclude", _named("data-exclude", _range), "no loads and stores at these addresses", "FIRST-LAST", many=True
)
CONDITIONAL = choice(
    "--conditional",
    CONDITIONAL_CHOICES,
    "trace whether conditions passed, of loads | stores | both | all (branches excepted)",
    "WHAT",
)
Q_ELEMENTS = choice(
    "--q-elements",
    Q_CHOICES,
    "let the unit trace only how many instructions ran (counts), or not even that (on)",
    "WHAT",
)

BUFFER = Argument(
    "--buffer",
    str,
    "where an MTB writes: an array (default: mtb_buffer), ADDRESS,SIZE in RAM, or free",
    "WHERE",
)
STOP_AFTER = Argument("--stop-after", size, "an MTB traces no more after so many bytes (8 a branch)", "BYTES")

# What can be asked of the trace unit.
OPTIONS: Tuple[Argument[Any], ...] = (
    INCLUDE,
    EXCLUDE,
    START_AT,
    STOP_AT,
    CYCLES,
    TIMESTAMPS,
    BROADCAST,
    BROADCAST_RANGE,
    NO_STACK,
    CONTEXT,
    SYNC_PERIOD,
    STALL,
    STALL_LEVEL,
    PREVENT,
    DATA,
    DATA_RANGE,
    DATA_EXCLUDE,
    CONDITIONAL,
    Q_ELEMENTS,
    BUFFER,
    STOP_AFTER,
)


# What is asked for where ``etm start`` has no option that says so.
OPTION_SETTINGS: Tuple[Setting, ...] = (
    Setting(
        "cycle-count",
        'cycle counts that "etm start" asks for',
        "off, or the least number of processor cycles between two counts; an ETMv3 or a PTM counts each, so 1.\n"
        "TRCIDR3.CCITMIN is the least that an ETMv4 takes.",
        DEFAULTS["cycle-count"],
        ("off",),
        cycle_count,
    ),
    Setting(
        "timestamps",
        'whether "etm start" asks for timestamps',
        "The chip's time, in ticks of its timestamp generator; all are 0 if that is off.\n"
        "With data trace they are always on.",
        DEFAULTS["timestamps"],
        SWITCH,
    ),
    Setting(
        "return-stack",
        "whether the trace leaves out return addresses that can be worked out",
        "auto: if the unit can.  on: refused if it cannot.  off: every return takes its address in the trace.",
        DEFAULTS["return-stack"],
        tuple(RETURN_STACK),
    ),
    Setting(
        "branch-broadcast",
        "whether the target of every taken branch is traced",
        "off, on, or the locations of the branches: a function, FILE:LINE, FIRST-LAST, more of them after a comma.\n"
        "Locations need a pair of address comparators each, which only an ETMv4 has for it.",
        DEFAULTS["branch-broadcast"],
        SWITCH,
        broadcast,
    ),
    Setting(
        "context",
        "whether the trace says which program runs",
        "id: the Context ID that its operating system gave it.  vmid: the virtual machine's.  A Cortex-M has neither.",
        DEFAULTS["context"],
        CONTEXT_CHOICES,
    ),
    Setting(
        "sync-period",
        "number of bytes of trace between two synchronisation points",
        "auto: to suit the buffer, or a power of two, such as 512 or 1K.  When the buffer has wrapped, up to so many\n"
        "of its oldest bytes cannot be decoded.  Many units have a fixed period.",
        DEFAULTS["sync-period"],
        ("auto",),
        sync_period,
    ),
    Setting(
        "stall",
        "whether the processor is stalled rather than trace lost",
        "off, on, or how soon: from 0, which stalls least, to 15, which loses least.",
        DEFAULTS["stall"],
        SWITCH,
        stall,
    ),
    Setting(
        "overflow-prevention",
        "whether the unit avoids every loss of trace",
        "An ETMv4 with TRCIDR3.NOOVERFLOW only; the program may become much slower.",
        DEFAULTS["overflow-prevention"],
        SWITCH,
    ),
    Setting(
        "data",
        'data trace that "etm start" asks for',
        "addresses, values or both, where the trace unit can; such trace fills the buffer many times faster.",
        DEFAULTS["data"],
        DATA_CHOICES,
    ),
    Setting(
        "conditional",
        "conditional instructions whose results are traced",
        "loads, stores, both, or all instructions.  The results of branches are always traced.",
        DEFAULTS["conditional"],
        CONDITIONAL_CHOICES,
    ),
    Setting(
        "q-elements",
        "whether the unit may leave out the path of the program",
        "counts: it still reports how many instructions ran.  on: not even that.  The trace is shorter, and has gaps.",
        DEFAULTS["q-elements"],
        Q_CHOICES,
    ),
)


def request_of(values: Values) -> TraceRequest:
    """Put what was typed of :data:`OPTIONS` together."""
    return TraceRequest(
        include=tuple(values.all(INCLUDE)),
        exclude=tuple(values.all(EXCLUDE)),
        start_at=tuple(values.all(START_AT)),
        stop_at=tuple(values.all(STOP_AT)),
        cycles=values.get(CYCLES),
        timestamps=values.get(TIMESTAMPS) is not None,
        branch_broadcast=values.get(BROADCAST) is not None,
        broadcast_range=tuple(values.all(BROADCAST_RANGE)),
        no_return_stack=values.get(NO_STACK) is not None,
        context=values.get(CONTEXT),
        sync_period=values.get(SYNC_PERIOD),
        stall=values.get(STALL) is not None,
        stall_level=values.get(STALL_LEVEL),
        overflow_prevention=values.get(PREVENT) is not None,
        data=values.get(DATA),
        data_range=tuple(values.all(DATA_RANGE)),
        data_exclude=tuple(values.all(DATA_EXCLUDE)),
        conditional=values.get(CONDITIONAL),
        q_elements=values.get(Q_ELEMENTS),
        buffer=values.get(BUFFER),
        stop_after=values.get(STOP_AFTER),
    )
