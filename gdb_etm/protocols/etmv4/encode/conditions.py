"""Conditional instructions that a unit traces (IHI 0064, 2.6.2 and F.3)."""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple

from gdb_etm.program.accesses import accesses
from gdb_etm.program.conditions import ALWAYS, condition, enters_it_block, next_it_state
from gdb_etm.program.isa import InstructionKind, Isa, is_wide
from gdb_etm.protocols.encode.instructions import RAM, ReadCode, instruction_at

# TRCCONFIGR.COND for all conditional instructions; else bit 0 asks for loads and bit 1 for stores.
ALL = 7

_BRANCHES = (InstructionKind.DIRECT, InstructionKind.INDIRECT)


class _Record(NamedTuple):
    # Whether it has a C element.
    traced: bool
    # What an IT instruction sets ITSTATE to; 0 for others.
    it: int


class ConditionalInstructions:
    """Finds which executed T32 instructions have C elements.

    An IT instruction marks those of its block, as no branch goes into one; an exception may come between them.

    :param read_code: Reads program memory.
    :param selection: TRCCONFIGR.COND: 1 loads, 2 stores, 3 both, 7 all.
    """

    def __init__(self, read_code: ReadCode, selection: int) -> None:
        self._read_code = read_code
        self._selection = selection
        self._records: Dict[Tuple[int, int], _Record] = {}
        # ITSTATE of instructions in blocks whose IT ran.
        self._it_states: Dict[int, int] = {}

    def __call__(self, address: int) -> bool:
        """Return whether the next executed instruction has a C element."""
        state = self._it_states.get(address, 0)
        record = self._records.get((address, state))
        if record is None:
            record = self._look_at(address, state)
            if address < RAM:
                self._records[address, state] = record
        if record.it:
            self._mark(address + 2, record.it)
        elif state and address >= RAM:
            # The program may put other code here, with no IT before it.
            del self._it_states[address]
        return record.traced

    def _look_at(self, address: int, state: int) -> _Record:
        code = self._read_code(address).ljust(4, b"\0")
        half = int.from_bytes(code[:2], "little")
        traced = condition(code, 0, Isa.T32, state) != ALWAYS
        traced = traced and instruction_at(self._read_code, address).kind not in _BRANCHES
        if self._selection != ALL:
            traced = traced and bool(accesses(code, 0, Isa.T32) & self._selection)
        return _Record(traced, half & 0xFF if enters_it_block(half) else 0)

    def _mark(self, address: int, state: int) -> None:
        while state:
            self._it_states[address] = state
            address += 4 if is_wide(int.from_bytes(self._read_code(address)[:2], "little")) else 2
            state = next_it_state(state)
