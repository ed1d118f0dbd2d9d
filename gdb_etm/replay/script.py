"""Steps of a history that matter to the call stack, by run.

Few distinct runs make up a long execution, so each is looked at once.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, Gap, Range
from gdb_etm.protocols.recorder import Run
from gdb_etm.replay.effects import PC, Effects

# Kinds of steps: an instruction's effect; where execution goes on, with the instruction set; an event.
EFFECT, ARRIVAL, EVENT = range(3)

# Its kind, how many instructions of the run come before it, and what it is.
Step = Tuple[int, int, Any]
_MATTERS = (Exception_, ExceptionReturn, Gap)


class Script:
    """The steps of a history.

    :param history: The executed instructions.
    """

    def __init__(self, history: ExecutionHistory) -> None:
        self._history = history
        self._known: Dict[int, List[Tuple[List[Step], int]]] = {}
        self._parts: Dict[int, Tuple[List[Step], int]] = {}
        placed = [(entry, event) for entry, event in history.entry_events() if isinstance(event, _MATTERS)]
        # For each of the events how many entries of the history's order come before it.
        self.event_entries = [entry for entry, _ in placed]
        # Exceptions, returns from them, and gaps between entries.
        self.events = [event for _, event in placed]

    def steps(self, number: int, effects: Effects) -> List[Tuple[List[Step], int]]:
        """List a run's steps, part by part, with each part's instruction count.

        :param number: The run's.
        """
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = [self._part(run, effects) for _, run in self._history.run(number).parts()]
        return known

    def _part(self, run: Run, effects: Effects) -> Tuple[List[Step], int]:
        known = self._parts.get(id(run))
        if known is None:
            known = self._parts[id(run)] = _steps(run, effects), run.instructions
        return known


def _steps(run: Run, effects: Effects) -> List[Step]:
    steps: List[Step] = []
    before = 0
    arrives = True
    for _, item in run.items():
        if not isinstance(item, Range):
            if isinstance(item, _MATTERS):
                steps.append((EVENT, before, item))
                arrives = True
            continue
        if arrives:
            # Only what follows a return, an event or another run has to be looked at.
            steps.append((ARRIVAL, before, (item.start, item.isa)))
        found = effects(item)
        steps += [(EFFECT, before + effect.at, effect) for effect in found]
        arrives = any(effect.returns or any(one == PC for one, _ in effect.loads) for effect in found)
        before += item.instructions
    return steps
