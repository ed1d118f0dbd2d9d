"""Speculation: elements that wait until they are committed.

A unit that speculates reports branches which the processor only predicts.  It commits the oldest of them, cancels the
youngest and corrects the direction of the last.  Elements go on to the execution, in the order of the stream, when no
packet can change them any more: a P0 element and its followers when it is committed.  The last committed atom waits
for the next one, because a Mispredict may still come for it.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 5.2.18 to 5.2.20.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Callable, Deque, Final, List, Optional, Tuple

from gdb_etm.protocols.elements import Cycles, Event, GapReason
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.exceptions import exception_name
from gdb_etm.protocols.etmv4.execution import Execution, TakenException
from gdb_etm.protocols.etmv4.log import Cancelled, Log, Lost, Parent
from gdb_etm.protocols.etmv4.packets import (
    NO_ADDRESSES,
    Address,
    ContextFields,
    TraceInfo,
    push_address,
)
from gdb_etm.protocols.etmv4.results import Flush

_WORDS_SHOWN: Final = 8
# Registers that allow billions of uncommitted P0 elements, and a packet that counts them, need not be right.
_MAX_UNSEEN: Final = 1 << 12


class _Fate(Enum):
    # What becomes of an element that follows a P0 element.
    KEPT = "stays when that is cancelled"
    DROPPED = "goes when that is cancelled (Table 5-9)"
    VOID = "goes also when the atom before it is corrected (5.2.20)"


class _Follower:
    # An element that follows a P0 element.

    __slots__ = ("fate", "act", "flush")

    def __init__(self, fate: _Fate, act: Callable[[], None], flush: Optional[Flush] = None) -> None:
        self.fate = fate
        self.act = act
        self.flush = flush


class _P0:
    # A P0 element that waits, and what follows it.

    __slots__ = ("act", "word", "atom", "traced", "taken", "parent", "following", "voidable", "flush")

    def __init__(self, act: Callable[["_P0"], None], word: str, flush: Optional[Flush] = None) -> None:
        self.act = act
        self.word = word
        self.flush = flush
        self.parent: Optional[Parent] = None
        self.atom = False
        self.traced = False
        self.taken = False
        self.following: List[_Follower] = []
        self.voidable: List[_Follower] = []

    def follow(self, follower: _Follower) -> None:
        self.following.append(follower)
        if follower.fate is _Fate.VOID:
            self.voidable.append(follower)

    def void(self) -> None:
        for follower in self.voidable:
            follower.act = _skip
        self.voidable = []

    def leave(self) -> None:
        self.act(self)
        self.act = _nothing
        self.atom = False
        for follower in self.following:
            follower.act()
        self.following = []
        self.voidable = []


def _nothing(element: _P0) -> None:
    pass


def _skip() -> None:
    pass


class Speculation:
    """The elements of one stream that are not certain yet.

    It takes the same elements as :class:`Execution`, and besides those that say what becomes of P0 elements.

    :param config: The unit's configuration.
    :param execution: Takes the elements that are certain.
    :param log: Takes the P0 elements as they come, cancelled ones included; None when nobody needs them.
    """

    def __init__(self, config: Etmv4Config, execution: Execution, log: Optional[Log]) -> None:
        # The address registers as of the last packet; the execution has its own, as of what is certain.
        self.addresses = NO_ADDRESSES
        self._limit = config.max_speculation
        self._m_profile = config.m_profile
        self._keys = config.p0_keys
        self._execution = execution
        self._log = log
        # The key of the next P0 element; not known between a gap and a Trace Info (5.2.3).
        self._key: Optional[int] = None
        self._informed = False
        # The last committed P0 element, an atom that waits or one that has left; then the uncommitted ones.
        self._waiting: Deque[_P0] = deque([_P0(_nothing, "")])

    @property
    def _depth(self) -> int:
        return len(self._waiting) - 1

    # Elements about synchronisation, time and place.

    def synchronise(self, info: TraceInfo, position: int) -> None:
        """Take a Trace Info (6.4.2).

        At the first one, P0 elements from before it may still be uncommitted.
        """
        self.addresses = NO_ADDRESSES
        if self._informed and info.speculation != self._depth:
            words = "%d P0 elements are uncommitted, the unit says %d" % (self._depth, info.speculation)
            self.lose(position, GapReason.BAD_PACKET, words)
        if not self._informed:
            self._informed = True
            if self._depth:
                self._interrupt()  # P0 elements since a gap: the packet has their number
            unseen = min(info.speculation, self._limit, _MAX_UNSEEN)
            self._waiting.extend(_P0(_nothing, "unseen") for _ in range(unseen))
            # A Mispredict may be for any of them, or for an atom that was committed before (5.2.18).
            for element in self._waiting:
                element.atom = True
        self._key = info.p0_key % self._keys
        self._follow(_Fate.DROPPED, lambda: self._execution.synchronise(info, position))

    def event(self, event: Event) -> None:
        """Take an element that is only recorded."""
        self._follow(_Fate.KEPT, lambda: self._execution.event(event))

    def mark_time(self) -> None:
        """Take a Timestamp Marker element."""
        self._follow(_Fate.KEPT, self._execution.mark_time)

    def cycle_count(self, event: Cycles) -> None:
        """Take a Cycle Count element, which belongs to the last commit (5.2.22)."""
        last = self._waiting[0]
        last.follow(_Follower(_Fate.KEPT, lambda: self._execution.event(event)))
        if not last.atom:
            last.leave()

    def gap(self, position: int, reason: GapReason, detail: str = "") -> None:
        """Take a gap that leaves P0 elements alone."""
        self._follow(_Fate.KEPT, lambda: self._execution.gap(position, reason, detail))

    def set_context(self, fields: ContextFields, position: int) -> None:
        """Take a Context element."""
        self._follow(_Fate.DROPPED, lambda: self._execution.set_context(fields, position))

    def arrive(self, address: Address, position: int) -> None:
        """Take an Address element; the last before a P0 element holds (5.2.9)."""
        self.addresses = push_address(self.addresses, address)
        self._waiting[-1].void()
        self._follow(_Fate.VOID, lambda: self._execution.arrive(address, position))

    def trace_on(self, position: int) -> None:
        """Take a Trace On element."""
        flush = self._flush()
        self._follow(_Fate.DROPPED, lambda: self._execution.trace_on(position, flush), flush)

    def flush_future(self) -> None:
        """Take a Branch Future Flush element."""
        self._follow(_Fate.DROPPED, self._execution.flush_future)

    def flush_conditions(self) -> None:
        """Take a Conditional Flush element."""
        flush = self._flush()
        self._follow(_Fate.DROPPED, lambda: self._execution.flush_conditions(flush), flush)

    def _flush(self) -> Optional[Flush]:
        # Its place among the conditional elements is that in the stream; those do not wait to be certain.
        return self._log.conditions.flush() if self._log is not None else None

    def resynchronise(self, position: int) -> None:
        """Take a Resynchronization element."""
        self._follow(_Fate.DROPPED, lambda: self._execution.resynchronise(position))

    # P0 elements.

    def atoms(self, atoms: Tuple[bool, ...], position: int) -> None:
        """Take Atom elements, oldest first."""
        for taken in atoms:
            element = _P0(lambda atom: self._atom(atom, position), "")
            element.atom = True
            element.traced = element.taken = taken
            self._wait(element)

    def _atom(self, element: _P0, position: int) -> None:
        self._execution.atom(element.taken, element.traced, position, element.parent)

    def q(self, count: Optional[int], position: int) -> None:
        """Take a Q element."""
        self._wait(_P0(lambda _: self._execution.q(count, position), "Q"))

    def exception(self, taken: TakenException, position: int) -> None:
        """Take an Exception element."""
        if not taken.arrived:
            self.addresses = push_address(self.addresses, taken.address)
        word = "exception %s" % exception_name(taken.fields.number, self._m_profile)[0]
        flush = self._flush()
        self._wait(_P0(lambda p0: self._execution.exception(taken, position, p0.parent, flush), word, flush))

    def exception_return(self, position: int) -> None:
        """Take an Exception Return; on M-profile a P0 element (5.2.8)."""
        if self._m_profile:
            act = self._execution.exception_return
            self._wait(_P0(lambda p0: act(position, p0.parent), "exception return"))
        else:
            self._follow(_Fate.DROPPED, lambda: self._execution.exception_return(position))

    def function_return(self, position: int) -> None:
        """Take a Function Return element."""
        act = self._execution.function_return
        self._wait(_P0(lambda p0: act(position, p0.parent), "function return"))

    # What becomes of P0 elements.

    def commit(self, count: int, position: int) -> None:
        """Take a Commit element for the ``count`` oldest."""
        if count > self._depth:
            self.lose(position, GapReason.BAD_PACKET, "commits %d of %d P0 elements" % (count, self._depth))
            return
        for _ in range(count):
            self._waiting.popleft().leave()
        if not (self._waiting[0].atom and self._limit):
            self._waiting[0].leave()

    def cancel(self, count: int, position: int) -> None:
        """Take a Cancel element for the ``count`` youngest."""
        if count > self._depth:
            self.lose(position, GapReason.BAD_PACKET, "cancels %d of %d P0 elements" % (count, self._depth))
            return
        if self._log is not None:
            self._log.items.append(Cancelled(count))
        self._count_keys(-count)
        cancelled = [self._waiting.pop() for _ in range(count)]
        for element in reversed(cancelled):
            if element.flush is not None:
                element.flush.cancelled = True
            for follower in element.following:
                if follower.fate is _Fate.KEPT:
                    self._follow(follower.fate, follower.act)
                elif follower.flush is not None:
                    follower.flush.cancelled = True

    def mispredict(self, position: int) -> None:
        """Take a Mispredict: the last atom went the other way (5.2.20)."""
        for element in reversed(self._waiting):
            element.void()
            if element.atom:
                element.taken = not element.taken
                self.flush_conditions()
                return
        self.lose(position, GapReason.BAD_PACKET, "corrects an atom where there is none")

    # Ends.

    def cut(self, position: int, reason: GapReason, detail: str = "") -> None:
        """Take a gap that loses place and uncommitted elements (5.2.4, 5.2.5)."""
        self._execution.cut(position, reason, _with_lost(detail, self._interrupt()))

    def lose(self, position: int, reason: GapReason, detail: str) -> None:
        """Take a gap that loses everything until the next synchronisation."""
        self._execution.lose(position, reason, _with_lost(detail, self._interrupt()))
        self._informed = False

    def end(self, position: int) -> None:
        """End the stream; uncommitted elements become a gap."""
        words = self._break()
        if words:
            self._execution.gap(position, GapReason.UNCOMMITTED, words)

    def _interrupt(self) -> str:
        # The stream continues after this, with keys that are not known until the next Trace Info (5.2.3).
        self._key = None
        if self._log is not None:
            self._log.items.append(Lost())
        return self._break()

    def _break(self) -> str:
        # Passes on what is committed and what a Cancel would keep; names the uncommitted P0 elements.
        self._waiting[0].leave()
        words = []
        while self._depth:
            element = self._waiting[1]
            del self._waiting[1]
            words.append(element.word or "NE"[element.taken])
            for follower in element.following:
                if follower.fate is _Fate.KEPT:
                    follower.act()
        if len(words) > _WORDS_SHOWN:
            words[_WORDS_SHOWN:] = ["and %d more" % (len(words) - _WORDS_SHOWN)]
        return ", ".join(words)

    def _count_keys(self, count: int) -> None:
        if self._key is not None:
            self._key = (self._key + count) % self._keys

    def _follow(self, fate: _Fate, act: Callable[[], None], flush: Optional[Flush] = None) -> None:
        # An element after the last P0 element; at once when that has left.
        last = self._waiting[-1]
        if self._depth or last.atom:
            last.follow(_Follower(fate, act, flush))
        else:
            act()

    def _wait(self, element: _P0) -> None:
        # A P0 element; when there are more than the unit can hold, the oldest is committed (6.4.1).
        if self._log is not None and self._key is not None:
            element.parent = Parent(self._key)
            self._log.items.append(element.parent)
        self._count_keys(1)
        self._waiting.append(element)
        if self._depth > self._limit:
            self.commit(1, 0)


def _with_lost(detail: str, uncommitted: str) -> str:
    return "; ".join(filter(None, (detail, "uncommitted: %s" % uncommitted if uncommitted else "")))
