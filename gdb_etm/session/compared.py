"""Two histories compared, with operands, functions and timing."""

from __future__ import annotations

import os
from typing import Dict, List, Optional, Set, Tuple

from gdb_etm.analysis.compare import (
    Divergence,
    Execution,
    Token,
    compare,
    take_apart,
)
from gdb_etm.analysis.conditional import conditional_addresses, skipped_instructions
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.diagnosis.operands import feeding, tested_flags
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.history.frames import exception_of
from gdb_etm.program.isa import InstructionKind
from gdb_etm.program.untaken import always_taken
from gdb_etm.recovery.lift.operations import SLOTS
from gdb_etm.recovery.makers import MakerKind, RegisterPlace
from gdb_etm.recovery.values import Tier
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS, profile_of
from gdb_etm.session.compared_calls import CallComparison, compared_by_calls, has_other_lines
from gdb_etm.session.compared_values import ValueDifference
from gdb_etm.session.faults import origin_in
from gdb_etm.session.past import recovered
from gdb_etm.session.scenes import scene_for
from gdb_etm.session.sides import Side
from gdb_etm.views.compare import (
    CalledAlike,
    ComparedBranch,
    ComparedExecutions,
    ComparedOperand,
    ComparedPlace,
    FunctionChange,
    TimeChange,
)

NO_BRANCH = "what is alike last is no branch"
OTHER_CODE = "what is alike last decides nothing: the builds have other code there"


def compared(left: Side, right: Side) -> ComparedExecutions:
    """Compare two executions.

    :raises CommandError: One of them has no instructions.
    """
    for side in (left, right):
        if not len(side.decoded.history):
            raise CommandError("%s: no instructions" % side.name)
    by_line = not left.decoded.is_of(right.decoded.program)
    tells = not by_line and all(side.decoded.history.tells_outcomes for side in (left, right))
    called: Optional[CalledAlike] = None
    by_calls: Optional[CallComparison] = None
    if by_line and has_other_lines(left, right):
        by_calls = compared_by_calls(left, right)
        found, differs = by_calls.comparison, by_calls.values.difference
        called = CalledAlike(by_calls.functions, by_calls.values.alike, "" if differs is None else differs.left.what)
    else:
        tokens: Dict[Tuple[str, int], int] = {}
        found = compare(_apart(left, by_line, tokens, tells), _apart(right, by_line, tokens, tells), by_line)
    doubts = list(found.doubts)
    branches: Optional[Tuple[ComparedBranch, ComparedBranch]] = None
    if by_calls is not None and by_calls.values.difference is not None:
        branches = _value_places(left, right, by_calls.values.difference)
    elif found.divergence is not None:
        there = found.divergence
        branches = _branch(left, there.left, there.left_next), _branch(right, there.right, there.right_next)
        if there.is_skipped:
            outcomes = left.decoded.history.outcome(there.left), right.decoded.history.outcome(there.right)
            branches = (
                branches[0]._replace(passed=outcomes[0] is not False),
                branches[1]._replace(passed=outcomes[1] is not False),
            )
        doubts += _branch_doubts(left, right, there, branches, by_line) if called is None else []
    interrupted: Tuple[Optional[ComparedPlace], Optional[ComparedPlace]] = (None, None)
    if found.interrupt is not None:
        interrupted = _at(left, found.interrupt.left), _at(right, found.interrupt.right)
    has_cycles = left.decoded.clock.has_cycles and right.decoded.clock.has_cycles
    unit = CYCLES if has_cycles else INSTRUCTIONS
    sides = (left, right)
    counted = [profile_of(one.session.debugger, one.decoded, INSTRUCTIONS) for one in sides]
    functions = _functions(counted[0], counted[1])
    fine = 2 * max(_resolution(one) for one in sides) if has_cycles else 0
    timed = [profile_of(one.session.debugger, one.decoded, unit) for one in sides]
    times = _times(timed[0], timed[1], fine)
    unseen = 0
    if not by_line and not tells:
        end = left.last if found.divergence is None else found.divergence.left
        unseen = len(conditional_addresses(left.decoded.history, left.first, end))
    names, lengths = (left.name, right.name), (left.last - left.first + 1, right.last - right.first + 1)
    return ComparedExecutions(
        names, lengths, by_line, found, branches, interrupted, functions, unit, times, tuple(doubts), unseen, called
    )


