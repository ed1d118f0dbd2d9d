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

from bisect import bisect_left, bisect_right
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from gdb_etm.history.reader import DEBUG_HALT
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, Gap
from gdb_etm.recovery.values import CoreState
from gdb_etm.replay.effects import LR, PC, SP, TRACKED, Effect, Effects
from gdb_etm.replay.script import ARRIVAL, EFFECT, EVENT, Script

_WORD = 0xFFFFFFFF
# Instructions from one stored state to the next.
_EVERY = 2048
# Interrupted contexts that are remembered.
_PENDING = 64
# Registers that are followed, by their names.
FOLLOWED = {"r7": 7, "r11": 11, "sp": SP, "lr": LR}

# Bits of EXC_RETURN (Armv8-M ARM, D1.2.95), and places in the frame that an exception pushes (B3.19).
_PROCESS_STACK, _THREAD, _BASIC_FRAME, _NO_MORE_STATE = 1 << 2, 1 << 3, 1 << 4, 1 << 5
# Of xPSR.
_THUMB = 1 << 24
# CONTROL's FPCA and SPSEL (B3.16).
_OTHER_STACK = 6
_FRAME_LR, _FRAME_PC, _FRAME_STATUS = 0x14, 0x18, 0x1C

# A root and a constant; root 0 is the number 0.
Symbol = Tuple[int, int]


class SavedWord(NamedTuple):
    """A word on the stack."""

    # Distance from the root of the stack pointer it was pushed by.
    place: int
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


class _State:
    # What is known before an instruction.

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

    def copy(self) -> "_State":
        stacks = {root: dict(words) for root, words in self.stacks.items() if words}
        return _State(dict(self.registers), stacks, list(self.interrupted))


