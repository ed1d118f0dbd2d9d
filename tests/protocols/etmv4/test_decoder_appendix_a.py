"""Vectors worked by hand from appendix A of IHI 0064 H.a.

The appendix shows elements of a unit that may speculate; here they are packets of one that cannot (TRCIDR8.MAXSPEC
is 0, so every P0 element is committed at once and Commit packets fall away).  Code is the GNU assembler's for the
instructions that the tables name.
"""

from __future__ import annotations

from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, M_PROFILE, Code, program, story

# Trace Info without sections, Trace On, Context NS EL1 AArch32, Long Address IS0 0x1000.
AT_1000 = ASYNC + "01 00 04 81 21 9a 00 08 00 00 "
AT_1000_LINES = ["gap: tracing was off", "EL1 NS"]

# b 2000 | 2000: mov, ldr, cmp, beq 3000, str, nop
BASIC = program(
    Code(0x1000, "fe0300ea"),
    Code(0x2000, "0100a0e3 001090e5 000051e3 fb03000a 001080e5 00f020e3"),
    Code(0x3000, "00f020e3"),
)


def test_a_1() -> None:
    # Table A-1, L19257: B, then BEQ not taken; the exception tells that STR ran.
    assert story(A_PROFILE, BASIC, AT_1000 + "f7 f6 06 1d 95 85 10") == AT_1000_LINES + [
        "1000-1004 1E",
        "2000-2010 4N",
        "2010-2014 1E",
        "IRQ, return 2014",
    ]


def test_a_2_1() -> None:
    # Table A-2, L19280, without what was cancelled: nothing ran at 0x2000.
    assert story(A_PROFILE, BASIC, AT_1000 + "f7 06 1d 95 80 10") == AT_1000_LINES + [
        "1000-1004 1E",
        "IRQ, return 2000",
    ]


def test_a_2_2() -> None:
    # Table A-3, L19298: MOV ran, LDR took a data fault.
    assert story(A_PROFILE, BASIC, AT_1000 + "f7 06 19 95 81 10") == AT_1000_LINES + [
        "1000-1004 1E",
        "2000-2004 1E",
        "Data fault, return 2004",
    ]


def test_a_2_3() -> None:
    # Table A-4, L19315: an IRQ at the first instruction of the handler, which is not in memory and did not run.
    assert story(A_PROFILE, BASIC, AT_1000 + "f7 06 19 95 81 10 95 80 20 06 1d 90") == AT_1000_LINES + [
        "1000-1004 1E",
        "2000-2004 1E",
        "Data fault, return 2004",
        "IRQ, return 4000",
    ]


def test_a_4_cycle_counting() -> None:
    # Table A-8, L19401: threshold 16; counts are unknown at first, then 18; timestamps carry their own.
    stream = ASYNC + "01 09 01 10 04 81 21 9a 00 08 00 00 f7 0f f6 03 64 06 06 1d 95 85 10 12 03 74 10"
    assert story(A_PROFILE, BASIC, stream) == AT_1000_LINES + [
        "1000-1004 1E",
        "cycles unknown",
        "2000-2010 4N",
        "time 100 cycles 6",
        "2010-2014 1E",
        "IRQ, return 2014",
        "cycles 18",
        "time 116 cycles 16",
    ]


# 1000: bl 2000, mov, b 4000 | 2000: mov, ldr, cmp, bleq 3000, str, bx lr
CALL = program(
    Code(0x1000, "fe0300eb 0100a0e3 fc0b00ea"),
    Code(0x2000, "0100a0e3 001090e5 000051e3 fb03000b 001080e5 1eff2fe1"),
    Code(0x3000, "00f020e3"),
    Code(0x4000, "00f020e3"),
)
CALL_LINES = AT_1000_LINES + ["1000-1004 1E", "2000-2010 4N", "2010-2018 2E", "1004-100c 2E"]


def test_a_6_return_stack_off() -> None:
    # Table A-14, L19534: the target of BX LR is told.
    assert story(A_PROFILE, CALL, AT_1000 + "f7 f6 f7 95 81 08 f7") == CALL_LINES
    # The same with the atoms of the first three branches in one packet: 0xfd is E, N, E.
    assert story(A_PROFILE, CALL, AT_1000 + "fd 95 81 08 f7") == CALL_LINES


def test_a_6_return_stack_on() -> None:
    # Table A-15, L19549: the target of BX LR is left out; BLEQ was not taken, so it pushed nothing.
    with_stack = A_PROFILE._replace(return_stack=True)
    assert story(with_stack, CALL, AT_1000 + "f7 f6 f7 f7") == CALL_LINES
    assert story(with_stack, CALL, AT_1000 + "fd f7") == CALL_LINES


def test_a_6_without_the_target() -> None:
    # A target that is neither told nor on the stack is not known.
    assert story(A_PROFILE, CALL, AT_1000 + "f7 f6 f7 f7") == CALL_LINES[:-1] + ["gap: address unknown"]


