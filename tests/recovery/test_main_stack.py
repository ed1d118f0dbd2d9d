"""Worked by hand, on Unicorn, the board's truth: the main stack's beginning."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import pytest

from gdb_etm.capture import Core
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.objects import Objects, load_objects
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Tier, no_memory
from tests.firmware.build import symbol
from tests.history.executed import history_of
from tests.recovery.small import CODE, DEVICE, STACK, Ran, built, run, wrong
from tests.recovery.truth import Run, prepare

# The vector table runs, too, as instructions that change r0 and r1 alone, and then main, as the reset handler would
# call it.  Main goes to another stack at last, whose address comes from a device: nothing else shows where its own was.
SOURCE = """
    .cfi_sections .debug_frame
    .word 0x20001000
    .word reset + 1, reset + 1, reset + 1
    bx r2
    .balign 8
reset:
    .cfi_startproc
    push {r3, lr}
    .cfi_def_cfa_offset 8
    sub sp, #16
    .cfi_def_cfa_offset 24
    bl main
    nop
    .cfi_endproc
main:
    .cfi_startproc
    push {r4, r5, r6, lr}
    .cfi_def_cfa_offset 16
    movs r5, #7
    push {r5}
    .cfi_def_cfa_offset 20
    bl worker
    b leave
    .cfi_endproc
worker:
    .cfi_startproc
    mov r1, r5
    bx lr
    .cfi_endproc
    %s
leave:
    ldr r12, [r3]
    mov sp, r12
    b end
"""
# Bytes of the reset handler's frame, and what SP is below that of main.
FRAME = 24
BELOW = STACK - FRAME - 16 - 4


def ran(source: str, pointer: int = STACK) -> Ran:
    main, called = symbol(built(source), "main") | 1, symbol(built(source), "reset") + 8 | 1
    registers = {"r2": main, "r3": DEVICE, "sp": pointer - FRAME, "lr": called}
    return run(source, registers, {DEVICE: STACK - 256})


def recovered(done: Ran, source: str, objects: Optional[Objects] = None) -> Recovery:
    return done.recovery(Rules(limit=Tier.ASSUMED, frames=load_frames([built(source)]), objects=objects))


def number(done: Ran, source: str) -> int:
    return done.number(symbol(built(source), "worker"))


def test_the_frame_is_below_that_of_the_reset_handler() -> None:
    source = SOURCE % ""
    done = ran(source)
    recovery = recovered(done, source)
    at = number(done, source)
    assert recovery.register(at, "sp")[:2] == (BELOW, Tier.ASSUMED)
    assert not recovery.findings
    assert not wrong(done, recovery)


def test_the_reason_names_the_vector_table() -> None:
    source = SOURCE % ""
    done = ran(source)
    reasons = [step.text for step in recovered(done, source).why(number(done, source), "sp")]
    assert any("vector table" in reason for reason in reasons)


@pytest.mark.parametrize(
    "more",
    [
        # Another call, where nothing runs.
        ".cfi_startproc\n bl main\n bx lr\n .cfi_endproc",
        # The same without call frame information.
        "bl main",
        "b.w main",
        "b main",
        # A table of functions.
        ".align 2\n .word main + 1",
        # Its address is made.
        "movw r0, #:lower16:(main + 1)\n movt r0, #:upper16:(main + 1)",
    ],
)
def test_nothing_is_assumed_where_it_may_be_called_otherwise(more: str) -> None:
    source = SOURCE % more
    done = ran(source)
    recovery = recovered(done, source)
    assert recovery.register(number(done, source), "sp").value is None


def test_nothing_is_assumed_of_a_function_that_may_go_on_with_another_stack() -> None:
    source = (SOURCE % "").replace("    b leave\n", "    b leave\n    msr control, r0\n")
    done = ran(source)
    recovery = recovered(done, source)
    assert recovery.register(number(done, source), "sp").value is None


@pytest.mark.parametrize("called, has_symbols", [(True, True), (True, False), (False, True)])
def test_the_same_of_a_call_of_assembly_that_does(called: bool, has_symbols: bool) -> None:
    # It has no call frame information.
    source = SOURCE % ".type change, %function\nchange:\n msr psp, r0\n msr control, r1\n bx lr"
    source = source.replace("    b leave\n", "    b leave\n    bl change\n") if called else source
    done = ran(source)
    recovery = recovered(done, source, load_objects([built(source)]) if has_symbols else None)
    assert (recovery.register(number(done, source), "sp").value is None) is called


def test_a_call_that_sets_a_stack_pointer_does_not_keep_sp() -> None:
    # The thread goes on with another stack behind it.
    main, process = STACK, STACK - 1024
    source = """
    push {r4, lr}
    bl change
    nop
    b end
change:
    msr psp, r0
    movs r0, #2
    msr control, r0
    isb
    bx lr
    """
    ran_through = [CODE + at for at in (0, 2, 10, 14, 16, 20, 24, 6, 8)]
    history = history_of(built(source), list(ran_through), CODE + 26)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M33", {}))
    end = CoreState({"sp": process, "psp": process, "msp": main, "control": 2, "xpsr": 1 << 24}, no_memory)
    recovery = Recovery(history, end, rules=Rules(limit=Tier.ASSUMED))
    assert recovery.register(8, "sp").value == process
    assert recovery.register(2, "sp").value in (None, main)
    assert not recovery.findings


def test_another_stack_than_that_of_the_vector_table_is_noticed() -> None:
    # What main has stored would be on the main stack.
    source = SOURCE % ""
    done = ran(source, STACK - 512)
    recovery = recovered(done, source)
    assert recovery.register(number(done, source), "sp").value is None
    assert [one.text for one in recovery.findings if "main stack's frame" in one.text]
    assert not wrong(done, recovery)


@pytest.mark.parametrize("core, expected", [("Cortex-M33", 0xFFFFFFFF), ("Cortex-M0+", None)])
def test_a_reset_leaves_lr_as_the_architecture_says(core: str, expected: Optional[int], tmp_path: Path) -> None:
    # The last instructions are in the middle of the reset handler, which clears a section before its first call.
    ran = Run(prepare("channel-O2", tmp_path, 400), "channel-O2")
    first = len(ran) - 50
    history, end = ran.history(first), ran.end()
    history.source = history.source._replace(core=Core("cpu_0", core, {}))
    end = end._replace(registers={name: value for name, value in end.registers.items() if name != "lr"})
    recovery = Recovery(history, end, rules=Rules(frames=load_frames([ran.elf])))
    known = recovery.register(1, "lr")
    assert known.value == expected
    if expected is not None:
        assert (known.value, known.tier) == (ran.value("lr", first), Tier.ASSUMED)
        assert any("reset" in step.text for step in recovery.why(1, "lr"))


def test_information_that_the_code_contradicts_is_not_used() -> None:
    # As newlib's strcmp has it, where it has taken its registers off the stack again.
    source = """
    .cfi_sections .debug_frame
    bl compare
    ldr r12, [r3]
    mov sp, r12
    b end
compare:
    .cfi_startproc
    push {r4, r5}
    .cfi_def_cfa_offset 8
    pop {r4, r5}
    movs r0, #1
    bx lr
    .cfi_endproc
    """
    done = run(source, {"r3": DEVICE}, {DEVICE: STACK - 256})
    recovery = recovered(done, source)
    recovery.solve()
    assert not recovery.findings
