"""Store forwarding: links between accesses to the same bytes of RAM.

Between the two there may be barriers: stores whose address is unknown.  A load that waits for a barrier is looked at
again when more is known of that barrier.
"""

from __future__ import annotations

from typing import Callable, Container, Dict, Final, Iterator, List, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.domain import Domain
from gdb_etm.recovery.constraints.graph import Premise
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.memory.cells import BLOCKED, FIRST, UNSURE, Cells, LinkedByte, aliased, goes_on, runs_of, within
from gdb_etm.recovery.memory.changes import AccessNews
from gdb_etm.recovery.memory.grounds import STILL_THERE
from gdb_etm.recovery.memory.may_alias import MayAlias
from gdb_etm.recovery.memory.misses import Ground
from gdb_etm.recovery.memory.overlaps import Found, wide
from gdb_etm.recovery.memory.waiting import WaitingBytes
from gdb_etm.recovery.ssa.trace_ssa import MemoryAccess, TraceSsa

# Gives the word at an aligned address, if known.
Reader = Callable[[int], Optional[int]]
# Accesses looked at between two calls of a progress function.
_INTERVAL: Final = 1 << 8


class StoreForwarding:
    """Links the accesses of a segment with each other and its ends.

    :param ssa: The variables of the segment; constraints are added to it.
    :param begin: Words of RAM before the first access.
    :param end: Words of RAM after the last one.
    :param readable: Tells whether there is memory at an aligned address; None: where the end has a word.
    :param other: Is copied.
    """

    def __init__(
        self,
        ssa: TraceSsa,
        begin: Optional[Reader],
        end: Optional[Reader],
        readable: Optional[Callable[[int], bool]] = None,
        other: Optional["StoreForwarding"] = None,
    ) -> None:
        self._ssa = ssa
        self._domain: Domain = ssa.domain
        self._begin = begin
        self._end = end
        self._readable = readable
        # The accesses whose address is known.
        self.cells: Cells = Cells(ssa) if other is None else other.cells.copy()
        # The stores whose address is not.
        self.may_alias: MayAlias = MayAlias(ssa, self.cells) if other is None else other.may_alias.copy(self.cells)
        # Accesses whose address is known, or which did not run.
        self.resolved = bytearray(len(ssa.accesses))
        # Bytes of each load that are linked, a bit for each.
        self.linked = bytearray(len(ssa.accesses))
        # Bytes of each word that are linked to the end.
        self.ended: Dict[int, int] = {}
        self._waiting = WaitingBytes()
        # The barrier that a load's bytes wait for.
        self.blocked: Dict[int, int] = {}
        self._changes: AccessNews = AccessNews(ssa) if other is None else other._changes.copy()
        # Accesses that have news.
        self.news: List[int] = []
        # Pairs of accesses that are not linked, whatever is supposed.
        self.forbidden: Container[Tuple[int, int]] = frozenset()

    def copy(self) -> "StoreForwarding":
        """Copy it, to be changed on its own."""
        made = StoreForwarding(self._ssa, self._begin, self._end, self._readable, self)
        made.resolved, made.linked = bytearray(self.resolved), bytearray(self.linked)
        made.ended, made.news = dict(self.ended), list(self.news)
        made._waiting = self._waiting.copy()
        made.blocked, made.forbidden = dict(self.blocked), self.forbidden
        return made

    def final_word(self, word: int) -> Optional[int]:
        """Give a word as it is at the end, if known.

        :param word: An aligned address.
        """
        return self._end(word) if self._end is not None else None

    def is_readable(self, word: int) -> bool:
        """Check whether there is memory at an aligned address, known or not."""
        return self.final_word(word) is not None if self._readable is None else self._readable(word)

    def reveal(self, end: Reader) -> None:
        """Take more words to be known at the end."""
        before, self._end = self._end, end
        for word, touched in list(self.cells.touched.items()):
            if end(word) is not None and (before is None or before(word) is None):
                self.ended.pop(word, None)
                self._connect_end(word, touched)

    def relink(self, number: int) -> None:
        """Link a load again, whose links were taken back."""
        if self.resolved[number]:
            self._connect(number)

    def work(self, progress: Optional[Callable[[int], None]] = None) -> bool:
        """Link the accesses that have news; gives whether there were any.

        :param progress: Called now and then with the number of accesses looked at; what it raises ends the work.
        """
        if not self.news:
            return False
        news, self.news = self.news, []
        accesses = self._ssa.accesses
        # First what is left of stores, as a proof is shorter without the loads in between.
        self._place([number for number in news if accesses[number].store], progress)
        self._place([number for number in news if not accesses[number].store], progress)
        return True

    def source_of(self, number: int) -> Optional[int]:
        """Find the access that a load's first byte comes from, if any."""
        source, _ = self.cells.source(number, self._domain.bits[self._ssa.accesses[number].address])
        return source if source >= 0 else None if source == FIRST else UNSURE - source

    def before(self, number: int, byte: int) -> Tuple[int, int]:
        """Find a byte's previous value before an access, or at the end.

        :param number: Of the access; as many as there are for the end.
        :returns: The access, FIRST, or BLOCKED and by which access; and which byte of it.
        """
        source, distance = self.cells.source(number, byte)
        if source < FIRST:
            return BLOCKED, UNSURE - source
        barrier, _ = self.may_alias.first(source, number, byte)
        return (BLOCKED, barrier) if barrier >= 0 else (source, distance)

    def after(self, number: int, byte: int) -> Tuple[int, int]:
        """Find a later access to an unchanged byte; LAST, or as :meth:`before`."""
        accesses = self._ssa.accesses
        target, distance = self.cells.target(number, byte)
        if target >= 0 and accesses[target].store:
            return BLOCKED, target
        barrier, _ = self.may_alias.first(number - 1, target if target >= 0 else len(accesses), byte)
        return (BLOCKED, barrier) if barrier >= 0 else (target, distance)

    def look_again(self) -> bool:
        """Look again at what waits for stores of which more is known.

        Intervals get narrower without a notice.

        :returns: Whether there may be anything new.
        """
        may_alias = self.may_alias
        moved, told, grew = self._changes.look()
        gone, may_alias.gone = may_alias.gone, []
        barriers = self._waiting.barriers()
        all_ = may_alias.has_new_reasons()
        self.news += [one for one in barriers if all_ or one in moved or may_alias.is_open(one, bool(gone), grew)]
        if may_alias.weighs:
            for what in self._waiting.due(told, sorted(moved.union(told, gone)), len(self._ssa.accesses)):
                self._weigh(what)
        return bool(self.news or self._domain.queue)

    def look_at_everything(self, since: int = FIRST) -> None:
        """Look again at all that waits, from one store on."""
        self.news += [one for one in self._waiting.barriers() if one >= since]
        self._waiting.all_have_news()

    def _place(self, news: Sequence[int], progress: Optional[Callable[[int], None]]) -> None:
        # All of them first: what is linked to one would find the next in its way.
        fresh: Set[int] = set()
        for number in _watched(news, progress):
            self._look(number, fresh)
            fresh.update(self._waiting.take(number))
        for other in _watched(sorted(fresh), progress):
            if other < 0:
                self._connect_end(~other, self.cells.touched[~other])
            else:
                self._connect(other)

    def _look(self, number: int, fresh: Set[int]) -> None:
        # Places an access; adds the loads and ends to be linked again for it.
        access = self._ssa.accesses[number]
        mask = self._domain.mask
        if not self.resolved[number]:
            if mask[access.condition] == MASK and not self._domain.bits[access.condition]:
                # It did not run.
                self.resolved[number] = 1
                if access.store:
                    self.may_alias.remove(number)
            elif access.size and mask[access.address] == MASK:
                self._resolve(number, access, fresh)

    def _resolve(self, number: int, access: MemoryAccess, fresh: Set[int]) -> None:
        self.resolved[number] = 1
        address, ssa = self._domain.bits[access.address], self._ssa
        if access.store:
            self.may_alias.remove(number)
            byte = aliased(address) if ssa.rules.bit_band else -1
            if byte >= 0:
                # It changes the byte in a way that is not followed: it is a store of unknown data.
                self._insert(byte & ~3, number, 1 << (byte & 3), fresh)
                return
        elif self._is_constant(number, access, address):
            return
        if not ssa.is_ram(address, access.size) or ssa.is_volatile(address, access.size):
            return
        for word in range(address & ~3, address + access.size, 4):
            self._insert(word, number, within(address, access.size, word), fresh)
        if not access.store:
            fresh.add(number)

    def _is_constant(self, number: int, access: MemoryAccess, address: int) -> bool:
        known = self._ssa.read_constant(address, access.size)
        if known is not None:
            self._ssa.learn(access.data, MASK, known, Premise.MEMORY, (number, number))
        return known is not None

    def _insert(self, word: int, number: int, touched: int, fresh: Set[int]) -> None:
        following = self.cells.insert(word, number, touched)
        cell = self.cells.words[word]
        accesses, linked, domain = self._ssa.accesses, self.linked, self._domain
        for position in range(following, len(cell)):
            other = cell[position]
            access = accesses[other]
            covered = touched & within(domain.bits[access.address], access.size, word)
            if not access.store:
                if covered and linked[other] != (1 << access.size) - 1:
                    self._waiting.has_news(other)
                    fresh.add(other)
            elif domain.mask[access.condition] != MASK or not domain.bits[access.condition]:
                # It did not run, or nobody knows.
                continue
            touched &= ~covered
            if not touched:
                return
        self._waiting.has_news(~word)
        fresh.add(~word)

    def _connect(self, number: int) -> None:
        # Link the bytes of a load with what had them before.
        access = self._ssa.accesses[number]
        address = self._domain.bits[access.address]
        linked = self.linked[number]
        found: List[LinkedByte] = []
        hidden, supposes = 0, self.may_alias.wanted is not None
        self.blocked.pop(number, None)
        whole, start = self.cells.whole(number, address, access.size)
        grounds: List[Ground] = []
        of_grounds = BLOCKED
        for index in range(access.size):
            if linked >> index & 1:
                continue
            byte = address + index
            source, distance = (whole, start + index) if whole >= 0 else (whole, 0)
            if whole == BLOCKED:
                source, distance = self.cells.source(number, byte)
            if source < FIRST:
                self._waiting.wait(UNSURE - source, number)
                hidden |= 1 << index
                continue
            if source != of_grounds:
                grounds, of_grounds = self.may_alias.grounds_between(source, number), source
            is_supposed = goes_on(found, index, source)
            barrier, supposed = self.may_alias.first_of_link(source, number, byte, grounds, is_supposed)
            if barrier >= 0:
                self._waiting.wait(barrier, number)
                self.blocked[number] = barrier
                # Links are supposed for all bytes together.
                hidden |= ((1 << access.size) - (1 << index) if supposes else 1 << index) & ~linked
                if supposes:
                    break
                continue
            if supposed and (source, number) in self.forbidden:
                self._waiting.wait(self.may_alias.newest_before(number), number)
                continue
            if source == FIRST and self._begin is None or (source, number) in self._ssa.unlinked:
                continue
            found.append((index, source, distance, supposed))
            linked |= 1 << index
        self.linked[number] = linked
        for run in runs_of(found):
            self._link(number, access, address, run)
        self._waiting.hide(number, hidden if access.size <= 4 else 0)

    def _link(self, number: int, access: MemoryAccess, address: int, run: List[LinkedByte]) -> None:
        index, source, distance, _ = run[0]
        supposed = any([one[3] for one in run])
        for one in run:
            if one[3]:
                self.may_alias.supposed.append((source, number, address + one[0]))
        if source == FIRST:
            why = Premise.SUPPOSED if supposed else Premise.MEMORY
            self._tie(access, run, address, self._begin, why, (source, number))
            return
        other = self._ssa.accesses[source]
        self._ssa.number = access.number
        kind = ConstraintKind.SUPPOSED if supposed else self.may_alias.ground(source, number, address + index, len(run))
        field = (8 * index, 8 * distance, 8 * len(run))
        self._ssa.add((kind, access.data, other.data) + field + (source, number))

    def _weigh(self, what: int) -> None:
        # Bytes that were found are those of an older access, or those of one of the stores in between.
        ssa = self._ssa
        wanted, until = wide(self._waiting.hidden[what]), what if what >= 0 else len(ssa.accesses)
        if what >= 0:
            access = ssa.accesses[what]
            found = Found(access.data, self._domain.bits[access.address], access.size, wanted)
            ssa.number = access.number
        else:
            value = self.final_word(~what)
            if value is None:
                self._waiting.weighed(what, until)
                return
            found = Found(ssa.constant(value), ~what, 4, wanted)
            ssa.number = 0
        since, constraints = self.may_alias.weigh(found, until)
        self._waiting.weighed(what, since)
        for constraint in constraints:
            if (constraint[-2], constraint[-1]) not in ssa.unlinked:
                ssa.add(constraint)

    def _tie(
        self,
        access: MemoryAccess,
        run: List[LinkedByte],
        address: int,
        reader: Optional[Reader],
        why: int,
        pair: Tuple[int, int],
    ) -> None:
        # Bytes of an access are those of memory at one end of the segment.
        known = bits = 0
        for index, _, _, _ in run:
            word = reader((address + index) & ~3) if reader is not None else None
            if word is not None:
                known |= 0xFF << 8 * index
                bits |= (word >> 8 * ((address + index) & 3) & 0xFF) << 8 * index
        if known:
            self._ssa.number = access.number
            self._ssa.learn(access.data, known, bits, why, pair)

    def _connect_end(self, word: int, touched: int) -> None:
        # The last access to some bytes of a word leaves what is there at the end.
        if self._end is None:
            return
        done = self.ended.get(word, 0)
        last = len(self._ssa.accesses)
        found: List[LinkedByte] = []
        hidden, supposes = 0, self.may_alias.wanted is not None
        grounds: List[Ground] = []
        of_grounds = BLOCKED
        for index in range(4):
            if done >> index & 1 or not touched >> index & 1:
                continue
            source, distance = self.cells.source(last, word + index)
            if source == FIRST:
                continue
            if source < FIRST:
                self._waiting.wait(UNSURE - source, ~word)
                hidden |= 1 << index
                continue
            if source != of_grounds:
                grounds, of_grounds = self.may_alias.grounds_between(source, last), source
            is_supposed = goes_on(found, index, source)
            barrier, supposed = self.may_alias.first_of_link(source, last, word + index, grounds, is_supposed)
            if barrier >= 0:
                self._waiting.wait(barrier, ~word)
                hidden |= (16 - (1 << index) if supposes else 1 << index) & touched & ~done
                if supposes:
                    break
                continue
            if supposed and (source, last) in self.forbidden:
                self._waiting.wait(self.may_alias.newest_before(last), ~word)
                continue
            found.append((index, source, distance, supposed))
            done |= 1 << index
        self.ended[word] = done
        for run in runs_of(found):
            self._tie_end(run, word, last)
        self._waiting.hide(~word, hidden | self._waiting.hidden.get(~word, 0) & ~touched)

    def _tie_end(self, run: List[LinkedByte], word: int, last: int) -> None:
        # Neighbouring bytes that one access has left.
        source = run[0][1]
        access = self._ssa.accesses[source]
        supposed = any([one[3] for one in run])
        self.may_alias.supposed += [(source, last, word + index) for index, _, _, one in run if one]
        kind = self.may_alias.ground(source, last, word + run[0][0], len(run))
        why = Premise.SUPPOSED_STORED if supposed else STILL_THERE[kind]
        why += int(not access.store)
        stored = [(distance, source, distance, one) for _, _, distance, one in run]
        self._tie(access, stored, self._domain.bits[access.address], self._end, why, (source, last))


def _watched(numbers: Sequence[int], progress: Optional[Callable[[int], None]]) -> Iterator[int]:
    # The same, with calls of a progress function in between.
    for index, number in enumerate(numbers, 1):
        yield number
        if progress is not None and not index % _INTERVAL:
            progress(_INTERVAL)
