"""Going through a stream by what is remembered of it: the hot loop of decoding.

Three memories, each used where the one before it has been enough so far:

- *Stretches* are some ten bytes of atoms and addresses, remembered by the automaton's states (see ``places.py``).
- *Packets* of other kinds, exceptions above all, are handled by their handlers; what a handler did is remembered by the
  state, the packet's bytes and the *regime*, which is the rest of what decides how packets are read.
- *Passages* are some hundred bytes of both, so that a loop that comes again costs a few look-ups.

What happens at a return stack entry from before a passage depends on that entry, so a passage tells which it needs.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.protocols.elements import Event, Exception_, Gap
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.exceptions import DEBUG_HALT
from gdb_etm.protocols.etmv4.execution import Execution
from gdb_etm.protocols.etmv4.handlers import Handlers, Regime
from gdb_etm.protocols.etmv4.packets import ASYNC, Header, Kind
from gdb_etm.protocols.etmv4.places import AFTER_BRANCH, STACK_DEPTH, Entry, State
from gdb_etm.protocols.etmv4.stretches import FIRST_ADDRESS, FIRST_ATOM, WINDOW, Stretches
from gdb_etm.protocols.recorder import Chain, Foreseen, Recorder, Run, RunTable

PASSAGE = 512
"""Bytes of the stream by which passages are remembered."""
Handle = Callable[[bytes, int, int], int]
"""``handle(data, at, end)`` handles one packet and returns the index after it, or ``at`` when it is not whole."""
_MAX_REMEMBERED = 1 << 16
_ENTRIES_AT_ONCE = 64
_COLD = 4096
# Bytes after which it is time to see whether what comes is known by now.

_REMEMBERED = frozenset(
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
# Packets whose meaning is decided by the state, the regime and the return stack.


class Passage(NamedTuple):
    """What a packet, or a series of stretches and packets, does."""

    length: int
    """Bytes consumed."""
    run: int
    """Run number."""
    state: State
    """The state afterwards."""
    memory: "Memory"
    """What is remembered under the regime afterwards."""
    takes: List[Entry]
    """Entries of the return stack from before that are used up; its top is the last."""
    pushes: List[Entry]
    """Entries put on the return stack instead, the top last."""
    deepest: int
    """How many entries were there at most, on top of those from before; a full stack loses its oldest for them."""

    def act(self, stack: List[Entry]) -> bool:
        """Do to a return stack what the passage does; False, and nothing done, when it has not what that takes."""
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


class Memory:
    """What is remembered under one regime.

    :param regime: The regime.
    """

    def __init__(self, regime: Regime) -> None:
        self.regime = regime
        self.packets: Dict[Tuple[State, bytes], Passage] = {}
        self.passages: Dict[Tuple[State, bytes], Passage] = {}


class Memories:
    """What is remembered of streams, by regime."""

    def __init__(self) -> None:
        self._memories: Dict[Regime, Memory] = {}
        self._async = -1
        self._remembered = 0

    def number_of_async(self, table: RunTable) -> int:
        """Give the number of the run that is an A-Sync packet."""
        if self._async < 0:
            self._async = table.add(Run(len(ASYNC), (), ()))
        return self._async

    def under(self, regime: Regime) -> Memory:
        """Give what is remembered under a regime."""
        memory = self._memories.get(regime)
        if memory is None:
            memory = self._memories[regime] = Memory(regime)
        return memory

    def add(self, memory: Dict[Tuple[State, bytes], Passage], state: State, data: bytes, passage: Passage) -> None:
        """Remember a passage."""
        memory[state, data] = passage
        self._remembered += 1
        if self._remembered > _MAX_REMEMBERED:
            # Bounds memory on trace that does not repeat.
            for one in self._memories.values():
                one.packets.clear()
                one.passages.clear()
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
    :param stretches: Makes stretches.
    :param memories: What is remembered of all streams.
    :param execution: Where the stream's execution stands; it is up to date whenever a packet is handled.
    :param handlers: The handlers of the stream.
    :param table: The header table.
    """

    def __init__(
        self,
        automaton: Automaton,
        stretches: Stretches,
        memories: Memories,
        execution: Execution,
        handlers: Handlers,
        table: Sequence[Header],
    ) -> None:
        self._automaton = automaton
        self._stretches = stretches
        self._memories = memories
        self._execution = execution
        self._recorder: Recorder = execution.recorder
        self._handlers = handlers
        self._table = table
        # What is remembered under the regime that the handlers had last, and under the present one.
        self._told = self._memory = memories.under(handlers.regime())
        # The run that is an A-Sync packet.
        self._async = memories.number_of_async(self._recorder.table)
        # Whether all of the window before was remembered.
        self._warm = False
        self._base = 0

    def follow(self, data: bytes, at: int, end: int, base: int) -> int:
        """Follow by what is remembered, or can be, as far as possible.

        :param base: Position in the stream of the first byte of ``data``.
        :returns: Where it stopped: at the end, or at a packet to be handled.
        """
        self._base = base
        self._told = self._memory = self._memories.under(self._handlers.regime())
        state = self._execution.state
        while at < end or state.pending:
            if self._warm:
                at = self._pass(data, at)
            at, whole = self._window(data, at, end)
            state = self._execution.state
            if not whole:
                break
        if self._told is not self._memory:
            self._handlers.resume(self._memory.regime)
        self._execution.wide = self._execution.state.wide
        return at

    def _pass(self, data: bytes, at: int) -> int:
        # Goes as far as passages are remembered.
        execution, stack, memory = self._execution, self._execution.stack, self._memory
        state = execution.state
        numbers: List[int] = []
        begin = at
        while True:
            passage = memory.passages.get((state, data[at : at + PASSAGE]))
            if passage is None:
                break
            length, run, following, after, takes, _, deepest = passage
            if (takes or deepest) and not passage.act(stack):
                break
            numbers.append(run)
            at += length
            state = following
            memory = after
            if len(numbers) == _ENTRIES_AT_ONCE:
                self._recorder.extend(numbers, self._base + begin, self._base + at)
                numbers.clear()
                begin = at
        if numbers:
            self._recorder.extend(numbers, self._base + begin, self._base + at)
        execution.state = state
        self._memory = memory
        return at

    def _window(self, data: bytes, at: int, end: int) -> Tuple[int, bool]:
        # Goes on by stretches and remembered packets for as long as a passage may be, and remembers it when it held
        # nothing new.  False when a packet has to be handled before.
        execution, warm, made = self._execution, self._warm, self._stretches.made
        state, memory, begin = execution.state, self._memory, at
        stop = min(begin + (PASSAGE - WINDOW if warm else _COLD), end)
        # Loops are met again at the same bytes when passages end behind an exception.
        enough = begin + PASSAGE // 2 if warm else end
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
        self._warm = self._stretches.made == made
        if whole and warm and self._warm and begin + PASSAGE <= end:
            self._remember(trail, state, memory, data[begin : begin + PASSAGE], at - begin)
        return at, whole

    def _go_on(self, trail: _Trail, data: bytes, at: int, stop: int, enough: int, end: int) -> int:
        # The innermost loop: from stretch to stretch, up to ``stop``, or behind a packet of another kind to ``enough``.
        automaton, stack, ran = self._automaton, self._execution.stack, trail.numbers.append
        state, memory = self._execution.state, self._memory
        while at < stop or state.pending:
            stretch = state.stretches.get(data[at : at + state.window])
            if stretch is None:
                if not state.pending and data[at] < FIRST_ADDRESS:
                    packet = _known(memory, state, data, at)
                    if packet is None or packet.takes and packet.takes != stack[-1:]:
                        break
                    if packet.takes:
                        trail.popped(stack.pop())
                    ran(packet.run)
                    at, state, memory = at + packet.length, packet.state, packet.memory
                    if at >= enough:
                        break
                    continue
                if state.place is AFTER_BRANCH and stack and (state.pending or data[at] >= FIRST_ATOM):
                    entry = stack.pop()
                    trail.popped(entry)
                    place = automaton.place(entry.address, entry.isa)
                    state = automaton.enter(place, state.registers, (state.wide, state.quiet, False, state.pending))
                    continue
                stretch = self._stretches.make(state, data, at, end)
                if stretch is None:
                    break
            length, run, state, pushes, deepest = stretch
            ran(run)
            if deepest:
                trail.pushed(len(pushes), deepest)
                # The oldest entries made room for what was pushed, even if that was popped again.
                del stack[: max(0, len(stack) + deepest - STACK_DEPTH)]
                stack.extend(pushes)
            at += length
        self._execution.state, self._memory = state, memory
        return at

    def _remember(self, trail: _Trail, state: State, memory: Memory, data: bytes, length: int) -> None:
        stack = self._execution.stack
        pushed = trail.depth + len(trail.takes)
        if not length or pushed > len(stack):
            return
        table = self._recorder.table
        run = table.add(Chain(trail.numbers, table.runs))
        pushes = stack[len(stack) - pushed :]
        passage = Passage(length, run, self._execution.state, self._memory, trail.takes, pushes, trail.deepest)
        self._memories.add(memory.passages, state, data, passage)

    def _size(self, data: bytes, at: int, end: int) -> int:
        # The size of the packet at ``at``; 0 when it is not whole, or not of a kind that is remembered.
        if at >= end:
            return 0
        kind, length = self._table[data[at]]
        size = length(data, at, end) if kind in _REMEMBERED else 0
        return size if size <= WINDOW else 0

    def handle(self, data: bytes, at: int, end: int, handle: Handle) -> int:
        """Let the packet be handled at which :meth:`follow` stopped, and remember what was done.

        :param handle: Handles a packet.
        :returns: The index after the packet; ``at`` when it is not whole.
        """
        size = self._size(data, at, end)
        if size <= 0:
            return handle(data, at, end)
        execution, recorder = self._execution, self._recorder
        state, memory, stack = execution.state, self._memory, list(execution.stack)
        entries, events = len(recorder.order), len(recorder.events)
        following = handle(data, at, end)
        left = execution.stack == stack, execution.stack == stack[:-1]
        told = recorder.events[events:]
        if following == at + size and any(left) and not any(map(_interrupts, told)):
            runs = recorder.table.runs
            legs = [leg for number in recorder.order[entries:] for leg in runs[number].legs]
            places = [place - entries for place in recorder.event_places[events:]]
            foreseen = tuple(Foreseen(place, 0, event) for place, event in zip(places, told))
            run = recorder.table.add(Run(size, [0] * len(legs), legs, foreseen))
            after = self._memories.under(self._handlers.regime())
            passage = Passage(size, run, execution.state, after, [] if left[0] else stack[-1:], [], 0)
            self._memories.add(memory.packets, state, data[at:following], passage)
            if size not in state.sizes:
                state.sizes += (size,)
        return following


def _known(memory: Memory, state: State, data: bytes, at: int) -> Optional[Passage]:
    # What is remembered of the packet at ``at``; packets that have come in one state are mostly of one size.
    for size in state.sizes:
        packet = memory.packets.get((state, data[at : at + size]))
        if packet is not None:
            return packet
    return None


def _interrupts(event: Event) -> bool:
    # Whether an event tells that the history is not whole; these are told one by one.
    return isinstance(event, Gap) or isinstance(event, Exception_) and event.name == DEBUG_HALT
