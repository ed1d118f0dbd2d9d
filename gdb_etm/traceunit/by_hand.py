"""Registers written by hand: checked, restored, and kept in later plans."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.errors import CaptureError
from gdb_etm.registers.page import Register, Version
from gdb_etm.traceunit.plan import Plan, RegisterChange, RegisterWrite, Step

_WHY = "by hand (etm reg)"


class Kept(NamedTuple):
    """What of a word was written by hand."""

    register: Register
    # The lowest of the register's bits that the word holds: 0 or 32.
    shift: int
    value: int
    # The bits that were written.
    mask: int
    # Those of them that did not take the value.
    lost: int = 0

    @property
    def offset(self) -> int:
        """Of the word, in the unit's 4 KiB block."""
        return self.register.offset + self.shift // 8

    @property
    def step(self) -> RegisterChange:
        """What does it again."""
        name = self.register.name + ("[63:32]" if self.shift else "")
        return RegisterChange(name, self.offset, self.mask, self.value & self.mask, _WHY)

    def over(self, step: RegisterWrite) -> RegisterWrite:
        """Put it in the place of what a step writes."""
        value = step.value & ~self.mask | self.value & self.mask
        return step._replace(value=value, mask=step.mask & ~self.lost, why="%s; %s" % (_WHY, step.why))


class ByHand:
    """Writes by hand to a trace unit, for all later plans."""

    def __init__(self) -> None:
        self._kept: Dict[int, Kept] = {}

    @property
    def names(self) -> List[str]:
        """The registers, in the order of their first write."""
        return list(dict.fromkeys(kept.register.name for kept in self._kept.values()))

    def keep(self, kept: Kept) -> None:
        """Keep a write, merged with earlier ones to the same word."""
        old = self._kept.get(kept.offset, kept)
        value = old.value & ~kept.mask | kept.value & kept.mask
        self._kept[kept.offset] = kept._replace(
            value=value, mask=old.mask | kept.mask, lost=old.lost & ~kept.mask | kept.lost
        )

    def forget(self, name: Optional[str] = None) -> List[str]:
        """Leave a register, or all of them, to the plan again.

        :returns: The names of those that were kept.
        """
        names = [each for each in self.names if name in (None, each)]
        self._kept = {offset: kept for offset, kept in self._kept.items() if kept.register.name not in names}
        return names

    def over(self, plan: Plan) -> Plan:
        """Merge what is kept into a plan: replace, or append."""
        if not self._kept:
            return plan
        steps: List[Step] = []
        planned = {step.offset for step in plan.writes}
        for step in plan.steps:
            kept = self._kept.get(step.offset)
            if kept is None or not isinstance(step, RegisterWrite):
                steps.append(step)
            else:
                steps.append(kept.over(step))
        steps += [kept.step for offset, kept in self._kept.items() if offset not in planned]
        note = 'as written by hand: %s; "etm reg /f" leaves them to the plan again' % ", ".join(self.names)
        return plan._replace(steps=tuple(steps), notes=plan.notes + (note,))


def changed(register: Register, found: int, fields: Mapping[str, int], version: Version) -> int:
    """Put fields into a register's value.

    :param found: What the register holds.
    :param version: The unit's architecture version.
    :raises CaptureError: There is no such field, it cannot be written, or a value does not fit it.
    """
    for name, value in fields.items():
        field = register.fields.get(name)
        if field is None:
            raise CaptureError("%s has no field %s; there are %s" % (register.name, name, ", ".join(register.fields)))
        if value >> field.width:
            raise CaptureError(
                "%s.%s is %d bit%s wide: 0x%x does not fit"
                % (register.name, name, field.width, "s"[field.width == 1 :], value)
            )
        if field.meaning.is_status:
            raise CaptureError("%s.%s can only be read" % (register.name, name))
        if is_newer(field.meaning.since, version):
            raise CaptureError(
                "%s.%s: not before v%d.%d, this unit is v%d.%d"
                % (register.name, name, *(field.meaning.since or (0, 0)), *version)
            )
        found = found & ~field.mask | value << field.low
    return found | register.encode()


def checked(register: Register, value: int) -> int:
    """Check a register's whole value.

    :raises CaptureError: It is too wide, or sets reserved bits.
    """
    if value >> register.width:
        raise CaptureError("%s is %d bits wide: 0x%x does not fit" % (register.name, register.width, value))
    reserved = value & ~(register.mask | register.encode())
    if reserved:
        raise CaptureError("%s: the bits 0x%x are reserved" % (register.name, reserved))
    return value


def is_newer(since: Optional[Version], version: Version) -> bool:
    """Whether something is newer than a unit's version.

    Versions of another architecture do not compare.
    """
    return since is not None and since[0] == version[0] and since > version


def words_of(register: Register, value: int) -> List[Tuple[int, int]]:
    """Split a register's value into (shift, word), low word first."""
    return [(shift, value >> shift & 0xFFFFFFFF) for shift in range(0, register.width, 32)]
