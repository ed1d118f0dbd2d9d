"""Random programs in T32, A32 and A64, with each instruction's kind.

The generator knows what it made, so the decoder's own classification of instructions is tested too.
"""

from __future__ import annotations

import random
from typing import Callable, Dict, List, NamedTuple, Tuple

from gdb_etm.program.isa import Isa

# Where an instruction lies, and its instruction set.
Spot = Tuple[int, Isa]

PLAIN = "plain"
DIRECT = "direct"
INDIRECT = "indirect"
BARRIER = "barrier"
RETURN = "exception return"
WAIT = "wait"


class Instruction(NamedTuple):
    """An instruction as it was made."""

    address: int
    size: int
    isa: Isa
    kind: str
    # Where a direct branch goes.
    target: Spot
    link: bool
    conditional: bool

    def is_branch(self, waits: bool) -> bool:
        """Tell whether it is a P0 instruction (IHI 0064, appendix F).

        :param waits: Whether WFI and WFE are.
        """
        return self.kind != PLAIN and (waits or self.kind != WAIT)


class _Shape(NamedTuple):
    # What is decided of an instruction before its address is known; `body` is empty for direct branches.
    kind: str
    body: bytes
    size: int
    name: str
    link: bool = False
    conditional: bool = False


def _halves(*values: int) -> bytes:
    return b"".join(value.to_bytes(2, "little") for value in values)


def _word(value: int) -> bytes:
    return value.to_bytes(4, "little")


_T32_PLAIN = [_halves(*body) for body in ((0xBF00,), (0x2001,), (0xDF01,), (0x6808,), (0xF04F, 1), (0xF3AF, 0x8000))]
# BX LR, POP {PC}, MOV PC, LR; TBB, LDR PC, LDM with PC; BX LR twice as often.
_T32_INDIRECT = [_halves(*body) for body in ((0x4770,), (0x4770,), (0xBD10,), (0x46F7,))]
_T32_INDIRECT += [_halves(*body) for body in ((0xE8D0, 0xF001), (0xF85D, 0xFB04), (0xE8BD, 0x8010))]
_T32_CALL = _halves(0x4798)
_T32_RETURN = _halves(0xF3DE, 0x8F00)
_T32_IT = _halves(0xBF08)
# NOP, MOV, LDR, SVC; no word that is a branch.
_A32_PLAIN = [_word(word) for word in (0xE1A00000, 0xE3A00001, 0xE5900000, 0xEF000000, 0x03A00001)]
# BX LR, POP {PC}, LDR PC, MOV PC, LR; then those that may fail: BXNE LR, LDMEQ with PC.
_A32_INDIRECT = [_word(word) for word in (0xE12FFF1E, 0xE8BD8010, 0xE59FF000, 0xE1A0F00E)]
_A32_CONDITIONAL_INDIRECT = [_word(word) for word in (0x112FFF1E, 0x08BD8010)]
# MOVS PC, LR; RFE; ERET, which OpenCSD does not know.
_A32_RETURNS = [_word(word) for word in (0xE1B0F00E, 0xF8BD0A00, 0xE160006E)]
_A64_PLAIN = [_word(word) for word in (0xD503201F, 0xD2800020, 0xF9400000, 0xD4000001, 0x8B000000)]
_A64_INDIRECT = [_word(word) for word in (0xD65F03C0, 0xD65F03C0, 0xD61F0060)]


class _Set:
    # One instruction set: how often what comes, and how direct branches are encoded.

    isa: Isa

    def __init__(self, dice: random.Random, code: "RandomCode") -> None:
        self.dice = dice
        self.code = code

    def shapes(self) -> List[_Shape]:
        """Choose what comes next: one instruction, or two that belong together."""
        raise NotImplementedError

    def encode(self, shape: _Shape, here: int, there: Spot) -> bytes:
        """Encode a direct branch; empty when it does not reach so far."""
        raise NotImplementedError

    def fallback(self, size: int) -> bytes:
        """Return a plain instruction as long as an impossible branch."""
        raise NotImplementedError

    def _fixed(self, kind: str, body: bytes, link: bool = False, conditional: bool = False) -> List[_Shape]:
        return [_Shape(kind, body, len(body), "", link, conditional)]


