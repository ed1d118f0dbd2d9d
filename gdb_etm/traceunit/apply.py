"""Carry a plan out: write, wait, and read back what was written."""

from __future__ import annotations

from typing import Dict, List, NoReturn

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.borrowed import runs
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError
from gdb_etm.traceunit.plan import Plan, RegisterChange, RegisterPoll, RegisterWrite


def apply(plan: Plan, port: AccessPort, base: int, deadline: Deadline) -> None:
    """Carry out the plan in order, then verify every write.

    :param base: Address of the unit's 4 KiB block.
    :param deadline: How long each poll may take.
    :raises CaptureError: A poll takes too long, or a register does not read back as written.
    :raises AccessError: The unit does not answer.
    """
    for step in plan.steps:
        if isinstance(step, RegisterWrite):
            port.write32(base + step.offset, step.value)
        elif isinstance(step, RegisterChange):
            found = port.read32(base + step.offset)
            port.write32(base + step.offset, found & ~step.mask | step.value)
        else:
            _poll(step, port, base, deadline)
    mismatches = differences(plan, port, base)
    if mismatches:
        raise CaptureError("%s: the trace unit does not take what it says it has" % mismatches[0])


def differences(plan: Plan, port: AccessPort, base: int) -> List[str]:
    """Compare the target's registers with what the plan writes to them.

    :returns: One line for each register that differs; empty when the target is programmed so.
    """
    last: Dict[int, RegisterWrite] = {step.offset: step for step in plan.writes if step.mask}
    result = []
    for first, words in runs(last):
        for n, value in enumerate(port.read_block(base + first, words)):
            step = last[first + 4 * n]
            if (value ^ step.value) & step.mask:
                result.append(
                    "%s at 0x%08x was written 0x%08x and reads 0x%08x"
                    % (step.name, base + step.offset, step.value, value)
                )
    return result


def _poll(step: RegisterPoll, port: AccessPort, base: int, deadline: Deadline) -> None:
    def late(value: int) -> NoReturn:
        raise CaptureError(
            "%s at 0x%08x (%s) stays 0x%x: waited in vain until %s; %s"
            % (step.name, base + step.offset, port.name, value, step.why, step.hint)
        )

    deadline.wait_until(lambda: port.read32(base + step.offset), lambda value: value & step.mask == step.value, late)
