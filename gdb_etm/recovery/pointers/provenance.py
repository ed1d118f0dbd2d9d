"""Provenance: the constants, arguments and frames that values are made from.

A pointer that is made from the address of an object leads into that object: C gives arithmetic on pointers no other
meaning (C11, 6.5.6).  Compilers fold constants into addresses, so one that something unknown was added to may be that
of the object before or after.
"""

from __future__ import annotations

from typing import Dict, Final, FrozenSet, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.objects import NO_OBJECT, Objects
from gdb_etm.recovery.lift.operations import MASK

# So many constants are followed one by one.
_MOST: Final = 8
# An index that begins at 1 lets a compiler fold as many bytes into the address before an array.
_FOLDED: Final = 64
# The place from which compilers address several objects is at most so far from these (an instruction's offset).
_ANCHORED: Final = 4096
# An object of so few bytes has no index; the address of the end of a somewhat larger one is not used alone.
_SCALAR: Final = 8
_SHORT: Final = 32
_NONE: FrozenSet[int] = frozenset()
# How far a value is from its parts: it is one of them; a loop counts from there; or something unknown was added.
EXACT: Final = 0
STEPPED: Final = 1
INDEXED: Final = 2
# Stands for what the first argument of a function leads to; less n, for what argument n does.
ARGUMENT: Final = -2
# Somewhere in the function's frame.
INSIDE: Final = 1 << 40


class Provenance(NamedTuple):
    """What a value may be made from."""

    # Constants that it is, or from which it is EXACT, STEPPED or INDEXED.
    parts: FrozenSet[int] = _NONE
    reach: int = EXACT
    # Besides, addresses in these objects; ARGUMENT - n stands for what argument n leads to.
    objects: FrozenSet[int] = _NONE
    # Whether it may be anything that is not made from constants here.
    other: bool = False
    # Its distance from SP at the function's entry, if it is an address in the frame, or INSIDE.
    frame: Optional[int] = None
    # Whether it may be one of so many numbers that they are not told apart any more.
    many: bool = False


NOTHING: Final = Provenance()
UNKNOWN: Final = Provenance(other=True)
# Some address in the frame, or something unknown.
IN_FRAME: Final = Provenance(other=True, frame=INSIDE)


