"""What the PTM encoder needs to know of each instruction of a program."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

from gdb_etm.program.barriers import is_barrier
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.encode.instructions import RAM, ReadCode, Region, instruction_at, is_certain

_MASK = 0xFFFFFFFF
_ISB = 0xF3BF


class Waypoint(NamedTuple):
    """A waypoint instruction.  Where execution goes on is an address with bit 0 set for T32 code."""

    # -1 for an indirect branch.
    target: int
    # The next instruction in memory.
    following: int
    link: bool
    # Whether branch broadcasting is on there.
    broadcast: bool
    # Whether it is ISB, DMB or DSB.
    barrier: bool
    # Whether it is taken whenever it runs.
    certain: bool


class Records(Dict[int, Optional[Waypoint]]):
    """The waypoints of a program by address, with bit 0 set for T32 code; None for other instructions.

    Found out when an instruction is first executed; in RAM each time, for a program may change its code there.

    :param read_code: Reads program memory.
    :param broadcast: Where branch broadcasting is on; None for nowhere.
    :param barriers: Whether DMB and DSB are waypoints (ETMCCER[24]).
    """

    def __init__(self, read_code: ReadCode, broadcast: Optional[Region], barriers: bool) -> None:
        super().__init__()
        self.__read_code = read_code
        self.__broadcast = broadcast
        self.__barriers = barriers

    def __missing__(self, place: int) -> Optional[Waypoint]:
        address, thumb = place & ~1, place & 1
        isa = Isa.T32 if thumb else Isa.A32
        code = self.__read_code(address)
        insn = instruction_at(self.__read_code, address, isa)
        following = (address + insn.size) & _MASK | thumb
        record: Optional[Waypoint] = None
        if insn.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
            target = insn.target | (insn.isa is Isa.T32) if insn.kind is InstructionKind.DIRECT else -1
            # ISB counts as a branch to the next instruction.
            barrier = target == following and _is_isb(code, thumb)
            everywhere = self.__broadcast is not None and not barrier and self.__broadcast(address)
            record = Waypoint(
                target, following, insn.link, everywhere, barrier, is_certain(self.__read_code, address, isa)
            )
        elif self.__barriers and is_barrier(code, isa):
            record = Waypoint(following, following, False, False, True, False)
        if address < RAM:
            self[place] = record
        return record


def _is_isb(code: bytes, thumb: int) -> bool:
    first = int.from_bytes(code[:2], "little")
    return first == _ISB if thumb else code[2:4] == b"\x7f\xf5"