def _apart(side: Side, by_line: bool, tokens: Dict[Tuple[str, int], int], tells: bool) -> Execution:
    # Lines of both builds have the same tokens.
    debugger = side.session.debugger
    known: Dict[int, int] = {}

    def line_token(address: int) -> int:
        found: Optional[int] = known.get(address)
        if found is None:
            line, function = debugger.line_at(address), debugger.function_at(address)
            name = function.name if function is not None else ""
            key = (name, line.line if line is not None else 0)
            found = known[address] = tokens.setdefault(key, len(tokens))
        return found

    def address_token(address: int) -> int:
        return address

    token: Token = line_token if by_line else address_token
    calls = side.decoded.calls(debugger.function_at)
    skipped = skipped_instructions(side.decoded.history) if tells else set()
    return take_apart(side.decoded.history, calls, token, by_line, (side.first, side.last), skipped)


def _value_places(left: Side, right: Side, difference: ValueDifference) -> Tuple[ComparedBranch, ComparedBranch]:
    # Where each had the value: what ran before it, and what then.
    made = []
    for side, one in zip((left, right), difference):
        operand = ComparedOperand(one.register, one.value, Tier.EXACT, "")
        there, after = _place(side, one.number - 1), _place(side, one.number)
        made.append(ComparedBranch(there, after, there, (operand,), tuple(_callers(side, one.number - 1))))
    return made[0], made[1]


def _at(side: Side, number: Optional[int]) -> Optional[ComparedPlace]:
    return None if number is None or not number else _place(side, number)


def _place(side: Side, number: int) -> ComparedPlace:
    debugger, one = side.session.debugger, side.decoded.history.instruction(number)
    line = debugger.line_at(one.address)
    code = side.decoded.program.read(one.address, one.size)
    text = " ".join(debugger.disassemble(one.address, code, one.isa).partition("@")[0].split())
    return ComparedPlace(
        number,
        one.address,
        debugger.symbol_at(one.address),
        "%s:%d" % (os.path.basename(line.path), line.line) if line is not None else "",
        (debugger.source_text(line) or "").strip() if line is not None else "",
        text,
    )


def _branch(side: Side, number: int, after: Optional[int]) -> ComparedBranch:
    number = max(number, 1)
    decided = number
    operands: Tuple[ComparedOperand, ...] = ()
    try:
        known = recovered(side.session, side.decoded)
        with known.solved(number, side.session.meter):
            scene = scene_for(side.session, side.decoded, known)
            decided, registers = deciders(scene, number)
            operands = tuple([_operand(side, scene, decided, name) for name in registers])
    except EtmError:
        # Recovery is off, or this is no core that it works for: the places stay.
        pass
    return ComparedBranch(
        _place(side, number),
        _place(side, after) if after is not None else None,
        _place(side, decided),
        operands,
        tuple(_callers(side, number)),
    )


def deciders(scene: Scene, number: int) -> Tuple[int, List[str]]:
    """Find what decides where a branch goes.

    :returns: The instruction that decides, which may be the branch, and the registers that it reads.
    """
    template = scene.template(number)
    if template is None:
        return number, []
    tested = tested_flags(template)
    if tested:
        maker = scene.maker(RegisterPlace(number, tested[0]))
        setter = scene.template(maker.number) if maker.kind is MakerKind.COMPUTED else None
        if setter is None:
            return number, []
        return maker.number, list(feeding(setter.steps, len(setter.steps), SLOTS[tested[0]]))
    slot = template.taken if template.taken is not None else template.target
    return number, [] if slot is None else list(feeding(template.steps, len(template.steps), slot))


