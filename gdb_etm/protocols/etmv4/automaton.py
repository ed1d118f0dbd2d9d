"""Building the automaton: places, states and stretches, each made when it is first met and kept."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.program.blocks import Block, Blocks
from gdb_etm.program.futures import Future
from gdb_etm.program.isa import Isa, Kind
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.etmv4.packets import ATOMS, Address, Addresses, Header
from gdb_etm.protocols.etmv4.packets import Kind as PacketKind
from gdb_etm.protocols.etmv4.packets import push_address, read_address
from gdb_etm.protocols.etmv4.places import (
    AFTER_BRANCH,
    LOST,
    RESERVED,
    STACK_DEPTH,
    UNDIRECTED,
    Entry,
    FuturePlace,
    Place,
    State,
    Stretch,
    Unplaced,
    Way,
)
from gdb_etm.protocols.recorder import Leg, RunTable

WINDOW = 8
"""Bytes of the stream by which stretches are remembered."""
_MAX_REMEMBERED = 1 << 19
ADDRESS_KINDS = (PacketKind.EXACT_MATCH, PacketKind.SHORT_ADDRESS, PacketKind.LONG_ADDRESS)
"""Packets that are an address and nothing else."""


class Automaton:
    """Places, states and stretches of one program under one configuration.

    :param blocks: The program's blocks.
    :param table: The header table.
    :param return_stack: Whether link branches push and indirect branches may pop.
    """

    def __init__(self, blocks: Blocks, table: Tuple[Header, ...], return_stack: bool) -> None:
        self.blocks = blocks
        self.runs = RunTable()
        self._table = table
        self._return_stack = return_stack
        self._places: Dict[Tuple[int, Isa], Place] = {}
        self._future_places: Dict[Tuple[int, Isa, Future], FuturePlace] = {}
        self._states: Dict[Tuple[Place, Addresses, bool, bool, bool, Tuple[bool, ...]], State] = {}
        self._remembered = 0

    def place(self, address: int, isa: Isa, future: Optional[Future] = None) -> Place:
        """Give the place at ``address``.

        :param future: What a branch future instruction has said of the code that follows.
        """
        if future is not None:
            wanted = (address, isa, future)
            return self._future_places.setdefault(wanted, FuturePlace(*wanted))
        key = (address, isa)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = Place(address, isa)
        return place

    def place_of(self, address: Address, wide: bool) -> Place:
        """Give the place that an address packet names, under the context's SF bit ``wide``."""
        if wide:
            # IS1 with SF set is reserved (Table 6-19).
            return RESERVED if address.is1 else self.place(address.address, Isa.A64)
        # The address registers have 64 bits in any state; the upper ones may be from before.
        return self.place(address.address & 0xFFFFFFFF, Isa.T32 if address.is1 else Isa.A32)

    def state(
        self,
        place: Place,
        addresses: Addresses,
        wide: bool,
        quiet: bool,
        told: bool = False,
        pending: Tuple[bool, ...] = (),
    ) -> State:
        """Give the state with these parts."""
        key = (place, addresses, wide, quiet, told, pending)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = State(place, addresses, wide, quiet, told, pending)
        return state

    def way(self, place: Place, atoms: Tuple[bool, ...]) -> Optional[Way]:
        """Tell where atoms lead from a place; None when the code to one of their branches cannot be followed."""
        try:
            return place.ways[atoms]
        except KeyError:
            way = place.ways[atoms] = self._find_way(place, atoms)
            return way

    def _find_way(self, place: Place, atoms: Tuple[bool, ...]) -> Optional[Way]:
        ranges: List[Range] = []
        pushes: List[Entry] = []
        deepest = 0
        for index, taken in enumerate(atoms):
            if place is AFTER_BRANCH:
                if not pushes:
                    return Way(Leg(tuple(ranges)), place, (), deepest, index, False)
                entry = pushes.pop()
                place = self.place(entry.address, entry.isa)
            block = place.block or self.block(place)
            last = block.last
            if last is None:
                return None
            if block.instructions:
                ranges.append(Range(block.start, block.end, block.instructions, block.isa, taken))
            following = block.end + block.replaced
            if isinstance(place, FuturePlace) or last.kind is Kind.FUTURE:
                place = self._after_future(place, block, taken)
            elif not taken:
                place = self.place(following, block.isa)
            else:
                place = AFTER_BRANCH if last.kind is Kind.INDIRECT else self.place(last.target, last.isa)
            if taken and last.link and self._return_stack:
                pushes.append(Entry(following, block.isa))
                del pushes[:-STACK_DEPTH]
                deepest = max(deepest, len(pushes))
        return Way(Leg(tuple(ranges)), place, tuple(pushes), deepest, len(atoms), not deepest)

    def block(self, place: Place) -> Block:
        """Give the block that begins at a place."""
        block = place.block
        if block is None:
            blocks = self.blocks
            if isinstance(place, FuturePlace):
                block = blocks.before(place.address, place.isa, place.future)
            else:
                block = blocks.at(place.address, place.isa)
            place.block = block
        return block

    def _after_future(self, place: Place, block: Block, taken: bool) -> Place:
        # Where an atom leads at a branch future instruction, or while one is in effect: up to its branch point, or to
        # another branch that is taken, which the unit follows with a Branch Future Flush (5.2.11).
        last = block.last
        future = place.future if isinstance(place, FuturePlace) else None
        if last is None or last.kind is Kind.FUTURE:
            return self.place(block.end, block.isa, self.blocks.future(block.end - 4) if taken else future)
        if not taken or last.target == block.end:
            return self.place(block.end + block.replaced, block.isa, None if block.replaced else future)
        return AFTER_BRANCH if last.kind is Kind.INDIRECT else self.place(last.target, last.isa)

    def stretch(self, state: State, data: bytes, at: int, end: int) -> Optional[Stretch]:
        """Work out what the whole packets in the next eight bytes do, and remember it.

        :param state: The state before them.
        :returns: None when the first packet is not one that can be remembered.
        """
        walk = _Walk(self, state)
        index = at
        if walk.follow(state.pending, -1) and not walk.pending:
            index = self._packets(walk, data, at, min(end, at + WINDOW))
        if index == at and walk.pending == state.pending:
            return None
        run = self.runs.number(tuple(walk.positions), tuple(walk.legs)) if walk.legs else -1
        following = self.state(walk.place, walk.addresses, state.wide, walk.quiet, walk.told, walk.pending)
        stretch = Stretch(index - at, run, following, walk.pushes, walk.deepest)
        state.stretches[data[at : at + WINDOW]] = stretch
        self._remembered += 1
        if self._remembered > _MAX_REMEMBERED:
            self._forget()
        return stretch

    def _packets(self, walk: "_Walk", data: bytes, at: int, limit: int) -> int:
        # Follows whole packets up to the first that cannot be remembered; returns the index of that one.
        index = at
        while index < limit and not walk.pending:
            header = data[index]
            atoms = ATOMS.get(header)
            if atoms is not None:
                way = walk.place.ways.get(atoms)
                if way is not None and way.plain:
                    walk.positions.append(index - at)
                    walk.legs.append(way.leg)
                    walk.place = way.place
                    walk.told = False
                elif not walk.follow(atoms, index - at):
                    break
                index += 1
                continue
            kind, length = self._table[header]
            size = length(data, index, limit) if kind in ADDRESS_KINDS else 0
            if size <= 0 or not walk.address(read_address(header, data, index + 1, walk.addresses)[0]):
                break
            index += size
        return index

    def _forget(self) -> None:
        # Bounds memory on trace that does not repeat.  Runs stay: histories refer to them.
        for state in self._states.values():
            state.stretches = {}
        self._states = {}
        self._remembered = 0


