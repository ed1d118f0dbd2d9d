"""The trace unit: a Cortex-M33's ETMv4.2 as a debugger programs it and as it traces what the core runs.

The registers are those of the unit in the Cortex-M33 r0p4 (TRCIDR0 to TRCIDR5), with IHI 0064 chapter 7.3 for their
fields.  Left out are the tracing of conditional instructions (TRCCONFIGR.COND reads as zero although TRCIDR0.TRCCOND
is 1) and what the event resources would do.  With `comparators` it has address comparators, which the real one has not.
"""

from __future__ import annotations

import random
from typing import Callable, Dict, Optional, Sequence

from gdb_etm.board.identity import PART_CORTEX_M33, identification
from gdb_etm.board.viewinst import (
    ACATR,
    ACVR,
    SSSTATUS,
    VICTLR,
    VIIECTLR,
    VISSCTLR,
    PeInputs,
    ViewInst,
    range_comparator,
)
from gdb_etm.protocols.etmv4.encoder import Encoder, EncoderConfig, ReadCode, Region

_PRGCTLR = 0x004
_STATR = 0x00C
_CONFIGR = 0x010
_AUXCTLR = 0x018
_SYNCPR = 0x034
_CCCTLR = 0x038
_BBCTLR = 0x03C
_TRACEIDR = 0x040
_IDR4 = 0x1F0
_SSCSR0 = 0x2A0
_PDCR = 0x310
_PDSR = 0x314
_CLAIMSET = 0xFA0
_CLAIMCLR = 0xFA4

_FIXED: Dict[int, int] = {
    0x180: 0,  # TRCIDR8: no speculation
    0x184: 0,
    0x188: 0,
    0x18C: 0,
    0x190: 1,
    0x194: 0,
    0x1C0: 0,  # TRCIMSPEC0
    0x1E0: 0x280006E1,  # TRCIDR0: return stack, cycle counts, branch broadcast, 64-bit timestamps, commit mode 1
    0x1E4: 0x4100F421,  # TRCIDR1: Arm, ETMv4.2
    0x1E8: 0x00000004,  # TRCIDR2: 32-bit addresses, no Context ID, 12-bit cycle counter
    0x1EC: 0x0F090004,  # TRCIDR3: Thread and Handler, read-only TRCSYNCPR, least threshold 4
    _IDR4: 0x00114000,  # TRCIDR4: four DWT inputs, two selector pairs, one single-shot control, no comparators
    0x1F4: 0x90C70004,  # TRCIDR5: one reduced counter, no sequencer, 7-bit trace ID, four external inputs
    _SYNCPR: 0xA,
    0xFB8: 0xCC,  # TRCAUTHSTATUS: non-invasive debug is on
}
_FIXED.update(identification(PART_CORTEX_M33, devtype=0x13, devarch=0x47724A13))

# Trace registers and their implemented bits; after a reset of the unit their contents are UNKNOWN (Table 3-1).
_MASKS: Dict[int, int] = {
    _CONFIGR: 0x00001818,
    0x020: 0x00008F8F,  # TRCEVENTCTL0R
    0x024: 0x00001803,  # TRCEVENTCTL1R
    0x02C: 0x0000010C,  # TRCSTALLCTLR
    0x030: 0x0000008F,  # TRCTSCTLR
    _CCCTLR: 0x00000FFF,
    _TRACEIDR: 0x0000007F,
    VICTLR: 0x00090E8F,
    0x08C: 0x000F000F,  # TRCVIPCSSCTLR
    0x140: 0x0000FFFF,  # TRCCNTRLDVR0
    0x208: 0x003700FF,  # TRCRSCTLR2
    0x20C: 0x001700FF,  # TRCRSCTLR3
    0x280: 0x01000000,  # TRCSSCCR0
    _SSCSR0: 0x80000000,
    0x2C0: 0x0000000F,  # TRCSSPCICR0
}
_ONES: Dict[int, int] = {_CONFIGR: 1, _SSCSR0: 1 << 3}
_CLAIM_TAGS = 0xF
_POLLS_TO_SETTLE = 2

_RS = 1 << 12
_TS = 1 << 11
_CCI = 1 << 4
_BB = 1 << 3


