"""Worked by hand, and on Unicorn: small programs' past."""

from __future__ import annotations

from typing import List, Optional, Tuple

import pytest

from gdb_etm.program.frame_rows import FrameRow
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Fact, Tier, Value, no_memory
from tests.history.executed import history_of
from tests.recovery.small import CODE, DEVICE, RAM, STACK, Ran, built, run, wrong

X, P = RAM + 0x10, RAM + 0x800
FORGET = " movs r0, #0\n movs r1, #0\n movs r2, #0\n movs r3, #0\n"
# A store of which only the device knows the address.
ELSEWHERE = " ldr r2, =0x%x\n ldr r2, [r2]\n str r3, [r2]\n" % DEVICE


def value(ran: Ran, number: int, name: str, rules: Rules = Rules()) -> Value:
    """Recover a register; it must be right."""
    found = ran.recovery(rules).register(number, name)
    assert found.value in (None, ran.before[number - 1][name])
    return found


def texts(ran: Ran, number: int, name: str, rules: Rules = Rules()) -> List[str]:
    """Give the chain of a register."""
    return [step.text for step in ran.recovery(rules).why(number, name)]


def test_read_at_the_halt() -> None:
    ran = run(" adds r1, r1, #0\n nop\n")
    assert value(ran, 1, "r5")[:3] == (ran.before[0]["r5"], Tier.EXACT, "read at the halt, not written since")


def test_arithmetic_is_undone() -> None:
    ran = run(" add r0, r0, #3\n eor r0, r0, r1\n ror r0, r0, #5\n")
    found = value(ran, 1, "r0")
    assert found[:3] == (ran.before[0]["r0"], Tier.EXACT, "computed at #1") or found.tier is Tier.EXACT
    assert texts(ran, 1, "r0")[-1] == "read at the halt, not written since"


def test_what_the_program_says() -> None:
    ran = run(" movs r0, #7\n movs r0, #8\n")
    assert value(ran, 2, "r0")[:3] == (7, Tier.EXACT, "set by #1 to what the program says")
    assert value(ran, 1, "r0").reason == "before the trace begins"
    assert value(ran, 2, "pc")[:3] == (CODE + 2, Tier.EXACT, "the trace")


def test_stored_and_still_there() -> None:
    ran = run(" ldr r1, =0x%x\n str r0, [r1]\n" % X + FORGET)
    assert value(ran, 1, "r0")[:3] == (ran.before[0]["r0"], Tier.EXACT, "stored at #2, still in RAM at the halt")


def test_stored_and_loaded() -> None:
    ran = run(" ldr r1, =0x%x\n str r0, [r1]\n movs r0, #1\n ldr r4, [r1]\n str r0, [r1]\n" % X)
    assert value(ran, 1, "r0")[:3] == (ran.before[0]["r0"], Tier.EXACT, "stored at #2, loaded at #4")
    assert texts(ran, 1, "r0") == ["stored at #2, loaded at #4", "read at the halt, not written since"]


def test_bytes_of_a_word_come_from_several_stores() -> None:
    source = " ldr r1, =0x%x\n strb r0, [r1]\n lsrs r3, r0, #8\n strb r3, [r1, #1]\n ldrh r4, [r1]\n" % X
    ran = run(source + " str r1, [r1]\n movs r0, #0\n movs r3, #0\n")
    found = value(ran, 1, "r0")
    assert (found.known, found.bits) == (0xFFFF, ran.before[0]["r0"] & 0xFFFF)


def test_a_store_to_an_unknown_address_is_a_barrier() -> None:
    ran = run(" ldr r1, =0x%x\n str r0, [r1]\n" % X + ELSEWHERE + FORGET, ram={DEVICE: P})
    unknown = value(ran, 1, "r0")
    assert (unknown.value, unknown.tier) == (None, Tier.UNKNOWN)


def test_what_is_loaded_behind_a_barrier_says_so() -> None:
    source = " ldr r1, =0x%x\n str r0, [r1]\n" % X + ELSEWHERE + " ldr r4, [r1]\n" + ELSEWHERE
    ran = run(source + " movs r4, #0\n str r4, [r1]\n" + FORGET, ram={DEVICE: P})
    assert value(ran, 7, "r4").reason == "hidden by the store at 0x10a, whose address is unknown"


