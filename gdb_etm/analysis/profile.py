"""Profile of a program: calls of each function, and what they cost.

The cost is counted in instructions, or in processor cycles where these are traced.  A call's inclusive cost is its own
and that of what it called.  Exception handlers are no part of what they interrupted, and a thread is no part of
another: each exception and each thread is a root of the call tree.
"""

from __future__ import annotations

from collections import Counter
from typing import AbstractSet, Callable
from typing import Counter as CounterOf
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.analysis.activity import Activity, ActivityReader, Measure
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.frames import Function

UNKNOWN = Function("??", 0, 0)


class CallNode:
    """A function as it was called by a chain of others.

    :param function: The function; None for a root, which is a thread or an exception.
    :param name: Its name.
    """

    def __init__(self, function: Optional[Function], name: str) -> None:
        self.function = function
        self.name = name
        # Calls that were seen to begin.
        self.calls = 0
        self.own = 0
        self.children: Dict[Tuple[str, int], CallNode] = {}

    def child(self, function: Optional[Function], name: str) -> CallNode:
        """Give the node of a callee, made when absent."""
        key = name, function.start if function is not None else -1
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = CallNode(function, name)
        return found

    def inclusive(self) -> int:
        """Give its cost with that of all callees."""
        return sum([node.own for node, _ in self.walk()])

    def walk(self) -> Iterator[Tuple[CallNode, Tuple[CallNode, ...]]]:
        """Go through it and all callees, each with its callers, outermost first."""
        todo: List[Tuple[CallNode, Tuple[CallNode, ...]]] = [(self, ())]
        while todo:
            node, above = todo.pop()
            yield node, above
            todo += [(child, (*above, node)) for child in reversed(list(node.children.values()))]

    def merge(self, other: CallNode) -> None:
        """Add the calls and costs of the same function elsewhere."""
        todo = [(self, other)]
        while todo:
            mine, theirs = todo.pop()
            mine.calls += theirs.calls
            mine.own += theirs.own
            todo += [(mine.child(child.function, child.name), child) for child in theirs.children.values()]


class CallSite(NamedTuple):
    """A place where a function calls another."""

    caller: Function
    callee: Function
    # Where the call returns to; 0 where that was not seen.
    return_address: int


class SiteCost(NamedTuple):
    """Calls from one place."""

    calls: int
    inclusive: int


class FunctionProfile(NamedTuple):
    """A function in all contexts."""

    function: Function
    calls: int
    own: int
    # Counted once where it calls itself.
    inclusive: int
    # Inclusive cost of the calls that were seen from begin to end: how many cost so much.
    costs: CounterOf[int]

    @property
    def median(self) -> Optional[int]:
        """The median cost of a whole call; None without any."""
        left = (sum(self.costs.values()) + 1) // 2
        for cost in sorted(self.costs):
            left -= self.costs[cost]
            if left <= 0:
                return cost
        return None


class CallProfile:
    """Calls and costs.

    :param unit: What the cost counts: ``"instructions"`` or ``"cycles"``.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        # Its children are threads and exceptions.
        self.root = CallNode(None, "")
        self.sites: Dict[CallSite, SiteCost] = {}
        # Instructions whose cost is not known.
        self.unmeasured = 0
        # Instructions that were seen, and gaps between them.
        self.instructions = 0
        self.gaps = 0
        self._costs: Dict[Function, CounterOf[int]] = {}

    @property
    def total(self) -> int:
        """The cost of all that was seen."""
        return self.root.inclusive()

    def functions(self) -> List[FunctionProfile]:
        """List the functions, the most expensive first."""
        calls: CounterOf[Function] = Counter()
        own: CounterOf[Function] = Counter()
        inclusive: CounterOf[Function] = Counter()
        for node, above in self.root.walk():
            if node.function is not None:
                calls[node.function] += node.calls
                own[node.function] += node.own
                for function in {one.function for one in (*above, node)}:
                    if function is not None:
                        inclusive[function] += node.own
        found = [
            FunctionProfile(function, calls[function], own[function], inclusive[function], self.costs(function))
            for function in calls
        ]
        return sorted(found, key=lambda one: (-one.own, -one.inclusive, one.function.name))

    def costs(self, function: Function) -> CounterOf[int]:
        """Give the costs of a function's whole calls."""
        return self._costs.get(function, Counter())

    def merge(self, other: CallProfile) -> None:
        """Add what was seen elsewhere of the same program."""
        self.root.merge(other.root)
        for site, cost in other.sites.items():
            self._add_site(site, cost.calls, cost.inclusive)
        for function, costs in other._costs.items():
            self._costs.setdefault(function, Counter()).update(costs)
        self.unmeasured += other.unmeasured
        self.instructions += other.instructions
        self.gaps += other.gaps

    def add(
        self,
        calls: CallHistory,
        instructions: int,
        measure: Measure,
        label: Callable[[int], str],
        paused: AbstractSet[int] = frozenset(),
    ) -> None:
        """Add a history.

        :param calls: Its calls.
        :param instructions: How many instructions it has.
        :param measure: Gives costs.
        :param label: Names a thread by its number.
        :param paused: Instructions after which the core paused, and nothing ran unseen.
        """
        reader = ActivityReader(calls, instructions, measure, paused)
        self.instructions += instructions
        self.gaps += reader.gaps
        self.unmeasured += reader.unmeasured
        nodes: Dict[Activity, CallNode] = {}
        for activity in reader.inner_last():
            nodes[activity] = self._node(activity, nodes, label)
            nodes[activity].calls += activity.begun
            nodes[activity].own += activity.own
            function = activity.frame.function or UNKNOWN
            if activity.is_whole:
                self._costs.setdefault(function, Counter())[activity.inclusive] += 1
            if activity.caller is not None and activity.begun:
                caller = activity.caller.frame.function or UNKNOWN
                site = CallSite(caller, function, activity.frame.return_address or 0)
                self._add_site(site, 1, activity.inclusive)

    def _node(self, activity: Activity, nodes: Dict[Activity, CallNode], label: Callable[[int], str]) -> CallNode:
        function = activity.frame.function
        if activity.caller is not None:
            above = nodes[activity.caller]
        else:
            above = self.root.child(None, activity.exception or label(activity.thread))
        return above.child(function or UNKNOWN, function.name if function is not None else UNKNOWN.name)

    def _add_site(self, site: CallSite, calls: int, inclusive: int) -> None:
        known = self.sites.get(site, SiteCost(0, 0))
        self.sites[site] = SiteCost(known.calls + calls, known.inclusive + inclusive)
