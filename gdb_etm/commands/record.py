"""``etm record``: recordings that are longer than the trace buffer."""

from __future__ import annotations

import re
from typing import Iterator

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.parse import flag
from gdb_etm.errors import CommandError
from gdb_etm.session.session import DebugSession
from gdb_etm.views.recorded import recorded_lines

_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|min)?\Z")
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0}
_NUMBER = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?)([kMG]?)\Z")
_SCALES = {"": 1, "k": 1000, "M": 1000000, "G": 1000000000}


def _seconds(text: str) -> float:
    found = _SECONDS.match(text)
    if found is None or not float(found[1]):
        raise CommandError('"%s" is no time: such as 10s, 500ms, 2min' % text)
    return float(found[1]) * _UNITS[found[2] or "s"]


def _many(text: str) -> int:
    found = _NUMBER.match(text)
    number = round(float(found[1].replace(",", "")) * _SCALES[found[2]]) if found is not None else 0
    if number < 1:
        raise CommandError('"%s" is no number: such as 20000, 500k, 5M' % text)
    return number


STITCH = flag("--stitch", "halt the core before the buffer is full, so that nothing is lost; that is the default")
SAMPLE = Argument(
    "--sample", _many, "let it run freely between pieces, for so many cycles on average, at random", "CYCLES"
)
FOR = Argument("--for", _seconds, "end after this time", "10s")
INSTRUCTIONS = Argument("--instructions", _many, "end when so many instructions were seen", "5M")


def run_record(session: DebugSession, values: Values) -> Iterator[str]:
    """Record, and say what it cost."""
    # With pages of registers, which take a while to import.
    from gdb_etm.session.pieces import PieceRecorder, RecordRequest

    if values.get(STITCH) and values.get(SAMPLE) is not None:
        raise CommandError("--stitch and --sample: one of them")
    request = RecordRequest(values.get(SAMPLE), values.get(FOR), values.get(INSTRUCTIONS))
    yield from recorded_lines(PieceRecorder(session, request).record())


RECORD = Command(
    "record",
    "Run and record more than the trace buffer holds, piece by piece.",
    run_record,
    details=(
        "Runs the program until the buffer is nearly full, halts it, reads the buffer, and runs it on, until a\n"
        "breakpoint, a fault, Ctrl-C, or what the options say.  All pieces are one history; of those beyond\n"
        '"set etm history-limit" the counts stay, for "etm coverage" and "etm profile".\n'
        "The program stands still while the buffer is read: what goes on meanwhile, such as other cores, timers that\n"
        "the chip does not freeze, and whoever waits for an answer, sees a slow program."
    ),
    arguments=(STITCH, SAMPLE, FOR, INSTRUCTIONS),
    examples=(
        ("record", "until a breakpoint, a fault or Ctrl-C"),
        ("record --instructions 5M", "five million instructions"),
        ("record --sample 1M --for 10s", "a piece each million cycles, ten seconds long"),
    ),
)
