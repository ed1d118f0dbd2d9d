"""``etm budget``: what the trace buffer is spent on."""

from __future__ import annotations

from typing import Iterator, Optional

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.packets import TRACE_ID
from gdb_etm.history.budget import STACK_DEPTHS, StreamBudget, count_branches, spend, worths
from gdb_etm.history.build import data_trace_id
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.session.captures import no_such_id
from gdb_etm.session.session import DebugSession
from gdb_etm.views.budget import rate_line, stream_lines, worth_lines


def run_budget(session: DebugSession, values: Values) -> Iterator[str]:
    """Count the last capture's bytes by packet, and estimate the options' cost."""
    record = session.look()
    size = len(record.capture.buffer)
    wanted = values.get(TRACE_ID)
    found = record.streams()
    streams = [stream for stream in found if wanted in (None, stream.trace_id)]
    if wanted is not None and not streams:
        raise no_such_id(wanted, record.number, sorted({stream.trace_id for stream in found}))
    with session.meter.task("counting packets", sum(len(stream.data) for stream in streams)) as task:
        budgets = spend(streams, task.advance)
    histories = {}
    if record.has_program or session.images_for(record):
        for stream in streams:
            if stream.reader is not None and not stream.is_data:
                histories[stream.trace_id] = session.decode(record, stream.trace_id).history
    connection = session.connection if record.is_live else None
    holds = connection.trace.sink.size if connection is not None and connection.trace is not None else size
    instructions = sum(map(len, histories.values()))
    if wanted is None:
        yield "capture %d: %s" % (record.number, rate_line(size, instructions, holds))
    else:
        own = sum(budget.size for budget in budgets)
        yield "capture %d, ID 0x%02x: %s" % (record.number, wanted, rate_line(own, instructions))
    yield ""
    yield from stream_lines(budgets, size, sum(len(stream.data) for stream in found if stream not in streams))
    for budget in budgets:
        history = histories.get(budget.trace_id)
        # Where nothing was decoded there is no rate to go by; a Micro Trace Buffer has no options.
        if history and history.source.protocol != "mtb":
            beside = data_trace_id(history.source)
            data = next((each for each in budgets if each.trace_id == beside), None)
            yield from _options(session, budget, history, data, size)


def _options(
    session: DebugSession, budget: StreamBudget, history: ExecutionHistory, data: Optional[StreamBudget], size: int
) -> Iterator[str]:
    with session.meter.task("following the branches", len(history)) as task:
        branches = count_branches(history, STACK_DEPTHS.get(history.source.protocol, 0), task.advance)
    yield ""
    yield "options of ID 0x%02x, %.3g bytes an instruction:" % (budget.trace_id, budget.size / len(history))
    yield from worth_lines(worths(budget, history, branches, data), size)


BUDGET = Command(
    "budget",
    "Say what the trace buffer is spent on, and what options would change.",
    run_budget,
    details="Counts the bytes of each trace ID and of each kind of packet in the capture that is shown.  The cost of\n"
    "an option is counted if its packets are there; otherwise its cost or saving is estimated from the decoded\n"
    "path, as each line says.",
    arguments=(TRACE_ID,),
    examples=(
        ("budget", "of the capture that is shown"),
        ("budget --id 0x10", "of one trace ID"),
    ),
)
