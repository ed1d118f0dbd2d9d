"""Where a pointer was made, and the stores of a loop."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.blocks import gives
from gdb_etm.diagnosis.library import is_allocator
from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.makers import KnownAccess, Maker, MakerKind, MemoryPlace, Place, RegisterPlace
from gdb_etm.recovery.values import Tier

# Steps back to where a pointer was made, and instructions back in a loop, at most.
_STEPS = 3000
_LOOP = 6000
# Copies of what an object's address was made from, at most.
_COPIES = 8
# Functions that are told how much they write.
_FILLS = re.compile(r"(__aeabi_)?mem(cpy|move|set)[48]?")
# Functions whose stores are all of one copy.
_COPIERS = re.compile(r"(__aeabi_)?mem(cpy|move|set|clr)\w*|str(n?cpy|n?cat|lcpy|lcat)|stpn?cpy")
# Registers in which a result may be.
_SCRATCH = ("r0", "r1", "r2", "r3")
# The stack pointers.
POINTERS = ("sp", "psp", "msp")
_PLAIN = (MakerKind.COPIED, MakerKind.COMPUTED, MakerKind.LOADED, MakerKind.STORED, MakerKind.KEPT, MakerKind.PUSHED)


class PointerRoot(NamedTuple):
    """Where a pointer was made."""

    # The address that it had.
    address: int
    # The instruction that made it, that read SP for it, or the first that is known.
    number: int
    kind: MakerKind
    # Whether it was made from SP.
    is_stack: bool
    # The allocation that it was returned by, if that is in the history.
    allocation: Optional[ActivationSpan]
    tier: Tier
    # The instructions that it came by, the newest first.
    trail: Tuple[int, ...]
    # The first address that was made from it; of a stack's, as the address itself is SP.
    pointed: int = 0


class PointerRoots:
    """Finds where pointers were made.

    :param scene: What is looked at.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._roots: Dict[RegisterPlace, Optional[PointerRoot]] = {}

    def base(self, registers: Sequence[RegisterPlace]) -> Optional[RegisterPlace]:
        """Choose the register of an address that holds the pointer."""
        named = [one for one in registers if one.name in POINTERS]
        if named or len(registers) == 1:
            return (named or list(registers))[0]
        known = [one for one in registers if self._is_pointer(one)]
        return known[0] if len(known) == 1 else None

    def _is_pointer(self, place: Place) -> bool:
        value = self._scene.value(place)
        return (
            value.value is not None
            and value.tier <= Tier.ASSUMED
            and self._scene.is_mapped(value.value)
            and (value.value >= 0x1000_0000)
        )

    def root(self, registers: Sequence[RegisterPlace]) -> Optional[PointerRoot]:
        """Find where the pointer of an access was made."""
        base = self.base(registers)
        if base is None:
            return None
        if base not in self._roots:
            self._roots[base] = self._find(base)
        return self._roots[base]

    def allocation(self, place: Place, maker: Maker) -> Optional[ActivationSpan]:
        """Find the outermost function of an allocator that returned a value.

        :param place: What reads the value.
        :param maker: What made it.
        """
        found: Optional[ActivationSpan] = None
        if not isinstance(place, RegisterPlace) or place.name not in _SCRATCH:
            return None
        one, reader = self._scene.activation(maker.number), self._scene.function(place.number)
        if one is None or reader is not None and is_allocator(reader.name):
            return None
        outer: Optional[ActivationSpan] = one
        within = True
        while outer is not None:
            within = within and gives(self._scene, outer)
            if not within and outer.last >= place.number:
                break
            # What is below it may have another name; then that it returns the same tells that it gives it.
            if within or gives(self._scene, outer) and self._scene.result(outer) == self._scene.value(place).value:
                found = outer
            # Also what has ended by calling it, as its last step: what that returns is its own result.
            called_at = None if outer.frame.is_exception else outer.frame.called_at
            outer = self._scene.activation(called_at) if called_at is not None else None
        # Where a caller copies the result to a register that holds it already, nothing is written.
        is_result = place.name == "r0" or found is None or self._scene.result(found) == self._scene.value(place).value
        return found if is_result else None

    def _find(self, base: RegisterPlace) -> Optional[PointerRoot]:
        place: Place = base
        tier = Tier.EXACT
        trail: List[int] = []
        pointed = 0
        for _ in range(_STEPS):
            value = self._scene.value(place)
            if value.value is None or not self._is_pointer(place):
                # A pointer that went one step too far leads nowhere by itself.
                past = self._before(place) if place is base else None
                if past is None:
                    return None
                place = past
                continue
            tier = max(tier, value.tier)
            maker = self._scene.maker(place)
            copied = self._scene.copied_from(maker) if maker.kind is MakerKind.MERGED else None
            if copied is not None and maker.tier <= Tier.ASSUMED:
                # Byte by byte, as containers move what they hold.
                tier, pointed, place = max(tier, maker.tier), value.value, copied
                continue
            # MRS reads what SP is, or what it is not.
            read = [one.name for one in (place, *maker.sources) if isinstance(one, RegisterPlace)]
            is_pointer = isinstance(place, RegisterPlace) and place.name in POINTERS
            is_stack = is_pointer or "psp" in read or "msp" in read
            allocation = self.allocation(place, maker)
            ends = (
                is_stack
                or self._is_fixed(maker)
                or allocation is not None
                or maker.kind not in _PLAIN
                or maker.tier > Tier.ASSUMED
            )
            following = None if ends else self._next(maker)
            if following is None:
                made = place.number if is_stack else maker.number
                return PointerRoot(
                    value.value, made, maker.kind, is_stack, allocation, max(tier, maker.tier), tuple(trail), pointed
                )
            trail.append(maker.number)
            pointed = value.value
            place = following
        return None

    def _before(self, place: Place) -> Optional[Place]:
        source = _operand(self._scene.maker(place))
        return source if source is not None and self._is_pointer(source) else None

    def _next(self, maker: Maker) -> Optional[Place]:
        if len(maker.sources) == 1:
            return maker.sources[0]
        found = [one for one in maker.sources if self._is_pointer(one)]
        return found[0] if len(found) == 1 else None

    def _is_fixed(self, maker: Maker) -> bool:
        # Compilers make addresses of objects from those of others near by, and those with MOVW and MOVT.
        source = self._copied(_operand(maker))
        half = None if source is None else _operand(self._scene.maker(source))
        half = None if half is None or self._is_pointer(half) else half
        return any(one is not None and self._scene.maker(one).kind is MakerKind.CONSTANT for one in (source, half))

    def _copied(self, place: Optional[Place]) -> Optional[Place]:
        # What a register was copied from.
        for _ in range(_COPIES):
            maker = None if place is None else self._scene.maker(place)
            if maker is None or maker.kind not in (MakerKind.COPIED, MakerKind.KEPT) or len(maker.sources) != 1:
                break
            place = maker.sources[0]
        return place


