"""Building the automaton: places and states, each made when it is first met and kept."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.program.blocks import Block, Blocks
from gdb_etm.program.futures import Future
from gdb_etm.program.isa import Isa, Kind
from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.etmv4.packets import ATOMS, Address, Addresses
from gdb_etm.protocols.etmv4.packets import Kind as PacketKind
from gdb_etm.protocols.etmv4.packets import unpack_address
from gdb_etm.protocols.etmv4.places import (
    AFTER_BRANCH,
    IMPOSSIBLE,
    RESERVED,
    STACK_DEPTH,
    Entry,
    FuturePlace,
    Place,
    Registers,
    State,
    Step,
    Way,
    pack_addresses,
)
from gdb_etm.protocols.recorder import Leg, RunTable

Mode = Tuple[bool, bool, bool, Tuple[bool, ...]]
"""The other parts of a state: wide, quiet, told and pending."""
# A name of its own is faster to reach than an enumeration's member.
_FUTURE, _INDIRECT = Kind.FUTURE, Kind.INDIRECT
_A32, _T32, _A64 = Isa.A32, Isa.T32, Isa.A64

ADDRESS_KINDS = (PacketKind.EXACT_MATCH, PacketKind.SHORT_ADDRESS, PacketKind.LONG_ADDRESS)
"""Packets that are an address and nothing else."""


class Automaton:
    """Places, states and stretches of one program under one configuration.

    :param blocks: The program's blocks.
    :param return_stack: Whether link branches push and indirect branches may pop.
    """

    def __init__(self, blocks: Blocks, return_stack: bool) -> None:
        self.blocks = blocks
        self.runs = RunTable()
        self.return_stack = return_stack
        self._places: Tuple[Dict[int, Place], ...] = tuple({} for _ in Isa)
        self._future_places: Dict[Tuple[int, Isa, Future], FuturePlace] = {}
        self.named: Tuple[Dict[int, Place], Dict[int, Place]] = ({}, {})
        """The places that address packets have named so far, by the context's SF bit and the address."""
        self._states: Dict[Mode, Dict[Tuple[Place, Registers], State]] = {}

    def place(self, address: int, isa: Isa, future: Optional[Future] = None) -> Place:
        """Give the place at ``address``.

        :param future: What a branch future instruction has said of the code that follows.
        """
        if future is not None:
            wanted = (address, isa, future)
            return self._future_places.setdefault(wanted, FuturePlace(*wanted))
        places = self._places[isa]
        place = places.get(address)
        if place is None:
            place = places[address] = Place(address, isa)
        return place

    def place_of(self, address: Address, wide: bool) -> Place:
        """Give the place that an address packet names, under the context's SF bit ``wide``."""
        if wide:
            # IS1 with SF set is reserved (Table 6-19).
            return RESERVED if address.is1 else self.place(address.address, _A64)
        # The address registers have 64 bits in any state; the upper ones may be from before.
        return self.place(address.address & 0xFFFFFFFF, _T32 if address.is1 else _A32)

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
        return self.enter(place, pack_addresses(addresses), (wide, quiet, told, pending))

    def enter(self, place: Place, registers: Registers, mode: Mode) -> State:
        """Give the state with these parts, the address registers as three numbers."""
        states = self._states.get(mode)
        if states is None:
            states = self._states[mode] = {}
        key = (place, registers)
        state = states.get(key)
        if state is None:
            state = states[key] = State(place, registers, *mode)
        return state

    def name(self, packed: int, wide: bool) -> Place:
        """Give the place that an address packet names, the address as in a state's registers, and remember it."""
        place = self.named[wide][packed] = self.place_of(unpack_address(packed), wide)
        return place

    def step(self, place: Place, header: int) -> Optional[Step]:
        """Tell where an Atom packet leads from a place; None when that takes more than blocks, see :meth:`way`."""
        count = 0
        here = place
        for taken in ATOMS[header]:
            ran = here.count or self._count(here)
            if ran < 0:
                return None
            count += ran
            here = (here.taken if taken else here.skipped) or self._after(here, taken)
        if here is IMPOSSIBLE:
            return None
        step = place.steps[header] = count, here
        return step

    def _count(self, place: Place) -> int:
        # Finds out what a place's steps go by.
        block = self.block(place)
        last = block.last
        future = isinstance(place, FuturePlace) or last is not None and last.kind is _FUTURE
        known = last is not None and not future and not (last.link and self.return_stack)
        place.count = block.instructions if known else -1
        return place.count

    def _after(self, place: Place, taken: bool) -> Place:
        # Where the branch leads at the end of a place's block, of which something is known already.
        block = place.block or self.block(place)
        last = block.last
        if not taken and self.blocks.always_taken(block):
            place.skipped = IMPOSSIBLE
            return IMPOSSIBLE
        if not taken or last is None:
            address, isa = block.end, block.isa
        elif last.kind is _INDIRECT:
            place.taken = AFTER_BRANCH
            return AFTER_BRANCH
        else:
            address, isa = last.target, last.isa
        following = self._places[isa].get(address) or self.place(address, isa)
        if taken:
            place.taken = following
        else:
            place.skipped = following
        return following

    def way(self, place: Place, atoms: Tuple[bool, ...]) -> Optional[Way]:
        """Tell where atoms lead from a place; None when the code does not lead as one of them says."""
        ways = place.ways
        if ways is None:
            ways = place.ways = {}
        try:
            return ways[atoms]
        except KeyError:
            way = ways[atoms] = self._find_way(place, atoms)
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
            if last is None or not taken and self.blocks.always_taken(block):
                return None
            if block.instructions:
                ranges.append(Range(block.start, block.end, block.instructions, block.isa, taken))
            following = block.end + block.replaced
            if isinstance(place, FuturePlace) or last.kind is _FUTURE:
                place = self._after_future(place, block, taken)
            elif not taken:
                place = self.place(following, block.isa)
            else:
                place = AFTER_BRANCH if last.kind is _INDIRECT else self.place(last.target, last.isa)
            if taken and last.link and self.return_stack:
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
                block = blocks.find(place.address, place.isa)
            place.block = block
        return block

    def _after_future(self, place: Place, block: Block, taken: bool) -> Place:
        # Where an atom leads at a branch future instruction, or while one is in effect: up to its branch point, or to
        # another branch that is taken, which the unit follows with a Branch Future Flush (5.2.11).
        last = block.last
        future = place.future if isinstance(place, FuturePlace) else None
        if last is None or last.kind is _FUTURE:
            return self.place(block.end, block.isa, self.blocks.future(block.end - 4) if taken else future)
        if not taken or last.target == block.end:
            return self.place(block.end + block.replaced, block.isa, None if block.replaced else future)
        return AFTER_BRANCH if last.kind is _INDIRECT else self.place(last.target, last.isa)

    def forget(self) -> None:
        """Bound memory on trace that does not repeat.  Runs stay: histories refer to them."""
        for states in self._states.values():
            for state in states.values():
                state.stretches = {}
        self._states = {}
