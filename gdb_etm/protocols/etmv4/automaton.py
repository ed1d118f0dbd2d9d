"""ETMv4's automaton: program points and states, each made once."""

from __future__ import annotations

from typing import Dict, Final, List, Optional, Tuple

from gdb_etm.program.blocks import NOWHERE, UNCLEAR, Block, BlockEnd, Blocks, Outline
from gdb_etm.program.futures import Future
from gdb_etm.program.isa import TO_REGISTER, InstructionKind, Isa
from gdb_etm.protocols.elements import Gap, Range
from gdb_etm.protocols.etmv4.packets import ATOMS, Address, Addresses
from gdb_etm.protocols.etmv4.packets import Kind as PacketKind
from gdb_etm.protocols.etmv4.packets import pack_address
from gdb_etm.protocols.etmv4.program_points import (
    AFTER_BRANCH,
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
States = Dict[Tuple[ProgramPoint, Registers], DecoderState]
# A name of its own is faster to reach than an enumeration's member.
_FUTURE: Final = InstructionKind.FUTURE
_INDIRECT: Final = InstructionKind.INDIRECT
_A32: Final = Isa.A32
_T32: Final = Isa.T32
_A64: Final = Isa.A64

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__

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
        # The program points, and what atoms do at blocks: whether it is A64 code, and by packed address.
        self._points: Tuple[Dict[int, ProgramPoint], Dict[int, ProgramPoint]] = ({}, {})
        self._outlines: Tuple[Dict[int, Outline], Dict[int, Outline]] = ({}, {})
        for outlines in self._outlines:
            # No atom follows one that leads to a register's address.
            outlines[TO_REGISTER] = (UNCLEAR, UNCLEAR, 0)
        self._stops: Dict[ProgramPoint, Stop] = {}
        self._future_points: Dict[Tuple[int, Isa, Future], FuturePoint] = {}
        # The program points that address packets have named so far, by the context's SF bit and the address.
        # Of A64 code they are the points themselves, and what is reserved.
        self.named: Tuple[Dict[int, ProgramPoint], Dict[int, ProgramPoint]] = ({}, self._points[True])
        self._states: Dict[Mode, States] = {}
        self.forget()

    def point(self, address: int, isa: Isa, future: Optional[Future] = None) -> ProgramPoint:
        """Give the program point at ``address``.

        :param future: What a branch future instruction has said of the code that follows.
        """
        if future is not None:
            wanted = (address, isa, future)
            return self._future_points.setdefault(wanted, FuturePoint(*wanted))
        wide = isa is _A64
        packed = address << 1 | (isa is _T32)
        return self._points[wide].get(packed) or self._new_point(packed, wide)

    def _new_point(self, packed: int, wide: bool) -> ProgramPoint:
        isa = _A64 if wide else _T32 if packed & 1 else _A32
        point = self._points[wide][packed] = ProgramPoint(packed >> 1, isa)
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
        # The address registers have 64 bits in any state; the upper ones may be from before.
        key = packed if wide else packed & 0x1FFFFFFFF
        # IS1 with SF set is reserved (Table 6-19).
        point = RESERVED if wide and packed & 1 else self._points[wide].get(key) or self._new_point(key, wide)
        self.named[wide][packed] = point
        return point

    def step(self, point: ProgramPoint, header: int) -> Optional[Step]:
        """Give the program point after an Atom packet.

        None when blocks are not enough (:meth:`successor`); the return stack is not looked at.  Where the program
        cannot be followed it is ``LOST``.
        """
        if isinstance(point, (UnknownPoint, FuturePoint)):
            return (0, LOST) if point is LOST else None
        wide = point.isa is _A64
        outlines = self._outlines[wide]
        packed = point.address << 1 | (point.isa is _T32)
        count = 0
        here: ProgramPoint = LOST
        for taken in ATOMS[header]:
            outline = outlines.get(packed)
            if outline is None:
                outline = outlines[packed] = self.blocks.outline(packed, wide)
            packed = outline[taken]
            if packed < TO_REGISTER:
                if packed == UNCLEAR:
                    return None
                # What :meth:`stop` says, in short.
                count += outline[2] if packed == NOWHERE else 0
                break
            count += outline[2]
        else:
            here = AFTER_BRANCH
            if packed >= 0:
                here = self._points[wide].get(packed) or self._new_point(packed, wide)
        step = point.steps[header] = count, here
        return step

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
        for states in self._states.values():
            for state in states.values():
                state.transitions = {}
        # The states after an address packet, by SF bit; nothing else is special about them.
        self.arrived: Tuple[States, States] = ({}, {})
        self._states = {(bool(wide), False, True, ()): states for wide, states in enumerate(self.arrived)}
