"""Worked by hand, property test: base search for a stack.

On Unicorn programs lose their stack pointer and store to unknown addresses; no recovered value is wrong.
"""

from __future__ import annotations

import random
from typing import Callable, Dict, Mapping, Optional, Tuple

import pytest

from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Tier
from tests.recovery.small import DEVICE, RAM, STACK, Ran, run, wrong
from tests.recovery.test_recovery import texts, value

LIMIT, TOP = STACK - 0x400, RAM + 0x2000
ELSEWHERE = STACK - 0x100
EXACT = Rules(limit=Tier.EXACT)
ONE, OTHER = 0x12345678, 0x9ABCDEF0
REGISTERS = {"r0": ONE, "r1": OTHER, "r8": STACK + 0x80}
# The stack pointer is lost: at the end it is another one.
LOST = " mov sp, r8\n nop"
# An address that only the device knows, of a word.
POINTER = " ldr r6, =0x%x\n ldr r6, [r6]\n bic r6, #3\n" % DEVICE
SAID = "the only place where memory later held what was stored there (#1)"


def limited(ran: Ran, limit: int = LIMIT, read: Optional[Callable[[int, int], Optional[bytes]]] = None) -> Ran:
    """Say that MSPLIM was set all the time."""
    return ran._replace(end=CoreState({**ran.end.registers, "msplim": limit}, read or ran.end.read))


def pushed(middle: str = "", ram: Mapping[int, int] = {}, registers: Mapping[str, int] = {}) -> Ran:
    """Run a program that pushes r0 and r1, and loses SP."""
    return limited(run(" push {r0, r1}\n" + middle + LOST, {**REGISTERS, **registers}, ram))


def first_sp(ran: Ran, rules: Rules = EXACT) -> Optional[int]:
    """Recover the first stack pointer; check that nothing is wrong."""
    recovery = ran.recovery(rules)
    assert not wrong(ran, recovery) and recovery.findings == ()
    return recovery.register(1, "sp").value


def two_words(one: int, other: int, at: int = ELSEWHERE) -> Dict[int, int]:
    """Give two words of memory."""
    return {at: one, at + 4: other}


def test_the_only_place_that_fits() -> None:
    ran = pushed()
    assert value(ran, 1, "sp", EXACT)[:3] == (STACK, Tier.EXACT, SAID)
    assert SAID in texts(ran, 2, "sp", EXACT)
    assert first_sp(ran) == STACK


def test_without_a_limit_nothing_is_tried() -> None:
    ran = run(" push {r0, r1}\n" + LOST, REGISTERS)
    assert first_sp(ran) is None
    assert first_sp(limited(ran, 0)) is None


def test_where_ram_may_go_on_nothing_is_tried() -> None:
    # The stack may be behind what is known to be RAM: nothing of it is looked at.
    assert first_sp(pushed(), EXACT._replace(ram=((RAM, STACK + 0x100),))) is None
    assert first_sp(pushed(), EXACT._replace(ram=((RAM, TOP + 0x100),))) == STACK


def test_of_two_places_that_fit_none_is_told() -> None:
    assert first_sp(pushed(ram=two_words(ONE, OTHER))) is None
    assert first_sp(pushed(ram=two_words(ONE, OTHER ^ 1))) == STACK
    assert first_sp(pushed(ram=two_words(ONE, OTHER, LIMIT - 8))) == STACK


STORE = POINTER + " str r3, [r6]\n movs r6, #0\n"
LATE = " movs r3, #0\n"


def test_a_store_to_an_unknown_address_may_have_overwritten_it() -> None:
    ram = {**two_words(ONE, 7), DEVICE: RAM + 0x40}
    assert first_sp(pushed(STORE + LATE, ram, {"r3": 7})) is None
    assert first_sp(pushed(STORE + LATE, {**ram, DEVICE: STACK - 8}, {"r3": 7})) is None


def test_one_that_stored_something_else_has_not() -> None:
    ram = {**two_words(ONE, 7), DEVICE: RAM + 0x40}
    assert first_sp(pushed(STORE, ram, {"r3": 8})) == STACK
    assert first_sp(pushed(STORE, ram, {"r3": 7})) is None


def test_one_that_ran_before_has_not() -> None:
    ran = run(STORE + LATE + " push {r0, r1}\n" + LOST, REGISTERS, {**two_words(ONE, 7), DEVICE: RAM + 0x40})
    assert first_sp(limited(ran)) == STACK


