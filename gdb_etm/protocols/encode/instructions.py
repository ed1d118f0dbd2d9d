"""What an encoder asks of the instructions of a program, found out when they are first executed."""

from __future__ import annotations

from typing import Callable, Dict

from gdb_etm.program.isa import Insn, Isa, decode_a32, decode_t16, decode_t32, is_wide
from gdb_etm.program.untaken import always_taken

# Returns four bytes of program memory at an address (two at the end of memory).
ReadCode = Callable[[int], bytes]
# Tells whether an address is in some region.
Region = Callable[[int], bool]

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
    """Tell whether the branch at an address is taken whenever it runs.

    :param isa: T32 or A32.
    """
    return always_taken(lambda at, size: read_code(at)[:size], address, address, isa)


class Instructions(Dict[int, Insn]):
    """The T32 instructions of a program by address; those in RAM are looked at each time.

    :param read_code: Reads program memory.
    """

    def __init__(self, read_code: ReadCode) -> None:
        super().__init__()
        self.__read_code = read_code

    def __missing__(self, address: int) -> Insn:
        insn = instruction_at(self.__read_code, address)
        if address < RAM:
            self[address] = insn
        return insn
