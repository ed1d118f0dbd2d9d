"""The diagnosis: from a fault back to the first mistake."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.astray import astray
from gdb_etm.diagnosis.decisions import Decisions
from gdb_etm.diagnosis.patterns.alignment import Alignment
from gdb_etm.diagnosis.patterns.bounds import Bounds
from gdb_etm.diagnosis.patterns.elements import Elements
from gdb_etm.diagnosis.patterns.heap import Heap
from gdb_etm.diagnosis.patterns.masters import Masters
from gdb_etm.diagnosis.patterns.narrowing import narrowed
from gdb_etm.diagnosis.patterns.pure_virtual import pure_virtual
from gdb_etm.diagnosis.patterns.races import Races
from gdb_etm.diagnosis.patterns.stacks import Stacks
from gdb_etm.diagnosis.patterns.torn import Torn
from gdb_etm.diagnosis.patterns.unset import Unset
from gdb_etm.diagnosis.patterns.wraps import wrapped
from gdb_etm.diagnosis.pointers import PointerRoots, initialises
from gdb_etm.diagnosis.reported import is_reported
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import FaultSite, find_site
from gdb_etm.diagnosis.slice import Node, Slice
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.makers import MakerKind, MemoryPlace, RegisterPlace

_ENDS = {
    MakerKind.CONSTANT: "is a constant",
    MakerKind.DEVICE: "was read from a device",
    MakerKind.BEFORE: "was there before the history begins",
    MakerKind.HIDDEN: "may have been written by a store whose address is not known",
    MakerKind.OUTSIDE: "was made by what is not followed",
    MakerKind.SELECTED: "depends on a condition that is not known",
}
# UDF #255 and #254, GCC's and LLVM's.
_TRAPS = (b"\xff\xde", b"\xfe\xde")
_A32_TRAPS = (b"\xf0\x00\xf0\xe7", b"\xfe\xde\xff\xe7")
# Addresses below it are NULL and a distance.
_NEAR_NULL = 0x1000
# Where what came before is open.
_NOT_KNOWN = (MakerKind.BEFORE, MakerKind.HIDDEN, MakerKind.OUTSIDE)
# Verdicts on a store that went where it should not.
_OVERWRITES = (SuspicionKind.SAVED_REGISTER, SuspicionKind.OVERRUN)


class End(NamedTuple):
    """A node behind which nothing is known."""

    node: Node
    # Why, in words.
    text: str


class Diagnosis(NamedTuple):
    """Why a program went wrong."""

    site: FaultSite
    # The steps from the bad value back, nearest first; up to the verdict.
    chain: Tuple[Node, ...]
    # None where nothing on the way is known to be wrong.
    verdict: Optional[Suspicion]
    # Where the ways back end.
    ends: Tuple[End, ...]
    slice: Slice


def diagnose(scene: Scene, registers: Mapping[str, int]) -> Optional[Diagnosis]:
    """Find out why a program went wrong.

    :param registers: Of the core at the halt, with fault status registers where they are known.
    :returns: None where it did not.
    """
    site = find_site(scene, registers)
    if site is None:
        return None
    at_fault = pure_virtual(scene, site, registers.get("pc", 0)) or uncaught(site)
    if site.failure is not None:
        # They tell of what happened afterwards, if of anything.
        registers = {}
    found = _explained(scene, site, registers, at_fault)
    return found if _accuses(found) or site.failure is not None or site.event is None else _astray(scene, found)


def _accuses(found: Diagnosis) -> bool:
    return found.verdict is not None and found.verdict.kind is not SuspicionKind.ORIGIN


def _astray(scene: Scene, found: Diagnosis) -> Diagnosis:
    # What runs behind a return that went astray tells nothing: who overwrote its address does.
    for bad in astray(scene, found.site.number):
        other = _explained(scene, found.site._replace(bad=(bad,)), {}, None)
        if other.verdict is not None and other.verdict.kind in _OVERWRITES:
            return other
    return found


def _explained(scene: Scene, site: FaultSite, registers: Mapping[str, int], at_fault: Optional[Suspicion]) -> Diagnosis:
    roots = [place for bad in site.bad for place in bad.places]
    slice_ = Slice(scene, roots)
    pointers = PointerRoots(scene)
    heap, stacks = Heap(scene, pointers), Stacks(scene, pointers)
    torn, alignment, races = Torn(scene), Alignment(scene, site), Races(scene)
    bounds = Bounds(scene, pointers, stacks)
    unset, masters, elements = Unset(scene), Masters(scene), Elements(scene)
    looks = (stacks.look, heap.look, bounds.look, elements.look, unset.look, masters.look, races.look)
    ends: List[End] = []
    at_fault = at_fault or (stacks.at_limit(site) if is_reported(registers, "STKOF") else stacks.at_fault(site))
    if at_fault is None:
        outside = bounds.at_fault(site)
        found = None if outside is None else wrapped(scene, slice_, outside) or outside
        at_fault = found or floats_off(scene, site, registers)
    if at_fault is not None and site.late and at_fault.address is not None:
        # It is part of the history.
        at_fault = at_fault._replace(number=site.number + 1, address=None)
    if at_fault is not None:
        nodes = [node for node in slice_.nodes if node.maker.number == at_fault.number and at_fault.address is None]
        return Diagnosis(site, tuple(slice_.path(nodes[0])) if nodes else (), at_fault, (), slice_)
    for node in slice_:
        path = slice_.path(node)
        found = next(filter(None, (look(node) for look in looks)), None) or alignment.look(node, path)
        if found is None and site.is_pointer:
            found = torn.look(node, path, (stacks.look, bounds.look))
        if found is not None:
            return Diagnosis(site, tuple(path), _blamed(scene, found), tuple(ends), slice_)
        if node.maker.kind in _ENDS:
            ends.append(End(node, _end(scene, node)))
    verdict = heap.corrupted(site.number) or races.around(slice_, site.number)
    return _ended(scene, slice_, site, registers, verdict, ends, races)


def _ended(
    scene: Scene,
    slice_: Slice,
    site: FaultSite,
    registers: Mapping[str, int],
    verdict: Optional[Suspicion],
    ends: Sequence[End],
    races: Races,
) -> Diagnosis:
    # Where no step is known to be wrong: where the value was first.
    own = [end for end in ends if not any(node.is_address for node in slice_.path(end.node))]
    # The way on which the value stays the same says most.
    own.sort(key=lambda end: not _is_same(scene, slice_.path(end.node)))
    own = _of_table(scene, slice_, own[0], ends) + own if own else own
    own = _going_on(scene, slice_, own) or own
    odd = _odd(scene, slice_, races) if verdict is None and own else None
    if odd is not None:
        return Diagnosis(site, tuple(slice_.path(odd[0])), _blamed(scene, odd[1]), tuple(ends), slice_)
    if verdict is None and own:
        verdict = _origin(scene, slice_, own[0])
    verdict = verdict or trapped(scene, site, registers)
    chain = slice_.path(own[0].node) if own else []
    chain += [one for one in [slice_.supposed(own[0].node)] if one is not None] if own else []
    is_origin = verdict is not None and verdict.kind is SuspicionKind.ORIGIN
    if is_origin and own[0].node.maker.kind not in _NOT_KNOWN:
        chain += _deciding(scene, slice_, site, own[0].node)
    return Diagnosis(site, tuple(chain), verdict if verdict is None else _blamed(scene, verdict), tuple(ends), slice_)


def _odd(scene: Scene, slice_: Slice, races: Races) -> Optional[Tuple[Node, Suspicion]]:
    # A step that is not wrong in itself, but odd.
    for node in slice_.nodes:
        plain = node.branch is None and not node.is_address
        # Libraries cut numbers where they mean to.
        plain = plain and not scene.is_library(scene.function(node.maker.number))
        found = (races.unprotected(node) or narrowed(scene, node)) if plain else None
        if found is not None:
            return node, found
    return None


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


def floats_off(scene: Scene, site: FaultSite, registers: Mapping[str, int]) -> Optional[Suspicion]:
    """Name an instruction that uses the floating-point unit while it is off."""
    if site.address is None:
        return None
    if site.is_undefined and _is_floating(scene, site.address, site.number):
        text = "uses the floating-point unit, which CPACR, NSACR or FPEXC does not enable"
        return Suspicion(SuspicionKind.FPU_OFF, site.number, text, address=site.address)
    if not is_reported(registers, "NOCP"):
        return None
    text = "uses the floating-point unit, which CPACR does not enable"
    return Suspicion(SuspicionKind.FPU_OFF, site.number, text, address=site.address)


def _is_floating(scene: Scene, address: int, number: int) -> bool:
    # VFP's are of coprocessors 10 and 11; Advanced SIMD has encodings of its own (DDI 0406C, A7.2).
    template = scene.template_at(address & ~1, number)
    code = int.from_bytes(scene.history.program.read(address & ~1, 4), "little")
    if template is not None and template.isa is Isa.T32:
        code = code << 16 & 0xFFFF0000 | code >> 16
        is_simd = code >> 24 in (0xEF, 0xFF) or code & 0xFF100000 == 0xF9000000
        is_coprocessor = code >> 26 in (0x3B, 0x3F)
    else:
        is_simd = code >> 25 == 0x79 or code & 0xFF100000 == 0xF4000000
        is_coprocessor = code >> 26 & 3 == 3 and code >> 24 & 0xF != 0xF
    return is_simd or is_coprocessor and code >> 8 & 0xE == 0xA


def uncaught(site: FaultSite) -> Optional[Suspicion]:
    """Name a throw that has ended the program."""
    text = "throws an exception that nothing catches, or that may not leave a function (noexcept)"
    return Suspicion(SuspicionKind.UNCAUGHT, site.number, text) if site.is_uncaught else None


def trapped(scene: Scene, site: FaultSite, registers: Mapping[str, int]) -> Optional[Suspicion]:
    """Name an instruction that is undefined on purpose, as compilers make it."""
    if site.address is None or site.is_branch or not (site.is_undefined or is_reported(registers, "UNDEFINSTR")):
        return None
    code = scene.history.program.read(site.address & ~1, 4)
    if code[:2] not in _TRAPS and code not in _A32_TRAPS:
        return None
    text = "is a trap: an assertion, or the compiler where what follows is undefined, as behind NULL"
    return Suspicion(SuspicionKind.TRAP, site.number, text, address=site.address)


def _blamed(scene: Scene, suspicion: Suspicion) -> Suspicion:
    # A library does what it is called for.  Who has freed something is known already.
    is_known = suspicion.address is not None or suspicion.kind is SuspicionKind.FREED
    number = suspicion.number if is_known else scene.user(suspicion.number)
    if number == suspicion.number:
        return suspicion
    function = scene.function(suspicion.number)
    name = function.name if function is not None else "a library"
    return suspicion._replace(number=number, text="calls %s, which %s" % (name, suspicion.text))


def _of_table(scene: Scene, slice_: Slice, end: End, ends: Sequence[End]) -> List[End]:
    # What stands in the program is as it was built: which of it was read is the question.
    loaded = slice_.nodes[end.node.parent] if end.node.parent is not None else None
    is_fixed = end.node.maker.kind is MakerKind.CONSTANT or _is_of_program(scene, end.node)
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


def _indexes_table(scene: Scene, slice_: Slice, node: Node) -> bool:
    # Whether a load with an index that is not known is from an array that stands in the program.
    parts = [one for one in slice_.nodes if one.parent == node.at and one.is_address]
    fixed = [scene.value(one.place).value for one in parts if one.maker.kind is MakerKind.CONSTANT]
    areas = [area for one in fixed if one is not None and not scene.is_ram(one) for area in scene.names.containers(one)]
    is_load = node.maker.kind is MakerKind.HIDDEN and isinstance(node.place, RegisterPlace)
    return is_load and len(parts) > len(fixed) == 1 and any(area.is_array and area.start in fixed for area in areas)


def calls_between(scene: Scene, node: Node) -> List[int]:
    """List the calls that brought a value to its reader."""
    reader = scene.activation(node.place.number) if node.place.number <= len(scene.history) else None
    frame = reader.frame if reader is not None else None
    found: List[int] = []
    while frame is not None and frame.called_at is not None and frame.called_at > node.maker.number > 0:
        if not frame.is_exception:
            found.append(frame.called_at)
        frame = frame.up
    return found


def _going_on(scene: Scene, slice_: Slice, own: Sequence[End]) -> List[End]:
    # A way that goes on and on, such as a counter's, where all others end in constants, such as its limit.
    ended = {slice_.path(end.node)[0].at for end in own}
    going = [node for node in slice_.nodes if node.parent is None and node.at not in ended]
    if not going or any(end.node.maker.kind is not MakerKind.CONSTANT for end in own):
        return []
    return [End(_last_same(scene, slice_, going[0]), "is computed again and again")]


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


def _origin(scene: Scene, slice_: Slice, end: End) -> Optional[Suspicion]:
    # Where the bad value was made, as it is; of a constant the newest store on the way to it.
    path = slice_.path(end.node)
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
    if wanted is not None and 0 < wanted < _NEAR_NULL and same:
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
    number = stores[-1].maker.number if stores else last.maker.number
    return Suspicion(SuspicionKind.ORIGIN, number, "has %s first, which %s" % (what, end.text), tier)
