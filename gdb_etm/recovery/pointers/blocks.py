"""Basic blocks of a function, in reverse postorder."""

from __future__ import annotations

from typing import Callable, Dict, Final, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import InstructionKind
from gdb_etm.recovery.lift.operations import FLAGS, LR, SP, TEMPORARY, Op
from gdb_etm.recovery.lift.template import Step, Template
from gdb_etm.recovery.pointers.summaries import ARGUMENTS

# Gives an instruction with those after it, which may be in other functions; None when they are unknown.
Successors = Callable[[int], Optional[Tuple[Template, List[int]]]]


# What a call need not keep (AAPCS32, 6.1.1), with the argument registers.
SCRATCH = (*ARGUMENTS, 12)
FLAG_SLOTS: Final = frozenset([slot for slot, _ in FLAGS])


class Moves(NamedTuple):
    """What an instruction does but for the flags, which are not followed."""

    template: Template
    # The addresses of those after it.
    after: Sequence[int]
    steps: Sequence[Step]
    # The slots that it may leave as they were.
    unsure: Sequence[int]
    # The slots that it uses or writes, but for the frame's words.
    slots: FrozenSet[int]
    # Whether something else than the function's own code may run after it.
    leaves: bool


class FlowBlock(NamedTuple):
    """Instructions that run one after the other."""

    moves: Sequence[Moves]
    # The first instructions of the blocks after it, in the same function.
    after: Sequence[int]


def blocks_of(bounds: Tuple[int, int], successors: Successors) -> Optional[Dict[int, FlowBlock]]:
    """Find the blocks of a function, by their first address.

    Where paths meet, as many as can come before.  None when not all of its code is found.

    :param bounds: Where it begins and ends.
    """
    start, end = bounds
    code: Dict[int, Tuple[Template, List[int]]] = {}
    inside: Dict[int, List[int]] = {}
    todo = [start]
    while todo:
        at = todo.pop()
        if at in code:
            continue
        found = successors(at)
        if found is None:
            return None
        code[at] = found
        inside[at] = [one for one in found[1] if start <= one < end]
        todo += inside[at]
    heads = _heads(start, inside)
    blocks: Dict[int, FlowBlock] = {}
    for head in reversed(_postorder(start, inside)):
        if head in heads:
            run = [head]
            while len(inside[run[-1]]) == 1 and inside[run[-1]][0] not in heads:
                run.append(inside[run[-1]][0])
            blocks[head] = FlowBlock([moves_of(bounds, *code[at]) for at in run], inside[run[-1]])
    return blocks


def moves_of(bounds: Tuple[int, int], template: Template, after: Sequence[int]) -> Moves:
    """Prepare an instruction to be followed.

    :param bounds: Where its function begins and ends.
    :param after: The addresses of those after it.
    """
    steps = [one for one in template.steps if not one[1] or one[1][0] not in FLAG_SLOTS or one[0] == Op.UNKNOWN]
    written = [slot for slot in template.writes if slot not in FLAG_SLOTS]
    slots = {slot for _, outputs, inputs, _ in steps for slot in (*outputs, *inputs) if 0 <= slot < TEMPORARY}
    leaves = template.call or template.asks or template.kind is InstructionKind.INDIRECT
    leaves = leaves or not all([bounds[0] <= one < bounds[1] for one in after])
    if leaves:
        slots.update((*SCRATCH, SP, LR, SP if template.target is None or template.target < 0 else template.target))
    unsure = () if template.condition == ALWAYS else tuple(written)
    return Moves(template, after, steps, unsure, frozenset(slots.union(unsure)), leaves)


def _heads(start: int, inside: Dict[int, List[int]]) -> Set[int]:
    # Where a block begins: where paths meet or part.
    heads = {start}
    seen: Set[int] = set()
    for after in inside.values():
        heads.update([one for one in after if one in seen or len(after) > 1])
        seen.update(after)
    return heads


def _postorder(start: int, inside: Dict[int, List[int]]) -> List[int]:
    order: List[int] = []
    seen = {start}
    path = [(start, iter(inside[start]))]
    while path:
        at, rest = path[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            order.append(at)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(inside[following])))
    return order
