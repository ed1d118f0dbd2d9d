"""Facts that contradict each other: what is doubted first.

Where the program gave addresses of RAM to devices, what these reach is taken to be others'; else facts are doubted as
their contradictions name them.
"""

from __future__ import annotations

from typing import Callable, Tuple

from gdb_etm.recovery.segment import Solution
from gdb_etm.recovery.solve.doubts import ROUNDS, Doubts
from gdb_etm.recovery.transfers import GUESSES, Area, reached
from gdb_etm.recovery.values import Finding, Tier

# Solves a piece without what is doubtful, and without believing some memory.
Solve = Callable[[Doubts, Tuple[Area, ...]], Solution]
Found = Tuple[Solution, Tuple[Area, ...]]


def agreeing(solve: Solve, ram: Tuple[Area, ...]) -> Found:
    """Solve a piece so that what is relied on agrees.

    :param ram: All memory that others may write.
    :returns: The solution, and the memory that others turn out to write.
    """
    others: Tuple[Area, ...] = ()
    solution = solve(Doubts(), others)
    known = reached(solution.ssa, GUESSES[0]) if _is_of_memory(solution) else ()
    if known:
        solution, others = _shared(solve, ram, known)
    doubts = Doubts()
    for _ in range(ROUNDS):
        if solution.contradiction is None or solution.doubts == doubts:
            break
        doubts = solution.doubts
        solution = solve(doubts, others)
    if not known and _is_of_memory(solution):
        solution, others = _shared(solve, ram, ())
    if solution.contradiction is not None:
        solution.give_up()
    elif others:
        pieces = ", ".join("%d bytes at %#x" % (high - low, low) for low, high in others)
        text = "others than the core have written memory: what a device was told to write is not known: " + pieces
        solution.findings.append(Finding(text, None, Tier.EXACT))
    return solution, others


def _is_of_memory(solution: Solution) -> bool:
    return solution.contradiction is not None and solution.doubts.of_memory


def _shared(solve: Solve, ram: Tuple[Area, ...], known: Tuple[Area, ...]) -> Found:
    # With what devices were told to write, as far as that is known before the contradiction; then as far as it is known
    # without memory; or with none of it.  Where even that contradicts something else, too, the first guess stays.
    first = solve(Doubts(), known) if known else None
    if first is not None and first.contradiction is None:
        return first, known
    whole = solve(Doubts(), ram)
    if whole.contradiction is not None:
        return (whole, ram) if first is None else (first, known)
    for others in [reached(whole.ssa, unit) for unit in GUESSES]:
        found = solve(Doubts(), others) if others not in ((), known) else None
        if found is not None and found.contradiction is None:
            return found, others
    return whole, ram
