"""Branches that decided whether an instruction ran: control dependence.

An instruction depends on a branch if it runs on one of the branch's ways, and the other one may pass it by (J.
Ferrante, K. Ottenstein, J. Warren: The program dependence graph and its use in optimization, 1987).
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.diagnosis.operands import feeding, tested_flags
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.program.conditions import ALWAYS
from gdb_etm.recovery.functions.branches import FunctionCode
from gdb_etm.recovery.lift.operations import SLOTS
from gdb_etm.recovery.lift.template import FLAGS, Template
from gdb_etm.recovery.makers import Place, RegisterPlace

# Instructions back to a branch, and instructions of a function that are followed from it, at most.
_REACH, _MOST = 2000, 2000


class Decisions:
    """Finds the branches that an instruction depends on.

    :param scene: The history.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._frames = scene.recovery.rules.frames
        self._code = FunctionCode(self._frames, scene.history.program) if self._frames is not None else None
        # By the addresses of a branch's other way, of the instruction and of the branch; whether it called what ran.
        self._passed: Dict[Tuple[int, int, int, bool], bool] = {}

    def before(self, number: int, address: int) -> Optional[int]:
        """Give the newest branch on which it depended that an instruction ran.

        Where that is none of its own function, it is one on which the function's call depended.  A handler depends on
        nothing that the code decides which it interrupts.

        :param number: Of the last instruction before that one.
        :param address: That one's.
        """
        is_called = False
        while True:
            own = self._scene.activation(number)
            if own is None:
                return None
            found = self._inside(number, own, address, is_called)
            if found is not None:
                return found
            called_at, up = own.frame.called_at, own.frame.up
            is_handler = own.frame.is_exception or up is not None and up.is_exception
            if called_at is None or is_handler or not 1 < called_at <= number:
                return None
            number, address, is_called = called_at - 1, self._scene.index.address(called_at), True

    def _inside(self, number: int, own: ActivationSpan, wanted: int, is_called: bool) -> Optional[int]:
        scene = self._scene
        bounds = self._frames.function(wanted) if self._frames is not None else None
        at, following = number + 1, wanted
        while bounds is not None and at > max(own.first, number - _REACH):
            at -= 1
            other = scene.activation(at)
            if other is not own:
                at = other.first if other is not None and other.first > own.first else at
                continue
            template = scene.template(at)
            went, following = following, scene.index.address(at)
            if template is None or template.call or template.taken is None and template.target is None:
                continue
            after = self._after(template, bounds)
            others = [one for one in after if one != went]
            if went in after and any([self._passes(one, wanted, at, bounds, is_called) for one in others]):
                return at
        return None

    def _after(self, template: Template, bounds: Tuple[int, int]) -> List[int]:
        return (self._code.after(template, bounds) if self._code is not None else None) or []

    def _passes(self, start: int, wanted: int, branch: int, bounds: Tuple[int, int], is_called: bool) -> bool:
        # Whether a way leaves the function, or comes to the branch again, without an instruction.  A loop that ended
        # in a caller says nothing of what is called afterwards.
        key = start, wanted, self._scene.index.address(branch), is_called
        if key not in self._passed:
            self._passed[key] = self._follow(start, wanted, branch, bounds, is_called)
        return self._passed[key]

    def _follow(self, start: int, wanted: int, branch: int, bounds: Tuple[int, int], is_called: bool) -> bool:
        todo, seen, back = [start], {wanted}, self._scene.index.address(branch)
        while todo and len(seen) < _MOST:
            at = todo.pop()
            if at == back and is_called:
                continue
            if at == back or not bounds[0] <= at < bounds[1]:
                return True
            template = self._scene.template_at(at, branch) if at not in seen else None
            seen.add(at)
            after = self._after(template, bounds) if template is not None else [at]
            if not after:
                return True
            todo += [one for one in after if one not in seen]
        return False


def decides(template: Template) -> bool:
    """Check whether an instruction decides where execution goes on.

    That is a branch, or a return in an IT block.
    """
    return template.taken is not None or template.target is not None and template.condition != ALWAYS


def compared(scene: Scene, number: int) -> Tuple[Place, ...]:
    """List what a branch was decided by; of flags what set them.

    :param number: The branch's.
    """
    template = scene.template(number)
    slot = None if template is None else template.taken if template.taken is not None else template.target
    if template is None or slot is None:
        return ()
    found: List[Place] = []
    tested = tested_flags(template)
    is_in_it_block = template.condition != ALWAYS
    for name in tested if is_in_it_block else feeding(template.steps, len(template.steps), slot):
        place = RegisterPlace(number, name)
        if name in tested:
            found += scene.maker(place).sources
        elif SLOTS[name] not in FLAGS:
            found.append(place)
    return tuple(dict.fromkeys(found))
