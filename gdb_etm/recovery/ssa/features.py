"""Features of a core in use: floating point, stacks, security states.

Code is searched for encodings; where call frame information has a function, its instructions are known from what
only looks like one.  In doubt a feature is in use.
"""

from __future__ import annotations

import re
from typing import Dict, Final, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.capture import Core
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.conditions import enters_it_block, next_it_state
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Insn, InstructionKind, Isa
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.rules import FrameInformation
from gdb_etm.recovery.values import CoreState

_NO_FPU: Final = re.compile(r"cortex-m(0\+?|1|3|23)$", re.IGNORECASE)
# Coprocessors 10 and 11: bits 15:10 of the first halfword but bit 12 are 11x011, bits 11:9 of the second 101.
_FLOATS: Final = re.compile(
    b"(?=.[\xec-\xef\xfc-\xff].[\n\x0b\x1a\x1b*+:;JKZ[jkz{\x8a\x8b\x9a\x9b"
    b"\xaa\xab\xba\xbb\xca\xcb\xda\xdb\xea\xeb\xfa\xfb])",
    re.DOTALL,
)
# MSR to PSP, CONTROL, PSP_NS and CONTROL_NS.
_STACKS: Final = re.compile(b"(?=[\x80-\x8f]\xf3[\x09\x14\x89\x94]\x88)", re.DOTALL)
# SG; BXNS and BLXNS.
_STATES: Final = re.compile(
    b"(?=\x7f\xe9\x7f\xe9|[" + b"".join(re.escape(bytes([low])) for low in range(4, 256, 8)) + b"]G)", re.DOTALL
)
_ARMV7: Final = re.compile(r"cortex-m[01347]\b|cortex-m0\+|armv[67]e?-m", re.IGNORECASE)
# After a reset of Armv6-M and of Armv8-M without the Main Extension, LR is unknown (TakeReset in the ARMs).
_NO_LINK: Final = re.compile(r"cortex-m(0\+?|1|23)$|armv6|armv8-m\.base", re.IGNORECASE)
_UNSUFFIXED: Final = ("msplim", "psplim")
_ASPEN: Final = 1 << 31


class Features(NamedTuple):
    """Features of an M-profile core, and which of them its program uses."""

    # Whether exceptions may push floating-point registers.
    fpu: bool = True
    # Whether PSP may be in use.
    psp: bool = True
    # Whether the core is in one security state all the time.
    one_state: bool = False
    # Bits 6, 5 and 0 of EXC_RETURN: those of Armv6-M and Armv7-M, or of a core without the Security Extension; None
    # when the core may have that.
    security: Optional[int] = None
    # Whether a reset sets LR to ones.
    resets_link: bool = False
    # FPCCR.ASPEN at the end, whether floating point sets FPCA; 1 where that is not known.
    aspen: bool = True


def features_of(
    program: Program,
    core: Optional[Core],
    states: Sequence[Optional[CoreState]],
    fpu: Optional[bool] = None,
    frames: Optional[FrameInformation] = None,
) -> Features:
    """Find the features that are known before anything that ran counts.

    :param states: At the ends of what ran.
    :param fpu: What the user says of it.
    :param frames: Call frame information of the program.
    """
    if fpu is None:
        fpu = may_have_fpu(core) and uses_floats(program, frames)
    psp = any(state is not None and bool(state.registers.get("control", 0) & 2) for state in states)
    security = None
    if core is not None and _ARMV7.search(core.type):
        security = 0x61
    elif has_no_security(states):
        security = 0x20
    one_state = security is not None or not changes_security_state(program)
    resets_link = is_m_profile(core) and core is not None and not _NO_LINK.search(core.type)
    aspen = all(bool(state.registers.get("fpccr", _ASPEN) & _ASPEN) for state in states if state is not None)
    return Features(fpu, psp or uses_process_stack(program), one_state, security, resets_link, aspen)


def may_have_fpu(core: Optional[Core]) -> bool:
    """Check whether a core may have an FPU.

    All may but Cortex-M0, M0+, M1, M3 and M23.
    """
    return core is None or not _NO_FPU.search(core.type)


def uses_floats(program: Program, frames: Optional[FrameInformation] = None) -> bool:
    """Check whether a program may contain T32 floating point.

    One without never sets FPCA.

    :param frames: Tells where functions begin and end, so that the second half of a BL, or a constant, is not taken
        for an instruction.
    """
    code = _Code(program, frames)
    return any(code.may_begin(address) for address in _slots(program, _FLOATS))


def uses_process_stack(program: Program) -> bool:
    """Check whether a program may write PSP or CONTROL.

    One that never does runs on the main stack alone.
    """
    return any(True for _ in _slots(program, _STACKS))


