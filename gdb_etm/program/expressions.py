"""Location expressions of debug information.

Ref: DWARF Debugging Information Format, version 5, 2.5 (expressions), 2.6 (locations).
"""

from __future__ import annotations

from typing import Callable, List, Literal, Optional, Sequence, Tuple

ByteOrder = Literal["little", "big"]

_ADDR, _ADDRX, _PLUS_UCONST, _PLUS, _MINUS = 0x03, 0xA1, 0x23, 0x22, 0x1C
_LIT0, _LIT31 = 0x30, 0x4F
# Sizes of their operands, and whether these have a sign: DW_OP_const1u to DW_OP_const8s.
_CONSTANTS = {op: (1 << (op - 8) // 2, bool(op & 1)) for op in range(0x08, 0x10)}
_CONSTU, _CONSTS = 0x10, 0x11
# Of a number in LEB128.
_MOST_BITS = 128


def static_address(
    expression: Sequence[int], address_size: int, order: ByteOrder, indexed: Callable[[int], int]
) -> Optional[int]:
    """Compute the address that an expression states, if it is constant.

    :param expression: Its bytes: DW_OP_addr or DW_OP_addrx, and constants that are added or subtracted.
    :param address_size: In bytes.
    :param order: ``"little"`` or ``"big"``.
    :param indexed: Looks an address up by its index in .debug_addr.
    :returns: None for any other, such as one that gives a value and no place.
    """
    if not isinstance(expression, (list, bytes)) or not expression or expression[0] not in (_ADDR, _ADDRX):
        return None
    data = bytes(expression)
    at = 0
    stack: List[int] = []
    while at < len(data):
        op = data[at]
        at += 1
        if op == _ADDR:
            stack.append(int.from_bytes(data[at : at + address_size], order))
            at += address_size
        elif op == _ADDRX:
            value, at = leb(data, at, False)
            stack.append(indexed(value))
        elif op in _CONSTANTS:
            size, signed = _CONSTANTS[op]
            stack.append(int.from_bytes(data[at : at + size], order, signed=signed))
            at += size
        elif op in (_CONSTU, _CONSTS):
            value, at = leb(data, at, op == _CONSTS)
            stack.append(value)
        elif _LIT0 <= op <= _LIT31:
            stack.append(op - _LIT0)
        elif op == _PLUS_UCONST and stack:
            value, at = leb(data, at, False)
            stack.append(stack.pop() + value)
        elif op in (_PLUS, _MINUS) and len(stack) > 1:
            value = stack.pop()
            stack.append(stack.pop() + (value if op == _PLUS else -value))
        else:
            return None
    return stack[0] % (1 << 8 * address_size) if len(stack) == 1 and at == len(data) else None


def leb(data: bytes, at: int, signed: bool) -> Tuple[int, int]:
    """Read a number in LEB128 (DWARF 5, 7.6).

    :returns: The number, and the offset behind it.
    :raises ValueError: It has more bits than any number of debug information.
    """
    value = shift = 0
    byte = 0x80
    while byte & 0x80 and at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > _MOST_BITS + 7:
            raise ValueError("a number of more than %d bits" % _MOST_BITS)
    return value - (1 << shift) if signed and byte & 0x40 else value, at
