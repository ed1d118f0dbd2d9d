"""Where a value came from, one instruction back.

A value is named by its place: a register or memory, before an instruction.  What put it there has places of its own, so
a chain of such steps is a dynamic backward slice (B. Korel, J. Laski: Dynamic program slicing, 1988).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import INPUT, OPEN, START
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import MASK, SLOTS, TEMPORARY, Op
from gdb_etm.recovery.lift.template import Step, Template
from gdb_etm.recovery.makers import KnownAccess, Maker, MakerKind, MemoryPlace, Place, RegisterPlace
from gdb_etm.recovery.memory.cells import BLOCKED
from gdb_etm.recovery.queries import Queries
from gdb_etm.recovery.values import Tier, Value

# Made-by numbers of loads begin here (``gdb_etm.recovery.ssa.trace_ssa``).
_LOADS = -16
_SELECTIONS = (ConstraintKind.SELECT, ConstraintKind.CHOOSE)
_LINKS = (ConstraintKind.LINK, ConstraintKind.OWNED, ConstraintKind.BELOW, ConstraintKind.OUT_OF_REACH)
# What an exception pushes, in the order of its frame, but for the return address and xPSR.
_PUSHED = (0, 1, 2, 3, 12, 14)


_NAMES = {slot: name for name, slot in SLOTS.items()}


class _Fed(NamedTuple):
    # What a result was made from: slots, and the loads as indices of steps.
    slots: Tuple[int, ...]
    loads: Tuple[int, ...]
    # Whether all it does is copy.
    copies: bool
    # Whether the instruction has a model.
    is_known: bool


class Origins:
    """Single steps back, in one segment or piece.

    :param queries: Of that.
    """

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._solution = queries.solution
        self._ssa = queries.solution.ssa
        self._domain = queries.solution.ssa.domain
        self._numbers = [access.number for access in self._ssa.accesses]
        self._linked: Optional[Dict[int, Tuple[int, int]]] = None

    def register(self, place: RegisterPlace) -> Maker:
        """Find what put a value into a register."""
        solution, slot = self._solution, SLOTS[place.name]
        times = self._ssa.times[slot]
        at = bisect_right(times, place.number) - 1
        writer = times[at] - 1 if at >= 0 else solution.first - 1
        if writer < solution.first:
            return Maker(MakerKind.BEFORE, solution.first)
        template = self._template(writer)
        if slot in template.writes and not self._is_between(writer, slot):
            ran, tier = self._outcome(writer, template, slot)
            if ran is False:
                before = self.register(RegisterPlace(writer, place.name))
                return before._replace(tier=max(before.tier, tier))
            return self._executed(writer, template, slot)
        variable = self._ssa.held[slot][at]
        return self._other(writer, slot, variable) if variable >= 0 else Maker(MakerKind.OUTSIDE, writer)

    def interrupted(self, number: int, name: str) -> Tuple[Value, Maker]:
        """Give a register as an exception found it, and its maker.

        :param number: Of the last instruction before the exception.
        """
        slot, template = SLOTS[name], self._template(number)
        ran = slot in template.writes and self._outcome(number, template, slot)[0] is not False
        maker = self._executed(number, template, slot) if ran else self.register(RegisterPlace(number, name))
        kept = range(4, 12) if self._solution.is_m_profile else range(13)
        value = self._queries.register(number + 1, name) if slot in kept else None
        if slot in _PUSHED and self._solution.is_m_profile:
            first, last = self._span(number)
            stores = [one for one in self._ssa.accesses[first:last] if one.store]
            at = sum(step[0] == Op.STORE for step in template.steps) * self._ran(number, template) + _PUSHED.index(slot)
            value = self._queries.value(stores[at].data) if at < len(stores) else None
        if value is None or value.value is None:
            value = self._queries.computed(number, slot) if ran else self._queries.register(number, name)
        return value, maker

    @property
    def first(self) -> int:
        """The first instruction that is worked out here."""
        return self._solution.first

    def stored(self, number: int, address: int) -> Optional[Tuple[Maker, Optional[int]]]:
        """Give how an instruction has stored a byte, and the byte.

        :param number: The store's.
        """
        mask, bits = self._domain.mask, self._domain.bits
        for at in range(*self._span(number)):
            one = self._ssa.accesses[at]
            if not one.store or mask[one.address] != MASK or not 0 <= address - bits[one.address] < one.size:
                continue
            shift = 8 * (address - bits[one.address])
            known = mask[one.data] >> shift & 0xFF == 0xFF
            maker = self._stored(at)
            tier = max(maker.tier, self._queries.tier(one.address), self._queries.tier(one.data))
            return maker._replace(tier=tier), bits[one.data] >> shift & 0xFF if known else None
        return None

    def known(self) -> Iterator[Tuple[int, KnownAccess]]:
        """Give the loads and stores whose addresses are known."""
        mask, bits = self._domain.mask, self._domain.bits
        for one in self._ssa.accesses:
            if mask[one.address] == MASK and (mask[one.condition] != MASK or bits[one.condition]):
                yield one.number, KnownAccess(one.store, bits[one.address], one.size, self._queries.tier(one.address))

    def hidden(self) -> Iterator[Tuple[int, Maker]]:
        """Give the words stored to unknown addresses, each with its store."""
        mask, bits = self._domain.mask, self._domain.bits
        for at, one in enumerate(self._ssa.accesses):
            is_hidden = one.store and one.size == 4 and mask[one.address] != MASK and mask[one.data] == MASK
            if is_hidden and self._queries.tier(one.data) <= Tier.ASSUMED:
                yield bits[one.data], self._stored(at)

    def target(self, number: int) -> Optional[Maker]:
        """Find what made an indirect branch's target."""
        template = self._template(number)
        return (
            None
            if template.target is None or template.target < 0
            else self._executed(number, template, template.target)
        )

    def address_of(self, number: int) -> Tuple[RegisterPlace, ...]:
        """Give what the address was made from that an instruction accessed first."""
        steps = self._template(number).steps
        at = next((at for at, step in enumerate(steps) if step[0] in (Op.LOAD, Op.STORE)), None)
        return () if at is None else self._registers(number, steps, at, steps[at][2][0])

    def _template(self, number: int) -> Template:
        return self._solution.flow.executed[number - self._solution.first]

    def _is_between(self, writer: int, slot: int) -> bool:
        # Whether an exception was taken or returned from after an instruction.  The loads of a popped frame have that
        # instruction's number, and are not its own.
        variable = self._solution.variable(writer + 1, slot)
        made = START if variable is None else self._ssa.made[variable]
        if made > _LOADS:
            return made in (OPEN, INPUT)
        first, last = self._span(writer)
        own = [at for at in range(first, last) if not self._ssa.accesses[at].store]
        return own.index(~(made + 16)) >= self._own_loads(writer) if ~(made + 16) in own else False

    def _own_loads(self, number: int) -> int:
        return sum(access is not None for access in self._loads(number, self._template(number)).values())

    def _span(self, number: int) -> Tuple[int, int]:
        return bisect_left(self._numbers, number), bisect_right(self._numbers, number)

    def _executed(self, number: int, template: Template, slot: int) -> Maker:
        fed = _feeding(template.steps, len(template.steps), slot)
        if not fed.is_known:
            return Maker(MakerKind.OUTSIDE, number)
        sources: List[Place] = [RegisterPlace(number, _NAMES[one]) for one in fed.slots]
        address: Tuple[RegisterPlace, ...] = ()
        accessed: Optional[MemoryPlace] = None
        tier, hidden = Tier.EXACT, False
        accesses = self._loads(number, template) if fed.loads else {}
        for at in fed.loads:
            address += self._registers(number, template.steps, at, template.steps[at][2][0])
            access = accesses[at]
            if access is None:
                continue
            variable = self._ssa.accesses[access].address
            if self._domain.mask[variable] == MASK:
                accessed = MemoryPlace(number, self._domain.bits[variable], self._ssa.accesses[access].size)
                sources.append(accessed)
                tier = max(tier, self._queries.tier(variable))
            else:
                source, worst = self._link(access)
                hidden, tier = hidden or source is None, max(tier, worst)
                sources += [source] if source is not None else []
        if hidden:
            return Maker(MakerKind.HIDDEN, number, tuple(sources), address)
        ran, condition = self._outcome(number, template, slot)
        tier = max(tier, condition)
        if ran is None:
            sources.insert(0, RegisterPlace(number, _NAMES[slot]))
            return Maker(MakerKind.SELECTED, number, tuple(sources), address, accessed, tier)
        if not sources:
            return Maker(MakerKind.CONSTANT, number, (), address)
        kind = MakerKind.COPIED if fed.copies and not fed.loads else MakerKind.COMPUTED
        kind = MakerKind.LOADED if fed.loads and not fed.slots else kind
        return Maker(kind, number, tuple(sources), address, accessed, tier)

    def _outcome(self, number: int, template: Template, slot: int) -> Tuple[Optional[bool], Tier]:
        # Whether an instruction's condition held, and what that rests on; None where it is not known.
        is_open = template.condition != ALWAYS and slot < TEMPORARY
        variable = self._solution.variable(number + 1, slot) if is_open else None
        made = START if variable is None else self._ssa.made[variable]
        if made < 0 or self._ssa.constraints[made][0] not in _SELECTIONS:
            return True, Tier.EXACT
        # The bit is that of the condition without its sense (``execution/builder.py``).
        bit = self._ssa.constraints[made][2]
        if self._domain.mask[bit] != MASK:
            return None, Tier.EXACT
        return bool(self._domain.bits[bit]) != bool(template.condition & 1), self._queries.tier(bit)

    def _registers(self, number: int, steps: Sequence[Step], end: int, slot: int) -> Tuple[RegisterPlace, ...]:
        # What a slot holds within an instruction, in terms of what registers held before it.
        found = _feeding(steps, end, slot) if slot >= 0 else _Fed((), (), True, True)
        return tuple([RegisterPlace(number, _NAMES[one]) for one in found.slots])

    def _loads(self, number: int, template: Template) -> Dict[int, Optional[int]]:
        # The access of each of an instruction's loads, by the index of its step; None for constants of the program.
        first, last = self._span(number)
        own = iter([at for at in range(first, last) if not self._ssa.accesses[at].store])
        known: Dict[int, Optional[int]] = {}
        found: Dict[int, Optional[int]] = {}
        for at, (op, outputs, inputs, detail) in enumerate(template.steps):
            read = [known[one] if one in known else self._fixed(number, one) for one in inputs]
            values = [one for one in read if one is not None]
            result: Optional[int] = None
            if op == Op.LOAD:
                result = self._ssa.read_constant(values[0], detail[0]) if values else None
                found[at] = next(own, None) if result is None else None
            elif op not in IMPURE and len(values) == len(read):
                result = apply(op, detail, values)
            known.update(dict.fromkeys(outputs, result))
        return found

    def _fixed(self, number: int, slot: int) -> Optional[int]:
        # What the program says that a slot holds, whatever else is known.
        if slot < 0:
            return ~slot
        held = self._solution.variable(number, slot) if slot < TEMPORARY else None
        return self._domain.bits[held] if held is not None and self._ssa.fixed[held] else None

    def _other(self, writer: int, slot: int, variable: int) -> Maker:
        # What no instruction wrote: an exception's return has loaded it, or something has kept it.
        made = self._ssa.made[variable]
        if made <= _LOADS:
            access = ~(made + 16)
            address = self._ssa.accesses[access].address
            if self._domain.mask[address] == MASK:
                place = MemoryPlace(writer + 1, self._domain.bits[address], self._ssa.accesses[access].size)
                return Maker(MakerKind.LOADED, writer, (place,), (), place, self._queries.tier(address))
            source, tier = self._link(access)
            if source is not None:
                return Maker(MakerKind.KEPT, writer, (source,), tier=tier)
        return self._kept(writer, slot, variable)

    def _kept(self, writer: int, slot: int, variable: int) -> Maker:
        # The newest assumption that ties it to what was before.
        for one in reversed(self._solution.flow.calls.assumptions):
            if one.after == variable and one.before != variable and not one.distance and one.slot == slot:
                if one.number < self._solution.first:
                    break
                if not self._solution.solver.assumptions.is_refuted(one):
                    return Maker(MakerKind.KEPT, writer, (RegisterPlace(one.number, _NAMES[slot]),), tier=Tier.ASSUMED)
        return Maker(MakerKind.OUTSIDE, writer)

    def _link(self, access: int) -> Tuple[Optional[Place], Tier]:
        # What a load's bytes are whose address is not known: a store by the same pointer.
        if self._linked is None:
            self._linked = {
                one[7]: (one[6], number)
                for number, one in enumerate(self._ssa.constraints)
                if one[0] in _LINKS and not one[3] and one[6] >= 0
            }
        found = self._linked.get(access)
        while found is not None and not self._ssa.accesses[found[0]].store:
            found = self._linked.get(found[0])
        if found is None:
            return None, Tier.UNKNOWN
        source = self._stored(found[0])
        tier = Tier.EXACT if self._ssa.constraints[found[1]][0] == ConstraintKind.LINK else Tier.ASSUMED
        return (source.sources[0], tier) if len(source.sources) == 1 else (None, Tier.UNKNOWN)

    def memory(self, place: MemoryPlace) -> Maker:
        """Find what put a value into memory."""
        ssa = self._ssa
        if not ssa.is_ram(place.address, place.size):
            known = ssa.read_constant(place.address, place.size) is not None
            return Maker(MakerKind.CONSTANT if known else MakerKind.DEVICE, place.number, accessed=place)
        if ssa.is_volatile(place.address, place.size):
            return Maker(MakerKind.DEVICE, place.number, accessed=place)
        at = bisect_left(self._numbers, place.number)
        found = [self._store_before(at, place.address + index) for index in range(place.size)]
        if len({one[0] for one in found}) > 1:
            return Maker(MakerKind.MERGED, place.number, tuple(_parts(place, [one[0] for one in found])))
        source, tier = found[0]
        if source == BLOCKED:
            return Maker(MakerKind.HIDDEN, place.number, accessed=place, tier=Tier.UNKNOWN)
        if source < 0:
            return Maker(MakerKind.BEFORE, self._solution.first, accessed=place, tier=tier)
        maker = self._stored(source)
        return maker._replace(tier=max(tier, max(one[1] for one in found)))

    def _store_before(self, at: int, byte: int) -> Tuple[int, Tier]:
        # The store that a byte comes from, or FIRST or BLOCKED, and what that rests on.
        memory, ssa, until = self._solution.solver.memory, self._ssa, at
        while True:
            source, _ = memory.before(at, byte)
            if source == BLOCKED:
                return BLOCKED, Tier.UNKNOWN
            if source < 0 or ssa.accesses[source].store:
                break
            at = source
        tier = self._queries.missed(max(source, -1) + 1, until)
        if source >= 0:
            tier = max(tier, self._queries.tier(ssa.accesses[source].address))
        return source, tier

    def _stored(self, number: int) -> Maker:
        # A store's instruction and where its data came from.
        ssa = self._ssa
        access = ssa.accesses[number]
        accessed: Optional[MemoryPlace] = None
        if self._domain.mask[access.address] == MASK:
            accessed = MemoryPlace(access.number, self._domain.bits[access.address], access.size)
        template = self._template(access.number)
        first, last = self._span(access.number)
        stores = [at for at in range(first, last) if ssa.accesses[at].store]
        steps = [at for at, step in enumerate(template.steps) if step[0] == Op.STORE]
        index = stores.index(number)
        if index >= len(steps) or not self._ran(access.number, template):
            return self._pushed(access.number, index - len(steps), accessed)
        at = steps[index]
        inputs = template.steps[at][2]
        sources = self._registers(access.number, template.steps, at, inputs[1])
        address = self._registers(access.number, template.steps, at, inputs[0])
        return Maker(MakerKind.STORED, access.number, sources, address, accessed)

    def _ran(self, number: int, template: Template) -> bool:
        # Whether an instruction's own accesses are among those of its number.
        first, last = self._span(number)
        count = sum(step[0] == Op.STORE for step in template.steps)
        return sum(self._ssa.accesses[at].store for at in range(first, last)) >= count

    def _pushed(self, number: int, index: int, accessed: Optional[MemoryPlace]) -> Maker:
        slot = _PUSHED[index] if 0 <= index < len(_PUSHED) else None
        if slot is None:
            return Maker(MakerKind.PUSHED, number, accessed=accessed)
        template = self._template(number)
        if slot not in template.writes:
            return Maker(MakerKind.PUSHED, number, (RegisterPlace(number, _NAMES[slot]),), accessed=accessed)
        # The register as the instruction left it is no place: the handler's begins there.
        return self._executed(number, template, slot)._replace(kind=MakerKind.PUSHED, accessed=accessed)


def _feeding(steps: Sequence[Step], end: int, slot: int) -> _Fed:
    # What a slot was made from by the first so many steps.
    wanted, loads, copies, is_known = {slot}, [], True, True
    for at in range(end - 1, -1, -1):
        op, outputs, inputs, _ = steps[at]
        if not wanted.intersection(outputs):
            continue
        wanted.difference_update(outputs)
        if op == Op.LOAD:
            loads.append(at)
            continue
        copies, is_known = copies and op == Op.COPY, is_known and op != Op.UNKNOWN
        wanted.update([one for one in inputs if one >= 0])
    return _Fed(tuple(sorted(wanted)), tuple(reversed(loads)), copies, is_known)


def _parts(place: MemoryPlace, found: Sequence[int]) -> List[Place]:
    # Neighbouring bytes of one store.
    parts: List[Place] = []
    start = 0
    for index in range(1, place.size + 1):
        if index == place.size or found[index] != found[start]:
            parts.append(MemoryPlace(place.number, place.address + start, index - start))
            start = index
    return parts
