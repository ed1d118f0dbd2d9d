"""Watcher of the registers, on demand: it slows every run down.

Unicorn's hook on instructions is silent for those whose condition fails, and these change nothing.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from unicorn import arm_const
from unicorn.unicorn_py3.unicorn import uclib

from gdb_etm.board.hooks import INSTRUCTIONS, Hooks

_IPSR = 0x1FF
_NPRIV = 1
_SPSEL = 2
_HIDDEN = ("msp", "psp", "primask", "basepri", "faultmask")

# Read in one call, which the prototype that the package declares would make slow.
_read_batch = ctypes.PyDLL(uclib._name).uc_reg_read_batch
_read_batch.restype = ctypes.c_int
_read_batch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]


class RegisterSet(NamedTuple):
    """Which registers of a core there are to read."""

    # Those of a word: name, Unicorn's number, and its bits that are written.
    words: Tuple[Tuple[str, int, int], ...]
    # Unicorn's numbers of the double-precision registers, each two of s0, s1 and so on.
    pairs: Tuple[int, ...]

    @property
    def names(self) -> Tuple[str, ...]:
        """The name of each word of a state."""
        return tuple(name for name, _, _ in self.words) + tuple("s%d" % n for n in range(2 * len(self.pairs)))


def _plain(names: Sequence[str]) -> Tuple[Tuple[str, int, int], ...]:
    return tuple((name, int(getattr(arm_const, "UC_ARM_REG_" + name.upper())), 0xFFFFFFFF) for name in names)


_CORE = _plain(["r%d" % number for number in range(13)] + ["sp", "lr"])

CORTEX_M = RegisterSet(
    (
        *_CORE,
        # The flags, Q, GE and the exception number. Unicorn knows IT state only where an instruction is the first.
        ("xpsr", arm_const.UC_ARM_REG_XPSR, 0xF80F01FF),
        *_plain(("msp", "psp")),
        ("control", arm_const.UC_ARM_REG_CONTROL, 7),
        *_plain(("primask", "basepri", "faultmask", "fpscr")),
    ),
    tuple(arm_const.UC_ARM_REG_D0 + number for number in range(16)),
)
CORTEX_A = RegisterSet((*_CORE, ("cpsr", arm_const.UC_ARM_REG_CPSR, 0xF80F03FF), *_plain(("fpscr",))), CORTEX_M.pairs)

# The registers at one time: a word each, as Unicorn gives them.
State = bytes


class RegisterWatch(Hooks):
    """Collects the registers around each instruction of a run.

    :param uc: Unicorn.
    :param registers: Which registers.
    """

    def __init__(self, uc: Any, registers: RegisterSet) -> None:
        super().__init__(uc, INSTRUCTIONS, self._on_instruction)
        self.names = registers.names
        numbers = [number for _, number, _ in registers.words] + list(registers.pairs)
        self._buffer = (ctypes.c_uint32 * len(self.names))()
        start = ctypes.addressof(self._buffer)
        words = len(registers.words)
        addresses = [start + 4 * index for index in range(words)]
        addresses += [start + 4 * words + 8 * index for index in range(len(registers.pairs))]
        self._numbers = (ctypes.c_int * len(numbers))(*numbers)
        self._addresses = (ctypes.c_void_p * len(numbers))(*addresses)
        self._passed: List[Tuple[int, State]] = []
        self._complete: List[State] = []

    def clear(self) -> None:
        """Forget what was collected of instructions that are not complete."""
        self._passed.clear()

    def now(self) -> Optional[State]:
        """Return the registers as they are; None while nobody wants them."""
        if not self.wanted:
            return None
        _read_batch(self._uc._uch, self._numbers, self._addresses, len(self._numbers))
        return bytes(self._buffer)

    def complete(self, executed: Sequence[int]) -> None:
        """Take note of which instructions of the run are complete, between runs."""
        last = self.now() if executed else None
        if last is None:
            return
        passed = self._passed
        states = [state for _, state in passed] + [last]
        if not self._complete:
            self._complete.append(states[0])
        at = 0
        for address in executed:
            if at < len(passed) and passed[at][0] == address:
                at += 1
            self._complete.append(states[at])

    def take(self) -> List[State]:
        """Return, once, the registers before the first complete instruction and after each."""
        taken, self._complete = self._complete, []
        return taken

    def _on_instruction(self, uc: Any, address: int, size: int, data: Any) -> None:
        _read_batch(uc._uch, self._numbers, self._addresses, len(self._numbers))
        self._passed.append((address, bytes(self._buffer)))


class Changes:
    """Tells how each state differs from the one before.

    :param registers: What a state holds.
    """

    def __init__(self, registers: RegisterSet) -> None:
        self._names = registers.names
        self._masks = [mask for _, _, mask in registers.words] + [0xFFFFFFFF] * (2 * len(registers.pairs))
        self._form = struct.Struct("<%dI" % len(self._names))
        self._raw = b""
        self._values: Dict[str, int] = {}

    def next(self, state: State) -> Mapping[str, int]:
        """Return what has changed; of the first state, all."""
        if state == self._raw:
            return {}
        self._raw = state
        values = {name: value & mask for name, value, mask in zip(self._names, self._form.unpack(state), self._masks)}
        if values.get("control", 0) & _NPRIV and not values["xpsr"] & _IPSR:
            # Unicorn shows unprivileged code zeros, and such code cannot change them.
            values.update((name, self._values.get(name, 0)) for name in _HIDDEN)
            values["psp" if values["control"] & _SPSEL else "msp"] = values["sp"]
        found = {name: value for name, value in values.items() if self._values.get(name) != value}
        self._values = values
        return found
