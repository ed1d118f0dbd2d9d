"""Addresses that are not aligned: the step that made them so."""

from __future__ import annotations

from typing import Optional, Sequence

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import FaultSite
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, RegisterPlace

_WORD = 4


class Alignment:
    """Finds where a pointer lost its alignment.

    :param scene: What is looked at.
    :param site: Where it mattered.
    """

    def __init__(self, scene: Scene, site: FaultSite) -> None:
        self._scene = scene
        self._is_asked = bool(site.bad) and site.bad[0].why.startswith("not a multiple")

    def look(self, node: Node, path: Sequence[Node]) -> Optional[Suspicion]:
        """Look at an addition: whether it made the address odd.

        :param path: The nodes up to it.
        """
        if not self._is_asked or node.maker.kind is not MakerKind.COMPUTED or any(one.is_address for one in path):
            return None
        value = self._scene.value(node.place).value
        sources = [source for source in node.maker.sources if isinstance(source, RegisterPlace)]
        values = [self._scene.value(source).value for source in sources]
        if value is None or not value % _WORD or not self._scene.is_ram(value):
            return None
        pointers = [one for one in values if one is not None and self._scene.is_ram(one)]
        if len(pointers) != 1 or pointers[0] % _WORD:
            return None
        text = "makes a pointer that is no multiple of 4: 0x%08x + %d" % (pointers[0], value - pointers[0])
        return Suspicion(SuspicionKind.UNALIGNED, node.maker.number, text, node.maker.tier)
