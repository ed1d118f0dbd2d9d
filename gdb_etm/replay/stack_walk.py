"""Walker of the control flow that tracks registers and stack words symbolically.

r7, r11, sp, lr and the words on the stacks are roots plus constants.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, ExceptionReturn, Gap
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.lift.operations import LR, SP
from gdb_etm.replay.effects import PC, TRACKED, Effect, Effects
from gdb_etm.replay.script import ARRIVAL, EFFECT, EVENT, Script

WORD = 0xFFFFFFFF
# Instructions from one stored state to the next.
_CHECKPOINT_INTERVAL = 2048
# Interrupted contexts that are remembered.
_PENDING = 64

# A root and a constant; root 0 is the number 0.
Symbol = Tuple[int, int]


class SavedWord(NamedTuple):
    """A word on the stack."""

    # Distance from the root of the stack pointer it was pushed by.
    distance: int
    value: Symbol
    # The instruction that pushed it; 0 when that lies before the history.
    number: int


class InterruptedContext(NamedTuple):
    """A context that an exception interrupted."""

    # The handler's first instruction.
    number: int
    return_address: Optional[int]
    registers: Dict[int, Symbol]
    # The stack pointer as the handler begins.
    stack: Symbol
    # The link register as the handler begins: EXC_RETURN on M-profile.
    link: Symbol
    # How many handlers were active more than when the history began.
    depth: int
    # Whether its handler wrote a stack pointer.
    switched: bool = False


class StackState:
    """What is known before an instruction."""

    __slots__ = ("registers", "stacks", "interrupted")

    def __init__(
        self,
        registers: Dict[int, Symbol],
        stacks: Dict[int, Dict[int, SavedWord]],
        interrupted: List[InterruptedContext],
    ) -> None:
        self.registers = registers
        # Words by the root of the stack pointer and their distance from it.
        self.stacks = stacks
        self.interrupted = interrupted

    def copy(self) -> StackState:
        """Copy it."""
        stacks = {root: dict(words) for root, words in self.stacks.items() if words}
        return StackState(dict(self.registers), stacks, list(self.interrupted))


class StackFacts:
    """Facts that a walk finds out for all instructions of a history.

    :param history: The executed instructions.
    """

    def __init__(self, history: ExecutionHistory) -> None:
        core = history.source.core
        self.history = history
        self.effects = Effects(history.program, core is None or is_m_profile(core))
        self.script = Script(history)
        # Values of roots.
        self.values: Dict[int, int] = {0: 0}
        # Words that something else overwrote, each with its root.
        self.spoiled: Set[Tuple[int, SavedWord]] = set()
        # Words that were popped and not pushed, by root and distance, each with the instruction that popped it.
        self.early: Dict[Tuple[int, int], Tuple[int, SavedWord]] = {}
        # Every exception that was taken.
        self.entries: List[InterruptedContext] = []
        # Whether a stack pointer, or the choice of one, was written.
        self.has_switched = False
        # The state that was asked for last: GDB asks for many things at one instruction.
        self._last: Optional[Tuple[int, StackState]] = None
        self._marks: List[int] = []
        self._states: List[Tuple[int, StackState]] = []

    def mark(self, entry: int, number: int, state: StackState) -> None:
        """Keep the state before an entry of the history's order.

        :param number: Of its first instruction.
        """
        self._marks.append(number)
        self._states.append((entry, state.copy()))

    def state(self, number: int) -> StackState:
        """Give the state before an instruction, from the checkpoint before it."""
        if self._last is None or self._last[0] != number:
            at = bisect_right(self._marks, number) - 1
            entry, state = self._states[at]
            again = StackWalk(self, state.copy(), False)
            again.run(entry, self._marks[at], number)
            self._last = number, again.state
        return self._last[1]

    def learn(self, symbol: Symbol, value: int) -> bool:
        """Take note of a symbol's value.

        :returns: Whether that agrees with what was known.
        """
        known = self.resolve(symbol)
        if known is None:
            self.values[symbol[0]] = value - symbol[1] & WORD
        return known is None or known == value

    def resolve(self, symbol: Symbol) -> Optional[int]:
        """Give a symbol's value; None when it is not known."""
        value = self.values.get(symbol[0])
        return None if value is None else value + symbol[1] & WORD

    def word_value(self, root: int, word: SavedWord) -> Optional[int]:
        """Give a saved word's value."""
        return None if (root, word) in self.spoiled else self.resolve(word.value)


