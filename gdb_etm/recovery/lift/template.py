"""Templates: lifted instructions, prepared to be used at every execution."""

from __future__ import annotations

from typing import Dict, Final, List, Optional, Sequence, Set, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.conditions import ALWAYS, FLAGS_NEEDED, enters_it_block, next_it_state
from gdb_etm.program.far_jumps import FarJumps
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Insn, InstructionKind, Isa, is_wide
from gdb_etm.program.objects import Objects
from gdb_etm.recovery.lift.instruction import execution_condition, lift
from gdb_etm.recovery.lift.operations import SP, TEMPORARY, C, Const, Lifted, N, Op, Operand, V, Z

FLAGS: Final = (N, Z, C, V)
ALL_FLAGS: Final = 15

# Operation, output slots, inputs (slots, or ~value of a constant), detail.
Step = Tuple[int, Tuple[int, ...], Tuple[int, ...], Tuple[int, ...]]


# What an instruction of Armv8-M does with a stack's limit: it may not lower SP below, or it sets one.
CHECKED: Final = 0
MAIN_LIMIT: Final = 1
PROCESS_LIMIT: Final = 2

# Steps, the slots that they write, and the flags that nobody reads.
Needed = Tuple[Tuple[Step, ...], Tuple[int, ...], Tuple[int, ...]]


class Template:
    """One instruction of the program.

    :param condition: That decides whether it does anything: 0 to 13, or ALWAYS.
    :param reads: Flags that it reads: bit 0 for N, 1 for Z, 2 for C, 3 for V.
    :param kills: Flags that it writes.
    :param writes: Places that it writes, without those of one instruction.
    :param goes_to: Target of a direct branch.
    :param rounds: The slot that SP gets all bits but 1:0 of.
    :param moves: Whether it writes SP or what may be a frame pointer.
    :param stack: CHECKED, MAIN_LIMIT or PROCESS_LIMIT, and the register that a limit is set to; None for others.
    :param asks: Whether an exception may follow that the code before it has asked for: its handler may change what is
        popped.
    """

    # No named tuple: what is compiled reads these fastest.
    __slots__ = (
        *("address", "size", "isa", "condition", "steps", "reads", "kills", "writes", "kind", "goes_to", "taken"),
        *("target", "interworks", "aligned", "call", "rounds", "moves", "stack", "asks", "variants"),
    )

    def __init__(
        self,
        address: int,
        size: int,
        isa: Isa,
        condition: int,
        steps: Tuple[Step, ...],
        reads: int,
        kills: int,
        writes: Tuple[int, ...],
        kind: InstructionKind,
        goes_to: int,
        taken: Optional[int],
        target: Optional[int],
        interworks: bool,
        aligned: Tuple[int, ...],
        call: bool,
        rounds: Optional[int],
        moves: bool,
        stack: Optional[Tuple[int, int]],
        asks: bool,
        variants: Dict[int, Needed],
    ) -> None:
        self.address = address
        self.size = size
        self.isa = isa
        self.condition = condition
        self.steps = steps
        self.reads = reads
        self.kills = kills
        self.writes = writes
        self.kind = kind
        self.goes_to = goes_to
        self.taken = taken
        self.target = target
        self.interworks = interworks
        self.aligned = aligned
        self.call = call
        self.rounds = rounds
        self.moves = moves
        self.stack = stack
        self.asks = asks
        # What is needed when only some flags are read later on, by these flags.
        self.variants = variants

    def moved(self, address: int, goes_to: int, asks: bool) -> "Template":
        """Make that of the same instruction at another address."""
        return Template(
            *(address, self.size, self.isa, self.condition, self.steps, self.reads, self.kills, self.writes),
            *(self.kind, goes_to, self.taken, self.target, self.interworks, self.aligned, self.call, self.rounds),
            *(self.moves, self.stack, asks, self.variants),
        )

    def needed(self, flags: int) -> Needed:
        """Give the steps that anybody reads.

        :param flags: Those that are read later on, as in :attr:`reads`.
        """
        flags &= self.kills
        found = self.variants.get(flags)
        if found is None:
            found = self.variants[flags] = _needed(self, flags)
        return found


def _needed(template: Template, flags: int) -> Needed:
    wanted: Set[int] = {slot for slot in (template.taken, template.target) if slot is not None}
    live = {slot for bit, slot in enumerate(FLAGS) if flags >> bit & 1}
    wanted.update(template.aligned, live)
    kept: List[Step] = []
    for step in reversed(template.steps):
        _, outputs, inputs, _ = step
        plain = [slot for slot in outputs if slot < TEMPORARY and slot not in FLAGS]
        if outputs and not plain and not wanted.intersection(outputs):
            continue
        wanted.difference_update(outputs)
        wanted.update(inputs)
        kept.append(step)
    dead = tuple([slot for slot in template.writes if slot in FLAGS and slot not in live])
    written = tuple([slot for slot in template.writes if slot not in dead])
    return tuple(reversed(kept)), written, dead


