"""Stacks that outgrow their memory; pointers to frames that are gone."""

from __future__ import annotations

from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.bad import NO_MEMORY
from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.operands import left_in
from gdb_etm.diagnosis.pointers import POINTERS, PointerRoot, PointerRoots, accessed_at
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.site import FaultSite
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.lift.operations import CONTROL, MSP, PSP, SP
from gdb_etm.recovery.makers import MakerKind, RegisterPlace
from gdb_etm.recovery.values import Tier

# A stack is not larger, in bytes.
_LARGEST = 1 << 20
Frames = List[Tuple[ActivationSpan, int]]
# Bytes that an exception pushes, with floating-point registers and alignment (Armv8-M ARM, B3.19).
_FRAME = 112
# Bytes that an instruction pushes: 16 registers of 8 bytes, below SP as it was before.
_PUSHED = 128
# Instructions in which a function makes its frame.
_PROLOGUE = 40
# Where who made a pointer is open.
_NOT_KNOWN = (MakerKind.BEFORE, MakerKind.HIDDEN)
# Bytes that an MPU guards at the end of a stack, at most.
_GUARD = 128
# So many activations of one function above another are a recursion.
_DEEP = 6


class _Refused(NamedTuple):
    # A function, what its frame would have taken, and the instruction that could not make it.
    function: str
    size: int
    address: int