def test_a_store_that_cannot_have_reached_it_is_none() -> None:
    bounded = " ldr r2, =0x%x\n ldr r2, [r2]\n and r2, r2, #0x1c\n add r2, r1\n str r3, [r2, #8]\n" % DEVICE
    ran = run(" ldr r1, =0x%x\n str r0, [r1]\n" % X + bounded + FORGET)
    assert value(ran, 1, "r0")[1:3] == (Tier.EXACT, "stored at #2, still in RAM at the halt")
    near = run(" ldr r1, =0x%x\n str r0, [r1]\n" % X + bounded.replace("#8", "#-8") + FORGET)
    assert value(near, 1, "r0").value is None


def test_a_conditional_store_is_known_with_its_condition() -> None:
    source = " ldr r1, =0x%x\n str r0, [r1]\n cmp r4, #0\n it eq\n streq r3, [r1]\n" % X
    told = run(source + " cbz r4, 1f\n nop\n1:" + FORGET, {"r4": 5})
    assert value(told, 1, "r0").value == told.before[0]["r0"]
    assert value(run(source + " movs r4, #0\n" + FORGET, {"r4": 5}), 1, "r0").value is None


def test_input_output() -> None:
    ran = run(" ldr r1, =0x%x\n ldr r0, [r1]\n add r0, #1\n movs r0, #0\n" % DEVICE)
    assert value(ran, 3, "r0").reason == "input/output at 0x40000000"
    assert value(ran, 4, "r0").reason == "input/output at 0x40000000"
    assert value(ran, 4, "r0").relative == ("r0", 3, 1)


def test_memory_that_is_not_the_programs_is_no_device() -> None:
    # Flash, such as where initialised data is loaded from; Unicorn has none there.
    path = built(" movs r1, #1\n lsls r1, r1, #18\n ldr r2, [r1]\n nop\n movs r2, #0\n")
    history = history_of(path, list(range(CODE, CODE + 10, 2)), CODE + 10)
    history.source = run(" nop\n").history.source
    told = Recovery(history, CoreState({"r2": 0}, no_memory)).register(4, "r2")
    assert told.value is None and told.reason == "memory at 0x40000 that is neither RAM nor in the program"


def test_memory_from_before() -> None:
    ran = run(" ldr r1, =0x%x\n ldr r0, [r1]\n str r1, [r1]\n" % X + FORGET)
    assert value(ran, 3, "r0").reason == "in memory at 0x20000010 from before, overwritten since"


def test_memory_is_known_in_part() -> None:
    source = " ldr r0, =0x%x\n ldr r0, [r0]\n orr r0, #0x300\n bic r0, #0x80\n ldr r1, =0x%x\n str r0, [r1]\n"
    ran = run(source % (DEVICE, X) + " movs r0, #0\n str r0, [r1]\n")
    first, second, *others = ran.recovery(Rules()).memory(7, X, 4)
    assert first[:2] == (None, Tier.UNKNOWN) and (first.known, first.bits) == (0x80, 0)
    assert (second.known, second.bits) == (0x03, 0x03) and [each.known for each in others] == [0, 0]


def test_others_write_volatile_memory() -> None:
    source = " ldr r1, =0x%x\n str r0, [r1]\n" % X + FORGET
    rules = Rules(volatile=((RAM, RAM + 0x20),))
    assert value(run(source), 1, "r0", rules).value is None
    loads = run(" ldr r1, =0x%x\n ldr r0, [r1]\n movs r0, #0\n" % X)
    assert value(loads, 3, "r0", rules).reason == "memory that others write, at 0x20000010"


def test_others_may_write_a_stack_that_is_in_no_section() -> None:
    # SP is known nowhere: what is popped was pushed, unless others write where the stack may be.
    source = " push {r0}\n movs r0, #0\n pop {r1}\n movs r2, #0\n"
    history = history_of(built(source), [CODE + 2 * step for step in range(4)], CODE + 8)
    end = CoreState({"r1": 0x1234}, lambda address, size: b"")
    shared = ((STACK - 0x40, STACK),)

    def found(rules: Rules) -> Optional[int]:
        return Recovery(history, end, rules=rules).register(1, "r0").value

    assert found(Rules()) == 0x1234
    assert found(Rules(volatile=shared)) is None
    assert found(Rules(volatile=shared, stacks=((RAM, STACK),))) == 0x1234


