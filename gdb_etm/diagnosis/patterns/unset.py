"""Values that nobody has set: locals in registers and in frames."""

from __future__ import annotations

from typing import Optional

from gdb_etm.diagnosis.pointers import accessed_at
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
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

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
        scene = self._scene
        reader = scene.activation(place.number) if place.number <= len(scene.history) else None
        if reader is None or not reader.is_whole or reader.function is None:
            return None
        top, bottom = scene.register(reader.first, "sp"), scene.register(place.number, "sp")
        if top is None or bottom is None or not bottom <= place.address < top:
            return None
        maker = node.maker
        is_older = maker.kind in (MakerKind.STORED, MakerKind.PUSHED, MakerKind.BEFORE) and maker.tier <= Tier.ASSUMED
        if (
            not is_older
            or maker.number >= reader.first
            or accessed_at(maker) is None
            and maker.kind is MakerKind.STORED
        ):
            return None
        found = [one for one in scene.locals(reader, place.number) if one.start <= place.address < one.end]
        what = min(found, key=lambda one: one.size).name if found else "a local variable"
        text = "reads %s, which %s has not set" % (what, reader.function.name)
        return Suspicion(SuspicionKind.UNSET, place.number, text, maker.tier)


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