class Lattice:
    """Joins and sums of provenances.

    :param objects: Of the program.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._near: Dict[Tuple[int, int], FrozenSet[int]] = {}
        # One object for each value, and what two of them are joined to, by their identities.
        self._kept: Dict[Provenance, Provenance] = {UNKNOWN: UNKNOWN}
        self._constants: Dict[int, Provenance] = {}
        self._joined: Dict[Tuple[int, int], Provenance] = {}

    def keep(self, value: Provenance) -> Provenance:
        """Give the one object that is equal to a value.

        Only such objects can be joined.
        """
        return self._kept.setdefault(value, value)

    def constant(self, value: int) -> Provenance:
        """Give the one object that stands for a constant."""
        found = self._constants.get(value)
        if found is None:
            found = self._constants[value] = self.keep(constant(value))
        return found

    def objects_of(self, value: Provenance) -> FrozenSet[int]:
        """List the objects and arguments to which an address may lead."""
        if not value.parts:
            return value.objects
        # An index that is added where ways have met is not folded into one of the addresses.
        reach = min(value.reach, STEPPED) if value.other else value.reach
        return value.objects.union(*[self._at(part, reach) for part in value.parts])

    def touched(self, value: Provenance, size: int) -> FrozenSet[int]:
        """Give the objects that an access may touch.

        :param size: In bytes.
        """
        if value.reach:
            return self.objects_of(value)
        return value.objects.union(*[self._objects.between(part, part + size) for part in value.parts])

    def is_elsewhere(self, value: Provenance) -> bool:
        """Check whether an address may lead to where no object is."""
        return value.other or any([self._objects.at(part) == NO_OBJECT for part in value.parts])

    def _at(self, part: int, reach: int) -> FrozenSet[int]:
        found = self._near.get((part, reach))
        if found is None:
            found = self._near[part, reach] = self._find(part, reach)
        return found

    def _find(self, part: int, reach: int) -> FrozenSet[int]:
        # The object at an address, one that ends there, and where an index may follow, those that come soon.
        at = self._objects.at(part)
        found = {at}
        if at == NO_OBJECT or self._objects.bounds(at)[0] == part:
            before = self._objects.at(part - 1)
            if before != NO_OBJECT and (reach == INDEXED or part - self._objects.bounds(before)[0] > _SHORT):
                found.add(before)
        if reach == INDEXED:
            start, end = (part, part) if at == NO_OBJECT else self._objects.bounds(at)
            if start < part or end - start <= _SCALAR:
                found.update(self._objects.between(part, part + _FOLDED))
        return frozenset(found) - {NO_OBJECT}

    def join(self, one: Provenance, other: Provenance) -> Provenance:
        """Give what one of two kept values may be."""
        if one is other:
            return one
        found = self._joined.get((id(one), id(other)))
        if found is None:
            found = self._joined[id(one), id(other)] = self.keep(self._join(one, other))
        return found

    def _join(self, one: Provenance, other: Provenance) -> Provenance:
        frame = one.frame if one.frame == other.frame else INSIDE
        unknown = one.other or other.other or one.frame != other.frame
        objects, reach = one.objects | other.objects, max(one.reach, other.reach)
        parts: Dict[int, int] = {}
        for part in sorted(one.parts | other.parts):
            # What counts through an object stays in it.
            at = self._objects.at(part)
            if parts.setdefault(part if at == NO_OBJECT else ~at, part) != part:
                reach = max(reach, STEPPED)
        return self._limited(
            Provenance(frozenset(parts.values()), reach, objects, unknown, frame, one.many or other.many)
        )

    def _limited(self, value: Provenance) -> Provenance:
        # Of too many constants the objects are kept.  Where there were too many numbers, none is kept any more: what
        # is known of a counter would change for ever.
        if value.many:
            parts = [part for part in value.parts if self._at(part, INDEXED) or part in self._objects.markers]
            value = value._replace(parts=frozenset(parts))
        if len(value.parts) <= _MOST:
            return value
        objects = value.objects.union(*[self._at(part, INDEXED) for part in value.parts])
        is_number = any([not self._at(part, INDEXED) for part in value.parts])
        return Provenance(_NONE, value.reach, objects, value.other or is_number, value.frame, value.many or is_number)

    def add(self, one: Provenance, other: Provenance, sign: int = 1) -> Provenance:
        """Give what a sum or difference may be.

        :param sign: -1 for the difference.
        """
        if one.frame is not None or other.frame is not None:
            return self._in_frame(one, other, sign)
        if is_constant(one) and is_constant(other) and len(one.parts) * len(other.parts) <= _MOST:
            sums = [(part + sign * distance) & MASK for part in one.parts for distance in other.parts]
            return Provenance(frozenset(sums))
        if self._is_number(other):
            return self._moved(one, sign * next(iter(other.parts)))
        if sign > 0 and self._is_number(one):
            return self._moved(other, next(iter(one.parts)))
        first, second = self._is_pointer(one), self._is_pointer(other)
        if first and not one.other and not second:
            return Provenance(one.parts, INDEXED, one.objects)
        if second and not other.other and not first and sign > 0:
            return Provenance(other.parts, INDEXED, other.objects)
        many = one.many or other.many
        return self._limited(
            Provenance(one.parts | other.parts, INDEXED, one.objects | other.objects, True, None, many)
        )

    def _in_frame(self, one: Provenance, other: Provenance, sign: int) -> Provenance:
        base, index = (one, other) if one.frame is not None else (other, one)
        is_exact = base.frame is not None and base.frame != INSIDE and not base.other
        if not is_exact or not is_constant(index) or len(index.parts) > 1 or base is other and sign < 0:
            return self.mixed((one, other))
        distance = next(iter(index.parts))
        return Provenance(frame=(base.frame or 0) + sign * (distance - (distance >> 31 << 32)))

    def _moved(self, value: Provenance, distance: int) -> Provenance:
        objects = value.objects if value.reach != INDEXED else self.objects_of(value)
        return value._replace(parts=frozenset([(part + distance) & MASK for part in value.parts]), objects=objects)

    def _is_number(self, value: Provenance) -> bool:
        # Whether it is a constant that is no address.
        return is_constant(value) and len(value.parts) == 1 and not self._is_pointer(value)

    def _is_pointer(self, value: Provenance) -> bool:
        # Compilers address several objects from one place, which may be outside of all of them.  An argument may as
        # well be an index.
        is_near = self._objects.is_near
        return any([one >= 0 for one in value.objects]) or any([is_near(part, _ANCHORED) for part in value.parts])

    def masked(self, values: Sequence[Provenance]) -> Provenance:
        """Give what a pointer with other lowest bits may be."""
        pointers = [value for value in values if not is_constant(value) or self._is_pointer(value)]
        if len(pointers) == 1 and pointers[0].frame is None:
            return pointers[0]._replace(reach=max(STEPPED, pointers[0].reach))
        return self.mixed(values)

    def mixed(self, values: Sequence[Provenance]) -> Provenance:
        """Give what something may be that is computed in another way."""
        objects = _NONE.union(*[self.objects_of(value) for value in values])
        frame = INSIDE if any([value.frame is not None for value in values]) else None
        return Provenance(objects=objects, other=True, frame=frame)


def constant(value: int) -> Provenance:
    """Give the provenance of a constant."""
    return Provenance(frozenset((value,)))


def is_constant(value: Provenance) -> bool:
    """Check whether a value is one of some constants."""
    return bool(value.parts) and not value.reach and not value.other and not value.objects and value.frame is None