def test_a_store_to_an_alias_changes_its_byte() -> None:
    source = " ldr r1, =0x%x\n str r0, [r1]\n ldr r2, =0x22000200\n str r3, [r2]\n" % X
    history = history_of(built(source + FORGET), [CODE + 2 * step for step in range(8)], CODE + 16)
    end = CoreState({"r4": 0}, lambda address, size: bytes([1, 2, 3, 4]))
    banded = Recovery(history, end, rules=Rules(bit_band=True)).register(1, "r0")
    assert (banded.known, banded.bits) == (0xFFFFFF00, 0x04030200)
    assert Recovery(history, end).register(1, "r0").value == 0x04030201


CLEAN = """
    movs r4, #0
    ldr r4, =0x%x
    ldr r4, [r4]
    bl f
    mov r0, r4
    movs r4, #0
    b end
f:  push {r4, lr}
    movs r4, #1
    %s
    movs r2, #0
    movs r3, #0
    pop {r4, lr}
    bx lr
""" % (
    DEVICE,
    ELSEWHERE.strip(),
)


def test_a_call_keeps_registers() -> None:
    ran = run(CLEAN, ram={DEVICE: P})
    assert value(ran, 4, "r4", Rules(limit=Tier.EXACT)).value is None
    found = value(ran, 4, "r4")
    assert (found.value, found.tier) == (P, Tier.ASSUMED)
    assert texts(ran, 4, "r4")[0] == "the call at 0x108 kept r4"
    assert texts(ran, 4, "r4")[-1] == "read at the halt, not written since"
    assert not ran.recovery().findings


def test_a_call_that_does_not_keep_a_register_is_a_finding() -> None:
    ran = run("movs r4, #5\n bl f\n movs r1, #0\n b end\nf: movs r4, #6\n movs r5, #7\n bx lr\n")
    recovery = ran.recovery()
    assert not wrong(ran, recovery)  # nothing is assumed of the function's other registers either
    (finding,) = recovery.findings
    assert finding == ("the call at 0x102 did not preserve r4", 2, Tier.ASSUMED)


def test_a_call_is_blamed_for_an_address() -> None:
    # That r4 is kept makes the store one to what is loaded, which is not 0.
    ran = run(
        "movs r7, #5\n mov r4, r5\n bl good\n bl bad\n movs r0, #0\n str r0, [r4]\n ldr r1, [r5]\n cbz r1, end\n"
        "movs r4, #7\n movs r7, #7\n movs r6, #0\n b end\ngood: ldr r7, [r6, #4]\n bx lr\nbad: ldr r4, [r6]\n bx lr\n",
        {"r5": RAM + 0x40, "r6": RAM + 0x20},
        {RAM + 0x40: 3, RAM + 0x20: RAM + 0x80, RAM + 0x24: 5},
    )
    recovery = ran.recovery()
    assert not wrong(ran, recovery)
    assert [one.text for one in recovery.findings] == ["the call at 0x108 did not preserve r4"]
    assert recovery.register(9, "r7")[:2] == (5, Tier.ASSUMED)


def test_a_fact_that_contradicts_the_others_is_not_used() -> None:
    ran = run(" movs r0, #1\n adds r0, #1\n movs r2, #0\n")
    registers = dict(ran.end.registers, r0=3)
    recovery = Recovery(ran.history, CoreState(registers, ran.end.read))
    assert recovery.register(3, "r0")[:2] == (2, Tier.EXACT)
    (finding,) = recovery.findings
    text = "r0 as it was read at the halt contradicts what else is known and is not used"
    assert finding == (text, None, Tier.EXACT)


def test_a_halt_elsewhere_is_no_anchor() -> None:
    ran = run(" movs r0, #1\n adds r5, #1\n movs r2, #0\n")
    registers = dict(ran.end.registers, pc=0x400)
    recovery = Recovery(ran.history, CoreState(registers, ran.end.read))
    assert recovery.register(2, "r0").value == 1
    assert recovery.register(2, "r6").value is None
    assert "the core halted" in recovery.findings[0].text