class TraceUnit:
    """The trace unit of the core.

    :param base: Address of its registers.
    :param read_code: Reads program memory.
    :param pe_inputs: The core's DWT comparators.
    :param out: Takes trace ID and trace bytes.
    :param comparators: Number of address comparator pairs, 0 to 8.
    :param overflow: Number of trace bytes after which its FIFO overflows once; 0 for never.
    :raises ValueError: it cannot have so many comparators.
    """

    size = 0x1000

    def __init__(
        self,
        base: int,
        read_code: ReadCode,
        pe_inputs: PeInputs,
        out: Callable[[int, bytes], None],
        comparators: int = 0,
        overflow: int = 0,
    ) -> None:
        if not 0 <= comparators <= 8:
            raise ValueError("%d address comparator pairs: an ETMv4 has 0 to 8" % comparators)
        self.base = base
        self.handler_mode: Callable[[], bool] = lambda: False
        self._read_code = read_code
        self._pe_inputs = pe_inputs
        self._out = out
        self._overflow_in = overflow
        self._encoder: Optional[Encoder] = None
        self._view: Optional[ViewInst] = None
        self._fixed = dict(_FIXED)
        self._fixed[_IDR4] |= comparators
        self._masks = dict(_MASKS)
        self._masks.update(_comparator_masks(comparators))
        junk = random.Random(base)
        self._values = {offset: junk.getrandbits(32) & mask for offset, mask in self._masks.items()}
        self._values.update({_PRGCTLR: 0, _AUXCTLR: 0, _PDCR: 0})
        self._claims = 0
        self._sticky_power_down = True
        self._polls = 0

    def read32(self, offset: int) -> int:
        """Read a register."""
        if offset in self._fixed:
            return self._fixed[offset]
        if offset == _STATR:
            return self._status()
        if offset == _PDSR:
            # Reading clears STICKYPD; POWER is always 1.
            value = 1 | self._sticky_power_down << 1
            self._sticky_power_down = False
            return value
        if offset == _CLAIMSET:
            return _CLAIM_TAGS
        if offset == _CLAIMCLR:
            return self._claims
        if offset == VICTLR and self._view is not None:
            return (self._values[VICTLR] & ~SSSTATUS) | self._view.started * SSSTATUS
        return self._values.get(offset, 0) | _ONES.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; trace registers take writes only while the unit is disabled and idle (7.1.1)."""
        if offset == _PRGCTLR:
            self._program(value & 1)
        elif offset == _CLAIMSET:
            self._claims |= value & _CLAIM_TAGS
        elif offset == _CLAIMCLR:
            self._claims &= ~value
        elif offset == _PDCR:
            self._values[_PDCR] = value & 8
        elif self._values[_PRGCTLR] or self._polls:
            return
        elif offset == _AUXCTLR:
            self._values[_AUXCTLR] = value
        elif offset in self._masks:
            self._values[offset] = value & self._masks[offset]

    def executed(self, addresses: Sequence[int]) -> None:
        """Take executed instructions."""
        if self._encoder is not None:
            self._encoder.instructions(addresses)
            if self._overflow_in < 0:
                self._overflow_in = 0
                self._encoder.overflow()

    def exception(self, number: int, return_address: int) -> None:
        """Take an exception entry."""
        if self._encoder is not None:
            self._encoder.exception(number, return_address)
        self._set_handler(True)

    def exception_return(self) -> None:
        """Take an exception return."""
        handler = self.handler_mode()
        if self._encoder is not None:
            self._encoder.exception_return(handler)
        self._set_handler(handler)

    def lockup(self, address: int) -> None:
        """Take an entry to lockup."""
        if self._encoder is not None:
            self._encoder.lockup(address)

    def debug_entry(self, pc: int) -> None:
        """Take an entry to Debug state."""
        if self._encoder is not None:
            self._encoder.debug_halt(pc)

    def debug_exit(self, pc: int) -> None:
        """Take an exit from Debug state."""
        handler = self.handler_mode()
        if self._encoder is not None:
            self._encoder.resume(handler)
        self._set_handler(handler)

    def flush(self) -> None:
        """Output all trace, as a flush request from the sink asks."""
        if self._encoder is not None:
            self._encoder.flush()

    def request_sync(self) -> None:
        """Synchronise soon, as a request from the sink asks."""
        if self._encoder is not None:
            self._encoder.request_sync()

    def _set_handler(self, handler: bool) -> None:
        if self._view is not None:
            self._view.handler = handler

    def _status(self) -> int:
        # IDLE and PMSTABLE follow PRGCTLR.EN some polls later.
        if self._polls:
            self._polls -= 1
            return 0 if not self._values[_PRGCTLR] else 3
        return 0 if self._values[_PRGCTLR] else 3

    def _program(self, enable: int) -> None:
        if enable == self._values[_PRGCTLR]:
            return
        self._values[_PRGCTLR] = enable
        self._polls = _POLLS_TO_SETTLE
        if enable:
            self._start()
        elif self._encoder is not None and self._view is not None:
            self._encoder.disable()
            self._values[VICTLR] = self.read32(VICTLR)
            self._encoder = self._view = None

    def _start(self) -> None:
        configuration = self._values[_CONFIGR]
        handler = self.handler_mode()
        self._view = ViewInst(self._register, self._pe_inputs)
        self._view.handler = handler
        config = EncoderConfig(
            return_stack=bool(configuration & _RS),
            broadcast=self._broadcast() if configuration & _BB else None,
            timestamps=bool(configuration & _TS),
            threshold=self._values[_CCCTLR] if configuration & _CCI else None,
            sync_period=1 << self._fixed[_SYNCPR],
            view=None if self._view.is_open else self._view,
            separate_address=bool(configuration & _RS),
        )
        self._encoder = Encoder(config, self._read_code, self._send, handler)
        self._encoder.enable()

    def _register(self, offset: int) -> int:
        return self._values.get(offset, 0)

    def _broadcast(self) -> Region:
        # TRCBBCTLR: MODE is bit 8, and without comparators branch broadcasting is on everywhere (7.3.5).
        control = self._register(_BBCTLR)
        regions = [range_comparator(self._register, n) for n in range(8) if control >> n & 1]
        include = bool(control & 0x100)
        return lambda address: include == any(region.first <= address <= region.last for region in regions)

    def _send(self, data: bytes) -> None:
        self._out(self._values[_TRACEIDR], data)
        if self._overflow_in > 0:
            self._overflow_in -= len(data)
            if self._overflow_in <= 0:
                self._overflow_in = -1


def _comparator_masks(pairs: int) -> Dict[int, int]:
    # The registers that a unit with address comparators has besides (1.2, 1.7 of the register summary, 7.2).
    if pairs == 0:
        return {}
    ranges, singles = (1 << pairs) - 1, (1 << 2 * pairs) - 1
    masks = {_BBCTLR: 0x100 | ranges, VIIECTLR: ranges << 16 | ranges, VISSCTLR: singles << 16 | singles}
    for n in range(2 * pairs):
        masks[ACVR + 8 * n] = 0xFFFFFFFF
        masks[ACATR + 8 * n] = 0x00000900
    masks[0x280] = 0x01000000 | ranges << 16 | singles
    return masks
