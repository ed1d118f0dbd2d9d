"""The hot loop of decoding: a stream followed through three caches.

Three caches, from small steps to large ones:

- *Transitions* are some ten bytes of atoms and addresses, kept by the automaton's states (``program_points.py``).
- *Packets* of other kinds, exceptions above all, are handled by their handlers; what a handler did is remembered by the
  state, the packet's bytes and the *packet context*, which is all else that decides how packets are read.
- *Long transitions* are some hundred bytes of both, so that a loop that comes again costs a few look-ups.

What happens at a return stack entry from before a long transition depends on that entry, so a long transition
states which entries it needs.
"""

from __future__ import annotations

from typing import Callable, Dict, Final, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.protocols.elements import breaks
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.execution import Execution
from gdb_etm.protocols.etmv4.handlers import Handlers, PacketContext
from gdb_etm.protocols.etmv4.packets import ASYNC, Kind
from gdb_etm.protocols.etmv4.program_points import AFTER_BRANCH, STACK_DEPTH, DecoderState, Entry
from gdb_etm.protocols.etmv4.transitions import FIRST_ADDRESS, FIRST_ATOM, WINDOW, TransitionFinder
from gdb_etm.protocols.recorder import Chain, Foreseen, Recorder, Run, RunTable
from gdb_etm.protocols.stream import Header

# Bytes of the stream by which long transitions are remembered.
LONGEST: Final = 512
# ``handle(data, at, end)`` handles one packet and returns the index after it, or ``at`` when it is not whole.
Handle = Callable[[bytes, int, int], int]
_MAX_REMEMBERED: Final = 1 << 16
_ENTRIES_AT_ONCE: Final = 64
# Bytes after which it is time to see whether what comes is known by now.
_COLD: Final = 4096

# Packets whose meaning is decided by the state, the packet context and the return stack.
_REMEMBERED: Final = frozenset(
    (
        Kind.TRACE_INFO,
        Kind.IGNORE,
        Kind.EVENT,
        Kind.CYCLE_COUNT_1,
        Kind.CYCLE_COUNT_2,
        Kind.CYCLE_COUNT_3,
        Kind.CONTEXT,
        Kind.ADDRESS_CONTEXT,
        Kind.EXCEPTION,
        Kind.EXCEPTION_RETURN,
    )
)


class LongTransition(NamedTuple):
    """The effect of one packet, or of many transitions and packets."""

    # Bytes consumed.
    length: int
    # Run number.
    run: int
    # The state afterwards.
    state: DecoderState
    # What is remembered under the packet context afterwards.
    cache: "TransitionCache"
    # Entries of the return stack from before that are used up; its top is the last.
    takes: List[Entry]
    # Entries put on the return stack instead, the top last.
    pushes: List[Entry]
    # How many entries were there at most, on top of those from before; a full stack loses its oldest for them.
    deepest: int

    def act(self, stack: List[Entry]) -> bool:
        """Apply the long transition to a return stack.

        False, and nothing done, where entries are missing.
        """
        left = len(stack) - len(self.takes)
        if left < 0 or stack[left:] != self.takes:
            return False
        lost = len(stack) + self.deepest - STACK_DEPTH
        if lost > left:
            return False
        if self.pushes != self.takes:
            stack[left:] = self.pushes
        if lost > 0:
            del stack[:lost]
        return True


class TransitionCache:
    """Packets and long transitions remembered under one packet context.

    :param packet_context: The packet context.
    """

    def __init__(self, packet_context: PacketContext) -> None:
        self.packet_context = packet_context
        self.packets: Dict[Tuple[DecoderState, bytes], LongTransition] = {}
        self.long_transitions: Dict[Tuple[DecoderState, bytes], LongTransition] = {}


class TransitionCaches:
    """The caches of all packet contexts."""

    def __init__(self) -> None:
        self._caches: Dict[PacketContext, TransitionCache] = {}
        self._async = -1
        self._remembered = 0

    def number_of_async(self, table: RunTable) -> int:
        """Give the number of the run that is an A-Sync packet."""
        if self._async < 0:
            self._async = table.add(Run(len(ASYNC), (), ()))
        return self._async

    def under(self, packet_context: PacketContext) -> TransitionCache:
        """Give the cache of a packet context."""
        cache = self._caches.get(packet_context)
        if cache is None:
            cache = self._caches[packet_context] = TransitionCache(packet_context)
        return cache

    def add(
        self,
        cache: Dict[Tuple[DecoderState, bytes], LongTransition],
        state: DecoderState,
        data: bytes,
        long_transition: LongTransition,
    ) -> None:
        """Remember a long transition."""
        cache[state, data] = long_transition
        self._remembered += 1
        if self._remembered > _MAX_REMEMBERED:
            # Bounds memory on trace that does not repeat.
            for one in self._caches.values():
                one.packets.clear()
                one.long_transitions.clear()
            self._remembered = 0