def changes_security_state(program: Program) -> bool:
    """Check whether a program may change the security state (SG, BXNS, BLXNS).

    Non-secure code can be left by an exception, too, but only for code that is not in its program, and Secure code
    that has set up Non-secure code has entered it.
    """
    return any(True for _ in _slots(program, _STATES))


def has_no_security(states: Sequence[Optional[CoreState]]) -> bool:
    """Check whether registers show that there is no Security Extension.

    Each stack has one limit then, without a suffix.
    """
    names: Set[str] = set()
    for state in states:
        names.update(state.registers if state is not None else ())
    suffixed = any(name + suffix in names for name in _UNSUFFIXED for suffix in ("_s", "_ns"))
    return not suffixed and any(name in names for name in _UNSUFFIXED)


def _slots(program: Program, what: "re.Pattern[bytes]") -> Iterable[int]:
    for start, data in program.pieces:
        for match in what.finditer(data):
            if not start + match.start() & 1:
                yield start + match.start()


class _Code:
    # Tells instructions from halfwords that look like one, by following each function's code from its beginning.

    def __init__(self, program: Program, frames: Optional[FrameInformation]) -> None:
        self._program = program
        self._blocks = Blocks(program)
        self._frames = frames
        self._known: Dict[int, Tuple[Set[int], Set[int]]] = {}

    def may_begin(self, address: int) -> bool:
        # Whether an instruction may begin at an address: not where only the second half of another one is.
        bounds = None if self._frames is None else self._frames.function(address)
        if bounds is None:
            return True
        if bounds[0] not in self._known:
            self._known[bounds[0]] = self._follow(bounds)
        begins, others = self._known[bounds[0]]
        return address in begins or address not in others and address + 4 <= bounds[1]

    def _follow(self, bounds: Tuple[int, int]) -> Tuple[Set[int], Set[int]]:
        # Where instructions begin; the halfwords within them, of constants and of tables.
        begins: Set[int] = set()
        others: Set[int] = set()
        todo = [(bounds[0], 0)]
        while todo:
            at, it_state = todo.pop()
            insn = self._blocks.instruction(at, Isa.T32) if bounds[0] <= at < bounds[1] else None
            if insn is None or at in begins:
                continue
            begins.add(at)
            if insn.size == 4:
                others.add(at + 2)
            others.update(self._constant(at, insn))
            todo += self._after(at, insn, it_state)
            table, targets = self._table(at, insn, bounds[1])
            others.update(table)
            todo += [(target, 0) for target in targets]
        return begins, others

    def _constant(self, at: int, insn: Insn) -> Iterable[int]:
        # The halfwords of a constant that LDR loads, relative to PC (Armv8-M ARM, C2.4; encodings T1 and T2).
        code = self._program.read(at, insn.size)
        half = code[0] | code[1] << 8
        if insn.size == 2 and half >> 11 == 9:
            distance = (half & 0xFF) * 4
        elif insn.size == 4 and half & 0xFF7F == 0xF85F:
            distance = (code[2] | code[3] << 8) & 0xFFF
            distance = distance if half & 0x80 else -distance
        else:
            return ()
        word = (at + 4 & ~3) + distance
        return (word, word + 2)

    def _table(self, at: int, insn: Insn, end: int) -> Tuple[Iterable[int], List[int]]:
        # The halfwords of the table behind TBB or TBH, and the targets: it goes on to the least of these at most.
        code = self._program.read(at, insn.size)
        if insn.size != 4 or code[:2] != b"\xdf\xe8" or code[3] != 0xF0 or code[2] & 0xE0:
            return (), []
        size = 2 if code[2] & 0x10 else 1
        start = place = at + 4
        targets: List[int] = []
        while place + size <= min(targets, default=end):
            target = start + 2 * int.from_bytes(self._program.read(place, size), "little")
            place += size
            if place <= target < end:
                targets.append(target)
        return range(start, place, 2), targets

    def _after(self, at: int, insn: Insn, it_state: int) -> List[Tuple[int, int]]:
        code = self._program.read(at, insn.size)
        half = code[0] | code[1] << 8
        if insn.size == 2 and enters_it_block(half):
            return [(at + 2, half & 0xFF)]
        found = [(insn.target, 0)] if insn.kind is InstructionKind.DIRECT and not insn.link else []
        leaves = insn.kind is InstructionKind.INDIRECT and not insn.link
        leaves = leaves or insn.kind is InstructionKind.DIRECT and not insn.link and _is_plain_branch(code)
        return found if leaves and not it_state else found + [(at + insn.size, next_it_state(it_state))]


def _is_plain_branch(code: bytes) -> bool:
    # B without a condition, T2 and T4 (Armv8-M ARM, C2.4).
    return code[1] >> 3 == 0x1C if len(code) == 2 else code[3] & 0xD0 == 0x90
