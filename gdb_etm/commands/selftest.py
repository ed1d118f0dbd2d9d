"""``etm selftest``: does trace work on this board?"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Sequence, Union

from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.doctor import BUNDLE, REPLACE, WITH_PROGRAM, bundle_lines, check_bundle_options
from gdb_etm.selftest.findings import StepFinding, StepOutcome
from gdb_etm.session.numbers import count
from gdb_etm.session.selftesting import look_closer, selftest
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import plural
from gdb_etm.views.verdict import VerdictRow, verdict_lines

RAM = Argument("--ram", count, "RAM that holds code; default: below the stack", "ADDRESS")
# How the verdict of a board begins that passes.
WORKS = "Trace works"
# Columns of a subject; a longer one moves its proof on.
_SUBJECT = 31


class DoctorRows(NamedTuple):
    """What the doctor says of a step that failed."""

    rows: Sequence[VerdictRow]
    # Whether it was asked about everything: no trace unit could be had.
    is_all: bool


def run_selftest(session: DebugSession, values: Values) -> Iterator[str]:
    """Make the steps, a line each, and sum them up."""
    found: List[StepFinding] = []
    for one in tested(session, values):
        if isinstance(one, DoctorRows):
            yield from verdict_lines(one.rows) if one.is_all else _closer_lines(one.rows)
            continue
        found.append(one)
        yield "%2d %-7s  %-*s  %s" % (len(found), one.outcome.value, _SUBJECT, one.subject, one.proof)
    yield verdict(found)
    bundle = values.get(BUNDLE)
    if bundle is not None:
        yield from bundle_lines(session, bundle, values)


def tested(session: DebugSession, values: Values) -> Iterator[Union[StepFinding, DoctorRows]]:
    """Make the steps; what the doctor says follows the first that failed."""
    check_bundle_options(values)
    has_failed = False
    for finding in selftest(session, values.get(RAM)):
        yield finding
        if finding.outcome is StepOutcome.FAILED and not has_failed:
            has_failed = True
            # The hardware is still as the step left it.
            yield _doctor(session)


def _doctor(session: DebugSession) -> DoctorRows:
    # With pages of registers, which take a while to import.
    from gdb_etm.bundle.collect import kept_finding
    from gdb_etm.session.doctor import Doctor

    connection = session.connected()
    if connection.trace is None:
        return DoctorRows([*map(kept_finding, Doctor(session, connection).findings())], True)
    return DoctorRows([*map(kept_finding, look_closer(connection))], False)


def _closer_lines(rows: Sequence[VerdictRow]) -> Iterator[str]:
    for subject, _, proof, advice in rows:
        yield "     etm doctor: %s: %s" % (subject, proof)
        if advice:
            yield "     -> " + advice
    if not rows:
        yield "     etm doctor: while the unit traces, every register from processor to buffer is as it should be"


def _failed(found: List[StepFinding]) -> List[int]:
    return [number for number, one in enumerate(found, 1) if one.outcome is StepOutcome.FAILED]


def verdict(found: List[StepFinding]) -> str:
    """Sum a self test up."""
    failed = _failed(found)
    ok = sum(one.outcome is StepOutcome.OK for one in found)
    skipped = len(found) - ok - len(failed)
    if failed:
        first = found[failed[0] - 1]
        more = "; %s more" % plural(len(failed) - 1, "failed step") if len(failed) > 1 else ""
        return "Trace does not work as it should: begin with line %d, %s%s." % (failed[0], first.subject, more)
    return "%s: %s ok, %d skipped." % (WORKS, plural(ok, "step"), skipped)


SELFTEST = Command(
    "selftest",
    "Test trace unit and buffer with a program of its own.",
    run_selftest,
    details="Needs no firmware: a small program is written into RAM, run under trace by the halted core, and what\n"
    "comes out is compared, instruction by instruction, with what the core did.  Then the same with each option,\n"
    "comparator, counter and control that the unit has.  A line is a step, with the register or byte that shows it.\n"
    "Interrupts are held back meanwhile; RAM, core and trace hardware are put back as they were found.\n"
    'Where a step fails, the checks of "etm doctor" follow.',
    arguments=(RAM, BUNDLE, WITH_PROGRAM, REPLACE),
    examples=(
        ("selftest", "a board that is new: does its trace work?"),
        ("selftest --ram 0x20001000", "where the stack is in memory that holds no code"),
        ("selftest --bundle /tmp/board.etmb", "what to send when a step fails"),
    ),
)
