"""Where a local variable is: in registers, or in memory.

Ref: DWARF Debugging Information Format, version 5, 2.6 (locations), 2.5.1 (operations); DWARF for the Arm Architecture
(AADWARF32), 4.1 (register numbers).
"""

from __future__ import annotations

from typing import Any, Final, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.code_entries import base_of
from gdb_etm.program.debug_sections import DebugInformation
from gdb_etm.program.expressions import leb

# The canonical frame address, as a place's base.
CFA: Final = "cfa"

_REG0: Final = 0x50
_REG31: Final = 0x6F
_BREG0: Final = 0x70
_BREG31: Final = 0x8F
_REGX: Final = 0x90
_BREGX: Final = 0x92
_FBREG: Final = 0x91
_PIECE: Final = 0x93
_NOP: Final = 0x96
_CALL_FRAME_CFA: Final = 0x9C
_PLUS_UCONST: Final = 0x23
_CORE: Final = tuple("r%d" % number for number in range(13)) + ("sp", "lr", "pc")
# S0 to S31, as older compilers number them, and D0 to D31.
_S0: Final = 64
_D0: Final = 256
_VECTORS: Final = 32

# A base, and the distance from its value; None: the base itself.
_At = Tuple[str, Optional[int]]


class Place(NamedTuple):
    """Where a variable, or a piece of it, is."""

    # CFA or a register's name, such as ``"r4"``, ``"sp"``, ``"s0"``; empty for a piece that is nowhere.
    base: str
    # In memory: bytes from the base's value.  None: in the register itself.
    offset: Optional[int]
    # In bytes.
    size: int

    @property
    def is_in_memory(self) -> bool:
        """Whether it is in memory, not in a register."""
        return self.offset is not None


def places_of(expression: bytes, frame_base: Optional[_At], size: int) -> Sequence[Place]:
    """Read where a location expression says that a variable is.

    :param expression: Its bytes.
    :param frame_base: Where the function's frame is, see :func:`frame_base_of`.
    :param size: The variable's size in bytes.
    :returns: Its pieces in order, mostly one.  Empty where it has a value and no place, or one that has to be computed
        from memory.
    """
    found: List[Place] = []
    current: Optional[_At] = None
    at = 0
    while at < len(expression):
        op = expression[at]
        at += 1
        if op == _PIECE:
            length, at = leb(expression, at, False)
            found.append(Place(*(current or ("", None)), length))
            current = None
        elif current is not None and current[1] is not None and op == _PLUS_UCONST:
            more, at = leb(expression, at, False)
            current = current[0], current[1] + more
        elif op != _NOP:
            start, at = _start(expression, op, at, frame_base)
            if start is None or current is not None:
                return ()
            current = start
    if current is not None:
        return [] if found else [Place(*current, size)]
    return found if any(one.base for one in found) else []


def frame_base_of(expression: bytes) -> Optional[_At]:
    """Read where a function's frame is (DW_AT_frame_base; DWARF 5, 3.3.5).

    :returns: A base, and the distance from its value in bytes; None where it has to be computed.
    """
    found = places_of(expression, None, 0)
    if len(found) != 1 or not found[0].base:
        return None
    # A register stands for what it holds.
    return found[0].base, found[0].offset or 0


def expression_at(attribute: Any, die: Any, address: int, information: DebugInformation) -> Optional[bytes]:
    """Find the location expression that holds at an instruction.

    :param attribute: As pyelftools has it, as its entry.
    """
    if isinstance(attribute.value, (list, bytes)):
        return bytes(attribute.value)
    if attribute.form not in ("DW_FORM_sec_offset", "DW_FORM_loclistx", "DW_FORM_data4"):
        return None
    base, default = base_of(die.cu), None
    for one in information.locations(attribute.value, die):
        if hasattr(one, "base_address"):
            base = one.base_address
        elif hasattr(one, "loc_expr"):
            offset = 0 if one.is_absolute else base
            if one.begin_offset == -1:
                default = bytes(one.loc_expr)
            elif one.begin_offset + offset <= address < one.end_offset + offset:
                return bytes(one.loc_expr)
    return default


def _start(expression: bytes, op: int, at: int, frame_base: Optional[_At]) -> Tuple[Optional[_At], int]:
    number: Optional[int] = None
    offset: Optional[int] = None
    if _REG0 <= op <= _REG31:
        number = op - _REG0
    elif op == _REGX:
        number, at = leb(expression, at, False)
    elif _BREG0 <= op <= _BREG31:
        number = op - _BREG0
        offset, at = leb(expression, at, True)
    elif op == _BREGX:
        number, at = leb(expression, at, False)
        offset, at = leb(expression, at, True)
    elif op == _CALL_FRAME_CFA:
        return (CFA, 0), at
    elif op == _FBREG and frame_base is not None:
        offset, at = leb(expression, at, True)
        return (frame_base[0], (frame_base[1] or 0) + offset), at
    name = _register(number) if number is not None else ""
    return ((name, offset) if name else None), at


def _register(number: int) -> str:
    if number < len(_CORE):
        return _CORE[number]
    if _S0 <= number < _S0 + _VECTORS:
        return "s%d" % (number - _S0)
    return "d%d" % (number - _D0) if _D0 <= number < _D0 + _VECTORS else ""
