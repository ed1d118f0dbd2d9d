"""The scene of a diagnosis: history, values, calls, names of memory."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.index import TraceIndex
from gdb_etm.diagnosis.library import is_library
from gdb_etm.diagnosis.names import Area, DebugNames
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Frame, Function, exception_of
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.lift.template import Template, Templates
from gdb_etm.recovery.makers import KnownAccess, Maker, MakerKind, MemoryPlace, Place, RegisterPlace
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import DEVICES, FrameInformation
from gdb_etm.recovery.values import Tier, Value

_WORD, _SP = 4, 13
# r0 to r3, which no function saves for its caller.
_ARGUMENTS = range(4)


class ActivationSpan(NamedTuple):
    """One activation of a function."""

    # Numbers of its first and last instruction in the history.
    first: int
    last: int
    # Whether it was called, or an exception's handler: the history has its very first instruction.
    is_whole: bool
    frame: Frame

    @property
    def function(self) -> Optional[Function]:
        """The function; None where it is not known."""
        return self.frame.function


class FrameSlot(NamedTuple):
    """A word of a frame that keeps a caller's register."""

    # Its number; 14 is the return address.
    register: int
    activation: ActivationSpan


def _is_common(value: int, size: int) -> bool:
    # A value that anybody may have stored.
    return value < 0x10000 or value >= 0xFFFF0000 or size < _WORD


