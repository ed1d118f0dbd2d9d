"""Stacks that grow out of their memory, and pointers to frames that are gone."""

from __future__ import annotations

from typing import List, Optional, Tuple

from gdb_etm.diagnosis.pointers import Pointers, accessed_at
from gdb_etm.diagnosis.scene import Activation, Area, Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind
from gdb_etm.recovery.values import Tier

# So many activations of one function above another are a recursion.
_DEEP = 6


class Stacks:
    """Finds stack overflows and stale frames.

    :param scene: What is looked at.
    :param pointers: Where pointers were made.
    """

    def __init__(self, scene: Scene, pointers: Pointers) -> None:
        self._scene = scene
        self._pointers = pointers

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a store: whether a stack reached there, or its frame is gone."""
        accessed = accessed_at(node.maker)
        if accessed is None or node.maker.kind not in (MakerKind.STORED, MakerKind.PUSHED, MakerKind.LOADED):
            return None
        root = self._pointers.root(node.maker.address) if node.maker.address else None
        if node.maker.kind is MakerKind.PUSHED or root is not None and root.is_stack and self._is_own(node):
            return self._overflow(node.maker.number, accessed.address)
        if root is not None and root.is_stack:
            return self._stale(node, root.number)
        return None

    def _is_own(self, node: Node) -> bool:
        return any(register.name == "sp" for register in node.maker.address)

    def _overflow(self, number: int, address: int) -> Optional[Suspicion]:
        # A stack reached an address that belongs to something else.
        activation = self._scene.activation(number)
        if activation is None:
            return None
        home, victim = self._stack(activation), self._object(address)
        if victim is None or home == victim:
            return None
        return self.grown(number, "over %s" % victim.name, victim.end)

    def _stack(self, activation: Activation) -> Optional[Area]:
        # What a thread's outermost frame lies in; None for a stack that is no object.
        active = self.active(activation, activation.first)
        pointer = self._scene.register(active[-1][0].first, "sp")
        return self._object(pointer - 4) if pointer is not None else None

    def _object(self, address: int) -> Optional[Area]:
        areas = self._scene.names.containers(address)
        return areas[0] if areas else None

    def active(self, activation: Activation, number: int) -> List[Tuple[Activation, int]]:
        """List the active frames with where each stands, innermost first."""
        return [(activation, number), *self._scene.callers(activation)]

    def grown(self, number: int, where: str, limit: int) -> Optional[Suspicion]:
        """Name the frame with which a stack has grown out of its memory.

        :param where: In words, what it has grown into.
        :param limit: The lowest address that belongs to it.
        """
        activation = self._scene.activation(number)
        if activation is None:
            return None
        active = self.active(activation, number)
        names = [one.function.name for one, _ in active if one.function is not None]
        for one, _ in reversed(active):
            entered = self._scene.register(one.first, "sp")
            lowest = self._lowest(one, number)
            if one.function is None or entered is None or lowest is None or lowest >= limit:
                continue
            name = one.function.name
            deep = names.count(name)
            if deep >= _DEEP:
                text = "calls itself %d deep: the stack grows %s" % (deep, where)
                called = one.frame.called_at
                return Suspicion(SuspicionKind.STACK_OVERFLOW, called or one.first, text, Tier.ASSUMED)
            size = entered - lowest
            text = "needs %d bytes of stack: it grows %s" % (size, where)
            return Suspicion(SuspicionKind.STACK_OVERFLOW, one.first, text, Tier.ASSUMED)
        return None

    def _lowest(self, one: Activation, number: int) -> Optional[int]:
        # The lowest SP of an activation so far.
        found = [
            self._scene.register(at, "sp") for at in range(one.first, min(one.first + 40, number, one.last + 1) + 1)
        ]
        known = [value for value in found if value is not None]
        return min(known) if known else None

    def _stale(self, node: Node, made: int) -> Optional[Suspicion]:
        maker = self._scene.activation(made)
        user = self._scene.activation(node.maker.number)
        if maker is None or user is None or maker.function is None or maker.last >= node.maker.number:
            return None
        if any(one is maker for one, _ in self.active(user, node.maker.number)):
            return None
        accessed = accessed_at(node.maker)
        top = self._scene.register(maker.first, "sp")
        if accessed is None or top is None or accessed.address >= top:
            return None
        verb = "writes" if node.maker.kind is MakerKind.STORED else "reads"
        text = "%s a local variable of %s, which has returned" % (verb, maker.function.name)
        return Suspicion(SuspicionKind.STALE_FRAME, node.maker.number, text, node.maker.tier, made)
