"""The main stack's first frames, which are always at one place.

A core begins in the reset handler, with SP as the vector table has it (TakeReset in the Armv7-M and Armv8-M ARMs).  The
frame of a function that one call alone leads to, and whose address the program does not hold, is below its caller's.
So call frame information tells where the frames are from the reset handler to the program's main loop.  Functions that
set a stack pointer or CONTROL, and their callers, may go on with another stack, so nothing is told of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Callable, Dict, Final, FrozenSet, Iterator, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa, decode_t16, decode_t32, is_wide
from gdb_etm.program.objects import Objects
from gdb_etm.recovery.functions.entries import branches, entries
from gdb_etm.recovery.functions.frames import StackFrames
from gdb_etm.recovery.lift.operations import MASK, SP
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.rules import FrameInformation

# What may be BL, B.W or B among bytes that no call frame information is of.
_BRANCH = re.compile(rb"(?s)(?=.[\xf0-\xf7].[\x90-\x9f\xb0-\xbf\xd0-\xdf\xf0-\xff]|.[\xe0-\xe7])")
# MOVW, which makes the lower half of an address.
_MOVW = re.compile(rb"(?s)(?=[\x40-\x4f][\xf2\xf6].[\x00-\x7f])")
# MSR to MSP, PSP or CONTROL, also of the other security state: code that may go on with another stack.
_MSR = re.compile(rb"(?s)(?=[\x80-\x8f]\xf3[\x08\x09\x14\x88\x89\x94]\x88)")
_WORD: Final = 4
# Where a vector table may begin (VTOR).
_ALIGNED: Final = 128
# Bits of its address where it is what a core begins with: 0, 0x08000000, 0x10000000 and the like.
_BOOTED: Final = 0xFFFFFF


class ProgramStart(NamedTuple):
    """Where a core begins."""

    # The reset handler.
    function: int
    # SP.
    pointer: int
    # Whether the vector table is where memory begins, so that no boot loader comes before.
    is_first: bool


class MainStack:
    """Gives frames of the main stack that are always at one place.

    :param program: The program that ran.
    :param information: Its call frame information.
    :param ram: Pieces of RAM.
    :param frames: Gives SP by the frame's address.
    :param template: Gives the instruction at an address, of the instruction set of another one.
    :param objects: The program's objects, if they are known: functions without call frame information.
    """

    def __init__(
        self,
        program: Program,
        information: FrameInformation,
        ram: Sequence[Tuple[int, int]],
        frames: StackFrames,
        template: Callable[[int, Template], Optional[Template]],
        objects: Optional[Objects] = None,
    ) -> None:
        self._program = program
        self._information = information
        self._frames = frames
        self._template = template
        self._beginning = _beginning(program, information, ram, objects)
        self._objects = objects
        self._known: Dict[int, Optional[int]] = {}

    def is_reset(self, function: int) -> bool:
        """Check whether a function is the reset handler, which nothing runs before."""
        return self._beginning is not None and self._beginning.is_first and function == self._beginning.function

    def _site(self, function: int) -> Optional[int]:
        # The only branch that leads to a function, if there is one.
        return _callers(self._program, self._information, self._objects).get(function)

    def returns_to(self, function: int, like: Template) -> Optional[int]:
        """Give what a function's only call leaves in LR, or None."""
        site = self._site(function) if like.isa is Isa.T32 else None
        template = None if site is None else self._template(site, like)
        if template is None or not template.call or self._information.function(template.address) is None:
            return None
        own = self._information.function(function)
        is_within = own is None or own[0] <= template.address < own[1]
        return None if is_within else template.address + template.size | 1

    def frame(self, template: Template) -> Optional[int]:
        """Give the canonical frame address at an instruction, if always the same."""
        bounds = self._information.function(template.address)
        if self._beginning is None or bounds is None or template.isa is not Isa.T32:
            return None
        return self._of(bounds[0], self._beginning, template)

    def _of(self, function: int, beginning: ProgramStart, like: Template) -> Optional[int]:
        if function == beginning.function:
            return beginning.pointer
        if function not in self._known:
            # Functions that call one another have no such place.
            self._known[function] = None
            self._known[function] = self._below_caller(function, beginning, like)
        return self._known[function]

    def _below_caller(self, function: int, beginning: ProgramStart, like: Template) -> Optional[int]:
        site = self._site(function)
        bounds = None if site is None else self._information.function(site)
        template = None if site is None else self._template(site, like)
        if bounds is None or template is None:
            return None
        outer = self._of(bounds[0], beginning, like)
        for register, distance in self._frames.at(template) if outer is not None else ():
            if register == SP:
                return ((outer or 0) + distance) & MASK
        return None


