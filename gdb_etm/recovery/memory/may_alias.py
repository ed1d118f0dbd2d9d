"""May-alias analysis of stores whose address is unknown.

Such a store is a barrier between two accesses to the same bytes, unless it cannot have reached these.  It is taken to
miss what only one function writes, what is below SP and objects to which its address cannot lead.  To see what comes
out, all of them can be supposed to miss.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Container, Dict, Final, List, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.constraints import Constraint, ConstraintKind
from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.functions.escape import PrivateAccesses
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.cells import Cells
from gdb_etm.recovery.memory.dead_stack import DeadStack
from gdb_etm.recovery.memory.grounds import FrameGround, ground_of, grounds_between
from gdb_etm.recovery.memory.misses import Ground
from gdb_etm.recovery.memory.object_bounds import ObjectBounds
from gdb_etm.recovery.memory.overlaps import Found, Weighing
from gdb_etm.recovery.rules import BIT_BAND
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Stores that one link looks at.
SCAN: Final = 400
_NOWHERE: Final = -1
# Two accesses that are linked: the older one or FIRST, and the later one or as many as there are for the end.
Pair = Tuple[int, int]


class MayAlias:
    """The stores of a segment whose address is unknown.

    :param ssa: With its accesses.
    :param cells: The accesses whose address is known.
    :param unresolved: These stores; None for all.
    """

    def __init__(self, ssa: TraceSsa, cells: Cells, unresolved: Optional[Sequence[int]] = None) -> None:
        self._ssa = ssa
        self._domain: Domain = ssa.domain
        self._accesses = ssa.accesses
        self._bit_band = ssa.rules.bit_band
        self._cells = cells
        # These stores, oldest first.
        if unresolved is None:
            unresolved = [number for number, access in enumerate(ssa.accesses) if access.store]
        self.unresolved: List[int] = list(unresolved)
        # Of each access, whether it is one of them.
        self._is_unresolved: List[bool] = [False] * len(ssa.accesses)
        for number in self.unresolved:
            self._is_unresolved[number] = True
        # Those to any memory.
        self._anywhere = [number for number in self.unresolved if not ssa.accesses[number].size]
        # Those that are no more among them since somebody looked.
        self.gone: List[int] = []
        # Stores that stand for more than a link looks at.
        self._far: Set[int] = set()
        # How many frames are known, which knowledge of stacks it is, and whether that of objects is used.
        self._reasons = (0, 0, False)
        # What they may have left.
        self.weighing = Weighing(ssa)
        # The accesses to memory that only one function writes while it runs.
        self.owned = PrivateAccesses(ssa)
        # What is below SP, and what no pointer leads to, where that may be relied on.
        self.dead_stack: Optional[DeadStack] = None
        self.object_bounds: Optional[ObjectBounds] = None
        # Links that hold for such a reason alone, with the kind of their constraints.
        self.grounds: Dict[Pair, int] = {}
        # The bytes that they link, by their addresses.
        self._claimed: Dict[Pair, Tuple[int, ...]] = {}
        # By the later access and byte of a link that was looked for: the older access, what was in the way, and how
        # many objects were known to have stacks.
        self._barriers: Dict[Tuple[int, int], Tuple[int, int, int]] = {}
        # The grounds by which all stores from one on miss bytes: that store, the word, the object in it.
        self._cleared: List[Ground] = []
        self._cleared_piece = (_NOWHERE, 0, 0)
        # The store that was in the way last; any that is will do to wait for.
        self._newest = _NOWHERE
        # The links for which stores to unknown addresses are supposed to miss; None where they are not.
        self.wanted: Optional[Container[Pair]] = None
        # How many of them may lie between.
        self.reach: int = SCAN
        # Links that such stores lie between: the older access or FIRST, the later one or the end, the byte.
        self.supposed: List[Tuple[int, int, int]] = []

    def copy(self, cells: Cells) -> "MayAlias":
        """Copy it, to be changed on its own.

        :param cells: That one's.
        """
        made = MayAlias(self._ssa, cells, self.unresolved)
        made.weighing, made.owned = self.weighing.copy(), self.owned
        made.dead_stack, made.object_bounds = self.dead_stack, self.object_bounds
        made._reasons, made._newest = self._reasons, self._newest
        made.wanted, made.reach = self.wanted, self.reach
        made.grounds, made.supposed = dict(self.grounds), list(self.supposed)
        made._claimed = dict(self._claimed)
        made.gone, made._far = list(self.gone), set(self._far)
        made._barriers = {}
        return made

    def remove(self, number: int) -> None:
        """Remove a store whose address became known, or that did not run."""
        del self.unresolved[bisect_left(self.unresolved, number)]
        self._is_unresolved[number] = False
        self.gone.append(number)

    def has_new_reasons(self) -> bool:
        """Check whether frames or stacks became known since the last time.

        Any store may miss for that reason then.
        """
        dead = self.dead_stack
        stacks = 0 if dead is None else dead.look()
        if self.object_bounds is not None:
            self.object_bounds.look()
        before, self._reasons = self._reasons, (self.owned.located(), stacks, self.object_bounds is not None)
        return before != self._reasons

    def is_open(self, number: int, fewer: bool, grew: bool) -> bool:
        """Check whether a barrier may have gone without news of its address.

        :param fewer: Whether some of these stores have gone.
        :param grew: Whether anything has become known.
        """
        return fewer and number in self._far or grew and self.weighing.is_sum(self._ssa.accesses[number].address)

    def first(self, older: int, later: int, byte: int, grounds: Sequence[Ground] = ()) -> Tuple[int, bool]:
        """Find the first store between two accesses that may alias a byte.

        :param older: FIRST or -1 for the beginning.
        :param later: As many as there are accesses for the end.
        :param grounds: Why stores may be taken to miss, where links are supposed.
        :returns: The store, or -1; and whether any store to an unknown address was supposed to miss.
        """
        unresolved = self.unresolved
        low = bisect_left(unresolved, older + 1)
        high = bisect_left(unresolved, later)
        if high - low > SCAN:
            self._far.add(unresolved[low])
            return unresolved[low], False
        if self.wanted is not None and (older, later) in self.wanted:
            return self._first_supposed(unresolved[low:high], byte, grounds)
        for number in unresolved[low:high]:
            if self.may_write(number, byte):
                return number, False
        return _NOWHERE, False

    def newest_before(self, later: int) -> int:
        """Give the newest of these stores before an access; there is one."""
        return self.unresolved[bisect_left(self.unresolved, later) - 1]

    def _first_supposed(self, stores: List[int], byte: int, grounds: Sequence[Ground]) -> Tuple[int, bool]:
        # The same where all stores are supposed to miss, but those that may change any memory, and too many.
        for number in self._anywhere:
            if stores and stores[0] <= number <= stores[-1] and self._is_unresolved[number]:
                return number, False
        mask, accesses = self._domain.mask, self._accesses
        for number in stores:
            # It hits, and has not been placed yet.
            if mask[accesses[number].address] == MASK and self.may_write(number, byte):
                return number, False
        is_few, supposed, first, count = len(stores) <= self.reach, False, _NOWHERE, 0
        for number in stores:
            if not self.may_write(number, byte):
                continue
            if is_few:
                return _NOWHERE, True
            supposed = True
            if not ground_of(number, byte, grounds):
                first = number if first < 0 else first
                count += 1
                if count > self.reach:
                    return first, False
        return _NOWHERE, supposed

    def first_of_link(
        self, older: int, later: int, byte: int, grounds: List[Ground], is_supposed: bool = False
    ) -> Tuple[int, bool]:
        """Find the first possible alias between two accesses to be linked.

        Others miss what only one function writes, what is below SP, and objects to which no pointer leads.

        :param grounds: As :meth:`grounds_between` gives them.
        :param is_supposed: Whether the byte before it is linked to the same by supposition: then it is, too.
        """
        if is_supposed:
            return _NOWHERE, True
        unresolved = self.unresolved
        is_wanted = self.wanted is not None and (older, later) in self.wanted
        newest = self._newest
        if 0 <= newest < later and older < newest and self._is_unresolved[newest] and not is_wanted:
            # What is in the way of one byte is in that of others.
            if not ground_of(newest, byte, grounds) and self.may_write(newest, byte):
                return newest, False
        low = bisect_left(unresolved, older + 1)
        if low == len(unresolved) or unresolved[low] >= later:
            return _NOWHERE, False
        if not is_wanted:
            # Addresses become known in the order of the accesses: what waits for a late one is looked at less often.
            last = unresolved[bisect_left(unresolved, later, low) - 1]
            if last != newest and not ground_of(last, byte, grounds) and self.may_write(last, byte):
                return last, False
        if grounds and not is_wanted:
            barrier = self._still_blocked(older, later, byte, grounds)
            if barrier >= 0:
                return barrier, False
        barrier, supposed = self.first(older, later, byte, grounds)
        if not grounds or barrier < 0 and not supposed:
            self._newest = barrier
            return barrier, supposed
        # Those before the barrier miss without a ground, unless they are supposed to.
        number = self._without_ground(older, older + 1 if is_wanted else barrier, later, byte, grounds)
        return (barrier, True) if supposed and number >= 0 else (number, False)

    def _without_ground(self, older: int, since: int, later: int, byte: int, grounds: List[Ground]) -> int:
        # The first possible alias from an access on that no ground lets miss; notes the ground where there is none.
        bounds = self.object_bounds
        piece = since, byte & ~3, 0 if bounds is None else bounds.object_at(byte)
        if grounds is self._cleared and piece == self._cleared_piece:
            # Grounds are the same for the bytes of an object in one word, as SP is a multiple of 4.
            return _NOWHERE
        ground, is_clear = 0, True
        for number in self.unresolved[bisect_left(self.unresolved, since) : bisect_left(self.unresolved, later)]:
            kind = ground_of(number, byte, grounds)
            if kind:
                ground = max(ground, kind)
            elif self.may_write(number, byte):
                self._barriers[later, byte] = older, number, self._stacked()
                self._newest = number
                return number
            else:
                is_clear = False
        if is_clear:
            self._cleared, self._cleared_piece = grounds, piece
        if ground:
            self.grounds[older, later] = max(ground, self.grounds.get((older, later), 0))
        return _NOWHERE

    def _still_blocked(self, older: int, later: int, byte: int, grounds: List[Ground]) -> int:
        # The first possible alias, if there was one before; that is no older one now, as knowledge only grows.
        before = self._barriers.get((later, byte))
        if before is None or before[0] != older or before[2] != self._stacked():
            return _NOWHERE
        unresolved = self.unresolved
        for at in range(bisect_left(unresolved, before[1]), bisect_left(unresolved, later)):
            number = unresolved[at]
            if not ground_of(number, byte, grounds) and self.may_write(number, byte):
                self._barriers[later, byte] = older, number, before[2]
                return number
        return _NOWHERE

    def _stacked(self) -> int:
        # In how many objects stacks lie: these are in reach.
        return 0 if self.object_bounds is None else self.object_bounds.stacked

    def grounds_between(self, older: int, later: int) -> List[Ground]:
        """List why stores between two accesses may be taken to miss."""
        return grounds_between(older, later, self.owned, self.dead_stack, self.object_bounds)

    def _may_own(self, one: int, other: int) -> bool:
        # Whether an access may reach the frame that another one is to.
        return not FrameGround(one, self.owned, self.object_bounds).misses(other, 0)

    def ground(self, older: int, later: int, address: int, count: int) -> int:
        """Give the kind of constraint that links bytes of two accesses."""
        kind = self.grounds.get((older, later), ConstraintKind.LINK)
        if kind != ConstraintKind.LINK:
            self._claimed[older, later] = self._claimed.get((older, later), ()) + tuple(range(address, address + count))
        return kind

    def may_hit(self, number: int, address: int, size: int) -> bool:
        """Check whether an access may reach a piece of memory."""
        return any(self.may_write(number, byte) for byte in range(address, address + size))

    def may_write(self, number: int, byte: int) -> bool:
        """Check whether an access may reach a byte."""
        access = self._accesses[number]
        address, size = access.address, access.size
        if not size:
            return True
        domain = self._domain
        known = domain.mask[address]
        if known == MASK:
            low, span = domain.bits[address], 0
        else:
            root = domain.root[address]
            low, span = (domain.low[root] + domain.offset[address]) & MASK, domain.span[root]
        if span + size <= MASK and (byte - low) & MASK >= span + size:
            return self._bit_band and low < BIT_BAND[1] and BIT_BAND[0] <= low + span
        if self._bit_band:
            return True
        # The bits that are known of an address, and what it is the sum of, must allow it to touch the byte.
        if known:
            bits = domain.bits[address]
            for start in range(byte - size + 1, byte + 1):
                if not (start ^ bits) & known and (start - low) & MASK <= span:
                    break
            else:
                return False
        if known == MASK or self.wanted is not None or not self.weighing.is_sum(address):
            return True
        return self.weighing.may_be(address, range(byte - size + 1, byte + 1))

    @property
    def weighs(self) -> bool:
        """Whether possible contents are weighed.

        A store to a bit's alias may change one bit of a byte.
        """
        return self.wanted is None and not self._ssa.rules.bit_band

    def weigh(self, found: Found, until: int) -> Tuple[int, List[Constraint]]:
        """Weigh found bytes against what stores may have left.

        :param until: The access that found them, or as many as there are for the end.
        :returns: The oldest access whose change may change the result, and constraints.
        """
        groups: Dict[Tuple[int, int], int] = {}
        unsure: Set[int] = set()
        oldest = until
        for index in range(found.size):
            if found.wanted >> 8 * index & 1:
                source, distance = self._cells.certain(until, found.address + index, unsure)
                groups[source, distance - index] = groups.get((source, distance - index), 0) | 0xFF << 8 * index
        constraints: List[Constraint] = []
        for (source, distance), wanted in groups.items():
            low, high = bisect_left(self.unresolved, source + 1), bisect_left(self.unresolved, until)
            if source < 0 or high - low > SCAN:
                oldest = min(oldest, until if source < 0 else source)
                continue
            between = self.unresolved[low:high] + [number for number in unsure if source < number < until]
            between.sort(reverse=True)
            part = Found(found.data, found.address, found.size, wanted)
            constraint, looked = self.weighing.weigh(part, until, source, -8 * distance, between)
            constraints += [constraint] if constraint is not None else []
            oldest = min(oldest, looked)
        return oldest, constraints

    def stores_to(self, older: int, later: int, byte: int) -> List[int]:
        """List the stores between two accesses that may have written a byte.

        Only those of known address.
        """
        stores = [other for other in self._cells.between(older, later, byte) if self._accesses[other].store]
        return [other for other in stores if self._cells.touches(other, byte) >= 0 and self._may_have_run(other)]

    def _may_have_run(self, number: int) -> bool:
        condition = self._ssa.accesses[number].condition
        return self._domain.mask[condition] != MASK or bool(self._domain.bits[condition])

    def trespassed(self) -> Set[Tuple[int, int]]:
        """List the grounds of links between which others wrote; see :meth:`claim`."""
        found: Set[Tuple[int, int]] = set()
        accesses, domain = self._ssa.accesses, self._domain
        for (source, number), kind in self.grounds.items():
            if source < 0 and number == len(accesses):
                continue
            known = accesses[source if source >= 0 else number]
            address = domain.bits[known.address]
            for byte in self._claimed.get((source, number), range(address, address + known.size)):
                for other in self.stores_to(source, number, byte):
                    if kind != ConstraintKind.OWNED or not self._may_own(source, other):
                        found.add(self.claim(kind, source, number))
        return found

    def claim(self, kind: int, older: int, later: int) -> Tuple[int, int]:
        """Give what the ground of a link claims.

        :param kind: The ground.
        :returns: The ground, and the access to the frame or the number of the object; 0 for dead stack.
        """
        if kind == ConstraintKind.OUT_OF_REACH and self.object_bounds is not None:
            address = self._ssa.accesses[older if older >= 0 else later].address
            return kind, self.object_bounds.object_at(self._domain.bits[address])
        return kind, older if kind == ConstraintKind.OWNED else 0