class Scene:
    """A history with its values, calls and names.

    :param recovery: Its values.
    :param calls: Its calls.
    :param frames: Call frame information; None without.
    :param names: Names of memory.
    :param stacks: The lowest addresses of threads' stacks, as far as they are known.
    """

    def __init__(
        self,
        recovery: Recovery,
        calls: CallHistory,
        frames: Optional[FrameInformation],
        names: DebugNames,
        stacks: Sequence[int] = (),
    ) -> None:
        self.recovery = recovery
        self.history = recovery.history
        self.names = names
        self._stacks = sorted(stacks)
        self.index = TraceIndex(recovery)
        self._calls = calls
        self._frames = frames
        self.is_m_profile = is_m_profile(self.history.source.core)
        self._templates = Templates(self.history.program, self.is_m_profile, recovery.rules.objects)
        # Of code at addresses that did not run.
        self._isa: Dict[int, Isa] = {}
        self._makers: Dict[Place, Maker] = {}
        self._values: Dict[Place, Value] = {}
        self._sets: Dict[int, Dict[int, int]] = {}
        self._firsts: List[int] = []
        self._of_segment: List[int] = []
        self._activations: List[ActivationSpan] = []
        self._find_activations()

    def _find_activations(self) -> None:
        known: Dict[int, int] = {}
        rows = list(self._calls.activations())
        ends = [row.first - 1 for row in rows[1:]] + [len(self.history)]
        for row, last in zip(rows, ends):
            at = known.setdefault(id(row.frame), len(self._activations))
            if at == len(self._activations):
                whole = row.entered in (Entered.CALL, Entered.TAIL_CALL, Entered.EXCEPTION)
                self._activations.append(ActivationSpan(row.first, last, whole, row.frame))
            self._activations[at] = self._activations[at]._replace(last=last)
            self._firsts.append(row.first)
            self._of_segment.append(at)
        self._by_frame = known

    def activation(self, number: int) -> Optional[ActivationSpan]:
        """Give the activation that executed an instruction."""
        at = bisect_right(self._firsts, number) - 1
        return self._activations[self._of_segment[at]] if at >= 0 else None

    def sets(self, activation: ActivationSpan) -> Mapping[int, int]:
        """Give the slots that a function sets, each with the first setter."""
        found = self._sets.get(activation.first)
        if found is None:
            found = self._sets[activation.first] = {}
            for number in range(activation.first, activation.last + 1):
                template = self.template(number) if self.activation(number) is activation else None
                for slot in template.writes if template is not None else ():
                    found.setdefault(slot, number)
        return found

    def callers(self, activation: ActivationSpan) -> Iterator[Tuple[ActivationSpan, int]]:
        """Give the activations above one, each with its call's number.

        Those that the history does not show are left out.
        """
        frame: Optional[Frame] = activation.frame
        while frame is not None and not frame.is_exception:
            called_at, up = frame.called_at, frame.up
            at = self._by_frame.get(id(up)) if up is not None else None
            if at is not None and called_at is not None and not frame.is_tail_call:
                yield self._activations[at], called_at
            frame = up

    def interrupted_frames(self, activation: ActivationSpan) -> List[Tuple[ActivationSpan, int]]:
        """List the frames of the thread that a handler has interrupted."""
        frame: Optional[Frame] = activation.frame if activation.frame.is_handling else None
        found: List[Tuple[ActivationSpan, int]] = []
        while frame is not None and frame.is_handling:
            if frame.is_exception and frame.up is not None and frame.called_at is not None:
                at = self._by_frame.get(id(frame.up))
                if at is not None and not frame.up.is_handling:
                    found = [(self._activations[at], frame.called_at), *self.callers(self._activations[at])]
            frame = frame.up
        return found

    def context(self, number: int) -> object:
        """Give what tells the handlers' activations and the threads apart."""
        activation = self.activation(number)
        exception = exception_of(activation.frame) if activation is not None else None
        return self._calls.threads.at(number) if exception is None else exception

    def activations(self) -> Sequence[ActivationSpan]:
        """List all activations in the order of their first instructions."""
        return self._activations

    def function(self, number: int) -> Optional[Function]:
        """Give the function of an instruction."""
        found = self.activation(number) if number <= len(self.history) else None
        return found.function if found is not None else None

    def maker(self, place: Place) -> Maker:
        """Give what put a value into its place."""
        found = self._makers.get(place)
        if found is None:
            found = self.recovery.origin(place)
            if found.kind is MakerKind.HIDDEN and isinstance(place, MemoryPlace):
                found = self._still_there(place) or self._of_its_value(place) or found
            self._makers[place] = found
        return found

    def _still_there(self, place: MemoryPlace) -> Optional[Maker]:
        # Where what was stored last, as far as is known, is still there, stores of unknown address have missed.
        value = self.value(place)
        if value.value is None or value.tier > Tier.ASSUMED or _is_common(value.value, place.size):
            return None
        parts: List[Place] = []
        for offset in range(place.size):
            byte = MemoryPlace(place.number, place.address + offset, 1)
            stored = self._newest_store(byte.address, place.number)
            if stored is None or stored[1] != value.value >> 8 * offset & 0xFF:
                return None
            maker = stored[0]._replace(tier=max(stored[0].tier, Tier.ASSUMED))
            self._makers[byte] = maker
            parts.append(byte)
        makers = [self._makers[part] for part in parts]
        if len({maker.number for maker in makers}) == 1:
            return makers[0]
        return Maker(MakerKind.MERGED, place.number, tuple(parts), tier=Tier.ASSUMED)

    def _of_its_value(self, place: MemoryPlace) -> Optional[Maker]:
        # The only store of unknown address that has stored this very word, before it was read.
        value = self.value(place)
        if value.value is None or value.tier > Tier.ASSUMED or _is_common(value.value, place.size):
            return None
        stores = [one for one in self.index.hidden(value.value) if one.number < place.number]
        return stores[0]._replace(tier=max(stores[0].tier, Tier.ASSUMED), accessed=place) if len(stores) == 1 else None

    def newest_store(self, place: MemoryPlace) -> Optional[Maker]:
        """Give the newest store to memory of those with known addresses.

        :returns: It, at tier UNKNOWN: one of unknown address may be newer.
        """
        stored = self._newest_store(place.address, place.number)
        return stored[0]._replace(tier=Tier.UNKNOWN) if stored is not None else None

    def _newest_store(self, address: int, before: int) -> Optional[Tuple[Maker, Optional[int]]]:
        # Of those with known addresses; and the byte.
        touch = self.index.newest_store(address, before)
        origins = self.recovery.origins(touch.number) if touch is not None else None
        return origins.stored(touch.number, address) if origins is not None and touch is not None else None

    def put(self, place: Place, value: Value, maker: Maker) -> None:
        """Say what is known of a place that recovery does not know."""
        self._values[place], self._makers[place] = value, maker

    def value(self, place: Place) -> Value:
        """Give the value in a place, at most a word."""
        if place in self._values:
            return self._values[place]
        if isinstance(place, RegisterPlace):
            return self.recovery.register(place.number, place.name)
        number, tier = 0, Tier.EXACT
        for index, byte in enumerate(self.recovery.memory(place.number, place.address, min(place.size, _WORD))):
            if byte.value is None:
                return Value(None, Tier.UNKNOWN, byte.reason)
            number, tier = number | byte.value << 8 * index, max(tier, byte.tier)
        return Value(number, tier, "in memory", MASK, number, number, number)

    def register(self, number: int, name: str) -> Optional[int]:
        """Give a register before an instruction, if it is exact or assumed."""
        value = self.recovery.register(number, name)
        return value.value if value.tier <= Tier.ASSUMED else None

    def interrupted(self, number: int, name: str) -> Tuple[Value, Maker]:
        """Give a register as an exception found it, and its maker."""
        origins = self.recovery.origins(number)
        if origins is None:
            return Value(None, Tier.UNKNOWN, "not worked out"), Maker(MakerKind.BEFORE, number)
        return origins.interrupted(number, name)

    def target(self, number: int) -> Optional[Maker]:
        """Give what made an indirect branch's target."""
        origins = self.recovery.origins(number)
        return None if origins is None else origins.target(number)

    def accesses(self, number: int) -> Sequence[KnownAccess]:
        """List an instruction's loads and stores with known addresses."""
        return self.index.accesses(number)

    def address_of(self, number: int) -> Sequence[RegisterPlace]:
        """List what the address was made from that an instruction accessed first."""
        origins = self.recovery.origins(number)
        return () if origins is None else origins.address_of(number)

    def template(self, number: int) -> Optional[Template]:
        """Give an executed instruction's operations."""
        one = self.history.instruction(number)
        return self._templates.at(one.address, one.isa)

    def template_at(self, address: int, number: int) -> Optional[Template]:
        """Give the operations of the instruction at an address.

        :param number: Of an instruction that has its instruction set, unless that was told.
        """
        return self._templates.at(address, self._isa.get(address, self.history.instruction(number).isa))

    def tell_isa(self, address: int, isa: Isa) -> None:
        """Say in which instruction set code is that did not run."""
        self._isa[address] = isa

    def is_mapped(self, address: int) -> bool:
        """Check whether memory or a device may be at an address."""
        return self.is_device(address) or self.is_ram(address) or bool(self.history.program.read(address, 1))

    def is_device(self, address: int) -> bool:
        """Check whether a device's or core's register may be at an address."""
        return any(low <= address < high for low, high in DEVICES)

    def is_ram(self, address: int) -> bool:
        """Check whether the program writes memory at an address."""
        return any(low <= address < high for low, high in self.recovery.rules.ram)

    def stack_from(self, address: int) -> Optional[int]:
        """Give the lowest address of the thread's stack around an address."""
        at = bisect_right(self._stacks, address)
        return self._stacks[at - 1] if at else None

    def cfa(self, activation: ActivationSpan, number: int) -> Optional[int]:
        """Give the canonical frame address of an activation.

        :param number: One of its instructions; registers are those before it.
        """
        row = self._frames.row(self.index.address(number)) if self._frames is not None else None
        if row is None:
            # Where a function begins its frame address is SP.
            return self.register(activation.first, "sp") if activation.is_whole else None
        name = "sp" if row.register == _SP else "r%d" % row.register
        value = self.register(number, name)
        return (value + row.offset) & MASK if value is not None else None

    def frames_at(self, number: int) -> Iterator[Tuple[ActivationSpan, int, int]]:
        """Give the active frames before an instruction, innermost first.

        :returns: Of each the activation, its instruction, and its canonical frame address; those are left out of which
            that is not known.
        """
        activation = self.activation(number)
        callee: Optional[ActivationSpan] = None
        top = self.register(number, "sp")
        for one, at in () if activation is None else ((activation, number), *self.callers(activation)):
            row = self._frames.row(self.index.address(at)) if self._frames is not None else None
            # At a call SP is the frame address of what is called: nothing older must be worked out for it.
            if row is None or row.register != _SP or top is None or callee is not None and callee.frame.called_at != at:
                top = self.cfa(one, at)
            else:
                top = (top + row.offset) & MASK
            if top is not None:
                yield one, at, top
            callee = one

    def saved_at(self, number: int, address: int, size: int) -> Optional[FrameSlot]:
        """Find an active frame's saved register in a piece of memory.

        :param number: Of the instruction at which the frames are active.
        """
        for one, at, cfa in self.frames_at(number):
            row = self._frames.row(self.index.address(at)) if self._frames is not None else None
            for register, offset in row.saved.items() if row is not None else ():
                if register in _ARGUMENTS:
                    # A push of them only makes room on the stack (AAPCS32, 6.1.1).
                    continue
                place = (cfa + offset) & MASK
                if place < address + size and address < place + _WORD:
                    return FrameSlot(register, one)
            if address + size <= cfa:
                # Those above lie behind it; what they are may be known by what ran long ago.
                break
        return None

    def locals(self, activation: ActivationSpan, number: int) -> Sequence[Area]:
        """List the variables in an activation's frame."""
        cfa = self.cfa(activation, number)
        return () if cfa is None else self.names.locals(self.index.address(number), cfa)

    def user(self, number: int) -> int:
        """Give the instruction of the program's own that an instruction works for.

        That is the call, where a library copies or formats for the program; else the instruction itself.
        """
        activation = self.activation(number)
        frame: Optional[Frame] = activation.frame if activation is not None else None
        at = number
        while frame is not None and not frame.is_exception:
            if not self.is_library(frame.function):
                return at
            if frame.called_at is None:
                break
            at, frame = frame.called_at, frame.up
        return number

    def is_library(self, function: Optional[Function]) -> bool:
        """Check whether a function is a library's, whatever is inlined there."""
        return function is not None and is_library(function.name, self.names.file(function.start))

    def copied_from(self, maker: Maker) -> Optional[MemoryPlace]:
        """Give the memory that a loop has copied byte by byte.

        :param maker: Of several stores.
        """
        found: List[Tuple[int, int]] = []
        low = min([one.address for one in maker.sources if isinstance(one, MemoryPlace)], default=0)
        for part in maker.sources:
            stored = self.maker(part)
            data = stored.sources[0] if stored.kind is MakerKind.STORED and len(stored.sources) == 1 else None
            loaded = self.maker(data) if isinstance(data, RegisterPlace) else None
            if not isinstance(part, MemoryPlace) or loaded is None or loaded.kind is not MakerKind.LOADED:
                return None
            if loaded.accessed is None or loaded.accessed.size != part.size:
                return None
            found.append((loaded.number, loaded.accessed.address - (part.address - low)))
        if not found or len({start for _, start in found}) != 1:
            return None
        size = sum(one.size for one in maker.sources if isinstance(one, MemoryPlace))
        return MemoryPlace(max(number for number, _ in found), found[0][1], size)

    def result(self, activation: ActivationSpan) -> Optional[int]:
        """Give what a function returned in r0, where it returned."""
        number = activation.last + 1
        following = self.activation(number) if number <= len(self.history) else None
        frame = following.frame if following is not None else None
        if following is not None and frame is not None and frame.is_tail_call and frame.up is activation.frame:
            return self.result(following)
        while frame is not None and frame is not activation.frame:
            frame = frame.up
        # What it has called runs where nothing more of it does.
        return self.register(number, "r0") if following is not None and frame is None else None
