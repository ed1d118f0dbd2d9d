"""Updates of an object that are lost: another context stored in between."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.index import Touch
from gdb_etm.diagnosis.scene import Scene


class LostUpdate(NamedTuple):
    """A load and a store, and other contexts' stores in between."""

    load: Touch
    others: Tuple[Touch, ...]
    store: Touch


def lost_updates(scene: Scene, touches: Sequence[Touch]) -> List[LostUpdate]:
    """Find read-modify-write sequences that another context's store interrupted.

    A function loads an object, and stores it later without another look.  Another context is a handler, what a handler
    interrupted, or another thread.

    :param touches: The loads and stores of an object, oldest first.
    :returns: The newest first.
    """
    found = [lost_update(scene, touches, at) for at in range(len(touches) - 1, -1, -1) if touches[at].store]
    return [one for one in found if one is not None]


def lost_update(scene: Scene, touches: Sequence[Touch], at: int) -> Optional[LostUpdate]:
    """Find what a store loses, as :func:`lost_updates` does.

    :param at: The store's index.
    """
    store = touches[at]
    own, context = scene.activation(store.number), scene.context(store.number)
    others: List[Touch] = []
    for one in reversed(touches[:at]):
        if own is None or one.number < own.first:
            return None
        if one.address >= store.address + store.size or store.address >= one.address + one.size:
            continue
        if scene.activation(one.number) is own:
            is_lost = bool(others) and not one.store
            return LostUpdate(one, tuple(reversed(others)), store) if is_lost else None
        if one.store and scene.context(one.number) != context:
            others.append(one)
    return None
