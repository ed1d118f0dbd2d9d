"""Halts of the core by a full buffer, through Cross Trigger Interfaces.

The buffer's FULL output goes to a trigger input of some interface (DDI 0314H, 9.1; DDI 0461B, 2.1); a channel leads
from there to the interface of the core, whose output 0 is the debug request (Cortex-M33 TRM, 100230; Cortex-M7 TRM,
DDI 0489).  Which input it is differs from chip to chip, and few manuals say it.  So a trial finds it: in one piece of a
recording the buffer tells soon that it is full, and the inputs before and after are compared.  Nothing is connected
for that, and no integration register is written, after which a component may need a reset (DDI 0314H, 9.4).  Then one
piece proves that the core halts; both are short enough to lose nothing where it does not.

FULL comes when the write pointer wraps.  Trace that still comes until the core has halted must not replace the oldest:
so the pointer begins some way up, and what is below it is the reserve.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Sequence

from gdb_etm.coresight.borrowed import Restoration
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.cti import CrossTriggerInterface
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.sink import Sink
from gdb_etm.errors import AccessError

# The trigger output of a Cortex-M's interface that is its debug request.
_DEBUG_REQUEST = 0
# Where a Cortex-M has its interface (100230 and DDI 0489: the processor's ROM table).
_CORES_PLACE = 0xE0042000
# Of what the buffer holds: bytes until it tells that it is full in the trial.
_TRIAL_BYTES = 64
# The part of the buffer that is filled until then in the first piece that is to end so.
_PROOF_PART = 4
# The least and the first reserve, in bytes and as a part of the buffer; the most, as a part.
_LEAST_RESERVE, _FIRST_PART, _MOST_PART = 256, 8, 2


class FullHaltState(Enum):
    """What is known of the way from the buffer to the core.

    The value is for people.
    """

    UNTRIED = "not tried yet"
    FOUND = "found"
    PROVEN = "proven"
    ABSENT = "absent"


class FullRoute(NamedTuple):
    """The trigger input that hears of a full buffer."""

    interface: CrossTriggerInterface
    number: int


class FullHalt:
    """What halts the core when the buffer is full.

    :param components: The Cross Trigger Interfaces of the chip.
    :param core: That of the traced core.
    :param deadline: How long to wait for hardware.
    """

    def __init__(self, components: Sequence[Component], core: Component, deadline: Deadline) -> None:
        self._interfaces = [CrossTriggerInterface(each) for each in components]
        self._core = next(each for each in self._interfaces if each.component == core)
        self._deadline = deadline
        self.state = FullHaltState.UNTRIED
        self.route: Optional[FullRoute] = None
        # The channel that is used; None while nothing is connected.
        self.channel: Optional[int] = None
        # Whether the buffer tells that it is full.
        self.is_on = False
        # Whether the core was asked to halt when the trace was stopped last.
        self.has_halted = False
        self._before: Dict[int, int] = {}
        self._reserve = 0

    def attach(self) -> None:
        """Make the registers of those interfaces writable that answer.

        :raises AccessError: The connection is lost.
        """
        self._interfaces = [each for each in self._interfaces if _answers(each)]
        if self._core not in self._interfaces:
            self.state = FullHaltState.ABSENT

    def begin(self) -> None:
        """Let the buffer tell, from its next start on."""
        self.is_on = self.state is not FullHaltState.ABSENT
        self.has_halted = False

    @property
    def core(self) -> Component:
        """The Cross Trigger Interface of the core."""
        return self._core.component

    @property
    def halts(self) -> bool:
        """Whether a full buffer is known to halt the core."""
        # The trace may have started before the buffer was to tell.
        return self.is_on and self.channel is not None and self.state is FullHaltState.PROVEN

    def full_after(self, size: int) -> int:
        """Give the bytes of trace after which the buffer tells.

        :param size: Of the buffer.
        :returns: 0 where it need not tell that it is full.
        """
        if not self.is_on:
            return 0
        if self.state is not FullHaltState.PROVEN:
            return _TRIAL_BYTES if self.route is None else size // _PROOF_PART & ~0xF
        least = min(max(_LEAST_RESERVE, size // _FIRST_PART), size // _MOST_PART)
        self._reserve = max(self._reserve, least & ~0xF)
        return size - self._reserve

    def widen(self, size: int) -> None:
        """Keep more in reserve: the trace of a halt did not fit.

        It gives up where that would be too much.

        :param size: Of the buffer.
        """
        self._reserve *= 2
        if self._reserve > size // _MOST_PART:
            self._give_up()

    def judge(self, is_halted: bool) -> None:
        """Learn whether it was this that halted the core.

        :param is_halted: Whether it was, where :attr:`has_halted` says so.
        """
        if self.state is FullHaltState.FOUND and self.has_halted:
            self.state = FullHaltState.PROVEN
            if not is_halted:
                self._give_up()

    def started(self) -> None:
        """Take note that the buffer has started, and is not full.

        :raises CaptureError: The core is still asked to halt.
        """
        if self.is_on and self.route is None:
            self._before = self._inputs()
        elif self.is_on and self._connect():
            self._core.acknowledge(_DEBUG_REQUEST, self._deadline)

    def stopping(self, sink: Sink) -> None:
        """Take note of what happened, before the buffer is stopped."""
        self.has_halted = self.channel is not None and self._core.is_active(_DEBUG_REQUEST)
        if self.is_on and self.route is None and self._before and sink.status().wrapped:
            self._find(self._inputs())

    def restoration(self) -> List[Restoration]:
        """List the writes that restore the registers, in order."""
        return [step for each in self._used() for step in each.restoration()]

    def release(self) -> None:
        """Put the registers back; the buffer need not tell any more."""
        self.is_on = False
        used, self.channel = self._used(), None
        for each in used:
            each.release()

    def _inputs(self) -> Dict[int, int]:
        return {number: each.inputs() for number, each in enumerate(self._interfaces)}

    def _find(self, after: Dict[int, int]) -> None:
        # What became active while the buffer became full, and the core went from halted to halted.
        for number, now in after.items():
            new = now & ~self._before[number]
            if new:
                self.route = FullRoute(self._interfaces[number], new.bit_length() - 1)
        self.state = FullHaltState.ABSENT if self.route is None else FullHaltState.FOUND
        self.is_on = self.route is not None

    def _used(self) -> List[CrossTriggerInterface]:
        # The core's is the first to be put back, so that nothing halts the core meanwhile.
        if self.channel is None or self.route is None:
            return []
        return [self._core] if self.route.interface is self._core else [self._core, self.route.interface]

    def _give_up(self) -> None:
        self.release()
        self.state, self.route = FullHaltState.ABSENT, None

    def _connect(self) -> bool:
        # Whether it is connected.
        if self.channel is not None or self.route is None:
            return self.channel is not None
        free = self._core.channels & self.route.interface.channels
        for each in self._interfaces:
            free &= ~each.used_channels()
        if not free:
            self._give_up()
            return False
        self.channel = free.bit_length() - 1
        for each in self._used():
            # What put it back locked it, too.
            each.attach()
            each.clear()
        self.route.interface.connect_input(self.route.number, self.channel)
        self._core.connect_output(_DEBUG_REQUEST, self.channel)
        for each in reversed(self._used()):
            each.enable(self.channel)
        return True


def cores_interface(components: Sequence[Component], scs: Optional[Component]) -> Optional[Component]:
    """Find the Cross Trigger Interface of a Cortex-M.

    :param components: The Cross Trigger Interfaces of the chip.
    :param scs: The core's System Control Space.
    """
    if scs is None:
        return None
    own = [each for each in components if each.port.name == scs.port.name]
    same = [each for each in own if each.identity.component_class == scs.identity.component_class and _same(each, scs)]
    placed = [each for each in own if each.address == _CORES_PLACE]
    found = same or placed or own
    return found[0] if len(found) == 1 else None


def _same(one: Component, other: Component) -> bool:
    return (one.identity.designer, one.identity.part) == (other.identity.designer, other.identity.part)


def _answers(interface: CrossTriggerInterface) -> bool:
    try:
        interface.attach()
        interface.inputs()
    except AccessError as error:
        if error.kind != "fault":
            raise
        return False
    return True