def _operand(side: Side, scene: Scene, number: int, name: str) -> ComparedOperand:
    value = scene.value(RegisterPlace(number, name))
    text = ""
    if value.value is not None:
        try:
            steps = origin_in(side.session, side.decoded, name, number, False).steps
            text = steps[0].text.partition(": ")[2] if steps else ""
            text = "" if text.startswith("maybe") else text
        except CommandError:
            pass
    return ComparedOperand(name, value.value, value.tier, text)


def _callers(side: Side, number: int) -> List[str]:
    frame = side.decoded.calls(side.session.debugger.function_at).innermost(number)
    found: List[str] = []
    handled = exception_of(frame)
    while frame is not None and frame is not handled:
        found.append(frame.function.name if frame.function is not None else "??")
        if frame.up is None:
            break
        frame = frame.up
    return found + (["<%s>" % handled.event.name] if handled is not None and handled.event is not None else [])


def _branch_doubts(
    left: Side, right: Side, there: Divergence, branches: Tuple[ComparedBranch, ComparedBranch], by_line: bool
) -> List[str]:
    found: List[str] = []
    if not there.is_skipped and not all(
        _decides(side, number) for side, number in ((left, there.left), (right, there.right))
    ):
        found.append(NO_BRANCH if not by_line else OTHER_CODE)
    if by_line:
        lines = [_lines(side, one.branch.address) for side, one in zip((left, right), branches)]
        if lines[0] != lines[1]:
            found.append("the builds have code for other lines of %s" % branches[0].callers[0])
    return found


def _decides(side: Side, number: int) -> bool:
    # Whether an instruction may go several ways.
    history = side.decoded.history
    if not 1 <= number <= len(history):
        return False
    one = history.instruction(number)
    insn = history.blocks.instruction(one.address, one.isa)
    if insn is None or insn.kind is InstructionKind.INDIRECT:
        return insn is not None
    return insn.kind is InstructionKind.DIRECT and not always_taken(
        history.program.read, one.address, one.address, one.isa
    )


def _lines(side: Side, address: int) -> Set[int]:
    # The source lines of the function that holds an address.
    debugger = side.session.debugger
    function = debugger.function_at(address)
    if function is None:
        return set()
    found = [debugger.line_at(at) for at in range(function.start, function.end, 2)]
    return {line.line for line in found if line is not None}


def _functions(left: CallProfile, right: CallProfile) -> Tuple[FunctionChange, ...]:
    found: Dict[str, List[int]] = {}
    for at, profile in enumerate((left, right)):
        for one in profile.functions():
            counts = found.setdefault(one.function.name, [0, 0, 0, 0])
            counts[at] += one.calls
            counts[2 + at] += one.own
    changes = [FunctionChange(name, *counts) for name, counts in found.items()]
    changed = [one for one in changes if one.left_calls != one.right_calls or one.left != one.right]
    return tuple(sorted(changed, key=lambda one: (-abs(one.left - one.right), one.name)))


def _resolution(side: Side) -> int:
    # How far apart cycles are counted at least (IHI 0064, 7.3.14).
    return side.decoded.history.source.registers.get("TRCCCCTLR", 1)


def _times(left: CallProfile, right: CallProfile, fine: int) -> Tuple[TimeChange, ...]:
    medians: Dict[str, int] = {one.function.name: one.median for one in left.functions() if one.median is not None}
    found: List[TimeChange] = []
    for one in right.functions():
        before = medians.get(one.function.name)
        if before is not None and one.median is not None and abs(before - one.median) > fine:
            found.append(TimeChange(one.function.name, before, one.median))
    return tuple(sorted(found, key=lambda one: (-abs(one.left - one.right), one.name)))
