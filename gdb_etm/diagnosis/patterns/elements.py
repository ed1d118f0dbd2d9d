"""Stores through an index that leave the array of their elements."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.pointers import accessed_at
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.lift.operations import SLOTS, Op
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.makers import MakerKind, RegisterPlace
from gdb_etm.recovery.values import Tier


class Elements:
    """Finds stores whose index is of another array than where they went.

    An index that is shifted left to be a distance is of elements of that size, and the array of them begins where the
    base register leads to.

    :param scene: What is looked at.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a store that has gone to what is no element."""
        accessed, maker = accessed_at(node.maker), node.maker
        scaled = _scaled(self._scene.template(maker.number)) if maker.kind is MakerKind.STORED else None
        if accessed is None or scaled is None or scaled[1] != accessed.size or self._is_copy(node):
            return None
        base = next((one for one in maker.address if SLOTS[one.name] == scaled[0]), None)
        value = self._scene.value(base) if base is not None else None
        if value is None or value.value is None or value.tier > Tier.ASSUMED:
            return None
        arrays = [one for one in self._arrays(value.value, accessed.size) if one.start == value.value]
        victim = self._scene.names.containers(accessed.address)
        if not arrays or not victim or self._arrays(accessed.address, accessed.size):
            # Where it went may be an array of such elements, too, which the compiler reaches by a distance.
            return None
        home = arrays[-1]
        text = "writes outside of %s (%d bytes), over %s" % (home.name, home.size, victim[-1].name)
        return Suspicion(SuspicionKind.OVERRUN, maker.number, text, max(maker.tier, value.tier))

    def _arrays(self, address: int, size: int) -> List[Area]:
        # Those around an address with elements of a size.
        areas: Sequence[Area] = self._scene.names.containers(address)
        return [one for one, inner in zip(areas, areas[1:]) if one.is_array and inner.size == size]

    def _is_copy(self, node: Node) -> bool:
        # A loop that copies or clears an object word by word goes over all its members.
        own = self._scene.activation(node.maker.number)
        source = node.maker.sources[0] if len(node.maker.sources) == 1 else None
        if own is None or not isinstance(source, RegisterPlace):
            return True
        made = self._scene.maker(source)
        if made.kind is MakerKind.LOADED and made.accessed is not None:
            # An argument that the function has put into its frame.
            made = self._scene.maker(made.accessed)
            return made.kind is not MakerKind.STORED or made.number < own.first
        return made.number >= own.first and made.kind is not MakerKind.COMPUTED


def _scaled(template: Optional[Template]) -> Optional[Tuple[int, int]]:
    # Of "[base, index, LSL #n]" the base's slot, and how many bytes one more is.
    steps = template.steps if template is not None else ()
    shifted = {step[1][0]: 1 << step[3][0] for step in steps if step[0] == Op.BITS and step[2][1] == -1 and step[3][0]}
    for step in steps:
        inputs = step[2]
        if step[0] == Op.ADD and inputs[1] in shifted and inputs[2] == -1 and inputs[0] >= 0:
            return inputs[0], shifted[inputs[1]]
    return None
