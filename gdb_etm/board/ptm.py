"""The trace unit of a Cortex-A board: a PTM as a debugger programs it and as it traces what the core runs (IHI 0035B).

Left out are counters, sequencer, external outputs, the trigger and stalling; their registers are there.
"""

from __future__ import annotations

import random
from typing import Callable, Dict, NamedTuple, Optional, Sequence

from gdb_etm.board.faults import Faults
from gdb_etm.board.identity import SoftwareLock, identification
from gdb_etm.board.trace_enable import ACVR1, SR, SR_START_STOP, TECR1, TEEVR, TSSCR, TraceEnable
from gdb_etm.protocols.instructions import ReadCode
from gdb_etm.protocols.ptm.encoder import Encoder, EncoderConfig
from gdb_etm.protocols.ptm.encodings import Regime

_CR, _CCR, _SCR, _SYNCFR, _IDR, _CCER, _TRACEIDR, _PDSR = 0x000, 0x004, 0x014, 0x1E0, 0x1E4, 0x1E8, 0x200, 0x314
_CLAIMSET, _CLAIMCLR, _AUTHSTATUS = 0xFA0, 0xFA4, 0xFB8

# ETMCR.
_POWER_DOWN = 1
_BROADCAST = 1 << 8
_PROG = 1 << 10
_CYCLES = 1 << 12
_TIMESTAMPS = 1 << 28
_RETURN_STACK = 1 << 29
_VMID = 1 << 30
_CONTEXT_ID_BYTES = (0, 1, 2, 4)

# ETMSR.
_SR_PROG = 1 << 1

_CLAIM_TAGS = 0xFF
_POLLS_TO_SETTLE = 2


class PtmModel(NamedTuple):
    """One kind of PTM."""

    part: int
    control: int
    """Implemented bits of ETMCR."""
    ccr: int
    """ETMCCR: what resources it has."""
    idr: int
    ccer: int


# The unit of a Cortex-A9 (CoreSight PTM-A9 TRM, DDI 0401, table 3-2): PFTv1.0, four pairs of address comparators, two
# counters, the sequencer, one Context ID comparator, the start/stop block, a return stack; timestamps have 48 bits in
# Gray code.
PTM_A9 = PtmModel(part=0x950, control=0x3000D501, ccr=0x8D294004, idr=0x411CF301, ccer=0x00C019A2)


def _masks(model: PtmModel) -> Dict[int, int]:
    # Registers whose contents are UNKNOWN after a reset, with their implemented bits (table 3.16).
    pairs, counters = model.ccr & 0xF, model.ccr >> 13 & 7
    event, singles = 0x1FFFF, (1 << 2 * pairs) - 1
    masks = {0x008: event, TSSCR: singles << 16 | singles, TEEVR: event, TECR1: 0x03000000 | (1 << pairs) - 1}
    masks.update({offset: event for offset in range(0x180, 0x198, 4)})  # sequencer
    masks.update({0x19C: 3, 0x1A0: event, 0x1A4: event, 0x1B0: 0xFFFFFFFF, 0x1BC: 0xFFFFFFFF})
    masks.update({_SYNCFR: 0xFFF, 0x1EC: 0x3F3F, 0x1F8: event, 0x1FC: 0xF, _TRACEIDR: 0x7F})
    for n in range(2 * pairs):
        masks[ACVR1 + 4 * n] = 0xFFFFFFFF
        masks[0x080 + 4 * n] = 0xC1F
    for n in range(counters):
        masks.update({0x140 + 4 * n: 0xFFFF, 0x150 + 4 * n: event, 0x160 + 4 * n: event, 0x170 + 4 * n: 0xFFFF})
    return masks


