"""Real captures: packets that a Renesas (Dialog) DA1469x wrote, as published.

"ARM Cortex-M33 Instruction Tracing Without a Debugger" (interrupt.memfault.com, 2020) prints the packets of three runs
beside the branches of the program; the README of Dialog's ``collect_debug_info`` prints those around an ISB.  The code
here is our own: it has branches where theirs are, and nothing else of it.
"""

from __future__ import annotations

from gdb_etm.protocols.mtb.config import BufferEnds
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.mtb.streams import story

_NOP = "00bf "
# 20000324 to 20000348: NOPs, one of them wide; 348 bne 32a | 34a bkpt | 34c b 32a.
LOOP = Code(0x20000324, _NOP * 8 + "aff30080 " + _NOP * 8 + "efd1 06be ede7")
# 20000368: NOPs; 36c cbnz r3, 372 | 36e bl 324.
MAIN = Code(0x20000368, _NOP * 2 + "0bb9 fff7d9ff")
# 20000510 bx lr.
ENABLE = Code(0x20000510, "7047")


def test_a_loop_up_to_a_breakpoint_instruction() -> None:
    # A return that started the trace, a call, and four times the loop; then BKPT halted the core.
    packets = "20000510>20000368* 2000036e>20000324 " + 4 * "20000348>2000032a "
    ends = BufferEnds(is_first=True, stopped=False, halted_at=0x2000034A)
    assert story(program(LOOP, MAIN, ENABLE), packets, ends) == [
        "gap TRACE_ON",
        "20000510-20000512 1E",
        # CBNZ has no packet.
        "20000368-2000036e 3N",
        "2000036e-20000372 1E",
        "20000324-2000034a 18E",
        *["2000032a-2000034a 15E"] * 3,
        # The fifth time it was not taken.
        "2000032a-2000034a 15N",
        "Debug halt, return 2000034a",
    ]


def test_pendsv_in_a_function_s_last_instructions() -> None:
    # 20000e8e: NOPs; the exception comes before the one at e9a.
    code = program(Code(0x20000E8E, _NOP * 7), Code(0x20002C00, _NOP), Code(0x20000EC2, "e4e7"))
    assert story(code, "20000ec2>20000e8e 20000e9a!>20002c00") == [
        "20000ec2-20000ec4 1E",
        "20000e8e-20000e9a 6E",
        "exception, return 20000e9a",
    ]


def test_a_branch_to_nowhere() -> None:
    # 200003f6 bx r2, to an address where nothing is; HardFault; 20000488 bl 200004e0.
    code = program(
        Code(0x200003EC, _NOP * 5 + "1047"), Code(0x20000486, _NOP + "00f02af8"), Code(0x20000468, "fff7c0ff")
    )
    assert story(code, "20000468>200003ec 200003f6>bf00de4c bf00de4c!>20000486 20000488>200004e0") == [
        "20000468-2000046c 1E",
        "200003ec-200003f8 6E",
        "exception, return bf00de4c",
        "20000486-2000048c 2E",
    ]


def test_isb_is_a_packet_with_the_next_instruction() -> None:
    # After an exception return to it; then POP with PC.
    code = program(Code(0x9C7A, "bff36f8f 38bd"), Code(0xA81A, _NOP))
    assert story(code, "ffffffbc!>9c7a 9c7a>9c7e 9c7e>a81a") == ["9c7a-9c7e 1E", "9c7e-9c80 1E"]
