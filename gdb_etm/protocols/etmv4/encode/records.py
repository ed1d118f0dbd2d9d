"""What an encoder needs to know of each instruction of a program."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

from gdb_etm.program.isa import InstructionKind
from gdb_etm.protocols.encode.instructions import RAM, ReadCode, Region, instruction_at, is_certain


class Branch(NamedTuple):
    """A P0 instruction."""

    # -1 for an indirect branch.
    target: int
    # Address of the next instruction in memory.
    following: int
    link: bool
    # Whether branch broadcasting is on there.
    broadcast: bool
    # Whether it is ISB, or a branch that does nothing either.
    barrier: bool
    # Whether it is taken whenever it runs.
    certain: bool


# A P0 instruction that is no branch.
TRANSFER = Branch(-1, -1, False, False, False, False)


class Records(Dict[int, Optional[Branch]]):
    """The P0 instructions of a program, by address; None for the others.

    Found out when an instruction is first executed; in RAM each time, for a program may change its code there.

    :param read_code: Reads program memory.
    :param broadcast: Where branch broadcasting is on; None for nowhere.
    :param transfers: Which instructions are P0 elements for their loads or stores; None for none.
    """

    def __init__(self, read_code: ReadCode, broadcast: Optional[Region], transfers: Optional[Region]) -> None:
        super().__init__()
        self.__read_code = read_code
        self.__broadcast = broadcast
        self.__transfers = transfers

    def __missing__(self, address: int) -> Optional[Branch]:
        insn = instruction_at(self.__read_code, address)
        record: Optional[Branch] = None
        if insn.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
            target = insn.target if insn.kind == InstructionKind.DIRECT else -1
            following = (address + insn.size) & 0xFFFFFFFF
            everywhere = self.__broadcast is not None and self.__broadcast(address)
            barrier = insn.size == 4 and target == following and not insn.link
            record = Branch(target, following, insn.link, everywhere, barrier, is_certain(self.__read_code, address))
        elif self.__transfers is not None and self.__transfers(address):
            record = TRANSFER
        if address < RAM:
            self[address] = record
        return record