def test_stores_move_together() -> None:
    # Two words are not what was stored there.  They are next to each other, but the two stores are 0x40 apart.
    ram = {**two_words(5, 6), DEVICE: RAM + 0x40, DEVICE + 4: RAM + 0x60}
    middle = POINTER + " str r3, [r6]\n str r3, [r6, #%d]\n movs r6, #0\n" + LATE
    assert first_sp(pushed(middle % 0x40, ram)) == STACK
    assert first_sp(pushed(middle % 4, ram)) is None


def test_stores_through_one_pointer_may_have_hit_twice() -> None:
    store = " ldr r3, [r11, #%d]\n str r3, [r6]\n"
    middle = " ldr r11, =0x%x\n" % DEVICE + POINTER + store % 4 + " ldr r2, [sp]\n str r0, [sp]\n" + store % 8
    ram = {DEVICE: STACK - 8, DEVICE + 4: 0x11111111, DEVICE + 8: 0x22222222}
    assert first_sp(pushed(middle + " movs r6, #0\n" + LATE, ram)) == STACK


def test_a_store_that_may_not_have_run_tells_nothing() -> None:
    middle = " cmp r2, r3\n it eq\n streq r4, [sp]\n movs r2, #1\n" + LATE
    assert first_sp(pushed(middle, two_words(5, OTHER), {"r2": 2, "r3": 3, "r4": 5})) is None
    assert first_sp(pushed(middle, two_words(5, OTHER ^ 1), {"r2": 2, "r3": 2})) == STACK


def test_a_load_shows_what_was_there_before_it_was_overwritten() -> None:
    middle = " ldr r2, [r9]\n str r4, [r9]\n ldr r3, [r10]\n str r4, [r10]\n"
    places = {"r9": STACK - 8, "r10": STACK - 4}
    assert first_sp(pushed(middle, {}, places)) == STACK
    # Elsewhere something else was loaded, though it is overwritten, too.
    places = {"r9": ELSEWHERE, "r10": ELSEWHERE + 4}
    assert first_sp(pushed(middle, two_words(ONE, 5), places)) == STACK
    assert first_sp(pushed(middle.replace("ldr", "@"), two_words(ONE, 5), places)) is None


def test_places_that_were_tried_in_vain_leave_nothing_behind() -> None:
    # The newer stack may be at two places; at the true one it overwrites the older, which then seems to be elsewhere.
    newer = POINTER + " mov sp, r6\n push {r2, r3}\n movs r6, #0\n"
    registers = {"r2": 0x11112222, "r3": 0x33334444}
    ram = {**two_words(ONE, OTHER), **two_words(0x11112222, 0x33334444, STACK - 0x200), DEVICE: STACK}
    assert first_sp(pushed(newer, ram, registers)) is None


def test_a_saved_frame_pointer_tells_where_it_is() -> None:
    source = " mov r7, sp\n push {r7}\n movs r7, #0\n" + LOST
    assert first_sp(limited(run(source, REGISTERS))) == STACK
    assert first_sp(limited(run(source, REGISTERS, {ELSEWHERE - 4: ELSEWHERE}))) is None
    assert first_sp(limited(run(source, REGISTERS, {ELSEWHERE - 4: STACK}))) == STACK


def test_what_others_write_tells_nothing() -> None:
    ran = pushed()
    assert first_sp(ran, EXACT._replace(volatile=((STACK - 0x40, STACK),))) is None
    assert first_sp(ran, EXACT._replace(volatile=((ELSEWHERE - 0x40, ELSEWHERE),))) is None
    assert first_sp(ran, EXACT._replace(volatile=((STACK - 0x800, LIMIT),))) == STACK


@pytest.mark.parametrize(
    "hole, known",
    [((LIMIT, 4), False), ((ELSEWHERE, 64), False), ((TOP - 0x100, 0x100), False), ((TOP - 0x400, 0x400), True)],
)
def test_what_cannot_be_read_tells_nothing(hole: Tuple[int, int], known: bool) -> None:
    ran = pushed()
    whole = ran.end.read

    def read(address: int, size: int) -> Optional[bytes]:
        return None if hole[0] <= address < hole[0] + hole[1] else whole(address, size)

    assert first_sp(limited(ran, LIMIT, read)) == (STACK if known else None)


def test_the_program_goes_on_from_there() -> None:
    # What was pushed is loaded where nobody could tell.
    ran = pushed(POINTER + " str r4, [r6]\n movs r6, #0\n ldr r5, [sp]\n movs r4, #0\n", {DEVICE: RAM + 0x40})
    assert first_sp(ran) == STACK


def pointer(r6: int, r0: int, ram: Mapping[int, int] = {}) -> Ran:
    """Run a program that stores through a mostly known r6.

    At the end all bits but the lowest two are known.
    """
    stores = "".join([" str r0, [r6, #%d]\n adds r0, #0x11\n" % at for at in range(0, 32, 4)])
    source = " bic r5, r6, #3\n" + stores + " movs r6, #0\n nop"
    return run(source, {"r6": r6, "r0": r0}, ram)


