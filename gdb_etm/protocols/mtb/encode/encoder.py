"""Encoder: a packet for each branch that is taken.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3.1; Armv6-M ARM (DDI 0419), B1.5.

What leads to the next instruction is a packet, too, if it is a branch: the core tells the buffer that the PC does not
go on in sequence, and no address is compared.  (A Cortex-M33 does so even for ISB.)
"""

from __future__ import annotations

from typing import Callable, Optional, Sequence

from gdb_etm.program.isa import InstructionKind
from gdb_etm.protocols.encode.instructions import InstructionCache, ReadCode, instruction_at, is_certain

# Takes source and destination of a packet, and whether it was no instruction (the A bit).
Output = Callable[[int, int, bool], None]
_ALWAYS = -1
_BRANCHES = (InstructionKind.DIRECT, InstructionKind.INDIRECT)


class MtbEncoder:
    """Follows a core, and makes packets.

    :param read_code: Reads program memory.
    :param out: Takes packets.
    :param isb: Whether ISB is a packet, as of a Cortex-M33.
    """

    def __init__(self, read_code: ReadCode, out: Output, isb: bool = False) -> None:
        self._read = read_code
        self._out = out
        self._isb = isb
        self._sizes = InstructionCache(self._find)
        # Called with each instruction before its packet; None while nobody wants that.
        self.passing: Optional[Callable[[int], None]] = None
        # Where the core is.
        self._pc = 0

    def forget(self) -> None:
        """Forget the program: it may be another one now."""
        self._sizes.clear()

    def executed(self, addresses: Sequence[int], then: int) -> None:
        """Take completed instructions in order.

        :param then: The PC after them; an EXC_RETURN value after an instruction that loaded one.
        """
        for index, address in enumerate(addresses):
            if self.passing is not None:
                self.passing(address)
            following = addresses[index + 1] if index + 1 < len(addresses) else then
            if following - address != self._sizes[address]:
                self._out(address, following, False)
        self._pc = then

    def excepted(self, return_address: Optional[int], then: int) -> None:
        """Take an exception entry.

        :param return_address: The preferred one; None when nothing ran since the exception return before.
        :param then: The handler, or what the PC shows in lockup.
        """
        self._out(self._pc if return_address is None else return_address, then, True)
        self._pc = then

    def returned(self, then: int) -> None:
        """Take the end of an exception return that no exception follows."""
        self._out(self._pc, then, True)
        self._pc = then

    def resumed(self, pc: int) -> None:
        """Take the end of a halt, with the PC maybe written."""
        if pc != self._pc:
            self._out(self._pc, pc, True)
            self._pc = pc

    def restarted(self, pc: int) -> None:
        """Take a reset."""
        self._pc = pc

    def _find(self, address: int) -> int:
        # The size of an instruction, or what none has for one that is a packet whenever it runs.
        insn = instruction_at(self._read, address)
        is_isb = insn.kind is InstructionKind.DIRECT and insn.size == 4 and insn.target == address + 4
        always = insn.kind in _BRANCHES and is_certain(self._read, address)
        return _ALWAYS if always and (self._isb or not is_isb) else insn.size
