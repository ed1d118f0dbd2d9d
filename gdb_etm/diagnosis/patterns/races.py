"""Read-modify-write sequences that another context has interrupted."""

from __future__ import annotations

from typing import Optional

from gdb_etm.diagnosis.pointers import accessed_at
from gdb_etm.diagnosis.scene import Activation, Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, MemoryPlace
from gdb_etm.recovery.values import Tier

# Instructions between a load and its store, at most.
_REACH = 2000


class Races:
    """Finds lost updates.

    :param scene: What is looked at.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a store: whether another context has stored there since its function has loaded it."""
        accessed = accessed_at(node.maker)
        if node.maker.kind is not MakerKind.STORED or accessed is None:
            return None
        return self.lost(node.maker.number, accessed)

    def lost(self, number: int, accessed: MemoryPlace) -> Optional[Suspicion]:
        """Find the update that a store loses.

        :param number: The store's.
        """
        scene = self._scene
        own = scene.activation(number)
        if own is None or own.function is None:
            return None
        other: Optional[int] = None
        for one in range(number - 1, max(own.first, number - _REACH) - 1, -1):
            for access in scene.accesses(one):
                if access.address is None:
                    continue
                if (
                    access.address >= accessed.address + accessed.size
                    or access.address + access.size <= accessed.address
                ):
                    continue
                by = scene.activation(one)
                if by is own:
                    return self._lost(number, one, other) if other is not None and not access.store else None
                if access.store and other is None and by is not None and self._interrupts(by, own):
                    other = one
        return None

    def _interrupts(self, by: Activation, own: Activation) -> bool:
        # Whether an activation ran in a handler that interrupted another one's context.
        return by.frame.is_handling and not any(up is own.frame for up in self._to_handler(by))

    def _to_handler(self, by: Activation) -> "list[object]":
        found: "list[object]" = []
        for frame in by.frame.callers():
            if frame.is_exception:
                break
            found.append(frame)
        return found

    def _lost(self, number: int, load: int, other: int) -> Suspicion:
        by = self._scene.function(other)
        text = "stores what it loaded before %s changed it: that change is lost" % (
            by.name if by is not None else "another context"
        )
        return Suspicion(SuspicionKind.RACE, number, text, Tier.ASSUMED, other)