def test_branches_tell_what_was_compared() -> None:
    ran = run(" cmp r0, #40\n bhi 1f\n nop\n1: cmp r0, #40\n bcc 2f\n nop\n2:" + FORGET, {"r0": 40})
    found = value(ran, 1, "r0")
    assert (found.value, found.tier) == (40, Tier.EXACT)
    assert any("branch at #" in text and "not taken" in text for text in texts(ran, 1, "r0"))


def test_only_bounds_are_known() -> None:
    ran = run(" cmp r0, #40\n bhi 1f\n nop\n1:" + FORGET, {"r0": 4})
    found = value(ran, 1, "r0")
    assert (found.value, found.low, found.high) == (None, 0, 39)  # the carry flag at the halt says so


def test_equal_after_a_taken_branch() -> None:
    ran = run(" cmp r0, r4\n beq 1f\n nop\n1:" + FORGET, {"r0": 77, "r4": 77})
    assert value(ran, 1, "r0").value == 77


def test_an_it_block_is_two_worlds() -> None:
    # One step of a CRC backwards: the lowest bit of the result tells whether the polynomial was added.
    source = " lsrs r0, r0, #1\n it cs\n eorcs r0, r0, #0x80000000\n"
    for start in (0x12345678, 0x12345679):
        ran = run(source, {"r0": start})
        assert value(ran, 1, "r0").value == start


def test_flags_nobody_reads() -> None:
    ran = run(" movs r0, #5\n cmp r0, #5\n cmp r0, #6\n movs r1, #1\n")
    recovery = ran.recovery()
    assert [recovery.register(3, name).value for name in "nzcv"] == [0, 1, 1, 0]
    assert [recovery.register(4, name).value for name in "nzcv"] == [1, 0, 0, 0]


def test_forwards_from_the_beginning() -> None:
    ran = run(" ldr r1, =0x%x\n ldr r0, [r1]\n adds r2, r0, #5\n str r1, [r1]\n" % X + FORGET)
    recovery = ran.recovery(begin=True)
    assert recovery.register(3, "r0").value == ran.before[2]["r0"]
    assert recovery.register(3, "r0").reason == "loaded at #2: in memory when the run began"
    assert recovery.register(1, "r7").reason in (
        "read when the run began, not written until then",
        "read at the halt, not written since",
    )


def test_memory_of_the_past() -> None:
    ran = run(" ldr r1, =0x%x\n movs r0, #1\n str r0, [r1]\n movs r0, #2\n strb r0, [r1, #1]\n nop\n" % X)
    recovery = ran.recovery()
    assert [one.value for one in recovery.memory(4, X, 4)] == [1, 0, 0, 0]
    assert [one.value for one in recovery.memory(7, X, 4)] == [1, 2, 0, 0]
    assert recovery.memory(4, X, 1)[0].reason == "stored at #3"
    assert recovery.memory(3, X, 1)[0].value is None
    assert recovery.memory(1, X + 8, 1)[0].reason == "not written since, read at the halt"
    assert [one.value for one in recovery.memory(1, CODE, 2)] == list(ran.history.program.read(CODE, 2))


def test_memory_before_a_load_is_what_was_loaded() -> None:
    ran = run(" ldr r1, =0x%x\n ldr r4, [r1]\n str r1, [r1]\n" % X + FORGET)
    recovery = ran.recovery()
    true = ran.before[-1]["r4"].to_bytes(4, "little")
    assert bytes(one.value or 0 for one in recovery.memory(1, X, 4)) == true
    assert recovery.memory(1, X, 1)[0].reason == "loaded at #2"


def test_writes_newest_first() -> None:
    source = " ldr r1, =0x%x\n movs r0, #1\n str r0, [r1]\n" % X
    ran = run(source + ELSEWHERE + " movs r0, #2\n strb r0, [r1]\n" + ELSEWHERE, ram={DEVICE: P})
    written = ran.recovery().writes(X, 4)
    assert [(one.number, one.size, one.value.value, one.certain) for one in written.writes] == [
        (8, 1, 2, True),
        (3, 4, 1, True),
    ]
    assert [one.unknown_after for one in written.writes] == [0, 1]
    assert written.unknown_before == 0


