"""Why the instruction set engine stopped, and what ran until then."""

from __future__ import annotations

from enum import Enum
from typing import Collection, List, NamedTuple

from gdb_etm.board.accesses import NO_ACCESSES, Accesses


class RunEnd(Enum):
    """Why a run ended.

    The program counter is at the next instruction unless said otherwise.
    """

    LIMIT = "the wanted number of instructions ran, a breakpoint was met, or a device wants attention"
    SVC = "SVC ran"
    BKPT = "at a BKPT"
    UNDEFINED = "at an undefined instruction"
    NO_COPROCESSOR = "at an instruction for a coprocessor that is absent or disabled"
    INVALID_STATE = "the T bit is clear"
    STACK_LIMIT = "at an instruction that would take the stack pointer below its limit"
    DIVISION = "at a division by zero, which traps"
    UNALIGNED = "at an instruction that needs an aligned address"
    EXC_RETURN = "an EXC_RETURN-like value was loaded into the PC, which holds it without bit 0"
    SMC = "SMC ran"
    RETURNED = "an exception return of an A-profile core ran"
    WFI = "WFI ran"
    READ = "at an instruction that reads where nothing is"
    WRITE = "at an instruction that writes where nothing can be written"
    PROTECTED = "at an instruction that may not make an access"
    FETCH = "nothing is at the PC"
    FETCH_DEVICE = "the PC is in a region that cannot be executed"


# By the number that Unicorn gives an exception.
BY_INTERRUPT = {
    2: RunEnd.SVC,
    3: RunEnd.FETCH_DEVICE,
    7: RunEnd.BKPT,
    8: RunEnd.EXC_RETURN,
    13: RunEnd.SMC,
    17: RunEnd.NO_COPROCESSOR,
    18: RunEnd.INVALID_STATE,
    19: RunEnd.STACK_LIMIT,
    22: RunEnd.UNALIGNED,
}


class RunResult(NamedTuple):
    """What happened in a run.

    :param executed: Addresses of the instructions that completed, in order.
    :param stop: Why it ended.
    :param address: The address of the access that failed, if one did.
    :param accesses: What the instructions loaded and stored, while that is watched.
    :param failed: Indices in ``executed`` of those whose condition failed, while that is watched.
    """

    executed: List[int]
    stop: RunEnd
    address: int = 0
    accesses: Accesses = NO_ACCESSES
    failed: Collection[int] = ()
