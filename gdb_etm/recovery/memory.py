"""What was loaded is what was stored: links between accesses to the same bytes of RAM.

Between the two there may be stores of which the address is not known.  Such a store is a barrier, unless it cannot have
reached those bytes.  What waits for a barrier is looked at again when more is known of that one, and of nothing else.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Callable, Dict, List, Optional, Set, Tuple

from gdb_etm.recovery.domain import Domain
from gdb_etm.recovery.graph import Fact
from gdb_etm.recovery.line import Access, Line
from gdb_etm.recovery.operations import MASK, SP
from gdb_etm.recovery.overlaps import Found, Weighing, wide
from gdb_etm.recovery.private import Owned
from gdb_etm.recovery.relations import Kind, Relation
from gdb_etm.recovery.rules import BIT_BAND

Reader = Callable[[int], Optional[int]]
"""Gives the word at an aligned address, if known."""

_SCAN = 400
# Barriers that one link looks at.
_BOUNDED = 1 << 20
_NEAR = 128
# Bytes of code that are believed to work on the same data.
_NOWHERE, _START, _UNSURE = -1, -2, -16
FIRST, LAST, BLOCKED = _START, -3, -4
"""Where a byte comes from, when it is no access: memory before the line or after it; or that is not known."""


class Memory:
    """The accesses of a line by address.

    :param line: The line; relations are added to it.
    :param begin: Words of RAM before the first access.
    :param end: Words of RAM after the last one.
    :param where: Gives the address of an instruction by its number.
    """

    def __init__(
        self, line: Line, begin: Optional[Reader], end: Optional[Reader], where: Callable[[int], int]
    ) -> None:
        self._line = line
        self._domain: Domain = line.domain
        self._begin = begin
        self._end = end
        self._where = where
        self.cells: Dict[int, List[int]] = {}
        """For each word of RAM the accesses that touch it, oldest first."""
        accesses = line.accesses
        self.unplaced: List[int] = [number for number, access in enumerate(accesses) if access.store]
        """Stores of which the address is not known, oldest first."""
        self.placed = bytearray(len(accesses))
        """Accesses of which the address is known, or which did not run."""
        self.linked = bytearray(len(accesses))
        """Bytes of each load that are linked, a bit for each."""
        self._touched: Dict[int, int] = {}
        # Bytes of each word that any access touches.
        self._ended: Dict[int, int] = {}
        # Bytes of each word that are linked to the end.
        self._waiting: Dict[int, Set[int]] = {}
        # By barrier: loads, or ~word for the end.
        self.blocked: Dict[int, int] = {}
        """The barrier that a load's bytes wait for."""
        self._weighing = Weighing(line)
        # What such barriers may have left.
        self.news: List[int] = []
        """Accesses of which more has become known."""
        self.guessing = False
        """Whether stores of which nothing is known are taken to miss."""
        self.kills: Dict[int, int] = {}
        """Addresses that such stores turned out to have."""
        self.habits: Dict[int, Set[int]] = {}
        """Words that stores of each address of the program are known to have written at other times."""
        self.forbidden: Set[Tuple[int, int]] = set()
        """Pairs of accesses that are not linked, whatever is taken."""
        self.owned = Owned(line)
        """The accesses to memory that only one function writes while it runs."""
        self.crossed: Set[Tuple[int, int]] = set()
        """Links that hold for that reason alone."""
        self.guesses: List[Tuple[int, int, int]] = []
        """Links that such stores lie between: the older access or _START, the later one or the end, the byte."""

    def copy(self) -> "Memory":
        """Make another one that goes on from here."""
        made = Memory.__new__(Memory)
        made.__dict__.update(self.__dict__)
        made.cells = {word: list(cell) for word, cell in self.cells.items()}
        made.unplaced = list(self.unplaced)
        made.placed, made.linked = bytearray(self.placed), bytearray(self.linked)
        made._ended, made._touched = dict(self._ended), dict(self._touched)
        made._waiting = {barrier: set(waiting) for barrier, waiting in self._waiting.items()}
        made.blocked, made.crossed = dict(self.blocked), set(self.crossed)
        made._weighing = self._weighing.copy()
        made.news, made.guesses = list(self.news), list(self.guesses)
        return made

    def work(self) -> bool:
        """Look at the accesses of which there are news; tell whether there were any."""
        if not self.news:
            return False
        news, self.news = self.news, []
        for number in news:
            self._look(number)
        return True

    def source_of(self, number: int) -> Optional[int]:
        """Give the access from which a load's first byte comes; None when there is none before it."""
        address = self._domain.bits[self._line.accesses[number].address]
        cell = self.cells.get(address & ~3, [])
        source, _ = self._source(cell, bisect_left(cell, number), address)
        return source if source >= 0 else None if source == _START else _UNSURE - source

    def before(self, number: int, byte: int) -> Tuple[int, int, bool]:
        """Find what a byte of memory was before an access ran, or at the end.

        :param number: Of the access; as many as there are for the end.
        :returns: The access, or one of the names below, and which byte of it; and whether only a guess says so.
        """
        cell = self.cells.get(byte & ~3, [])
        source, distance = self._source(cell, bisect_left(cell, number), byte)
        if source < _START:
            return BLOCKED, _UNSURE - source, False
        barrier, guessed = self._barrier(max(source, -1), number, byte)
        return (BLOCKED, barrier, False) if barrier >= 0 else (source, distance, guessed)

    def after(self, number: int, byte: int) -> Tuple[int, int, bool]:
        """Find a later access that has the byte that was there before an access ran; as :meth:`before`."""
        accesses = self._line.accesses
        cell = self.cells.get(byte & ~3, [])
        for position in range(bisect_left(cell, number), len(cell)):
            other = cell[position]
            distance = self._touches(other, byte)
            if distance >= 0 or accesses[other].store:
                if distance < 0 and accesses[other].store and not self._is_alias(other):
                    continue
                if accesses[other].store:
                    return BLOCKED, other, False
                barrier, guessed = self._barrier(number - 1, other, byte)
                return (BLOCKED, barrier, False) if barrier >= 0 else (other, distance, guessed)
        barrier, guessed = self._barrier(number - 1, len(accesses), byte)
        return (BLOCKED, barrier, False) if barrier >= 0 else (LAST, 0, guessed)

    def _is_alias(self, number: int) -> bool:
        address = self._domain.bits[self._line.accesses[number].address]
        return BIT_BAND[0] <= address < BIT_BAND[1]

    def learn_habits(self) -> None:
        """Remember which words the stores of each address of the program have written.

        One that has never been seen to write may have written what code near to it reaches through pointers.
        """
        habits: Dict[int, Set[int]] = {}
        reached: Dict[int, Set[int]] = {}
        line = self._line
        stacks = set(line.held[SP])
        for word, cell in self.cells.items():
            for number in cell:
                access = line.accesses[number]
                where = self._where(access.number)
                if access.store:
                    habits.setdefault(where, set()).add(word)
                if line.base(access.address) not in stacks:
                    reached.setdefault(where, set()).add(word)
        near: Dict[int, Set[int]] = {}
        for where, words in reached.items():
            if len(words) > 1:
                near.setdefault(where // _NEAR, set()).update(words)
        for number in self.unplaced:
            where = self._where(line.accesses[number].number)
            if where not in habits:
                part = where // _NEAR
                habits[where] = set().union(*[near.get(one, ()) for one in (part - 1, part, part + 1)])
        self.habits = habits

    def doubtful(self) -> bool:
        """Tell whether a guess takes it that a store missed a word that the same instruction wrote at other times."""
        for source, number, byte in self.guesses:
            low = bisect_left(self.unplaced, source + 1)
            for store in self.unplaced[low : bisect_left(self.unplaced, number)]:
                if self._is_habit(store, byte) and self._may_hit(store, byte):
                    return True
        return False

    def broken(self) -> Dict[int, int]:
        """Find the stores that turned out to have written what they were taken to miss, with their addresses."""
        found: Dict[int, int] = {}
        accesses, domain = self._line.accesses, self._domain
        late = [number for number in self.unplaced if domain.mask[accesses[number].address] == MASK]
        for source, number, byte in self.guesses:
            for cell in (self.cells[byte & ~3], late):
                for other in cell[bisect_left(cell, source + 1) : bisect_left(cell, number)]:
                    if accesses[other].store and self._touches(other, byte) >= 0 and self._may_have_run(other):
                        found[other] = domain.bits[accesses[other].address]
        return found

    def trespassed(self) -> Set[Tuple[int, int]]:
        """List the links that hold because nobody else writes there, though somebody did."""
        found: Set[Tuple[int, int]] = set()
        accesses, domain = self._line.accesses, self._domain
        for source, number in self.crossed:
            address, size = domain.bits[accesses[source].address], accesses[source].size
            for word in range(address & ~3, address + size, 4):
                cell = self.cells.get(word, [])
                for other in cell[bisect_left(cell, source + 1) : bisect_left(cell, number)]:
                    start, length = domain.bits[accesses[other].address], accesses[other].size
                    overlaps = start < address + size and address < start + length
                    if accesses[other].store and overlaps and not self.owned.is_same(source, other):
                        found.add((source, number))
        return found

    def _may_have_run(self, number: int) -> bool:
        condition = self._line.accesses[number].condition
        return self._domain.mask[condition] != MASK or bool(self._domain.bits[condition])

    def look_again(self, everything: bool) -> None:
        """Look at barriers again: an interval may be narrower without anybody having been told.

        :param everything: Whether what was the same for several times is weighed again, too.
        """
        self._weighing.begin(everything)
        self.news += list(self._waiting)

    def _look(self, number: int) -> None:
        access = self._line.accesses[number]
        mask = self._domain.mask
        if not self.placed[number]:
            if mask[access.condition] == MASK and not self._domain.bits[access.condition]:
                self._place_nowhere(number, access)
            elif access.size and mask[access.address] == MASK:
                self._place(number, access)
        self._release(number)

    def _place_nowhere(self, number: int, access: Access) -> None:
        # It did not run.
        self.placed[number] = 1
        if access.store:
            del self.unplaced[bisect_left(self.unplaced, number)]

    def _place(self, number: int, access: Access) -> None:
        self.placed[number] = 1
        address = self._domain.bits[access.address]
        line = self._line
        if access.store:
            del self.unplaced[bisect_left(self.unplaced, number)]
            if line.rules.bit_band and BIT_BAND[0] <= address < BIT_BAND[1]:
                self._place_alias(number, address)
                return
        elif self._is_constant(number, access, address):
            return
        if not line.is_ram(address, access.size) or line.is_volatile(address, access.size):
            return
        for word in range(address & ~3, address + access.size, 4):
            bytes_ = ((1 << access.size) - 1) << 8 >> (word - address + 8)
            self._insert(word, number, bytes_ & 15)
        if not access.store:
            self._connect(number)

    def _place_alias(self, number: int, address: int) -> None:
        # A store to a bit's alias changes a byte in a way that is not followed: it is a store of unknown data.
        byte = 0x20000000 + ((address - BIT_BAND[0]) >> 5)
        self._insert(byte & ~3, number, 1 << (byte & 3))

    def _is_constant(self, number: int, access: Access, address: int) -> bool:
        known = self._line.read_constant(address, access.size)
        if known is not None:
            self._line.learn(access.data, MASK, known, Fact.MEMORY)
        return known is not None

    def _insert(self, word: int, number: int, touched: int) -> None:
        self._touched[word] = self._touched.get(word, 0) | touched
        cell = self.cells.setdefault(word, [])
        insort(cell, number)
        accesses, linked = self._line.accesses, self.linked
        for position in range(bisect_left(cell, number) + 1, len(cell)):
            other = cell[position]
            access = accesses[other]
            if not access.store:
                if linked[other] != (1 << access.size) - 1:
                    self._connect(other)
            elif access.size == 4 and not self._domain.bits[access.address] & 3:
                return
        self._connect_end(word, touched)

    def _release(self, number: int) -> None:
        # Look again at what waits for an access.
        waiting = self._waiting.pop(number, None)
        if not waiting:
            return
        for other in sorted(waiting):
            if other < 0:
                self._connect_end(~other, self._touched[~other])
            else:
                self._connect(other)

    def _touches(self, number: int, byte: int) -> int:
        # Which byte of an access is at an address, or _NOWHERE; the low byte of a store to a bit's alias is all of it.
        access = self._line.accesses[number]
        distance = byte - self._domain.bits[access.address]
        return distance if 0 <= distance < access.size else _NOWHERE

    def _source(self, cell: List[int], before: int, byte: int) -> Tuple[int, int]:
        # The access before position ``before`` of a cell that has a byte, and which of its bytes; _START when there
        # is none; _UNSURE - number of the access that cannot be told to have been there.
        accesses, domain = self._line.accesses, self._domain
        for position in range(before - 1, -1, -1):
            number = cell[position]
            access = accesses[number]
            distance = self._touches(number, byte)
            if distance < 0:
                address = domain.bits[access.address]
                if BIT_BAND[0] <= address < BIT_BAND[1] and 0x20000000 + ((address - BIT_BAND[0]) >> 5) == byte:
                    return _UNSURE - number, 0
                continue
            if not access.store:
                return number, distance
            if domain.mask[access.condition] != MASK:
                return _UNSURE - number, 0
            if domain.bits[access.condition]:
                return number, distance
            # It turned out after it was placed that it did not run.
        return _START, 0

    def _barrier(self, after: int, before: int, byte: int) -> Tuple[int, bool]:
        # The first store between two accesses that may have written a byte, or _NOWHERE; and whether any was taken to
        # miss of which nothing is known.
        unplaced = self.unplaced
        low = bisect_left(unplaced, after + 1)
        high = bisect_left(unplaced, before)
        if high - low > _SCAN:
            return unplaced[low], False
        guessed = False
        for number in unplaced[low:high]:
            verdict = self._may_hit(number, byte)
            if verdict == 1:
                return number, False
            guessed |= verdict == 2
        return _NOWHERE, guessed

    def _of_owner(self, after: int, before: int, byte: int) -> int:
        # The first store between two accesses to a function's own memory that may have written a byte.
        low, high = bisect_left(self.unplaced, after + 1), bisect_left(self.unplaced, before)
        for number in self.unplaced[low:high]:
            if self.owned.is_same(after, number) and self._may_hit(number, byte):
                return number
        self.crossed.add((after, before))
        return _NOWHERE

    def _may_hit(self, number: int, byte: int) -> int:
        # Whether a store may write a byte: 0 no, 1 yes, 2 yes but it is taken to miss.
        access = self._line.accesses[number]
        if not access.size:
            return 1
        low, span = self._domain.interval(access.address)
        wild = self.guessing and span >= _BOUNDED and number not in self.kills
        if wild and not self._is_habit(number, byte):
            return 2
        if span + access.size <= MASK:
            hit = (byte - low) & MASK < span + access.size
            if self._line.rules.bit_band and not hit:
                hit = low < BIT_BAND[1] and BIT_BAND[0] <= low + span
            if not hit:
                return 0
        if not self._line.rules.bit_band and not self._may_be(access, byte):
            return 0
        if self.guessing and number in self.kills:
            return int(0 <= byte - self.kills[number] < access.size)
        return 1

    def _may_be(self, access: Access, byte: int) -> bool:
        # Whether the bits that are known of an address, and what it is the sum of, allow it to touch a byte.
        domain, address = self._domain, access.address
        known = domain.mask[address]
        places = range(byte - access.size + 1, byte + 1)
        if known:
            bits = domain.bits[address]
            if all([(place ^ bits) & known for place in places]):
                return False
        return known == MASK or self.guessing or self._weighing.may_be(address, places)

    def _is_habit(self, number: int, byte: int) -> bool:
        words = self.habits.get(self._where(self._line.accesses[number].number))
        return words is not None and byte & ~3 in words

    def _connect(self, number: int) -> None:
        # Link the bytes of a load with what had them before.
        access = self._line.accesses[number]
        address = self._domain.bits[access.address]
        linked = self.linked[number]
        found: List[Tuple[int, int, int, bool]] = []
        hidden = 0
        for index in range(access.size):
            if linked >> index & 1:
                continue
            byte = address + index
            cell = self.cells[byte & ~3]
            source, distance = self._source(cell, bisect_left(cell, number), byte)
            if source < _START:
                self._wait(_UNSURE - source, number)
                hidden |= 1 << index
                continue
            barrier, guessed = self._barrier(max(source, -1), number, byte)
            if (barrier >= 0 or guessed) and self.owned.keeps(source, number):
                barrier, guessed = self._of_owner(source, number, byte), False
            if barrier >= 0:
                self._wait(barrier, number)
                self.blocked[number] = barrier
                hidden |= 1 << index
                continue
            if source == _START and self._begin is None or guessed and (source, number) in self.forbidden:
                continue
            found.append((index, source, distance, guessed))
            self.linked[number] |= 1 << index
        for run in _runs(found):
            self._link(number, access, address, run)
        if hidden and self._weighs and access.size <= 4:
            self._line.number = access.number
            self._weigh(Found(access.data, address, access.size, wide(hidden)), number)

    @property
    def _weighs(self) -> bool:
        # A store to a bit's alias may change one bit of a byte.
        return not self.guessing and not self._line.rules.bit_band

    def _weigh(self, found: Found, until: int) -> None:
        # Bytes that were found are those of an older access, or those of one of the stores in between.
        weighing = self._weighing
        if not weighing.is_due(until, found.address):
            return
        groups: Dict[Tuple[int, int], int] = {}
        unsure: Set[int] = set()
        for index in range(found.size):
            if found.wanted >> 8 * index & 1:
                source, distance = self._certain(until, found.address + index, unsure)
                groups[source, distance - index] = groups.get((source, distance - index), 0) | 0xFF << 8 * index
        relations: List[Relation] = []
        for (source, distance), wanted in groups.items():
            low, high = bisect_left(self.unplaced, source + 1), bisect_left(self.unplaced, until)
            if source >= 0 and high - low <= _SCAN:
                between = self.unplaced[low:high] + [number for number in unsure if source < number < until]
                part = found._replace(wanted=wanted)
                relations += weighing.weigh(part, until, source, -8 * distance, between)
        for relation in relations:
            self._activate(self._line.relate(relation))
        weighing.end(until, found.address, bool(relations))

    def _certain(self, before: int, byte: int, unsure: Set[int]) -> Tuple[int, int]:
        # As _source; but stores that may not have run are put aside.
        cell = self.cells[byte & ~3]
        position = bisect_left(cell, before)
        while True:
            source, distance = self._source(cell, position, byte)
            if source >= _START:
                return source, distance
            source = _UNSURE - source
            if self._touches(source, byte) < 0:
                return _START, 0
            unsure.add(source)
            position = bisect_left(cell, source)

    def _link(self, number: int, access: Access, address: int, run: List[Tuple[int, int, int, bool]]) -> None:
        index, source, distance, _ = run[0]
        guessed = any([one[3] for one in run])
        for one in run:
            if one[3]:
                self.guesses.append((source, number, address + one[0]))
        if source == _START:
            pair = (source, number) if guessed else ()
            self._tie(access, run, address, self._begin, Fact.GUESSED if guessed else Fact.MEMORY, pair)
            return
        other = self._line.accesses[source]
        self._line.number = access.number
        kind = int(Kind.GUESS if guessed else Kind.OWNED if (source, number) in self.crossed else Kind.LINK)
        place = (8 * index, 8 * distance, 8 * len(run))
        self._activate(self._line.relate((kind, access.data, other.data) + place + (source, number)))

    def _activate(self, relation: int) -> None:
        domain = self._domain
        if not domain.queued[relation]:
            domain.queued[relation] = 1
            domain.queue.append(relation)

    def _tie(
        self,
        access: Access,
        run: List[Tuple[int, int, int, bool]],
        address: int,
        reader: Optional[Reader],
        why: int,
        pair: Tuple[int, ...],
    ) -> None:
        # Bytes of an access are those of memory at one end of the line.
        known = bits = 0
        for index, _, _, _ in run:
            word = reader((address + index) & ~3) if reader is not None else None
            if word is not None:
                known |= 0xFF << 8 * index
                bits |= (word >> 8 * ((address + index) & 3) & 0xFF) << 8 * index
        if known:
            self._line.number = access.number
            self._line.learn(access.data, known, bits, why, pair)

    def _connect_end(self, word: int, touched: int) -> None:
        # The last access to some bytes of a word leaves what is there at the end.
        if self._end is None:
            return
        cell = self.cells[word]
        done = self._ended.get(word, 0)
        last = len(self._line.accesses)
        found: List[Tuple[int, int, int, bool]] = []
        hidden = 0
        for index in range(4):
            if done >> index & 1 or not touched >> index & 1:
                continue
            source, distance = self._source(cell, len(cell), word + index)
            if source == _START:
                continue
            if source < _START:
                self._wait(_UNSURE - source, ~word)
                hidden |= 1 << index
                continue
            barrier, guessed = self._barrier(source, last, word + index)
            if (barrier >= 0 or guessed) and self.owned.keeps(source, last):
                barrier, guessed = self._of_owner(source, last, word + index), False
            if barrier >= 0:
                self._wait(barrier, ~word)
                hidden |= 1 << index
                continue
            found.append((index, source, distance, guessed))
            done |= 1 << index
        self._ended[word] = done
        for run in _runs(found):
            self._tie_end(run, word, last)
        value = self._end(word) if hidden and self._weighs else None
        if value is not None:
            self._line.number = 0
            self._weigh(Found(self._line.constant(value), word, 4, wide(hidden)), last)

    def _tie_end(self, run: List[Tuple[int, int, int, bool]], word: int, last: int) -> None:
        # Neighbouring bytes that one access has left.
        source = run[0][1]
        access = self._line.accesses[source]
        guessed = any([one[3] for one in run])
        if guessed and (source, last) in self.forbidden:
            return
        self.guesses += [(source, last, word + index) for index, _, _, guess in run if guess]
        owned = not guessed and (source, last) in self.crossed
        why = Fact.GUESSED_STORED if guessed else Fact.OWNED_STORED if owned else Fact.STORED
        why += int(not access.store)
        left = [(distance, source, distance, guess) for _, _, distance, guess in run]
        pair = (source, last) if guessed or owned else ()
        self._tie(access, left, self._domain.bits[access.address], self._end, why, pair)

    def _wait(self, barrier: int, what: int) -> None:
        self._waiting.setdefault(barrier, set()).add(what)


def _runs(found: List[Tuple[int, int, int, bool]]) -> List[List[Tuple[int, int, int, bool]]]:
    # Neighbouring bytes that come from neighbouring bytes of one access.
    runs: List[List[Tuple[int, int, int, bool]]] = []
    for one in found:
        if runs:
            index, source, distance, _ = runs[-1][-1]
            if one[0] == index + 1 and one[1] == source and (one[2] == distance + 1 or source == _START):
                runs[-1].append(one)
                continue
        runs.append([one])
    return runs