# 1000: b 2000 | 2000: mcr CONTEXTIDR, add, isb, sub, nop | 3000: b 4000
CONTEXTS = program(
    Code(0x1000, "fe0300ea"),
    Code(0x2000, "300f0dee 010080e2 6ff07ff5 010040e2 00f020e3"),
    Code(0x3000, "fe0300ea"),
)
AT_1000_IN_AA = ASYNC + "01 00 04 81 a1 aa 00 00 00 9a 00 08 00 00 "


def test_a_7_1() -> None:
    # Table A-16, L19574: SUB runs after the ISB in context 0xBB, the handler in 0xCC.
    stream = "f7 f7 81 a1 bb 00 00 00 06 1d 95 84 10 81 a1 cc 00 00 00 95 80 18 f7"
    assert story(A_PROFILE, CONTEXTS, AT_1000_IN_AA + stream) == [
        "gap: tracing was off",
        "EL1 NS CID aa",
        "1000-1004 1E",
        "2000-200c 3E",
        "EL1 NS CID bb",
        "200c-2010 1E",
        "IRQ, return 2010",
        "EL1 NS CID cc",
        "3000-3004 1E",
    ]


def test_a_7_2() -> None:
    # Table A-17, L19590: the exception comes directly after the ISB.
    stream = "f7 f7 81 a1 bb 00 00 00 06 1d 95 83 10 81 a1 cc 00 00 00 95 80 18 f7"
    assert story(A_PROFILE, CONTEXTS, AT_1000_IN_AA + stream)[3:] == [
        "2000-200c 3E",
        "EL1 NS CID bb",
        "IRQ, return 200c",
        "EL1 NS CID cc",
        "3000-3004 1E",
    ]


def test_a_7_3() -> None:
    # Table A-18, L19605: and here directly before it.
    stream = "f7 06 1d 95 82 10 81 a1 cc 00 00 00 95 80 18 f7"
    assert story(A_PROFILE, CONTEXTS, AT_1000_IN_AA + stream)[3:] == [
        "2000-2008 2E",
        "IRQ, return 2008",
        "EL1 NS CID cc",
        "3000-3004 1E",
    ]


MAINLINE = M_PROFILE._replace(version=5)


def test_a_7_5_loop() -> None:
    # Table A-27, L19761: mov.w | wls lr, r3, 1010 | ldr.w, str.w, le lr, 1004 | nop
    loop = program(Code(0xFFC, "4ff00303 43f007c0 d1f80000 c2f80000 0ff007c0 00bf"))
    stream = ASYNC + "01 00 04 81 00 9b 7e 0f 00 00 f6 f7 f7 f6"
    assert story(MAINLINE, loop, stream) == [
        "gap: tracing was off",
        "EL0 S",
        "ffc-1004 2N",
        "1004-1010 3E",
        "1004-1010 3E",
        "1004-1010 3N",
    ]


# The handler at 0x3000 is ldr pc, [sp], #4.
HANDLER = Code(0x3000, "5df804fb")
START_M = ASYNC + "01 00 04 81 00 9b 00 10 00 00 "


def test_a_7_6_partly_executed() -> None:
    # Table A-28, L19783: the return address 0x1002 lies in the VLDR that ran partly; it runs again after the return.
    code = program(Code(0x1000, "90ed001f 00f0fcbf"), Code(0x2000, "00bf"), HANDLER)
    # The first address of the table: Long Address IS1 has bits 7:1 first, so 0x00, 0x10 is 0x1000.
    stream = "06 21 96 81 10 81 03 96 80 30 f7 07 81 00 96 80 10 f7"
    assert story(MAINLINE, code, START_M + stream) == [
        "gap: tracing was off",
        "EL0 S",
        "1000-1004 1E",
        "IRQ0, return 1002",
        "EL3 S",
        "3000-3004 1E",
        "exception return",
        "EL0 S",
        "1000-1008 2E",
    ]


def test_a_7_7_two_partly_executed() -> None:
    # Table A-29, L19799: VLDR and VMUL.
    code = program(Code(0x1000, "90ed001f 20ef5029 00f0fabf"), Code(0x2000, "00bf"), HANDLER)
    stream = "06 21 96 83 10 81 03 96 80 30 f7 07 81 00 96 80 10 f7"
    assert story(MAINLINE, code, START_M + stream)[2:] == [
        "1000-1008 2E",
        "IRQ0, return 1006",
        "EL3 S",
        "3000-3004 1E",
        "exception return",
        "EL0 S",
        "1000-100c 3E",
    ]


def test_a_7_8_loop_end_between_them() -> None:
    # Table A-30, L19817: the LE between the two vector instructions is traced before and after the exception.
    code = program(Code(0x1000, "20ef5029 00f0fcbf"), Code(0x1040, "90ed001f 0ff025c0"), Code(0x2000, "00bf"), HANDLER)
    stream = ASYNC + "01 00 04 81 00 9b 20 10 00 00 f7 06 21 96 81 10 81 03 96 80 30 f7 07 81 00 96 a0 10 f7 f7"
    assert story(MAINLINE, code, stream)[2:] == [
        "1040-1048 2E",
        "1000-1004 1E",
        "IRQ0, return 1002",
        "EL3 S",
        "3000-3004 1E",
        "exception return",
        "EL0 S",
        "1040-1048 2E",
        "1000-1008 2E",
    ]
