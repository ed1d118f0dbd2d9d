"""Worked by hand, on Unicorn: constants that pointers lead to."""

from __future__ import annotations

from typing import Tuple

import pytest

from gdb_etm.program.image import load_elf
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.recovery.small import DEVICE, RAM, STACK, Ran, built, run, wrong

WORD = b"qwertzuiop"
OBJECT = RAM + 0x84
# A device tells where; each byte is compared with what it is.
READ = "    ldr r0, =0x%x\n    ldr r5, [r0]\n" % DEVICE
READ += "".join("    ldrb r1, [r5], #1\n    cmp r1, #%d\n    bne wrong\n" % byte for byte in WORD)
FORGET = "    movs r5, #0\n    movs r0, #0\n    movs r1, #0\n    b end\nwrong:\n    b wrong\n    .ltorg\n"
LITERAL = 'word:\n    .ascii "%s"\n    .balign 4\n' % WORD.decode()
CLEAR = "    ldr r0, =0x%x\n    movs r1, #0\n" % OBJECT + "".join(
    "    strb r1, [r0, #%d]\n" % n for n in range(len(WORD))
)
HIDE = "    ldr r0, =0x%x\n    ldr r2, [r0, #4]\n    str r1, [r2]\n    movs r2, #0\n" % DEVICE


def _run(source: str, pointer: int, others: int = 0) -> Ran:
    # The word is at OBJECT, too.
    words = {OBJECT + at: int.from_bytes(WORD[at : at + 4].ljust(4, b"!"), "little") for at in range(0, len(WORD), 4)}
    return run(source, {}, {DEVICE: pointer, DEVICE + 4: others, **(words if pointer == OBJECT else {})})


def _recovery(done: Ran, limit: Tier = Tier.ASSUMED, volatile: Tuple[Tuple[int, int], ...] = ()) -> Recovery:
    recovery = done.recovery(Rules(limit=limit, stacks=((RAM, STACK),), volatile=volatile))
    assert not wrong(done, recovery)
    return recovery


def _literal(source: str) -> int:
    # Where the word is in the program.
    image = load_elf(built(source))[0]
    return image.address + image.data.index(WORD)


def test_a_pointer_to_constants_is_known_by_what_they_are() -> None:
    source = READ + FORGET + LITERAL
    place = _literal(source)
    recovery = _recovery(_run(source, place))
    assert recovery.register(3, "r5")[:2] == (place, Tier.ASSUMED)
    assert "the only place" in recovery.why(3, "r5")[-1].text


def test_it_is_assumed_at_best() -> None:
    source = READ + FORGET + LITERAL
    done = _run(source, _literal(source))
    assert _recovery(done, Tier.EXACT).register(3, "r5").value is None


def test_a_pointer_to_ram_is_not_placed() -> None:
    # What was loaded may have been elsewhere, and copied.
    assert _recovery(_run(READ + FORGET, OBJECT)).register(3, "r5").value is None


def test_what_is_in_two_places_tells_nothing() -> None:
    assert _recovery(_run(READ + FORGET + LITERAL, OBJECT)).register(3, "r5").value is None


def test_what_was_overwritten_may_have_been_the_place() -> None:
    assert _recovery(_run(READ + CLEAR + FORGET + LITERAL, OBJECT)).register(3, "r5").value is None


@pytest.mark.parametrize("hidden", [1, 3])
def test_later_stores_to_unknown_addresses_may_have_overwritten_it(hidden: int) -> None:
    # One store hides four bytes: it takes three of them for a word of ten, wherever it was.
    source = READ + hidden * HIDE + FORGET + LITERAL
    place = _literal(source)
    done = _run(source, place, RAM + 0x200)
    assert _recovery(done).register(3, "r5").value == (place if hidden == 1 else None)


def test_a_later_store_may_have_overwritten_one_byte_of_it() -> None:
    source = READ + HIDE.replace("str", "strb") + FORGET + LITERAL
    done = _run(source, OBJECT, OBJECT + 2)
    assert _recovery(done).register(3, "r5").value is None


@pytest.mark.parametrize("left, is_told", [(0x5A, False), (0x1234, True)])
def test_a_later_store_has_not_overwritten_it_with_something_else(left: int, is_told: bool) -> None:
    # RAM has the first half of what was read, and then what a store may have left there, or not.
    word, halves = WORD + b"as", (*range(4), *range(8, 12))
    source = "    ldr r0, =0x%x\n    ldr r5, [r0]\n    movs r6, #0x5a\n" % DEVICE
    source += "".join("    ldrb r1, [r5, #%d]\n    cmp r1, #%d\n    bne wrong\n" % (at, word[at]) for at in halves)
    source += HIDE.replace("str r1", "str r6") + FORGET + LITERAL.replace('"\n', 'as"\n', 1)
    ram = {OBJECT: int.from_bytes(word[:4], "little"), OBJECT + 8: left}
    place = _literal(source)
    recovery = _recovery(run(source, {}, {DEVICE: place, DEVICE + 4: RAM + 0x200, **ram}))
    assert recovery.register(4, "r5").value == (place if is_told else None)


@pytest.mark.parametrize("again", [True, False])
def test_what_was_read_from_there_again_was_there_before(again: bool) -> None:
    # A loop reads the word, it may have been in RAM, and what is read later was not.
    loop = "    movs r7, #%d\nread:\n" % (1 + again)
    source = loop + READ + CLEAR + "    subs r7, #1\n    bne read\n" + FORGET + LITERAL
    place = _literal(source)
    assert _recovery(_run(source, place)).register(4, "r5").value == (place if again else None)


def test_what_others_write_may_have_been_the_place() -> None:
    source = READ + FORGET + LITERAL
    recovery = _recovery(_run(source, _literal(source)), volatile=((OBJECT, OBJECT + 0x20),))
    assert recovery.register(3, "r5").value is None
