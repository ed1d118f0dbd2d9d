"""The steps of a self test, in their order."""

from __future__ import annotations

from functools import partial
from typing import Callable, Iterable, Iterator, List, NamedTuple

from gdb_etm.errors import AccessError, EtmError, UnsupportedError
from gdb_etm.selftest import basic, buffers, features, resources
from gdb_etm.selftest.findings import StepFinding, StepOutcome, StepSkipped
from gdb_etm.selftest.rig import Rig
from gdb_etm.traceunit.options import DataTrace

# Runs of the program that there may be: so it takes ten seconds where each takes 80 ms, as with a slow probe.
MOST_RUNS = 120


class PlannedStep(NamedTuple):
    """One step."""

    subject: str
    # Gives the proof; raises what went wrong.
    run: Callable[[], str]
    # Whether nothing after it can be judged when it fails.
    is_basis: bool = False


def findings(rig: Rig, most: int = MOST_RUNS) -> Iterator[StepFinding]:
    """Make the steps one after the other.

    :param most: Runs of the program after which no other step begins.
    :raises AccessError: The connection is lost.
    """
    for step in _steps(rig):
        if rig.runs >= most:
            yield StepFinding(
                step.subject, StepOutcome.SKIPPED, "and what follows: the program ran %d times" % rig.runs
            )
            return
        finding = _made(step)
        yield finding
        if step.is_basis and finding.outcome is StepOutcome.FAILED:
            yield StepFinding(
                "what follows", StepOutcome.SKIPPED, "it rests on the step that failed: %s" % step.subject
            )
            return


def _made(step: PlannedStep) -> StepFinding:
    try:
        return StepFinding(step.subject, StepOutcome.OK, step.run())
    except (StepSkipped, UnsupportedError) as error:
        return StepFinding(step.subject, StepOutcome.SKIPPED, str(error))
    except AccessError as error:
        if error.kind == "lost":
            raise
        return StepFinding(step.subject, StepOutcome.FAILED, str(error))
    except EtmError as error:
        return StepFinding(step.subject, StepOutcome.FAILED, str(error))


def _steps(rig: Rig) -> Iterator[PlannedStep]:
    yield PlannedStep("RAM", partial(basic.ram, rig), True)
    yield PlannedStep("core", partial(basic.core, rig), True)
    yield PlannedStep("unit registers", partial(basic.unit_registers, rig))
    yield PlannedStep("buffer memory", partial(basic.buffer_memory, rig))
    yield PlannedStep("instructions", partial(basic.instructions, rig), True)
    yield PlannedStep("exception", partial(basic.exception, rig))
    yield PlannedStep("long trace", partial(buffers.long_trace, rig))
    yield PlannedStep("buffer wraps", partial(buffers.wrap, rig))
    if rig.is_mtb:
        yield PlannedStep("stop at the watermark", partial(buffers.watermark_stop, rig))
        yield PlannedStep("halt at the watermark", partial(buffers.watermark_halt, rig))
        yield from _of_comparators(rig, "start", "start address")
        yield PlannedStep("all other options", _has_none)
        return
    yield PlannedStep("synchronisation", partial(buffers.synchronisation, rig))
    yield PlannedStep("return stack", partial(features.return_stack, rig))
    yield PlannedStep("branch broadcast", partial(features.branch_broadcast, rig))
    yield PlannedStep("conditions", partial(features.conditions, rig))
    yield PlannedStep("cycle counts", partial(features.cycle_counts, rig))
    yield PlannedStep("timestamps", partial(features.timestamps, rig))
    yield PlannedStep("stalling", partial(features.stall, rig))
    yield PlannedStep("context ID", partial(features.context, rig))
    for kind in (DataTrace.ADDRESSES, DataTrace.VALUES, DataTrace.BOTH):
        yield PlannedStep("data: %s" % kind.value, partial(features.data, rig, kind))
    yield from _of_resources(rig)
    yield PlannedStep("stop on trigger", partial(buffers.trigger, rig))


def _of_resources(rig: Rig) -> Iterator[PlannedStep]:
    yield from _of_comparators(rig, "range", "address range")
    yield from _of_comparators(rig, "start", "start address")
    yield from _numbered("event", partial(resources.events, rig), resources.event, rig)
    # A unit without comparators of its own has shown these by its start addresses.
    has_own = rig.trace.unit.protocol == "etmv4" and rig.trace.unit.capabilities.field("TRCIDR4.NUMACPAIRS")
    for number in sorted(basic.dwt_comparators(rig).free) if has_own else ():
        yield PlannedStep("PE comparator input %d" % number, partial(resources.watch_input, rig, number))
    yield from _numbered("counter", partial(resources.counters, rig), resources.counter, rig)
    yield PlannedStep("sequencer", partial(resources.sequencer, rig))
    yield from _numbered("single-shot control", partial(resources.single_shots, rig), resources.single_shot, rig)
    yield PlannedStep("external input", partial(resources.external_input, rig))


def _of_comparators(rig: Rig, kind: str, subject: str) -> Iterator[PlannedStep]:
    numbers = resources.comparators(rig, kind)
    for number in numbers:
        name = resources.comparator_name(rig, kind, number)
        yield PlannedStep("%s, %s" % (subject, name), partial(resources.comparator, rig, kind, number))
    if not numbers:
        yield PlannedStep(subject, partial(resources.check_kind, rig, kind))


def _has_none() -> str:
    raise StepSkipped("a Micro Trace Buffer traces branches and exceptions, whole, and nothing else (DDI 0486, 2.3)")


def _numbered(
    noun: str, there: Callable[[], Iterable[int]], run: Callable[[Rig, int], str], rig: Rig
) -> Iterator[PlannedStep]:
    # A step for each one that there is, or one that says why there is none.
    try:
        numbers: List[int] = list(there())
    except UnsupportedError as error:
        yield PlannedStep(noun, partial(_refused, error))
        return
    for number in numbers:
        yield PlannedStep("%s %d" % (noun, number), partial(run, rig, number))


def _refused(error: UnsupportedError) -> str:
    raise error
