"""Threads' functions that return, though nothing has called them."""

from __future__ import annotations

from typing import Optional

from gdb_etm.diagnosis.astray import returns
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import FaultSite
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind


def returned(scene: Scene, site: FaultSite) -> Optional[Suspicion]:
    """Name a return to what then reports a failure.

    Kernels put that function where a thread's own would return to: that it runs is the mistake, whatever it asks.
    """
    own = scene.activation(site.number) if site.event is None else None
    if own is None:
        return None
    outer = [own, *(one for one, _ in scene.callers(own))][-1]
    before = outer.first - 1
    name = scene.names.beginning(scene.index.address(outer.first))
    by = scene.function(before) if before > 0 else None
    if by is None or not name or name == by.name or scene.context(before) != scene.context(outer.first):
        return None
    if outer.frame.up is not None or not returns(scene, before):
        return None
    text = "returns to %s, which reports that: nothing has called it" % name
    return Suspicion(SuspicionKind.RETURNED, before, text)
