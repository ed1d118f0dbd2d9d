"""Entry values: registers and frame words in terms of the function's entry.

Forward dataflow from the entry along all branches finds constants, addresses in the frame, arguments, and their
distances.  They are needed where a function goes on whose beginning was not seen.  A value that is not computed from
others is named by its origin: an instruction, or the join of two paths that do not agree.  Arguments are known from the
code before the call, as soon as the function has returned there.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Callable, Dict, Final, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.recovery.functions.branches import LONG, FunctionCode
from gdb_etm.recovery.functions.escape import Escape
from gdb_etm.recovery.functions.losses import Losses
from gdb_etm.recovery.functions.origins import CONSTANT, FIRST_OTHER, FRAME, Origin
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import LR, MASK, SP, TEMPORARY, Op
from gdb_etm.recovery.lift.template import Step, Template
from gdb_etm.recovery.rules import FrameInformation

_REGISTERS: Final = (*range(13), LR)
# What it keeps of an instruction that is not of the frame.
_NAMED: Final = frozenset((*_REGISTERS, SP))
_KEPT: Final = frozenset((*range(4, 12), SP))
# A word of the frame is the slot with this number less its distance from the canonical frame address.
_FRAME_WORDS: Final = 1024
_WORD: Final = 4
# What an instruction makes, what it finds where paths join, and what it has made before.
_MADE: Final = 0
_FOUND: Final = 1
_OLD: Final = 2
# Where ways begin that no instruction of the function leads to: its beginning, and where other code enters it.
_ENTRY: Final = -1
_ENTERED: Final = -2
# Times that an instruction is looked at before what is known there may only get less.
_VISITS: Final = 8
# Of the registers, that a function is called with; what others hold it only keeps.
_LAST_ARGUMENT: Final = 3


class Held(NamedTuple):
    """What a register or a word of the frame holds."""

    # The register; that of the frame's words is SP.
    slot: int
    # For a word of the frame, its distance from the canonical frame address, which is negative; 0 for a register.
    distance: int
    origin: Origin


# Values by slot.
Known = Dict[int, Origin]


class EntryValues:
    """Finds such registers and words.

    :param information: Tells where functions begin and end.
    :param branches: Of the same program.
    :param private: Tells which functions' frames only they themselves write.
    :param losses: Tells what functions do not keep.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    :param read: Reads memory that does not change.
    :param switches: Tells where another thread's registers and stack come.
    """

    def __init__(
        self,
        information: FrameInformation,
        branches: FunctionCode,
        private: Escape,
        losses: Losses,
        template: Callable[[int, Template], Optional[Template]],
        read: Callable[[int, int], Optional[int]],
        switches: Callable[[Template], bool],
    ) -> None:
        self._information = information
        self._branches = branches
        self._private = private
        self._losses = losses
        self._template = template
        self._read = read
        self._switches = switches
        self._known: Dict[int, Dict[int, Known]] = {}
        self._loaded: Dict[int, Set[int]] = {}
        self._names: Dict[Tuple[int, int, int], int] = {}
        # Of each base the instruction that it is named by.
        # By function the words of its frame that it loads: the others may be what it passes to those that it calls.
        self._from: Dict[int, Tuple[int, int]] = {}

    def at(self, template: Template) -> List[Held]:
        """Give what is known before an instruction.

        Slots that are unknown by themselves count if they share a base.
        """
        known = self._before(template.address, template)
        slots = self._related(template.address, known)
        bases = [known[slot].base for slot in slots]
        shared = {base for base in bases if base < 0 or bases.count(base) > 1 or base < FIRST_OTHER}
        kept = [
            slot
            for slot in slots
            if known[slot].base in shared and (slot < _FRAME_WORDS or _is_useful(known[slot].base, bases))
        ]
        return [_held(slot, known[slot]) for slot in kept]

    def _related(self, address: int, known: Known) -> List[int]:
        # Registers, and words that the function loads.
        bounds = self._information.function(address)
        loaded = self._loaded.get(bounds[0], set()) if bounds is not None else set()
        return [slot for slot in sorted(known) if slot in loaded or slot in _REGISTERS]

    def passed(self, template: Template, function: int) -> Optional[Known]:
        """Give what registers held when a function was called that has returned.

        :param function: Where it begins; None is given when it is not what the call enters.
        """
        for size in (4, 2):
            call = self._template(template.address - size, template)
            if call is None or not call.call or call.size != size or call.target is not None:
                continue
            if call.goes_to == function:
                return self._before(call.address, call)
        return None

    def survivor(self, template: Template, known: Known, base: int, function: int) -> Optional[Held]:
        """Find a slot with a base that a call has kept.

        :param template: The instruction behind the call.
        :param known: What was known before the call.
        :param function: Where the function begins that was called.
        """
        lost = self._losses.of(function, template).lost
        for slot in self._related(template.address, known):
            if known[slot].base == base and (slot in _KEPT or slot > _FRAME_WORDS) and slot not in lost:
                return _held(slot, known[slot])
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
        entry = {slot: Origin(slot, 0) for slot in _REGISTERS}
        if row is not None and row.register == SP and not row.offset:
            entry[SP] = Origin(FRAME, 0)
        ways: Dict[int, Dict[int, Known]] = {bounds[0]: {_ENTRY: entry}}
        loaded = self._loaded[bounds[0]] = set()
        keeps_words = self._private.keeps(bounds, like)
        for address in self._branches.entered(bounds[0], like.isa):
            ways.setdefault(address, {})[_ENTERED] = {}
        code = self._code(list(ways), bounds, like)
        rank = {template.address: index for index, (template, _) in enumerate(code)}
        todo = sorted([rank[address] for address in ways]) if code else []
        due, visits = set(todo), [0] * len(code)
        found: Dict[int, Known] = {}
        while todo:
            index = heappop(todo)
            due.discard(index)
            template, after = code[index]
            address, before = template.address, found.get(template.address)
            settled = before if visits[index] > _VISITS else None
            met = self._meet(address, list(ways[address].values()), settled)
            if met == before:
                continue
            visits[index] += 1
            found[address], known = met, dict(met)
            self._execute(template, known, keeps_words, loaded)
            for following in after:
                ways.setdefault(following, {})[address] = known
                if rank[following] not in due:
                    due.add(rank[following])
                    heappush(todo, rank[following])
        return found

    def _code(self, entries: List[int], bounds: Tuple[int, int], like: Template) -> List[Tuple[Template, List[int]]]:
        # A function's instructions with their successors in it, in reverse postorder: where paths meet, as many of them
        # as can be come first.  Nothing if not all of it is found.
        reached: Dict[int, Tuple[Template, List[int]]] = {}
        done: List[int] = []
        todo = list(reversed(entries))
        while todo:
            at = todo.pop()
            if at < 0:
                done.append(~at)
                continue
            if at in reached:
                continue
            template = self._template(at, like)
            after = self._branches.after(template, bounds) if template is not None else None
            if template is None or after is None:
                return []
            if template.call and template.target is None and not self._losses.returns(template.goes_to, template):
                after = []
            reached[at] = template, [one for one in after if bounds[0] <= one < bounds[1]]
            todo += [~at, *reached[at][1]]
        return [reached[at] for at in reversed(done)]

    def _meet(self, address: int, ways: List[Known], settled: Optional[Known]) -> Known:
        # What is known where ways meet.  What has changed since it was settled is named by the join, or dropped, for
        # good, as names of joins that lead to each other may go round for ever.
        if len(ways) == 1:
            return ways[0]
        first, others = ways[0], ways[1:]
        met: Known = {}
        for slot, value in first.items():
            if settled is not None and slot not in settled:
                continue
            values = {value}
            for way in others:
                other = way.get(slot)
                if other is None:
                    break
                if other is not value:
                    values.add(other)
            else:
                met[slot] = self._joined(address, slot, values)
                if settled is not None and met[slot] != settled[slot]:
                    met[slot] = self._name(address, slot, _FOUND)
        return met

    def _joined(self, address: int, slot: int, values: Set[Origin]) -> Origin:
        own = self._name(address, slot, _FOUND)
        values.discard(own)
        value = values.pop() if len(values) == 1 else own
        return own if self._from.get(value.base) == (address, _FOUND) else value

    def _name(self, address: int, slot: int, kind: int) -> Origin:
        # A value that comes from somewhere, with a base of its own.
        key = (address, slot, kind)
        base = self._names.setdefault(key, FIRST_OTHER + len(self._names))
        self._from[base] = address, kind
        return Origin(base, 0)

    def _execute(self, template: Template, known: Known, keeps_words: bool, loaded: Set[int]) -> None:
        always = template.condition == ALWAYS
        self._rename(template.address, known)
        for step in template.steps:
            op, outputs, inputs, detail = step
            read = [known.get(slot) if slot >= 0 else Origin(CONSTANT, ~slot) for slot in inputs]
            if op == Op.STORE:
                _store(known, read[0], read[1] if always and keeps_words else None, detail[0])
                continue
            result: Optional[Origin] = None
            at_frame = op == Op.LOAD and read[0] is not None and read[0].base == FRAME
            word = _frame_word(read[0].distance) if at_frame and read[0] is not None else 0
            loaded.add(word)
            if always or all(slot >= TEMPORARY for slot in outputs):
                # The address of a store that may have run is one that may have been written.
                result = self._load(known, read[0], detail[0]) if op == Op.LOAD else _result(step, read)
            for slot in outputs:
                known[slot] = result or self._name(template.address, slot, _MADE)
                if word > _FRAME_WORDS and always and keeps_words and detail[0] == _WORD:
                    known[word] = known[slot]
        self._leave(template, known)
        if self._switches(template):
            known.clear()

    def _rename(self, address: int, known: Known) -> None:
        # What the same instruction has made before is another value than what it makes now.
        for slot, value in list(known.items()):
            made = self._from.get(value.base)
            if made is not None and made[0] == address and made[1] != _FOUND:
                known[slot] = self._name(address, slot, _OLD)

    def _leave(self, template: Template, known: Known) -> None:
        # Drop what lives within one instruction, what a call or an SVC's handler does not keep, and what an exception
        # may overwrite.
        pointer = known.get(SP)
        lowest = _frame_word(pointer.distance) if pointer is not None and pointer.base == FRAME else 0
        lowest = max(lowest, _FRAME_WORDS)
        forgets = template.call or template.asks
        lost = self._losses.of_call(template).lost
        for slot in list(known):
            if slot > lowest or slot < _FRAME_WORDS and slot not in _NAMED:
                del known[slot]
            elif forgets and slot < _FRAME_WORDS and (slot not in _KEPT or slot in lost):
                known[slot] = self._name(template.address, slot, _MADE)

    def _load(self, known: Known, address: Optional[Origin], size: int) -> Optional[Origin]:
        if address is None:
            return None
        if address.base == CONSTANT:
            value = self._read(address.distance, size)
            return None if value is None else Origin(CONSTANT, value)
        return known.get(_frame_word(address.distance)) if address.base == FRAME and size == _WORD else None


def _held(slot: int, origin: Origin) -> Held:
    return Held(SP, _FRAME_WORDS - slot, origin) if slot > _FRAME_WORDS else Held(slot, 0, origin)


def _is_useful(base: int, bases: List[int]) -> bool:
    # Whether it pays to look at a word of the frame: what it only keeps for others is of no use.
    return base < 0 or base <= _LAST_ARGUMENT or base >= FIRST_OTHER and bases.count(base) > 1


def _frame_word(distance: int) -> int:
    return _FRAME_WORDS - (distance - (distance >> 31 << 32))


def _store(known: Known, address: Optional[Origin], value: Optional[Origin], size: int) -> None:
    # Words of the frame that are not known to be elsewhere lose what they held.
    if address is None or address.base != FRAME:
        return
    slot = _frame_word(address.distance)
    for other in [one for one in known if one > _FRAME_WORDS and slot - size < one < slot + _WORD]:
        del known[other]
    if value is not None and size == _WORD and slot > _FRAME_WORDS:
        known[slot] = value


def _result(step: Step, read: List[Optional[Origin]]) -> Optional[Origin]:
    # Copies, constants, and additions of these.
    op, _, _, detail = step
    values = [one for one in read if one is not None]
    if len(values) < len(read) or op in IMPURE:
        return None
    if op == Op.COPY:
        return values[0]
    if all(one.base == CONSTANT for one in values):
        return Origin(CONSTANT, apply(op, detail, [one.distance for one in values]))
    if op == Op.ADD and [one.base for one in values].count(CONSTANT) == 2 and values[2].base == CONSTANT:
        base = max(one.base for one in values[:2]) if values[0].base >= 0 or values[1].base >= 0 else FRAME
        return Origin(base, sum(one.distance for one in values) & MASK)
    if op == Op.SUB and values[1].base == CONSTANT == values[2].base:
        return Origin(values[0].base, (values[0].distance + ~values[1].distance + values[2].distance) & MASK)
    # What SP is set to loses bits that are 0.
    is_aligned = op == Op.BITS and detail == (2, 2, 30) and values[0].base == FRAME and not values[0].distance & 3
    return values[0] if is_aligned and values[1] == Origin(CONSTANT, 0) else None
