"""ETMv4's automaton: program points and states, each made once."""

from __future__ import annotations

from typing import Dict, Final, List, Optional, Tuple

from gdb_etm.program.blocks import Block, BlockEnd, Blocks
from gdb_etm.program.futures import Future
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import Gap, Range
from gdb_etm.protocols.etmv4.packets import ATOMS, Address, Addresses
from gdb_etm.protocols.etmv4.packets import Kind as PacketKind
from gdb_etm.protocols.etmv4.packets import pack_address
from gdb_etm.protocols.etmv4.program_points import (
    AFTER_BRANCH,
    IMPOSSIBLE,
    LOST,
    RESERVED,
    STACK_DEPTH,
    DecoderState,
    Entry,
    FuturePoint,
    ProgramPoint,
    Registers,
    Step,
    Stop,
    Successor,
    UnknownPoint,
    pack_addresses,
)
from gdb_etm.protocols.obstacles import in_block
from gdb_etm.protocols.recorder import Leg, RunTable

# The other parts of a state: wide, quiet, address_given and pending.
Mode = Tuple[bool, bool, bool, Tuple[bool, ...]]
# A name of its own is faster to reach than an enumeration's member.
_NO_CODE: Final = BlockEnd.NO_CODE
_FUTURE: Final = InstructionKind.FUTURE
_INDIRECT: Final = InstructionKind.INDIRECT
_A32: Final = Isa.A32
_T32: Final = Isa.T32
_A64: Final = Isa.A64

# Packets that are an address and nothing else.
ADDRESS_KINDS: Final = (PacketKind.EXACT_MATCH, PacketKind.SHORT_ADDRESS, PacketKind.LONG_ADDRESS)