def _operand(maker: Maker) -> Optional[Place]:
    # What a value was computed from, if from one alone.
    return maker.sources[0] if maker.kind is MakerKind.COMPUTED and len(maker.sources) == 1 else None


class Sweep(NamedTuple):
    """The stores of a loop, up to one of them."""

    # The lowest address, and that just past the highest.
    low: int
    high: int
    # The instruction of the first.
    first: int
    stores: int


def filled_by_library(scene: Scene, number: int) -> Optional[Sweep]:
    """Give all that a library's function writes which an instruction belongs to.

    Such as ``memset``: from its first argument on, as many bytes as its last one says (C11, 7.24).
    """
    one = scene.activation(number)
    if one is None or not one.is_whole or one.function is None or not _FILLS.fullmatch(one.function.name):
        return None
    is_aeabi = one.function.name.startswith("__aeabi_memset")
    low, size = scene.register(one.first, "r0"), scene.register(one.first, "r1" if is_aeabi else "r2")
    return None if low is None or size is None else Sweep(low, low + size, one.first, size)


def initialises(scene: Scene, number: int) -> bool:
    """Check whether a store is of a loop that initialises memory.

    Such a loop begins at a linker's marker and fills more than one object.
    """
    found = whole_sweep(scene, number)
    if found is None or found.stores < 2:
        return False
    first = scene.names.containers(found.low)
    outside = not first or not first[0].start <= found.high - 1 < first[0].end
    return scene.names.is_marker(found.low) and outside


