"""Values of registers and memory at any instruction of a history."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.border import Border
from gdb_etm.recovery.contradictions import agreeing
from gdb_etm.recovery.distrust import Distrust
from gdb_etm.recovery.makers import Maker, MakerKind, Place, RegisterPlace
from gdb_etm.recovery.neighbourhoods import REACHES, Answers, Neighbourhoods
from gdb_etm.recovery.origins import Origins
from gdb_etm.recovery.pieces import Piece, Pieces
from gdb_etm.recovery.pointers.points_to import PointsTo, points_to
from gdb_etm.recovery.queries import Queries
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.segment import Solution
from gdb_etm.recovery.solve.doubts import Doubts
from gdb_etm.recovery.ssa.features import Features, features_of
from gdb_etm.recovery.ssa.segments import cut_segments
from gdb_etm.recovery.transfers import Area
from gdb_etm.recovery.values import CoreState, Fact, Finding, HaltedState, Step, Tier, Touched, Value, Written

Progress = Callable[[float], None]

# Registers that are the same to the instruction before a halt and to the one after it.
_AT_HALTS = (*("r%d" % number for number in range(13)), "sp", "lr", "xpsr", "cpsr")


class Recovery:
    """Recovery of values from what ran and from both ends.

    The newest instructions are worked out first; older ones when something is asked of them.

    :param history: The executed instructions of one core.
    :param end: The state after the last of them, if the core was halted there.
    :param begin: The state before the first, if the history reaches back to it.
    :param rules: What may be relied on.
    :param facts: What is known besides, such as by measurement.
    :param halts: What is known at halts in between.
    :param progress: Called now and then with the share that is done of what was asked for, 0 to 1; what it raises ends
        the work, which goes on when something is asked.
    """

    def __init__(
        self,
        history: ExecutionHistory,
        end: Optional[CoreState] = None,
        begin: Optional[CoreState] = None,
        rules: Rules = Rules(),
        facts: Iterable[Fact] = (),
        halts: Sequence[HaltedState] = (),
        progress: Optional[Progress] = None,
    ) -> None:
        self.history = history
        self.rules = rules
        self._end = end
        self._begin = begin
        self._halts = {halt.number: halt for halt in halts}
        self._progress = progress
        # Instructions that what was asked for takes, and those of them that are worked out.
        self._due = self._done = 0
        segments = cut_segments(history, rules.untouched, rules.touched)
        cut = {one.last for one in segments}
        passed = [halt for halt in halts if halt.number not in cut]
        self._facts = (*facts, *(fact for halt in passed for fact in _facts_at(history, halt)))
        self._pieces = [Pieces(history, one, rules, self._work_piece) for one in segments]
        self._firsts = [one.segment.first for one in self._pieces]
        self._neighbourhoods = Neighbourhoods(self._work_alone)
        self._known_features: Optional[Features] = None
        # What devices were told to write, and have.
        self._others: Tuple[Area, ...] = ()
        # Of the piece that was asked last.
        self._origins: Optional[Tuple[Queries, Origins]] = None

    @property
    def volatile(self) -> Tuple[Area, ...]:
        """Pieces of RAM that others than the core write."""
        return (*self.rules.volatile, *self._others)

    def solve(self) -> None:
        """Work out what leads to the end, before anybody asks."""
        self._at(len(self.history) + 1)

    def pending(self, number: int) -> int:
        """Count the instructions to work out before one is known.

        It is 0 when that one is known, or never will be.
        """
        pieces = self._answerable(number)
        return 0 if pieces is None else sum(piece.last - piece.since + 1 for piece in pieces.pending(number))

    def first(self, number: int) -> int:
        """Give the first instruction that is worked out along with another."""
        pieces = self._pieces_of(number)
        return number if pieces is None else pieces.first

    @property
    def since(self) -> int:
        """The first instruction that is worked out along with all later ones.

        One more than the length of the history where nothing is.
        """
        since = self._pieces[-1].since
        return len(self.history) + 1 if since is None else since

    def near(self, number: int, reach: int = REACHES[0]) -> Answers:
        """Give who answers about an instruction at once.

        It is this where the instruction is worked out from the end, else a neighbourhood of the instruction.  That may
        know less, and everything that it knows holds.

        :param reach: How many instructions on both sides are worked out if none are.
        """
        pieces = self._pieces_of(number)
        if pieces is None or number >= pieces.first and not pieces.pending(number):
            return self
        found = self._neighbourhoods.find(number, reach // 2)
        return self._neighbourhoods.make(pieces, number, reach) if found is None else found

    def known(self, number: int) -> Optional[Answers]:
        """Give who answers about an instruction without any work."""
        pieces = self._pieces_of(number)
        if pieces is None:
            return None
        if number >= pieces.first and not pieces.pending(number):
            return self
        return self._neighbourhoods.find(number, 0)

    def extend(self, number: int) -> bool:
        """Work out a part of what an instruction still lacks.

        First that is a larger neighbourhood, then piece after piece from the end on.

        :returns: Whether there was anything left to do.
        """
        pieces = self._pieces_of(number)
        if pieces is None:
            return False
        due = [] if number < pieces.first else pieces.pending(number)
        is_far = number < pieces.first or sum(map(_size, due)) > 2 * REACHES[-1]
        if is_far and self._neighbourhoods.find(number, REACHES[-1] // 2) is None:
            self._neighbourhoods.make(pieces, number, REACHES[-1])
            return True
        if due:
            self._ask(pieces, number)
            pieces.queries(pieces.index(due[0].last))
        return bool(due)

    @property
    def findings(self) -> Tuple[Finding, ...]:
        """Messages for the user, from what was worked out so far."""
        pieces = [found for one in self._pieces for _, found in sorted(one.findings.items(), reverse=True)]
        return tuple([finding for found in pieces for finding in found])

    def register(self, number: int, name: str) -> Value:
        """Give a register before an instruction.

        :param number: Of the instruction; one more than the length of the history is the end.
        :param name: Lower-case: r0 to r12, sp, lr, pc, xpsr, n, z, c, v, msp, psp, control, s0 to s31, fpscr.
        """
        if self.rules.limit >= Tier.UNKNOWN:
            return Value(None, Tier.UNKNOWN, "recovery is off")
        queries = self._at(number)
        return queries.register(number, name) if queries is not None else _OUTSIDE

    def memory(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        """Give the bytes of memory before an instruction, one value for each.

        :param number: Of the instruction; one more than the length of the history is the end.
        :param address: Of the first byte.
        :param size: In bytes.
        """
        queries = self._at(number)
        return (_OUTSIDE,) * size if queries is None else queries.memory(number, address, size)

    def why(self, number: int, name: str) -> List[Step]:
        """List the facts that a register's value rests on, nearest first."""
        queries = self._at(number)
        return [] if queries is None else queries.why(number, name)

    def origin(self, place: Place) -> Maker:
        """Find what put a value into its place.

        Of one that nobody wrote in what is worked out it is BEFORE, with the first instruction of that.
        """
        maker = Maker(MakerKind.BEFORE, place.number)
        while True:
            queries = self._at(place.number)
            if queries is None or queries.solution.contradiction is not None:
                return maker
            origins = self._of(queries)
            maker = origins.register(place) if isinstance(place, RegisterPlace) else origins.memory(place)
            if maker.kind is not MakerKind.BEFORE or maker.number >= place.number:
                return maker
            place = place._replace(number=maker.number)

    def origins(self, number: int) -> Optional[Origins]:
        """Give the single steps back from an instruction, if worked out."""
        queries = self._at(number) if number else None
        return None if queries is None or queries.solution.contradiction is not None else self._of(queries)

    def _of(self, queries: Queries) -> Origins:
        if self._origins is None or self._origins[0] is not queries:
            self._origins = queries, Origins(queries)
        return self._origins[1]

    def writes(self, address: int, size: int, enough: Optional[int] = None) -> Written:
        """Find the stores that wrote memory, back to a gap or halt.

        :param address: Of the first byte.
        :param size: In bytes.
        :param enough: How many will do: older instructions are not looked at then.
        """
        number = len(self.history)
        found = Written((), 0, number + 1)
        pieces = self._answerable(number)
        self._ask(pieces, 0 if pieces is None else pieces.first)
        while pieces is not None and found.first > pieces.first and (enough is None or len(found.writes) < enough):
            index = pieces.index(found.first - 1)
            found = _joined(found, pieces.queries(index).writes(address, size, pieces.piece(index).since))
        return found

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Find accesses to memory around an instruction, if those are worked out.

        :param number: The instruction's.
        :param kind: 2 for stores, 3 for loads, 4 for both.
        :param address: Of the first byte.
        :param size: In bytes.
        """
        pieces = self._answerable(number)
        if pieces is None:
            return self._unseen(number)
        self._ask(pieces, number)
        index = pieces.index(number)
        piece = pieces.piece(index)
        return pieces.queries(index).touched(kind, address, size, piece.since, piece.last)

    def _unseen(self, number: int) -> Touched:
        pieces = self._pieces_of(number)
        if pieces is None:
            return Touched(number, number, (), (), False)
        return Touched(pieces.segment.first, pieces.first - 1, (), (), False)

    def _pieces_of(self, number: int) -> Optional[Pieces]:
        # The pieces that have an instruction; what follows a segment belongs to it.
        last = len(self.history)
        index = bisect_right(self._firsts, min(number, last)) - 1
        return self._pieces[index] if index >= 0 and last and number <= last + 1 else None

    def _answerable(self, number: int) -> Optional[Pieces]:
        # The same, unless the instruction is older than what is worked out.
        pieces = self._pieces_of(number)
        return None if pieces is None or number < pieces.first else pieces

    def _at(self, number: int) -> Optional[Queries]:
        # What is worked out about the piece of an instruction.
        pieces = self._answerable(number)
        if pieces is None:
            return None
        self._ask(pieces, number)
        return pieces.queries(pieces.index(number))

    def _ask(self, pieces: Optional[Pieces], number: int) -> None:
        due = [] if pieces is None else pieces.pending(number)
        self._due, self._done = sum(_size(piece) for piece in due), 0

    def _work_piece(self, piece: Piece, border: Optional[Border]) -> Queries:
        def tell(share: float) -> None:
            self._tell((self._done + share * size) / max(self._due, self._done + size))

        size = _size(piece)
        found = self._work(piece, border, tell, self._points_to())
        self._done += size
        return found

    def _work_alone(self, piece: Piece, border: Optional[Border], pieces: Pieces) -> Queries:
        # A first answer does not wait until the program is analysed.
        return self._work(piece, border, self._tell, self._points_to(known=True), pieces.distrust)

    def _work(
        self,
        piece: Piece,
        border: Optional[Border],
        progress: Progress,
        points: Optional[PointsTo],
        distrust: Distrust = Distrust(),
    ) -> Queries:
        with garbage_uncollected():
            return self._solved(piece, border, progress, points, distrust)

    def _solved(
        self,
        piece: Piece,
        border: Optional[Border],
        progress: Progress,
        points: Optional[PointsTo],
        distrust: Distrust,
    ) -> Queries:
        begin, end = self._ends(piece, border)

        def solve(doubts: Doubts, others: Tuple[Area, ...]) -> Solution:
            return Solution(
                self.history,
                piece.first,
                piece.last,
                begin,
                end,
                self.rules._replace(volatile=(*self.volatile, *others)),
                self._features,
                self._facts,
                progress,
                border,
                doubts,
                distrust,
                points,
            )

        solution, others = agreeing(solve, self.rules.ram)
        self._others = tuple(dict.fromkeys((*self._others, *others)))
        return Queries(solution)

    def _ends(self, piece: Piece, border: Optional[Border]) -> Tuple[Optional[CoreState], Optional[CoreState]]:
        # The states at a piece's ends, where it reaches to a halt.
        before, after = self._halts.get(piece.first - 1), self._halts.get(piece.last)
        begin = self._begin if piece.first == 1 else before.resumed if before is not None else None
        if border is not None:
            return begin, None
        if piece.last == len(self.history):
            return begin, self._end
        return begin, after.halted if after is not None else None

    @property
    def _features(self) -> Features:
        # Those of the core are known at the ends alone.
        if self._known_features is None:
            ends, core = (self._begin, self._end), self.history.source.core
            self._known_features = features_of(self.history.program, core, ends, self.rules.fpu, self.rules.frames)
        return self._known_features

    def _points_to(self, known: bool = False) -> Optional[PointsTo]:
        rules = self.rules
        if rules.limit < Tier.ASSUMED or rules.objects is None or rules.frames is None:
            return None
        if not is_m_profile(self.history.source.core):
            return None
        program, tick = self.history.program, partial(self._tell, 0.0)
        with garbage_uncollected():
            return points_to(program, rules.objects, rules.frames, rules.ram, known, tick, self._features.aspen)

    def _tell(self, share: float) -> None:
        if self._progress is not None:
            self._progress(share)


def _size(piece: Piece) -> int:
    return piece.last - piece.first + 1


def _joined(newer: Written, older: Written) -> Written:
    if not older.writes:
        return Written(newer.writes, newer.unknown_before + older.unknown_before, older.first)
    newest = older.writes[0]._replace(unknown_after=older.writes[0].unknown_after + newer.unknown_before)
    return Written((*newer.writes, newest, *older.writes[1:]), older.unknown_before, older.first)


_OUTSIDE = Value(None, Tier.UNKNOWN, "before the window")


def _facts_at(history: ExecutionHistory, halt: HaltedState) -> Iterator[Fact]:
    # What ran on from there had these registers; an exception in between would have changed them.
    state, number = halt.halted, halt.number + 1
    pc = state.registers.get("pc") if state is not None else None
    if state is None or pc is None or number > len(history) or history.instruction(number).address != pc & ~1:
        return
    for name in _AT_HALTS:
        if name in state.registers:
            yield Fact(number, name, state.registers[name])
