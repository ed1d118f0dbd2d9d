"""Step of a plan: a write, a change or a poll.

Each has its reason.

Steps are values; whoever owns the registers carries them out.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence, Union

from gdb_etm.coresight.borrowed import Borrowed
from gdb_etm.coresight.poll import Deadline
from gdb_etm.registers.page import Page, Register


class RegisterWrite(NamedTuple):
    """One 32-bit write."""

    # The datasheet's name, with ``[63:32]`` for the high word of a 64-bit register.
    name: str
    # In the component's 4 KiB block.
    offset: int
    value: int
    # Bits that must read back as written; 0 where reading back shows nothing.
    mask: int
    why: str

    def __str__(self) -> str:
        return "0x%03x  %-20s 0x%08x  %s" % (self.offset, self.name, self.value, self.why)


class RegisterChange(NamedTuple):
    """Read-modify-write of some bits of a register."""

    name: str
    offset: int
    # The bits that change.
    mask: int
    value: int
    why: str

    def __str__(self) -> str:
        return "0x%03x  %-20s 0x%08x of 0x%x, the rest as it is: %s" % (
            self.offset,
            self.name,
            self.value,
            self.mask,
            self.why,
        )


class RegisterPoll(NamedTuple):
    """Wait until some bits of a register have a value."""

    name: str
    offset: int
    mask: int
    value: int
    why: str
    # What to try when the wait takes too long.
    hint: str

    def __str__(self) -> str:
        return "0x%03x  %-20s wait for 0x%x of 0x%x: %s" % (self.offset, self.name, self.value, self.mask, self.why)


Step = Union[RegisterWrite, RegisterChange, RegisterPoll]


def write(register: Register, value: int, why: str, is_live: bool = False) -> RegisterWrite:
    """Make the step that writes a register.

    :param is_live: Whether the component changes it by itself, so that reading it back shows nothing.
    """
    return RegisterWrite(register.name, register.offset, value, 0 if is_live else register.mask, why)


def poll(register: Register, why: str, hint: str, **fields: int) -> RegisterPoll:
    """Return a poll for a register's fields to take values."""
    mask = sum(register.fields[name].mask for name in fields)
    return RegisterPoll(register.name, register.offset, mask, register.encode(**fields) & mask, why, hint)


def carry_out(steps: Sequence[Step], registers: Borrowed, page: Page, deadline: Deadline) -> None:
    """Carry out accesses in order, keeping registers' original values.

    :param page: Names the fields that are waited for.
    :raises CaptureError: A wait takes too long.
    """
    for step in steps:
        register = page.by_offset[step.offset]
        if isinstance(step, RegisterWrite):
            registers.write(register, step.value)
        elif isinstance(step, RegisterChange):
            found = registers.read(register)
            wanted = found & ~step.mask | step.value
            if wanted != found:
                registers.write(register, wanted)
        else:
            fields = {
                name: register.get(step.value, name)
                for name, field in register.fields.items()
                if field.mask & step.mask
            }
            deadline.wait(registers.port, registers.base, register, step.hint, **fields)
