"""Property test: conditions, by an independent model of the unit.

The model follows TracingAPSRValues() and the rules for ordering in IHI 0064 H.a, 2.6.2 (L2530 to L2586): C elements in
order but anywhere among the atoms, results later and in any order or never, flags that nobody needs at random, flushes
between.
"""

from __future__ import annotations

import random
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.program.conditions import ALWAYS, FLAGS_NEEDED
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder
from gdb_etm.protocols.etmv4.encode import packets as write
from tests.protocols.etmv4 import rare_packets
from tests.protocols.etmv4.streams import ASYNC, M_PROFILE, Code, program
from tests.protocols.histories import history_of, same

BLOCKS = 4
LOAD, STORE = 1, 2


class Item(NamedTuple):
    """An instruction of the model."""

    halves: Tuple[int, ...]
    condition: int = ALWAYS
    sets: bool = False
    access: int = 0


class Element(NamedTuple):
    """An element: "C", "R", "F", or "E", an atom."""

    kind: str
    key: int = 0
    value: int = 0


def it_block(dice: random.Random) -> Iterator[Item]:
    first, count = dice.randrange(14), dice.randrange(1, 5)
    conditions = [first] + [first ^ dice.randrange(2) for _ in range(count - 1)]
    mask = sum((code & 1) << 4 - place for place, code in enumerate(conditions) if place) | 1 << 4 - count
    yield Item((0xBF00 | first << 4 | mask,))
    for code in conditions:
        yield dice.choice(
            (
                Item((0x1840,), code),
                Item((0x2801,), code, True),
                Item((0x6808,), code, False, LOAD),
                Item((0x6008,), code, False, STORE),
                Item((0xF8D1, 0x0000), code, False, LOAD),
                Item((0xEB01, 0x0002), code),
            )
        )


def items(dice: random.Random) -> Iterator[Item]:
    for _ in range(dice.randrange(1, 8)):
        code = dice.randrange(14)
        choice = dice.randrange(6)
        if choice < 3:
            yield from it_block(dice)
        elif choice == 3:
            yield dice.choice((Item((0xBF00,)), Item((0x6808,), access=LOAD), Item((0xF8C1, 0x0000), access=STORE)))
        elif choice == 4:
            yield dice.choice((Item((0x2001,), sets=True), Item((0xEBB0, 0x0F01), sets=True)))
        else:
            yield Item((0xEA51, 0x8002 | code << 4), code)


