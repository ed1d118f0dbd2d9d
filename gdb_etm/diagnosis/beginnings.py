"""Where a bad value was first, if no step is known wrong."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.decisions import Decisions
from gdb_etm.diagnosis.patterns.narrowing import narrowed
from gdb_etm.diagnosis.patterns.races import Races
from gdb_etm.diagnosis.patterns.rings import ringed
from gdb_etm.diagnosis.pointers import initialises
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import NEAR_NULL, FaultSite
from gdb_etm.diagnosis.slice import Node, Slice
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, MemoryPlace, RegisterPlace

_ENDS = {
    MakerKind.CONSTANT: "is a constant",
    MakerKind.DEVICE: "was read from a device",
    MakerKind.BEFORE: "was there before the history begins",
    MakerKind.HIDDEN: "may have been written by a store whose address is not known",
    MakerKind.OUTSIDE: "was made by what is not followed",
    MakerKind.SELECTED: "depends on a condition that is not known",
}
# Registers that arguments are in (AAPCS32, 6.1.1).
_ARGUMENTS = ("r0", "r1", "r2", "r3")
# Where what came before is open.
_NOT_KNOWN = (MakerKind.BEFORE, MakerKind.HIDDEN, MakerKind.OUTSIDE)


class End(NamedTuple):
    """A node behind which nothing is known."""

    node: Node
    # Why, in words.
    text: str


def beginning(
    scene: Scene, slice_: Slice, site: FaultSite, verdict: Optional[Suspicion], ends: Sequence[End], races: Races
) -> Tuple[List[Node], Optional[Suspicion]]:
    """Find where a value was first, or an odd step.

    :param verdict: What is known to be wrong elsewhere.
    :param ends: Of the slice.
    :returns: The steps to it, and what is said of it.
    """
    own = [end for end in ends if not any(node.is_address for node in slice_.path(end.node))]
    # The way on which the value stays the same says most; where a variable is says least.
    own.sort(key=lambda end: (not _is_same(scene, slice_.path(end.node)), _is_variable(scene, end.node)))
    own = _of_cleared(scene, slice_, own[0]) + _of_table(scene, slice_, own[0], ends) + own if own else own
    own = _going_on(scene, slice_, own) or own
    odd = _odd(scene, slice_, races) if verdict is None and own else None
    if odd is not None:
        return slice_.path(odd[0]), odd[1]
    if verdict is None and own:
        verdict = _origin(scene, slice_, site, own[0])
    chain = slice_.path(own[0].node) if own else []
    chain += [one for one in [slice_.supposed(own[0].node)] if one is not None] if own else []
    is_origin = verdict is not None and verdict.kind is SuspicionKind.ORIGIN
    if is_origin and own[0].node.maker.kind not in _NOT_KNOWN:
        chain += _deciding(scene, slice_, site, own[0].node)
    return chain, verdict


def _odd(scene: Scene, slice_: Slice, races: Races) -> Optional[Tuple[Node, Suspicion]]:
    # A step that is not wrong in itself, but odd.
    for node in slice_.nodes:
        plain = node.branch is None and not node.is_address
        # Libraries cut numbers where they mean to.
        plain = plain and not scene.is_library(scene.function(node.maker.number))
        if not plain:
            continue
        found = races.unprotected(node) or narrowed(scene, slice_.path(node)) or ringed(scene, node)
        if found is not None:
            return node, found
    return None


def end_of(scene: Scene, node: Node) -> Optional[End]:
    """Give why a way ends; None where it goes on."""
    return End(node, _end(scene, node)) if node.maker.kind in _ENDS else None


def _end(scene: Scene, node: Node) -> str:
    place = node.place
    is_device = node.maker.kind is MakerKind.DEVICE and isinstance(place, MemoryPlace)
    if is_device and isinstance(place, MemoryPlace) and scene.is_ram(place.address):
        return "was written by a device, another core or a debugger: not by what the trace shows"
    return "is that with which the program begins" if _is_of_program(scene, node) else _ENDS[node.maker.kind]


def _is_of_program(scene: Scene, node: Node) -> bool:
    # Memory that nobody writes, which need not be in the ELF file.
    is_device = node.maker.kind is MakerKind.DEVICE and isinstance(node.place, MemoryPlace)
    address = node.place.address if isinstance(node.place, MemoryPlace) else 0
    return is_device and not scene.is_ram(address) and not scene.is_device(address)


def _of_table(scene: Scene, slice_: Slice, end: End, ends: Sequence[End]) -> List[End]:
    # What stands in the program is as it was built: which of it was read is the question.
    loaded = slice_.nodes[end.node.parent] if end.node.parent is not None else None
    is_behind = _is_of_program(scene, end.node) and loaded is not None and len(loaded.maker.address) > 1
    is_fixed = end.node.maker.kind is MakerKind.CONSTANT or is_behind
    if _indexes_table(scene, slice_, end.node):
        loaded = end.node
    elif not is_fixed or not isinstance(end.node.place, MemoryPlace):
        return []
    if loaded is None:
        return []
    addresses = {node.at for node in slice_.nodes if node.parent == loaded.at and node.is_address}
    found: List[End] = []
    for other in ends:
        path = slice_.path(other.node)
        through = [node for node in path if node.at in addresses]
        # A table's own address is a constant of the instruction before.
        if through and not (through[0] is other.node and other.node.maker.kind is MakerKind.CONSTANT):
            found.append(other)
    return found[:1]


def _of_cleared(scene: Scene, slice_: Slice, end: End) -> List[End]:
    # What only the startup has written, where no pointer is declared, tells nothing: where its address came from does.
    path = slice_.path(end.node)
    at = next((at for at, node in enumerate(path) if node.maker.kind is MakerKind.STORED), 0)
    before = [node for node in path[:at] if node.maker.kind is not MakerKind.MERGED]
    place = before[-1].maker.accessed if before and before[-1].maker.kind is MakerKind.LOADED else None
    areas = scene.names.containers(place.address) if place is not None else ()
    if place is None or not initialises(scene, path[at].maker.number) or areas and areas[-1].size == place.size:
        return []
    parts = {node.at for node in slice_.nodes if node.parent == before[-1].at and node.is_address}
    for node in slice_.nodes:
        is_part = node.maker.kind is MakerKind.STORED and any(one.at in parts for one in slice_.path(node))
        if is_part and not initialises(scene, node.maker.number) and not _keeps_argument(scene, node):
            return [End(node, "leads to where nobody has written but the startup")]
    return []


def _indexes_table(scene: Scene, slice_: Slice, node: Node) -> bool:
    # Whether a load with an index that is not known is from an array that stands in the program.
    parts = [one for one in slice_.nodes if one.parent == node.at and one.is_address]
    fixed = [scene.value(one.place).value for one in parts if one.maker.kind is MakerKind.CONSTANT]
    areas = [area for one in fixed if one is not None and not scene.is_ram(one) for area in scene.names.containers(one)]
    is_load = node.maker.kind is MakerKind.HIDDEN and isinstance(node.place, RegisterPlace)
    return is_load and len(parts) > len(fixed) == 1 and any(area.is_array and area.start in fixed for area in areas)


def _going_on(scene: Scene, slice_: Slice, own: Sequence[End]) -> List[End]:
    # A way that goes on and on, such as a counter's, where all others end in constants, such as its limit.
    ended = {slice_.path(end.node)[0].at for end in own}
    going = [node for node in slice_.nodes if node.parent is None and node.at not in ended]
    if not going or any(end.node.maker.kind is not MakerKind.CONSTANT for end in own):
        return []
    return [End(_last_same(scene, slice_, going[0]), "is computed again and again")]


def _is_variable(scene: Scene, node: Node) -> bool:
    # Whether a value is the address of a variable.
    value = scene.value(node.place).value
    is_ram = value is not None and scene.is_ram(value)
    return value is not None and is_ram and any(area.start == value for area in scene.names.containers(value))


def _is_same(scene: Scene, path: Sequence[Node]) -> bool:
    values = {scene.value(node.place).value for node in path}
    return len(values) == 1 and None not in values


def _deciding(scene: Scene, slice_: Slice, site: FaultSite, end: Node) -> List[Node]:
    # Where no step is wrong, the mistake may be that one was taken: of a constant, that it was chosen.
    decisions = Decisions(scene)
    known = len(slice_.nodes)
    number = end.maker.number if end.maker.kind is MakerKind.CONSTANT and isinstance(end.place, RegisterPlace) else 0
    if number > 1:
        slice_.decide(number - 1, scene.index.address(number), decisions)
    if site.number and site.address is not None and not site.is_branch:
        slice_.decide(site.number, site.address & ~1, decisions)
    elif site.number > 1:
        slice_.decide(site.number - 1, scene.index.address(site.number), decisions)
    first = slice_.nodes[known : known + 1]
    return slice_.path(_last_same(scene, slice_, first[0])) if first else []


def _last_same(scene: Scene, slice_: Slice, first: Node) -> Node:
    # The last on the first way that the value comes unchanged.
    node = first
    while True:
        value = scene.value(node.place).value
        following = [one for one in slice_.nodes if one.parent == node.at and not one.is_address]
        same = [one for one in following if value is not None and scene.value(one.place).value == value]
        if not same:
            return node
        node = same[0]


def _origin(scene: Scene, slice_: Slice, site: FaultSite, end: End) -> Optional[Suspicion]:
    # Where the bad value was made, as it is; of a constant the newest store on the way to it.
    path = slice_.path(end.node)
    if end.node.is_address and end.node.maker.kind is MakerKind.STORED:
        tier = max(node.maker.tier for node in path)
        return Suspicion(SuspicionKind.ORIGIN, end.node.maker.number, "stores a pointer, which %s" % end.text, tier)
    # Along an address the value is another one.
    path = [node for node in path if node.is_address] or path
    wanted = scene.value(path[0].place).value
    values = [scene.value(node.place).value for node in path]
    # Behind another value it is the same by chance.
    until = next((at for at, value in enumerate(values) if value not in (None, wanted)), len(path))
    same = [node for node, value in zip(path[:until], values) if value == wanted] if wanted is not None else path
    if wanted is None and path[0].is_address:
        # An index that is not known was made where it was computed.
        made = next((at for at, node in enumerate(path) if node.maker.kind is MakerKind.COMPUTED), len(path) - 1)
        same = path[: made + 1]
    what = "the value"
    if site.is_address and wanted is not None and 0 < wanted < NEAR_NULL and same:
        # A member's, or an element's, distance was added to NULL.
        null = [node for node in path[path.index(same[-1]) + 1 :] if scene.value(node.place).value == 0]
        is_added = bool(null) and null[0].parent == same[-1].at and same[-1].maker.kind is MakerKind.COMPUTED
        same, what = (null, "NULL") if is_added else (same, what)
    last = same[-1] if same else path[-1]
    tier = max(node.maker.tier for node in path)
    if last.maker.kind is MakerKind.COMPUTED:
        return Suspicion(SuspicionKind.ORIGIN, last.maker.number, "makes %s" % what, tier)
    stores = [node for node in path if node.maker.kind is MakerKind.STORED and node.maker.number]
    stores = [node for node in stores if not initialises(scene, node.maker.number)]
    # Where a function keeps its arguments in its frame, it has got them; what it saves is its caller's.
    stores = [node for node in stores if not _keeps_argument(scene, node)] or stores
    stores = [node for node in stores if not _saves(scene, node)]
    text = "has %s first, which %s" % (what, end.text)
    number, address = stores[-1].maker.number if stores else last.maker.number, None
    if last.maker.kind is MakerKind.BEFORE and not stores:
        # What runs where the history begins has nothing to do with it: who read it first has.
        readers = [node.maker.number for node in slice_.path(end.node)[:-1]]
        is_own = not readers and not site.is_branch
        number, address = readers[-1] if readers else site.number, site.address if is_own else None
    return Suspicion(SuspicionKind.ORIGIN, number, text, tier, address=address)


def _saves(scene: Scene, node: Node) -> bool:
    accessed = node.maker.accessed
    saved = None if accessed is None else scene.saved_at(node.maker.number + 1, accessed.address, accessed.size)
    return saved is not None


def _keeps_argument(scene: Scene, node: Node) -> bool:
    own, sources = scene.activation(node.maker.number), node.maker.sources
    source = sources[0] if len(sources) == 1 else None
    accessed = node.maker.accessed
    if own is None or accessed is None or not isinstance(source, RegisterPlace) or source.name not in _ARGUMENTS:
        return False
    top, bottom = scene.register(own.first, "sp"), scene.register(node.maker.number, "sp")
    is_own = top is not None and bottom is not None and bottom <= accessed.address < top
    return own.is_whole and is_own and scene.maker(source).number < own.first