def test_what_a_gap_hides() -> None:
    path = built(" movs r0, #1\n movs r1, #2\n movs r2, #3\n")
    gap = Gap(0, GapReason.OVERFLOW, "")
    history = history_of(path, [CODE, gap, CODE + 2, CODE + 4], CODE + 6)
    recovery = Recovery(history, CoreState({"r0": 7, "r4": 4}, no_memory))
    assert recovery.register(4, "r4").value == recovery.register(2, "r4").value == 4
    assert recovery.register(2, "r0").value == 7
    assert recovery.register(1, "r4").value is None
    assert not recovery.findings


def test_a_window() -> None:
    ran = run(" movs r0, #1\n" + " nop\n b 1f\n1:\n" * 10 + " movs r1, #1\n")
    recovery = ran.recovery(Rules(window=5, most=5))
    assert recovery.register(1, "r4").reason == "before the window"
    assert recovery.register(len(ran.history), "r4").value == ran.before[0]["r4"]


def test_given_facts_are_used() -> None:
    ran = run(" add r0, r1, r2\n" + FORGET)
    facts = [Fact(1, "r1", ran.before[0]["r1"]), Fact(2, "r0", ran.before[1]["r0"])]
    recovery = Recovery(ran.history, ran.end, facts=facts)
    assert recovery.register(1, "r2").value == ran.before[0]["r2"]