class _Trail:
    # What happened since a window began.

    __slots__ = ("numbers", "takes", "depth", "deepest")

    def __init__(self) -> None:
        self.numbers: List[int] = []
        self.takes: List[Entry] = []
        # Entries on the return stack, more or fewer than at the beginning, now and at most.
        self.depth = 0
        self.deepest = 0

    def popped(self, entry: Entry) -> None:
        self.depth -= 1
        if self.depth < -len(self.takes):
            self.takes.insert(0, entry)

    def pushed(self, count: int, deepest: int) -> None:
        self.deepest = max(self.deepest, self.depth + deepest)
        self.depth += count


class Follower:
    """Follows one stream.

    :param automaton: Has the states.
    :param transitions: Makes transitions.
    :param caches: What is remembered of all streams.
    :param execution: Where the stream's execution stands; it is up to date whenever a packet is handled.
    :param handlers: The handlers of the stream.
    :param table: The header table.
    """

    def __init__(
        self,
        automaton: Automaton,
        transitions: TransitionFinder,
        caches: TransitionCaches,
        execution: Execution,
        handlers: Handlers,
        table: Sequence[Header],
    ) -> None:
        self._automaton = automaton
        self._transitions = transitions
        self._caches = caches
        self._execution = execution
        self._recorder: Recorder = execution.recorder
        self._handlers = handlers
        self._table = table
        # What is remembered under the packet context that the handlers had last, and under the present one.
        self._handlers_cache = self._cache = caches.under(handlers.packet_context())
        # The run that is an A-Sync packet.
        self._async = caches.number_of_async(self._recorder.table)
        # Whether all of the window before was remembered.
        self._warm = False
        self._base = 0

    def follow(self, data: bytes, at: int, end: int, base: int) -> int:
        """Follow the stream as far as the caches reach.

        :param base: Position in the stream of the first byte of ``data``.
        :returns: Where it stopped: at the end, or at a packet to be handled.
        """
        self._base = base
        self._handlers_cache = self._cache = self._caches.under(self._handlers.packet_context())
        state = self._execution.state
        while at < end or state.pending:
            if self._warm:
                at = self._pass(data, at)
            at, whole = self._window(data, at, end)
            state = self._execution.state
            if not whole:
                break
        if self._handlers_cache is not self._cache:
            self._handlers.resume(self._cache.packet_context)
        self._execution.wide = self._execution.state.wide
        return at

    def _pass(self, data: bytes, at: int) -> int:
        # Follows long transitions as far as they are remembered.
        execution, stack, cache = self._execution, self._execution.stack, self._cache
        state = execution.state
        numbers: List[int] = []
        begin = at
        while True:
            long_transition = cache.long_transitions.get((state, data[at : at + LONGEST]))
            if long_transition is None:
                break
            length, run, following, after, takes, _, deepest = long_transition
            if (takes or deepest) and not long_transition.act(stack):
                break
            numbers.append(run)
            at += length
            state = following
            cache = after
            if len(numbers) == _ENTRIES_AT_ONCE:
                self._recorder.extend(numbers, self._base + begin, self._base + at)
                numbers.clear()
                begin = at
        if numbers:
            self._recorder.extend(numbers, self._base + begin, self._base + at)
        execution.state = state
        self._cache = cache
        return at

    def _window(self, data: bytes, at: int, end: int) -> Tuple[int, bool]:
        # Follows transitions and remembered packets up to the length of a long transition, and keeps it when it held
        # nothing new.  False when a packet has to be handled before.
        execution, warm, made = self._execution, self._warm, self._transitions.made
        state, cache, begin = execution.state, self._cache, at
        stop = min(begin + (LONGEST - WINDOW if warm else _COLD), end)
        # Loops are met again at the same bytes when long transitions end after an exception.
        enough = begin + LONGEST // 2 if warm else end
        trail = _Trail()
        at = self._go_on(trail, data, at, stop, enough, end)
        whole = at >= min(stop, enough) and not execution.state.pending
        if not whole and data.startswith(ASYNC, at) and not execution.state.pending:
            # In the middle of packets it says nothing; and where it comes again, so does what follows.
            trail.numbers.append(self._async)
            at += len(ASYNC)
            whole = True
        if trail.numbers:
            self._recorder.extend(trail.numbers, self._base + begin, self._base + at)
        self._warm = self._transitions.made == made
        if whole and warm and self._warm and begin + LONGEST <= end:
            self._remember(trail, state, cache, data[begin : begin + LONGEST], at - begin)
        return at, whole

    def _go_on(self, trail: _Trail, data: bytes, at: int, stop: int, enough: int, end: int) -> int:
        # The innermost loop: from transition to transition, up to ``stop``, or after a packet of another kind to
        # ``enough``.
        automaton, stack, ran = self._automaton, self._execution.stack, trail.numbers.append
        state, cache = self._execution.state, self._cache
        while at < stop or state.pending:
            transition = state.transitions.get(data[at : at + state.window])
            if transition is None:
                if not state.pending and data[at] < FIRST_ADDRESS:
                    packet = _known(cache, state, data, at)
                    if packet is None or packet.takes and packet.takes != stack[-1:]:
                        break
                    if packet.takes:
                        trail.popped(stack.pop())
                    ran(packet.run)
                    at, state, cache = at + packet.length, packet.state, packet.cache
                    if at >= enough:
                        break
                    continue
                if state.point is AFTER_BRANCH and stack and (state.pending or data[at] >= FIRST_ATOM):
                    entry = stack.pop()
                    trail.popped(entry)
                    point = automaton.point(entry.address, entry.isa)
                    state = automaton.enter(point, state.registers, state.wide, state.quiet, False, state.pending)
                    continue
                transition = self._transitions.make(state, data, at, end)
                if transition is None:
                    break
            length, run, state, pushes, deepest = transition
            ran(run)
            if deepest:
                trail.pushed(len(pushes), deepest)
                # The oldest entries made room for what was pushed, even if that was popped again.
                del stack[: max(0, len(stack) + deepest - STACK_DEPTH)]
                stack.extend(pushes)
            at += length
        self._execution.state, self._cache = state, cache
        return at

    def _remember(self, trail: _Trail, state: DecoderState, cache: TransitionCache, data: bytes, length: int) -> None:
        stack = self._execution.stack
        pushed = trail.depth + len(trail.takes)
        if not length or pushed > len(stack):
            return
        table = self._recorder.table
        run = table.add(Chain(trail.numbers, table.runs))
        pushes = stack[len(stack) - pushed :]
        long_transition = LongTransition(
            length, run, self._execution.state, self._cache, trail.takes, pushes, trail.deepest
        )
        self._caches.add(cache.long_transitions, state, data, long_transition)

    def _size(self, data: bytes, at: int, end: int) -> int:
        # The size of the packet at ``at``; 0 when it is not whole, or not of a kind that is remembered.
        if at >= end:
            return 0
        kind, length = self._table[data[at]]
        size = length(data, at, end) if kind in _REMEMBERED else 0
        return size if size <= WINDOW else 0

    def handle(self, data: bytes, at: int, end: int, handle: Handle) -> int:
        """Handle the packet at which :meth:`follow` stopped, and remember the effect.

        :param handle: Handles a packet.
        :returns: The index after the packet; ``at`` when it is not whole.
        """
        size = self._size(data, at, end)
        if size <= 0:
            return handle(data, at, end)
        execution, recorder = self._execution, self._recorder
        state, cache, stack = execution.state, self._cache, list(execution.stack)
        entries, events = len(recorder.order), len(recorder.events)
        following = handle(data, at, end)
        left = execution.stack == stack, execution.stack == stack[:-1]
        added = recorder.events[events:]
        # What breaks the history is recorded one by one.
        if following == at + size and any(left) and not any(map(breaks, added)):
            runs = recorder.table.runs
            legs = [leg for number in recorder.order[entries:] for leg in runs[number].legs]
            before = [count - entries for count in recorder.event_entries[events:]]
            foreseen = tuple(Foreseen(count, 0, event) for count, event in zip(before, added))
            run = recorder.table.add(Run(size, [0] * len(legs), legs, foreseen))
            after = self._caches.under(self._handlers.packet_context())
            long_transition = LongTransition(size, run, execution.state, after, [] if left[0] else stack[-1:], [], 0)
            self._caches.add(cache.packets, state, data[at:following], long_transition)
            if size not in state.sizes:
                state.sizes += (size,)
        return following


def _known(cache: TransitionCache, state: DecoderState, data: bytes, at: int) -> Optional[LongTransition]:
    # What is remembered of the packet at ``at``; packets that have come in one state are mostly of one size.
    for size in state.sizes:
        packet = cache.packets.get((state, data[at : at + size]))
        if packet is not None:
            return packet
    return None
