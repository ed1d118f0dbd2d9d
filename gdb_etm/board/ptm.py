"""A PTM trace unit: its registers, and its tracing (IHI 0035B).

Left out is stalling.
"""

from __future__ import annotations

from typing import Callable, Sequence

from gdb_etm.board.armv7_unit import SYNCFR, Armv7Device
from gdb_etm.board.faults import Faults
from gdb_etm.board.trace_enable import TraceEnable
from gdb_etm.board.units_armv7 import Armv7Model
from gdb_etm.protocols.encode.instructions import ReadCode
from gdb_etm.protocols.ptm.encode.encoder import Encoder, EncoderConfig
from gdb_etm.protocols.ptm.encode.packets import Regime

# ETMCR.
_BROADCAST = 1 << 8
_CYCLES = 1 << 12
_TIMESTAMPS = 1 << 28
_RETURN_STACK = 1 << 29
_VMID = 1 << 30
_CONTEXT_ID_BYTES = (0, 1, 2, 4)


class PtmDevice(Armv7Device[Encoder]):
    """The trace unit of the core.

    :param model: Which one.
    :param base: Address of its registers.
    :param read_code: Reads program memory.
    :param out: Takes trace ID and trace bytes.
    :param faults: When its FIFO overflows.
    """

    def __init__(
        self,
        model: Armv7Model,
        base: int,
        read_code: ReadCode,
        out: Callable[[int, bytes], None],
        faults: Faults = Faults(),
    ) -> None:
        super().__init__(model, base, read_code, out, faults)
        # Gives the core's state.
        self.regime: Callable[[], Regime] = Regime
        # Gives the core's Context ID.
        self.context_id: Callable[[], int] = lambda: 0
        # Called when it begins to trace.
        self.enabled: Callable[[], None] = lambda: None

    # What the core does.

    def executed(self, addresses: Sequence[int]) -> None:
        """Take executed instructions."""
        if self._encoder is not None:
            self._encoder.context(self.context_id())
            self._encoder.instructions(addresses, self.regime())
            self._suffer()

    def exception(self, number: int, reached: int, vector: int) -> None:
        """Take an exception entry."""
        if self._encoder is not None:
            self._encoder.exception(number, reached, vector, self.regime())

    def exception_return(self) -> None:
        """Take an exception return by the last executed instruction."""
        if self._encoder is not None:
            self._encoder.exception_return()

    def request_sync(self) -> None:
        """Synchronise soon, as the trace buffer asks."""
        if self._encoder is not None:
            self._encoder.request_sync()

    def _begin(self, control: int) -> Encoder:
        view = self._view = TraceEnable(self.register, self._model.ccr & 0xF)
        view.non_secure = lambda: self.regime().non_secure
        view.context_id = self.context_id
        config = EncoderConfig(
            version=self._model.idr >> 4 & 0xF,
            cycle_accurate=bool(control & _CYCLES),
            return_stack=bool(control & _RETURN_STACK),
            broadcast=(lambda address: True) if control & _BROADCAST else None,
            timestamps=bool(control & _TIMESTAMPS),
            time=self._time(),
            wide_timestamps=bool(self._model.ccer >> 29 & 1),
            gray_timestamps=not self._model.ccer >> 28 & 1,
            barriers=bool(self._model.ccer >> 24 & 1),
            context_id_bytes=_CONTEXT_ID_BYTES[control >> 14 & 3],
            vmid=bool(control & _VMID),
            sync_period=self.register(SYNCFR),
            view=self._watch(view),
        )
        self.enabled()
        return Encoder(config, self._read_code, self._send)
