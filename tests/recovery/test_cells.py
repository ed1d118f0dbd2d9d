"""Which bytes of a word an access touches: cases worked by hand."""

from __future__ import annotations

import pytest

from gdb_etm.recovery.memory.cells import within

WORD = 0x20000010


@pytest.mark.parametrize(
    "address, size, touched",
    [
        (WORD, 4, 0b1111),
        (WORD, 1, 0b0001),
        (WORD + 3, 1, 0b1000),
        (WORD + 2, 2, 0b1100),
        (WORD + 3, 2, 0b1000),
        (WORD - 1, 2, 0b0001),
        (WORD - 3, 4, 0b0001),
        (WORD - 4, 8, 0b1111),
        (WORD - 4, 4, 0),
        (WORD + 4, 4, 0),
        (0x22000000, 4, 0),
    ],
)
def test_bytes_of_a_word(address: int, size: int, touched: int) -> None:
    assert within(address, size, WORD) == touched
