"""Values of the past as text: registers, reasons, and partial knowledge."""

from __future__ import annotations

from typing import List, NamedTuple

from gdb_etm.recovery.values import Tier, Value

# Bounds that lie further apart tell nothing.
_SMALL = 1 << 16
_FLAGS = tuple(zip("NZCV", (31, 30, 29, 28)))


class RegisterRow(NamedTuple):
    """A register at a moment."""

    name: str
    value: Value
    # What it points to; empty when that is no matter.
    symbol: str
    # Why it is known, or not; empty if it is not shown.
    reason: str


def value_text(value: Value, digits: int = 8) -> str:
    """Write a value in hexadecimal: ``"0x0000001f"``, ``"<unavailable>"``.

    :param digits: How many at least.
    """
    return "<unavailable>" if value.value is None else "0x%0*x" % (digits, value.value)


def mark(tier: Tier) -> str:
    """Write a tier: ``"(assumed)"``, or nothing."""
    return "(assumed)" if tier is Tier.ASSUMED else ""


def partial_text(value: Value) -> str:
    """Describe partial knowledge of a value; empty if there is none.

    By another register (``"r5 at #48,211 + 4"``), by bounds (``"0 to 31"``), or by digits (``"0x????0040"``).
    """
    if value.relative is not None:
        offset = value.relative.offset
        sign = " %s %d" % ("-" if offset < 0 else "+", abs(offset)) if offset else ""
        return "{} at #{:,}{}".format(value.relative.name, value.relative.number, sign)
    if value.high - value.low < _SMALL:
        return "%d to %d" % (value.low, value.high)
    digits = [
        "%x" % (value.bits >> shift & 15) if value.known >> shift & 15 == 15 else "?" for shift in range(28, -1, -4)
    ]
    return "0x" + "".join(digits) if set(digits) != {"?"} else ""


def flags_text(value: Value) -> str:
    """Write the flags of a status register that are known: ``"N=0 Z=1"``."""
    return " ".join("%s=%d" % (flag, value.bits >> bit & 1) for flag, bit in _FLAGS if value.known >> bit & 1)


def register_cells(row: RegisterRow) -> List[str]:
    """Write a register as cells: name, value, meaning, tier and reason."""
    value = row.value
    if value.value is None:
        part = flags_text(value) if row.name in ("xpsr", "cpsr") else partial_text(value)
        return [row.name, value_text(value), part, row.reason]
    signed = value.value - (value.value >> 31 << 32)
    besides = "<%s>" % row.symbol if row.symbol else "" if row.name in ("sp", "lr", "pc") else str(signed)
    return [row.name, value_text(value), besides, " ".join(word for word in (mark(value.tier), row.reason) if word)]