def sweep(scene: Scene, number: int) -> Optional[Sweep]:
    """Find the stores of a loop that lead up to one.

    :param number: The store's.
    """
    here = scene.index.address(number)
    activation = scene.activation(number)
    stored = _store(scene, number)
    if activation is None or stored is None or stored.address is None:
        return None
    if _is_copier(activation):
        return _copied(scene, number, activation)
    low, high = stored.address, stored.address + stored.size
    first, stores, last = number, 1, stored.address
    for one in reversed(scene.index.executions(here, number)):
        if one < activation.first or stores > _LOOP:
            break
        before = _store(scene, one)
        if before is None or before.address is None or abs(before.address - last) != before.size:
            break
        low, high = min(low, before.address), max(high, before.address + before.size)
        first, stores, last = one, stores + 1, before.address
    return Sweep(low, high, first, stores)


def whole_sweep(scene: Scene, number: int) -> Optional[Sweep]:
    """Find all stores of a loop, from one of them.

    :param number: The store's.
    """
    filled = filled_by_library(scene, number)
    if filled is not None:
        return filled
    own, stored, last = scene.activation(number), _store(scene, number), number
    if own is None or stored is None or stored.address is None:
        return None
    address = stored.address
    after = scene.index.executions(scene.index.address(number), min(own.last, number + _LOOP) + 1)
    after = after[bisect_right(after, number) :]
    if _is_copier(own):
        return sweep(scene, next((one for one in reversed(after) if scene.activation(one) is own), number))
    for one in after:
        following = _store(scene, one)
        if following is None or following.address is None or abs(following.address - address) != following.size:
            break
        address, last = following.address, one
    return sweep(scene, last)


def _is_copier(activation: ActivationSpan) -> bool:
    return activation.function is not None and _COPIERS.fullmatch(activation.function.name) is not None


def _copied(scene: Scene, number: int, activation: ActivationSpan) -> Sweep:
    # A library's copy has several stores in its loop, and others after it; what it pushes is its own.
    low, high = _stored(scene, number)
    first, stores = number, 1
    for one in range(number - 1, max(activation.first, number - _LOOP) - 1, -1):
        begin, end = _stored(scene, one)
        template = scene.template(one)
        if begin == end or template is None or SP in template.writes:
            continue
        if end < low or begin > high:
            break
        low, high = min(low, begin), max(high, end)
        first, stores = one, stores + 1
    return Sweep(low, high, first, stores)


def _stored(scene: Scene, number: int) -> Tuple[int, int]:
    # From where to where an instruction stores.
    pieces = [(one.address, one.size) for one in scene.accesses(number) if one.store and one.address is not None]
    if not pieces:
        return 0, 0
    return min(address for address, _ in pieces), max(address + size for address, size in pieces)


def _store(scene: Scene, number: int) -> Optional[KnownAccess]:
    stores = [one for one in scene.accesses(number) if one.store]
    return stores[0] if stores else None


def area_of(areas: Sequence[Area], address: int) -> Optional[Area]:
    """Give the innermost area that holds an address."""
    found: List[Tuple[int, Area]] = [(one.size, one) for one in areas if one.start <= address < one.end]
    return min(found)[1] if found else None


def accessed_at(maker: Maker) -> Optional[MemoryPlace]:
    """Give what a store or load accessed, if that is known."""
    return maker.accessed if maker.tier <= Tier.ASSUMED else None
