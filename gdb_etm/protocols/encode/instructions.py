"""The instructions of a program, as an encoder asks for them."""

from __future__ import annotations

from typing import Callable, Dict, NamedTuple, TypeVar

from gdb_etm.program.isa import Insn, Isa, decode_a32, decode_t16, decode_t32, is_wide
from gdb_etm.program.untaken import always_taken

# Returns four bytes of program memory at an address (two at the end of memory).
ReadCode = Callable[[int], bytes]
# Whether an address is in some region.
Region = Callable[[int], bool]

V = TypeVar("V")

# Where the Code region of the memory map ends (Armv8-M ARM, B8.1): from here on programs may change their code.
RAM = 0x20000000


def instruction_at(read_code: ReadCode, address: int, isa: Isa = Isa.T32) -> Insn:
    """Classify the instruction at an address.

    :param isa: T32 or A32.
    """
    code = read_code(address)
    if isa is Isa.A32:
        return decode_a32(address, int.from_bytes(code[:4], "little"))
    first = int.from_bytes(code[:2], "little")
    if is_wide(first):
        return decode_t32(address, first, int.from_bytes(code[2:4], "little"))
    return decode_t16(address, first)


def is_certain(read_code: ReadCode, address: int, isa: Isa = Isa.T32) -> bool:
    """Return whether a branch is taken whenever it runs.

    :param isa: T32 or A32.
    """
    return always_taken(lambda at, size: read_code(at)[:size], address, address, isa)


class BranchRecord(NamedTuple):
    """A branch, or another instruction that a trace unit reports."""

    # Address where it leads; -1 for an indirect branch.
    target: int
    # Address of the next instruction in memory.
    following: int
    link: bool
    # Whether branch broadcasting is on there.
    broadcast: bool
    # Whether it is a barrier, or a branch that does nothing either.
    barrier: bool
    # Whether it is taken whenever it runs.
    certain: bool


class InstructionCache(Dict[int, V]):
    """Knowledge of a program's instructions, by address.

    Found out when an instruction is first executed; in RAM each time, for a program may change its code there.

    :param find: Looks at the instruction at an address.
    """

    def __init__(self, find: Callable[[int], V]) -> None:
        super().__init__()
        self.__find = find

    def __missing__(self, address: int) -> V:
        found = self.__find(address)
        if address < RAM:
            self[address] = found
        return found