def test_a_pointer_of_which_few_bits_are_unknown() -> None:
    # It is no stack's, so that no limit has to be known of it.
    for r6 in (ELSEWHERE, ELSEWHERE + 1, ELSEWHERE + 2):
        ran = pointer(r6, ONE)
        assert value(ran, 1, "r6", EXACT)[:2] == (r6, Tier.EXACT)
        assert not wrong(ran, ran.recovery(EXACT))
    # What is not in RAM tells nothing.
    rules = EXACT._replace(ram=((RAM, ELSEWHERE - 0x100),))
    assert value(pointer(ELSEWHERE, ONE), 1, "r6", rules).value is None


PIECES = (
    " push {r0, r1}",
    " push {r4}",
    " sub sp, #8\n str r0, [sp, #4]\n strb r1, [sp]",
    " mov r7, sp\n push {r7}",
    " ldr r2, [sp]",
    " ldrb r2, [sp, #1]",
    " ldr r6, [r11, #0]\n str r3, [r6]",
    " ldr r6, [r11, #4]\n bic r6, #3\n str r3, [r6]",
    " ldr r6, [r11, #8]\n strb r0, [r6]",
    " ldr r6, [r11, #12]\n str r3, [r6]\n str r3, [r6, #4]",
    " ldr r3, [r11, #16]",
    " movs r3, #1",
    " str r1, [r9]",
    " ldr r2, [r10]",
    " cmp r2, r3\n it eq\n streq r0, [sp, #4]",
    " adds r0, #1",
)


def program(chance: random.Random) -> str:
    """Write a program that pushes, stores, and loses SP once or twice."""
    lines = [" ldr r11, =0x%x" % DEVICE]
    for _ in range(chance.randrange(1, 3)):
        lines += [" sub sp, #16"] + [chance.choice(PIECES) for _ in range(chance.randrange(4, 14))]
        lines.append(chance.choice((" mov sp, r8", " ldr r5, [sp]\n mov sp, r8", " add sp, #8\n mov sp, r12")))
    return "\n".join(lines + [" movs r6, #0", " movs r3, #0"])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(150))
def test_nothing_is_wrong(seed: int) -> None:
    chance = random.Random(seed)
    near = [STACK + 4 * chance.randrange(-24, 8) for _ in range(8)]
    words = (1, 0, chance.getrandbits(32), STACK, STACK - 16)
    registers = {name: chance.choice(words) for name in ("r0", "r1", "r3", "r4", "r7")}
    registers.update({"r8": near[0], "r12": near[1], "r9": near[2], "r10": near[3]})
    # Most of the stack holds what is pushed elsewhere, too.
    ram = {at: chance.choice(words) for at in range(LIMIT, TOP, 4) if chance.random() < 0.9}
    ram.update({DEVICE + 4 * index: near[4 + index % 4] + chance.choice((0, 0, 1)) for index in range(5)})
    ran = limited(run(program(chance), registers, ram, seed), LIMIT)
    for limit in (Tier.EXACT, Tier.ASSUMED):
        recovery = ran.recovery(Rules(limit=limit))
        assert not wrong(ran, recovery)
        assert not [one for one in recovery.findings if one.tier is Tier.EXACT]


# SP is set back by what only the device knows; what was pushed before is below it.
PUSHED = "".join(" ldr r%d, =0x%x\n" % (one, 0x11223344 + 0x01010101 * one) for one in range(1, 9))
BACK = """
    sub sp, #128
    %s
    push {r1-r8}
    ldr r9, =0x40000000
    ldr r10, [r9]
    mov sp, r10
    movs r1, #100
1:  ldr r2, [r9, #4]
    str r1, [r2]
    mov r2, #0
    subs r1, #1
    bne 1b
    mov r1, #0
"""


@pytest.mark.parametrize("written, known", [(RAM + 0x40, STACK), (STACK - 160, None)])
def test_what_sp_was_set_back_from_is_below_it(written: int, known: Optional[int]) -> None:
    # In the second case the pointer leads to what was left behind after all.
    ran = run(BACK % PUSHED, ram={DEVICE: STACK, DEVICE + 4: written})
    assert first_sp(ran) is None
    assert first_sp(ran, Rules(limit=Tier.ASSUMED)) == known


def test_too_little_that_was_left_behind() -> None:
    ran = run(BACK.replace("r1-r8", "r1-r7") % PUSHED, ram={DEVICE: STACK, DEVICE + 4: RAM + 0x40})
    assert first_sp(ran, Rules(limit=Tier.ASSUMED)) is None
