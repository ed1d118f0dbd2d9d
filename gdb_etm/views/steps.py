"""Single steps of a value in words."""

from __future__ import annotations

from typing import Sequence

from gdb_etm.diagnosis.blocks import block_at
from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.recovery.makers import MakerKind, MemoryPlace, Place, RegisterPlace
from gdb_etm.recovery.values import Tier, Value
from gdb_etm.views.values import mark

_WORD, _LR = 4, 14
_MADE = {
    MakerKind.COMPUTED: "computed",
    MakerKind.COPIED: "copied",
    MakerKind.LOADED: "loaded",
    MakerKind.CONSTANT: "a constant of the program",
    MakerKind.STORED: "stored",
    MakerKind.PUSHED: "pushed by an exception",
    MakerKind.SELECTED: "set under a condition that is not known",
    MakerKind.MERGED: "made by several stores",
    MakerKind.KEPT: "kept",
    MakerKind.BEFORE: "there before what is known begins",
    MakerKind.HIDDEN: "maybe of a store whose address is not known",
    MakerKind.DEVICE: "read from outside of the program's memory",
    MakerKind.OUTSIDE: "made by what is not followed",
}


def place_name(place: Place, scene: Scene) -> str:
    """Name a place: ``"r3"``, ``"station.table[1].handler"``, ``"0x2007ffa0"``."""
    return place.name if isinstance(place, RegisterPlace) else memory_name(place, scene)


def memory_name(place: MemoryPlace, scene: Scene) -> str:
    """Name a piece of memory, by the variable and member there.

    One in a function's frame is ``"main::config.limit"``, as GDB writes it, or ``"saved r4 of main"``.
    """
    areas = scene.names.containers(place.address)
    name = _in_frame(place, areas, scene) or _in_block(place, areas, scene)
    return name or (_inside(areas, place) if areas else "0x%08x" % place.address)


def _in_block(place: MemoryPlace, areas: Sequence[Area], scene: Scene) -> str:
    # A word of a kernel's heap, which is an array of smaller elements, is of a block.
    is_heap = len(areas) > 1 and areas[0].is_array and areas[-1].size < place.size
    block = block_at(scene, place.number, place.address) if is_heap else None
    return "offset %d of %s" % (place.address - block.start, block.name) if block is not None else ""


def _inside(areas: Sequence[Area], place: MemoryPlace) -> str:
    exact = [one for one in areas if one.start == place.address and one.size == place.size]
    offset = place.address - areas[-1].start
    return exact[-1].name if exact else areas[-1].name + ("+%d" % offset if offset else "")


def _in_frame(place: MemoryPlace, areas: Sequence[Area], scene: Scene) -> str:
    # A variable that is not on the stack is in no frame.
    number = min(place.number, len(scene.history))
    pointer = scene.register(number, "sp") if number else None
    if pointer is None or areas and not areas[0].start <= pointer < areas[0].end:
        return ""
    slot = scene.saved_at(number, place.address, place.size)
    if slot is not None and slot.activation.function is not None:
        what = "return address" if slot.register == _LR else "saved r%d" % slot.register
        return "%s of %s" % (what, slot.activation.function.name)
    for activation, at, cfa in scene.frames_at(number):
        if place.address < cfa and activation.function is not None:
            found = scene.names.in_frame(scene.index.address(at), cfa, place.address)
            return "%s::%s" % (activation.function.name, _inside(found, place)) if found else ""
    return ""


def value_at(place: Place, value: Value, scene: Scene) -> str:
    """Write a place's value; a function's address with its name.

    :returns: Nothing where it is not known.
    """
    if value.value is None or isinstance(place, MemoryPlace) and place.size > _WORD:
        return ""
    size = place.size if isinstance(place, MemoryPlace) else _WORD
    name = scene.names.beginning(value.value) if size == _WORD and value.value & 1 else ""
    return "0x%0*x%s" % (2 * size, value.value, " <%s>" % name if name else "")


def step_text(node: Node, scene: Scene) -> str:
    """Say what is in a place, and what put it there.

    :returns: Such as ``"r3 = 0x00163333: loaded from station.table[0].handler (assumed)"``.
    """
    maker, place = node.maker, node.place
    value = value_at(place, scene.value(place), scene)
    text = place_name(place, scene) + (" = " + value if value else "")
    return ("%s: %s %s" % (text, _made(node, scene), mark(maker.tier))).rstrip()


def _made(node: Node, scene: Scene) -> str:
    maker = node.maker
    sources = [one.name for one in maker.sources if isinstance(one, RegisterPlace)]
    if maker.kind is MakerKind.LOADED and maker.accessed is not None:
        return "loaded from %s" % memory_name(maker.accessed, scene)
    if maker.kind is MakerKind.STORED and sources:
        text = "stored from %s" % ", ".join(sources)
        return text if maker.tier <= Tier.ASSUMED else "the newest store whose address is known: " + text
    if maker.kind is MakerKind.COPIED and sources:
        return "copied from %s" % sources[0]
    if maker.kind is MakerKind.COMPUTED and sources:
        return "computed from %s" % ", ".join(sources)
    copied = scene.copied_from(maker) if maker.kind is MakerKind.MERGED else None
    return _MADE[maker.kind] if copied is None else "copied from %s" % memory_name(copied, scene)
