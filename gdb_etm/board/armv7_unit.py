"""Trace units of Armv7 cores as a debugger sees them.

ETMv3 (IHI 0014Q, 3.5) and PTM (IHI 0035B, 3.16).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Callable, Dict, Optional, Protocol, Set, TypeVar

from gdb_etm.board.faults import Faults
from gdb_etm.board.identity import identification
from gdb_etm.board.resources_armv7 import DYNAMIC, EXTOUTEVR, TSEVR, Armv7ResourceLogic, is_never
from gdb_etm.board.trace_enable import (
    ACTR1,
    ACVR1,
    SR,
    SR_START_STOP,
    TECR1,
    TEEVR,
    TESSEICR,
    TRIGGER,
    TSSCR,
    TraceEnable,
)
from gdb_etm.board.trace_ram import TraceRam
from gdb_etm.board.trace_unit import POLLS_TO_SETTLE, AnyEncoder, TraceUnitDevice
from gdb_etm.board.units_armv7 import Armv7Model
from gdb_etm.protocols.encode.instructions import ReadCode

CR, CCR, FFLR = 0x000, 0x004, 0x02C
SYNCFR, IDR, CCER, TRACEIDR = 0x1E0, 0x1E4, 0x1E8, 0x200

# ETMCR.
POWER_DOWN = 1
PROG = 1 << 10

_TIMESTAMPS = 1 << 28

_SR_PROG = 1 << 1
_SR_TRIGGERED = 1 << 3
# ETMTECR1.
_EXCLUDE = 1 << 24
_START_STOP = 1 << 25

_CLAIM_TAGS = 0xFF

_EVENT = 0x1FFFF
_WORD = 0xFFFFFFFF


def resource_masks(ccr: int, ccer: int) -> Dict[int, int]:
    """Return a unit's implemented register bits, by its resources (table 3.16).

    :param ccr: ETMCCR.
    :param ccer: ETMCCER.
    """
    pairs, counters = ccr & 0xF, ccr >> 13 & 7
    singles = (1 << 2 * pairs) - 1
    masks = {TRIGGER: _EVENT, TEEVR: _EVENT, TECR1: _EXCLUDE * bool(pairs) | (1 << pairs) - 1, TRACEIDR: 0x7F}
    for n in range(2 * pairs):
        masks.update({ACVR1 + 4 * n: _WORD, ACTR1 + 4 * n: 0xC1F})
    for n in range(counters):
        masks[0x140 + 4 * n] = 0xFFFF
        if n or not ccer >> 27 & 1:
            # The source of a counter's events has a bit above them.
            masks.update({0x150 + 4 * n: _EVENT << 1 | 1, 0x160 + 4 * n: _EVENT, 0x170 + 4 * n: 0xFFFF})
    if ccr >> 16 & 1:
        masks.update({offset: _EVENT for offset in range(0x180, 0x198, 4)})
        masks[0x19C] = 3
    masks.update({0x1A0 + 4 * n: _EVENT for n in range(ccr >> 20 & 7)})
    masks.update({offset: _WORD for n in range(ccr >> 24 & 3) for offset in (0x1B0 + 4 * n, 0x1BC)})
    if ccr >> 26 & 1:
        masks.update({TECR1: masks[TECR1] | _START_STOP, TSSCR: singles << 16 | singles})
    if ccer & 7:
        masks[0x1EC] = sum(0x3F << 8 * n for n in range(ccer & 7))
    if ccer >> 20 & 1:
        inputs = (1 << (ccer >> 16 & 0xF)) - 1
        masks[TESSEICR] = inputs << 16 | inputs
    if ccer >> 22 & 1:
        masks[TSEVR] = _EVENT
    return masks


class Armv7Encoder(AnyEncoder, Protocol):
    """An encoder of an ETMv3's or a PTM's protocol."""

    def trigger(self) -> None:
        """Put the trigger into the trace."""

    def resume(self) -> None:
        """Take an exit from Debug state."""


E = TypeVar("E", bound=Armv7Encoder)


class Armv7Device(TraceUnitDevice[E]):
    """A trace unit with a programming bit.

    :param model: Which one.
    :param base: Address of its registers.
    :param read_code: Reads program memory.
    :param out: Takes trace ID and trace bytes.
    :param faults: When its FIFO overflows.
    """

    _trace_id_register = TRACEIDR

    def __init__(
        self,
        model: Armv7Model,
        base: int,
        read_code: ReadCode,
        out: Callable[[int, bytes], None],
        faults: Faults = Faults(),
    ) -> None:
        fixed = {CCR: model.ccr, IDR: model.idr, CCER: model.ccer, **model.fixed}
        fixed.update(identification(model.part, devtype=0x13))
        masks = {**resource_masks(model.ccr, model.ccer), **model.masks}
        known = {CR: PROG | POWER_DOWN, SR: 0, **model.reset}
        super().__init__(base, fixed, masks, known, _CLAIM_TAGS, True, out, faults)
        self._model = model
        self._read_code = read_code
        self._values[TRACEIDR] = 0
        # Called when the trigger occurs, at most once between two times of programming.
        self.trigger_out: Callable[[], None] = lambda: None
        self._levels = 0
        self._programmed: Set[int] = set()
        self._view: Optional[TraceEnable] = None

    def connect(self, buffer: TraceRam) -> None:
        """Wire it to the trace buffer, its trigger output too."""
        super().connect(buffer)
        self.trigger_out = buffer.trigger

    @abstractmethod
    def _begin(self, control: int) -> E:
        """Make the encoder and :attr:`_view` for what is programmed."""

    def _forget(self) -> None:
        self._view = None
        self._set_outputs(0)
        self._encoder = None

    @property
    def _resources(self) -> Optional[Armv7ResourceLogic]:
        return self._view.resources if self._view is not None else None

    def _read_trace(self, offset: int) -> int:
        if offset == SR:
            return self._status()
        if self._resources is not None and offset in self._resources.state:
            return self._resources.state[offset]
        return self.register(offset)

    def _write_trace(self, offset: int, value: int) -> None:
        # Most registers take writes only while the unit is programmed (3.5.1).
        if offset == CR:
            self._control(value & self._model.control)
        elif not self._values[CR] & PROG or self._values[CR] & POWER_DOWN:
            return
        elif offset == SR:
            self._values[SR] = value & (SR_START_STOP | _SR_TRIGGERED)
        elif offset in self._masks:
            self._values[offset] = value & self._masks[offset]
            self._programmed.add(offset)

    def lose_power(self) -> None:
        """Stop, and forget what was programmed and what has not left it."""
        super().lose_power()
        self._programmed.clear()

    def debug_exit(self, pc: int) -> None:
        """Take an exit from Debug state."""
        if self._encoder is not None:
            self._encoder.resume()

    def _watch(self, view: TraceEnable) -> Optional[Callable[[int], bool]]:
        # TraceEnable, and the events that are asked for at each instruction as well.
        resources = view.resources = Armv7ResourceLogic(self.register, self._model.ccr, self._model.ccer)
        resources.levels = self._inputs_high
        timestamps = bool(self.register(CR) & _TIMESTAMPS and self._model.ccer >> 22 & 1)
        used = resources.is_used(self._programmed, timestamps) or view.uses(DYNAMIC)
        if not used:
            view.resources = None
            if view.is_open and is_never(self.register(TRIGGER)):
                return None
        outputs = [n for n in range(self._model.ccr >> 20 & 7) if EXTOUTEVR + 4 * n in self._programmed]

        def sees(address: int) -> bool:
            traced = view(address)
            encoder = self._encoder
            if encoder is not None:
                if outputs:
                    self._set_outputs(sum(view.holds(EXTOUTEVR + 4 * n) << n for n in outputs))
                if timestamps and view.holds(TSEVR):
                    encoder.request_timestamp()
                if view.holds(TRIGGER):
                    self._trigger(encoder)
            return traced

        return sees

    def _trigger(self, encoder: E) -> None:
        # It occurs once (ETMSR, bit 3); what was traced before is on the trace bus before it.
        if self._values[SR] & _SR_TRIGGERED:
            return
        self._values[SR] |= _SR_TRIGGERED
        encoder.trigger()
        encoder.deliver()
        self.trigger_out()

    def _set_outputs(self, levels: int) -> None:
        if levels != self._levels:
            self._levels = levels
            self.outputs(levels)

    def _status(self) -> int:
        # Prog follows ETMCR.Prog some polls later.
        prog = bool(self._values[CR] & PROG)
        if self._polls:
            self._polls -= 1
            prog = not prog
        return prog * _SR_PROG | self._state()

    def _state(self) -> int:
        # The bits of ETMSR that stay when the unit stops.
        if self._view is None:
            return self._values[SR]
        return self._values[SR] & ~SR_START_STOP | self._view.started * SR_START_STOP

    def _control(self, value: int) -> None:
        before, self._values[CR] = self._values[CR], value
        if (before ^ value) & PROG:
            self._polls = POLLS_TO_SETTLE
        is_on = not value & (PROG | POWER_DOWN)
        if is_on and self._encoder is None:
            self._encoder = self._begin(value)
            self._encoder.enable()
        elif not is_on and self._encoder is not None:
            self._encoder.disable()
            self._values[SR] = self._state()
            if self._resources is not None:
                self._values.update(self._resources.state)
            self._forget()
