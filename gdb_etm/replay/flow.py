"""The call stack's registers in the past, from control flow alone.

A history says where every return went; so what its calls pushed and its returns popped is known, and the stack pointer
is known up to where it began.  Values are kept as a *root*, something not known yet, plus a constant; a return shows
what its root is, and so do the registers of the halted core for the end.  What an instruction does that is not
followed begins a new root.

Taken for granted is the procedure call standard alone: nobody writes where a return address is saved, and a handler
leaves r7 and r11 as they were.  A return that goes elsewhere than to the saved address shows when that is wrong, and
then the saved value is not reported.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.recovery.lift.operations import LR, SP
from gdb_etm.recovery.values import CoreState
from gdb_etm.replay.effects import TRACKED
from gdb_etm.replay.stack_walk import WORD, InterruptedContext, StackFacts, StackState, StackWalk

# Registers that are followed, by their names.
FOLLOWED = {"r7": 7, "r11": 11, "sp": SP, "lr": LR}

# Bits of EXC_RETURN (Armv8-M ARM, D1.2.95), and offsets in the frame that an exception pushes (B3.19).
_PROCESS_STACK, _THREAD, _BASIC_FRAME, _NO_MORE_STATE = 1 << 2, 1 << 3, 1 << 4, 1 << 5
_FRAME_LR, _FRAME_PC, _FRAME_STATUS = 0x14, 0x18, 0x1C
# Of xPSR.
_THUMB = 1 << 24
# CONTROL's FPCA and SPSEL (B3.16).
_OTHER_STACK = 6


class Flow:
    """The call stack's registers and saved words before any instruction.

    :param history: The executed instructions.
    :param begin: The state of the core before the first instruction, as far as it is known.
    :param end: The state after the last.
    :param thread_code: EXC_RETURN of Thread mode on the main stack without floating point; None on other profiles.
    """

    def __init__(
        self, history: ExecutionHistory, begin: CoreState, end: CoreState, thread_code: Optional[int] = None
    ) -> None:
        self._thread_code = thread_code
        facts = self._facts = StackFacts(history)
        walk = StackWalk(facts, StackState({register: (n, 0) for n, register in enumerate(TRACKED, 1)}, {}, []), True)
        walk.run(0, 1, len(history) + 1)
        self._lowest = min([0, walk.depth, *(entry.depth for entry in facts.entries)])
        for name, register in FOLLOWED.items():
            if name in begin.registers:
                facts.values[TRACKED.index(register) + 1] = begin.registers[name]
        for name, register in FOLLOWED.items():
            if name in end.registers:
                facts.learn(walk.state.registers[register], end.registers[name])
        # Exception frames that are on the stack at the end: the handler's first instruction, and the words by address.
        self._frames: List[Tuple[int, Dict[int, int]]] = []
        self._return_code = self._unstack(walk.state, end)
        for entry in facts.entries if self._return_code is not None else ():
            self._stack_frame(entry)

    def register(self, number: int, register: int) -> Optional[int]:
        """Give r7, r11, sp or lr before an instruction; None when unknown."""
        return self._facts.resolve(self._facts.state(number).registers[register])

    @property
    def is_plain(self) -> bool:
        """Whether only the main stack was used, and never set."""
        return self._return_code is not None

    def saved(self, number: int) -> Dict[int, int]:
        """Give the known words on the stack before an instruction, by address."""
        facts = self._facts
        found: Dict[int, Optional[int]] = {}
        for (root, distance), (popped, early) in facts.early.items():
            if number <= popped and root in facts.values:
                found[facts.values[root] + distance & WORD] = facts.word_value(root, early)
        state = facts.state(number)
        for root, words in state.stacks.items():
            for distance, word in words.items() if root in facts.values else ():
                found[facts.values[root] + distance & WORD] = facts.word_value(root, word)
        for first, frame in self._frames:
            found.update(frame if number >= first else {})
        for entry in state.interrupted if self._return_code is not None else ():
            base = facts.resolve(entry.stack)
            if base is not None and entry.return_address is not None:
                found[base + _FRAME_PC] = entry.return_address
                found[base + _FRAME_LR] = facts.resolve(entry.registers[LR])
            before = facts.resolve(entry.registers[SP])
            if base is not None and before is not None and entry.depth == self._lowest:
                # It interrupted no other; of the status GDB wants to know whether the frame was aligned.
                found.setdefault(base + _FRAME_STATUS, _THUMB | (before & 4) << 7)
        return {address: value for address, value in found.items() if value is not None}

    def _unstack(self, state: StackState, end: CoreState) -> Optional[int]:
        # What the exceptions have pushed that are active at the end shows the contexts that they interrupted
        # (Armv8-M ARM, B3.19 and B3.20).  Gives EXC_RETURN of Thread mode, if no other stack or frame was in use.
        facts = self._facts
        frame_at: Optional[int] = None
        code: Optional[int] = None
        for entry in reversed(state.interrupted):
            code, frame_at = facts.resolve(entry.link), facts.resolve(entry.stack)
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
            facts.learn(entry.registers[SP], frame_at + size + 4 * aligned)
            facts.learn(entry.registers[LR], frame[frame_at + _FRAME_LR])
            self._frames.append((entry.number, frame))
        if code is None and end.registers.get("control", _OTHER_STACK) & _OTHER_STACK == 0:
            code = self._thread_code
        is_plain = code is not None and not code & _PROCESS_STACK and code & _BASIC_FRAME and not facts.has_switched
        return code if is_plain else None

    def _stack_frame(self, entry: InterruptedContext) -> None:
        # Where its handler begins, of an exception that interrupted the main stack.
        facts = self._facts
        before = facts.resolve(entry.registers[SP])
        if before is not None and self._return_code is not None:
            facts.learn(entry.stack, before - 0x20 & ~7)
            facts.learn(entry.link, self._return_code & (WORD if entry.depth == self._lowest else ~_THREAD))
