"""Possible executions, by Capstone alone.

Ranges begin where the one before leads, and pass over no branch that is taken.

Nothing is asked of the masks in ``program/``, so what those share with the decoders is no help.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

import capstone

from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import Context, Event, Exception_, ExceptionReturn, Gap, Range
from gdb_etm.protocols.packet import Packet
from tests.program.judge import is_conditional, judge_a64, judge_arm

Element = Tuple[int, Union[Range, Event]]
Spot = Tuple[int, Isa]

_ENGINES = {
    Isa.T32: (capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8),
    Isa.A32: (capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8),
    Isa.A64: (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}
_ADDRESS = re.compile(r"0x[0-9a-f]+ (IS[01]|ARM|Thumb)")
_IT_BLOCK = 14


class Last(NamedTuple):
    """The instruction that a range ends with."""

    kind: InstructionKind
    target: int
    conditional: bool
    # Whether it is BLX, whose target is code of the other instruction set.
    changes_state: bool


class Judge:
    """Tells what is impossible in executions of one program.

    :param program: Its memory.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._engines = {isa: capstone.Cs(*choice) for isa, choice in _ENGINES.items()}
        for engine in self._engines.values():
            engine.detail = True
        self._known: Dict[Tuple[int, int, int, Isa], Tuple[str, Optional[Last]]] = {}

    def impossible(self, elements: Sequence[Element], packets: Sequence[Packet]) -> List[str]:
        """List what cannot have been.

        :param packets: The stream's packets, from which the addresses that they tell are known.
        """
        told = [packet.offset for packet in packets if _ADDRESS.search(packet.fields)]
        found: List[str] = []
        expected: Optional[Set[Spot]] = None
        before, wide = 0, False
        for offset, element in elements:
            if isinstance(element, Range):
                # Of several addresses in a row the last one holds, even if the first agrees with the program.
                corrected = sum(before <= place <= offset for place in told) > 1
                if expected is not None and not corrected and (element.start, element.isa) not in expected:
                    found.append("does not follow: %s" % (element,))
                wrong, last = self._range(element)
                found += ["%s: %s" % (wrong, element)] if wrong else []
                expected = _leads_to(element, last)
                before = offset
            elif isinstance(element, (Gap, Exception_, ExceptionReturn)):
                expected = None
            elif isinstance(element, Context):
                # It may say that the code is A64 where it was A32.
                expected = expected if element.sixty_four_bit == wide else None
                wide = element.sixty_four_bit
        return found

    def _range(self, executed: Range) -> Tuple[str, Optional[Last]]:
        key = (executed.start, executed.end, executed.instructions, executed.isa)
        if key not in self._known:
            self._known[key] = self._look(executed)
        wrong, last = self._known[key]
        if (
            not wrong
            and not executed.taken
            and last is not None
            and last.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT)
        ):
            onward = last.target == executed.end
            if not onward and not last.conditional and not self._is_conditional_in(executed):
                wrong = "passes over a branch that is always taken"
        return wrong, last

    def _look(self, executed: Range) -> Tuple[str, Optional[Last]]:
        # What is wrong with a range, and its last instruction; None for one that Capstone does not know.
        at, isa = executed.start, executed.isa
        if at & (1 if isa is Isa.T32 else 3):
            return "misaligned", None
        code = self._program.read(at, executed.end - at)
        if len(code) < executed.end - at:
            return "no code", None
        count, known = 0, {one.address: one for one in self._engines[isa].disasm(code, at)}
        last: Optional[Last] = None
        while at < executed.end:
            if (
                last is not None
                and last.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT)
                and last.target != at
            ):
                return "a branch inside", None
            rest = code[at - executed.start :]
            if at not in known:
                # Behind what it does not know.
                known.update((one.address, one) for one in self._engines[isa].disasm(rest, at))
            last = self._last(known.get(at), isa)
            at += 4 if isa is not Isa.T32 or rest[1] >> 3 > 0b11100 else 2
            count += 1
        if at != executed.end:
            return "ends inside an instruction", None
        return ("" if count == executed.instructions else "counts %d" % count), last

    def _last(self, found: Optional[capstone.CsInsn], isa: Isa) -> Optional[Last]:
        if found is None:
            return None
        verdict = judge_a64(found) if isa is Isa.A64 else judge_arm(found, isa is Isa.T32)
        return Last(verdict.kind, verdict.target, is_conditional(found), found.mnemonic.startswith("blx"))

    def _is_conditional_in(self, executed: Range) -> bool:
        # Whether an IT block that begins before the range has its last instruction.
        if executed.isa is not Isa.T32:
            return False
        for start in range(executed.start - 2, executed.end - _IT_BLOCK - 4, -2):
            code = self._program.read(start, executed.end - start)
            found = list(self._engines[Isa.T32].disasm(code, start))
            ends = bool(found) and found[-1].address + found[-1].size == executed.end
            if ends and found[0].mnemonic.startswith("it") and is_conditional(found[-1]):
                return True
        return False


def _leads_to(executed: Range, last: Optional[Last]) -> Optional[Set[Spot]]:
    # Where the execution goes on; None when only the trace tells.
    following = (executed.end, executed.isa)
    if last is None:
        return None
    if last.kind not in (InstructionKind.DIRECT, InstructionKind.INDIRECT) or not executed.taken:
        return {following}
    if last.kind is InstructionKind.INDIRECT:
        return None
    other = Isa.T32 if executed.isa is Isa.A32 else Isa.A32
    return {(last.target, other if last.changes_state else executed.isa)}
