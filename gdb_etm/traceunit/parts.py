"""Parts of the trace path: components with registers and plans.

Parts are for looking: who drives a component owns its registers.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, NamedTuple, Sequence, Tuple

from gdb_etm.coresight.borrowed import Borrowed, runs
from gdb_etm.coresight.steps import RegisterPoll, RegisterWrite, Step
from gdb_etm.registers.page import Page, Register


class PartRole(Enum):
    """What a part is on the path."""

    # Belongs to the processor, and to its debugger.
    PROCESSOR = "processor"
    UNIT = "trace unit"
    LINK = "funnel"
    SINK = "trace buffer"


class PathPart(NamedTuple):
    """One component on the path."""

    # What stands before the dot in ``ETF.STS``.
    name: str
    # Kind and version, such as ``"ETMv4.2"``.
    title: str
    role: PartRole
    page: Page
    registers: Borrowed

    def __str__(self) -> str:
        return "%s at 0x%08x" % (self.title, self.registers.base)


class PlannedPart(NamedTuple):
    """What is to be done to a part, in order."""

    part: PathPart
    steps: Tuple[Step, ...]


class RegisterDifference(NamedTuple):
    """A word that does not hold what is planned."""

    part: PathPart
    register: Register
    # The lowest of the register's bits that the word holds: 0 or 32.
    shift: int
    planned: int
    found: int
    # The bits that were compared.
    mask: int


class Comparison(NamedTuple):
    """A plan held against the hardware."""

    # Number of words compared.
    compared: int
    differences: Tuple[RegisterDifference, ...]


def compare(planned: Sequence[PlannedPart]) -> Comparison:
    """Compare the registers with a plan, but for volatile fields.

    :raises AccessError: A component does not answer.
    """
    wanted: Dict[str, Dict[int, Tuple[int, int]]] = {}
    parts: Dict[str, PathPart] = {}
    for part, steps in planned:
        parts[part.name] = part
        words = wanted.setdefault(part.name, {})
        for step in steps:
            if not isinstance(step, RegisterPoll):
                words[step.offset] = _after(step, *words.get(step.offset, (0, 0)))
    compared, differences = 0, []
    for name, words in wanted.items():
        found = read_words(parts[name], [offset for offset, (_, mask) in words.items() if mask])
        for offset, value in found.items():
            register, shift = parts[name].page.at(offset)
            mask = words[offset][1] & ~(register.moving >> shift)
            compared += bool(mask)
            if (value ^ words[offset][0]) & mask:
                differences.append(RegisterDifference(parts[name], register, shift, words[offset][0], value, mask))
    return Comparison(compared, tuple(differences))


def read_words(part: PathPart, offsets: Sequence[int]) -> Dict[int, int]:
    """Read words of a part, neighbours in one access.

    :returns: Offset to value, lowest offset first.
    """
    result: Dict[int, int] = {}
    for first, count in runs(offsets):
        values = part.registers.port.read_block(part.registers.base + first, count)
        result.update((first + 4 * n, value) for n, value in enumerate(values))
    return result


def _after(step: Step, value: int, mask: int) -> Tuple[int, int]:
    # What a word holds after a step, and which of its bits are known.
    if isinstance(step, RegisterWrite):
        return step.value, step.mask
    return value & ~step.mask | step.value, mask | step.mask