class Automaton:
    """Program points, states and transitions of one program under one configuration.

    :param blocks: The program's blocks.
    :param return_stack: Whether link branches push and indirect branches may pop.
    """

    def __init__(self, blocks: Blocks, return_stack: bool) -> None:
        self.blocks = blocks
        self.runs = RunTable()
        self.return_stack = return_stack
        self._points: Tuple[Dict[int, ProgramPoint], ...] = tuple({} for _ in Isa)
        self._stops: Dict[ProgramPoint, Stop] = {}
        self._future_points: Dict[Tuple[int, Isa, Future], FuturePoint] = {}
        # The program points that address packets have named so far, by the context's SF bit and the address.
        self.named: Tuple[Dict[int, ProgramPoint], Dict[int, ProgramPoint]] = ({}, {})
        self._states: Dict[Mode, Dict[Tuple[ProgramPoint, Registers], DecoderState]] = {}

    def point(self, address: int, isa: Isa, future: Optional[Future] = None) -> ProgramPoint:
        """Give the program point at ``address``.

        :param future: What a branch future instruction has said of the code that follows.
        """
        if future is not None:
            wanted = (address, isa, future)
            return self._future_points.setdefault(wanted, FuturePoint(*wanted))
        points = self._points[isa]
        point = points.get(address)
        if point is None:
            point = points[address] = ProgramPoint(address, isa)
        return point

    def point_of(self, address: Address, wide: bool) -> ProgramPoint:
        """Give the program point of an address packet, by SF bit."""
        packed = pack_address(address)
        return self.named[wide].get(packed) or self.name(packed, wide)

    def state(
        self,
        point: ProgramPoint,
        addresses: Addresses,
        wide: bool,
        quiet: bool,
        address_given: bool = False,
        pending: Tuple[bool, ...] = (),
    ) -> DecoderState:
        """Give the state with these parts."""
        return self.enter(point, pack_addresses(addresses), (wide, quiet, address_given, pending))

    def enter(self, point: ProgramPoint, registers: Registers, mode: Mode) -> DecoderState:
        """Give the state with these parts, the address registers as three numbers."""
        states = self._states.get(mode)
        if states is None:
            states = self._states[mode] = {}
        key = (point, registers)
        state = states.get(key)
        if state is None:
            wide, quiet, address_given, pending = mode
            state = states[key] = DecoderState(point, registers, wide, quiet, address_given, pending)
        return state

    def name(self, packed: int, wide: bool) -> ProgramPoint:
        """Give the program point of a packed address, and keep it."""
        if wide:
            # IS1 with SF set is reserved (Table 6-19).
            point = RESERVED if packed & 1 else self.point(packed >> 1, _A64)
        else:
            # The address registers have 64 bits in any state; the upper ones may be from before.
            point = self.point(packed >> 1 & 0xFFFFFFFF, _T32 if packed & 1 else _A32)
        self.named[wide][packed] = point
        return point

    def step(self, point: ProgramPoint, header: int) -> Optional[Step]:
        """Give the program point after an Atom packet.

        None when blocks are not enough (:meth:`successor`).  Where the program cannot be followed it is ``LOST``.
        """
        count = 0
        here = point
        for taken in ATOMS[header]:
            if here is LOST:
                break
            ran = here.count or self._count(here)
            if ran < 0:
                if isinstance(here, (UnknownPoint, FuturePoint)) or self.block(here).last is not None:
                    return None
            else:
                following = (here.taken if taken else here.skipped) or self._after(here, taken)
                if following is not IMPOSSIBLE:
                    count += ran
                    here = following
                    continue
            # What :meth:`stop` says, in short.
            block = self.block(here)
            count += block.instructions if block.stop is _NO_CODE else 0
            here = LOST
        step = point.steps[header] = count, here
        return step

    def _count(self, point: ProgramPoint) -> int:
        # Computes :attr:`ProgramPoint.count`.
        block = self.block(point)
        last = block.last
        future = isinstance(point, FuturePoint) or last is not None and last.kind is _FUTURE
        known = last is not None and not future and not (last.link and self.return_stack)
        point.count = block.instructions if known else -1
        return point.count

    def _after(self, point: ProgramPoint, taken: bool) -> ProgramPoint:
        # Where the branch at the end of a program point's block leads; something of the block is known already.
        block = point.block or self.block(point)
        last = block.last
        if not taken and self.blocks.always_taken(block):
            point.skipped = IMPOSSIBLE
            return IMPOSSIBLE
        if not taken or last is None:
            address, isa = block.end, block.isa
        elif last.kind is _INDIRECT:
            point.taken = AFTER_BRANCH
            return AFTER_BRANCH
        else:
            address, isa = last.target, last.isa
        following = self._points[isa].get(address) or self.point(address, isa)
        if taken:
            point.taken = following
        else:
            point.skipped = following
        return following

    def successor(self, point: ProgramPoint, atoms: Tuple[bool, ...]) -> Optional[Successor]:
        """Give the successor of a program point after some atoms.

        None when the code does not lead as one of them says.
        """
        successors = point.successors
        if successors is None:
            successors = point.successors = {}
        try:
            return successors[atoms]
        except KeyError:
            successor = successors[atoms] = self._find_successor(point, atoms)
            return successor

    def _find_successor(self, point: ProgramPoint, atoms: Tuple[bool, ...]) -> Optional[Successor]:
        ranges: List[Range] = []
        pushes: List[Entry] = []
        deepest = 0
        for index, taken in enumerate(atoms):
            if point is AFTER_BRANCH:
                if not pushes:
                    return Successor(Leg(tuple(ranges)), point, (), deepest, index, False)
                entry = pushes.pop()
                point = self.point(entry.address, entry.isa)
            block = point.block or self.block(point)
            last = block.last
            if last is None or not taken and self.blocks.always_taken(block):
                return None
            if block.instructions:
                ranges.append(Range(block.start, block.end, block.instructions, block.isa, taken))
            following = block.end + block.replaced
            if isinstance(point, FuturePoint) or last.kind is _FUTURE:
                point = self._after_future(point, block, taken)
            elif not taken:
                point = self.point(following, block.isa)
            else:
                point = AFTER_BRANCH if last.kind is _INDIRECT else self.point(last.target, last.isa)
            if taken and last.link and self.return_stack:
                pushes.append(Entry(following, block.isa))
                del pushes[:-STACK_DEPTH]
                deepest = max(deepest, len(pushes))
        return Successor(Leg(tuple(ranges)), point, tuple(pushes), deepest, len(atoms), not deepest)

    def stop(self, point: ProgramPoint) -> Stop:
        """Say why a program point has no successor after an atom."""
        stop = self._stops.get(point)
        if stop is None:
            block = self.block(point)
            leg = None
            if block.stop is BlockEnd.NO_CODE and block.instructions:
                leg = Leg((Range(block.start, block.end, block.instructions, block.isa, True),))
            stop = self._stops[point] = Stop(leg, Gap(0, *in_block(block)))
        return stop

    def block(self, point: ProgramPoint) -> Block:
        """Give the block that begins at a program point."""
        block = point.block
        if block is None:
            blocks = self.blocks
            if isinstance(point, FuturePoint):
                block = blocks.before(point.address, point.isa, point.future)
            else:
                block = blocks.find(point.address, point.isa)
            point.block = block
        return block

    def _after_future(self, point: ProgramPoint, block: Block, taken: bool) -> ProgramPoint:
        # Where an atom leads at a branch future instruction, or while one is in effect: up to its branch point, or to
        # another branch that is taken, which the unit follows with a Branch Future Flush (5.2.11).
        last = block.last
        future = point.future if isinstance(point, FuturePoint) else None
        if last is None or last.kind is _FUTURE:
            return self.point(block.end, block.isa, self.blocks.future(block.end - 4) if taken else future)
        if not taken or last.target == block.end:
            return self.point(block.end + block.replaced, block.isa, None if block.replaced else future)
        return AFTER_BRANCH if last.kind is _INDIRECT else self.point(last.target, last.isa)

    def forget(self) -> None:
        """Bound memory on trace that does not repeat."""
        for states in self._states.values():
            for state in states.values():
                state.transitions = {}
        self._states = {}
