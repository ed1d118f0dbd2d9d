"""Addresses that are not aligned: the step that made them so."""

from __future__ import annotations

from typing import Optional, Sequence

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import FaultSite
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, RegisterPlace


class Alignment:
    """Finds where a pointer lost its alignment.

    :param scene: What is looked at.
    :param site: Where it mattered.
    """

    def __init__(self, scene: Scene, site: FaultSite) -> None:
        self._scene = scene
        self._unit = site.bad[0].unit if site.bad else 0

    def look(self, node: Node, path: Sequence[Node]) -> Optional[Suspicion]:
        """Look at an addition: whether it made the address odd.

        :param path: The nodes up to it, with it.
        """
        if not self._unit or node.maker.kind is not MakerKind.COMPUTED or any(one.is_address for one in path):
            return None
        # Behind a distance, or a pointer that is aligned, it is another pointer.
        if not all(self._is_unaligned(self._scene.value(one.place).value) for one in path):
            return None
        value = self._scene.value(node.place).value
        sources = [source for source in node.maker.sources if isinstance(source, RegisterPlace)]
        values = [self._scene.value(source).value for source in sources]
        pointers = [one for one in values if one is not None and self._scene.is_ram(one)]
        if value is None or len(pointers) != 1 or pointers[0] % self._unit:
            return None
        made = (self._unit, pointers[0], value - pointers[0])
        text = "makes a pointer that is no multiple of %d: 0x%08x + %d" % made
        return Suspicion(SuspicionKind.UNALIGNED, node.maker.number, text, node.maker.tier)

    def _is_unaligned(self, value: Optional[int]) -> bool:
        return value is not None and value % self._unit != 0 and self._scene.is_ram(value)
