"""What a function has in its registers and in its frame wherever it came from: constants, addresses in its frame, and
what it was called with.

Where a function goes on of which the beginning was not seen, its code tells what it must have set them to: values are
propagated from its entry along all branches, and where two ways meet, what they agree on remains.  What it was called
with is told by the code before the call, as soon as it has returned there.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.recovery.branches import LONG, Branches
from gdb_etm.recovery.evaluate import IMPURE, apply
from gdb_etm.recovery.operations import LR, MASK, SP, Op
from gdb_etm.recovery.origins import CONSTANT, FRAME, Origin
from gdb_etm.recovery.private import Private
from gdb_etm.recovery.rules import FrameInformation
from gdb_etm.recovery.template import Step, Template

_REGISTERS = (*range(13), LR)
_KEPT = (*range(4, 12), SP)
_SLOTS = 1 << 10
# A word of the frame is the place with this number less its distance from the canonical frame address.
_WORD = 4


class Held(NamedTuple):
    """What a register or a word of the frame holds."""

    place: int
    """The register; that of the frame's words is SP."""
    slot: int
    """For a word of the frame, its distance from the canonical frame address, which is negative; 0 for a register."""
    origin: Origin


Known = Dict[int, Origin]
"""Values by place."""


class Hoisted:
    """Finds such registers and words.

    :param information: Tells where functions begin and end.
    :param branches: Of the same program.
    :param private: Tells which functions' frames only they themselves write.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    :param value: Gives the value of the variable of a constant.
    :param read: Reads memory that does not change.
    """

    def __init__(
        self,
        information: FrameInformation,
        branches: Branches,
        private: Private,
        template: Callable[[int, Template], Optional[Template]],
        value: Callable[[int], int],
        read: Callable[[int, int], Optional[int]],
    ) -> None:
        self._information = information
        self._branches = branches
        self._private = private
        self._template = template
        self._value = value
        self._read = read
        self._known: Dict[int, Dict[int, Known]] = {}
        self._loaded: Dict[int, Set[int]] = {}
        # By function the words of its frame that it loads: the others may be what it passes to those that it calls.

    def at(self, template: Template) -> List[Held]:
        """Tell what is known before an instruction runs."""
        known = self._before(template.address, template)
        bounds = self._information.function(template.address)
        loaded = self._loaded.get(bounds[0], set()) if bounds is not None else set()
        places = [place for place in sorted(known) if place in loaded or place < _SLOTS and place != SP]
        return [_held(place, known[place]) for place in places]

    def passed(self, template: Template, function: int) -> Optional[Known]:
        """Tell what registers held when a function was called that has returned to an instruction.

        :param function: Where it begins; None is given when it is not what the call enters.
        """
        for size in (4, 2):
            call = self._template(template.address - size, template)
            if call is None or not call.call or call.size != size or call.target is not None:
                continue
            if call.goes_to == function:
                return self._before(call.address, call)
        return None

    def _before(self, address: int, like: Template) -> Known:
        bounds = self._information.function(address)
        if bounds is None or bounds[1] - bounds[0] > LONG:
            return {}
        function = self._known.get(bounds[0])
        if function is None:
            function = self._known[bounds[0]] = self._propagate(bounds, like)
        known = function.get(address, {})
        row = self._information.row(address)
        pointer = known.get(SP)
        if row is not None and row.register == SP and pointer not in (None, Origin(FRAME, -row.offset & MASK)):
            return {}
        return known

    def _propagate(self, bounds: Tuple[int, int], like: Template) -> Dict[int, Known]:
        # What is known before each instruction that is reached.
        row = self._information.row(bounds[0])
        entry = {place: Origin(place, 0) for place in _REGISTERS}
        if row is not None and row.register == SP and not row.offset:
            entry[SP] = Origin(FRAME, 0)
        found: Dict[int, Known] = {bounds[0]: entry}
        loaded = self._loaded[bounds[0]] = set()
        slots = self._private.keeps(bounds, like)
        todo = [bounds[0]]
        while todo:
            at = todo.pop()
            template = self._template(at, like)
            after = self._branches.after(template, bounds) if template is not None else None
            if template is None or after is None:
                return {}
            known = dict(found[at])
            self._execute(template, known, slots, loaded)
            for address in after:
                if not bounds[0] <= address < bounds[1]:
                    continue
                before = found.get(address)
                agreed = known if before is None else _agreed(before, known)
                if before is None or len(agreed) < len(before):
                    found[address] = dict(agreed)
                    todo.append(address)
        return found

    def _execute(self, template: Template, known: Known, slots: bool, loaded: Set[int]) -> None:
        always = template.condition == ALWAYS
        for step in template.steps:
            op, outputs, inputs, detail = step
            read = [known.get(place) if place >= 0 else Origin(CONSTANT, self._value(~place)) for place in inputs]
            if op == Op.STORE:
                _store(known, read[0], read[1] if always and slots else None, detail[0])
                continue
            result: Optional[Origin] = None
            if op == Op.LOAD and read[0] is not None and read[0].base == FRAME:
                loaded.add(_slot(read[0].distance))
            if op == Op.LOAD and always:
                result = self._load(known, read[0], detail[0])
            elif always:
                result = _result(step, read)
            for place in outputs:
                known.pop(place, None)
                if result is not None:
                    known[place] = result
        for place in list(known):
            if place not in (_KEPT if template.call else (*_REGISTERS, SP)) and place <= _SLOTS:
                del known[place]

    def _load(self, known: Known, address: Optional[Origin], size: int) -> Optional[Origin]:
        if address is None:
            return None
        if address.base == CONSTANT:
            value = self._read(address.distance, size)
            return None if value is None else Origin(CONSTANT, value)
        return known.get(_slot(address.distance)) if address.base == FRAME and size == _WORD else None


