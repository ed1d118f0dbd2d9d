"""Chains of residences: which thread goes on where which one was left.

A thread that is left goes on later in what ran, or waits at the end with its frame in memory.  So each residence but
the last has one successor: a later residence that begins where it was left and returns to where its calls were, or a
frame with the return addresses of its calls above.  No successor has two predecessors.  The search goes from the end
backwards and keeps every way to give successors; what all ways agree in is told.
"""

from __future__ import annotations

from typing import (
    Callable,
    Dict,
    Final,
    FrozenSet,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Protocol,
    Sequence,
    Set,
    Tuple,
)

from gdb_etm.recovery.threads.residences import Residence, leave_calls

# Where returns lead, innermost first, and whether each looks like a return.
Demand = Tuple[Tuple[int, bool], ...]

# Ways that are followed at the same time.
_WAYS: Final = 256
# Returns that are remembered of a chain.
_DEEP: Final = 32
# No frame: it runs at the end, or nothing shows where it waits.
SOMEWHERE: Final = -1


class Successor(NamedTuple):
    """What may come after a residence: a later one, or a frame."""

    # Index of the residence, or None.
    residence: Optional[int]
    # Address of the frame, or SOMEWHERE.
    frame: int


class _Chain(NamedTuple):
    # Residences of one thread from the oldest one that is known to the end.
    oldest: int
    # What it returns to.
    demand: Demand
    # Where it waits at the end, and where its callers' return addresses begin there.
    frame: int
    above: int


class WaitingFrames(Protocol):
    """Frames of waiting threads in memory."""

    def above(self, frame: int) -> int:
        """Give where return addresses begin above a frame."""

    def follow(self, frame: int, at: int, calls: Sequence[int]) -> int:
        """Find return addresses above a frame.

        :param at: From where on.
        :param calls: The return addresses, innermost last.
        :returns: The address after the outermost one; 0 if one of them is not there.
        """


# Gives the later residences that may follow one, of some, and the frames.
Followers = Callable[[int, Sequence[int]], Sequence[Successor]]
# Gives those that may come after a residence, by its index, of those that its ways have.
Chooser = Callable[[int, Set[Successor]], Set[Successor]]
_Way = FrozenSet[_Chain]
_Layer = Dict[_Way, List[Tuple[_Way, Successor]]]


class ChainSearch:
    """Finds the successors of residences.

    :param residences: In the order in which they ran.
    :param followers: Gives what may follow a residence, by its index and those of the later ones that are free.
    :param frames: Reads frames; None if memory is not known.
    :param last: Index of the one that runs at the end; None when a handler has changed to another one.
    :param choose: Is asked about each residence, the newest first.
    """

    def __init__(
        self,
        residences: Sequence[Residence],
        followers: Followers,
        frames: Optional[WaitingFrames],
        last: Optional[int],
        choose: Optional[Chooser] = None,
    ) -> None:
        self._residences = residences
        self._followers = followers
        self._frames = frames
        self._last = last
        self._choose = choose

    def successors(self) -> Dict[int, Set[Successor]]:
        """List those of all ways, by residence."""
        layers = self._search()
        found: Dict[int, Set[Successor]] = {}
        alive: Set[_Way] = set(layers[-1]) if layers else set()
        for distance in range(len(layers) - 1, -1, -1):
            steps = [step for way in alive for step in layers[distance][way]]
            found[len(self._residences) - 1 - distance] = {successor for _, successor in steps}
            alive = {way for way, _ in steps}
        return found

    def _search(self) -> List[_Layer]:
        # By residence, newest first: the ways with it, each with those that it makes longer.
        layers: List[_Layer] = []
        ways: List[_Way] = [frozenset()]
        lost = Successor(None, SOMEWHERE)
        for number in range(len(self._residences) - 1, -1, -1):
            layer: _Layer = {}
            for way in ways:
                for older, successor in self._older(way, number):
                    layer.setdefault(older, []).append((way, successor))
            if self._choose is not None and layer:
                layer = _chosen(layer, self._choose(number, {step[1] for steps in layer.values() for step in steps}))
            if not layer:
                # It was left for good.
                for way in ways:
                    layer.setdefault(self._begin(way, number, SOMEWHERE, 0), []).append((way, lost))
            if len(layer) > _WAYS:
                break
            layers.append(layer)
            ways = list(layer)
        return layers

    def _older(self, way: _Way, number: int) -> Iterator[Tuple[_Way, Successor]]:
        # The ways with one more residence.
        if number == self._last:
            yield self._begin(way, number, SOMEWHERE, 0), Successor(None, SOMEWHERE)
            return
        calls = self._residences[number].calls
        taken = {chain.frame for chain in way} - {SOMEWHERE}
        free = {chain.oldest: chain for chain in way}
        for successor in self._followers(number, list(free)):
            if successor.residence is not None:
                chain = free[successor.residence]
                longer = self._lengthened(chain, number)
                if longer is not None:
                    yield way - {chain} | {longer}, successor
            elif successor.frame not in taken:
                above = self._above(successor.frame, None, calls)
                if above is not None:
                    yield self._begin(way, number, successor.frame, above), successor

    def _begin(self, way: _Way, number: int, frame: int, above: int) -> _Way:
        demand = tuple(self._residences[number].outs)[:_DEEP]
        return way | {_Chain(number, demand, frame, above)}

    def _lengthened(self, chain: _Chain, number: int) -> Optional[_Chain]:
        residence = self._residences[number]
        calls = list(residence.calls)
        rest = _unmet(calls, chain.demand)
        above = self._above(chain.frame, chain.above, calls)
        if rest is None or above is None:
            return None
        return chain._replace(oldest=number, demand=(*residence.outs, *rest)[:_DEEP], above=above)

    def _above(self, frame: int, at: Optional[int], calls: Sequence[int]) -> Optional[int]:
        # Where more return addresses are above a frame; None if one of some is not there.
        if frame == SOMEWHERE or self._frames is None:
            return 0
        return self._frames.follow(frame, self._frames.above(frame) if at is None else at, calls) or None


def _chosen(layer: _Layer, chosen: Set[Successor]) -> _Layer:
    # The ways with these successors.
    fewer = {way: [step for step in steps if step[1] in chosen] for way, steps in layer.items()}
    return {way: steps for way, steps in fewer.items() if steps}


def _unmet(calls: List[int], demand: Demand) -> Optional[Demand]:
    # Leaves calls; gives what is returned to beyond them, or None if a return leads elsewhere.
    for at, (address, is_return) in enumerate(demand):
        if not calls:
            return demand[at:]
        if not leave_calls(calls, address) and is_return:
            return None
    return ()
