"""Circles: supposed links that nothing but each other speaks for.

A link rests on where the stores between its accesses went.  That may be known by this very link alone, or by one that
rests on it in turn.  Where such a store may as well have gone to what is linked, as it would have left what was found
there, another course leads to the same halt.

A store went to where it is known to have gone if memory shows that: what was there before it, and what it left; or if
an access through the same pointer shows it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice
from typing import Callable, Dict, Final, FrozenSet, List, NamedTuple, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.domain import Knowledge
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.store_forwarding import StoreForwarding
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Links that what is known of a store rests on, in a circle.
LINKS: Final = 8
# Accesses through the same pointer that are looked at.
_MOST: Final = 60
_BYTE: Final = 0xFF
# Which bits of a byte are known, and these.
_Bits = Tuple[int, int]
_UNKNOWN: Final = (0, 0)


class Hit(NamedTuple):
    """What a store may have done instead."""

    store: int
    # Where it may have gone, and which bits it would have left there.
    address: int
    mask: int
    bits: int


class _Doubts(NamedTuple):
    # The bytes of a link, and the stores between that are in doubt.
    bytes_: Tuple[int, ...]
    stores: Sequence[int]


class Circle(NamedTuple):
    """Links that hold together, or not."""

    links: FrozenSet[Pair]
    hits: Tuple[Hit, ...]


class Circles:
    """Finds circles.

    :param ssa: With its accesses.
    :param before: What was known before links were supposed.
    :param memory: The links of the same segment then.
    :param rests: Lists the links that what has become known of a variable rests on; of many, some more than
        :data:`LINKS`.
    """

    def __init__(
        self, ssa: TraceSsa, before: Knowledge, memory: StoreForwarding, rests: Callable[[int], Set[Pair]]
    ) -> None:
        self._ssa = ssa
        self._known_before = before
        self._memory = memory
        # The stores whose address was not known.
        self._stores = memory.may_alias.unresolved
        self._rests = rests
        # By what their addresses differ from by constants, the accesses whose address is known now.
        self._members: Dict[int, List[int]] = {}
        # By class and distance, the accesses that were not so far from where they are known to be: at most two.
        self._misfits: Dict[Tuple[int, int], List[int]] = {}

    def find(self, memory: StoreForwarding, links: Set[Pair]) -> List[Circle]:
        """List the circles among links.

        They are supposed, or follow from others that are.

        :param memory: With these links, and what follows from them.
        :param links: All of them.
        """
        self._memory, self._misfits = memory, {}
        self._members = self._list_members()
        shown = {kind for kind, numbers in self._members.items() if any([self._is_shown(one) for one in numbers])}
        doubtful = [one for one in self._stores if self._is_located(one) and self._class(one) not in shown]
        doubts = self._doubts(doubtful, links)
        stores = {store for one in doubts.values() for store in one.stores}
        rests = {store: self._rests(self._ssa.accesses[store].address) for store in sorted(stores)}
        few = {store: pairs for store, pairs in rests.items() if 0 < len(pairs) <= LINKS}
        circles = [Circle(links, self._hits(links, doubts, few)) for links in _grouped(doubts, few)]
        return [one for one in circles if one.hits]

    def _hits(
        self, links: FrozenSet[Pair], doubts: Dict[Pair, _Doubts], rests: Dict[int, Set[Pair]]
    ) -> Tuple[Hit, ...]:
        # What would break a circle.
        found: Set[Hit] = set()
        for link in links:
            linked = {byte: self._found_without(links, link[1], byte) for byte in doubts[link].bytes_}
            for store in doubts[link].stores:
                found.update(self._elsewhere(store, linked) if rests.get(store, set()) & links else ())
        return tuple(sorted(found))

    def _is_located(self, number: int) -> bool:
        # Whether an access ran, and its address is known.
        domain, access = self._ssa.domain, self._ssa.accesses[number]
        ran = domain.mask[access.condition] != MASK or domain.bits[access.condition]
        return bool(access.size and ran) and domain.mask[access.address] == MASK

    def _list_members(self) -> Dict[int, List[int]]:
        kinds = {self._class(one) for one in self._stores}
        found: Dict[int, List[int]] = {}
        for number in range(len(self._ssa.accesses)):
            kind = self._class(number)
            if kind in kinds and self._is_located(number):
                found.setdefault(kind, []).append(number)
        return found

    def _class(self, number: int) -> int:
        return self._known_before.root[self._ssa.accesses[number].address]

    def _used(self, number: int, index: int) -> _Bits:
        # What was known of a byte of an access before, such as by what it was used for.
        data, shift = self._ssa.accesses[number].data, 8 * index
        return self._known_before.mask[data] >> shift & _BYTE, self._known_before.bits[data] >> shift & _BYTE

    def _address(self, number: int) -> int:
        return self._ssa.domain.bits[self._ssa.accesses[number].address]

    def _byte(self, number: int, address: int) -> _Bits:
        # What is known of a byte of an access.
        domain, data, shift = self._ssa.domain, self._ssa.accesses[number].data, 8 * (address - self._address(number))
        return domain.mask[data] >> shift & _BYTE, domain.bits[data] >> shift & _BYTE

    def _before(self, number: int, address: int) -> _Bits:
        source, _ = self._memory.cells.source(number, address)
        return self._byte(source, address) if source >= 0 else _UNKNOWN

    def _after(self, number: int, address: int) -> _Bits:
        # What was found in a byte of memory after an access.
        target, _ = self._memory.cells.target(number + 1, address)
        if target >= 0:
            return _UNKNOWN if self._ssa.accesses[target].store else self._byte(target, address)
        word = self._memory.final_word(address & ~3)
        return _UNKNOWN if word is None else (_BYTE, word >> 8 * (address & 3) & _BYTE)

    def _is_shown(self, number: int) -> bool:
        # Whether memory shows where an access was to, by what a store has changed.
        access, start = self._ssa.accesses[number], self._address(number)
        if not access.store:
            return False
        for address in range(start, start + access.size):
            before, after = self._before(number, address), self._after(number, address)
            if before[0] == after[0] == _BYTE and before[1] != after[1] and self._byte(number, address) == after:
                return True
        return False

    def _doubts(self, doubtful: Sequence[int], links: Set[Pair]) -> Dict[Pair, _Doubts]:
        # By link, the stores between that may have gone there.
        found: Dict[Pair, _Doubts] = {}
        for source, number in sorted(links):
            between = doubtful[bisect_right(doubtful, source) : bisect_left(doubtful, number)]
            linked = {byte: self._found(number, byte) for byte in self._bytes(source, number)} if between else {}
            stores = [store for store in between if self._elsewhere(store, linked)]
            if stores:
                found[source, number] = _Doubts(tuple(linked), stores)
        return found

    def _bytes(self, source: int, number: int) -> Sequence[int]:
        # The bytes that two accesses share.
        both = [one for one in (source, number) if 0 <= one < len(self._ssa.accesses)]
        if not both or not all([self._is_located(one) for one in both]):
            return ()
        last = min([self._address(one) + self._ssa.accesses[one].size for one in both])
        return range(max([self._address(one) for one in both]), last)

    def _found(self, number: int, byte: int) -> _Bits:
        # What is known of a byte that is linked without any link: by what it was used for, or at the end.
        if number == len(self._ssa.accesses):
            return self._after(number, byte)
        return self._used(number, byte - self._address(number))

    def _found_without(self, links: FrozenSet[Pair], number: int, byte: int) -> _Bits:
        # The same without some links.
        if number < len(self._ssa.accesses):
            rests = self._rests(self._ssa.accesses[number].data)
            if len(rests) <= LINKS and not rests & links:
                return self._byte(number, byte)
        return self._found(number, byte)

    def _elsewhere(self, store: int, linked: Dict[int, _Bits]) -> List[Hit]:
        # Where a store would have left what was found in the bytes of a link.
        size = self._ssa.accesses[store].size
        # A part of what is linked is not stored alone, as a rule.
        addresses = {byte - byte % size for byte in linked} if size >= len(linked) else set()
        found = [self._hit(store, address, linked) for address in sorted(addresses)]
        return [hit for hit in found if self._may_be(hit)]

    def _hit(self, store: int, address: int, linked: Dict[int, _Bits]) -> Hit:
        mask = bits = 0
        for byte, (known, value) in linked.items():
            if 0 <= byte - address < self._ssa.accesses[store].size:
                mask |= known << 8 * (byte - address)
                bits |= (value & known) << 8 * (byte - address)
        return Hit(store, address, mask, bits)

    def _may_be(self, hit: Hit) -> bool:
        domain, data = self._ssa.domain, self._ssa.accesses[hit.store].data
        if (domain.bits[data] ^ hit.bits) & domain.mask[data] & hit.mask:
            return False
        return self._may_move(hit.store, hit.address - self._address(hit.store))

    def _may_move(self, store: int, distance: int) -> bool:
        # Whether all other accesses through the same pointer may be so far from where they are known to be.
        key = self._class(store), distance
        if key not in self._misfits:
            misfits = (one for one in self._members[key[0]][-_MOST:] if not self._fits(one, distance))
            self._misfits[key] = list(islice(misfits, 2))
        return all([one == store for one in self._misfits[key]])

    def _fits(self, number: int, distance: int) -> bool:
        access, start = self._ssa.accesses[number], self._address(number)
        for address in range(start, start + access.size):
            there = [self._after(number, address + distance)]
            if access.store:
                mask, bits = self._byte(number, address)
            else:
                mask, bits = self._used(number, address - start)
                there.append(self._before(number, address + distance))
            if any([(bits ^ other) & mask & known for known, other in there]):
                return False
        return True


def _grouped(doubts: Dict[Pair, _Doubts], rests: Dict[int, Set[Pair]]) -> Set[FrozenSet[Pair]]:
    # Groups links whose doubtful stores rest on each other.
    on: Dict[Pair, Set[Pair]] = {}
    left = set(doubts)
    before = -1
    while len(left) != before:
        before = len(left)
        for link in list(left):
            on[link] = set().union(*[rests[store] & left for store in doubts[link].stores if store in rests])
            if not on[link]:
                left.discard(link)
    reached = {link: _reached(link, on) for link in left}
    found = {frozenset([other for other in reached[link] if link in reached[other]]) for link in left}
    return {links for links in found if links}


def _reached(link: Pair, on: Dict[Pair, Set[Pair]]) -> Set[Pair]:
    seen: Set[Pair] = set()
    todo = list(on[link])
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += on[one]
    return seen
