"""An ETMv4 trace unit: its registers, and its tracing (IHI 0064, 7.3).

Which registers it has is its model's affair (``units.py``).  Left out are stalling and suppression.
"""

from __future__ import annotations

from typing import Callable, Collection, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from gdb_etm.board.accesses import NO_ACCESSES, Accesses, BusAccess
from gdb_etm.board.comparators import range_comparator
from gdb_etm.board.conditions import NONE_FAILED
from gdb_etm.board.faults import FaultCountdown, Faults
from gdb_etm.board.logic import Logic, PeInputs
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.resources import CNTVR, SEQSTR, SSCSR, Counts, Outcome, ResourceLogic
from gdb_etm.board.t32 import decode
from gdb_etm.board.trace_unit import POLLS_TO_SETTLE, TraceUnitDevice
from gdb_etm.board.units import UnitModel, equipped
from gdb_etm.board.viewinst import SSSTATUS, VICTLR
from gdb_etm.protocols.encode.instructions import ReadCode, Region
from gdb_etm.protocols.etmv4.encode.config import DataConfig, EncoderConfig
from gdb_etm.protocols.etmv4.encode.data import BusTransfer
from gdb_etm.protocols.etmv4.encode.encoder import Encoder
from gdb_etm.protocols.etmv4.encode.path import NO_EXECUTION
from gdb_etm.protocols.etmv4.encode.speculation import Setup

_PRGCTLR = 0x004
_STATR = 0x00C
_CONFIGR = 0x010
_AUXCTLR = 0x018
_EVENTCTL1R = 0x024
_SYNCPR = 0x034
_CCCTLR = 0x038
_BBCTLR = 0x03C
_TRACEIDR = 0x040
_VDCTLR = 0x0A0
_IDR0 = 0x1E0
_IDR4 = 0x1F0
_IDR5 = 0x1F4
_IDR8, _IDR9, _IDR10, _IDR11 = 0x180, 0x184, 0x188, 0x18C
_PDCR = 0x310

_CLAIM_TAGS = 0xF
_MOST_SPECULATION = 128

_DV = 1 << 17
_DA = 1 << 16
_RS = 1 << 12
_TS = 1 << 11
_CCI = 1 << 4
_BB = 1 << 3
_INSTP0_STORES = 1 << 2
_INSTP0_LOADS = 1 << 1
_TRCEXDATA = 1 << 12
_EVENT = 0xFF
_FALSE = 0
_ATB, _DATAEN = 1 << 11, 1 << 4
_STATUS = 1 << 31
_TRIGGER_ID = 0x7D
# The external inputs that pulse at an exception entry and an exception return; 0 to 3 come from outside.
EXCEPTION_INPUT, RETURN_INPUT = 4, 5


