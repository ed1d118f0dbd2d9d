"""Random T32 programs and random walks through them.

The walk takes every branch by the toss of a coin, calls and returns, takes exceptions between any two instructions,
returns from them (tail-chaining now and then) and halts; it feeds an encoder and writes down what it did.
"""

from __future__ import annotations

import random
from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.program.isa import Insn, InstructionKind, decode_t16, decode_t32, is_wide
from gdb_etm.protocols.etmv4.encode.encoder import Encoder
from gdb_etm.protocols.etmv4.encode.path import NO_EXECUTION

BASE = 0x1000
FAR = 0x08010000

# Plain instructions, then what branches; (halfwords, weight).
_PLAIN: Tuple[Tuple[int, ...], ...] = ((0xBF00,), (0x2001,), (0xF04F, 0x0001), (0x6808,), (0xDF01,), (0xF3AF, 0x8000))
_INDIRECT: Tuple[Tuple[int, ...], ...] = (
    (0x4770,),
    (0x4770,),
    (0x4798,),
    (0xBD10,),
    (0xE8D0, 0xF001),
    (0xF85D, 0xFB04),
    (0xE8BD, 0x8010),
)


class Step(NamedTuple):
    """A step: ``i`` instruction, ``x`` exception, ``r`` its return, ``h`` halt."""

    kind: str
    address: int
    number: int = 0


class RandomProgram:
    """Two pieces of random code, far from each other.

    :param seed: Decides everything.
    :param length: Instructions in each piece.
    """

    def __init__(self, seed: int, length: int = 120) -> None:
        self._random = random.Random(seed)
        self.pieces: List[Tuple[int, bytes]] = []
        self.starts: List[int] = []
        for base in (BASE, FAR):
            self._make_piece(base, length)

    def _make_piece(self, base: int, length: int) -> None:
        kinds = [self._random.choice("pppppppcczlliibws") for _ in range(length - 1)] + ["b"]
        sizes = [4 if kind in "lws" else 2 for kind in kinds]
        bodies: List[Tuple[int, ...]] = []
        for index, kind in enumerate(kinds):
            body: Tuple[int, ...] = ()
            if kind == "p":
                body = self._random.choice(_PLAIN)
            elif kind == "i":
                body = self._random.choice(_INDIRECT)
            bodies.append(body)
            if body:
                sizes[index] = 2 * len(body)
        places = [base + sum(sizes[:index]) for index in range(length)]
        code = bytearray()
        for index, kind in enumerate(kinds):
            halves = bodies[index] or self._branch(kind, places, index)
            code += b"".join(half.to_bytes(2, "little") for half in halves)
        # Some decoders read four bytes for the last instruction too.
        self.pieces.append((base, bytes(code) + b"\x00\xbf"))
        self.starts += places

    def _branch(self, kind: str, places: List[int], index: int) -> Tuple[int, ...]:
        here = places[index]
        if kind == "s":
            return (0xF3BF, 0x8F6F)
        if kind == "z":
            near = [place for place in places if 0 <= place - here - 4 <= 126]
            if not near:
                return (0xBF00,)
            offset = self._random.choice(near) - here - 4
            return (0xB100 | (offset & 0x40) << 3 | (offset & 0x3E) << 2,)
        if kind == "c":
            near = [place for place in places if -256 <= place - here - 4 <= 254]
            offset = self._random.choice(near) - here - 4
            return (0xD000 | self._random.randrange(14) << 8 | (offset >> 1 & 0xFF),)
        offset = self._random.choice(places) - here - 4
        if kind == "b":
            return (0xE000 | (offset >> 1 & 0x7FF),)
        sign = offset >> 24 & 1
        first = 0xF000 | sign << 10 | (offset >> 12 & 0x3FF)
        j1, j2 = 1 ^ (offset >> 23 & 1) ^ sign, 1 ^ (offset >> 22 & 1) ^ sign
        link = 0x4000 if kind == "l" else 0
        return (first, 0x9000 | link | j1 << 13 | j2 << 11 | (offset >> 1 & 0x7FF))

    def read(self, address: int) -> bytes:
        """Return up to four bytes of code."""
        for base, code in self.pieces:
            if base <= address < base + len(code):
                return code[address - base : address - base + 4]
        return b""

    def decode(self, address: int) -> Insn:
        """Classify the instruction at an address."""
        code = self.read(address)
        first = int.from_bytes(code[:2], "little")
        if is_wide(first):
            return decode_t32(address, first, int.from_bytes(code[2:4], "little"))
        return decode_t16(address, first)


class Walk:
    """A random execution of a program.

    :param program: What runs.
    :param encoder: Is told of it.
    :param seed: Decides everything.
    """

    def __init__(self, program: RandomProgram, encoder: Encoder, seed: int) -> None:
        self.steps: List[Step] = []
        self._program = program
        self._encoder = encoder
        self._random = random.Random(seed)
        self._pc = self._random.choice(program.starts)
        self._calls: List[int] = []
        self._interrupted: List[int] = []
        self._batch: List[int] = []

    def run(self, instructions: int, exceptions: float = 0.02, halts: float = 0.003) -> None:
        """Walk on.

        :param instructions: About how many instructions.
        :param exceptions: Probability of an exception before an instruction.
        :param halts: Probability of a halt before an instruction.
        """
        # What comes before the first instruction is not traced.
        self._step()
        for _ in range(instructions):
            dice = self._random.random()
            if dice < exceptions and len(self._interrupted) < 4:
                self._take(self._pc)
            elif exceptions <= dice < exceptions + halts:
                self._halt()
            self._step()
            if self._random.random() < 0.1:
                self._flush()
        self._flush()

    def _step(self) -> None:
        insn = self._program.decode(self._pc)
        self._batch.append(self._pc)
        self.steps.append(Step("i", self._pc))
        following = self._pc + insn.size
        if insn.kind == InstructionKind.INDIRECT:
            if self._interrupted and not insn.link and self._random.random() < 0.3:
                self._return()
                return
            target: Optional[int] = None
            if self._calls and self._random.random() < 0.8:
                target = self._calls.pop()
            if insn.link:
                self._calls.append(following)
            self._pc = target if target is not None else self._random.choice(self._program.starts)
        elif insn.kind == InstructionKind.DIRECT:
            half = int.from_bytes(self._program.read(self._pc)[:2], "little")
            conditional = half >> 12 in (0xB, 0xD)
            if conditional and self._random.random() < 0.5:
                self._pc = following
            else:
                if insn.link:
                    self._calls.append(following)
                self._pc = insn.target
        else:
            self._pc = following

    def _take(self, return_address: int) -> None:
        self._flush()
        number = self._random.choice((2, 3, 11, 14, 15, 16, 23, 24, 31, 32, 300, 495))
        self._encoder.exception(number, return_address)
        self.steps.append(Step("x", return_address, number))
        if return_address != NO_EXECUTION:
            self._interrupted.append(self._pc)
        self._pc = self._random.choice(self._program.starts)

    def _return(self) -> None:
        self._flush()
        chain = self._random.random() < 0.3
        self._encoder.exception_return(chain or len(self._interrupted) > 1)
        self.steps.append(Step("r", 0))
        if chain:
            self._take(NO_EXECUTION)
        else:
            self._pc = self._interrupted.pop()

    def _halt(self) -> None:
        self._flush()
        self._encoder.debug_halt(self._pc)
        self.steps.append(Step("h", self._pc))
        if self._random.random() < 0.5:
            self._pc = self._random.choice(self._program.starts)
        self._encoder.resume(bool(self._interrupted))

    def _flush(self) -> None:
        self._encoder.instructions(self._batch)
        self._batch = []
