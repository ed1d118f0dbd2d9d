"""The call stack's registers in the past, from the flow of control alone.

A history says where every return went; so what its calls pushed and its returns popped is known, and the stack pointer
is known up to where it began.  Values are kept as a *root*, something not known yet, plus a constant; a return tells
what its root is, and so do the registers of the halted core for the end.  What an instruction does that is not
followed begins a new root.

Taken for granted is the procedure call standard alone: nobody writes where a return address is saved, and a handler
leaves r7 and r11 as they were.  A return that goes elsewhere than to the saved address shows when that is wrong, and
then the saved value is not told.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from gdb_etm.history.reader import DEBUG_HALT
from gdb_etm.history.store import History, Span
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, Gap
from gdb_etm.replay.effects import LR, PC, SP, TRACKED, Effect, Effects

_WORD = 0xFFFFFFFF
_EVERY = 2048
# Instructions from one stored state to the next.
_PENDING = 64
# Interrupted contexts that are remembered.

Symbol = Tuple[int, int]
"""A root and a constant; root 0 is the number 0."""


class Saved(NamedTuple):
    """A word on the stack."""

    place: int
    """Distance from the root of the stack pointer it was pushed by."""
    value: Symbol
    number: int
    """The instruction that pushed it; 0 when that lies before the history."""


class _Interrupted(NamedTuple):
    return_address: Optional[int]
    registers: Dict[int, Symbol]
    switched: bool = False
    """Whether its handler wrote a stack pointer."""


class _State:
    # What is known before an instruction.

    __slots__ = ("registers", "stacks", "interrupted")

    def __init__(
        self, registers: Dict[int, Symbol], stacks: Dict[int, Dict[int, Saved]], interrupted: List[_Interrupted]
    ) -> None:
        self.registers = registers
        self.stacks = stacks
        """Words by the root of the stack pointer and their distance from it."""
        self.interrupted = interrupted

    def copy(self) -> "_State":
        stacks = {root: dict(words) for root, words in self.stacks.items() if words}
        return _State(dict(self.registers), stacks, list(self.interrupted))


class Flow:
    """Follows a history once, and gives registers and saved words at any instruction.

    :param history: The executed instructions.
    :param end: Registers of the core after the last instruction, by number, as far as they are known.
    """

    def __init__(self, history: History, end: Mapping[int, int]) -> None:
        self.history = history
        self.effects = Effects(history.program)
        self._values: Dict[int, int] = {0: 0}
        self.spoiled: Set[Tuple[int, Saved]] = set()
        """Words that something else overwrote, each with its root."""
        self.early: Dict[Tuple[int, int], Tuple[int, Saved]] = {}
        """Words that were popped and not pushed, by root and place, each with the instruction that popped it."""
        self._marks: List[int] = []
        self._states: List[_State] = []
        walk = _Walk(self, _State({register: (root, 0) for root, register in enumerate(TRACKED, 1)}, {}, []), True)
        self.mark(1, walk.state)
        walk.run(1, len(history) + 1)
        for register, value in end.items():
            root, constant = walk.state.registers.get(register, (0, 0))
            self._values.setdefault(root, value - constant & _WORD)

    def register(self, number: int, register: int) -> Optional[int]:
        """Give r7, r11, sp or lr before an instruction; None when it is not known."""
        return self._resolve(self._state(number).registers[register])

    def saved(self, number: int) -> Dict[int, int]:
        """Give the words on the stack that are known before an instruction, by address."""
        found: Dict[int, Optional[int]] = {}
        for (root, place), (popped, early) in self.early.items():
            if number <= popped and root in self._values:
                found[self._values[root] + place & _WORD] = self._told(root, early)
        for root, words in self._state(number).stacks.items():
            for place, word in words.items() if root in self._values else ():
                found[self._values[root] + place & _WORD] = self._told(root, word)
        return {address: value for address, value in found.items() if value is not None}

    def mark(self, number: int, state: _State) -> None:
        """Keep the state before an instruction."""
        self._marks.append(number)
        self._states.append(state.copy())

    def learn(self, symbol: Symbol, value: int) -> bool:
        """Take note of what a symbol is.

        :returns: Whether that agrees with what was known.
        """
        known = self._resolve(symbol)
        if known is None:
            self._values[symbol[0]] = value - symbol[1] & _WORD
        return known is None or known == value

    def _told(self, root: int, word: Saved) -> Optional[int]:
        return None if (root, word) in self.spoiled else self._resolve(word.value)

    def _resolve(self, symbol: Symbol) -> Optional[int]:
        value = self._values.get(symbol[0])
        return None if value is None else value + symbol[1] & _WORD

    def _state(self, number: int) -> _State:
        # Before an instruction, from the state stored last before it.
        at = bisect_right(self._marks, number) - 1
        again = _Walk(self, self._states[at].copy(), False)
        again.run(self._marks[at], number)
        return again.state


class _Walk:
    # Executes effects; the first time with learning, later only to have a state again: with the same roots, therefore
    # they are numbered by the instruction at which they begin.

    def __init__(self, flow: Flow, state: _State, learns: bool) -> None:
        self.state = state
        self._flow = flow
        self._learns = learns
        self._marked = 1
        self._roots = 0
        self._leaves: Optional[Tuple[Symbol, Optional[Tuple[int, Saved]]]] = None
        # What a return goes to, with the word it was popped from.
        self._returning = False
        # Whether an exception return has just been.

    def run(self, first: int, stop: int) -> None:
        """Go from before ``first`` to before ``stop``."""
        flow = self._flow
        begun = first == 1
        following = first
        for item in flow.history.spans(first, min(stop, len(flow.history))):
            if isinstance(item, Span):
                self._span(item, stop, begun)
                following = item.number + item.range.instructions
                begun = True
            elif begun:
                # Others have been gone through before the state was kept.
                self._roots = following << 8 | 0x80
                self._event(item)

    def _span(self, item: Span, stop: int, arrives: bool) -> None:
        executed = item.range
        if arrives and (self._returning or self._leaves is not None):
            self._roots = item.number << 8 | 0xC0
            self._arrive(executed.start, executed.isa)
        if self._learns and item.number >= self._marked + _EVERY:
            self._marked = item.number
            self._flow.mark(item.number, self.state)
        for effect in self._flow.effects(executed):
            number = item.number + effect.at
            if number >= stop:
                return
            self._roots = number << 8
            self._execute(effect, number)

    def _event(self, event: object) -> None:
        if isinstance(event, Exception_):
            self._exception(event)
        elif isinstance(event, ExceptionReturn):
            self._returning = True
        elif isinstance(event, Gap):
            self._forget()

    def _arrive(self, address: int, isa: Isa) -> None:
        leaves, self._leaves = self._leaves, None
        if self._returning:
            self._returning = False
            self._resume(address)
        elif leaves is not None and self._learns:
            symbol, word = leaves
            if not self._flow.learn(symbol, address | (isa is Isa.T32)) and word is not None:
                self._flow.spoiled.add(word)

    def _exception(self, event: Exception_) -> None:
        if event.name == DEBUG_HALT:
            return
        self._leaves = None
        registers = self.state.registers
        if self._returning:
            self._returning = False  # one handler after the other, for the same context
        else:
            self.state.interrupted.append(_Interrupted(event.return_address, dict(registers)))
            del self.state.interrupted[:-_PENDING]
        registers[SP], registers[LR] = self._new(), self._new()

    def _resume(self, address: int) -> None:
        interrupted = self.state.interrupted
        for at in range(len(interrupted) - 1, -1, -1):
            if interrupted[at].return_address == address:
                resumed = interrupted.pop(at)
                self.state.registers.update(resumed.registers)
                if resumed.switched:
                    self.state.registers[SP] = self._new()
                return
        self._forget()

    def _forget(self) -> None:
        self._leaves = None
        for register in TRACKED:
            self.state.registers[register] = self._new()

    def _new(self) -> Symbol:
        self._roots += 1
        return self._roots, 0

    def _execute(self, effect: Effect, number: int) -> None:
        registers = self.state.registers
        before = dict(registers)
        root, place = registers[SP]
        for register, distance in effect.stores:
            saved = Saved(place + distance, before[register], number)
            self.state.stacks.setdefault(root, {})[saved.place] = saved
        for register, distance in effect.loads:
            word = self._load(root, place + distance, number)
            if register == PC:
                self._leaves = word.value, (root, word)
            else:
                registers[register] = word.value
        for target, source, constant in effect.moves:
            registers[target] = before[source][0], before[source][1] + constant
        for register in effect.lost:
            registers[register] = self._new()
        if effect.switches and self.state.interrupted:
            self.state.interrupted[-1] = self.state.interrupted[-1]._replace(switched=True)
        if effect.link is not None:
            registers[LR] = 0, effect.link
        if effect.returns:
            self._leaves = before[LR], None
        if effect.moves and registers[SP][1] > place:
            self._drop()

    def _load(self, root: int, place: int, number: int) -> Saved:
        word = self.state.stacks.get(root, {}).get(place)
        if word is not None:
            return word
        fresh = Saved(place, self._new(), 0)
        # The first time it was pushed before the history began.
        popped, early = self._flow.early.setdefault((root, place), (number, fresh))
        return early if popped == number else fresh

    def _drop(self) -> None:
        # What lies below the stack pointer is gone.
        root, place = self.state.registers[SP]
        words = self.state.stacks.get(root)
        if words:
            self.state.stacks[root] = {at: word for at, word in words.items() if at >= place}
