"""Pointers of which a smaller store has overwritten a part."""

from __future__ import annotations

from typing import Callable, Optional, Sequence

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import Maker, MakerKind, MemoryPlace
from gdb_etm.recovery.values import Tier

_WORD = 4
Look = Callable[[Node], Optional[Suspicion]]
# What leaves a value as it is.
_KEEPING = (MakerKind.COPIED, MakerKind.LOADED, MakerKind.STORED, MakerKind.KEPT, MakerKind.PUSHED, MakerKind.MERGED)


class Torn:
    """Finds pointers that were overwritten by bytes or halfwords.

    :param scene: What is looked at.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, node: Node, path: Sequence[Node], looks: Sequence[Look]) -> Optional[Suspicion]:
        """Look at a word that several stores have made.

        :param path: The nodes up to it, whose first is a pointer that leads nowhere.  The last of them that is an
            address was followed to it, which is as wrong where what it leads to by chance is read.
        :param looks: Other patterns, which may say more of a store.
        """
        if node.maker.kind is not MakerKind.MERGED or not isinstance(node.place, MemoryPlace):
            return None
        path = _from_address(path)
        if node.place.size != _WORD or any(one.maker.kind not in _KEEPING for one in path):
            return None
        if any(len(one.maker.sources) > 1 for one in path[:-1]):
            return None
        if self._is_copy(node.maker):
            return None
        parts = [self._scene.maker(part) for part in node.maker.sources]
        stores = [one for one in parts if one.kind is MakerKind.STORED and one.tier <= Tier.ASSUMED]
        small = [one for one in stores if one.accessed is not None and one.accessed.size < _WORD]
        if not small or len(small) == len(parts) and self._is_text(node.place) and _is_moved(path):
            return None
        # The oldest of them went too far already.
        first = min(small, key=lambda one: one.number)
        part = next(place for place, one in zip(node.maker.sources, parts) if one is first)
        for look in looks:
            known = look(Node(part, first, node.at, False, node.at))
            if known is not None:
                return known
        text = "writes %s over %s" % (_size(first), self._names(node.place))
        return Suspicion(SuspicionKind.OVERRUN, first.number, text, max(one.tier for one in small))

    def _is_copy(self, maker: Maker) -> bool:
        # Whether a word was copied that was stored as one, or stands in the program as one.
        place = self._scene.copied_from(maker)
        if place is None:
            return False
        found = self._scene.maker(place)
        if found.kind is MakerKind.STORED and found.accessed is not None and found.accessed.size >= _WORD:
            return True
        areas = self._scene.names.containers(place.address)
        return bool(areas) and areas[-1].start == place.address and areas[-1].size == _WORD

    def _is_text(self, place: MemoryPlace) -> bool:
        # An array of bytes with a pointer in it is a heap.
        areas = self._scene.names.containers(place.address)
        return bool(areas) and areas[-1].size < place.size

    def _names(self, place: MemoryPlace) -> str:
        areas = self._scene.names.containers(place.address)
        return areas[-1].name if areas and not self._is_text(place) else "a word that holds a pointer"


def _is_moved(path: Sequence[Node]) -> bool:
    # Whether a word came from elsewhere to where it was read as a pointer: there it was text by itself.
    return any(one.maker.kind is MakerKind.STORED for one in path)


def _from_address(path: Sequence[Node]) -> Sequence[Node]:
    # The nodes that a value came through unchanged: from the last address on the way that something was loaded from.
    first = 0
    for at, (reader, node) in enumerate(zip(path, path[1:]), 1):
        if node.is_address and node.place in reader.maker.address:
            first = at
    return path[first:]


def _size(maker: Maker) -> str:
    size = maker.accessed.size if maker.accessed is not None else 0
    return "a byte" if size == 1 else "%d bytes" % size
