"""What an encoder needs to know of each instruction of a program."""

from __future__ import annotations

from typing import Callable, Dict, NamedTuple, Optional

from gdb_etm.program.isa import Kind, decode_t16, decode_t32, is_wide

ReadCode = Callable[[int], bytes]
"""Returns four bytes of program memory at an address (two at the end of memory)."""
Region = Callable[[int], bool]
"""Tells whether an address is in some region."""

_RAM = 0x20000000


class Branch(NamedTuple):
    """A P0 instruction."""

    target: int
    """-1 for an indirect branch."""
    following: int
    """Address of the next instruction in memory."""
    link: bool
    broadcast: bool
    """Whether branch broadcasting is on there."""
    barrier: bool
    """Whether it is ISB."""


TRANSFER = Branch(-1, -1, False, False, False)
"""A P0 instruction that is no branch."""


class Records(Dict[int, Optional[Branch]]):
    """The P0 instructions of a program, by address; None for the others.

    Found out when an instruction is first executed; in RAM each time, for a program may change its code there (the Code
    region of the memory map ends at 0x20000000, Armv8-M ARM, B8.1).

    :param read_code: Reads program memory.
    :param broadcast: Where branch broadcasting is on; None for nowhere.
    :param transfers: Which instructions are P0 elements for their loads or stores; None for none.
    """

    def __init__(self, read_code: ReadCode, broadcast: Optional[Region], transfers: Optional[Region]) -> None:
        super().__init__()
        self._read_code = read_code
        self._broadcast = broadcast
        self._transfers = transfers

    def __missing__(self, address: int) -> Optional[Branch]:
        code = self._read_code(address)
        first = int.from_bytes(code[:2], "little")
        if is_wide(first):
            insn = decode_t32(address, first, int.from_bytes(code[2:4], "little"))
        else:
            insn = decode_t16(address, first)
        record: Optional[Branch] = None
        if insn.kind in (Kind.DIRECT, Kind.INDIRECT):
            target = insn.target if insn.kind == Kind.DIRECT else -1
            following = (address + insn.size) & 0xFFFFFFFF
            everywhere = self._broadcast is not None and self._broadcast(address)
            record = Branch(target, following, insn.link, everywhere, first == 0xF3BF and target == following)
        elif self._transfers is not None and self._transfers(address):
            record = TRANSFER
        if address < _RAM:
            self[address] = record
        return record
