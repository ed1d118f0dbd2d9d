"""Worked by hand: values of the past as text."""

from __future__ import annotations

import pytest

from gdb_etm.recovery.values import Relative, Tier, Value
from gdb_etm.views.values import RegisterRow, flags_text, partial_text, register_cells, value_text

UNKNOWN = Value(None, Tier.UNKNOWN, "from outside")


@pytest.mark.parametrize(
    "value, text",
    [
        (UNKNOWN, ""),
        (UNKNOWN._replace(relative=Relative("r5", 48211, 4)), "r5 at #48,211 + 4"),
        (UNKNOWN._replace(relative=Relative("sp", 7, -24)), "sp at #7 - 24"),
        (UNKNOWN._replace(relative=Relative("r0", 1000, 0)), "r0 at #1,000"),
        (UNKNOWN._replace(high=255), "0 to 255"),
        (UNKNOWN._replace(low=0x20000000, high=0x20010000), ""),
        (UNKNOWN._replace(known=0xFF, bits=0x40), "0x??????40"),
        # Of the second digit three bits are known, which is no digit.
        (UNKNOWN._replace(known=0xF000007F, bits=0x20000042), "0x2??????2"),
    ],
)
def test_what_is_known_of_an_unknown_value(value: Value, text: str) -> None:
    assert partial_text(value) == text


def test_a_register() -> None:
    value = Value(0xFFFFFFF0, Tier.ASSUMED, "the call at 0x1dc kept r4")
    assert register_cells(RegisterRow("r4", value, "", "")) == ["r4", "0xfffffff0", "-16", "(assumed)"]
    why = register_cells(RegisterRow("r4", value, "", value.reason))
    assert why[3] == "(assumed) the call at 0x1dc kept r4"
    place = register_cells(RegisterRow("lr", Value(0xDB, Tier.EXACT, ""), "main+82", ""))
    assert place == ["lr", "0x000000db", "<main+82>", ""]
    assert register_cells(RegisterRow("r0", UNKNOWN, "", "from outside"))[1:] == ["<unavailable>", "", "from outside"]


def test_flags_and_widths() -> None:
    # N clear, Z set, C unknown, V clear.
    status = UNKNOWN._replace(known=0xD0000000, bits=0x40000000)
    assert flags_text(status) == "N=0 Z=1 V=0"
    assert register_cells(RegisterRow("xpsr", status, "", ""))[2] == "N=0 Z=1 V=0"
    assert value_text(Value(0x2E, Tier.EXACT, ""), 2) == "0x2e"