def _held(place: int, origin: Origin) -> Held:
    return Held(SP, _SLOTS - place, origin) if place > _SLOTS else Held(place, 0, origin)


def _slot(distance: int) -> int:
    return _SLOTS - (distance - (distance >> 31 << 32))


def _store(known: Known, address: Optional[Origin], value: Optional[Origin], size: int) -> None:
    # Words of the frame that are not known to be elsewhere lose what they held.
    if address is None or address.base != FRAME:
        return
    place = _slot(address.distance)
    for other in [one for one in known if one > _SLOTS and place - size < one < place + _WORD]:
        del known[other]
    if value is not None and size == _WORD and place > _SLOTS:
        known[place] = value


def _result(step: Step, read: List[Optional[Origin]]) -> Optional[Origin]:
    # Copies, constants, and additions of these.
    op, _, _, detail = step
    values = [one for one in read if one is not None]
    if len(values) < len(read) or op in IMPURE:
        return None
    if op == Op.COPY:
        return values[0]
    if all(one.base == CONSTANT for one in values):
        return Origin(CONSTANT, apply(Op(op), detail, [one.distance for one in values]))
    if op == Op.ADD and [one.base for one in values].count(CONSTANT) == 2 and values[2].base == CONSTANT:
        base = max(one.base for one in values[:2]) if values[0].base >= 0 or values[1].base >= 0 else FRAME
        return Origin(base, sum(one.distance for one in values) & MASK)
    if op == Op.SUB and values[1].base == CONSTANT == values[2].base:
        return Origin(values[0].base, (values[0].distance + ~values[1].distance + values[2].distance) & MASK)
    # What SP is set to loses bits that are 0.
    is_aligned = op == Op.BITS and detail == (2, 2, 30) and values[0].base == FRAME and not values[0].distance & 3
    return values[0] if is_aligned and values[1] == Origin(CONSTANT, 0) else None


def _agreed(one: Known, other: Known) -> Known:
    return {place: value for place, value in one.items() if other.get(place) == value}