class _Walk:
    # The execution of a stretch while it is being worked out.

    __slots__ = (
        "_automaton",
        "_wide",
        "place",
        "addresses",
        "quiet",
        "told",
        "pending",
        "positions",
        "legs",
        "pushes",
        "deepest",
    )

    def __init__(self, automaton: Automaton, state: State) -> None:
        self._automaton = automaton
        self._wide = state.wide
        self.place = state.place
        self.addresses = state.addresses
        self.quiet = state.quiet
        self.told = state.told
        self.pending = state.pending
        self.positions: List[int] = []
        self.legs: List[Leg] = []
        self.pushes: Tuple[Entry, ...] = ()
        self.deepest = 0

    def follow(self, atoms: Tuple[bool, ...], position: int) -> bool:
        # Follows atoms up to the first that needs a return stack entry from before the stretch; the rest is then
        # pending.  False, and nothing done, when one of them cannot be followed or when that is the first.
        place, pushes, deepest, legs, left = self.place, self.pushes, self.deepest, len(self.legs), atoms
        while left:
            here = self.place
            if here is AFTER_BRANCH and self.pushes:
                entry = self.pushes[-1]
                self.pushes = self.pushes[:-1]
                here = self._automaton.place(entry.address, entry.isa)
            elif here is AFTER_BRANCH and left is not atoms:
                break
            elif here is LOST:
                left = ()
                break
            way = None if isinstance(here, Unplaced) else self._automaton.way(here, left[:1] if self.quiet else left)
            if way is None:
                self.place, self.pushes, self.deepest = place, pushes, deepest
                del self.positions[legs:], self.legs[legs:]
                return False
            self.positions.append(position)
            self.legs.append(way.leg)
            self.place = way.place
            if way.deepest and not self.quiet:
                self._push(way)
            left = left[way.atoms :]
        if len(self.legs) > legs:
            self.told = False
        self.pending = left
        return True

    def _push(self, way: Way) -> None:
        kept = min(len(self.pushes), STACK_DEPTH - way.deepest)
        self.deepest = max(self.deepest, min(STACK_DEPTH, len(self.pushes) + way.deepest))
        self.pushes = self.pushes[len(self.pushes) - kept :] + way.pushes

    def address(self, address: Address) -> bool:
        # False when the address contradicts the program, and the caller then tells a gap; or in the reach of a branch
        # future or after a Q element, which are too rare to be remembered.
        if isinstance(self.place, FuturePlace) or self.place is UNDIRECTED:
            return False
        place = self._automaton.place_of(address, self._wide)
        if place is not self.place and not self.told and not isinstance(self.place, Unplaced):
            return False
        self.place = place
        self.told = True
        self.addresses = push_address(self.addresses, address)
        self.quiet = False
        return True
