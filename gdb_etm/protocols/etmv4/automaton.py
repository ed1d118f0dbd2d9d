"""ETMv4's automaton: program points and states, each made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Final, List, Optional, Tuple

from gdb_etm.program.blocks import NEVER, NOWHERE, UNCLEAR, Block, BlockEnd, Blocks
from gdb_etm.program.futures import Future
from gdb_etm.program.isa import TO_REGISTER, InstructionKind, Isa, to_packed
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
    UNFOLLOWED,
    DecoderState,
    Entry,
    FuturePoint,
    ProgramPoint,
    Stop,
    Successor,
    pack_addresses,
)
from gdb_etm.protocols.obstacles import in_block
from gdb_etm.protocols.recorder import Leg, RunTable

if TYPE_CHECKING:
    from mypy_extensions import i64

    from gdb_etm.protocols.etmv4.packets import Registers
    from gdb_etm.protocols.etmv4.program_points import Step

    # The parts of a state: point, registers, wide, quiet, address_given and pending.
    Parts = Tuple[ProgramPoint, Registers, bool, bool, bool, Tuple[bool, ...]]

# A name of its own is faster to reach than an enumeration's member.
_FUTURE: Final = InstructionKind.FUTURE
_INDIRECT: Final = InstructionKind.INDIRECT
_A32: Final = Isa.A32
_T32: Final = Isa.T32
_A64: Final = Isa.A64

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__

# Where an atom leads that does not lead to an address.
_LEADS: Final = {TO_REGISTER: AFTER_BRANCH, NEVER: IMPOSSIBLE, NOWHERE: LOST, UNCLEAR: UNFOLLOWED}
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
        # The program points: whether it is A64 code, and by packed address.
        self._points: List[Dict[int, ProgramPoint]] = [{}, {}]
        self._stops: Dict[ProgramPoint, Stop] = {}
        self._future_points: Dict[Tuple[int, Isa, Future], FuturePoint] = {}
        # The program points that address packets have named so far, by the context's SF bit and the address.
        # Of A64 code they are the points themselves.
        self.named: List[Dict[int, ProgramPoint]] = [{}, self._points[True]]
        # The states after an address packet, by SF bit; nothing else is special about them.
        self.arrived: List[Dict[Registers, DecoderState]] = [{}, {}]
        self._states: Dict[Parts, DecoderState] = {}

    def point(self, address: int, isa: Isa, future: Optional[Future] = None) -> ProgramPoint:
        """Give the program point at ``address``.

        :param future: What a branch future instruction has said of the code that follows.
        """
        if future is not None:
            wanted = (address, isa, future)
            point = self._future_points.get(wanted)
            if point is None:
                point = self._future_points[wanted] = FuturePoint(to_packed(address, isa is _T32), isa, future)
            return point
        wide = isa is _A64
        packed = to_packed(address, isa is _T32)
        return self._points[wide].get(packed) or self._new_point(packed, wide)

    def _new_point(self, packed: i64, wide: bool) -> ProgramPoint:
        isa = _A64 if wide else _T32 if packed & 1 else _A32
        point = self._points[wide][packed] = ProgramPoint(packed, isa)
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
        return self.enter(point, pack_addresses(addresses), wide, quiet, address_given, pending)

    def enter(
        self,
        point: ProgramPoint,
        registers: Registers,
        wide: bool,
        quiet: bool,
        address_given: bool,
        pending: Tuple[bool, ...],
    ) -> DecoderState:
        """Give the state with these parts, the address registers as three numbers."""
        if address_given and not quiet and not pending and self.named[wide].get(registers[0]) is point:
            return self.arrived[wide].get(registers) or self.arrive(point, registers, wide)
        key = (point, registers, wide, quiet, address_given, pending)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = DecoderState(point, registers, wide, quiet, address_given, pending)
        return state

    def arrive(self, point: ProgramPoint, registers: Registers, wide: bool) -> DecoderState:
        """Make the state after an address packet that named a point."""
        state = self.arrived[wide][registers] = DecoderState(point, registers, wide, False, True, ())
        return state

    def name(self, packed: i64, wide: bool) -> ProgramPoint:
        """Give the program point of a packed address, and keep it."""
        if wide:
            # IS1 is reserved then (Table 6-19).
            return RESERVED if packed & 1 else self._points[True].get(packed) or self._new_point(packed, True)
        # The address registers have 64 bits in any state; the upper ones may be from before.
        key = packed & 0xFFFFFFFF
        point = self.named[False][packed] = self._points[False].get(key) or self._new_point(key, False)
        return point

    def step(self, point: ProgramPoint, header: int) -> Step:
        """Give the program point after an Atom packet.

        ``UNFOLLOWED`` when outlines are not enough (:meth:`successor`); the return stack is not looked at.  Where the
        program cannot be followed it is ``LOST``.
        """
        count: i64 = 0
        here = point
        for taken in ATOMS[header]:
            following = here.taken if taken else here.skipped
            if following is None:
                following = self._lead(here, taken)
            if following is IMPOSSIBLE:
                here = LOST
                break
            count += here.count
            here = following
        step = count, here
        if not point.header:
            point.header, point.ran, point.after = header, count, here
        elif point.steps is None:
            point.steps = {header: step}
        else:
            point.steps[header] = step
        return step

    def _lead(self, point: ProgramPoint, taken: bool) -> ProgramPoint:
        # Where an atom leads that comes the first time.
        wide = point.isa is _A64
        if point.outline[2] < 0:
            point.outline = self.blocks.outline(point.packed, wide)
            point.count = point.outline[2]
        packed = point.outline[1] if taken else point.outline[0]
        if packed >= 0 or not packed & 1:
            following = self._points[wide].get(packed) or self._new_point(packed, wide)
        else:
            following = _LEADS[packed]
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
                    return _new(Successor, (Leg(tuple(ranges)), point, (), deepest, index, False))
                entry = pushes.pop()
                point = self.point(entry.address, entry.isa)
            block = self.block(point)
            last = block.last
            if last is None or not taken and self.blocks.always_taken(block):
                return None
            if block.instructions:
                ranges.append(_new(Range, (block.start, block.end, block.instructions, block.isa, taken)))
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
        return _new(Successor, (Leg(tuple(ranges)), point, tuple(pushes), deepest, len(atoms), not deepest))

    def stop(self, point: ProgramPoint) -> Stop:
        """Say why a program point has no successor after an atom."""
        stop = self._stops.get(point)
        if stop is None:
            block = self.block(point)
            leg = None
            if block.stop is BlockEnd.NO_CODE and block.instructions:
                leg = Leg((Range(block.start, block.end, block.instructions, block.isa, True),))
            stop = self._stops[point] = _new(Stop, (leg, _new(Gap, (0, *in_block(block)))))
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
        for states in (self.arrived[0], self.arrived[1], self._states):
            for state in states.values():
                state.transitions = {}
            states.clear()
