"""The diagnosis: from a fault back to the first mistake."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.astray import astray
from gdb_etm.diagnosis.beginnings import End, beginning, end_of
from gdb_etm.diagnosis.patterns.alignment import Alignment
from gdb_etm.diagnosis.patterns.bounds import Bounds
from gdb_etm.diagnosis.patterns.elements import Elements
from gdb_etm.diagnosis.patterns.heap import Heap
from gdb_etm.diagnosis.patterns.masters import Masters
from gdb_etm.diagnosis.patterns.no_memory import no_memory
from gdb_etm.diagnosis.patterns.pure_virtual import pure_virtual
from gdb_etm.diagnosis.patterns.races import Races
from gdb_etm.diagnosis.patterns.returned import returned
from gdb_etm.diagnosis.patterns.stacks import Stacks
from gdb_etm.diagnosis.patterns.torn import Torn
from gdb_etm.diagnosis.patterns.unset import Unset
from gdb_etm.diagnosis.patterns.wraps import wrapped
from gdb_etm.diagnosis.pointers import PointerRoots
from gdb_etm.diagnosis.reported import is_reported
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import FaultSite, find_site
from gdb_etm.diagnosis.slice import Node, Slice
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.program.isa import Isa

# UDF #255 and #254, GCC's and LLVM's.
_TRAPS = (b"\xff\xde", b"\xfe\xde")
_A32_TRAPS = (b"\xf0\x00\xf0\xe7", b"\xfe\xde\xff\xe7")
# What an MPU's guard of a stack makes.
_GUARDED = ("DACCVIOL", "MSTKERR")
# Verdicts on a store that went where it should not.
_OVERWRITES = (SuspicionKind.SAVED_REGISTER, SuspicionKind.OVERRUN)


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
    at_fault = pure_virtual(scene, site, registers.get("pc", 0)) or uncaught(site) or returned(scene, site)
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
    unset, masters, elements = Unset(scene, pointers), Masters(scene), Elements(scene)
    looks = (stacks.look, heap.look, bounds.look, elements.look, unset.look, masters.look, races.look)
    ends: List[End] = []
    at_fault = at_fault or (stacks.at_limit(site) if is_reported(registers, "STKOF") else stacks.at_fault(site))
    if at_fault is None and any(is_reported(registers, name) for name in _GUARDED):
        at_fault = stacks.at_guard(site, is_reported(registers, "MSTKERR"))
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
        ends += filter(None, [end_of(scene, node)])
    verdict = heap.corrupted(site) or races.around(slice_, site.number) or no_memory(scene, site, slice_, pointers)
    chain, verdict = beginning(scene, slice_, site, verdict, ends, races)
    trap = trapped(scene, site, registers)
    if verdict is None or trap is not None and verdict.kind is SuspicionKind.ORIGIN and _reason(scene, trap.address):
        verdict = trap
    return Diagnosis(site, tuple(chain), verdict if verdict is None else _blamed(scene, verdict), tuple(ends), slice_)


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
    reason = _reason(scene, site.address)
    reason = reason or "an assertion, or the compiler where what follows is undefined, as behind NULL"
    return Suspicion(SuspicionKind.TRAP, site.number, "is a trap: %s" % reason, address=site.address)


def _reason(scene: Scene, address: Optional[int]) -> str:
    return "" if address is None else scene.names.trap_reason(address & ~1)


def _blamed(scene: Scene, suspicion: Suspicion) -> Suspicion:
    # A library does what it is called for.  Who has freed something is known already.
    is_known = suspicion.address is not None or suspicion.kind is SuspicionKind.FREED
    number = suspicion.number if is_known else scene.user(suspicion.number)
    if number == suspicion.number:
        return suspicion
    function = scene.function(suspicion.number)
    name = function.name if function is not None else "a library"
    return suspicion._replace(number=number, text="calls %s, which %s" % (name, suspicion.text))


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