class Flow:
    """Follows a history once, and gives registers and saved words at any instruction.

    :param history: The executed instructions.
    :param begin: The state of the core before the first instruction, as far as it is known.
    :param end: The state after the last.
    :param thread_code: EXC_RETURN of Thread mode on the main stack without floating point; None on other profiles.
    """

    def __init__(
        self, history: ExecutionHistory, begin: CoreState, end: CoreState, thread_code: Optional[int] = None
    ) -> None:
        self.history = history
        self.effects = Effects(history.program)
        self._thread_code = thread_code
        self._values: Dict[int, int] = {0: 0}
        # Words that something else overwrote, each with its root.
        self.spoiled: Set[Tuple[int, SavedWord]] = set()
        # Words that were popped and not pushed, by root and place, each with the instruction that popped it.
        self.early: Dict[Tuple[int, int], Tuple[int, SavedWord]] = {}
        # Every exception that was taken.
        self.entries: List[InterruptedContext] = []
        # Whether a stack pointer, or the choice of one, was written.
        self.has_switched = False
        # The state that was asked for last: GDB asks for many things at one place.
        self._last: Optional[Tuple[int, _State]] = None
        self._marks: List[int] = []
        self._states: List[Tuple[int, _State]] = []
        self.script = Script(history)
        walk = _Walk(self, _State({register: (root, 0) for root, register in enumerate(TRACKED, 1)}, {}, []), True)
        walk.run(0, 1, len(history) + 1)
        self._lowest = min([0, walk.depth, *(entry.depth for entry in self.entries)])
        for root, register in enumerate(TRACKED, 1):
            name = next(name for name, number in FOLLOWED.items() if number == register)
            if name in begin.registers:
                self._values[root] = begin.registers[name]
        for name, register in FOLLOWED.items():
            if name in end.registers:
                self.learn(walk.state.registers[register], end.registers[name])
        # Exception frames that are on the stack at the end: the handler's first instruction, and the words by address.
        self._frames: List[Tuple[int, Dict[int, int]]] = []
        self._return_code = self._unstack(walk.state, end)
        for entry in self.entries if self._return_code is not None else ():
            self._stack_frame(entry)

    def register(self, number: int, register: int) -> Optional[int]:
        """Give r7, r11, sp or lr before an instruction; None when it is not known."""
        return self._resolve(self._state(number).registers[register])

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the main stack was in use, and no stack pointer was set."""
        return self._return_code is not None

    def saved(self, number: int) -> Dict[int, int]:
        """Give the words on the stack that are known before an instruction, by address."""
        found: Dict[int, Optional[int]] = {}
        for (root, place), (popped, early) in self.early.items():
            if number <= popped and root in self._values:
                found[self._values[root] + place & _WORD] = self._told(root, early)
        state = self._state(number)
        for root, words in state.stacks.items():
            for place, word in words.items() if root in self._values else ():
                found[self._values[root] + place & _WORD] = self._told(root, word)
        for first, frame in self._frames:
            found.update(frame if number >= first else {})
        for entry in state.interrupted if self._return_code is not None else ():
            base = self._resolve(entry.stack)
            if base is not None and entry.return_address is not None:
                found[base + _FRAME_PC] = entry.return_address
                found[base + _FRAME_LR] = self._resolve(entry.registers[LR])
            before = self._resolve(entry.registers[SP])
            if base is not None and before is not None and entry.depth == self._lowest:
                # It interrupted no other; of the status GDB wants to know whether the frame was aligned.
                found.setdefault(base + _FRAME_STATUS, _THUMB | (before & 4) << 7)
        return {address: value for address, value in found.items() if value is not None}

    def _unstack(self, state: _State, end: CoreState) -> Optional[int]:
        # What the exceptions have pushed that are active at the end tells of the contexts that they interrupted
        # (Armv8-M ARM, B3.19 and B3.20).  Gives EXC_RETURN of Thread mode, if no other stack or frame was in use.
        frame_at: Optional[int] = None
        code: Optional[int] = None
        for entry in reversed(state.interrupted):
            code, frame_at = self._resolve(entry.link), self._resolve(entry.stack)
            if code is None or frame_at is None or code >> 24 != 0xFF or not code & _NO_MORE_STATE:
                return None
            if code & _PROCESS_STACK:
                frame_at = end.registers.get("psp") if entry is state.interrupted[-1] else None
            words = end.read(frame_at, 0x20) if frame_at is not None else None
            if words is None or frame_at is None or len(words) != 0x20:
                return None
            frame = {frame_at + at: int.from_bytes(words[at : at + 4], "little") for at in range(0, 0x20, 4)}
            if frame[frame_at + _FRAME_PC] & ~1 != entry.return_address:
                return None
            size = 0x20 if code & _BASIC_FRAME else 0x68
            aligned = frame[frame_at + _FRAME_STATUS] >> 9 & 1
            self.learn(entry.registers[SP], frame_at + size + 4 * aligned)
            self.learn(entry.registers[LR], frame[frame_at + _FRAME_LR])
            self._frames.append((entry.number, frame))
        if code is None and end.registers.get("control", _OTHER_STACK) & _OTHER_STACK == 0:
            code = self._thread_code
        is_plain = code is not None and not code & _PROCESS_STACK and code & _BASIC_FRAME and not self.has_switched
        return code if is_plain else None

    def _stack_frame(self, entry: InterruptedContext) -> None:
        # Where its handler begins, of an exception that interrupted the main stack.
        before = self._resolve(entry.registers[SP])
        if before is not None and self._return_code is not None:
            self.learn(entry.stack, before - 0x20 & ~7)
            self.learn(entry.link, self._return_code & (_WORD if entry.depth == self._lowest else ~_THREAD))

    def mark(self, entry: int, number: int, state: _State) -> None:
        """Keep the state before an entry of the history's order, whose first instruction has a number."""
        self._marks.append(number)
        self._states.append((entry, state.copy()))

    def learn(self, symbol: Symbol, value: int) -> bool:
        """Take note of what a symbol is.

        :returns: Whether that agrees with what was known.
        """
        known = self._resolve(symbol)
        if known is None:
            self._values[symbol[0]] = value - symbol[1] & _WORD
        return known is None or known == value

    def _told(self, root: int, word: SavedWord) -> Optional[int]:
        return None if (root, word) in self.spoiled else self._resolve(word.value)

    def _resolve(self, symbol: Symbol) -> Optional[int]:
        value = self._values.get(symbol[0])
        return None if value is None else value + symbol[1] & _WORD

    def _state(self, number: int) -> _State:
        # Before an instruction, from the state stored last before it.
        if self._last is not None and self._last[0] == number:
            return self._last[1]
        at = bisect_right(self._marks, number) - 1
        entry, state = self._states[at]
        again = _Walk(self, state.copy(), False)
        again.run(entry, self._marks[at], number)
        self._last = number, again.state
        return again.state


