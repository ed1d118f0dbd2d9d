"""GDB's rules of stepping, applied plainly, one instruction after the other.

They go over everything that the board executed.

Written apart from ``gdb_etm.history``, of which it shares only the symbol tables' values.  The stack is a shadow
stack that calls, returns (as Capstone sees them), exceptions and the process stack pointer drive.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs

from gdb_etm.history.lines import SymbolTables
from gdb_etm.program.image import load_elf
from tests.history.dwarf import DwarfPlaces
from tests.history.executed import Item, Returned, Taken

_MODE = CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8
_FRAME = 0x20


class Act:
    """One activation of a function, or an exception."""

    def __init__(self, function: Optional[str], up: Optional[Act], back: Optional[int], called: Optional[int]) -> None:
        self.function = function
        self.up = up
        # Where it returns to.
        self.back = back
        # Index of the call.
        self.called = called
        self.is_exception = False
        self.is_tail = False
        self.jumps: Dict[int, bool] = {}

    def caller(self) -> Optional[Act]:
        act = self
        while act.is_tail and act.up is not None:
            act = act.up
        return act.up


class Insn(NamedTuple):
    """What an instruction does to the flow."""

    size: int
    is_call: bool
    is_return: bool


class Truth:
    """Everything that was executed, with the activation of each instruction.

    :param items: Addresses and exceptions.
    :param places: The symbol tables.
    :param code: Reads the program.
    """

    def __init__(self, items: Sequence[Item], places: SymbolTables, code: Dict[int, int]) -> None:
        self.places = places
        self.addresses: List[int] = []
        self.acts: List[Act] = []
        self.after_exception: List[bool] = []
        self.after_return: List[bool] = []
        self._capstone = Cs(CS_ARCH_ARM, _MODE)
        self._capstone.detail = True
        self._code = code
        self._insns: Dict[int, Insn] = {}
        self._waiting: List[Tuple[int, Act]] = []
        self._act: Optional[Act] = None
        self._before: Optional[int] = None
        taken = returned = False
        for item in items:
            if isinstance(item, Taken):
                self._take(item)
                taken, returned = True, False
            elif isinstance(item, Returned):
                self._return(item)
                returned, taken = True, False
            elif isinstance(item, int):
                self._execute(item, taken, returned)
                taken = returned = False

    def _name(self, address: int) -> Optional[str]:
        function = self.places.function_at(address)
        return function.name if function is not None else None

    def _execute(self, address: int, taken: bool, returned: bool) -> None:
        name = self._name(address)
        if taken:
            self._act = Act(name, self._act, None, len(self.addresses) - 1)
        elif self._act is None or self._act.function != name and returned:
            self._act = Act(name, None, None, None)  # a new stack
        elif not returned:
            self._flow(address)
        self.addresses.append(address)
        assert self._act is not None
        self.acts.append(self._act)
        self.after_exception.append(taken)
        self.after_return.append(returned)
        self._before = address

    def _flow(self, address: int) -> None:
        # From the instruction before to this one.
        assert self._before is not None and self._act is not None
        insn = self._insn(self._before)
        name, act = self._name(address), self._act
        if address == self._before + insn.size:
            if name != act.function:
                self._act = self._like(act, name)
            return
        if insn.is_call:
            self._act = Act(name, act, self._before + insn.size, len(self.addresses) - 1)
        elif insn.is_return and self._unwind(address, name):
            return
        elif name != act.function:
            function = self.places.function_at(address)
            if function is not None and function.start == address:
                self._act = Act(name, act, act.back, len(self.addresses) - 1)
                self._act.is_tail = True
            else:
                self._act = self._like(act, name)

    def _like(self, act: Act, name: Optional[str]) -> Act:
        other = Act(name, act.up, act.back, act.called)
        other.is_tail = act.is_tail
        return other

    def _unwind(self, address: int, name: Optional[str]) -> bool:
        act = self._act
        setter = act is not None and act.function == "setjmp"
        while act is not None:
            if act.back == address and act.caller() is not None:
                self._act = act.caller()
                assert self._act is not None
                if setter:
                    self._act.jumps[address] = True
                return True
            act = act.up
        act = self._act
        while act is not None:
            if address in act.jumps:
                self._act = act
                return True
            act = act.up
        return False

    def _take(self, taken: Taken) -> None:
        if self._before is not None and self.places.function_at(taken.return_address) is not None:
            last_was_instruction = self._act is not None and not self._act.is_exception
            if last_was_instruction and self._fresh:
                self._flow(taken.return_address)
        exception = Act(None, self._act, taken.return_address, len(self.addresses) - 1)
        exception.is_exception = True
        exception.jumps[taken.stack] = True
        self._act = exception

    @property
    def _fresh(self) -> bool:
        # Whether the last thing that happened was the execution of an instruction.
        return bool(self.acts) and self.acts[-1] is self._act

    def _return(self, returned: Returned) -> None:
        act = self._act
        while act is not None and not act.is_exception:
            act = act.up
        assert act is not None and act.up is not None
        depth: Optional[Act] = act.up
        while depth is not None and not depth.is_exception:
            depth = depth.up
        here = next(iter(act.jumps))
        near = (returned.stack, returned.stack - _FRAME, returned.stack - _FRAME - 4)
        self._act = act.up
        if depth is None and here not in near:
            found = [one for one in self._waiting if one[0] in near]
            self._waiting.append((here, act.up))
            if found:
                self._waiting.remove(found[0])
                self._act = found[0][1]
            else:
                self._act = None

    def _insn(self, address: int) -> Insn:
        if address not in self._insns:
            data = bytes(self._code.get(address + at, 0) for at in range(4))
            found = next(self._capstone.disasm(data, address))
            name, operands = found.mnemonic.split(".")[0], found.op_str
            call = name.startswith("bl") and name not in ("ble", "bls", "blt", "blo")
            writes = operands.endswith("pc}") or operands.startswith("pc,") and not name.startswith("add")
            table = name.startswith("ldr") and "[sp" not in operands
            is_return = (name.startswith("bx") or writes) and not table
            self._insns[address] = Insn(found.size, call, is_return)
        return self._insns[address]


def truth_of(path: str, items: Sequence[Item], version: int = 13) -> Truth:
    """Follow what was executed of a program, for a version of GDB."""
    code = {image.address + at: byte for image in load_elf(path) for at, byte in enumerate(image.data)}
    return Truth(items, DwarfPlaces(path, version), code)
