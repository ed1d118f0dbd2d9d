"""Vectors worked by hand from IHI 0014Q, 7.3.5: M-profile exceptions.

Also from DDI 0337G, 14.5.2 and table 14-8.

Branch packets have the alternative address encoding.
"""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.protocols.elements import Exception_
from tests.protocols.etmv3.streams import ASYNC, M_PROFILE, decode, story
from tests.protocols.etmv4.streams import Code, program

# 1000 movs r0, #1 | 1002 bl 1020 | 1006 cmp r0, #0 | 1008 b 1000
# 1020 adds r0, #1 | 1022 bx lr
# 1040 movs r1, #0 | 1042 ldr r2, [r3] | 1044 bx lr
# 1060 movs r2, #0 | 1062 pop {r4, pc}
PROGRAM = program(
    Code(0x1000, "0120 00f00df8 0028 fae7"),
    Code(0x1020, "0130 7047"),
    Code(0x1040, "0021 1a68 7047"),
    Code(0x1060, "0022 10bd"),
)
START = ASYNC + "08 21 01 10 00 00 "
# To 0x1040: A[6:1] is 0x20; in the last byte A[12:7] is 0x20, and bit 6 says that information follows.
HANDLER = "c1 60 "
PENDSV = HANDLER + "1c "


def run(text: str) -> List[str]:
    """Decode from the first I-sync packet on, without its two elements."""
    found = story(M_PROFILE, PROGRAM, START + text)
    assert found[:2] == ["gap TRACE_ON", "S"]
    return found[2:]


def test_exception_and_return() -> None:
    # MOVS BL; PendSV; the handler; Exception exit; back at 0x1020: A[6:1] 0x10.
    assert run("88 " + PENDSV + "8c 76 21 88 07 84") == [
        "1000-1006 2E",
        "PendSV, return 1020",
        "1040-1046 3E",
        "exception return",
        "1020-1024 2E",
        "1006-1008 1E",
    ]


def test_tail_chaining() -> None:
    # Nothing ran between the return and the next exception: SysTick, to 0x1060.
    assert run("88 " + PENDSV + "8c 76 e1 60 1e 88 76 21 84") == [
        "1000-1006 2E",
        "PendSV, return 1020",
        "1040-1046 3E",
        "exception return",
        "SysTick, return unknown",
        "1060-1064 2E",
        "exception return",
        "1020-1022 1E",
    ]


def test_a_cancelled_instruction() -> None:
    # A load of several words is taken up again after the interrupt: what was traced is cancelled.
    assert run("8c " + HANDLER + "3c 84") == [
        "1000-1006 2E",
        "PendSV, return 1020",
        "1040-1042 1E",
    ]


def test_a_cancelled_return() -> None:
    # The unstacking did not complete: the return is cancelled, not the instruction.
    assert run("88 " + PENDSV + "8c 76 " + "e1 60 3e 88 76 21 84") == [
        "1000-1006 2E",
        "PendSV, return 1020",
        "1040-1046 3E",
        "SysTick, return unknown",
        "1060-1064 2E",
        "exception return",
        "1020-1022 1E",
    ]


def test_resume_information() -> None:
    # An information byte with bit 6 set holds where an interrupted instruction goes on; it changes nothing here.
    assert run("88 " + HANDLER + "9c 43 84")[1:] == ["PendSV, return 1020", "1040-1042 1E"]
    assert run("88 " + HANDLER + "90 81 43 84")[1:] == ["IRQ8, return 1020", "1040-1042 1E"]


@pytest.mark.parametrize(
    "code, name, number",
    [(kind, "IRQ%d" % kind, 16 + kind) for kind in range(1, 8)]
    + [
        (8, "IRQ0", 16),
        (9, "UsageFault", 6),
        (10, "NMI", 2),
        (11, "SVCall", 11),
        (12, "DebugMonitor", 12),
        (13, "MemManage", 4),
        (14, "PendSV", 14),
        (15, "SysTick", 15),
        (17, "Reset", 1),
        (19, "HardFault", 3),
        (21, "BusFault", 5),
        (24, "IRQ8", 24),
        (255, "IRQ239", 255),
        (511, "IRQ495", 511),
        (16, "exception type 0x10", None),
    ],
)
def test_exception_numbers(code: int, name: str, number: object) -> None:
    # Bits 3 to 0 are in the first information byte, 8 to 4 in the second.
    first, second = (code & 0xF) << 1, code >> 4
    information = "%02x %02x" % (first | 0x80, second) if second else "%02x" % first
    found = decode(M_PROFILE, PROGRAM, bytes.fromhex(START + "88 " + HANDLER + information))
    exceptions = [element for _, element in found if isinstance(element, Exception_)]
    assert [(one.name, one.vector, one.return_address) for one in exceptions] == [(name, number, 0x1020)]
