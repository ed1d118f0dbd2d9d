"""Values that nobody has set: locals in registers and in frames."""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.diagnosis.pointers import PointerRoots, accessed_at
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.lift.operations import SLOTS, Op
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.makers import MakerKind, MemoryPlace, RegisterPlace
from gdb_etm.recovery.values import Tier

# Registers that a function must set before it reads them, besides those of its arguments (AAPCS32, 6.1.1).
_SAVED = ("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")
_ARGUMENTS = ("r0", "r1", "r2", "r3")


class Unset:
    """Finds reads of what nobody has set.

    :param scene: What is looked at.
    :param pointers: Where pointers were made.
    """

    def __init__(self, scene: Scene, pointers: PointerRoots) -> None:
        self._scene = scene
        self._pointers = pointers

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a register that an instruction reads, or at a load."""
        place = node.place
        # Libraries have parts in assembly language, such as those that unwind, whose arguments nothing tells of.
        if place.number <= len(self._scene.history) and self._scene.is_library(self._scene.function(place.number)):
            return None
        if isinstance(place, RegisterPlace):
            return self._register(place, node)
        if isinstance(place, MemoryPlace) and not node.is_address:
            return self._memory(place, node)
        return None

    def _register(self, place: RegisterPlace, node: Node) -> Optional[Suspicion]:
        scene = self._scene
        reader = scene.activation(place.number) if place.number <= len(scene.history) else None
        if reader is None or not reader.is_whole or reader.function is None or _is_handler(reader):
            return None
        maker = node.maker
        if maker.kind in (MakerKind.KEPT, MakerKind.SELECTED, MakerKind.HIDDEN) or maker.tier > Tier.ASSUMED:
            return None
        if maker.number >= reader.first or not _reads(scene.template(place.number), place.name):
            return None
        # It may have been set to what it was already.
        if scene.sets(reader).get(SLOTS[place.name], place.number) < place.number:
            return None
        if place.name in _SAVED or self._is_no_argument(place.name, reader):
            text = "reads %s, which %s has not set" % (place.name, reader.function.name)
            return Suspicion(SuspicionKind.UNSET, place.number, text, maker.tier)
        return None

    def _is_no_argument(self, name: str, reader: ActivationSpan) -> bool:
        if name not in _ARGUMENTS or reader.function is None:
            return False
        count = self._scene.names.parameters(reader.function.start)
        return count is not None and _ARGUMENTS.index(name) >= count

    def _memory(self, place: MemoryPlace, node: Node) -> Optional[Suspicion]:
        # A load from a frame of what was stored before the frame was there, or never.
        scene, maker = self._scene, node.maker
        reader = scene.activation(place.number) if place.number <= len(scene.history) else None
        is_known = maker.kind in (MakerKind.PUSHED, MakerKind.BEFORE) or accessed_at(maker) is not None
        is_older = maker.kind in (MakerKind.STORED, MakerKind.PUSHED, MakerKind.BEFORE) and maker.tier <= Tier.ASSUMED
        if reader is None or not is_known or not is_older:
            return None
        owner, number = self._owner(reader, place)
        if owner is None or owner.function is None or not owner.is_whole or maker.number >= owner.first:
            return None
        cfa = scene.cfa(owner, number)
        found = () if cfa is None else scene.names.in_frame(scene.index.address(number), cfa, place.address)
        what = found[-1].name if found else "a local variable"
        text = "reads %s, which %s has not set" % (what, owner.function.name)
        if owner is not reader:
            callee = scene.function(number + 1)
            text = "calls %s, which %s" % (callee.name if callee is not None else "a function", text)
        return Suspicion(SuspicionKind.UNSET, number, text, maker.tier)

    def _owner(self, reader: ActivationSpan, place: MemoryPlace) -> Tuple[Optional[ActivationSpan], int]:
        # Whose frame a load is from, and where that is: at the load, or at the call that its address was given to.
        if self._is_of(reader, place.number, place.address):
            return reader, place.number
        root = self._pointers.root(self._scene.address_of(place.number))
        for owner, called_at in self._scene.callers(reader):
            if self._is_of(owner, called_at, place.address):
                is_own = root is not None and root.is_stack and self._scene.activation(root.number) is owner
                return (owner if is_own else None), called_at
        return None, 0

    def _is_of(self, owner: ActivationSpan, number: int, address: int) -> bool:
        top, bottom = self._scene.register(owner.first, "sp"), self._scene.register(number, "sp")
        return top is not None and bottom is not None and bottom <= address < top


def _is_handler(reader: ActivationSpan) -> bool:
    # What an exception calls may read any register: it switches threads, or looks at what it interrupted.
    up = reader.frame.up
    return up is None or up.is_exception


def _reads(template: Optional[Template], name: str) -> bool:
    # Whether an instruction uses a register's value for more than to save it.
    if template is None:
        return False
    is_push = all(step[0] in (Op.STORE, Op.ADD, Op.SUB, Op.BITS, Op.COPY) for step in template.steps)
    return not (is_push and any(step[0] == Op.STORE for step in template.steps) and 13 in template.writes)