def assemble(blocks: List[List[Item]]) -> Code:
    # Each block is 128 bytes and ends with a branch to the next; the last one goes back to the first.
    text = b"\x00\xbf" * 8
    for number, block in enumerate(blocks):
        body = b"".join(half.to_bytes(2, "little") for item in block for half in item.halves)
        target = 0x1000 + (number + 1) % BLOCKS * 0x80
        offset = target - (0x1000 + number * 0x80 + len(body) + 4)
        body += (0xE000 | offset >> 1 & 0x7FF).to_bytes(2, "little")
        text += body + b"\x00\xbf" * ((0x80 - len(body)) // 2)
    return Code(0x1000 - 16, text.hex())


class Unit:
    """The model: runs blocks, and keeps trace and expected results."""

    def __init__(self, dice: random.Random, config: Etmv4Config, blocks: List[List[Item]]) -> None:
        self._dice = dice
        self._config = config
        self._blocks = blocks
        self._flags = dice.randrange(16)
        self._markers = self._told = 0
        self._key = 0
        # Keys of C elements that never get a result: another one of that key would share its result.
        self._stuck: Set[int] = set()
        self.elements: List[Element] = []
        self.expected: List[Optional[bool]] = []

    def run(self, laps: int) -> None:
        for _ in range(laps):
            made: List[Element] = []
            for _ in range(self._dice.randrange(1, 3)):
                for item in self._blocks[len([e for e in self.elements + made if e.kind == "E"]) % BLOCKS]:
                    made.extend(self._execute(item))
                self.expected.append(None)
                made.append(Element("E"))
            self.elements.extend(self._shuffled(made))
            self.elements.append(Element("F"))
            self._markers = 0
            self._stuck.clear()

    def _execute(self, item: Item) -> Iterator[Element]:
        needed = FLAGS_NEEDED[item.condition]
        passed = item.condition == ALWAYS or _passes(item.condition, self._flags)
        outcome: Optional[bool] = None
        selected = self._config.conditional == 7 or bool(item.access & self._config.conditional)
        if item.condition != ALWAYS and selected:
            fresh = needed & ~self._markers if self._config.condition_flags else needed
            if fresh:
                self._markers |= needed
                answered = self._dice.random() < 0.9
                self._told = self._told | fresh if answered else self._told & ~fresh
                key = self._next_key()
                yield Element("C", key)
                if answered:
                    noise = self._dice.randrange(16) & ~fresh
                    value = self._flags & fresh | noise if self._config.condition_flags else int(passed)
                    yield Element("R", key, value)
                else:
                    self._stuck.add(key)
                known = answered
            if self._config.condition_flags:
                known = not needed & ~self._told
            outcome = passed if known else None
        self.expected.append(outcome)
        if item.sets:
            self._markers = 0
            if passed:
                self._flags = self._dice.randrange(16)

    def _next_key(self) -> int:
        # The next one, at times a special one; either only if it is free.
        keys = self._config.condition_keys
        self._key = (self._key + 1) % keys
        if self._key in self._stuck or self._dice.random() < 0.1:
            return self._dice.choice([key for key in range(keys, keys + 500) if key not in self._stuck])
        return self._key

    def _shuffled(self, made: List[Element]) -> List[Element]:
        # C elements keep their order; atoms keep theirs; a result comes after its C element and before its key's next.
        atoms = [element for element in made if element.kind == "E"]
        others = [element for element in made if element.kind != "E"]
        for at in range(len(others) - 2, -1, -1):
            place = at
            while others[place].kind == "R" and place + 1 < len(others) and self._dice.random() < 0.5:
                if others[place + 1].key == others[place].key:
                    break
                others[place], others[place + 1] = others[place + 1], others[place]
                place += 1
        for atom in atoms:
            others.insert(self._dice.randrange(len(others) + 1), atom)
        return others


def _passes(code: int, flags: int) -> bool:
    # The Armv8-M ARM's ConditionHolds(), written a second time.
    n, z, c, v = (bool(flags >> bit & 1) for bit in (3, 2, 1, 0))
    greater, higher = n == v and not z, c and not z
    return (z, not z, c, not c, n, not n, v, not v, higher, not higher, n == v, n != v, greater, not greater)[code]


TOKENS: Dict[bool, Dict[int, int]] = {True: {0b0010: 0, 0b1000: 1, 0b0110: 2}, False: {0: 0, 1: 1}}


class Packets:
    """Puts elements in packets: any that fit, by chance."""

    def __init__(self, dice: random.Random, config: Etmv4Config) -> None:
        self._dice = dice
        self._keys = config.condition_keys
        self._tokens = TOKENS[config.condition_flags]
        self._c = self._r = 0

    def write(self, elements: List[Element]) -> bytes:
        found, at = b"", 0
        while at < len(elements):
            made, used = self._packet(elements, at)
            found += made
            at += used
        return found

    def _packet(self, elements: List[Element], at: int) -> Tuple[bytes, int]:
        kind, key, value = elements[at]
        if kind == "E":
            return b"\xf7", 1
        if kind == "F":
            return b"\x43", 1
        if kind == "R":
            return self._result(key, value), 1
        if key != (self._c + 1) % self._keys:
            self._c = key if key < self._keys else (self._c + 1) % self._keys
            return rare_packets.conditional_1(key), 1
        count = self._run(elements, at)
        self._c = last = elements[at + count - 1].key
        following = elements[at + count] if at + count < len(elements) else Element("E")
        if following[:2] == ("R", last) and self._dice.random() < 0.7:
            return self._with_result(last, following.value), count + 1
        return self._dice.choice([rare_packets.conditional_3(count), rare_packets.conditional_2(0) * count]), count

    def _with_result(self, key: int, value: int) -> bytes:
        # The C elements up to a key and its result.
        step = (key - self._r) % self._keys
        self._r = key
        choices = [rare_packets.result_1([(key, value, True)])]
        token = self._tokens.get(value)
        if token is not None and (step == 1 or self._keys == 1):
            choices += [write.result_2(False, token), rare_packets.result_3(0xFFC | token)]
        if token is not None and step == 2:
            choices.append(write.result_2(True, token))
        return self._dice.choice(choices)

    def _run(self, elements: List[Element], at: int) -> int:
        # How many C elements count up; one result can bring as many as there are keys.
        count = 1
        while count < min(self._keys, 60) and at + count < len(elements):
            if elements[at + count] != Element("C", (elements[at].key + count) % self._keys):
                break
            count += 1
        return count

    def _result(self, key: int, value: int) -> bytes:
        back = (self._r - 1) % self._keys == key
        self._r = key if key < self._keys else (self._r + 1) % self._keys
        token = self._tokens.get(value)
        return (
            rare_packets.result_4(token) if token is not None and back else rare_packets.result_1([(key, value, False)])
        )


@pytest.mark.parametrize("flags", [False, True], ids=["pass-fail", "flags"])
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32), keys=st.sampled_from((1, 2, 3, 8, 40)), selection=st.sampled_from((1, 2, 3, 7)))
def test_what_is_decoded_is_what_passed(flags: bool, seed: int, keys: int, selection: int) -> None:
    dice = random.Random(seed)
    config = M_PROFILE._replace(version=5, conditional=selection, condition_keys=keys, condition_flags=flags)
    blocks = [list(items(dice)) for _ in range(BLOCKS)]
    unit = Unit(dice, config, blocks)
    unit.run(dice.randrange(1, 12))
    start = bytes.fromhex(ASYNC) + write.trace_info(conditional=selection) + bytes.fromhex("04 81 00 9b 00 10 00 00")
    decoder = Decoder(config, program(assemble(blocks)))
    recorder = decoder.decode(start + Packets(dice, config).write(unit.elements), same)
    history = history_of(recorder, decoder)
    assert len(history) == len(unit.expected)
    assert [history.outcome(number) for number in range(1, len(history) + 1)] == unit.expected
