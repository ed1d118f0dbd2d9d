"""The hot loop of decoding: a stream followed through three caches.

Three caches, from small steps to large ones:

- *Transitions* are some bytes of atoms and addresses, kept by the automaton's states.
- *Packets* of other kinds are handled by their handlers; what a handler recorded is remembered.
- *Long transitions* are up to some hundred bytes of both, so that what comes again costs one look-up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Callable, Container, Final, List, Optional, Sequence, Tuple

from gdb_etm.protocols.armv7.automaton import WINDOW, DecoderState, Entry
from gdb_etm.protocols.armv7.handlers import Handlers
from gdb_etm.protocols.armv7.transition_cache import (
    KEY,
    LONGEST,
    SHORTEST,
    LongTransition,
    TransitionCache,
    TransitionCaches,
)
from gdb_etm.protocols.elements import DEBUG_HALT, DEBUG_STATE, Event, Exception_, Gap, GapReason
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.protocols.recorder import Chain, Foreseen, Recorder, Run
from gdb_etm.protocols.stream import NEED_MORE, Form, Header, K, PacketStream, feed_pieces, kind_in_header

_LONG: Final = LONGEST // 2
# Entries of the return stack; more than a unit has do no harm, for it says by branch packets where its own ends.
_MOST_BELOW: Final = 32


class FollowedStream(PacketStream[K]):
    """One stream being decoded; its bytes may be fed in any split.

    :param form: The protocol's form.
    :param table: The stream's 256 headers.
    :param handlers: The handlers of the stream; their execution says where it stands.
    :param caches: What is remembered of all streams; None where packets are taken one by one.
    :param remembered: Kinds of packets to be remembered: state and packet context decide what they do.
    :param timestamp: The kind of timestamps.
    """

    def __init__(
        self,
        form: Form[K],
        table: Sequence[Header],
        handlers: Handlers[K],
        caches: Optional[TransitionCaches],
        remembered: Container[K],
        timestamp: K,
    ) -> None:
        super().__init__(form, table, kind_in_header)
        self.recorder = handlers.execution.recorder
        self._automaton = handlers.execution.automaton
        self._execution = handlers.execution
        self._handlers = handlers
        self._caches = caches
        # By first byte.
        self._remembered = [header.kind in remembered for header in table]
        self._timed = [header.kind is timestamp for header in table]
        self._stamp = bytes([self._timed.index(True)]) if True in self._timed else b"\0"

    def finish(self) -> Recorder:
        """End the stream and give the recording."""
        self._end()
        self._handlers.finish()
        return self.recorder

    def _packets(self, data: bytes, at: int, end: int) -> int:
        # Returns where it stopped: at the end, before a packet that is not whole, or where synchronisation was lost.
        caches = self._caches
        if caches is None or not self._informed:
            return self._packet(data, at, end)
        cache = caches.under(self._handlers.packet_context())
        while at < end:
            at, after = self._follow(caches, cache, data, at, end)
            del self._execution.below[:-_MOST_BELOW]
            if after is not cache:
                self._handlers.resume(after.packet_context)
            if at == end:
                break
            following = self._remember(caches, after, data, at, end)
            if self._hunting or following == at:
                return following
            at, cache = following, after
            packet_context = self._handlers.packet_context()
            if packet_context != cache.packet_context:
                cache = caches.under(packet_context)
        return at

    def _follow(
        self, caches: TransitionCaches, cache: TransitionCache, data: bytes, at: int, end: int
    ) -> Tuple[int, TransitionCache]:
        # Follows what is remembered up to a packet that has to be handled.
        followed = self._automaton.followed
        going = True
        while going:
            at, cache = self._pass(cache, data, at, end)
            if at >= end or not (followed[data[at]] or self._remembered[data[at]]):
                break
            at, cache, going = self._window(caches, cache, data, at, end)
            going = at < end and (going or self._timed[data[at]])
        return at, cache

    def _pass(self, cache: TransitionCache, data: bytes, at: int, end: int) -> Tuple[int, TransitionCache]:
        # Follows long transitions as far as they are remembered, and passes the timestamps between them.
        state, begin, below, base = self._execution.state, at, self._execution.below, self._base
        timed, take, stamp = self._timed, self._handlers.timestamp, self._stamp
        numbers: List[int] = []
        ran, extend = numbers.append, self.recorder.extend
        while at < end:
            if timed[data[at]]:
                if numbers:
                    extend(numbers, base + begin, base + at)
                    numbers.clear()
                after = take(data, at, end, base + at)
                if after == NEED_MORE:
                    break
                begin = at = after
                continue
            for long_transition in cache.long_transitions.get((state, data[at : at + KEY]), ()):
                if data.startswith(long_transition.data, at):
                    break
            else:
                until = data.find(stamp, at, at + SHORTEST)
                found = cache.before_time.get((state, data[at:until])) if until > at else None
                if found is None:
                    break
                long_transition = found
            passed, run, state, cache, under = long_transition
            ran(run)
            at += len(passed)
            if under:
                below += under
        if numbers:
            extend(numbers, base + begin, base + at)
        self._execution.state = state
        return at, cache

    def _window(
        self, caches: TransitionCaches, cache: TransitionCache, data: bytes, at: int, end: int
    ) -> Tuple[int, TransitionCache, bool]:
        # Follows transitions and remembered packets up to the length of a long transition, and keeps it when it held
        # nothing new.  False when a packet has to be handled next, or there is nothing more.
        begin, before, state, under = at, self._execution.state, self._execution.state, cache
        made = self._automaton.made
        numbers: List[int] = []
        going = True
        below: List[Optional[Entry]] = []
        stop = min(end, begin + LONGEST - WINDOW)
        while at < stop:
            at, state = self._transitions(numbers, below, state, data, at, stop, end)
            if at >= stop:
                break
            size = self._table[data[at]].length(data, at, end) if self._remembered[data[at]] else 0
            long_transition = cache.packets.get((state, data[at : at + size])) if size > 0 else None
            if long_transition is None:
                going = False
                break
            numbers.append(long_transition.run)
            at += size
            state, cache = long_transition.state, long_transition.cache
            below += long_transition.below
            # What comes again is met at the same bytes when long transitions end where synchronisation or the like is.
            if at - begin >= _LONG or not data[at - size]:
                break
        if numbers:
            self.recorder.extend(numbers, self._base + begin, self._base + at)
            self._execution.state = state
            self._execution.below += below
            passed = data[begin:at]
            if len(passed) < SHORTEST:
                if at < end and self._timed[data[at]] and caches.expects_before_time(under, before, passed):
                    under.before_time[before, passed] = self._chain(passed, numbers, state, cache, below)
            elif made == self._automaton.made and caches.expects(under, before, passed):
                caches.add_long(under, before, self._chain(passed, numbers, state, cache, below))
        return at, cache, going

    def _chain(
        self, data: bytes, numbers: List[int], state: DecoderState, cache: TransitionCache, below: List[Optional[Entry]]
    ) -> LongTransition:
        runs = self._automaton.runs
        run = numbers[0] if len(numbers) == 1 else runs.add(Chain(numbers, runs.runs))
        return LongTransition(data, run, state, cache, tuple(below))

    def _transitions(
        self,
        numbers: List[int],
        below: List[Optional[Entry]],
        state: DecoderState,
        data: bytes,
        at: int,
        stop: int,
        end: int,
    ) -> Tuple[int, DecoderState]:
        # The innermost loop: from transition to transition, up to a packet that is none.
        make, ran, followed = self._automaton.transition, numbers.append, self._automaton.followed
        while at < stop:
            transition = state.transitions.get(data[at : at + state.window])
            if transition is None:
                transition = make(state, data, at, end) if followed[data[at]] else None
                if transition is None:
                    break
            length, run, state, under = transition
            ran(run)
            if under:
                below += under
            at += length
        return at, state

    def _remember(self, caches: TransitionCaches, cache: TransitionCache, data: bytes, at: int, end: int) -> int:
        # Lets a packet be handled, and remembers what was done.
        if not self._remembered[data[at]]:
            return self._packet(data, at, end)
        execution, recorder = self._execution, self.recorder
        state, refused = execution.state, execution.refused
        entries, events = len(recorder.order), len(recorder.events)
        following = self._packet(data, at, end)
        if self._hunting or following == at or caches.is_new_packet(cache, state, data[at:following]):
            return following
        added = recorder.events[events:]
        if execution.refused == refused and not any(map(_is_halt, added)):
            runs = self._automaton.runs
            legs = [leg for number in recorder.order[entries:] for leg in runs.runs[number].legs]
            before = [count - entries for count in recorder.event_entries[events:]]
            foreseen = tuple([Foreseen(count, 0, event._replace(offset=0)) for count, event in zip(before, added)])
            run = runs.add(Run(following - at, [0] * len(legs), legs, foreseen))
            after = caches.under(self._handlers.packet_context())
            caches.add_packet(cache, state, LongTransition(data[at:following], run, execution.state, after, ()))
        return following

    def _gap(self, position: int, reason: GapReason, detail: str) -> None:
        # Nothing more is known of what is traced up to the first I-sync packet.
        self._execution.lose(position, reason, detail)

    def _bad(self, position: int, detail: str) -> None:
        self._execution.lose(position, GapReason.BAD_PACKET, detail)
        self._handlers.lose()

    def _handle(self, kind: K, data: bytes, at: int, position: int) -> None:
        self._handlers.handle(kind, data, at, position)


def _is_halt(event: Event) -> bool:
    # What is between runs is found without going through them.
    if isinstance(event, Gap):
        return event.detail == DEBUG_STATE
    return isinstance(event, Exception_) and event.name == DEBUG_HALT


class StreamDecoder(ABC):
    """Decoder for the streams of one trace unit."""

    @abstractmethod
    def begin(self, offset_of: Callable[[int], int]) -> FollowedStream[Any]:
        """Begin a stream.

        :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
        """

    def decode(
        self,
        data: bytes,
        offset_of: Callable[[int], int],
        progress: Optional[Callable[[int], None]] = None,
        before: Sequence[Gap] = (),
    ) -> Recorder:
        """Decode a whole stream.

        :param progress: Called now and then with the number of bytes decoded since it was called last; what it raises
            ends the work, and this decoder must not be used again.
        :param before: What is known to be missing before the stream.
        """
        decoding = self.begin(offset_of)
        for gap in before:
            decoding.recorder.event(gap)
        with garbage_uncollected():
            feed_pieces(decoding.feed, data, progress)
            return decoding.finish()