class Etmv4Device(TraceUnitDevice[Encoder]):
    """The trace unit of the core.

    :param model: Which one.
    :param base: Address of its registers.
    :param read_code: Reads program memory.
    :param pe_inputs: The core's DWT, whose comparators drive its PE comparator inputs.
    :param out: Takes trace ID and trace bytes.
    :param options: What the user chose.
    :param faults: When its FIFOs overflow.
    :raises ValueError: it cannot have so many comparators, or cannot speculate so.
    """

    _trace_id_register = _TRACEIDR

    def __init__(
        self,
        model: UnitModel,
        base: int,
        read_code: ReadCode,
        pe_inputs: PeInputs,
        out: Callable[[int, bytes], None],
        options: BoardOptions = BoardOptions(),
        faults: Faults = Faults(),
    ) -> None:
        speculation = model.speculation if options.speculation is None else options.speculation
        most = _MOST_SPECULATION if model.speculation else 0
        if not 0 <= speculation <= most:
            raise ValueError("a speculation depth of %d: this trace unit can have 0 to %d" % (speculation, most))
        model = equipped(model, options.comparators, options.resources)
        fixed = {**model.fixed, _IDR8: speculation}
        super().__init__(base, fixed, model.masks, {_PRGCTLR: 0}, _CLAIM_TAGS, False, out, faults)
        self._values.update({_AUXCTLR: 0, _PDCR: 0})
        self.handler_mode: Callable[[], bool] = lambda: False
        # Takes trace ID and trace bytes of the data stream.
        self.data_out: Callable[[int, bytes], None] = lambda trace_id, data: None
        # Called with whether loads and stores are wanted from now on.
        self.watch_accesses: Callable[[bool], None] = lambda on: None
        # Called with whether failed conditions are wanted from now on.
        self.watch_conditions: Callable[[bool], None] = lambda on: None
        self._model = model
        self._read_code = read_code
        self._pe_inputs = pe_inputs
        self._data_overflow = FaultCountdown(faults.data_overflow)
        self._logic: Optional[Logic] = None
        self._counts = Counts.of(model.fixed[_IDR0], model.fixed[_IDR4], model.fixed[_IDR5])

    @property
    def _resources(self) -> Optional[ResourceLogic]:
        return self._logic.resources if self._logic is not None else None

    def _read_trace(self, offset: int) -> int:
        if offset == _STATR:
            return self._status()
        return self._state().get(offset, self.register(offset)) | self._model.ones.get(offset, 0)

    def _write_trace(self, offset: int, value: int) -> None:
        # Trace registers take writes only while the unit is disabled and idle (7.1.1).
        if offset == _PRGCTLR:
            self._program(value & 1)
        elif offset == _PDCR:
            self._values[_PDCR] = value & 8
        elif self._values[_PRGCTLR] or self._polls:
            return
        elif offset == _AUXCTLR:
            self._values[_AUXCTLR] = value
        elif offset in self._masks:
            self._values[offset] = value & self._masks[offset]

    def executed(
        self, addresses: Sequence[int], accesses: Accesses = NO_ACCESSES, failed: Collection[int] = NONE_FAILED
    ) -> None:
        """Take executed instructions, what they loaded and stored, and whose condition failed."""
        if self._encoder is not None and self._logic is not None:
            self._logic.begin(accesses)
            self._encoder.instructions(addresses, _Transfers(self._logic, addresses, accesses), failed)
            if self._overflow.take():
                self._encoder.overflow()
            if self._data_overflow.take():
                self._encoder.data_overflow()
        self._suffer()

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess] = ()) -> None:
        """Take an exception entry."""
        if self._encoder is not None:
            forced = self._logic is not None and self._logic.view.forces(number)
            self._encoder.exception(number, return_address, self._stacked(pushed), forced)
        self._set_handler(True)
        self.pulse(EXCEPTION_INPUT)

    def exception_return(self, popped: Sequence[BusAccess] = ()) -> None:
        """Take an exception return."""
        handler = self.handler_mode()
        if self._encoder is not None:
            self._encoder.exception_return(handler, self._stacked(popped))
        self._set_handler(handler)
        self.pulse(RETURN_INPUT)

    def lockup(self, address: int) -> None:
        """Take an entry to lockup."""
        if self._encoder is None:
            return
        model = self._model
        shown = model.lockup_address if model.reports_lockup_address or address == NO_EXECUTION else None
        self._encoder.lockup(address, self._logic is not None and self._logic.view.forces_lockup, shown)

    def debug_exit(self, address: int) -> None:
        """Take an exit from Debug state."""
        handler = self.handler_mode()
        if self._encoder is not None:
            self._encoder.resume(handler)
        self._set_handler(handler)

    def request_sync(self) -> None:
        """Synchronise soon, as a request from the sink asks."""
        if self._encoder is not None:
            self._encoder.request_sync()

    def _stacked(self, accesses: Sequence[BusAccess]) -> Tuple[BusTransfer, ...]:
        return () if self._logic is None else _traced(self._logic.stacked(accesses))

    def _set_handler(self, handler: bool) -> None:
        if self._logic is not None:
            self._logic.handler = handler

    def _state(self) -> Dict[int, int]:
        # The registers that show the state of resources while they work (3.5.2).
        if self._logic is None:
            return {}
        resources, counts = self._logic.resources, self._counts
        live = {VICTLR: (self._values[VICTLR] & ~SSSTATUS) | self._logic.view.started * SSSTATUS}
        live.update({SSCSR + 4 * n: fired * _STATUS for n, fired in enumerate(resources.fired)})
        live.update({CNTVR + 4 * n: resources.counter(n) for n in range(counts.is_reduced, counts.counters)})
        if counts.states:
            live[SEQSTR] = resources.state
        return live

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
        self._polls = POLLS_TO_SETTLE
        if enable:
            self._start()
        elif self._encoder is not None:
            self._encoder.disable()
            self._values.update(self._state())
            self._forget()

    def _forget(self) -> None:
        self._encoder = self._logic = None
        self.watch_accesses(False)
        self.watch_conditions(False)
        self.outputs(0)

    def _start(self) -> None:
        configuration = self._values[_CONFIGR]
        handler = self.handler_mode()
        logic = self._logic = Logic(self.register, self._counts, self._pe_inputs, self._take)
        logic.handler = handler
        logic.resources.levels = self._inputs_high
        config = EncoderConfig(
            return_stack=bool(configuration & _RS),
            broadcast=self._broadcast() if configuration & _BB else None,
            timestamps=bool(configuration & _TS),
            time=self._time(),
            threshold=self._values[_CCCTLR] if configuration & _CCI else None,
            sync_period=1 << self.read32(_SYNCPR) if self.read32(_SYNCPR) else 0,
            view=None if logic.is_open else logic,
            separate_address=bool(configuration & _RS),
            conditional=_conditional(configuration),
        )
        if self._model.has_data:
            config = self._with_data(config, configuration)
        self._encoder = Encoder(config, self._read_code, self._send, handler, self._send_data)
        self.watch_accesses(config.data is not None or logic.uses_data)
        self.watch_conditions(config.conditional != 0)
        self._encoder.enable()

    def _take(self, outcome: Outcome) -> None:
        # Events become Event elements, external outputs and ATB triggers (4.4.3, 7.3.28).
        control = self.register(_EVENTCTL1R)
        encoder = self._encoder
        assert encoder is not None
        if outcome.timestamp:
            encoder.request_timestamp()
        if outcome.started & control & 0xF:
            encoder.event(outcome.started & control & 0xF)
        if outcome.started & 1 and control & _DATAEN:
            encoder.data_event()
        if outcome.started & 1 and control & _ATB:
            # What was traced before is on the trace bus before it.
            encoder.deliver()
            self._out(_TRIGGER_ID, bytes((self._values[_TRACEIDR] & 0x7F,)))
        self.outputs(outcome.levels)

    def _with_data(self, config: EncoderConfig, configuration: int) -> EncoderConfig:
        # What only a unit with data trace has; it traces data only if loads or stores are P0 elements (7.3.3).
        loads, stores = bool(configuration & _INSTP0_LOADS), bool(configuration & _INSTP0_STORES)
        fixed = self._fixed
        setup = Setup(fixed[_IDR8], fixed[_IDR9], fixed[_IDR0] >> 29 & 1, loads, stores)

        def transfers(address: int) -> bool:
            instruction = decode(self._read_code(address), 0)
            return loads and instruction.loads() or stores and instruction.stores()

        control = self.register(_VDCTLR)
        data = DataConfig(
            addresses=bool(configuration & _DA),
            values=bool(configuration & _DV),
            exceptions=bool(control & _TRCEXDATA),
            p1_keys=fixed[_IDR10],
            special_keys=fixed[_IDR11],
        )
        is_on = (loads or stores) and configuration & (_DA | _DV) and control & _EVENT != _FALSE
        return config._replace(
            setup=setup, transfers=transfers if loads or stores else None, data=data if is_on else None
        )

    def _broadcast(self) -> Region:
        # TRCBBCTLR: MODE is bit 8, and without comparators branch broadcasting is on everywhere (7.3.5).
        control = self.register(_BBCTLR)
        regions = [range_comparator(self.register, n) for n in range(8) if control >> n & 1]
        include = bool(control & 0x100)
        return lambda address: include == any(region.first <= address <= region.last for region in regions)

    def _send_data(self, data: bytes) -> None:
        # The data stream has the next trace ID (7.3.72).
        self.data_out(self._values[_TRACEIDR] + 1, data)
        self._data_overflow.pass_bytes(len(data))


def _conditional(configuration: int) -> int:
    # TRCCONFIGR.COND; the values that are reserved trace none (7.3.19).
    value = configuration >> 8 & 7
    return 0 if 4 <= value <= 6 else value


class _Transfers(Mapping[int, Sequence[BusTransfer]]):
    """The traced accesses of instructions, decided in order on demand."""

    def __init__(self, logic: Logic, addresses: Sequence[int], accesses: Accesses) -> None:
        self.__logic = logic
        self.__addresses = addresses
        self.__accesses = accesses

    def __getitem__(self, index: int) -> Sequence[BusTransfer]:
        return _traced(self.__logic.data(self.__addresses[index], self.__accesses[index]))

    def __iter__(self) -> Iterator[int]:
        return iter(self.__accesses)

    def __len__(self) -> int:
        return len(self.__accesses)


def _traced(accesses: Sequence[BusAccess]) -> Tuple[BusTransfer, ...]:
    # Of several transfers of an instruction all lie one after the other but the success of a store-exclusive, which has
    # no address of its own; that of one whose predecessor is not traced does not follow from anything.
    orders = [each.order for each in accesses]
    return tuple(BusTransfer(each.address, each.value, each.order, each.order - 1 in orders) for each in accesses)
