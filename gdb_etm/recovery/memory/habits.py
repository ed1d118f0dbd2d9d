"""Habits: the words that stores of one instruction write.

They are told by what such stores have written, of instructions that wrote one object alone.
"""

from __future__ import annotations

from typing import Dict, Sequence, Set

from gdb_etm.recovery.memory.cells import Cells
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa

# Words that an instruction writes are believed to be in one object if they are no more bytes apart.
_NEAR = 128


def learned(ssa: TraceSsa, cells: Cells, sites: Sequence[int]) -> Dict[int, range]:
    """List the words that the stores of each instruction may write.

    :param cells: The accesses whose address is known.
    :param sites: The address of each access's instruction.
    """
    written: Dict[int, Set[int]] = {}
    for word, cell in cells.words.items():
        for number in cell:
            if ssa.accesses[number].store:
                written.setdefault(sites[number], set()).add(word)
    return {where: _reach(words) for where, words in written.items() if _is_one_object(words)}


def widened(habits: Dict[int, range], more: Dict[int, range]) -> Dict[int, range]:
    """Add what became known by guesses.

    It is no ground for another guess, and makes them fewer.
    """
    found: Dict[int, range] = {}
    for where, words in habits.items():
        others = more.get(where, words)
        found[where] = range(min(words.start, others.start), max(words.stop, others.stop), 4)
    return found


def _is_one_object(words: Set[int]) -> bool:
    ordered = sorted(words)
    return all(later - older <= _NEAR for older, later in zip(ordered, ordered[1:]))


def _reach(words: Set[int]) -> range:
    # The words of the object that some words are in, as far as these tell: it may go on as far on both sides.
    low, high = min(words), max(words)
    return range(low - (high - low), high + (high - low) + 4, 4)
