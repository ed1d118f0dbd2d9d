"""An ETMv3 trace unit: its registers, and its tracing (IHI 0014Q).

Left out is the processor's stalling: with ETMCR.Stall set the FIFO just never overflows.
"""

from __future__ import annotations

import random
from typing import Callable, Collection, Dict, Sequence

from gdb_etm.board import exceptions as exc
from gdb_etm.board.accesses import NO_ACCESSES, Accesses, BusAccess
from gdb_etm.board.armv7_unit import CR, FFLR, SYNCFR, Armv7Device
from gdb_etm.board.conditions import NONE_FAILED
from gdb_etm.board.faults import FaultCountdown, Faults
from gdb_etm.board.t32 import decode
from gdb_etm.board.trace_enable import Input, TraceEnable
from gdb_etm.board.units_armv7 import Armv7Model
from gdb_etm.program.isa import Insn, InstructionKind
from gdb_etm.protocols.encode.instructions import ReadCode
from gdb_etm.protocols.etmv3.encode.data import BusTransfer, DataConfig
from gdb_etm.protocols.etmv3.encode.encoder import NO_EXECUTION, Encoder, EncoderConfig

# ETMCR.
_DATA_VALUES = 1 << 2
_DATA_ADDRESSES = 1 << 3
_STALL = 1 << 7
_BRANCH_OUTPUT = 1 << 8
_PORT_SELECTED = 1 << 11
_CYCLE_ACCURATE = 1 << 12
_SUPPRESS_DATA = 1 << 18
_TIMESTAMPS = 1 << 28

_WIDE_TIMESTAMPS = 1 << 29
_FAULTS = (exc.HARD_FAULT, exc.MEM_MANAGE, exc.BUS_FAULT, exc.USAGE_FAULT)
# How many of the loads and stores that an interrupt meets have begun, and are cancelled.
_CANCELLED = 3


class Etmv3Device(Armv7Device[Encoder]):
    """The trace unit of the core.

    :param model: Which one.
    :param base: Address of its registers.
    :param read_code: Reads program memory.
    :param inputs: The core's DWT comparators.
    :param out: Takes trace ID and trace bytes.
    :param faults: When its FIFO overflows.
    """

    def __init__(
        self,
        model: Armv7Model,
        base: int,
        read_code: ReadCode,
        inputs: Sequence[Input],
        out: Callable[[int, bytes], None],
        faults: Faults = Faults(),
    ) -> None:
        super().__init__(model, base, read_code, out, faults)
        # Called with whether loads and stores are wanted from now on.
        self.watch_accesses: Callable[[bool], None] = lambda on: None
        # Called with whether failed conditions are wanted from now on.
        self.watch_conditions: Callable[[bool], None] = lambda on: None
        # Tells which of the DWT's comparators loads and stores match, one bit each.
        self.data_inputs: Callable[[Sequence[BusAccess]], int] = lambda accesses: 0
        self._inputs = inputs
        self._suppression = FaultCountdown(faults.data_overflow)
        self._dice = random.Random(base)

    def read32(self, offset: int) -> int:
        """Read a register; the FIFO level is at most its size."""
        value = super().read32(offset)
        return min(value, self._model.fifo) if offset == FFLR else value

    # What the core does.

    def executed(
        self, addresses: Sequence[int], accesses: Accesses = NO_ACCESSES, failed: Collection[int] = NONE_FAILED
    ) -> None:
        """Take executed instructions, what they loaded and stored, and whose condition failed."""
        if self._encoder is None:
            return
        transfers: Dict[int, Sequence[BusTransfer]] = {}
        for index, found in accesses.items():
            exclusive = decode(self._read_code(addresses[index]), 0).is_store_exclusive()
            # Whether it took place is reported only when it did not.
            transfers[index] = _traced(found[:-1] if exclusive else found)
        if self._view is not None:
            self._view.begin(accesses)
        self._encoder.instructions(addresses, failed, transfers)
        if self._suppression.take():
            self._encoder.suppress()
        self._suffer()

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess] = ()) -> None:
        """Take an exception entry."""
        if self._encoder is not None:
            began = return_address != NO_EXECUTION and self._began(number, return_address)
            self._encoder.exception(number, return_address, _traced(pushed), began)

    def exception_return(self, popped: Sequence[BusAccess] = ()) -> None:
        """Take an exception return."""
        if self._encoder is not None:
            self._encoder.exception_return(_traced(popped))

    def lockup(self, address: int) -> None:
        """Take an entry to lockup."""
        if self._encoder is not None:
            self._encoder.lockup(address)

    def _began(self, number: int, return_address: int) -> bool:
        # A load or a store that faults has begun; so have some that an interrupt comes upon, and these begin anew.
        instruction = decode(self._read_code(return_address), 0)
        if not instruction.loads() and not instruction.stores():
            return False
        return number in _FAULTS or number >= exc.PENDSV and self._dice.randrange(_CANCELLED) == 0

    def _forget(self) -> None:
        super()._forget()
        self.watch_accesses(False)
        self.watch_conditions(False)

    def _begin(self, control: int) -> Encoder:
        model = self._model
        view = TraceEnable(self.register, model.ccr & 0xF, self._inputs, model.has_data)
        view.data_inputs = self.data_inputs
        self._view = view
        config = EncoderConfig(
            branch_output=bool(control & _BRANCH_OUTPUT),
            cost=_cycles if control & _CYCLE_ACCURATE else None,
            timestamps=bool(control & _TIMESTAMPS),
            time=self._time(),
            wide_timestamps=bool(model.ccer & _WIDE_TIMESTAMPS),
            alternative=bool(model.idr >> 20 & 1),
            sync_period=self.read32(SYNCFR),
            view=self._watch(view),
        )
        if control & (_DATA_ADDRESSES | _DATA_VALUES):
            config = config._replace(
                data=DataConfig(
                    bool(control & _DATA_ADDRESSES),
                    bool(control & _DATA_VALUES),
                    lambda at, each: view.views(at, each.address, each.size, each.store),
                )
            )
        if control & _STALL:
            self._overflow.cancel()
        if not control & _SUPPRESS_DATA:
            self._suppression.cancel()
        self.watch_accesses(config.data is not None or view.uses_data)
        self.watch_conditions(True)
        return Encoder(config, self._read_code, self._send)

    def _send(self, data: bytes) -> None:
        if not self._values[CR] & _PORT_SELECTED:
            return
        super()._send(data)
        self._suppression.pass_bytes(len(data))


def _traced(accesses: Sequence[BusAccess]) -> Sequence[BusTransfer]:
    return tuple([BusTransfer(each.address, each.size, each.value, each.store) for each in accesses])


def _cycles(insn: Insn, ran: bool) -> int:
    """Return an instruction's cycles on a made-up core."""
    if not ran:
        return 0
    if insn.kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
        return 3
    return insn.size // 2
