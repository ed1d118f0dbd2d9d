"""Caches of packets that were handled, and of long transitions.

The effect of a packet depends on its bytes, on the automaton's state, and on the *packet context*: all else that
decides how packets are read, such as the processor's context.  It changes seldom.
"""

from __future__ import annotations

from typing import Dict, Final, Hashable, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.armv7.automaton import DecoderState, Stack

# Bytes of a long transition at most.
LONGEST: Final = 512
# Bytes of a long transition at least, unless a timestamp follows it.
SHORTEST: Final = 12
# Bytes by which long transitions are looked for.
KEY: Final = 12
# Long transitions at most that begin with the same bytes.
_ALTERNATIVES: Final = 4
_MAX_REMEMBERED: Final = 1 << 16


class LongTransition(NamedTuple):
    """The effect of one packet, or of many transitions and packets."""

    # All its bytes.
    data: bytes
    # Run number.
    run: int
    # The state afterwards.
    state: DecoderState
    # What is remembered under the packet context afterwards.
    cache: "TransitionCache"
    # What goes below in the return stack.
    below: Stack


class TransitionCache:
    """Packets and long transitions remembered under one packet context.

    :param packet_context: The packet context.
    """

    def __init__(self, packet_context: Hashable) -> None:
        self.packet_context = packet_context
        # By the state before and the packet's bytes; None after the first time.
        self.packets: Dict[Tuple[DecoderState, bytes], Optional[LongTransition]] = {}
        # By the state before and the first bytes; without any where a long transition might begin.
        self.long_transitions: Dict[Tuple[DecoderState, bytes], List[LongTransition]] = {}
        # Those that a timestamp cut short, by the state before and all bytes; None after the first time.
        self.before_time: Dict[Tuple[DecoderState, bytes], Optional[LongTransition]] = {}


class TransitionCaches:
    """The caches of all packet contexts."""

    def __init__(self) -> None:
        self._caches: Dict[Hashable, TransitionCache] = {}
        self._remembered = 0

    def under(self, packet_context: Hashable) -> TransitionCache:
        """Give the cache of a packet context."""
        cache = self._caches.get(packet_context)
        if cache is None:
            self._count()
            cache = self._caches[packet_context] = TransitionCache(packet_context)
        return cache

    def is_new_packet(self, cache: TransitionCache, state: DecoderState, data: bytes) -> bool:
        """Return whether a packet comes the first time; the next does not.

        To remember it costs as much as to handle it, and most come once.
        """
        key = (state, data)
        if key in cache.packets:
            return False
        cache.packets[key] = None
        self._count()
        return True

    def add_packet(self, cache: TransitionCache, state: DecoderState, long_transition: LongTransition) -> None:
        """Remember the effect of a packet."""
        cache.packets[state, long_transition.data] = long_transition
        self._count()

    def expects(self, cache: TransitionCache, state: DecoderState, data: bytes) -> bool:
        """Return whether to remember a long transition.

        It must be long enough, and one that began like it must have been met before.
        """
        if len(data) < SHORTEST:
            return False
        key = (state, data[:KEY])
        if key in cache.long_transitions:
            return True
        cache.long_transitions[key] = []
        self._count()
        return False

    def expects_before_time(self, cache: TransitionCache, state: DecoderState, data: bytes) -> bool:
        """Return whether to keep a long transition cut short by a timestamp.

        It is kept when it comes the second time.
        """
        key = (state, data)
        if key in cache.before_time:
            return cache.before_time[key] is None
        cache.before_time[key] = None
        self._count()
        return False

    def add_long(self, cache: TransitionCache, state: DecoderState, long_transition: LongTransition) -> None:
        """Remember a long transition."""
        alike = cache.long_transitions.setdefault((state, long_transition.data[:KEY]), [])
        alike.insert(0, long_transition)
        del alike[_ALTERNATIVES:]
        self._count()

    def _count(self) -> None:
        # Bounds memory on trace that does not repeat.
        self._remembered += 1
        if self._remembered > _MAX_REMEMBERED:
            for cache in self._caches.values():
                cache.packets.clear()
                cache.long_transitions.clear()
                cache.before_time.clear()
            self._caches.clear()
            self._remembered = 0