class _T32(_Set):
    isa = Isa.T32

    def shapes(self) -> List[_Shape]:
        name = self.dice.choice("pppppppccwziilbbxsnuu")
        if name == "p":
            return self._fixed(PLAIN, self.dice.choice(_T32_PLAIN))
        if name == "i":
            return self._fixed(INDIRECT, self.dice.choice(_T32_INDIRECT))
        if name == "n":
            return self._fixed(INDIRECT, _T32_CALL, True)
        if name == "s":
            return self._fixed(BARRIER, _halves(0xF3BF, 0x8F6F))
        if name == "u":
            return self._rare()
        if name == "x" and not self.code.mixed:
            name = "l"
        return [_Shape(DIRECT, b"", 4 if name in "wlxb" else 2, name, name in "lx", name in "cwz")]

    def _rare(self) -> List[_Shape]:
        choice = self.dice.randrange(4)
        if choice == 0:
            return self._fixed(WAIT, self.dice.choice((_halves(0xBF30), _halves(0xF3AF, 0x8003))))
        if choice == 1 and self.code.returns:
            return self._fixed(RETURN, _T32_RETURN)
        # An IT instruction and a branch that may fail: a call or a return.
        it = _Shape(PLAIN, _T32_IT, 2, "")
        if choice == 2:
            return [it, _Shape(DIRECT, b"", 4, "l", True, True)]
        return [it, _Shape(INDIRECT, _halves(0x4770), 2, "", False, True)]

    def fallback(self, size: int) -> bytes:
        return _halves(0xBF00) if size == 2 else _halves(0xF3AF, 0x8000)

    def encode(self, shape: _Shape, here: int, there: Spot) -> bytes:
        address, isa = there
        name = shape.name
        if (isa is Isa.A32) != (name == "x"):
            return b""
        if name == "x":
            return self._wide(address - (here & ~3) - 4, 0xC000)
        offset = address - here - 4
        if name == "z":
            return _halves(0xB100 | (offset & 0x40) << 3 | (offset & 0x3E) << 2) if 0 <= offset <= 126 else b""
        if name == "c":
            return _halves(0xD000 | self._condition() << 8 | (offset >> 1 & 0xFF)) if -256 <= offset <= 254 else b""
        if name == "w":
            if not -(1 << 20) <= offset < 1 << 20:
                return b""
            first = 0xF000 | (offset >> 20 & 1) << 10 | self._condition() << 6 | (offset >> 12 & 0x3F)
            return _halves(first, 0x8000 | (offset >> 18 & 1) << 13 | (offset >> 19 & 1) << 11 | (offset >> 1 & 0x7FF))
        return self._wide(offset, 0xD000 if name == "l" else 0x9000)

    def _condition(self) -> int:
        return self.dice.randrange(14)

    def _wide(self, offset: int, form: int) -> bytes:
        if not -(1 << 24) <= offset < 1 << 24:
            return b""
        sign = offset >> 24 & 1
        j1, j2 = 1 ^ (offset >> 23 & 1) ^ sign, 1 ^ (offset >> 22 & 1) ^ sign
        return _halves(0xF000 | sign << 10 | (offset >> 12 & 0x3FF), form | j1 << 13 | j2 << 11 | (offset >> 1 & 0x7FF))


class _A32(_Set):
    isa = Isa.A32

    def shapes(self) -> List[_Shape]:
        name = self.dice.choice("pppppppccciilbbxsnkdeu")
        if name == "p":
            return self._fixed(PLAIN, self.dice.choice(_A32_PLAIN))
        if name == "i":
            return self._fixed(INDIRECT, self.dice.choice(_A32_INDIRECT))
        if name == "d":
            return self._fixed(INDIRECT, self.dice.choice(_A32_CONDITIONAL_INDIRECT), False, True)
        if name == "n":
            return self._fixed(INDIRECT, _word(0xE12FFF33), True)
        if name == "s":
            return self._fixed(BARRIER, self.dice.choice((_word(0xF57FF06F), _word(0xEE070F95))))
        if name == "e":
            return self._fixed(RETURN, self.dice.choice(_A32_RETURNS[: 2 if self.code.portable else 3]))
        if name == "u":
            return self._fixed(WAIT, _word(0xE320F003))
        return [_Shape(DIRECT, b"", 4, name, name in "lxk", name in "ck")]

    def fallback(self, size: int) -> bytes:
        return _A32_PLAIN[0]

    def encode(self, shape: _Shape, here: int, there: Spot) -> bytes:
        address, isa = there
        offset = address - here - 8
        if not -(1 << 25) <= offset < 1 << 25 or (isa is Isa.T32) != (shape.name == "x"):
            return b""
        if shape.name == "x":
            return _word(0xFA000000 | (offset >> 1 & 1) << 24 | (offset >> 2 & 0xFFFFFF))
        condition = self.dice.randrange(14) if shape.conditional else 14
        return _word(condition << 28 | 0x0A000000 | shape.link << 24 | (offset >> 2 & 0xFFFFFF))