class StackWalk:
    """Executes effects: first with learning, later to rebuild a state.

    Roots are numbered by the instruction at which they begin, so that they are the same each time.

    :param facts: What is found out.
    :param state: The state to begin with.
    :param learns: Whether it is the first time.
    """

    def __init__(self, facts: StackFacts, state: StackState, learns: bool) -> None:
        self.state = state
        self._facts = facts
        self._learns = learns
        self._marked = -_CHECKPOINT_INTERVAL
        self._roots = 0
        # What a return goes to, with the word it was popped from.
        self._leaves: Optional[Tuple[Symbol, Optional[Tuple[int, SavedWord]]]] = None
        # Whether an exception return has just been.
        self._returning = False
        # Handlers that are active; below 0 where the history began in one.
        self.depth = 0

    def run(self, entry: int, number: int, stop: int) -> None:
        """Go to before an instruction.

        :param entry: The entry of the history's order to begin with.
        :param number: Of its first instruction.
        :param stop: Of the instruction to stop before.
        """
        history, script = self._facts.history, self._facts.script
        order, events = history.order, script.events
        at = bisect_left(script.event_entries, entry)
        while number <= stop:
            if self._learns and number >= self._marked + _CHECKPOINT_INTERVAL and not self._returning:
                self._marked = number
                self._facts.mark(entry, number, self.state)
            while at < len(events) and script.event_entries[at] <= entry:
                self._event(events[at], number)
                at += 1
            if entry == len(order):
                return
            for steps, instructions in script.steps(order[entry], self._facts.effects):
                for kind, distance, what in steps:
                    if kind != ARRIVAL or self._returning or self._leaves is not None:
                        self._step(kind, number + distance, what, stop)
                number += instructions
                if number > stop:
                    return
            entry += 1

    def _step(self, kind: int, number: int, what: Any, stop: int) -> None:
        if kind == EFFECT:
            if number < stop:
                self._roots = number << 8
                self._execute(what, number)
        elif number > stop:
            return
        elif kind == EVENT:
            self._event(what, number)
        else:
            self._roots = number << 8 | 0xC0
            self._arrive(*what)

    def _event(self, event: object, number: int) -> None:
        if not number << 8 | 0x80 <= self._roots < number << 8 | 0xC0:
            self._roots = number << 8 | 0x80
        if isinstance(event, Exception_):
            self._exception(event)
        elif isinstance(event, ExceptionReturn):
            self._returning = True
            self._note_main_stack()
        elif isinstance(event, Gap):
            self._forget()

    def _arrive(self, address: int, isa: Isa) -> None:
        leaves, self._leaves = self._leaves, None
        if self._returning:
            self._returning = False
            self.depth -= 1
            self._resume()
        elif leaves is not None and self._learns:
            symbol, word = leaves
            if not self._facts.learn(symbol, address | (isa is Isa.T32)) and word is not None:
                self._facts.spoiled.add(word)

    def _exception(self, event: Exception_) -> None:
        if event.name == DEBUG_HALT:
            return
        self._leaves = None
        registers = self.state.registers
        if self._returning:
            # One handler after the other, for the same context and on the same frame.
            self._returning = False
            before = self.state.interrupted[-1] if self.state.interrupted else None
            registers[SP] = before.stack if before is not None else self._new()
            registers[LR] = self._new() if before is None or before.switched else before.link
            return
        stack, link = self._new(), self._new()
        entry = InterruptedContext(self._roots >> 8, event.return_address, dict(registers), stack, link, self.depth)
        self.state.interrupted.append(entry)
        del self.state.interrupted[:-_PENDING]
        self.depth += 1
        if self._learns:
            self._facts.entries.append(entry)
        registers[SP], registers[LR] = stack, link

    def _note_main_stack(self) -> None:
        # A handler that has not found back to where it began has gone over to another thread's stack, or has made a
        # frame more.
        interrupted = self.state.interrupted
        if interrupted and self.state.registers[SP] != interrupted[-1].stack:
            self._switch()

    def _switch(self) -> None:
        self._facts.has_switched = True
        self.state.interrupted = [entry._replace(switched=True) for entry in self.state.interrupted]

    def _resume(self) -> None:
        # Wherever it goes on, as after a handler that skips what has faulted: the frame is the one that was pushed.
        left = self.state.interrupted.pop() if self.state.interrupted else None
        if left is None or left.switched:
            # Which thread goes on is not known: several may have been left at one place.
            self._forget()
        else:
            self.state.registers.update(left.registers)

    def _forget(self) -> None:
        self._leaves = None
        for register in TRACKED:
            self.state.registers[register] = self._new()

    def _new(self) -> Symbol:
        self._roots += 1
        return self._roots, 0

    def _execute(self, effect: Effect, number: int) -> None:
        registers = self.state.registers
        root, top = registers[SP]
        # All moves take place at once, and before what is loaded.
        moved = [(target, registers[source], constant) for target, source, constant in effect.moves]
        link = registers[LR]
        for register, distance in effect.stores:
            saved = SavedWord(top + distance, registers[register], number)
            self.state.stacks.setdefault(root, {})[saved.distance] = saved
        for register, distance in effect.spoils:
            self._spoil(registers[register], distance, number)
        for register, distance in effect.loads:
            word = self._load(root, top + distance, number)
            if register == PC:
                self._leaves = word.value, (root, word)
            else:
                registers[register] = word.value
        for target, base, constant in moved:
            registers[target] = base[0], base[1] + constant
        for register, value in effect.constants:
            registers[register] = 0, value
        for register in effect.lost:
            registers[register] = self._new()
        if effect.switches:
            self._switch()
        if effect.link is not None:
            registers[LR] = 0, effect.link
        if effect.returns:
            self._leaves = link, None
        if effect.moves and registers[SP][1] > top:
            self._drop()

    def _spoil(self, base: Symbol, distance: int, number: int) -> None:
        # What was pushed there was room for a variable.
        words, at = self.state.stacks.get(base[0]), base[1] + distance
        if words is not None and at in words:
            words[at] = SavedWord(at, self._new(), number)

    def _load(self, root: int, distance: int, number: int) -> SavedWord:
        word = self.state.stacks.get(root, {}).get(distance)
        if word is not None:
            return word
        fresh = SavedWord(distance, self._new(), 0)
        # The first time it was pushed before the history began.
        popped, early = self._facts.early.setdefault((root, distance), (number, fresh))
        return early if popped == number else fresh

    def _drop(self) -> None:
        # What lies below the stack pointer is gone.
        root, top = self.state.registers[SP]
        words = self.state.stacks.get(root)
        if words:
            self.state.stacks[root] = {at: word for at, word in words.items() if at >= top}
