"""Read-modify-write sequences that another context has interrupted."""

from __future__ import annotations

from bisect import bisect_left
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gdb_etm.diagnosis.index import Touch
from gdb_etm.diagnosis.lost_updates import lost_update
from gdb_etm.diagnosis.pointers import accessed_at
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.slice import Node, Slice
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.diagnosis.uses import find_uses
from gdb_etm.history.frames import exception_of
from gdb_etm.protocols.elements import is_reset
from gdb_etm.recovery.lift.operations import BASEPRI, FAULTMASK, PRIMASK
from gdb_etm.recovery.makers import MakerKind, MemoryPlace, Place
from gdb_etm.recovery.values import Tier

# Bytes of an object whose stores are looked at.
_LARGEST = 1 << 12
# Instructions before a fault whose objects are looked at.
_BEFORE = 300
# Uses of a value that lead what runs somewhere.
_DECIDING = ("compared", "address", "branch")
# Steps back from a pointer to where it was loaded.
_STEPS = 12


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

    def unprotected(self, node: Node) -> Optional[Suspicion]:
        """Look at a thread's store: whether a handler may interrupt the update.

        That handler stores there, too.
        """
        accessed, number = accessed_at(node.maker), node.maker.number
        own = self._scene.activation(number)
        if node.maker.kind is not MakerKind.STORED or accessed is None or own is None or own.frame.is_handling:
            return None
        touches = self._scene.index.touching(accessed.address, accessed.size)
        loads = [one.number for one in touches if not one.store and own.first <= one.number < number]
        if not loads or self._scene.activation(loads[-1]) is not own or self._masks(own):
            return None
        for other in reversed(touches):
            handler = self._scene.activation(other.number)
            if not other.store or handler is None or not handler.frame.is_handling:
                continue
            interrupted = self._scene.interrupted_frames(handler)[:1]
            if any(self._is_alike(one, own) and not self._masks(one) for one, _ in interrupted):
                areas = self._scene.names.containers(accessed.address)
                name = areas[-1].name if areas else "0x%08x" % accessed.address
                text = "updates %s where %s may come in between, which changes it, too"
                exception = exception_of(handler.frame)
                event = exception.event if exception is not None else None
                if event is None or is_reset(event):
                    continue
                by = event.name
                return Suspicion(SuspicionKind.ORIGIN, number, text % (name, by), node.maker.tier, other.number)
        return None

    def _is_alike(self, one: ActivationSpan, own: ActivationSpan) -> bool:
        # Whether a function was called as another time: what its caller has masked is the same.
        called = [at.frame.called_at for at in (one, own)]
        if one is own or one.function is None or one.function != own.function or None in called:
            return one is own
        return len({self._scene.index.address(at or 0) for at in called}) == 1

    def _masks(self, one: ActivationSpan) -> bool:
        # Whether a function says which exceptions may be taken.
        return any(slot in self._scene.sets(one) for slot in (PRIMASK, BASEPRI, FAULTMASK))

    def around(self, slice_: Slice, number: int) -> Optional[Suspicion]:
        """Find the newest lost update of an object of a slice.

        :param number: Where the program went wrong; objects that it used just before count, too.
        """
        near = range(max(number - _BEFORE, 1), number + 1)
        # What a handler used in between matters least.
        context = self._scene.context(number)
        own = [one for one in near if self._scene.context(one) == context]
        addresses = [_address(node) for node in slice_.nodes]
        return self._newest(addresses, own, near) or self._newest(addresses, near, near)

    def _newest(self, addresses: Sequence[int], users: Sequence[int], near: range) -> Optional[Suspicion]:
        # Of the objects at addresses, and of those that instructions have used.
        used = [access.address or 0 for one in users for access in self._scene.accesses(one)]
        objects = {
            area.start: area for address in (*addresses, *used) for area in self._scene.names.containers(address)[:1]
        }
        stores = {
            touch
            for area in objects.values()
            for touch in self._scene.index.touching(area.start, min(area.size, _LARGEST))
            if touch.store
        }
        found: List[Tuple[Suspicion, Touch]] = []
        for touch in sorted(stores):
            own = self._scene.activation(touch.number)
            place = MemoryPlace(touch.number, touch.address, touch.size)
            lost = self._lost(touch.number, place) if own is not None and not own.frame.is_handling else None
            found += [(lost, touch)] if lost is not None else []
        sliced = {area.start for address in addresses for area in self._scene.names.containers(address)[:1]}
        found = [(lost, touch) for lost, touch in found if self._matters(touch, sliced, near)]
        raced = {touch.address for _, touch in found}
        # What two contexts have got from an object whose update was lost, both of them change.
        found = [(lost, touch) for lost, touch in found if not self._is_from(touch, raced)]
        functions: Dict[int, Set[str]] = {}
        for _, touch in found:
            name = self._scene.names.function(self._scene.index.address(touch.number))
            functions.setdefault(touch.address, set()).add(name)
        # Of several functions nobody knows whose matters, unless what was lost last is used by all of them.
        is_one = bool(found) and functions[found[-1][1].address] >= set().union(*functions.values())
        return found[-1][0] if is_one else None

    def _matters(self, touch: Touch, sliced: Set[int], near: range) -> bool:
        # Whether a value is of the slice, or has decided something just before: a sum of anything leads nobody astray.
        if any(area.start in sliced for area in self._scene.names.containers(touch.address)[:1]):
            return True
        place = MemoryPlace(near[0], touch.address, touch.size)
        return any(use.made in _DECIDING for use in find_uses(self._scene, place, len(near)).uses)

    def _is_from(self, touch: Touch, raced: Set[int]) -> bool:
        # Whether the pointer of a store was loaded from one of the addresses.
        todo: List[Place] = list(self._scene.address_of(touch.number))
        for _ in range(_STEPS):
            if not todo:
                break
            maker = self._scene.maker(todo.pop())
            accessed = accessed_at(maker)
            if maker.kind is MakerKind.LOADED and accessed is not None and accessed.address in raced - {touch.address}:
                return True
            todo += maker.sources
        return False

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
