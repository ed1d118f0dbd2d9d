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
    solution = solve(Doubts(), ())
    if solution.contradiction is None:
        return solution, ()
    if solution.doubts.of_memory and reached(solution.ssa, GUESSES[0]):
        return _shared(solution, solve, ram)
    doubts = Doubts()
    for _ in range(ROUNDS):
        if solution.contradiction is None or solution.doubts == doubts:
            break
        doubts = solution.doubts
        solution = solve(doubts, ())
    if solution.contradiction is not None and solution.doubts.of_memory:
        return _shared(solution, solve, ram)
    if solution.contradiction is not None:
        solution.give_up()
    return solution, ()


def _shared(solution: Solution, solve: Solve, ram: Tuple[Area, ...]) -> Found:
    # What devices were told to write, as far as that is known before the contradiction; then as far as it is known
    # without memory; or all memory.
    begun = reached(solution.ssa, GUESSES[0])
    found = solve(Doubts(), begun) if begun else solution
    if found.contradiction is None:
        return _told(found, begun)
    whole = solve(Doubts(), ram)
    if whole.contradiction is not None:
        whole.give_up()
        return whole, ()
    for others in [reached(whole.ssa, unit) for unit in GUESSES]:
        found = solve(Doubts(), others) if others not in ((), begun) else found
        if found.contradiction is None:
            return _told(found, others)
    return _told(whole, ram)


def _told(solution: Solution, others: Tuple[Area, ...]) -> Found:
    pieces = ", ".join("%d bytes at %#x" % (high - low, low) for low, high in others)
    text = "others than the core have written memory: what a device was told to write is not known: " + pieces
    solution.findings.append(Finding(text, None, Tier.EXACT))
    return solution, others
