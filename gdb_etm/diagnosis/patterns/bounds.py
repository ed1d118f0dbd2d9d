"""Stores and loads outside of what their pointer was made from."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence, Set, Tuple

from gdb_etm.diagnosis.blocks import block_of
from gdb_etm.diagnosis.library import is_allocator, is_release
from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.patterns.stacks import Stacks
from gdb_etm.diagnosis.pointers import (
    POINTERS,
    PointerRoot,
    PointerRoots,
    accessed_at,
    area_of,
    filled_by_library,
    initialises,
    sweep,
    whole_sweep,
)
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.site import FaultSite
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import KnownAccess, MakerKind, MemoryPlace, RegisterPlace
from gdb_etm.recovery.values import Tier

# Executions of the same instruction that are compared, at most.
_LIKE = 64
# Steps back to where a constant was made, and the instructions that make it of another one, at most.
_STEPS, _MADE = 24, 2
_KEEPING = (MakerKind.COMPUTED, MakerKind.COPIED, MakerKind.KEPT, MakerKind.LOADED)
_INDEX = re.compile(r"\[\d+\]")


class Bounds:
    """Finds accesses outside of their object.

    :param scene: What is looked at.
    :param pointers: Where pointers were made.
    :param stacks: Whether it is the frame that is not where it should be.
    """

    def __init__(self, scene: Scene, pointers: PointerRoots, stacks: Stacks) -> None:
        self._scene = scene
        self._stacks = stacks
        self._pointers = pointers

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a store or a load."""
        accessed = accessed_at(node.maker)
        if accessed is None:
            return None
        if node.maker.kind is MakerKind.STORED:
            if initialises(self._scene, node.maker.number):
                return None
            return (
                self._saved(node, accessed)
                or self._swept(node, accessed)
                or self._past_end(node, accessed)
                or self._outside(node, accessed)
            )
        return self._outside(node, accessed) if node.maker.kind is MakerKind.LOADED else None

    def at_fault(self, site: FaultSite) -> Optional[Suspicion]:
        """Look at the access that faulted."""
        for bad in site.bad:
            if bad.value is None or not bad.access or site.address is None or self._is_allocator(site.number):
                continue
            registers = [place for place in bad.places if isinstance(place, RegisterPlace)]
            root = self._pointers.root(registers)
            if root is None or len(registers) > 1 and self._pointers.base(registers) is None:
                continue
            # Compilers reach an object by its distance from one near by.
            if len(registers) == 1 and not root.trail:
                continue
            home = (
                self._local_of(root)
                if root.is_stack
                else block_of(self._scene, root.allocation) or self._indexed(root, self._varying(registers))
            )
            tier = _sure(root, home)
            if home is not None and tier is not None and not home.start <= bad.value < home.end:
                verb = "writes" if bad.access == "store" else "reads"
                kind = SuspicionKind.OVERRUN if verb == "writes" else SuspicionKind.OVERREAD
                text = "%s outside of %s (%d bytes)" % (verb, home.name, home.size)
                return Suspicion(kind, site.number, text, tier, address=site.address)
        return None

    def _saved(self, node: Node, accessed: MemoryPlace) -> Optional[Suspicion]:
        # A register of a caller is where a store went that is not the function's own push.
        number = node.maker.number
        saved = self._scene.saved_at(number, accessed.address, accessed.size)
        if saved is None:
            return None
        invaded = self._stacks.invaded(number, accessed.address)
        if invaded is not None:
            return invaded
        name = saved.activation.function.name if saved.activation.function is not None else "?"
        what = "the return address" if saved.register == 14 else "the saved r%d" % saved.register
        text = "overwrites %s of %s" % (what, name)
        found = sweep(self._scene, number)
        if found is not None and found.stores > 1:
            area = self._local(saved.activation, number, found.low)
            if area is not None:
                text = "writes past the end of %s (%d bytes), over %s of %s" % (area.name, area.size, what, name)
        return Suspicion(SuspicionKind.SAVED_REGISTER, number, text, node.maker.tier)

    def _local(self, activation: ActivationSpan, number: int, address: int) -> Optional[Area]:
        at = number if self._scene.activation(number) is activation else None
        for one, called_at in self._scene.callers(self._scene.activation(number) or activation):
            at = called_at if one is activation else at
        return area_of(self._scene.locals(activation, at), address) if at is not None else None

    def _swept(self, node: Node, accessed: MemoryPlace) -> Optional[Suspicion]:
        # The stores of a loop run out of an array into what lies behind or before it.
        found = sweep(self._scene, node.maker.number)
        if found is None or found.stores < 2:
            return None
        first = self._scene.accesses(found.first)
        begins = [one.address for one in first if one.store and one.address is not None]
        around = self._areas(node, begins[0])
        left = [one for one in around if not one.start <= accessed.address < one.end]
        left = [one for one in left if one.is_array or one is around[0]]
        if not left or any((one.start, one.end) == (found.low, found.high) for one in around):
            return None
        if self._is_whole(node.maker.number, accessed, around):
            return None
        area = max(left, key=lambda one: one.size)
        text = "writes past the end of %s (%d bytes)" % (area.name, area.size)
        if accessed.address < area.start:
            text = "writes before the start of %s" % area.name
        victim = self._name(node.maker.number, accessed.address)
        return Suspicion(SuspicionKind.OVERRUN, node.maker.number, text + _over(victim), node.maker.tier)

    def _is_whole(self, number: int, accessed: MemoryPlace, around: Sequence[Area]) -> bool:
        # Whether a loop that goes on writes an object from its start to its end, or several of an array.
        found = whole_sweep(self._scene, number)
        is_library = filled_by_library(self._scene, number) is not None
        if found is None or not is_library and found.high <= accessed.address + accessed.size:
            return False
        size = found.high - found.low
        for at, one in enumerate(around):
            is_element = at > 0 and around[at - 1].is_array and found.high <= around[at - 1].end
            if one.start == found.low and (one.size == size or is_element and size % one.size == 0):
                return True
        return False

    def _areas(self, node: Node, address: int) -> Sequence[Area]:
        # What an address is in, of what the pointer of an access was made from.
        root = self._pointers.root(node.maker.address)
        if root is None:
            return ()
        if not root.is_stack:
            found = self._scene.names.containers(address)
            return found if found and found[0].start <= root.address < found[0].end else ()
        owner = self._scene.activation(root.number)
        areas = self._scene.locals(owner, root.number) if owner is not None else ()
        return [one for one in areas if one.start <= address < one.end]

    def _name(self, number: int, address: int) -> str:
        areas = self._scene.names.containers(address)
        return areas[-1].name if areas else ""

    def _past_end(self, node: Node, accessed: MemoryPlace) -> Optional[Suspicion]:
        # An instruction that writes elements of an array, one after the other, went past its end.
        number = node.maker.number
        like = self._like(number, self._scene.index.address(number))
        places = [one for other in like for one in self._scene.accesses(other) if one.store]
        area = self._left(places, accessed.address)
        if area is None or self._is_whole(number, accessed, self._scene.names.containers(area.start)):
            return None
        inside = [one for one in places if one.address is not None and area.start <= one.address < area.end]
        if len(inside) < 2 or any(self._is_like(one.address, accessed.address) for one in places):
            return None
        text = "writes past the end of %s (%d bytes)" % (area.name, area.size)
        return Suspicion(
            SuspicionKind.OVERRUN, number, text + _over(self._name(number, accessed.address)), node.maker.tier
        )

    def _left(self, places: Sequence[KnownAccess], address: int) -> Optional[Area]:
        # The array that ends where stores side by side, the newest of them before an address, came from.
        within = [one for one in self._scene.names.containers(address) if one.is_array]
        for place in (*reversed(places), None):
            around = [one for one in self._scene.names.containers(address - 1) if one.is_array]
            behind = [one for one in around if one.end == address]
            if behind and len(within) < len(around):
                return behind[0]
            if place is None or place.address is None or place.address + place.size != address:
                break
            address = place.address
        return None

    def _is_like(self, one: Optional[int], other: int) -> bool:
        # Whether two addresses are of the same member.
        if one is None:
            return False
        names = [[area.name for area in self._scene.names.containers(address)][-1:] for address in (one, other)]
        return bool(names[0]) and _INDEX.sub("[]", names[0][0]) == _INDEX.sub("[]", names[1][0])

    def _outside(self, node: Node, accessed: MemoryPlace) -> Optional[Suspicion]:
        number = node.maker.number
        root = self._pointers.root(node.maker.address)
        if root is None or root.is_stack:
            return None
        block = block_of(self._scene, root.allocation)
        if block is not None:
            return self._outside_block(node, accessed, block)
        home = self._indexed(root, self._varying(node.maker.address))
        tier = _sure(root, home)
        if home is None or tier is None or home.start <= accessed.address < home.end:
            return None
        if home == self._object(root.address) and not self._stays(number, home):
            return None
        there = self._name(number, accessed.address)
        is_store = node.maker.kind is MakerKind.STORED
        text = "%s outside of %s (%d bytes)" % ("writes" if is_store else "reads", home.name, home.size)
        kind = SuspicionKind.OVERRUN if is_store else SuspicionKind.OVERREAD
        return Suspicion(kind, number, text + (_over(there) if is_store else ""), max(node.maker.tier, tier))

    def _local_of(self, root: PointerRoot) -> Optional[Area]:
        # The array of a frame that a pointer was made from.
        number = min(root.number, len(self._scene.history))
        owner = self._scene.activation(number)
        areas = self._scene.locals(owner, number) if owner is not None else ()
        found = [one for one in areas if one.is_array and one.start <= root.pointed < one.end]
        return found[0] if found else None

    def _indexed(self, root: PointerRoot, registers: int) -> Optional[Area]:
        # What an access may reach: an index is of the array that begins where the pointer leads to.
        areas = self._scene.names.containers(root.address)
        arrays = [one for one in areas if one.is_array and one.start == root.address]
        return arrays[0] if arrays and registers > 1 else areas[0] if areas else None

    def _varying(self, registers: Sequence[RegisterPlace]) -> int:
        # A constant is no index: Armv6-M has the distance of a far member in a register.
        return sum(not self._is_constant(one) for one in registers)

    def _is_constant(self, place: RegisterPlace) -> bool:
        # Armv6-M shifts a small number to make a larger one; calls save and restore it.
        made: Set[int] = set()
        for _ in range(_STEPS):
            maker = self._scene.maker(place)
            if maker.kind is MakerKind.CONSTANT:
                return True
            source = maker.sources[0] if len(maker.sources) == 1 else None
            if maker.kind is MakerKind.LOADED and source is not None:
                stored = self._scene.maker(source)
                source = stored.sources[0] if stored.kind is MakerKind.STORED and len(stored.sources) == 1 else None
                if not isinstance(source, RegisterPlace) or source.name != place.name:
                    return False
                if not any(one.name in POINTERS for one in maker.address):
                    return False
            elif maker.kind is MakerKind.COMPUTED:
                # What a loop counts is an index.
                address = self._scene.index.address(maker.number)
                if address in made or len(made) == _MADE:
                    return False
                made.add(address)
            if maker.kind not in _KEEPING or not isinstance(source, RegisterPlace):
                return False
            place = source
        return False

    def _object(self, address: int) -> Optional[Area]:
        areas = self._scene.names.containers(address)
        return areas[0] if areas else None

    def _stays(self, number: int, home: Area) -> bool:
        # Whether other executions of the same instruction stay within the object that their pointer was made from.
        here = self._scene.index.address(number)
        inside = 0
        for one in self._like(number, here):
            for access, registers in self._accessed(one):
                root = self._pointers.root(registers)
                own = self._object(root.address) if root is not None else None
                if own is not None and own.start <= access < own.end:
                    inside += 1
        return inside > 0

    def _like(self, number: int, address: int) -> Sequence[int]:
        return self._scene.index.executions(address, number)[-_LIKE:]

    def _accessed(self, number: int) -> List[Tuple[int, Sequence[RegisterPlace]]]:
        template = self._scene.template(number)
        accesses = self._scene.accesses(number)
        if template is None or not accesses or accesses[0].address is None:
            return []
        return [(accesses[0].address, self._scene.address_of(number))]

    def _is_allocator(self, number: int) -> bool:
        function = self._scene.function(number)
        return function is not None and (is_allocator(function.name) or is_release(function.name))

    def _outside_block(self, node: Node, accessed: MemoryPlace, block: Area) -> Optional[Suspicion]:
        # Allocators themselves look at what is around a block.
        if self._is_allocator(node.maker.number):
            return None
        if block.start <= accessed.address and accessed.address + accessed.size <= block.end:
            return None
        is_store = node.maker.kind is MakerKind.STORED
        text = "%s outside of %s" % ("writes" if is_store else "reads", block.name)
        kind = SuspicionKind.OVERRUN if is_store else SuspicionKind.OVERREAD
        return Suspicion(kind, node.maker.number, text, node.maker.tier)


def _sure(root: PointerRoot, home: Optional[Area]) -> Optional[Tier]:
    # What it rests on that a pointer is to an object; None where it may be to another one.
    if root.tier <= Tier.ASSUMED:
        return root.tier
    # Who made it is not known, but it leads to where the object begins.
    return Tier.ASSUMED if home is not None and home.start == root.address else None


def _over(name: str) -> str:
    return ", over %s" % name if name else ""
