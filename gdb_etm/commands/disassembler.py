"""Instruction text by Capstone, for code that the debugger does not see as it was traced."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Optional

from gdb_etm.history.frames import Function
from gdb_etm.program.isa import Isa

_TARGET = re.compile(r"#0x([0-9a-f]+)\Z")
_BRANCHES = ("b", "cb", "tb", "le", "wls", "dls")


class Disassembler:
    """Writes single instructions as text, with function names for branch targets.

    :param resolve: Finds the function at an address.
    """

    def __init__(self, resolve: Callable[[int], Optional[Function]]) -> None:
        self._resolve = resolve
        self._engines: Dict[Isa, Any] = {}

    def text(self, address: int, code: bytes, isa: Isa) -> str:
        """Write one instruction: mnemonic, a tab, operands; bytes that are none become ``.inst``."""
        for instruction in self._engine(isa).disasm(code, address, 1):
            operands = instruction.op_str
            if instruction.mnemonic.startswith(_BRANCHES):
                operands = _TARGET.sub(self._named, operands)
            return ("%s\t%s" % (instruction.mnemonic, operands)).rstrip()
        return ".inst\t0x%0*x" % (2 * len(code), int.from_bytes(code, "little"))

    def _named(self, found: Any) -> str:
        address = int(found.group(1), 16)
        name = symbol_text(self._resolve(address), address)
        return "0x%x <%s>" % (address, name) if name else "0x%x" % address

    def _engine(self, isa: Isa) -> Any:
        if isa not in self._engines:
            import capstone

            modes = {
                Isa.A64: (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
                Isa.A32: (capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8),
                Isa.T32: (capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8),
            }
            self._engines[isa] = capstone.Cs(*modes[isa])
        return self._engines[isa]


def symbol_text(function: Optional[Function], address: int) -> str:
    """Write an address as GDB does inside ``<>``: ``dispatch+18``, ``dispatch`` at its start, or nothing."""
    if function is None:
        return ""
    offset = address - function.start
    return "%s+%d" % (function.name, offset) if offset else function.name
