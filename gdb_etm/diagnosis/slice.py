"""The backward slice of a value, nearest steps first.

A dynamic slice (H. Agrawal, J. Horgan: Dynamic program slicing, 1990) over the steps of
:mod:`gdb_etm.recovery.origins`, worked out in the order of how much each step says about the value.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.diagnosis.decisions import Decisions, compared
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.makers import Maker, MakerKind, MemoryPlace, Place, RegisterPlace
from gdb_etm.recovery.values import Tier

# Steps of one slice, at most.
_MOST = 600
# Branches one before the other that are followed, and steps back from them, at most.
_LEVELS, _DECIDING = 4, 150
# What a step costs: a copy of the value, one of several operands, the address of an access.
_COPY, _OPERAND, _ADDRESS = 1, 2, 6
# An operand that does not change, such as an array's address.
_FIXED = 4


class Node(NamedTuple):
    """A place that a value came through, and what put it there."""

    place: Place
    maker: Maker
    # The node that it is a source of; None for the first.
    parent: Optional[int]
    # Whether it is part of an access's address, not of its value.
    is_address: bool
    # Its index.
    at: int
    # The branch that this is about, of what led to a branch and not to the value.
    branch: Optional[int] = None


class Slice:
    """A backward slice; it grows as somebody looks.

    :param scene: What it is in.
    :param roots: The values to explain, the one that matters most first.
    """

    def __init__(self, scene: Scene, roots: Sequence[Place]) -> None:
        self._scene = scene
        self.nodes: List[Node] = []
        self._heap: List[Tuple[int, int, Place, Optional[int], bool, Optional[int]]] = []
        self._seen: Set[Place] = set()
        self._count = 0
        for index, place in enumerate(roots):
            self._push(_OPERAND * index, place, None, False)

    def _push(
        self, cost: int, place: Place, parent: Optional[int], is_address: bool, branch: Optional[int] = None
    ) -> None:
        # What lies nearest to the fault is looked at first where the cost is the same.
        self._count += 1
        heappush(self._heap, (cost, self._count, place, parent, is_address, branch))

    def __iter__(self) -> Iterator[Node]:
        return self._grown(_MOST)

    def decide(self, number: int, address: int, decisions: Decisions) -> None:
        """Follow what the branches were decided by on which an instruction ran.

        :param number: Of the last instruction before that one.
        :param address: That one's.
        """
        self._heap.clear()
        for level in range(_LEVELS):
            branch = decisions.before(number, address)
            if branch is None:
                break
            for place in compared(self._scene, branch):
                self._push(_OPERAND + level * _ADDRESS, place, None, False, branch)
            number, address = branch - 1, self._scene.index.address(branch)
        for _ in self._grown(len(self.nodes) + _DECIDING):
            pass

    def _grown(self, most: int) -> Iterator[Node]:
        while self._heap and len(self.nodes) < most:
            cost, _, place, parent, is_address, branch = heappop(self._heap)
            if place in self._seen:
                continue
            self._seen.add(place)
            maker = self._scene.maker(place)
            node = Node(place, maker, parent, is_address, len(self.nodes), branch)
            self.nodes.append(node)
            yield node
            if maker.tier <= Tier.ASSUMED:
                self._follow(cost, node)
            elif maker.kind is MakerKind.HIDDEN and isinstance(place, MemoryPlace):
                self._suppose(place, node)

    def _suppose(self, place: MemoryPlace, node: Node) -> None:
        # A step that may be right; nothing rests on it, and nobody looks at it for mistakes.
        maker = self._scene.newest_store(place)
        if maker is not None:
            at = place._replace(number=maker.number + 1)
            self.nodes.append(Node(at, maker, node.at, node.is_address, len(self.nodes), node.branch))

    def supposed(self, node: Node) -> Optional[Node]:
        """Give the store that may have made a hidden node's value."""
        is_end = node.maker.kind is MakerKind.HIDDEN
        following = self.nodes[node.at + 1 : node.at + 2] if is_end else []
        return next((one for one in following if one.parent == node.at), None)

    @property
    def is_cut(self) -> bool:
        """Whether there is more than is looked at."""
        return bool(self._heap)

    def _follow(self, cost: int, node: Node) -> None:
        maker = node.maker
        copied = self._scene.copied_from(maker) if maker.kind is MakerKind.MERGED else None
        # Of what was copied the copy's first store says how it came there.
        sources = maker.sources if copied is None else (copied, maker.sources[0])
        many = len(sources) > 1
        same = [source for source in sources if many and self._is_same(node, source)]
        for source in sources:
            step = _OPERAND if many else _COPY
            if same:
                # A product that is 0, or what was masked out.
                step = _COPY if source in same else _FIXED
            elif many and isinstance(source, RegisterPlace):
                step = _FIXED if self._scene.maker(source).kind is MakerKind.CONSTANT else step
            self._push(cost + step, source, node.at, node.is_address, node.branch)
        for register in maker.address:
            self._push(cost + _ADDRESS, register, node.at, True, node.branch)

    def _is_same(self, node: Node, source: Place) -> bool:
        value = self._scene.value(node.place).value
        return value is not None and self._scene.value(source).value == value

    def path(self, node: Node) -> List[Node]:
        """List the nodes from the first to one."""
        found = [node]
        while found[-1].parent is not None:
            found.append(self.nodes[found[-1].parent])
        return found[::-1]
