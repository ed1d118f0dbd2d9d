"""Steps that follow from each other, as a tree in lines."""

from __future__ import annotations

from typing import Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.views.text import align_names, plural

_INDENT = "  "


class TreeStep(NamedTuple):
    """A step of a tree."""

    # Of the instruction; None for none.
    number: Optional[int]
    # "<dispatch+34>" and "rx.c:121"; empty where unknown.
    place: str
    line: str
    text: str
    # The index of the step that it belongs to; None for the first.
    parent: Optional[int]
    # Steps under each other, or beside each other, with the same are a loop's.
    key: Hashable
    # Whether it is beside the way that matters.
    is_aside: bool


class _Folded(NamedTuple):
    # What is shown, in order; of each the one that it is shown under, and the numbers of what repeats it.
    shown: List[int]
    parents: Dict[int, Optional[int]]
    repeats: Dict[int, List[int]]


def tree_lines(steps: Sequence[TreeStep], most: Optional[int]) -> Tuple[List[str], int]:
    """Write a tree; where a loop repeats, once.

    :param steps: Those that matter most first, each after its parent.
    :param most: How many are shown; None: all.
    :returns: Also how many are left out.
    """
    folded = _fold(steps)
    chosen = folded.shown if most is None else folded.shown[:most]
    children: Dict[Optional[int], List[int]] = {}
    for at in chosen:
        children.setdefault(folded.parents[at], []).append(at)
    rows: List[List[str]] = []
    todo: List[Tuple[int, int]] = [(at, 0) for at in reversed(children.get(None, []))]
    while todo:
        at, depth = todo.pop()
        step, indent = steps[at], _INDENT * depth
        number = "" if step.number is None else "#{:,}".format(step.number)
        rows.append([number, step.place, step.line, indent + step.text])
        again = folded.repeats.get(at)
        if again:
            rows.append(["", "", "", "%s[%s]" % (indent, _again(again))])
        todo += reversed(_below(steps, children.get(at, []), depth))
    return align_names(rows), len(folded.shown) - len(chosen)


def _below(steps: Sequence[TreeStep], children: Sequence[int], depth: int) -> List[Tuple[int, int]]:
    # What is aside comes at once, indented, so that a way without forks goes straight down.
    aside = [at for at in children if steps[at].is_aside]
    own = [at for at in children if not steps[at].is_aside]
    return [(at, depth + 1) for at in aside] + [(at, depth + (len(own) > 1)) for at in own]


def _again(numbers: Sequence[int]) -> str:
    last = min(numbers) if numbers[0] > numbers[-1] else max(numbers)
    return "%s like it, to #%s" % (plural(len(numbers), "more", "more"), "{:,}".format(last))


def _fold(steps: Sequence[TreeStep]) -> _Folded:
    found = _Folded([], {}, {})
    # What each step is shown as.
    stands: List[int] = []
    above: List[Dict[Hashable, int]] = []
    beside: Dict[Tuple[Optional[int], Hashable], int] = {}
    for at, step in enumerate(steps):
        keys = above[step.parent] if step.parent is not None else {}
        up = stands[step.parent] if step.parent is not None else None
        same = keys.get(step.key, beside.get((up, step.key)))
        if same is not None:
            stands.append(same)
            above.append(above[same])
            found.repeats.setdefault(same, []).append(step.number or 0)
            continue
        stands.append(at)
        above.append({**keys, step.key: at})
        found.shown.append(at)
        found.parents[at] = up
        beside[up, step.key] = at
    return found
