"""Vectors worked by hand from IHI 0064, 5.3: speculative return stack.

Lines are those of its text in ../shared/spec.
It follows the elements that are left after cancellation, with Mispredicts in their place (L8251).
"""

from __future__ import annotations

from typing import List

import pytest

from tests.protocols.etmv4.streams import Code, program, story
from tests.protocols.etmv4.test_speculation_vectors import AT_1000, BEGIN, UNIT

WITH_STACK = UNIT._replace(return_stack=True)
# 1000 bleq 100c | 1004 mov, bleq 2000 | 100c bx lr | 2000 bxeq lr, bx lr
CALLS = program(Code(0x1000, "0100000b 0100a0e3 fc03000b 1eff2fe1"), Code(0x2000, "1eff2f01 1eff2fe1"))


def calls(packets: str) -> List[str]:
    """Decode with the return stack from 0x1000 on."""
    found = story(WITH_STACK, CALLS, AT_1000 + packets)
    assert found[:2] == BEGIN
    return found[2:]


@pytest.mark.parametrize("begin", ["f7 30 ", "f7 2d 01 30 ", "f7 30 30 30 "])
def test_first_traced_as_taken_pushes(begin: str) -> None:
    # L8255: the BL at 0x1000 was traced E and turned out N; its return address stays on the stack, below 0x100c.
    uncommitted = 4 if "2d" in begin else 5
    assert calls(begin + "f7 f7 f7 f6 2d 0%d" % uncommitted) == [
        "1000-1004 1N",
        "1004-100c 2E",
        "2000-2004 1E",
        "100c-1010 1E",
        "1004-100c 2N",
    ]


@pytest.mark.parametrize("begin", ["f6 30 ", "f6 30 30 30 "])
def test_first_traced_as_not_taken_pushes_nothing(begin: str) -> None:
    # L8266: so BX LR at 0x100c has no target without an Address.
    assert calls(begin + "f7 f6 2d 03") == ["1000-1004 1E", "100c-1010 1E", "gap: address unknown"]
    assert calls(begin + "f7 95 81 08 f6 2d 03") == ["1000-1004 1E", "100c-1010 1E", "1004-100c 2N"]


def test_flipped_and_flipped_back_pushes_once() -> None:
    assert calls("f7 30 30 f7 f6 2d 03") == ["1000-1004 1E", "100c-1010 1E", "1004-100c 2N"]


def test_a_cancelled_call_pushes_nothing() -> None:
    # L8253: BL, cancelled; BL, BX LR to 0x1004, BL 2000, BXEQ LR to 0x100c, BX LR: its target is not on the stack.
    assert calls("f7 2e 01 f7 f7 f7 f7 f7 f7 2d 06") == [
        "1000-1004 1E",
        "100c-1010 1E",
        "1004-100c 2E",
        "2000-2004 1E",
        "100c-1010 1E",
        "gap: address unknown",
    ]


def test_a_mispredicted_return_pops_nothing() -> None:
    # L8268: only where the final status is E.  BXEQ LR is traced E and flipped, BX LR returns to 0x100c.
    expected = ["1004-100c 2E", "2000-2004 1N", "2004-2008 1E", "100c-1010 1E"]
    there = "95 81 08 "  # 0x1004, corrects 0x1000 (L7654)
    assert calls(there + "f7 f7 30 f7 f7 2d 04") == expected
    assert calls(there + "f7 f6 f7 f7 2d 04") == expected
