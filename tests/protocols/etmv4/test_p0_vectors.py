"""Vectors worked by hand from IHI 0064 H.a: P0 elements.

Lines are those of its text in ../shared/spec.
"""

from __future__ import annotations

from typing import List

import pytest

from gdb_etm.protocols.etmv4.exceptions import exception_name
from tests.protocols.etmv4.streams import ASYNC, M_PROFILE, Code, program, story

# 1000 movs r0, #1 | ldr r1, [r0] | str r1, [r0] | ldr r2, [r1, #4] | 1008 bl 1020 | b . | 1020 push {r4, lr} |
# pop {r4, pc}
MEMORY = program(Code(0x1000, "0120 0168 0160 4a68 00f00af8 fee7"), Code(0x1020, "10b5 10bd"))
BEGIN = ["gap: tracing was off", "EL0 S"]


def run(packets: str, loads: bool, stores: bool, max_speculation: int = 0, return_stack: bool = False) -> List[str]:
    """Decode from 0x1000 on; INFO bits 4, 5 define P0 (L9188)."""
    unit = M_PROFILE._replace(
        loads=loads, stores=stores, max_speculation=max_speculation, return_stack=return_stack, commit_mode=0
    )
    info = "01 01 %02x " % (loads << 4 | stores << 5) if loads or stores else "01 00 "
    found = story(unit, MEMORY, ASYNC + info + "04 81 00 9b 00 10 00 00 " + packets)
    assert found[:2] == BEGIN
    return found[2:]


@pytest.mark.parametrize(
    "loads, stores, packets, ran",
    [
        (False, False, "f7 f7", ["1000-100c 5E", "1020-1024 2E"]),
        # L12331: an E atom for each load; POP is a branch and a load, and has one (L973).
        (True, False, "f7 f7 f7 f7", ["1000-1004 2E", "1004-1008 2E", "1008-100c 1E", "1020-1024 2E"]),
        # PUSH is a store, POP still a branch.
        (False, True, "f7 f7 f7 f7", ["1000-1006 3E", "1006-100c 2E", "1020-1022 1E", "1022-1024 1E"]),
        (
            True,
            True,
            "f7 f7 f7 f7 f7 f7",
            ["1000-1004 2E", "1004-1006 1E", "1006-1008 1E", "1008-100c 1E", "1020-1022 1E", "1022-1024 1E"],
        ),
        # The same six in an Atom packet of format 6: COUNT 2 and an E.
        (
            True,
            True,
            "c2",
            ["1000-1004 2E", "1004-1006 1E", "1006-1008 1E", "1008-100c 1E", "1020-1022 1E", "1022-1024 1E"],
        ),
    ],
)
def test_loads_and_stores(loads: bool, stores: bool, packets: str, ran: List[str]) -> None:
    assert run(packets, loads, stores) == ran


def test_a_load_that_faults() -> None:
    # L7173: a synchronous BusFault returns to the instruction, which did not run: no atom.
    assert run("06 0b 96 01", True, True) == ["1000-1002 1E", "BusFault, return 1002"]
    # An asynchronous one returns to the instruction after it; the atom came first.
    assert run("f7 06 0b 96 02", True, True) == ["1000-1004 2E", "BusFault, return 1004"]
    # An exception beyond a load without its atom: trace and program disagree.
    assert run("06 27 96 02", True, True)[0] == "gap: trace and program disagree"


def test_they_are_speculated_on_like_branches() -> None:
    # L8002: ldr, str; then the str is cancelled, and faults.
    assert run("f7 f7 2e 01 06 0b 96 02 2d 02", True, True, 8) == ["1000-1004 2E", "BusFault, return 1004"]
    assert run("f7 f7 2d 01", True, True, 8) == ["1000-1004 2E", "gap: not committed when the trace ended"]
    assert run("f7 f7 f7", True, True, 1) == ["1000-1004 2E", "1004-1006 1E", "gap: not committed when the trace ended"]


def test_atoms_before_an_unnumbered_mark() -> None:
    # L9983: 0x2b has three E atoms, 0x28 none; Numbered ones (L9957) have none either.
    ran = ["1000-1004 2E", "1004-1006 1E", "1006-1008 1E", "1008-100c 1E"]
    assert run("2b f7", True, True) == ran
    assert run("28 29 23 2a f7", True, True) == ran
    assert run("2c", True, True) == ran
    # They count for the speculation depth, and wait for a commit.
    assert run("2b 2d 02", True, True, 8) == ran[:2] + ["gap: not committed when the trace ended"]


