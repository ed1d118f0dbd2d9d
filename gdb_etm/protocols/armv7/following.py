"""The hot loop of decoding: stretches of trace that are remembered, one look-up after the other."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Callable, List, Optional, Sequence

from gdb_etm.protocols.armv7.automaton import WINDOW, Automaton
from gdb_etm.protocols.armv7.execution import Execution
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.memory import garbage_uncollected
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.stream import Form, H, K, PacketStream

_PIECE = 1 << 18
# Bytes fed at a time, so that somebody who waits can be told how far it is.


class FollowedStream(PacketStream[H, K]):
    """One stream being decoded; its bytes may be fed in any split.

    :param automaton: What is known of the program.
    :param execution: Where the execution stands.
    :param remembers: Whether packets may be taken by stretches; otherwise one by one.
    """

    def __init__(
        self,
        form: Form[K],
        table: Sequence[H],
        kind_of: Callable[[H, bytes, int], K],
        automaton: Automaton,
        execution: Execution,
        remembers: bool,
    ) -> None:
        super().__init__(form, table, kind_of)
        self.recorder = execution.recorder
        self._automaton = automaton
        self._execution = execution
        self._remembers = remembers

    @abstractmethod
    def finish(self) -> Recorder:
        """End the stream and give what was recorded."""

    def _packets(self, data: bytes, at: int, end: int) -> int:
        # Returns where it stopped: at the end, before a packet that is not whole, or where synchronisation was lost.
        if not self._remembers or not self._informed:
            return self._packet(data, at, end)
        while at < end:
            at = self._stretches(data, at, end)
            if at == end:
                break
            following = self._packet(data, at, end)
            if self._hunting or following == at:
                return following
            at = following
        return at

    def _stretches(self, data: bytes, at: int, end: int) -> int:
        # The innermost loop: from stretch to stretch, up to a packet that has to be handled.
        execution, make = self._execution, self._automaton.stretch
        state, begin = execution.state, at
        numbers: List[int] = []
        ran = numbers.append
        while at < end:
            stretch = state.stretches.get(data[at : at + WINDOW]) or make(state, data, at, end)
            if stretch is None:
                break
            length, run, state = stretch
            ran(run)
            at += length
        if numbers:
            self.recorder.extend(numbers, self._base + begin, self._base + at)
            execution.state = state
        return at

    def _gap(self, position: int, reason: GapReason, detail: str) -> None:
        # There is no more to tell of what is traced up to the first I-sync packet.
        self._execution.lose(position, reason, detail)

    def _bad(self, position: int, detail: str) -> None:
        self._execution.lose(position, GapReason.BAD_PACKET, detail)


def decode_stream(
    decoding: FollowedStream[Any, Any],
    data: bytes,
    progress: Optional[Callable[[int], None]],
    before: Sequence[Gap],
) -> Recorder:
    """Feed a whole stream to a decoder.

    :param progress: Called now and then with the number of bytes fed since it was called last.
    :param before: What is known to be missing before the stream.
    """
    for gap in before:
        decoding.recorder.event(gap)
    with garbage_uncollected():
        for at in range(0, len(data), _PIECE):
            piece = data[at : at + _PIECE]
            decoding.feed(piece)
            if progress is not None:
                progress(len(piece))
        return decoding.finish()
