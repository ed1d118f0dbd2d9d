"""Queries on a solution: registers, memory, writes, reasons."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Dict, Iterable, List, Optional, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.recovery.constraints.graph import DEAD
from gdb_etm.recovery.explain import Explanations, name_of
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import (
    APART,
    CONTROL,
    FLAGS,
    FPSCR,
    HANDLER,
    MASK,
    MEANT,
    MSP,
    PSP,
    SLOTS,
    SP,
    N,
    V,
)
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.memory.cells import BLOCKED, FIRST, LAST
from gdb_etm.recovery.segment import Solution
from gdb_etm.recovery.values import Relative, Step, Tier, Touched, Value, Write, Written

_BYTE = 0xFF


class Queries:
    """Queries on one segment or piece.

    :param solution: The segment.
    """

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self._ssa = solution.ssa
        self._domain = solution.ssa.domain
        self._reasons = Explanations(solution)
        self._numbers = [access.number for access in solution.ssa.accesses]
        self._late: Optional[List[int]] = None
        self._homes: Optional[Dict[int, Tuple[int, int]]] = None

    def register(self, number: int, name: str) -> Value:
        """Give a register before an instruction."""
        if name == "pc":
            return self._pc(number)
        if self.solution.contradiction is not None:
            return Value(None, Tier.UNKNOWN, "the facts contradict each other")
        if name == "xpsr":
            return self._status(number)
        variable = self._variable(number, name)
        if variable is None:
            return self._unread(number, name)
        value = self.value(variable)
        slot = SLOTS[name]
        if slot in MEANT:
            return self._meant(number, slot, variable, value)
        if self._ssa.fixed[variable]:
            since = self._ssa.times[slot][bisect_right(self._ssa.times[slot], number) - 1] - 1
            return value._replace(reason="set by #{:,} to what the program says".format(since))
        return value

    def _meant(self, number: int, slot: int, variable: int, value: Value) -> Value:
        # Of some registers only some bits are followed, and some of these are a slot of their own.
        meant, known, bits = MEANT[slot], value.known & MEANT[slot], value.bits & MEANT[slot]
        tier = Tier.EXACT if known == meant and value.value is None else value.tier
        if slot in APART:
            other, lowest, count = APART[slot]
            part = self.solution.variable(number, other)
            field = (1 << count) - 1
            meant |= field << lowest
            if part is not None and self._domain.mask[part] & field == field:
                known, bits = known | field << lowest, bits | (self._domain.bits[part] & field) << lowest
                tier = max(tier, self.tier(part))
        reason = value.reason
        if slot == FPSCR:
            # Its other bits add up what operations have met, and are not followed.
            meant, reason = MASK, "only flags and modes are worked out" if known else reason
        if known == meant:
            return _known(bits, reason if value.value is not None else self._reasons.known(variable), meant, tier)
        return Value(None, Tier.UNKNOWN, reason, known, bits, bits, bits | meant & ~known)

    def _unread(self, number: int, name: str) -> Value:
        # A flag that no instruction reads has no variable: it is computed when somebody asks.
        slot = SLOTS.get(name)
        if slot is None or not N <= slot <= V:
            known = "which stack pointer is in use is not known" if slot is not None else "no such register"
            return Value(None, Tier.UNKNOWN, known)
        times = self._ssa.times[slot]
        writer = times[bisect_right(times, number) - 1] - 1
        template = self.solution.flow.executed[writer - self.solution.first]
        found = self._executed(template, writer).get(slot) if template.condition == ALWAYS else None
        if found is None:
            return Value(None, Tier.UNKNOWN, "what #{:,} compares is not known".format(writer))
        return _known(found[0], "computed at #{:,}".format(writer), MASK, found[1])

    def computed(self, number: int, slot: int) -> Value:
        """Compute what an instruction leaves in a register."""
        found = self._executed(self.solution.flow.executed[number - self.solution.first], number).get(slot)
        if found is None:
            return Value(None, Tier.UNKNOWN, "cannot be derived from what #{:,} computed".format(number))
        return _known(found[0], "computed at #{:,}".format(number), MASK, found[1])

    def _executed(self, template: Template, number: int) -> Dict[int, Optional[Tuple[int, Tier]]]:
        # What an instruction computes from what is known before it.
        domain = self._domain
        found: Dict[int, Optional[Tuple[int, Tier]]] = {}
        for op, outputs, inputs, detail in template.steps:
            read: List[Optional[Tuple[int, Tier]]] = []
            for slot in inputs:
                if slot in found or slot < 0:
                    read.append(found[slot] if slot >= 0 else (~slot, Tier.EXACT))
                    continue
                variable = self.solution.variable(number, slot)
                known = variable is not None and domain.mask[variable] == MASK
                read.append((domain.bits[variable], self.tier(variable)) if known and variable is not None else None)
            values = [one for one in read if one is not None]
            result: Optional[Tuple[int, Tier]] = None
            if len(values) == len(read) and op not in IMPURE:
                result = apply(op, detail, [one[0] for one in values]), max([one[1] for one in values])
            for slot in outputs:
                found[slot] = result
        return found

    def _pc(self, number: int) -> Value:
        if number <= self.solution.last:
            return _known(self.solution.address(number), "the trace")
        end = self.solution.end
        if end is not None and "pc" in end.registers:
            return _known(end.registers["pc"], "read at the halt")
        return Value(None, Tier.UNKNOWN, "after the last instruction")

    def _variable(self, number: int, name: str) -> Optional[int]:
        slot = SLOTS.get(name)
        if slot is None:
            return None
        if slot in (MSP, PSP):
            # The one that is in use is r13.
            handler = self._bit(number, HANDLER, 0)
            select = self._bit(number, CONTROL, 1)
            process = 0 if handler == 1 else select if handler == 0 else 0 if select == 0 else None
            if process is None:
                return None
            if bool(process) == (slot == PSP):
                slot = SP
        return self.solution.variable(number, slot)

    def _bit(self, number: int, slot: int, bit: int) -> Optional[int]:
        variable = self.solution.variable(number, slot)
        if variable is None or not self._domain.mask[variable] >> bit & 1:
            return None
        return self._domain.bits[variable] >> bit & 1

    def value(self, variable: int) -> Value:
        """Give what is known of a variable."""
        domain = self._domain
        known, bits = domain.mask[variable], domain.bits[variable]
        entry = domain.log.last[variable]
        tier = self.solution.solver.tier(entry)
        if known == MASK:
            return Value(bits, tier, self._reasons.known(variable), MASK, bits, bits, bits)
        low, high = domain.bounds(variable)
        reason = self._reasons.unknown(variable)
        return Value(None, Tier.UNKNOWN, reason, known, bits, low, high, self._relative(variable))

    def _relative(self, variable: int) -> Optional[Relative]:
        # Another variable of the class that a register held: the oldest.
        members = self._domain.members.get(self._domain.root[variable])
        if members is None:
            return None
        if self._homes is None:
            self._homes = self._find_homes()
        homes = [(self._homes[member][1], member) for member in members if member != variable and member in self._homes]
        if not homes:
            return None
        number, member = min(homes)
        name = name_of(self._homes[member][0])
        offset = (self._domain.offset[variable] - self._domain.offset[member]) & MASK
        return None if name is None else Relative(name, number, offset - (offset >> 31 << 32))

    def _find_homes(self) -> Dict[int, Tuple[int, int]]:
        homes: Dict[int, Tuple[int, int]] = {}
        for slot in range(15):
            for number, variable in zip(self._ssa.times[slot], self._ssa.held[slot]):
                if variable != DEAD and variable not in homes:
                    homes[variable] = (slot, number)
        return homes

    def _status(self, number: int) -> Value:
        # The flags of the xPSR; the rest only where an anchor is.
        known = bits = 0
        tier = Tier.EXACT
        for slot, bit in FLAGS:
            variable = self.solution.variable(number, slot)
            if variable is not None and self._domain.mask[variable] & 1:
                known |= 1 << bit
                bits |= (self._domain.bits[variable] & 1) << bit
                tier = max(tier, self.tier(variable))
        return Value(None, Tier.UNKNOWN, "only flags are worked out", known, bits, bits, bits | MASK & ~known)

    def why(self, number: int, name: str) -> List[Step]:
        """List the facts that a register's value rests on."""
        variable = self._variable(number, name) if self.solution.contradiction is None else None
        if variable is None:
            value = self.register(number, name)
            return [Step(value.reason, None, value.tier)]
        if self._domain.mask[variable] == MASK or self.register(number, name).value is not None:
            return self._reasons.chain(variable)
        return [Step(self._reasons.unknown(variable), None, Tier.UNKNOWN)]

    def memory(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        """Give the bytes of memory before an instruction."""
        if self.solution.contradiction is not None:
            return (Value(None, Tier.UNKNOWN, "the facts contradict each other"),) * size
        at = bisect_left(self._numbers, number)
        return tuple([self._byte(at, (address + index) & MASK) for index in range(size)])

    def _byte(self, at: int, byte: int) -> Value:
        ssa = self._ssa
        if not ssa.is_ram(byte, 1):
            found = ssa.read_constant(byte, 1)
            if found is None:
                return Value(None, Tier.UNKNOWN, "not in the program and not RAM")
            return _known(found, "a constant of the program", _BYTE)
        if ssa.is_volatile(byte, 1):
            return Value(None, Tier.UNKNOWN, "memory that others write")
        memory = self.solution.solver.memory
        older = memory.before(at, byte)
        before = self._found(older, byte, self.missed(max(older[0], -1) + 1, at))
        if before.value is not None:
            return before
        later = memory.after(at, byte)
        after = self._found(later, byte, self.missed(at, later[0] if later[0] >= 0 else len(ssa.accesses)))
        return before if after.value is None else after

    def missed(self, first: int, end: int) -> Tier:
        """Give the worst tier that the addresses of missing stores rest on.

        :param first: The first of the accesses.
        :param end: One more than the last.
        """
        if self._late is None:
            self._late = [
                number
                for number, access in enumerate(self._ssa.accesses)
                if access.store and max(self.tier(access.address), self.tier(access.condition)) > Tier.EXACT
            ]
        is_late = bisect_left(self._late, first) < bisect_left(self._late, end)
        return Tier.ASSUMED if is_late else Tier.EXACT

    def _found(self, found: Tuple[int, int], byte: int, tier: Tier) -> Value:
        source, distance = found
        ssa = self._ssa
        if source == BLOCKED:
            where = self.solution.address(ssa.accesses[distance].number)
            what = "condition" if self.solution.solver.memory.resolved[distance] else "address"
            return Value(None, Tier.UNKNOWN, "hidden by the store at %#x, whose %s is unknown" % (where, what))
        if source in (FIRST, LAST):
            return self._anchored(source == FIRST, byte, tier)
        access = ssa.accesses[source]
        shift = 8 * distance
        domain = self._domain
        tier = max(tier, self.tier(access.address), self.tier(access.data))
        what = "{} at #{:,}".format("stored" if access.store else "loaded", access.number)
        if domain.mask[access.data] >> shift & _BYTE != _BYTE:
            reason = "%s, but unknown: %s" % (what, self._reasons.unknown(access.data))
            part = domain.mask[access.data] >> shift & _BYTE if tier <= self.solution.rules.limit else 0
            return Value(None, Tier.UNKNOWN, reason, part, domain.bits[access.data] >> shift & part, 0, _BYTE)
        return _known(domain.bits[access.data] >> shift & _BYTE, what, _BYTE, tier)

    def _anchored(self, begins: bool, byte: int, tier: Tier) -> Value:
        border = None if begins else self.solution.border
        if border is not None:
            left = border.byte(byte)
            when = "known before #{:,}".format(border.number)
            if left is None:
                return Value(None, Tier.UNKNOWN, "not " + when)
            return _known(left[0], "not written since, " + when, _BYTE, max(tier, left[1]))
        state = self.solution.begin if begins else self.solution.trusted_end
        found = None if state is None else state.read(byte & ~3, 4)
        if found is None or len(found) < 4:
            return Value(None, Tier.UNKNOWN, "in memory from before the window" if begins else "not read at the halt")
        text = "in memory when the run began" if begins else "not written since, read at the halt"
        return _known(found[byte & 3], text, _BYTE, tier)

    def tier(self, variable: int) -> Tier:
        """Give the worst tier that a variable's value rests on."""
        return self.solution.solver.tier(self._domain.log.last[variable])

    def writes(self, address: int, size: int, first: int) -> Written:
        """Find the stores that wrote a piece of memory, newest first.

        :param first: The first instruction that is looked at.
        """
        accesses = self._ssa.accesses
        writes: List[Write] = []
        newer = len(accesses)
        lowest = bisect_left(self._numbers, first)
        unresolved = self.solution.solver.memory.may_alias.unresolved
        for number in reversed(self._at_known_addresses(address, size, lowest)):
            if accesses[number].store:
                between = bisect_left(unresolved, newer) - bisect_right(unresolved, number)
                writes.append(self._write(number, between))
                newer = number
        return Written(tuple(writes), bisect_left(unresolved, newer) - bisect_left(unresolved, lowest), first)

    def _at_known_addresses(self, address: int, size: int, lowest: int) -> List[int]:
        # The accesses to a piece of memory whose address is known, from one on.
        domain = self._domain
        mask, bits = domain.mask, domain.bits
        found: List[int] = []
        for number, access in enumerate(self._ssa.accesses[lowest:], lowest):
            if mask[access.address] == MASK and bits[access.address] < address + size:
                ran = mask[access.condition] != MASK or bits[access.condition]
                if ran and address < bits[access.address] + access.size:
                    found.append(number)
        return found

    def touched(self, kind: int, address: int, size: int, first: int, last: int) -> Touched:
        """Find what accessed a piece of memory.

        :param kind: 2 for stores, 3 for loads, 4 for both.
        :param first: The first instruction that is looked at.
        :param last: The last.
        """
        accesses, mask = self._ssa.accesses, self._domain.mask
        may_alias = self.solution.solver.memory.may_alias
        lowest, end = bisect_left(self._numbers, first), bisect_right(self._numbers, last)
        wanted = [at for at in range(lowest, end) if kind == 4 or accesses[at].store == (kind == 2)]
        known = set(self._at_known_addresses(address, size, lowest)).intersection(wanted)
        unknown = [
            at
            for at in wanted
            if mask[accesses[at].address] != MASK
            and (mask[accesses[at].condition] != MASK or self._domain.bits[accesses[at].condition])
            and may_alias.may_hit(at, address, size)
        ]
        return Touched(first, last, self._ran(known), self._ran(unknown))

    def _ran(self, found: Iterable[int]) -> Tuple[int, ...]:
        return tuple(sorted({self._ssa.accesses[at].number for at in found}))

    def release(self) -> bool:
        """Let go of what was worked out; nothing more can be asked.

        It refers to itself in many ways, and garbage is not collected while more is worked out.

        :returns: Whether all of it is gone; what is compiled is garbage, which Python has to find.
        """
        solution = self.solution
        ssa, flow, solver = solution.ssa, solution.flow, solution.solver
        memory, domain = solver.memory, ssa.domain
        parts: List[object] = [domain.log, domain, memory.cells, memory.may_alias, memory, solver.proofs]
        parts += [solver.propagation, solver.scheduler, solver, ssa, flow.threads, flow, solution]
        for part in parts:
            getattr(part, "__dict__", {}).clear()
        return all(hasattr(part, "__dict__") for part in parts)

    def _write(self, number: int, between: int) -> Write:
        access = self._ssa.accesses[number]
        domain = self._domain
        mask = (1 << 8 * access.size) - 1
        value = self.value(access.data)
        if value.value is None and value.known & mask == mask:
            tier = self.tier(access.data)
            value = _known(value.bits & mask, self._reasons.known(access.data), mask, tier)
        elif value.value is not None:
            value = value._replace(value=value.value & mask)
        certain = domain.mask[access.condition] == MASK
        return Write(access.number, domain.bits[access.address], access.size, value, certain, between)


def _known(value: int, reason: str, mask: int = MASK, tier: Tier = Tier.EXACT) -> Value:
    return Value(value, tier, reason, mask, value, value, value)