class _Walk:
    # Executes effects; the first time with learning, later only to have a state again: with the same roots, therefore
    # they are numbered by the instruction at which they begin.

    def __init__(self, flow: Flow, state: _State, learns: bool) -> None:
        self.state = state
        self._flow = flow
        self._learns = learns
        self._marked = -_EVERY
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
        history, script = self._flow.history, self._flow.script
        order, events = history.order, script.events
        at = bisect_left(script.places, entry)
        while number <= stop:
            if self._learns and number >= self._marked + _EVERY and not self._returning:
                self._marked = number
                self._flow.mark(entry, number, self.state)
            while at < len(events) and script.places[at] <= entry:
                self._event(events[at], number)
                at += 1
            if entry == len(order):
                return
            for steps, instructions in script.steps(order[entry], self._flow.effects):
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
        elif isinstance(event, Gap):
            self._forget()

    def _arrive(self, address: int, isa: Isa) -> None:
        leaves, self._leaves = self._leaves, None
        if self._returning:
            self._returning = False
            self.depth -= 1
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
            # One handler after the other, for the same context and on the same frame.
            self._returning = False
            before = self.state.interrupted[-1] if self.state.interrupted else None
            registers[SP], registers[LR] = (before.stack, before.link) if before else (self._new(), self._new())
            return
        stack, link = self._new(), self._new()
        entry = InterruptedContext(self._roots >> 8, event.return_address, dict(registers), stack, link, self.depth)
        self.state.interrupted.append(entry)
        del self.state.interrupted[:-_PENDING]
        self.depth += 1
        if self._learns:
            self._flow.entries.append(entry)
        registers[SP], registers[LR] = stack, link

    def _resume(self, address: int) -> None:
        interrupted = self.state.interrupted
        if interrupted and not interrupted[-1].switched:
            # Wherever it goes on, as after a handler that skips what has faulted: the frame is the one that was pushed.
            self.state.registers.update(interrupted.pop().registers)
            return
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
        root, place = registers[SP]
        # All moves take place at once, and before what is loaded.
        moved = [(target, registers[source], constant) for target, source, constant in effect.moves]
        link = registers[LR]
        for register, distance in effect.stores:
            saved = SavedWord(place + distance, registers[register], number)
            self.state.stacks.setdefault(root, {})[saved.place] = saved
        for register, distance in effect.loads:
            word = self._load(root, place + distance, number)
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
        self._flow.has_switched |= effect.switches
        if effect.switches and self.state.interrupted:
            self.state.interrupted[-1] = self.state.interrupted[-1]._replace(switched=True)
        if effect.link is not None:
            registers[LR] = 0, effect.link
        if effect.returns:
            self._leaves = link, None
        if effect.moves and registers[SP][1] > place:
            self._drop()

    def _load(self, root: int, place: int, number: int) -> SavedWord:
        word = self.state.stacks.get(root, {}).get(place)
        if word is not None:
            return word
        fresh = SavedWord(place, self._new(), 0)
        # The first time it was pushed before the history began.
        popped, early = self._flow.early.setdefault((root, place), (number, fresh))
        return early if popped == number else fresh

    def _drop(self) -> None:
        # What lies below the stack pointer is gone.
        root, place = self.state.registers[SP]
        words = self.state.stacks.get(root)
        if words:
            self.state.stacks[root] = {at: word for at, word in words.items() if at >= place}
