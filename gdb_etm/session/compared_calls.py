"""Two builds compared by calls, with what their programs say of these."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.analysis.compare import Divergence, Execution, ExecutionComparison, Strand, compare
from gdb_etm.analysis.compare_calls import CallOrder, call_order, plain_name
from gdb_etm.errors import ImageError
from gdb_etm.history.frames import Function
from gdb_etm.program.dies import DebugTree
from gdb_etm.program.elf import open_elf, readable
from gdb_etm.program.inline_stacks import InlineStacks
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.lift.operations import LR, SP, Op
from gdb_etm.recovery.lift.template import Step, Templates
from gdb_etm.session.compared_values import ComparedValues, compared_values
from gdb_etm.session.sides import Side

# Registers that point to a frame: those of A32 and T32 code, and SP.
_FRAME = (7, 11, SP)
# Of the functions that both have at least so many have other lines, in builds that are compared by calls.
_SHARE = 0.5
_LEVEL = re.compile(r"\s-O\w*")
# Functions that are taken out, one after the other.
_MOST = 8


class CallComparison(NamedTuple):
    """What a comparison by calls found."""

    comparison: ExecutionComparison
    # How many functions were compared.
    functions: int
    # Arguments and results; a difference is told only where it is the first one.
    values: ComparedValues


def has_other_lines(left: Side, right: Side) -> bool:
    """Check whether two builds have their lines in another order.

    Their compilers' options say so; or else that most functions have.
    """
    levels = _levels(left), _levels(right)
    if all(levels) and levels[0] != levels[1]:
        return True
    mine, others = _lines(left), _lines(right)
    both = [name for name in mine if name in others]
    return bool(both) and sum(mine[name] != others[name] for name in both) > _SHARE * len(both)


def _levels(side: Side) -> FrozenSet[str]:
    # The optimisation levels that the builds' debug information names (DW_AT_producer; GCC, -grecord-gcc-switches).
    found: Set[str] = set()
    for path in side.session.debugger.program_files():
        with open_elf(path) as elf, suppress(ImageError), readable(path, "has debug information that cannot be read"):
            tree = DebugTree(elf) if elf.has_dwarf_info() else None
            for offset in tree.unit_offsets if tree is not None else ():
                producer = tree.unit_at(offset).get_top_DIE().attributes.get("DW_AT_producer") if tree else None
                found.update(_LEVEL.findall(producer.value.decode("utf-8", "replace")) if producer else ())
    return frozenset(found)


def _lines(side: Side) -> Dict[str, List[int]]:
    # The lines of each function that was called, in the order of its code.
    debugger = side.session.debugger
    found: Dict[str, List[int]] = {}
    for function in _functions(side):
        lines = [debugger.line_at(at) for at in range(function.start, function.end, 2)]
        numbers = [line.line for line in lines if line is not None]
        found[function.name] = [one for at, one in enumerate(numbers) if not at or numbers[at - 1] != one]
    return found


def _functions(side: Side) -> Set[Function]:
    rows = side.decoded.calls(side.session.debugger.function_at).rows()
    return {row.function for row in rows if row.function is not None}


def compared_by_calls(left: Side, right: Side) -> CallComparison:
    """Compare the calls of two executions."""
    sides = (left, right)
    tokens: Dict[str, int] = {}
    orders = [_order(side, tokens, None) for side in sides]
    own = [_own_names(side) for side in sides]
    wanted = (orders[0].names | orders[1].names) & own[0] & own[1]
    wanted = wanted - _inlined(left, wanted) - _inlined(right, wanted)
    doubts: List[str] = []
    for _ in range(_MOST):
        orders = [_order(side, tokens, wanted) for side in sides]
        found = compare(orders[0].execution, orders[1].execution, True)
        there = found.divergence
        if there is None:
            break
        names = [_name_at(side, number) for side, number in zip(sides, (there.left_next, there.right_next))]
        idle = next((name for name in names if name in wanted and not any(_stores(side, name) for side in sides)), None)
        if idle is None:
            break
        # The compiler may leave such a call out, or do it once for several.
        wanted = wanted - {idle}
        doubts.append("calls of %s are left out: it stores nothing, and a compiler may save them" % idle)
    values = compared_values(left, right, list(_pairs(orders[0].execution, orders[1].execution)))
    if values.difference is not None and (there is None or values.difference.left.number <= (there.left_next or 0)):
        # It came before.
        one, other = values.difference
        found = found._replace(divergence=Divergence(one.number - 1, other.number - 1, one.number, other.number, ""))
        return CallComparison(found, len(wanted), values)
    if there is not None:
        # The calls themselves are the last that is alike.
        at = [_called_at(side, number) for side, number in zip(sides, (there.left_next, there.right_next))]
        found = found._replace(divergence=there._replace(left=at[0] or there.left, right=at[1] or there.right))
    return CallComparison(
        found._replace(doubts=(*found.doubts, *doubts)), len(wanted), values._replace(difference=None)
    )


def _pairs(left: Execution, right: Execution) -> Iterator[Tuple[Strand, Strand, int]]:
    # Threads' calls that are alike; not of executions that begin anywhere.
    for thread, own in left.threads.items():
        other = right.threads.get(thread)
        if other is not None and left.is_whole and right.is_whole:
            both = zip(own.tokens, other.tokens)
            count = next((at for at, (a, b) in enumerate(both) if a != b), min(len(own.tokens), len(other.tokens)))
            yield own, other, count


def _called_at(side: Side, number: Optional[int]) -> Optional[int]:
    if number is None:
        return None
    return side.decoded.calls(side.session.debugger.function_at).innermost(number).called_at


def _order(side: Side, tokens: Dict[str, int], wanted: Optional[Set[str]]) -> CallOrder:
    decoded = side.decoded
    return call_order(
        decoded.calls(side.session.debugger.function_at),
        decoded.history.end_reason,
        lambda name: tokens.setdefault(name, len(tokens)),
        (side.first, side.last),
        wanted,
    )


def _name_at(side: Side, number: Optional[int]) -> str:
    address = side.decoded.history.instruction(number).address if number else 0
    function = side.session.debugger.function_at(address) if number else None
    return (plain_name(function.name) or "") if function is not None else ""


def _inlined(side: Side, names: Set[str]) -> FrozenSet[str]:
    # Those that are a part of another function's code somewhere in what ran.
    try:
        stacks = InlineStacks(side.session.debugger.program_files())
    except ImageError:
        return frozenset()
    inner: Set[str] = set()
    for executed in side.decoded.history.distinct_ranges():
        for address in side.decoded.history.addresses(executed):
            inner.update(one.function for one in stacks.at(address)[1:])
    return frozenset(name for name in names if any(_is_named(one, name) for one in inner))


def _is_named(linkage: str, name: str) -> bool:
    # Mangled names hold each part of a name with its length (Itanium C++ ABI, 5.1.2).
    base = name.partition("(")[0].rpartition("::")[2].partition("<")[0]
    return linkage == name or linkage.startswith("_Z") and "%d%s" % (len(base), base) in linkage


def _own_names(side: Side) -> FrozenSet[str]:
    # The functions that have code of their own: compilers fold those that are alike.
    found: Dict[int, Set[str]] = {}
    for path in side.session.debugger.program_files():
        with open_elf(path) as elf:
            table = elf.get_section_by_name(".symtab")
            for symbol in table.iter_symbols() if table is not None else ():
                if symbol["st_info"]["type"] == "STT_FUNC":
                    found.setdefault(symbol["st_value"] & ~1, set()).add(plain_name(symbol.name) or "")
    return frozenset(name for names in found.values() if len(names) == 1 for name in names)


def _stores(side: Side, name: str) -> bool:
    # Whether a function's code, or what it calls, may store anywhere but into its own frame.
    history = side.decoded.history
    templates = Templates(history.program, is_m_profile(history.source.core))
    for function in _functions(side):
        if plain_name(function.name) == name and any(_effects(templates, side, function)):
            return True
    return False


def _effects(templates: Templates, side: Side, function: Function) -> Iterator[bool]:
    history = side.decoded.history
    for executed in history.distinct_ranges():
        if not function.start <= executed.start < function.end:
            continue
        for address in history.addresses(executed):
            template = templates.at(address, executed.isa)
            if template is None:
                yield True
                continue
            yield template.call or template.target is not None and template.target != LR and SP not in template.writes
            for op, _, inputs, _ in template.steps:
                if op == Op.STORE and not {inputs[0], *_made_of(template.steps, inputs[0])} & set(_FRAME):
                    yield True


def _made_of(steps: Sequence[Step], slot: int) -> Set[int]:
    # The slots that an address was computed from.
    wanted = {slot}
    for op, outputs, inputs, _ in reversed(steps):
        if wanted.intersection(outputs) and op != Op.LOAD:
            wanted.update(inputs)
    return wanted
