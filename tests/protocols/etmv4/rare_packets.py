"""ETMv4 packets that no simulated board writes, as bytes; see :mod:`gdb_etm.protocols.etmv4.encode.packets`."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from gdb_etm.protocols.encode.output import continued

# A return to Secure state on M-profile with data trace, from ETMv4.2; a P0 element (6.4.4).
FUNCTION_RETURN = b"\x05"
# Uncommitted elements are lost (6.4.2).
DISCARD = b"\x00\x03"
# What a branch future does is not known, from ETMv4.5 (6.4.2).
RESYNCHRONIZATION = b"\x08"
# A branch future no longer holds, from ETMv4.5 (6.4.15).
BRANCH_FUTURE_FLUSH = b"\x00\x07"
# Nothing, from ETMv4.3 (6.4.10).
IGNORE = b"\x70"
# The place that the next timestamp belongs to, from ETMv4.6 (6.4.3).
TIMESTAMP_MARKER = b"\x88"
# A Context element with the values of the last one (6.4.12).
SAME_CONTEXT = b"\x80"


# Contexts and exceptions (6.4.12, 6.4.5).


def context_payload(
    level: int, non_secure: bool = False, wide: bool = False, vmid: bytes = b"", context_id: bytes = b""
) -> bytes:
    """Write what Context and Address with Context packets have in common (6.4.12).

    :param level: Exception level, 0 to 3.
    :param wide: Whether the processor is in AArch64 state.
    :param vmid: The VMID, as many bytes as TRCIDR2.VMIDSIZE says; empty leaves it out.
    :param context_id: The Context ID, as many bytes as TRCIDR2.CIDSIZE says; empty leaves it out.
    """
    info = level | wide << 4 | non_secure << 5 | (vmid != b"") << 6 | (context_id != b"") << 7
    return bytes((info,)) + vmid + context_id


def context(payload: bytes) -> bytes:
    """Write Context (6.4.12) with a payload of :func:`context_payload`."""
    return b"\x81" + payload


def exception(number: int, elements: int, place: bytes, pending: bool = False, short: bool = False) -> bytes:
    """Write Exception (6.4.5).

    :param number: TYPE, 0 to 0x3FF.
    :param elements: E1:E0: 1, the address is only the preferred return address; 2, it is where execution was as well.
    :param place: The packet with the address: Address of any form, or Address with Context.
    :param pending: M-profile: whether a fault is pending.
    :param short: Whether to leave out the second byte where its bits are zero.
    """
    more = number >> 5 | pending << 5
    info = (elements & 2) << 5 | (number & 0x1F) << 1 | (elements & 1)
    if short and not more:
        return bytes((0x06, info)) + place
    return bytes((0x06, info | 0x80, more)) + place


# Q elements (6.4.14).


def q(count: Optional[int], place: bytes = b"") -> bytes:
    """Write Q (6.4.14): instructions ran of which the branches are not told.

    :param count: How many, at least 1; None when unknown, and then there is no address.
    :param place: The address packet that tells where they led, of any form but the 64-bit ones; empty for none.
    """
    if count is None:
        return b"\xaf"
    if not place:
        return b"\xac" + continued(count)
    return bytes((0xA0 | (place[0] & 0xF),)) + place[1:] + continued(count)


# Conditional non-branch instructions (6.4.9).


def conditional_1(key: int) -> bytes:
    """Write Conditional Instruction format 1 (6.4.9) with any key."""
    return b"\x6c" + continued(key)


def conditional_2(form: int) -> bytes:
    """Write Conditional Instruction format 2 (6.4.9).

    :param form: 0, the next key; 1, the same key; 2, both one after the other.
    """
    return bytes((0x40 | form,))


def conditional_3(count: int, again: bool = False) -> bytes:
    """Write Conditional Instruction format 3 (6.4.9).

    :param count: How many with the next keys, 0 to 63.
    :param again: Whether one with the last key follows; without it `count` is at least 1.
    """
    return bytes((0x6D, count << 1 | again))


def result_1(results: Sequence[Tuple[int, int, bool]]) -> bytes:
    """Write Conditional Result format 1 (6.4.9).

    :param results: One or two of key, result (APSR flags N, Z, C, V in bits 3 to 0, or 1 for passed) and whether
        conditional instructions up to that key are implied.
    """
    implied = [bit for _, _, bit in results]
    header = 0x6E | implied[0] if len(results) == 1 else 0x68 | implied[0] | implied[1] << 1
    data = bytearray((header,))
    for key, result, _ in results:
        rest = key >> 3
        data.append((rest > 0) << 7 | (key & 7) << 4 | result)
        data += continued(rest) if rest else b""
    return bytes(data)


def result_3(tokens: int) -> bytes:
    """Write Conditional Result format 3 (6.4.9): 12 bits, oldest token lowest."""
    return bytes((0x50 | tokens >> 8, tokens & 0xFF))


def result_4(token: int) -> bytes:
    """Write Conditional Result format 4 (6.4.9), for the key before the last."""
    return bytes((0x44 | token,))
