"""Disassembly by Capstone, for code that the debugger does not see."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional

from gdb_etm.history.frames import Function
from gdb_etm.program.conditions import enters_it_block
from gdb_etm.program.isa import Isa

_TARGET = re.compile(r"#0x([0-9a-f]+)\Z")
_BRANCHES = ("b", "cb", "tb", "le", "wls", "dls")


class Disassembler:
    """Writes single instructions as text, with function names for branch targets.

    :param resolve: Finds the function at an address.
    """

    def __init__(self, resolve: Callable[[int], Optional[Function]]) -> None:
        self._resolve = resolve
        self._engines: Dict[Isa, List[Any]] = {}

    def text(self, address: int, code: bytes, isa: Isa, before: bytes = b"") -> str:
        """Disassemble one instruction: mnemonic, a tab, operands.

        Bytes that are none become ``.inst``.

        :param before: The IT block before it, see :class:`ItBlocks`.
        """
        for engine in self._engines_for(isa):
            instruction = next(iter(list(engine.disasm(before + code, address - len(before)))[-1:]), None)
            if instruction is None or instruction.address != address:
                continue
            operands = instruction.op_str
            if instruction.mnemonic.startswith(_BRANCHES):
                operands = _TARGET.sub(self._named, operands)
            return ("%s\t%s" % (instruction.mnemonic, operands)).rstrip()
        return ".inst\t0x%0*x" % (2 * len(code), int.from_bytes(code, "little"))

    def _named(self, found: Any) -> str:
        address = int(found.group(1), 16)
        name = symbol_text(self._resolve(address), address)
        return "0x%x <%s>" % (address, name) if name else "0x%x" % address

    def _engines_for(self, isa: Isa) -> List[Any]:
        if isa not in self._engines:
            import capstone

            thumb = capstone.CS_MODE_THUMB | capstone.CS_MODE_V8
            modes = {
                Isa.A64: ((capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),),
                Isa.A32: ((capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8),),
                # The special registers of a microcontroller are none of other profiles'.
                Isa.T32: ((capstone.CS_ARCH_ARM, thumb), (capstone.CS_ARCH_ARM, thumb | capstone.CS_MODE_MCLASS)),
            }
            self._engines[isa] = [capstone.Cs(*mode) for mode in modes[isa]]
        return self._engines[isa]


class ItBlocks:
    """Tracker of IT blocks along a walk.

    Capstone writes a condition only if it sees the block's earlier instructions.
    """

    def __init__(self) -> None:
        self._following = -1
        self._block = b""
        self._left = 0

    def before(self, address: int, code: bytes, isa: Isa) -> bytes:
        """Take the next instruction of the walk.

        :returns: The bytes of its IT block before it, IT included; nothing outside of one.
        """
        before_it = self._block if self._left and address == self._following else b""
        self._left = self._left - 1 if before_it else 0
        half = int.from_bytes(code[:2], "little")
        if isa is Isa.T32 and len(code) == 2 and enters_it_block(half):
            # The lowest bit set in the mask says how many instructions follow (Armv8-M ARM, C2.4.79).
            self._left = {8: 1, 4: 2, 2: 3, 1: 4}[half & -half & 0xF]
        self._block = before_it + code if self._left else b""
        self._following = address + len(code)
        return before_it


def symbol_text(function: Optional[Function], address: int) -> str:
    """Write an address as GDB does inside ``<>``, such as ``dispatch+18``.

    Empty without a function.
    """
    if function is None:
        return ""
    offset = address - function.start
    return "%s+%d" % (function.name, offset) if offset else function.name
