"""Basic blocks of a function, in reverse postorder."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.recovery.lift.template import Template

# Gives an instruction with those after it, which may be in other functions; None when they are unknown.
Successors = Callable[[int], Optional[Tuple[Template, List[int]]]]


class FlowBlock(NamedTuple):
    """Instructions that run one after the other."""

    # Each with the addresses of those after it.
    instructions: Sequence[Tuple[Template, List[int]]]
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
            blocks[head] = FlowBlock([code[at] for at in run], inside[run[-1]])
    return blocks


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
