"""What is remembered of streams: packets that were handled, and passages of stretches and packets.

What a packet does is decided by its bytes, by the automaton's state, and by the *regime*: the rest of what decides how
packets are read, as the context is, which changes seldom.
"""

from __future__ import annotations

from typing import Dict, Hashable, List, NamedTuple, Optional, Tuple

from gdb_etm.protocols.armv7.automaton import Stack, State

LONGEST = 512
"""Bytes of a passage at most."""
SHORTEST = 12
"""Bytes of a passage at least, unless a timestamp follows it."""
KEY = 12
"""Bytes by which passages are looked for."""
_ALTERNATIVES = 4
# Passages at most that begin with the same bytes.
_MAX_REMEMBERED = 1 << 16


class Passage(NamedTuple):
    """What a packet, or a series of stretches and packets, does."""

    data: bytes
    """All its bytes."""
    run: int
    """Run number."""
    state: State
    """The state afterwards."""
    memory: "Memory"
    """What is remembered under the regime afterwards."""
    below: Stack
    """What goes below in the return stack."""


class Memory:
    """What is remembered under one regime.

    :param regime: The regime.
    """

    def __init__(self, regime: Hashable) -> None:
        self.regime = regime
        self.packets: Dict[Tuple[State, bytes], Passage] = {}
        """By the state before and the packet's bytes."""
        self.passages: Dict[Tuple[State, bytes], List[Passage]] = {}
        """By the state before and the first bytes; without any where a passage might begin."""
        self.before_time: Dict[Tuple[State, bytes], Optional[Passage]] = {}
        """Short passages that a timestamp followed, by the state before and all bytes; None where it was met once."""


class Memories:
    """What is remembered of streams, by regime."""

    def __init__(self) -> None:
        self._memories: Dict[Hashable, Memory] = {}
        self._remembered = 0

    def under(self, regime: Hashable) -> Memory:
        """Give what is remembered under a regime."""
        memory = self._memories.get(regime)
        if memory is None:
            self._count()
            memory = self._memories[regime] = Memory(regime)
        return memory

    def add_packet(self, memory: Memory, state: State, passage: Passage) -> None:
        """Remember what a packet did."""
        memory.packets[state, passage.data] = passage
        self._count()

    def expects(self, memory: Memory, state: State, data: bytes) -> bool:
        """Tell whether to remember a passage: it is long enough, and one that began like it was met before."""
        if len(data) < SHORTEST:
            return False
        key = (state, data[:KEY])
        if key in memory.passages:
            return True
        memory.passages[key] = []
        self._count()
        return False

    def expects_before_time(self, memory: Memory, state: State, data: bytes) -> bool:
        """Tell whether to remember a short passage that a timestamp follows: it was met before, and is not yet."""
        key = (state, data)
        if key in memory.before_time:
            return memory.before_time[key] is None
        memory.before_time[key] = None
        self._count()
        return False

    def add_passage(self, memory: Memory, state: State, passage: Passage) -> None:
        """Remember what a passage did."""
        alike = memory.passages.setdefault((state, passage.data[:KEY]), [])
        alike.insert(0, passage)
        del alike[_ALTERNATIVES:]
        self._count()

    def _count(self) -> None:
        # Bounds memory on trace that does not repeat.
        self._remembered += 1
        if self._remembered > _MAX_REMEMBERED:
            for memory in self._memories.values():
                memory.packets.clear()
                memory.passages.clear()
                memory.before_time.clear()
            self._memories.clear()
            self._remembered = 0