# The upper byte of an IT instruction.
_IT: Final = 0xBF
# Bytes of code in which halfwords are looked at that each may be a first half.
_LONG: Final = 4096


class Templates:
    """All templates of a program, made when they are first asked for.

    :param program: The program that ran.
    :param m_profile: Whether T32 code runs on an M-profile core.
    :param objects: The program's objects, if they are known: where functions begin.
    :param aspen: FPCCR.ASPEN of an M-profile core.
    """

    def __init__(
        self, program: Program, m_profile: bool, objects: Optional[Objects] = None, aspen: bool = True
    ) -> None:
        self._program = program
        self._functions = frozenset([start for start, _ in objects.functions] if objects is not None else ())
        self._blocks = Blocks(program)
        self._far_jumps = FarJumps(program)
        self._m_profile = m_profile
        self._aspen = aspen
        self._known: Dict[Tuple[int, Isa, int], Tuple[Template, int]] = {}
        self._like: Dict[Tuple[int, Isa], Optional[Template]] = {}
        self._ranges: Dict[Tuple[int, int, Isa, int], Tuple[List[Template], int]] = {}
        # Templates that are the same wherever the instruction is, by its bytes, its condition and whether it is in an
        # IT block.
        self._anywhere: Dict[Tuple[bytes, Isa, int, bool], Template] = {}

    def of_range(self, start: int, end: int, isa: Isa, it_state: int) -> Tuple[List[Template], int]:
        """Give the templates from ``start`` to ``end``, and ITSTATE after them.

        :param it_state: ITSTATE as the first of them runs.
        """
        key = (start, end, isa, it_state)
        found = self._ranges.get(key)
        if found is None:
            templates = []
            for address in self._blocks.addresses(start, end, isa):
                made = self._at(address, isa, it_state)
                assert made is not None
                template, it_state = made
                templates.append(template)
            found = self._ranges[key] = (templates, it_state)
        return found

    def it_state(self, address: int, isa: Isa) -> int:
        """Find ITSTATE at an address that may be inside an IT block."""
        before = self._program.read(address - 16, 16)
        if isa is not Isa.T32 or len(before) == 16 and _IT not in before[1::2]:
            return 0
        for at in range(address, address - 16, -2):
            # No block goes on in another function, and there may be constants before that one.
            if at in self._functions:
                return 0
            half = self._half(at - 2)
            if half is None or not enters_it_block(half) or not self._is_beginning(at - 2):
                continue
            state = half & 0xFF
            while at < address and state:
                at += 4 if is_wide(self._half(at) or 0) else 2
                state = next_it_state(state)
            if at == address and state:
                return state
        return 0

    def _half(self, address: int) -> Optional[int]:
        code = self._program.read(address, 2)
        return code[0] | code[1] << 8 if len(code) == 2 else None

    def _is_beginning(self, address: int) -> bool:
        # Whether an instruction begins there, and no second half is.  A halfword that is no first half ends one, so
        # that those behind it are first and second halves in turn.
        at = address
        while at not in self._functions and address - at < _LONG and is_wide(self._half(at - 2) or 0):
            at -= 2
        return not (address - at) & 2

    def at_address(self, address: int, other: Template) -> Optional[Template]:
        """Give the template at an address, in another one's instruction set."""
        return self.at(address, other.isa)

    def at(self, address: int, isa: Isa) -> Optional[Template]:
        """Give the template at an address; None without code, and for A64."""
        key = address, isa
        if key not in self._like:
            made = None if isa is Isa.A64 else self._at(address, isa, self.it_state(address, isa))
            self._like[key] = None if made is None else made[0]
        return self._like[key]

    def _at(self, address: int, isa: Isa, it_state: int) -> Optional[Tuple[Template, int]]:
        key = (address, isa, it_state)
        found = self._known.get(key)
        if found is None:
            insn = self._blocks.instruction(address, isa)
            if insn is not None:
                found = self._known[key] = self._make(address, isa, it_state, insn)
        return found

    def _make(self, address: int, isa: Isa, it_state: int, insn: Insn) -> Tuple[Template, int]:
        code = self._program.read(address, 8)
        half = code[0] | code[1] << 8
        wide = isa is not Isa.T32 or is_wide(half)
        enters = not wide and enters_it_block(half)
        after = half & 0xFF if enters else next_it_state(it_state)
        condition = ALWAYS if enters else execution_condition(code, isa, it_state)
        key = (code[: 4 if wide else 2], isa, condition, bool(it_state))
        same = self._anywhere.get(key)
        if same is not None:
            asks = _asks(code, same.size, isa)
            return same.moved(address, insn.target, asks), after
        lifted = lift(code[:4], address, isa, bool(it_state), self._m_profile, self._aspen)
        made = self._template(lifted, code, address, isa, condition, insn.kind, insn.target)
        if not lifted.placed:
            self._anywhere[key] = made
        return made, after

    def _template(
        self,
        lifted: Lifted,
        code: bytes,
        address: int,
        isa: Isa,
        condition: int,
        kind: InstructionKind,
        goes_to: int,
    ) -> Template:
        steps = []
        reads = kills = 0
        writes: List[int] = []
        for operation in lifted.operations:
            inputs = operation.inputs
            if operation.op == Op.CONDITION:
                inputs = _tested(operation.detail[0], inputs)
            for operand in inputs:
                if operand in FLAGS and not kills >> FLAGS.index(operand) & 1:
                    reads |= 1 << FLAGS.index(operand)
            for slot in operation.outputs:
                if slot in FLAGS:
                    kills |= 1 << FLAGS.index(slot)
                if slot < TEMPORARY and slot not in writes:
                    writes.append(slot)
            steps.append((int(operation.op), operation.outputs, _all(operation.inputs), operation.detail))
        if condition != ALWAYS:
            reads |= _needs(condition)
        if lifted.taken in FLAGS and not kills >> FLAGS.index(lifted.taken) & 1:
            reads |= 1 << FLAGS.index(lifted.taken)
        return Template(
            address,
            lifted.size,
            isa,
            condition,
            tuple(steps),
            reads,
            kills,
            tuple(writes),
            kind,
            goes_to,
            lifted.taken,
            None if lifted.target is None else _input(lifted.target),
            lifted.interworks,
            _all(lifted.aligned),
            lifted.call and not (isa is Isa.T32 and self._far_jumps.has(address)),
            _rounded(lifted) if condition == ALWAYS else None,
            any(slot in writes for slot in (SP, 7, 11)),
            _stack(code) if isa is Isa.T32 and self._m_profile else None,
            _asks(code, lifted.size, isa),
            {},
        )