class Stacks:
    """Finds stack overflows and stale frames.

    :param scene: What is looked at.
    :param pointers: Where pointers were made.
    """

    def __init__(self, scene: Scene, pointers: PointerRoots) -> None:
        self._scene = scene
        self._pointers = pointers

    def look(self, node: Node) -> Optional[Suspicion]:
        """Look at a store: whether it is a stack's, or its frame's."""
        accessed = accessed_at(node.maker)
        if accessed is None or node.maker.kind not in (MakerKind.STORED, MakerKind.PUSHED, MakerKind.LOADED):
            return None
        number = node.maker.number
        root = self._pointers.root(node.maker.address) if node.maker.address else None
        is_stack = node.maker.kind is MakerKind.STORED and root is not None and root.is_stack
        if node.maker.kind is MakerKind.PUSHED or is_stack:
            found = self.invaded(number, accessed.address)
            if found is not None:
                return found
        if root is not None and root.is_stack and not any(one.name in POINTERS for one in node.maker.address):
            return self._stale(node, root)
        if root is not None and root.kind in _NOT_KNOWN and node.maker.kind is MakerKind.STORED:
            return self._older(node, root)
        return None

    def invaded(self, number: int, address: int) -> Optional[Suspicion]:
        """Check whether the stack at an instruction reaches into an object.

        :param address: Of a word of the stack.
        """
        activation, victim = self._scene.activation(number), self._object(address)
        if activation is None or victim is None:
            return None
        stacks = self._stacks(activation, number)
        bottom, top = self._scene.register(number, "sp"), self._top(stacks[-1])
        if bottom is not None and top is not None and bottom - _PUSHED <= address < top:
            # It is in the frames of the handler's own stack: the interrupted thread's has not grown to there.
            stacks = stacks[-1:]
        for active in stacks:
            pointer, lowered = self._top(active), self._scene.register(active[0][1], "sp") if active else None
            if pointer is None or not 0 <= pointer - address < _LARGEST:
                continue
            if lowered is not None and address < lowered - _FRAME - _PUSHED:
                # It has not grown to there.
                continue
            home, lowest = self._object(pointer - 4), self._scene.stack_from(pointer - 4)
            # A kernel's heap holds the stacks of all its threads.
            is_below = lowest is not None and address < lowest and self._object(lowest) == home
            if home == victim and not is_below:
                continue
            where = "below its lowest address, 0x%08x" % lowest if lowest and is_below else "over %s" % victim.name
            found = self._grown(active, number, where)
            if found is not None:
                return found
        return None

    def at_limit(self, site: FaultSite) -> Optional[Suspicion]:
        """Name the function that lowered SP below its limit, or would."""
        return self._grown(self.active(site.number), site.number, "beyond its limit", self._refused(site))

    def _refused(self, site: FaultSite) -> Optional[_Refused]:
        # The function whose instruction would have lowered SP, and has not.
        address, activation = site.address, self._scene.activation(site.number)
        template = None if address is None else self._scene.template_at(address & ~1, site.number)
        if address is None or template is None or site.is_branch or activation is None:
            return None

        def read(name: str) -> Optional[int]:
            return self._scene.interrupted(site.number, name)[0].value

        pointer, below = read("sp"), left_in(template, "sp", read)
        if pointer is None or below is None or below >= pointer:
            return None
        name = self._scene.names.function(address)
        is_own = activation.function is not None and activation.function.name == name
        # A function that begins there has no frame yet.
        is_own = is_own and not self._scene.names.beginning(address)
        top = self._scene.register(activation.first, "sp") if is_own else pointer
        return None if top is None or not name else _Refused(name, top - below, address)

    def at_fault(self, site: FaultSite) -> Optional[Suspicion]:
        """Look at a fault's address: whether a stack has left its memory."""
        for bad in site.bad:
            for place in bad.places if bad.why == NO_MEMORY and bad.value is not None else ():
                root = self._pointers.root([place]) if isinstance(place, RegisterPlace) else None
                is_stack = isinstance(place, RegisterPlace) and place.name == "sp" or root is not None and root.is_stack
                # What the outermost frame was may be known by what ran long ago.
                active = self.active(site.number) if is_stack else []
                top = self._top(active)
                # SP that never led to memory has not grown out of it.
                if top is not None and bad.value is not None and bad.value < top and self._scene.is_ram(top - 4):
                    return self._grown(active, site.number, "below RAM")
        return None

    def at_guard(self, site: FaultSite, is_unstacked: bool) -> Optional[Suspicion]:
        """Look at what an MPU forbids: whether a stack ends there.

        :param is_unstacked: Whether the exception's frame could not be written.
        """
        active = self.active(site.number)
        top = self._top(active)
        home = None if top is None else self._object(top - 4)
        if top is None or home is None or not home.is_array:
            return None
        pointer = self._scene.interrupted(site.number, "sp")[0].value
        reached = [pointer - 4] if pointer is not None and is_unstacked else []
        for bad in site.bad:
            root = self._pointers.root([one for one in bad.places if isinstance(one, RegisterPlace)])
            if bad.value is not None and bad.access and root is not None and root.is_stack:
                reached.append(bad.value)
        # What kernels guard is the lowest part of a stack, or lies just below it.
        guarded = range(home.start - _GUARD, home.start + min(_GUARD, home.size // 4))
        if not any(address in guarded for address in reached):
            return None
        return self._grown(
            active, site.number, "into the MPU's guard at the end of %s (%d bytes)" % (home.name, home.size)
        )

    def _top(self, active: Frames) -> Optional[int]:
        # SP where the outermost frame begins of which it is known: the history may have begun within others.
        known = (self._scene.register(one.first, "sp") for one, _ in reversed(active))
        return next((pointer for pointer in known if pointer is not None), None)

    def _object(self, address: int) -> Optional[Area]:
        # Stacks may be members of an array.
        areas = self._scene.names.containers(address)
        arrays = [area for area in areas if area.is_array]
        return arrays[-1] if arrays else areas[0] if areas else None

    def active(self, number: int) -> Frames:
        """List the active frames with where each stands, innermost first, through handlers."""
        activation = self._scene.activation(number)
        found = [] if activation is None else self._stacks(activation, number)
        return found[-1] if found else []

    def _stacks(self, activation: ActivationSpan, number: int) -> List[Frames]:
        # The frames of a handler and of what it has interrupted may be on one stack, or on two.
        own = self._one([(activation, number), *self._scene.callers(activation)])
        interrupted = self._one(self._scene.interrupted_frames(activation))
        if not own or not interrupted:
            return [own or interrupted]
        inner, outer = self._scene.register(own[-1][0].first, "sp"), self._scene.register(interrupted[0][1], "sp")
        is_one = inner is not None and outer is not None and 0 <= outer - inner <= _FRAME
        return [own + interrupted] if is_one else [interrupted, own]

    def _one(self, frames: Frames) -> Frames:
        # Those up to a function that has gone on with another stack: its frame was not there when it began.
        called: Optional[int] = None
        for at, (one, number) in enumerate(frames):
            frame, top = self._scene.cfa(one, number), self._scene.register(one.first, "sp")
            here = self._scene.register(number, "sp")
            is_other = at and one.is_whole and None not in (frame, top) and frame != top
            # What called it may be no frame any more: who starts a thread jumps there.
            if is_other or None not in (called, here) and called != here or self._has_switched(one, number):
                return frames[:at]
            called = top if one.is_whole else None
        return frames

    def _has_switched(self, one: ActivationSpan, number: int) -> bool:
        # By MSR, as what starts a kernel's first thread does; a handler's own stack is always that of MSP.
        slots, sets = (MSP,) if one.frame.is_handling else (MSP, PSP, CONTROL), self._scene.sets(one)
        return any(sets.get(slot, number) < number for slot in slots)

    def _grown(
        self, active: Frames, number: int, where: str, refused: Optional[_Refused] = None
    ) -> Optional[Suspicion]:
        # The function that takes most of a stack which has grown beyond its memory.
        sizes: Dict[str, int] = {}
        largest: Optional[Tuple[int, ActivationSpan]] = None
        bottom = self._scene.register(number, "sp")
        for one, at in active:
            top = self._scene.register(one.first, "sp")
            lowest = self._lowest(one, number)
            if top is None or lowest is None:
                # SP was lost when it began, but is known where it stands.
                top, lowest = self._scene.cfa(one, at), self._scene.register(at, "sp")
            if one.function is None or top is None or lowest is None:
                continue
            sizes[one.function.name] = sizes.get(one.function.name, 0) + top - lowest
            if largest is None or top - lowest > largest[0]:
                largest = top - lowest, one
        if largest is None or bottom is None:
            # SP is lost: who is there most often.
            sizes, largest = Counter([one.function.name for one, _ in active if one.function is not None]), None
            refused = None
        if refused is not None:
            sizes[refused.function] = sizes.get(refused.function, 0) + refused.size
        if not sizes:
            return None
        name = max(sizes, key=lambda one: sizes[one])
        alike = [one for one, _ in active if one.function is not None and one.function.name == name]
        if len(alike) >= _DEEP:
            # Of what called the outermost one nothing is known, nor of what calls it in turn.
            frames = [one for one, _ in active]
            inner = {one.function for one in frames[: frames.index(alike[-1]) + 1]}
            least = "at least " if frames[-1].function in inner else ""
            text = "calls itself %s%d deep: the stack grows %s" % (least, len(alike), where)
            called = alike[0].frame.called_at
            return Suspicion(SuspicionKind.STACK_OVERFLOW, called or alike[0].first, text, Tier.ASSUMED)
        text = "needs %d bytes of stack, which grows %s"
        if refused is not None and (largest is None or refused.size > largest[0]):
            text %= refused.size, where
            return Suspicion(SuspicionKind.STACK_OVERFLOW, number, text, Tier.ASSUMED, address=refused.address)
        if largest is None:
            return None
        text %= largest[0], where
        return Suspicion(SuspicionKind.STACK_OVERFLOW, self._lowers(largest[1], number), text, Tier.ASSUMED)

    def _lowers(self, one: ActivationSpan, number: int) -> int:
        # The instruction of a function that lowers SP most.
        known = [(at, self._scene.register(at, "sp")) for at in self._prologue(one, number)]
        steps = [
            (before[1] - after[1], before[0])
            for before, after in zip(known, known[1:])
            if before[1] is not None and after[1] is not None
        ]
        return max(steps)[1] if steps else one.first

    def _prologue(self, one: ActivationSpan, number: int) -> List[int]:
        numbers = range(one.first, min(one.first + _PROLOGUE, number, one.last + 1) + 1)
        return [at for at in numbers if at <= len(self._scene.history) and self._scene.activation(at) is one]

    def _lowest(self, one: ActivationSpan, number: int) -> Optional[int]:
        # The lowest SP of an activation's own so far.
        values = [self._scene.register(at, "sp") for at in self._prologue(one, number)]
        known = [value for value in values if value is not None]
        return min(known) if known else None

    def _stale(self, node: Node, root: PointerRoot) -> Optional[Suspicion]:
        number = node.maker.number
        maker, user = self._scene.activation(root.number), self._scene.activation(number)
        if maker is None or user is None or maker.function is None or maker.last >= number:
            return None
        # What switches threads reads and writes their stacks.
        if maker.frame.is_handling or user.frame.is_handling:
            return None
        if any(one is maker for one, _ in self.active(number)):
            return None
        accessed = accessed_at(node.maker)
        top = self._scene.register(maker.first, "sp")
        if accessed is None or top is None or accessed.address >= top:
            return None
        # The last that its function did with it.
        made = next((one for one in root.trail if self._scene.activation(one) is maker), root.number)
        verb = "writes" if node.maker.kind is MakerKind.STORED else "reads"
        by = user.function.name if user.function is not None else "code"
        text = "gives out the address of a local variable, and returns; %s %s there at #%s" % (
            by,
            verb,
            format(number, ","),
        )
        return Suspicion(SuspicionKind.STALE_FRAME, made, text, node.maker.tier, number)

    def _older(self, node: Node, root: PointerRoot) -> Optional[Suspicion]:
        # A store into frames through a pointer that is older than they are, to below where they begin: who made it is
        # not known, so that it accuses nobody.
        number, accessed = node.maker.number, accessed_at(node.maker)
        user, bottom = self._scene.activation(number), self._scene.register(number, "sp")
        if user is None or user.frame.is_handling or accessed is None or bottom is None or accessed.address < bottom:
            return None
        for one, _ in self.active(number):
            top = self._scene.register(one.first, "sp") if one.is_whole and root.number <= one.first else None
            if top is None or one.function is None or accessed.address >= top:
                continue
            if root.address >= top or self._object(root.address) != self._object(accessed.address):
                return None
            first = next((one for one in reversed(root.trail) if not self._is_pop(one)), number)
            text = "has a pointer first, made before %s is called, to below its frame, where %s writes at #%s"
            text += ": that of a local variable may be gone"
            by = user.function.name if user.function is not None else "code"
            text %= one.function.name, by, format(number, ",")
            return Suspicion(SuspicionKind.ORIGIN, first, text, max(node.maker.tier, root.tier), number)
        return None

    def _is_pop(self, number: int) -> bool:
        # What restores a caller's register has not made what is in it.
        template = self._scene.template(number)
        return (
            template is not None
            and SP in template.writes
            and any(not one.store for one in self._scene.accesses(number))
        )
