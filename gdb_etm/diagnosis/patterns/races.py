"""Read-modify-write sequences that another context has interrupted."""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, Optional, Sequence, Set

from gdb_etm.diagnosis.lost_updates import lost_update
from gdb_etm.diagnosis.pointers import accessed_at
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node, Slice
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, MemoryPlace
from gdb_etm.recovery.values import Tier

# Bytes of an object whose stores are looked at.
_LARGEST = 1 << 12
# Instructions before a fault whose objects are looked at.
_BEFORE = 300


class Races:
    """Finds lost updates.

    :param scene: What is looked at.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a store: whether it loses another context's."""
        accessed = accessed_at(node.maker)
        if node.maker.kind is not MakerKind.STORED or accessed is None:
            return None
        return self._lost(node.maker.number, accessed)

    def around(self, slice_: Slice, number: int) -> Optional[Suspicion]:
        """Find the newest lost update of an object of a slice.

        :param number: Where the program went wrong; objects that it used just before count, too.
        """
        near = range(max(number - _BEFORE, 1), number + 1)
        # What a handler used in between matters least.
        context = self._scene.context(number)
        own = [one for one in near if self._scene.context(one) == context]
        addresses = [_address(node) for node in slice_.nodes]
        return self._newest(addresses, own) or self._newest(addresses, near)

    def _newest(self, addresses: Sequence[int], near: Sequence[int]) -> Optional[Suspicion]:
        # Of the objects at addresses, and of those that instructions have used.
        used = [access.address or 0 for one in near for access in self._scene.accesses(one)]
        objects = {
            area.start: area for address in (*addresses, *used) for area in self._scene.names.containers(address)[:1]
        }
        stores = {
            touch
            for area in objects.values()
            for touch in self._scene.index.touching(area.start, min(area.size, _LARGEST))
            if touch.store
        }
        newest: Optional[Suspicion] = None
        functions: Dict[int, Set[str]] = {}
        address = 0
        for touch in sorted(stores):
            own = self._scene.activation(touch.number)
            if own is not None and not own.frame.is_handling:
                found = self._lost(touch.number, MemoryPlace(touch.number, touch.address, touch.size))
                if found is not None:
                    newest, address = found, touch.address
                    name = self._scene.names.function(self._scene.index.address(touch.number))
                    functions.setdefault(address, set()).add(name)
        # Of several functions nobody knows whose matters, unless what was lost last is used by all of them.
        return newest if newest is not None and functions[address] >= set().union(*functions.values()) else None

    def _lost(self, number: int, accessed: MemoryPlace) -> Optional[Suspicion]:
        # The update that a store loses.
        function = self._scene.activation(number)
        since = function.first if function is not None else number
        touches = self._scene.index.touching(accessed.address, accessed.size, since)
        own = range(bisect_left(touches, (number,)), bisect_left(touches, (number + 1,)))
        stores = [at for at in own if touches[at].store]
        found = lost_update(self._scene, touches, stores[-1]) if stores else None
        if found is None:
            return None
        other = found.others[-1].number
        by = self._scene.function(other)
        text = "stores what it loaded before %s changed it: that change is lost" % (
            by.name if by is not None else "another context"
        )
        return Suspicion(SuspicionKind.RACE, number, text, Tier.ASSUMED, other)


def _address(node: Node) -> int:
    accessed = accessed_at(node.maker)
    if accessed is not None:
        return accessed.address
    return node.place.address if isinstance(node.place, MemoryPlace) else 0
