"""Vectors worked by hand from DWARF 5, 2.5 and 2.6: location expressions."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

import pytest

from gdb_etm.program.expressions import leb, static_address
from gdb_etm.program.places import CFA, Place, frame_base_of, places_of

FRAME = (CFA, 0)
# Expression, frame base, and where a variable of 8 bytes is.
PLACES: Sequence[Tuple[str, Optional[Tuple[str, Optional[int]]], Sequence[Place]]] = [
    ("54", None, [Place("r4", None, 8)]),
    ("5d", None, [Place("sp", None, 8)]),
    ("9040", None, [Place("s0", None, 8)]),
    ("908002", None, [Place("d0", None, 8)]),
    ("90ff01", None, []),
    ("7d10", None, [Place("sp", 16, 8)]),
    ("920778", None, [Place("r7", -8, 8)]),
    ("917c", FRAME, [Place(CFA, -4, 8)]),
    ("917c", ("r7", 8), [Place("r7", 4, 8)]),
    ("917c", None, []),
    ("917c2302", FRAME, [Place(CFA, -2, 8)]),
    ("9c", None, [Place(CFA, 0, 8)]),
    ("549304559304", None, [Place("r4", None, 4), Place("r5", None, 4)]),
    ("9304559304", None, [Place("", None, 4), Place("r5", None, 4)]),
    ("549304916c9304", FRAME, [Place("r4", None, 4), Place(CFA, -20, 4)]),
    # Nowhere at all; a value (DW_OP_stack_value, DW_OP_entry_value); by reference (DW_OP_deref); a static address.
    ("9308", None, []),
    ("700a9f", None, []),
    ("a301509f", None, []),
    ("917c06", FRAME, []),
    ("0300000020", FRAME, []),
    ("5455", None, []),
    ("", None, []),
]


@pytest.mark.parametrize("code, base, places", PLACES)
def test_places(code: str, base: Optional[Tuple[str, Optional[int]]], places: Sequence[Place]) -> None:
    assert list(places_of(bytes.fromhex(code), base, 8)) == list(places)


def test_a_frame_base_is_what_a_register_holds() -> None:
    assert [frame_base_of(bytes.fromhex(code)) for code in ("9c", "57", "7d18", "0300000020")] == [
        (CFA, 0),
        ("r7", 0),
        ("sp", 24),
        None,
    ]


@pytest.mark.parametrize(
    "code, address",
    [
        ("0304000020", 0x20000004),
        ("03040000202308", 0x2000000C),
        ("0304000020081022", 0x20000014),
        ("030400002009fe22", 0x20000002),
        ("0304000020341c", 0x20000000),
        ("03040000201180081c", 0x1FFFFC04),
        ("a105", 0x20001005),
        # A value and no place; more than one; cut short.
        ("03040000209f", None),
        ("030400002031", None),
        ("0304", None),
        ("917c", None),
        ("", None),
    ],
)
def test_static_addresses(code: str, address: Optional[int]) -> None:
    assert static_address(bytes.fromhex(code), 4, "little", lambda index: 0x20001000 + index) == address


def test_numbers() -> None:
    assert leb(b"\x7f\x00", 0, True) == (-1, 1)
    assert leb(b"\x00\xe5\x8e\x26", 1, False) == (624485, 4)
    assert leb(b"\x80\x7f", 0, True) == (-128, 2)
