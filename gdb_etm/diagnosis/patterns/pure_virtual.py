"""Pure virtual functions, called while their object is destroyed."""

from __future__ import annotations

from typing import Optional

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import FaultSite
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, MemoryPlace
from gdb_etm.recovery.values import Tier

# What stands in a table of virtual functions for one that has no code (Itanium C++ ABI, 3.2.6).
_PURE = "__cxa_pure_virtual"
_WORD = 4


def pure_virtual(scene: Scene, site: FaultSite, pc: int) -> Optional[Suspicion]:
    """Name a destructor's call that led to a pure virtual function.

    What derived classes have is gone by then: the object has its base's table of virtual functions.

    :param pc: Where the program has halted.
    """
    reported = site.failure.function if site.failure is not None else None
    if site.event is not None or (scene.names.beginning(pc) if reported is None else reported.name) != _PURE:
        return None
    own = scene.activation(site.number)
    for _, number in [] if own is None else [(own, site.number), *scene.callers(own)]:
        name = scene.names.destructor(scene.index.address(number))
        if name and _is_of_base(scene, site.number, name):
            text = "calls a pure virtual function in the destructor %s, when what derived classes have is gone" % name
            if number != site.number:
                text = text.replace("calls", "calls what calls", 1)
            return Suspicion(SuspicionKind.PURE_VIRTUAL, number, text, Tier.ASSUMED)
    return None


def _is_of_base(scene: Scene, number: int, name: str) -> bool:
    # Whether the destructor has given the object its table, or the compiler knew it and calls what stands in it.
    last = scene.template(number)
    if last is not None and (last.target is None or last.target < 0):
        return True
    this = scene.register(number, "r0")
    maker = scene.maker(MemoryPlace(number, this, _WORD)) if this is not None else None
    if maker is None or maker.kind is not MakerKind.STORED or maker.tier > Tier.ASSUMED:
        return False
    return scene.names.destructor(scene.index.address(maker.number)) == name
