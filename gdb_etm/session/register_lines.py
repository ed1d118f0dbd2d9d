"""Plans, differences and registers of the whole path as lines of text."""

from __future__ import annotations

from typing import Iterator, List, Sequence

from gdb_etm.coresight.steps import RegisterChange, RegisterPoll, Step
from gdb_etm.registers.page import Register, Version
from gdb_etm.traceunit.bench import Bench, WriteResult
from gdb_etm.traceunit.parts import Comparison, PathPart, PlannedPart
from gdb_etm.views.registers import access_text, field_lines, fields_text, value_text, word_fields
from gdb_etm.views.text import align, plural


def plan_lines(planned: Sequence[PlannedPart], version: Version, in_full: bool = False) -> Iterator[str]:
    """Write down what is planned, a line a step, part by part.

    :param version: The trace unit's.
    :param in_full: Whether every field has a line, with its meaning.
    """
    for part, steps in planned:
        yield str(part)
        lines = align(_step_cells(part, step) for step in steps)
        for step, line in zip(steps, lines):
            yield line
            register, shift = part.page.at(step.offset)
            if in_full and not isinstance(step, RegisterPoll) and not shift and register.width == 32:
                for field_line in field_lines(register, step.value, version):
                    yield "       " + field_line


def _step_cells(part: PathPart, step: Step) -> List[str]:
    register, shift = part.page.at(step.offset)
    cells = ["  0x%03x" % step.offset, step.name]
    if isinstance(step, RegisterPoll):
        return cells + ["wait for", fields_text(register, shift, step.value, step.mask), step.why]
    if isinstance(step, RegisterChange):
        return cells + ["change", fields_text(register, shift, step.value, step.mask), step.why]
    return cells + ["0x%08x" % step.value, fields_text(register, shift, step.value), step.why]


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """List the registers that differ from a plan, field by field."""
    rows = []
    for part, register, shift, planned, found, mask in comparison.differences:
        pairs = zip(word_fields(register, shift, planned), word_fields(register, shift, found))
        name = "%s.%s%s" % (part.name, register.name, "[63:32]" if shift else "")
        wrong = (planned ^ found) & mask
        rows.append(
            [
                name,
                "0x%08x" % planned,
                "0x%08x" % found,
                ", ".join(
                    "%s %d, not %d" % (field, there, wanted)
                    for (field, place, wanted), (_, _, there) in pairs
                    if place.mask >> shift & wrong
                ),
            ]
        )
    if rows:
        yield from align([["register", "plan", "hardware", "fields"], *rows])
    total = plural(comparison.compared, "register")
    if rows:
        yield "%d of %s differ%s from the plan." % (len(rows), total, "s" if len(rows) == 1 else "")
    else:
        yield "As planned: %s compared." % total


def part_lines(bench: Bench, part: PathPart, registers: Sequence[Register]) -> Iterator[str]:
    """List registers of a part with what they hold."""
    values = bench.values(part, registers)
    yield str(part)
    rows = []
    for register in registers:
        cells = ["  0x%03x" % register.offset, register.name, register.access]
        value = values.get(register.name)
        if value is not None:
            fields = " ".join(
                text
                for text in (
                    fields_text(register, shift, value >> shift & 0xFFFFFFFF)
                    for shift in range(0, register.width, 32)
                    if not shift or value >> shift
                )
                if text
            )
            cells += [value_text(register, value), fields]
        elif register.access != "WO":
            cells += ["not read: %s" % register.remarks.reading]
        rows.append(cells)
    yield from align(rows)


def register_lines(bench: Bench, part: PathPart, register: Register, version: Version) -> Iterator[str]:
    """Read a register and describe it."""
    where = access_text(register, str(part))
    if register.access == "WO":
        yield "%s: %s" % (register.name, where)
        yield from field_lines(register, None, version)
        return
    value = bench.read(part, register)
    yield "%s = %s: %s" % (register.name, value_text(register, value), where)
    yield from field_lines(register, value, version)


def written_lines(register: Register, written: WriteResult) -> Iterator[str]:
    """Describe the outcome of a write."""
    if written.after is None:
        yield "%s: 0x%x was written; it cannot be read" % (register.name, written.value)
        return
    yield "%s = %s, was %s" % (register.name, value_text(register, written.after), value_text(register, written.before))
    lost = (written.after ^ written.value) & register.mask
    names = [name for name, field in register.fields.items() if field.mask & lost]
    if names:
        yield "note: %s was written; what the unit has of %s stays as it is" % (
            value_text(register, written.value),
            ", ".join(names),
        )
    if written.is_kept:
        yield 'What was written stays at the next "etm start"; "etm disconnect" puts back what was found.'
    else:
        yield '"etm disconnect" puts back what was found.'