@lru_cache(maxsize=2)
def _beginning(
    program: Program, information: FrameInformation, ram: Sequence[Tuple[int, int]], objects: Optional[Objects]
) -> Optional[ProgramStart]:
    # By the vector table: SP, and the reset handler, an NMI's and HardFault's.
    found: Set[ProgramStart] = set()
    for start, data in program.pieces:
        for at in range(-start % _ALIGNED, len(data) - 15, _ALIGNED):
            words = [int.from_bytes(data[one : one + _WORD], "little") for one in range(at, at + 16, _WORD)]
            pointer, *handlers = words
            bounds = information.function(handlers[0] - 1)
            if bounds is not None and bounds[0] == handlers[0] - 1 and not pointer & 7:
                in_ram = any([low < pointer <= high for low, high in ram])
                if in_ram and all([one & 1 and program.piece_at(one - 1) for one in handlers]):
                    found.add(ProgramStart(bounds[0], pointer, not (start + at) & _BOOTED))
    moved = _moved(program, information, objects)
    return found.pop() if len(found) == 1 and not any([one.function in moved for one in found]) else None


@lru_cache(maxsize=2)
def _callers(program: Program, information: FrameInformation, objects: Optional[Objects]) -> Mapping[int, int]:
    # By the beginnings of functions that one branch alone leads to, where that is.
    found: Dict[int, Set[int]] = {}
    for site, target in branches(program, information, Isa.T32):
        found.setdefault(target, set()).add(site)
    others = [information.function(target) for target in _others(program, information)]
    # What is entered behind its beginning may be several functions.
    several = {bounds[0] for bounds in others if bounds is not None}.union(entries(program, information, Isa.T32))
    several |= _moved(program, information, objects)
    made = {half for _, data in program.pieces for half in _halves(data)}
    single = {target: sites.pop() for target, sites in found.items() if len(sites) == 1}
    return {
        target: site for target, site in single.items() if target not in several and (target | 1) & 0xFFFF not in made
    }


@lru_cache(maxsize=2)
def _moved(program: Program, information: FrameInformation, objects: Optional[Objects]) -> FrozenSet[int]:
    # Functions that may go on with another stack, and those that call them.
    found: Set[int] = set()
    is_anywhere = False
    for start, data in program.pieces:
        for match in _MSR.finditer(data):
            bounds = _function(start + match.start(), information, objects)
            found.update(() if bounds is None else bounds[:1])
            is_anywhere |= bounds is None
    callers = [
        information.function(site)
        for site, target in branches(program, information, Isa.T32)
        if target in found or is_anywhere and _function(target, information, objects) is None
    ]
    return frozenset(found.union([one[0] for one in callers if one is not None]))


def _function(address: int, information: FrameInformation, objects: Optional[Objects]) -> Optional[Tuple[int, int]]:
    # By call frame information, or by the symbol table.
    bounds = information.function(address)
    return objects.function(address) if bounds is None and objects is not None else bounds


def _halves(data: bytes) -> Iterator[int]:
    # The lower halves of what MOVW may make (Armv8-M ARM, C2.4; encoding T3).
    for match in _MOVW.finditer(data):
        low, high, eight, three = data[match.start() : match.start() + 4]
        yield (low & 15) << 12 | (high & 4) << 9 | (three & 0x70) << 4 | eight


def _others(program: Program, information: FrameInformation) -> Iterator[int]:
    # Where code without call frame information may lead, and what words of the program may be addresses of code.
    for start, data in program.pieces:
        for at in range(-start % _WORD, len(data) - 3, _WORD):
            if data[at] & 1:
                yield int.from_bytes(data[at : at + _WORD], "little") - 1
        for match in _BRANCH.finditer(data):
            at = match.start()
            if (start + at) & 1 or information.function(start + at) is not None:
                continue
            first, second = (int.from_bytes(data[one : one + 2], "little") for one in (at, at + 2))
            insn = decode_t32(start + at, first, second) if is_wide(first) else decode_t16(start + at, first)
            if insn.kind is InstructionKind.DIRECT:
                yield insn.target