def _all(operands: Sequence[Operand]) -> Tuple[int, ...]:
    return tuple([_input(operand) for operand in operands])


def _input(operand: Operand) -> int:
    return ~operand.value if isinstance(operand, Const) else operand


def is_svc(code: bytes, isa: Isa) -> bool:
    """Check whether an instruction is SVC (DDI 0553, C2.4; DDI 0487, F5.1)."""
    return code[1] == 0xDF if isa is Isa.T32 else code[3] & 0xF == 0xF and code[3] < 0xF0


def _asks(code: bytes, size: int, isa: Isa) -> bool:
    # SVC; and barriers and what is before them: after a write that sets PendSV.
    return is_svc(code, isa) or isa is Isa.T32 and (_is_barrier(code) or _is_barrier(code[size:]))


def _is_barrier(code: bytes) -> bool:
    # DSB, DMB and ISB of T32.
    return code[:2] == b"\xbf\xf3" and 0x40 <= code[2] < 0x70 and code[3] == 0x8F


def _stack(code: bytes) -> Optional[Tuple[int, int]]:
    # By the encodings: PUSH, SUB from SP, MOV to SP; STMDB, STR and VSTMDB with SP written back; MSR.
    half = code[0] | code[1] << 8
    if not is_wide(half):
        lowers = half & 0xFE00 == 0xB400 or half & 0xFF80 == 0xB080 or half & 0xFF87 == 0x4685
        return (CHECKED, 0) if lowers else None
    second = code[2] | code[3] << 8
    if half & 0xFFF0 == 0xF380 and second in (0x880A, 0x880B):
        return (PROCESS_LIMIT if second & 1 else MAIN_LIMIT), half & 15
    subtracts = half & 0xFBFF in (0xF1AD, 0xF2AD) or half & 0xFFEF == 0xEBAD
    lowers = half == 0xE92D or half == 0xF84D and second & 0xF00 == 0xD00
    lowers = lowers or subtracts and second & 0xF00 == 0xD00 or half & 0xFFBF == 0xED2D and second & 0xE00 == 0xA00
    return (CHECKED, 0) if lowers else None


def _needs(condition: int) -> int:
    # FLAGS_NEEDED has N in bit 3.
    needed = FLAGS_NEEDED[condition]
    return needed >> 3 & 1 | needed >> 1 & 2 | needed << 1 & 4 | needed << 3 & 8


def _tested(condition: int, flags: Sequence[Operand]) -> Tuple[Operand, ...]:
    needed = _needs(condition)
    return tuple([flag for bit, flag in enumerate(flags) if needed >> bit & 1])


def _rounded(lifted: Lifted) -> Optional[int]:
    for operation in lifted.operations:
        if operation.op == Op.BITS and operation.outputs == (SP,) and operation.detail == (2, 2, 30):
            source = operation.inputs[0]
            return None if isinstance(source, Const) or source == SP else source
    return None