def test_the_return_stack_with_loads_in_between() -> None:
    # POP {R4, PC} comes back to 0x100c, which BL has pushed.
    found = run("c2 06 27 96 86 10", True, True, return_stack=True)
    assert found[-2:] == ["1022-1024 1E", "IRQ3, return 100c"]


# Function Return (5.2.13): a P0 element of its own after the atom of the branch that loads FNC_RETURN.


def test_function_return() -> None:
    # L7811: POP E, then the packet, then where it went.
    begin = ["1000-100c 5E", "1020-1024 2E"]
    assert run("f7 f7 05 96 80 10 f7", False, False) == begin + ["1000-100c 5E"]
    # The target is never on the return stack: it belongs to the other security state (L8180).
    assert run("f7 f7 05 96 80 10 f7", False, False, return_stack=True) == begin + ["1000-100c 5E"]
    # Without an Address nothing is known.
    assert run("f7 f7 05 f7", False, False, return_stack=True) == begin + ["gap: address unknown"]


def test_function_return_is_committed_and_cancelled() -> None:
    # L9494: it takes a place of the speculation depth.
    begin = ["1000-100c 5E", "1020-1024 2E"]
    uncommitted = "gap: not committed when the trace ended"
    assert run("f7 f7 05 2d 02", False, False, 8) == begin + [uncommitted]
    assert run("f7 f7 05 2d 03", False, False, 8) == begin
    assert run("f7 f7 05 96 80 10 f7 2d 04", False, False, 8) == begin + ["1000-100c 5E"]
    assert run("f7 f7 05 96 80 10 2e 01 05 96 80 10 f7 2d 04", False, False, 8) == begin + ["1000-100c 5E"]
    assert run("f7 f7 05", False, False, 2) == begin[:1] + [uncommitted]


def test_exception_return_of_m_profile_is_committed_and_cancelled() -> None:
    # L7570.
    begin = ["1000-100c 5E", "1020-1024 2E"]
    uncommitted = "gap: not committed when the trace ended"
    assert run("f7 f7 07 2d 02", False, False, 8) == begin + [uncommitted]
    assert run("f7 f7 07 2d 03", False, False, 8) == begin + ["exception return"]
    assert run("f7 f7 07 2e 01 96 80 10 f7 2d 03", False, False, 8) == begin + ["1000-100c 5E"]
    assert run("f7 f7 07", False, False, 2) == begin[:1] + [uncommitted]


# Every exception number of M-profile (L9613; the digits that the table lacks follow from its order).


def names() -> List[str]:
    found = ["exception type 0x%02x" % number for number in range(0x400)]
    known = {1: "PE reset", 2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
    known.update({11: "SVCall", 12: "DebugMonitor", 14: "PendSV", 15: "SysTick"})
    known.update({0x18: "Debug halt", 0x19: "Lazy FP push", 0x1A: "Lockup"})
    known.update({0x10 + irq: "IRQ%d" % irq for irq in range(8)})
    known.update({0x200 + irq: "IRQ%d" % irq for irq in range(8, 496)})
    for number, name in known.items():
        found[number] = name
    return found


def test_exception_numbers() -> None:
    expected = names()
    assert [exception_name(number, True)[0] for number in range(0x400)] == expected
    # In packets: TYPE[4:0] in bits 5:1 of the first byte, TYPE[9:5] in bits 4:0 of the second (L9544).
    for number in range(2, 0x400):
        info = "%02x %02x" % (0x81 | (number & 0x1F) << 1, number >> 5)
        found = run("06 " + info + " 96 01", False, False)
        assert found == ["1000-1002 1E", expected[number] + ", return 1002"]


def test_architectural_numbers() -> None:
    # The number that IPSR has in the handler: of IRQ n it is 16 + n.
    assert [exception_name(number, True)[1] for number in range(1, 0x1B)] == (
        [1, 2, 3, 4, 5, 6, 7, None, None, None, 11, 12, None, 14, 15] + list(range(16, 24)) + [None, None, None]
    )
    assert [exception_name(0x200 + irq, True)[1] for irq in range(8, 496)] == [16 + irq for irq in range(8, 496)]
    assert exception_name(0x207, True)[1] is None and exception_name(0x3F0, True)[1] is None
