"""Objects that are linked to themselves: a list without end."""

from __future__ import annotations

from typing import Optional

from gdb_etm.diagnosis.pointers import accessed_at
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, Place

_WORD = 4
# Steps back to a function's argument, at most.
_STEPS = 6


def ringed(scene: Scene, node: Node) -> Optional[Suspicion]:
    """Say that a store links an object to itself.

    It is no mistake in itself: lists without members begin so.
    """
    accessed, maker = accessed_at(node.maker), node.maker
    if maker.kind is not MakerKind.STORED or accessed is None or accessed.size != _WORD or len(maker.sources) != 1:
        return None
    value = scene.value(maker.sources[0]).value
    areas = scene.names.containers(accessed.address)
    own = [area for area in areas[:-1] if area.start == value and not area.is_array and area.size > _WORD]
    if not own or value == accessed.address:
        return None
    text = "sets %s to %s itself: a list that has no end" % (areas[-1].name, own[-1].name)
    function = scene.activation(maker.number)
    called_at = function.frame.called_at if function is not None and not function.frame.is_exception else None
    if function is None or called_at is None or not _is_argument(scene, maker.sources[0], function):
        return Suspicion(SuspicionKind.ORIGIN, maker.number, text, maker.tier)
    # Who calls has chosen the object.
    name = function.function.name if function.function is not None else "a function"
    return Suspicion(
        SuspicionKind.ORIGIN, called_at, "gives %s to %s, which %s" % (own[-1].name, name, text), maker.tier
    )


def _is_argument(scene: Scene, place: Place, own: ActivationSpan) -> bool:
    for _ in range(_STEPS):
        maker = scene.maker(place)
        if maker.number < own.first:
            return own.is_whole
        if len(maker.sources) != 1:
            break
        place = maker.sources[0]
    return False