class PtmUnit:
    """The trace unit of the core.

    :param model: Which one.
    :param base: Address of its registers.
    :param read_code: Reads program memory.
    :param out: Takes trace ID and trace bytes.
    :param faults: When its FIFO overflows.
    """

    size = 0x1000

    def __init__(
        self,
        model: PtmModel,
        base: int,
        read_code: ReadCode,
        out: Callable[[int, bytes], None],
        faults: Faults = Faults(),
    ) -> None:
        self.base = base
        self.regime: Callable[[], Regime] = Regime
        """Tells in which state the core executes."""
        self.context_id: Callable[[], int] = lambda: 0
        """Tells the core's Context ID."""
        self.enabled: Callable[[], None] = lambda: None
        """Called when it begins to trace."""
        self._model = model
        self._read_code = read_code
        self._out = out
        self._overflow_in = faults.overflow
        self._encoder: Optional[Encoder] = None
        self._view: Optional[TraceEnable] = None
        self._lock = SoftwareLock()
        self._fixed = {_CCR: model.ccr, _SCR: 0, _IDR: model.idr, _CCER: model.ccer, _AUTHSTATUS: 0xCC}
        self._fixed.update(identification(model.part, devtype=0x13))
        self._masks = _masks(model)
        junk = random.Random(base)
        self._values = {offset: junk.getrandbits(32) & mask for offset, mask in self._masks.items()}
        self._values.update({_CR: _PROG | _POWER_DOWN, SR: 0, _SYNCFR: 0x400, _TRACEIDR: 0})
        self._claims = 0
        self._sticky = True
        self._polls = 0

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset in self._fixed:
            return self._fixed[offset]
        if offset == SR:
            return self._status()
        if offset == _PDSR:
            # Reading clears the sticky bit; power is always on.
            value = 1 | self._sticky << 1
            self._sticky = False
            return value
        if offset == SoftwareLock.LSR:
            return self._lock.status()
        if offset == _CLAIMSET:
            return _CLAIM_TAGS
        return self._claims if offset == _CLAIMCLR else self._values.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; only the lock while it is locked, and most only while the unit is programmed (3.5.1)."""
        if offset == SoftwareLock.LAR:
            self._lock.write(value)
        elif self._lock.locked:
            return
        elif offset == _CR:
            self._control(value & self._model.control)
        elif offset == _CLAIMSET:
            self._claims |= value & _CLAIM_TAGS
        elif offset == _CLAIMCLR:
            self._claims &= ~value
        elif not self._values[_CR] & _PROG or self._values[_CR] & _POWER_DOWN:
            return
        elif offset == SR:
            self._values[SR] = value & SR_START_STOP
        elif offset in self._masks:
            self._values[offset] = value & self._masks[offset]

    # What the core does.

    def executed(self, places: Sequence[int]) -> None:
        """Take executed instructions."""
        if self._encoder is not None:
            self._encoder.context(self.context_id())
            self._encoder.instructions(places, self.regime())
            if self._overflow_in < 0:
                self._overflow_in = 0
                self._encoder.overflow()

    def exception(self, number: int, reached: int, vector: int) -> None:
        """Take an exception entry."""
        if self._encoder is not None:
            self._encoder.exception(number, reached, vector, self.regime())

    def exception_return(self) -> None:
        """Take an exception return by the last executed instruction."""
        if self._encoder is not None:
            self._encoder.exception_return()

    def debug_entry(self, place: int) -> None:
        """Take an entry to Debug state."""
        if self._encoder is not None:
            self._encoder.debug_halt(place)

    def debug_exit(self, place: int) -> None:
        """Take an exit from Debug state."""
        if self._encoder is not None:
            self._encoder.resume()

    # What the trace buffer asks for.

    def flush(self) -> None:
        """Output all trace."""
        if self._encoder is not None:
            self._encoder.flush()

    def request_sync(self) -> None:
        """Synchronise soon."""
        if self._encoder is not None:
            self._encoder.request_sync()

    def _status(self) -> int:
        # Prog follows ETMCR.Prog some polls later.
        prog = bool(self._values[_CR] & _PROG)
        if self._polls:
            self._polls -= 1
            prog = not prog
        started = self._values[SR] if self._view is None else self._view.started * SR_START_STOP
        return prog * _SR_PROG | started

    def _control(self, value: int) -> None:
        before, self._values[_CR] = self._values[_CR], value
        if (before ^ value) & _PROG:
            self._polls = _POLLS_TO_SETTLE
        is_on = not value & (_PROG | _POWER_DOWN)
        if is_on and self._encoder is None:
            self._start(value)
        elif not is_on and self._encoder is not None:
            self._encoder.disable()
            if self._view is not None:
                self._values[SR] = self._view.started * SR_START_STOP
            self._encoder = self._view = None

    def _start(self, control: int) -> None:
        view = TraceEnable(lambda offset: self._values.get(offset, 0), self._model.ccr & 0xF)
        self._view = view
        config = EncoderConfig(
            version=self._model.idr >> 4 & 0xF,
            cycle_accurate=bool(control & _CYCLES),
            return_stack=bool(control & _RETURN_STACK),
            broadcast=(lambda address: True) if control & _BROADCAST else None,
            timestamps=bool(control & _TIMESTAMPS),
            wide_timestamps=bool(self._model.ccer >> 29 & 1),
            gray_timestamps=not self._model.ccer >> 28 & 1,
            barriers=bool(self._model.ccer >> 24 & 1),
            context_id_bytes=_CONTEXT_ID_BYTES[control >> 14 & 3],
            vmid=bool(control & _VMID),
            sync_period=self._values[_SYNCFR],
            view=None if view.is_open else view,
        )
        self._encoder = Encoder(config, self._read_code, self._send)
        self._encoder.enable()
        self.enabled()

    def _send(self, data: bytes) -> None:
        self._out(self._values[_TRACEIDR], data)
        if self._overflow_in > 0:
            self._overflow_in -= len(data)
            if self._overflow_in <= 0:
                self._overflow_in = -1
