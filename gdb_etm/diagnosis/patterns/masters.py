"""Memory that another master wrote: DMA with a wrong address or length."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.diagnosis.transfers import made_by, transfers
from gdb_etm.recovery.makers import MakerKind, MemoryPlace
from gdb_etm.recovery.transfers import Length, Transfer
from gdb_etm.recovery.values import Tier


class Masters:
    """Finds transfers that went over what they were not meant for.

    :param scene: What is looked at.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._found: Optional[List[Transfer]] = None

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a value that was loaded from memory which others write."""
        place = node.place
        if node.maker.kind is not MakerKind.DEVICE or not isinstance(place, MemoryPlace):
            return None
        if not self._scene.is_ram(place.address):
            return None
        if self._found is None:
            self._found = transfers(self._scene)
        for one in reversed(self._found):
            reached = one.reaching(place.address, place.size) if one.number < place.number else None
            if reached is not None:
                return self._wrong(one, reached, place.address) or self._stale(one, reached[1], place)
        return None

    def _stale(self, one: Transfer, size: int, place: MemoryPlace) -> Optional[Suspicion]:
        # A frame that is gone: what the core has stored there since was overwritten.
        scene, number = self._scene, made_by(self._scene, one.number, one.register)
        owner = scene.activation(number)
        top = scene.register(owner.first, "sp") if owner is not None and owner.is_whole else None
        bottom = scene.register(one.number, "sp")
        if owner is None or top is None or bottom is None or not bottom <= one.target < top:
            return None
        if owner.last >= place.number or not self._is_overwritten(place, owner.last):
            return None
        text = "lets a device (0x%08x) write %d bytes to a local variable, and returns; it writes what #%s reads"
        text %= (one.register & ~0xFFF, size, format(place.number, ","))
        return Suspicion(SuspicionKind.STALE_FRAME, number, text, Tier.ASSUMED, one.number)

    def _is_overwritten(self, place: MemoryPlace, since: int) -> bool:
        value, touches = self._scene.value(place), self._scene.index.touching(place.address, 1)
        stores = [touch.number for touch in touches if touch.store and since < touch.number < place.number]
        origins = self._scene.recovery.origins(stores[-1]) if stores else None
        stored = origins.stored(stores[-1], place.address) if origins is not None else None
        return stored is not None and stored[1] is not None and bool((value.bits ^ stored[1]) & value.known & 0xFF)

    def _wrong(self, one: Transfer, reached: Tuple[Length, int], address: int) -> Optional[Suspicion]:
        length, size = reached
        areas = self._scene.names.containers(one.target)
        victim = self._scene.names.containers(address)
        left = [area for area in areas if not area.start <= address < area.end and (area.is_array or area is areas[0])]
        if left:
            home = max(left, key=lambda area: area.size)
            is_long = one.target + size > home.end and size > home.size - (one.target - home.start)
            number = made_by(self._scene, length.number, length.register)
            return self._accused(one, number, size, home, _over(victim)) if is_long else None
        inner = areas[-1] if areas else None
        if inner is not None and not inner.is_array and inner.size < size and not _in_array(areas):
            return self._accused(one, made_by(self._scene, one.number, one.register), size, inner, "")
        return None

    def _accused(self, one: Transfer, number: int, size: int, home: Area, over: str) -> Suspicion:
        text = "lets a device (0x%08x) write %d bytes to %s, which has %d%s"
        text %= (one.register & ~0xFFF, size, home.name, home.size - (one.target - home.start), over)
        # Which numbers a device takes for a length is not known.
        other = None if one.number == number else one.number
        return Suspicion(SuspicionKind.TRANSFER, number, text, Tier.ASSUMED, other)


def _in_array(areas: Sequence[Area]) -> bool:
    # Whether what is written to is an element of several.
    return any(area.is_array for area in areas[1:])


def _over(victim: Sequence[Area]) -> str:
    return ", over %s" % victim[-1].name if victim else ""
