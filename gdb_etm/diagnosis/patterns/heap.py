"""Memory that was freed, and used or freed again."""

from __future__ import annotations

from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.blocks import Freed, block_of, freed, gives
from gdb_etm.diagnosis.index import Touch
from gdb_etm.diagnosis.library import is_allocator, is_destructor, is_library, is_release
from gdb_etm.diagnosis.pointers import PointerRoot, PointerRoots, accessed_at
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.site import FaultSite
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.history.frames import Frame, Function
from gdb_etm.recovery.lift.operations import Op
from gdb_etm.recovery.makers import MakerKind, MemoryPlace, RegisterPlace
from gdb_etm.recovery.values import Tier

# Bytes of a block, at least.
_SMALLEST = 8
# Bytes that an instruction pushes below SP as it was before, at most.
_PUSHED = 128
# How the address of an object is made.
_FIXED = (MakerKind.CONSTANT, MakerKind.COMPUTED)
# So often a block is given by what is not seen, at least, until it is known that there is such a thing.
_AGAIN = 2
# Where the way of a pointer is lost.
_OPEN = (MakerKind.HIDDEN, MakerKind.OUTSIDE)


class Release(NamedTuple):
    """A block that was given back."""

    address: int
    # The call's instruction.
    number: int
    # The function that took it.
    activation: ActivationSpan