class _A64(_Set):
    isa = Isa.A64

    def shapes(self) -> List[_Shape]:
        name = self.dice.choice("pppppppccczztiilbbsneu")
        if name == "p":
            return self._fixed(PLAIN, self.dice.choice(_A64_PLAIN))
        if name == "i":
            return self._fixed(INDIRECT, self.dice.choice(_A64_INDIRECT))
        if name == "n":
            return self._fixed(INDIRECT, _word(0xD63F0060), True)
        if name == "s":
            return self._fixed(BARRIER, _word(0xD5033FDF))
        if name == "e":
            return self._fixed(RETURN, _word(0xD69F03E0))
        if name == "u":
            return self._fixed(WAIT, _word(0xD503207F))
        return [_Shape(DIRECT, b"", 4, name, name == "l", name in "czt")]

    def fallback(self, size: int) -> bytes:
        return _A64_PLAIN[0]

    def encode(self, shape: _Shape, here: int, there: Spot) -> bytes:
        offset = there[0] - here >> 2
        if there[1] is not Isa.A64:
            return b""
        if shape.name in "bl":
            reaches, word = -(1 << 25) <= offset < 1 << 25, 0x14000000 | shape.link << 31 | offset & 0x3FFFFFF
        elif shape.name == "t":
            reaches, word = -(1 << 13) <= offset < 1 << 13, 0x36000000 | (offset & 0x3FFF) << 5
        else:
            reaches, word = -(1 << 18) <= offset < 1 << 18, (offset & 0x7FFFF) << 5
            word |= 0x54000000 | self.dice.randrange(14) if shape.name == "c" else 0xB4000003
        return _word(word | self.dice.randrange(2) << 24 if shape.name == "z" else word) if reaches else b""


class RandomCode:
    """Pieces of random code.

    :param dice: Decides everything.
    :param pieces: Address, instruction set and number of instructions of each.
    :param returns: Whether T32 code may have A-profile exception returns.
    :param portable: Whether to keep to what OpenCSD 1.3.3 takes for a branch.
    """

    def __init__(self, dice: random.Random, pieces: List[Tuple[int, Isa, int]], returns: bool, portable: bool) -> None:
        self.returns = returns
        self.portable = portable
        self.mixed = {isa for _, isa, _ in pieces} >= {Isa.A32, Isa.T32}
        self.images: List[Tuple[int, bytes]] = []
        self.starts: List[Spot] = []
        self._instructions: Dict[Spot, Instruction] = {}
        self._dice = dice
        sets: Dict[Isa, Callable[..., _Set]] = {Isa.T32: _T32, Isa.A32: _A32, Isa.A64: _A64}
        planned = []
        for base, isa, length in pieces:
            one = sets[isa](dice, self)
            shapes = self._plan(one, length)
            planned.append((base, one, shapes))
            address = base
            for shape in shapes:
                self.starts.append((address, isa))
                address += shape.size
        for base, one, shapes in planned:
            self._make(base, one, shapes)

    def at(self, spot: Spot) -> Instruction:
        """Give the instruction at a spot."""
        return self._instructions[spot]

    def has(self, spot: Spot) -> bool:
        """Tell whether there is an instruction at a spot."""
        return spot in self._instructions

    def size(self, spot: Spot) -> int:
        """Return the instruction size at a spot, or the smallest size."""
        found = self._instructions.get(spot)
        return 2 if found is None else found.size

    def _plan(self, one: _Set, length: int) -> List[_Shape]:
        shapes: List[_Shape] = []
        while len(shapes) < length:
            shapes += one.shapes()
        # Code must not run out of its piece.
        return shapes + [_Shape(DIRECT, b"", 4, "b")]

    def _make(self, base: int, one: _Set, shapes: List[_Shape]) -> None:
        code = bytearray()
        for shape in shapes:
            here = base + len(code)
            kind, body, target = shape.kind, shape.body, (0, one.isa)
            if not body:
                body, target = self._branch(one, shape, here, shape is shapes[-1])
                kind = kind if target[0] else PLAIN
            self._instructions[here, one.isa] = Instruction(
                here, shape.size, one.isa, kind, target, shape.link, shape.conditional
            )
            code += body
        # OpenCSD reads four bytes for the last instruction too.
        self.images.append((base, bytes(code) + one.fallback(2)))

    def _branch(self, one: _Set, shape: _Shape, here: int, must: bool) -> Tuple[bytes, Spot]:
        for _ in range(200 if must else 8):
            there = self._dice.choice(self.starts)
            body = one.encode(shape, here, there)
            if body:
                return body, there
        return one.fallback(shape.size), (0, one.isa)
