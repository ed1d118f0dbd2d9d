"""Last writers: which store alone can have left what was found.

A load, or a word at the end, has what an older access had there, or what a store of unknown address has left since.
Each of them is tried by itself.  Where all but one contradict something, it is that one.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Container, Final, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.cells import FIRST, UNSURE
from gdb_etm.recovery.memory.may_alias import Pair
from gdb_etm.recovery.memory.overlaps import Found, candidates
from gdb_etm.recovery.memory.supposed_links import SupposedLinks
from gdb_etm.recovery.solve.blame import Blame
from gdb_etm.recovery.solve.propagation import Propagation, Saved

# Stores that are tried for one read, and of unknown address between it and what was there before.
_STORES: Final = 4
_BETWEEN: Final = 40
# Reads that are found out at a time.
_READS: Final = 60
# Links that something rests on, where all are of interest.
_ALL: Final = 1000
_WORD: Final = 4
_WHOLE: Final = 15
# What was there before, in place of a store.
_OLDER: Final = -1
_NOTHING: Final[FrozenSet[Pair]] = frozenset()


class _Read(NamedTuple):
    # What a load found, or what is there at the end: a variable, and its value.
    data: int
    value: int
    address: int
    size: int
    # The access that had it before, and the load; or as many as there are accesses.
    pair: Pair

    @property
    def key(self) -> Tuple[int, int]:
        return self.pair[1], self.address

    @property
    def mask(self) -> int:
        return (1 << 8 * self.size) - 1


class LastWriters:
    """Finds the stores.

    :param propagation: Of the segment, before anything is supposed.
    :param blame: Finds what contradictions rest on.
    :param since: Stores from this access on are looked for.
    :param until: From this access on, hardly anything more becomes known.
    """

    def __init__(self, propagation: Propagation, blame: Blame, since: int, until: int) -> None:
        self._propagation = propagation
        self._ssa = propagation.ssa
        self._blame = blame
        self._before: Saved = propagation.save()
        self.since = since
        self._end = len(propagation.ssa.accesses)
        self._until = min(until, self._end)
        # Links that may be taken for true, and that are not.
        self._supposed: Container[Pair] = _NOTHING
        self._fallen: Container[Pair] = _NOTHING
        self._refuted: Set[Pair] = set()
        # The reads that were weighed, and those of them that may be of what was there before.
        self._weighed: Set[Tuple[int, int]] = set()
        self._open: List[_Read] = []
        # Links that cannot all be true.
        self._conflicts: List[Set[Pair]] = []
        # Words, and later loads, that have what was there before the later accesses.
        cells = propagation.memory.cells
        self._words = [word for word in cells.touched if cells.source(self._end, word)[0] < self._until]
        self._later = [one for one in range(self._end - 1, self._until - 1, -1) if self._is_of_before(one)]

    def _is_of_before(self, number: int) -> bool:
        access, memory = self._ssa.accesses[number], self._propagation.memory
        if access.store or not access.size or self._ssa.domain.mask[access.address] != MASK:
            return False
        source, _ = memory.cells.source(number, self._ssa.domain.bits[access.address])
        return source < self._until and not self._is_linked(number)

    def _is_linked(self, number: int) -> bool:
        return self._propagation.memory.linked[number] == (1 << self._ssa.accesses[number].size) - 1

    def look(self, supposed: Container[Pair], fallen: Container[Pair]) -> List[Set[Pair]]:
        """Take what follows for stores, until nothing more does.

        :param supposed: Links that may be taken for true where stores may have left the same.
        :param fallen: Links that are taken for false.
        :returns: Links that cannot all be true, each time that nothing can have left what was found.
        :raises Contradiction: What follows contradicts something.
        """
        self._supposed, self._fallen, self._refuted, self._conflicts = supposed, fallen, set(), []
        for _ in range(_READS):
            self._weighed, self._open = set(), []
            while self._weigh_all():
                self._propagation.settle()
            self._propagation.run()
            if not any(self._keeps(read) for read in self._open):
                break
        return self._conflicts

    def _weigh_all(self) -> bool:
        # Places the next store that alone can have left what was found; gives whether there was one.
        for read in self._reads():
            stores = self._stores(read) if read.key not in self._weighed else []
            if not stores:
                continue
            self._weighed.add(read.key)
            left = self._surviving(read, stores)
            if len(left) > 1:
                self._open += [read] if _OLDER in left else []
            elif left and (left[0] != _OLDER or self._may_keep(read)):
                self._settle_on(read, left[0])
                return True
        return False

    def _reads(self) -> Iterator[_Read]:
        # Reads of what stores of unknown address may have left, newest first, the end before all.
        unresolved = self._propagation.memory.may_alias.unresolved
        at = bisect_left(unresolved, self.since)
        if at == len(unresolved):
            return
        oldest, accesses = unresolved[at], self._ssa.accesses
        mask, bits = self._ssa.domain.mask, self._ssa.domain.bits
        known = [one for one in range(max(self.since, 0), self._until) if mask[accesses[one].address] == MASK]
        words = {*self._words, *[bits[accesses[one].address] & ~3 for one in known]}
        left = [read for read in map(self._left_at_end, words) if read is not None]
        yield from sorted(left, key=lambda read: read.pair[0], reverse=True)
        for number in self._later + known[::-1]:
            read = self._loaded(number) if number > oldest else None
            if read is not None:
                yield read

    def _left_at_end(self, word: int) -> Optional[_Read]:
        memory = self._propagation.memory
        value = memory.final_word(word)
        source = self._source(self._end, word, _WORD)
        if value is None or source < 0 or memory.ended.get(word, 0) == _WHOLE:
            return None
        return _Read(self._ssa.constant(value), value, word, _WORD, (source, self._end))

    def _loaded(self, number: int) -> Optional[_Read]:
        access, domain = self._ssa.accesses[number], self._ssa.domain
        full = (1 << 8 * access.size) - 1
        if access.store or not access.size or domain.mask[access.data] & full != full or self._is_linked(number):
            return None
        address = domain.bits[access.address]
        source = self._source(number, address, access.size)
        read = _Read(access.data, domain.bits[access.data] & full, address, access.size, (source, number))
        return read if source >= FIRST else None

    def _source(self, number: int, address: int, size: int) -> int:
        # The access that had all bytes before, and no others; less than FIRST where that is none.
        cells, accesses = self._propagation.memory.cells, self._ssa.accesses
        source, _ = cells.source(number, address)
        if source >= 0 and accesses[source].size != size:
            return UNSURE
        each = [(source, index if source >= 0 else 0) for index in range(size)]
        is_whole = all(cells.source(number, address + index) == one for index, one in enumerate(each))
        return source if is_whole else UNSURE

    def _stores(self, read: _Read) -> Sequence[int]:
        # The few that may have left what was found; nothing where there may be others.
        source, number = read.pair
        unresolved = self._propagation.memory.may_alias.unresolved
        between = unresolved[bisect_left(unresolved, source + 1) : bisect_left(unresolved, number)][::-1]
        if not between or len(between) > _BETWEEN:
            return ()
        found, looked = candidates(self._ssa, between, Found(read.data, read.address, read.size, read.mask))
        if found is None or looked < len(between):
            return ()
        accesses = self._ssa.accesses
        # Stores are aligned to their size.
        hits = [(store, shift) for _, _, shift, store in found if not (shift >> 3) % accesses[store].size]
        if any([shift or accesses[store].size != read.size or store < self.since for store, shift in hits]):
            return ()
        return [store for store, _ in hits] if len(hits) <= _STORES else ()

    def _surviving(self, read: _Read, stores: Sequence[int]) -> List[int]:
        # What contradicts nothing of it; at most two.  Notes what cannot all be true where nothing is left.
        options = [_OLDER, *stores] if read.pair not in self._fallen and read.pair not in self._refuted else stores
        saved, hidden = self._propagation.save(), self._overwritten()
        left: List[int] = []
        for store in options:
            if self._against(read, store, hidden, saved) is None:
                left.append(store)
            if len(left) > 1:
                break
        if not left:
            against = [self._against(read, store, hidden, saved, True) or set() for store in options]
            self._conflicts.append(self._rests(read).union(*against))
        return left

    def _against(
        self, read: _Read, store: int, hidden: Set[Pair], saved: Saved, is_blamed: bool = False
    ) -> Optional[Set[Pair]]:
        # The links that a store would contradict, where they are to be found; None if it contradicts nothing.
        propagation = self._propagation
        found: Optional[Set[Pair]] = None
        try:
            self._take(read, store)
            propagation.memory.may_alias.wanted = _NOTHING
            propagation.settle()
            found = self._overwritten() - hidden or None
        except Contradiction as contradiction:
            found = self._blame.of(contradiction, True) if is_blamed else set()
            found -= {read.pair, (store, read.pair[1])}
        propagation.restore(saved)
        return found

    def _overwritten(self) -> Set[Pair]:
        return SupposedLinks(self._propagation.memory.may_alias).overwritten()

    def _rests(self, read: _Read) -> Set[Pair]:
        # The links that the read itself rests on.
        number = read.pair[1]
        if number == self._end:
            return set()
        access = self._ssa.accesses[number]
        return {
            one
            for variable in (access.address, access.data)
            for one in self._blame.recent(variable, self._before, _ALL)
        }

    def _take(self, read: _Read, store: int) -> None:
        # Takes it that a store has left what was found, or that it was there before.
        ssa = self._ssa
        source, number = read.pair
        if store != _OLDER:
            access, pair = ssa.accesses[store], (store, number)
            ssa.number = access.number
            ssa.learn(access.condition, 1, 1, Premise.LOCATED, pair)
            ssa.learn(access.address, MASK, read.address, Premise.LOCATED, pair)
            ssa.learn(access.data, read.mask, read.value, Premise.LOCATED, pair)
        elif source >= 0 and number == self._end:
            ssa.number = ssa.accesses[source].number
            ssa.learn(ssa.accesses[source].data, MASK, read.value, Premise.SUPPOSED_STORED, read.pair)
        elif source >= 0:
            ssa.number = ssa.accesses[number].number
            ssa.add((ConstraintKind.SUPPOSED, read.data, ssa.accesses[source].data, 0, 0, 8 * read.size) + read.pair)

    def _settle_on(self, read: _Read, store: int) -> None:
        # The same, when it is to stay.
        self._take(read, store)
        if store == _OLDER:
            memory = self._propagation.memory
            memory.linked[read.pair[1]] = (1 << read.size) - 1
            memory.may_alias.supposed += [read.pair + (read.address + index,) for index in range(read.size)]

    def _may_keep(self, read: _Read) -> bool:
        # Whether a load may be linked to what was there before, whose address has become known.
        source, number = read.pair
        if source < 0 or number == self._end or read.pair in self._refuted or read.pair not in self._supposed:
            return False
        return self._source(number, read.address, read.size) == source and not self._is_linked(number)

    def _keeps(self, read: _Read) -> bool:
        # Links a load to what was there before, where stores may have left it as well; gives whether it can be.
        if not self._may_keep(read):
            return False
        propagation = self._propagation
        saved = propagation.save()
        try:
            self._settle_on(read, _OLDER)
            propagation.run()
        except Contradiction as contradiction:
            blamed = self._blame.of(contradiction, True)
            propagation.restore(saved)
            self._refuted.add(read.pair)
            self._conflicts.append(blamed | {read.pair})
            return False
        return True