def test_it_can_be_interrupted() -> None:
    ran = run(" movs r0, #1\n" + " adds r1, #1\n" * 30)

    def stop(share: float) -> None:
        assert 0 <= share <= 1
        raise KeyboardInterrupt

    recovery = Recovery(ran.history, ran.end, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        recovery.solve()
    with pytest.raises(KeyboardInterrupt):
        recovery.register(1, "r1")


def test_recovery_can_be_off() -> None:
    ran = run(" movs r0, #1\n")
    assert ran.recovery(Rules(limit=Tier.UNKNOWN)).register(2, "r0").reason == "recovery is off"


def test_no_instructions() -> None:
    recovery = Recovery(history_of(built(" nop\n"), []), CoreState({"r0": 1}, no_memory))
    assert recovery.register(1, "r0").value is None


class Bounds:
    """Call frame information with one function's bounds alone."""

    def __init__(self, start: int, end: int) -> None:
        self._bounds = start, end

    def row(self, address: int) -> Optional[FrameRow]:
        return None

    def function(self, address: int) -> Optional[Tuple[int, int]]:
        return self._bounds if self._bounds[0] <= address < self._bounds[1] else None


HOISTED = """
    ldr r5, =0x20000040
    sub r4, r5, #0x30
    cmp r5, r6
    ite hi
    movhi r7, #2
    movls r7, #3
    movs r6, #1
1:  adds r6, r6, #1
    ldr r0, [r4]
    cmp r6, #4
    bne 1b
    ldr r4, =0x1234
    movs r5, #0
"""


def test_constants_that_a_function_keeps_in_registers() -> None:
    ran = run(HOISTED)
    late = ran.number(CODE + 18)
    addresses = [one["pc"] for one in ran.before[late - 1 : -3]]
    history = history_of(built(HOISTED), addresses, ran.before[-3]["pc"])
    history.source = ran.history.source
    end = CoreState({"r6": 4, "r4": 0x20000010}, no_memory)
    whole = Recovery(history, end, rules=Rules(frames=Bounds(CODE, CODE + 0x20)))
    found = whole.register(1, "r5")
    assert found[:3] == (0x20000040, Tier.ASSUMED, "whichever way the function came to 0x112, it has set r5 so")
    assert whole.register(1, "r6").value != 1
    assert whole.register(1, "r7").value is None
    assert Recovery(history, end).register(1, "r5").value is None


def test_pushed_and_popped_wherever_the_stack_is() -> None:
    ran = run(" push {r4, r5}\n ldr r4, [r0]\n movs r5, #1\n pop {r4, r5}\n str r4, [r1]\n", {"r0": DEVICE, "r1": P})
    known = {name: one for name, one in ran.end.registers.items() if name not in ("sp", "msp", "r0", "r1")}
    recovery = Recovery(ran.history, CoreState(known, no_memory))
    assert recovery.register(2, "sp").value is None
    found = recovery.register(1, "r4")
    assert found[:3] == (ran.before[0]["r4"], Tier.EXACT, "stored at #1, loaded at #4")
    crossed = run(" push {r4, r5}\n str r5, [r6]\n movs r4, #1\n pop {r4, r5}\n movs r6, #0\n", {"r6": P})
    known = {name: one for name, one in crossed.end.registers.items() if name not in ("sp", "msp")}
    assert Recovery(crossed.history, CoreState(known, no_memory)).register(1, "r4").value is None


class Rows(Bounds):
    """Call frame information of one function by address."""

    def __init__(self, start: int, rows: List[Tuple[int, int]]) -> None:
        super().__init__(start, start + 2 * len(rows))
        self._start, self._rows = start, rows

    def row(self, address: int) -> Optional[FrameRow]:
        if self.function(address) is None:
            return None
        return FrameRow(*self._rows[(address - self._start) // 2], {})


def test_the_stack_pointer_of_a_function_with_a_frame_pointer() -> None:
    source = " push {r7, lr}\n sub sp, #8\n add r7, sp, #0\n nop\n nop\n adds r7, #8\n mov sp, r7\n pop {r7, lr}\n"
    ran = run(source)
    rows = [(13, 0), (13, 8), (13, 16), (7, 16), (7, 16), (7, 16), (7, 8), (13, 8)]
    history = history_of(built(source), [CODE + 8, CODE + 10, CODE + 12, CODE + 14], CODE + 16)
    history.source = ran.history.source
    end = CoreState({name: ran.end.registers[name] for name in ("sp", "r0")}, no_memory)
    found = Recovery(history, end, rules=Rules(frames=Rows(CODE, rows)))
    assert found.register(1, "sp")[:2] == (ran.before[4]["sp"], Tier.ASSUMED)
    assert found.register(1, "r7")[:2] == (ran.before[4]["r7"], Tier.ASSUMED)
    exact = Recovery(history, end, rules=Rules(Tier.EXACT, frames=Rows(CODE, rows))).register(1, "r7")
    assert (exact.value, exact.known) == (None, 0xFFFFFFFC)


BY_MULTIPLICATION = " ldr r4, =0xcccccccd\n umull r5, r4, r4, r3\n lsrs r4, r4, #2\n"


@pytest.mark.parametrize("divide", [" udiv r4, r3, r2\n", BY_MULTIPLICATION])
def test_a_remainder_is_below_the_divisor(divide: str) -> None:
    source = " movs r2, #5\n ldr r3, =0x%x\n ldr r3, [r3]\n" % DEVICE + divide
    ran = run(source + " muls r4, r2, r4\n subs r0, r3, r4\n nop\n" + FORGET + " movs r4, #0\n movs r5, #0\n")
    found = value(ran, ran.number(ran.before[-1]["pc"] - 14), "r0")
    assert (found.value, found.low, found.high) == (None, 0, 4)


def test_work_on_memory_is_told_of() -> None:
    ran = run(" str r0, [sp]\n" * 600)
    shares: List[float] = []
    Recovery(ran.history, ran.end, progress=shares.append).solve()
    assert len([share for share in shares if share > 0.3]) > 1


def test_other_assumptions_stay_where_many_functions_break_the_convention() -> None:
    # Each writes another register or value, and only that one keeps SP tells where the stack was.
    changes = [(register, value) for register in range(4, 8) for value in range(4)]
    calls = ["movs r%d, #100\n bl f%d_%d\n nop" % (one[0], *one) for one in changes]
    functions = ["f%d_%d: movs r%d, #%d\n bx lr" % (*one, *one) for one in changes]
    shift = "shift: ldr r0, [r3]\n sub sp, sp, r0\n add sp, sp, r0\n movs r0, #0\n bx lr"
    ran = run("\n".join(["bl shift", *calls, "b end", *functions, shift]), {"r3": DEVICE}, {DEVICE: 16})
    recovery = ran.recovery(Rules(limit=Tier.ASSUMED))
    assert recovery.register(1, "sp")[:2] == (STACK, Tier.ASSUMED)
    assert not wrong(ran, recovery)
