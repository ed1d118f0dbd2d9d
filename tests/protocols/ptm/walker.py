"""Random A32 and T32 programs and walks, as :mod:`tests.protocols.etmv4.walker`.

Places are addresses with bit 0 set for T32 code.
"""

from __future__ import annotations

import random
from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.program.barriers import is_barrier
from gdb_etm.program.isa import Insn, InstructionKind, Isa, decode_a32
from gdb_etm.protocols.ptm.encode.encoder import DEBUG_HALT, Encoder
from gdb_etm.protocols.ptm.encode.packets import Regime
from tests.protocols.etmv4 import walker

_BASES = (0x9000, 0x00F00000)
_PLAIN = (0xE320F000, 0xE3A00001, 0xE5910000, 0x03A00002, 0xF57FF04F, 0xF57FF05F)
_ISB = 0xF57FF06F
# BX LR, BLX R3, POP, LDR and MOV to the PC, SUBS PC: with any condition.
_INDIRECT = (0x012FFF1E, 0x012FFF33, 0x08BD8010, 0x049DF004, 0x01A0F00E, 0x025EF004)
_EXCEPTIONS = (2, 4, 8, 9, 10, 11, 12, 14, 15)


class Step(NamedTuple):
    """A step: ``i`` instruction, ``x`` exception, ``r`` exception return."""

    kind: str
    place: int
    number: int = 0


class Program(walker.RandomProgram):
    """Two pieces of random T32 code and two of A32 code."""

    def __init__(self, seed: int, length: int = 120) -> None:
        super().__init__(seed, length)
        self.places = [start | 1 for start in self.starts]
        thumb = list(self.starts)
        for base in _BASES:
            words = [self._word(base, index, length, thumb) for index in range(length - 1)]
            words.append(0xEA000000 | (-length - 1 & 0xFFFFFF))
            self.pieces.append((base, b"".join(word.to_bytes(4, "little") for word in words)))
            self.places += range(base, base + 4 * length, 4)

    def _word(self, base: int, index: int, length: int, thumb: List[int]) -> int:
        dice = self._random
        kind = dice.choice("ppppppbbbllxiiis")
        condition = dice.choice((14, dice.randrange(14))) << 28
        if kind == "p":
            return dice.choice(_PLAIN)
        if kind == "s":
            return _ISB
        if kind == "i":
            return condition | dice.choice(_INDIRECT)
        here = base + 4 * index + 8
        if kind == "x":
            offset = dice.choice([place for place in thumb if abs(place - here) < 1 << 24]) - here
            return 0xFA000000 | (offset & 2) << 23 | offset >> 2 & 0xFFFFFF
        offset = base + 4 * dice.randrange(length) - here
        return condition | (0x0B000000 if kind == "l" else 0x0A000000) | offset >> 2 & 0xFFFFFF

    def insn(self, place: int) -> Insn:
        """Classify the instruction at a place."""
        if place & 1:
            return self.decode(place & ~1)
        return decode_a32(place, int.from_bytes(self.read(place), "little"))

    def is_waypoint(self, place: int, barriers: bool) -> bool:
        """Tell whether a unit traces an instruction by itself."""
        if self.insn(place).kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
            return True
        return barriers and is_barrier(self.read(place & ~1), Isa.T32 if place & 1 else Isa.A32)


class Walk:
    """A random execution of a program.

    :param program: What runs.
    :param encoder: Is told of it.
    :param seed: Decides everything.
    :param regimes: The states that the processor can be in.
    """

    def __init__(self, program: Program, encoder: Encoder, seed: int, regimes: Tuple[Regime, ...]) -> None:
        self.steps: List[Step] = []
        self._program = program
        self._encoder = encoder
        self._random = random.Random(seed)
        self._regimes = regimes
        self._regime = regimes[0]
        self._place = self._random.choice(program.places)
        self._calls: List[int] = []
        self._interrupted: List[Tuple[int, Regime]] = []
        self._batch: List[int] = []

    def run(self, instructions: int, exceptions: float, halts: float) -> None:
        """Walk on.

        :param instructions: About how many instructions.
        :param exceptions: Probability of an exception before an instruction.
        :param halts: Probability of a halt before an instruction.
        """
        self._step()
        for _ in range(instructions):
            dice = self._random.random()
            if dice < exceptions:
                self._take()
            elif dice < exceptions + halts:
                self._halt()
            self._step()
            if self._random.random() < 0.1:
                self._flush()
                self._encoder.context(self._random.choice((0, 1, 0x12345678)), self._random.choice((0, 9)))
        self._flush()

    def _step(self) -> None:
        place, program, dice = self._place, self._program, self._random
        insn = program.insn(place)
        self._batch.append(place)
        self.steps.append(Step("i", place))
        following = (place & ~1) + insn.size | place & 1
        self._place = following
        if insn.kind is InstructionKind.DIRECT:
            if not self._is_conditional(place) or dice.random() < 0.5:
                self._place = insn.target | (insn.isa is Isa.T32)
        elif insn.kind is InstructionKind.INDIRECT and (
            place & 1 or not self._is_conditional(place) or dice.random() < 0.5
        ):
            if self._interrupted and not insn.link and dice.random() < 0.3:
                self._return()
                return
            target: Optional[int] = self._calls.pop() if self._calls and dice.random() < 0.8 else None
            self._place = dice.choice(program.places) if target is None else target
        if insn.link and self._place != following:
            self._calls.append(following)

    def _is_conditional(self, place: int) -> bool:
        code = self._program.read(place & ~1)
        if place & 1:
            return code[1] >> 4 in (0xB, 0xD)
        return code[3] >> 4 < 14

    def _take(self) -> None:
        self._flush()
        number = self._random.choice(_EXCEPTIONS)
        vector, regime = self._random.choice(self._program.places), self._random.choice(self._regimes)
        self._encoder.exception(number, self._place, vector, regime)
        self.steps.append(Step("x", self._place, number))
        self._interrupted.append((self._place, self._regime))
        self._place, self._regime = vector, regime

    def _return(self) -> None:
        self._flush()
        self._encoder.exception_return()
        self._place, self._regime = self._interrupted.pop()
        self.steps.append(Step("r", self._place))

    def _halt(self) -> None:
        self._flush()
        self._encoder.debug_halt(self._place)
        self.steps.append(Step("x", self._place, DEBUG_HALT))
        if self._random.random() < 0.5:
            self._place = self._random.choice(self._program.places)
        self._encoder.resume()

    def _flush(self) -> None:
        self._encoder.instructions(self._batch, self._regime)
        self._batch = []