class Heap:
    """Finds uses of memory after it was freed.

    :param scene: What is looked at.
    :param pointers: Where pointers were made.
    """

    def __init__(self, scene: Scene, pointers: PointerRoots) -> None:
        self._scene = scene
        self._pointers = pointers
        self._found: Optional[List[Release]] = None
        self._blocks: Optional[Dict[int, List[int]]] = None
        # By its first instruction, whether a call of such a function only counts.
        self._counting: Dict[int, bool] = {}

    @property
    def releases(self) -> List[Release]:
        """The blocks that were given back, oldest first."""
        if self._found is None:
            self._found = self._seen(self._find())
        return self._found

    def _seen(self, found: List[Release]) -> List[Release]:
        # Without those of functions whose blocks are written and freed again and again, and given by what is not seen,
        # such as an allocator that is inlined.
        unseen: Counter[Optional[Function]] = Counter()
        last: Dict[int, Release] = {}
        for one in found:
            before, function = last.get(one.address), one.activation.function
            last[one.address] = one
            if before is not None and unseen[function] < _AGAIN and self._is_given_unseen(before, one):
                unseen[function] += 1
        return [one for one in found if unseen[one.activation.function] < _AGAIN]

    def _is_given_unseen(self, before: Release, release: Release) -> bool:
        if any(before.number < one < release.number for one in self._given().get(release.address, ())):
            return False
        between = range(before.activation.last + 1, release.activation.first)
        touches = self._scene.index.touching(release.address, _SMALLEST, between.start)
        stores = [one.number for one in touches if one.store and one.number in between]
        return any(not self._is_inside(one) for one in stores) and not self._counts(before)

    def _find(self) -> List[Release]:
        # By frame: what it frees, and what those it calls free for it.
        taken = {id(one.frame): freed(self._scene, one) for one in self._scene.activations()}
        inner: Dict[int, List[Optional[Freed]]] = {}
        for one in self._scene.activations():
            if one.function is not None and is_release(one.function.name):
                inner.setdefault(id(one.frame.up), []).append(taken[id(one.frame)])
        found: List[Release] = []
        for one in self._scene.activations():
            block, called_at, up = taken[id(one.frame)], one.frame.called_at, one.frame.up
            if block is None or called_at is None or up is None or up.function is None:
                continue
            outer, own = taken.get(id(up)), inner.get(id(one.frame), ())
            is_kept = block.is_object and own and all(other is None or other.address != block.address for other in own)
            # Of functions that call one another to free the outermost counts.
            if not is_kept and (outer is None or outer.address != block.address):
                found.append(Release(block.address, called_at, one))
        return found

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at an access: whether its block was freed before."""
        accessed = accessed_at(node.maker)
        if accessed is None or node.maker.kind not in (MakerKind.LOADED, MakerKind.STORED):
            return None
        number = node.maker.number
        if self._is_inside(number):
            return None
        root = self._pointers.root(node.maker.address)
        if root is not None and root.allocation is not None and node.maker.kind is MakerKind.LOADED:
            unset = self._unset(node, root.allocation)
            if unset is not None:
                return unset
        if root is not None and (root.allocation is not None or root.kind is MakerKind.BEFORE):
            # A pointer that is older than the history leads to a block that was given before it.
            start = root.address if root.allocation is None else self._scene.result(root.allocation)
            since = 0 if root.allocation is None else root.allocation.last
            release = self._first_end(start, since, number)
            if release is not None:
                if any(release.activation.first <= one <= release.activation.last for one in root.trail):
                    # The pointer came through what was free: somebody took it from there.
                    return None
                if self._is_container(release):
                    return self._kept(number, release, root)
                return self._freed(node.maker.number, release, node.maker.kind is MakerKind.STORED)
            return None
        # Who gave the block is not known.
        is_open = root is None or root.kind in _OPEN
        base = self._pointers.base(node.maker.address) if is_open else None
        pointer = self._scene.value(base).value if base is not None else None
        found = self._free_at(number, pointer) if pointer is not None else None
        if found is None or self._is_container(found) or not self._is_paired(found):
            return None
        return self._freed(number, found, node.maker.kind is MakerKind.STORED)

    def _first_end(self, start: Optional[int], since: int, number: int) -> Optional[Release]:
        # The release of the block that began there then: what began there afterwards is another one.
        if start is None:
            return None
        found: Optional[Release] = None
        for release in self.releases:
            if since < release.number < number and release.address == start and not self._counts(release):
                if found is not None and any(
                    found.number < one < release.number for one in self._given().get(start, ())
                ):
                    break
                found = release
        return found

    def _counts(self, release: Release) -> bool:
        # Whether a call has only counted one user less, so that the block stays.
        if release.activation.first not in self._counting:
            self._counting[release.activation.first] = self._only_counts(release)
        return self._counting[release.activation.first]

    def _only_counts(self, release: Release) -> bool:
        # It changes nothing else.
        one, context = release.activation, self._scene.context(release.activation.first)
        top = self._scene.register(one.first, "sp")
        changed: Dict[Tuple[int, int], List[int]] = {}
        for number in range(one.first, one.last + 1):
            if self._scene.context(number) != context:
                continue
            bottom = self._scene.register(number, "sp")
            template, accesses = self._scene.template(number), self._scene.accesses(number)
            if template is None or not accesses and any(step[0] == Op.STORE for step in template.steps):
                return False
            for access in accesses:
                address = access.address
                own = None in (top, bottom, address) or (bottom or 0) - _PUSHED <= (address or 0) < (top or 0)
                if access.store and address is not None and not own:
                    changed.setdefault((address, access.size), []).append(number)
                    if len(changed) > 1:
                        return False
        if not changed:
            return False
        (((address, size), numbers),) = changed.items()
        values = [self._scene.value(MemoryPlace(at, address, size)).value for at in (numbers[0], numbers[-1] + 1)]
        return address >= release.address and values[0] is not None and values[0] - 1 == values[1] != 0

    def _is_paired(self, release: Release) -> bool:
        # Whether it is known by which functions blocks are given that this one takes back.
        name = release.activation.function
        alike = (one for one in self.releases if one.activation.function == name)
        return any(one.address in self._given() for one in alike)

    def _is_container(self, release: Release) -> bool:
        # Whether a container of a library has freed its own memory, as it does when it grows.
        scene = self._scene
        function = scene.function(release.number)
        own = function is not None and is_library(function.name, "") and not is_release(function.name)
        return own or is_library("", scene.names.file(scene.index.address(release.number)))

    def _kept(self, number: int, release: Release, root: PointerRoot) -> Optional[Suspicion]:
        # The newest store that kept a pointer to what was freed then.
        for one in root.trail:
            is_store = one < release.number and any(access.store for access in self._scene.accesses(one))
            own = not self._scene.names.is_library_code(self._scene.index.address(one))
            if is_store and own and self._scene.user(one) == one:
                text = "keeps a pointer to the block at 0x%08x, which a container frees at #%s and #%s uses"
                text %= release.address, format(release.number, ","), format(number, ",")
                return Suspicion(SuspicionKind.FREED, one, text, Tier.ASSUMED, number)
        return None

    def _unset(self, node: Node, allocation: ActivationSpan) -> Optional[Suspicion]:
        # A load from a block of what was there before it was given out.
        accessed = accessed_at(node.maker)
        maker = self._scene.maker(accessed) if accessed is not None else None
        start, called_at = self._scene.result(allocation), allocation.frame.called_at
        if accessed is None or maker is None or start is None or called_at is None or not start <= accessed.address:
            return None
        if maker.kind is not MakerKind.STORED or maker.tier > Tier.ASSUMED or maker.number >= allocation.first:
            return None
        name = allocation.function.name if allocation.function is not None else "an allocator"
        text = "gets a block at 0x%08x from %s, and sets nothing at offset %d, which #%s reads" % (
            start,
            name,
            accessed.address - start,
            format(node.maker.number, ","),
        )
        return Suspicion(SuspicionKind.UNSET, called_at, text, max(maker.tier, node.maker.tier), node.maker.number)

    def _free_at(self, number: int, address: int) -> Optional[Release]:
        # The release of a block that begins at an address, if it was not given out again.
        for release in reversed(self.releases):
            if release.number < number and release.address == address and not self._counts(release):
                again = any(release.number < given < number for given in self._given().get(address, ()))
                return None if again else release
        return None

    def _given(self) -> Dict[int, List[int]]:
        # When a block that begins at an address was given out.
        if self._blocks is None:
            self._blocks = {}
            for one in self._scene.activations():
                if gives(self._scene, one):
                    start = self._scene.result(one)
                    if start is not None:
                        self._blocks.setdefault(start, []).append(one.first)
        return self._blocks

    def corrupted(self, site: FaultSite) -> Optional[Suspicion]:
        """Look for what may have led an allocator astray.

        :param site: What went wrong; only an allocator's own instruction is looked at.
        """
        # A branch that went astray is the last instruction; what faulted else is that behind it, perhaps its caller's.
        address = None if site.is_branch else site.address
        if not self._is_inside(site.number, address):
            return None
        return self._no_block(site.number) or self._twice() or self._written(site.number)

    def _no_block(self, number: int) -> Optional[Suspicion]:
        # What a C library's function that went wrong was to free, and that is no block's beginning (C11, 7.22.3.3).
        one = self._scene.activation(number)
        active = _frames(one) if one is not None else []
        for release in reversed(self.releases):
            if not any(release.activation.frame is frame for frame in active):
                continue
            if not self._scene.is_library(release.activation.function):
                return None
            first = release.activation.first
            passed = [RegisterPlace(first, name) for name in ("r0", "r1")]
            passed = [place for place in passed if self._scene.value(place).value == release.address]
            what = self._no_beginning(self._pointers.root(passed[:1]), release.address) if passed else ""
            return Suspicion(SuspicionKind.FREED, release.number, "frees " + what, Tier.ASSUMED) if what else None
        return None

    def _no_beginning(self, root: Optional[PointerRoot], address: int) -> str:
        if root is None or root.tier > Tier.ASSUMED:
            return ""
        if root.is_stack:
            return "memory of the stack, which no allocator gave"
        areas = self._scene.names.containers(address)
        if root.kind in _FIXED and areas and not any(areas[0].start <= one < areas[0].end for one in self._given()):
            return "%s, which no allocator gave" % areas[0].name
        block = block_of(self._scene, root.allocation)
        if block is None or not block.start < address < block.end:
            return ""
        return "0x%08x, which is %d bytes behind the beginning of %s" % (address, address - block.start, block.name)

    def _written(self, number: int) -> Optional[Suspicion]:
        for release in reversed(self.releases):
            given = [one for one in self._given().get(release.address, ()) if one > release.number]
            until = min(given, default=number)
            for touch in reversed(self._scene.index.touching(release.address, _SMALLEST)):
                inside = release.activation.last < touch.number < until
                if touch.store and inside and not self._is_inside(touch.number):
                    if self._is_given(touch, release.number) or self._counts(release):
                        break
                    return self._freed(touch.number, release, True)
        return None

    def _is_given(self, touch: Touch, since: int) -> bool:
        # Whether memory is of a block that was given since, which may begin elsewhere.
        ends: Dict[int, List[int]] = {}
        for one in self._scene.activations():
            start = self._scene.result(one) if since < one.first < touch.number and gives(self._scene, one) else None
            if start is not None and start <= touch.address:
                block = block_of(self._scene, one)
                ends.setdefault(start, []).extend([block.end] if block is not None else [])
        # Of a size that is not known it may be.
        return any(not known or touch.address < max(known) for known in ends.values())

    def _is_inside(self, number: int, address: Optional[int] = None) -> bool:
        # Whether an instruction is the allocator's own; with an address that is what comes next.
        one = self._scene.activation(number)
        if one is None:
            return True
        functions = [frame.function for frame in _frames(one) if frame.function is not None]
        if address is not None and not self._scene.names.beginning(address):
            # What the last instruction has returned from is over.
            over = next((at for at, one in enumerate(functions) if one.start <= address < one.end), 0)
            functions = functions[over:]
        return any(is_allocator(one.name) or is_release(one.name) for one in functions)

    def _freed(self, number: int, release: Release, is_store: bool) -> Suspicion:
        function = self._scene.function(number)
        verb = "writes" if is_store else "reads"
        by = function.name if function is not None else "code"
        text = "%s the block at 0x%08x, which %s %s at #%s all the same"
        freed_at, how = self._destroyed_at(release.number)
        text %= how, release.address, by, verb, format(number, ",")
        return Suspicion(SuspicionKind.FREED, freed_at, text, Tier.ASSUMED, number)

    def _destroyed_at(self, number: int) -> Tuple[int, str]:
        # A destructor frees what its object has: who destroys the object has freed it.
        one = self._scene.activation(number)
        frame = one.frame if one is not None else None
        at = number
        while frame is not None and frame.function is not None and frame.called_at is not None:
            # By its name: where a function of the program begins a library's may be inlined.
            own = is_destructor(frame.function.name) or is_library(frame.function.name, "")
            if not own or frame.is_exception:
                break
            at, frame = frame.called_at, frame.up
        return at, "frees" if at == number else "destroys an object, which frees"

    def _twice(self) -> Optional[Suspicion]:
        # A block that was freed twice, and not given out in between.
        given = self._given()
        pairs: List[Tuple[Release, Release]] = []
        freed: Dict[int, Release] = {}
        for release in self.releases:
            before = freed.get(release.address)
            again = [number for number in given.get(release.address, ()) if before and before.number < number]
            is_twice = before is not None and not any(number < release.number for number in again)
            if before is not None and is_twice and not self._counts(before):
                pairs.append((before, release))
            freed[release.address] = release
        if not pairs:
            return None
        before, release = pairs[-1]
        freed_at, how = self._destroyed_at(release.number)
        text = "%s the block at 0x%08x, which was freed at #%s already"
        text %= how, release.address, format(before.number, ",")
        return Suspicion(SuspicionKind.FREED, freed_at, text, other=before.number)


def _frames(one: ActivationSpan) -> List[Frame]:
    # Its own and those above.  What ends by calling another function has gone, but it is what that works for.
    found: List[Frame] = []
    frame: Optional[Frame] = one.frame
    while frame is not None and not frame.is_exception:
        found.append(frame)
        frame = frame.up
    return found
