"""The trace unit: an ETMv4 as a debugger programs it and as it traces what the core runs (IHI 0064, chapter 7.3).

Which registers it has is its model's affair (``units.py``).  Left out are stalling and suppression.
"""

from __future__ import annotations

import random
from typing import Callable, Collection, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from gdb_etm.board.accesses import NO_ACCESSES, Accesses, BusAccess
from gdb_etm.board.comparators import range_comparator
from gdb_etm.board.conditions import NONE_FAILED
from gdb_etm.board.faults import Faults
from gdb_etm.board.logic import Logic, PeInputs
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.resources import CNTVR, SEQSTR, SSCSR, Counts, Outcome
from gdb_etm.board.t32 import decode
from gdb_etm.board.units import UnitModel, equipped
from gdb_etm.board.viewinst import SSSTATUS, VICTLR
from gdb_etm.protocols.encode.instructions import ReadCode, Region
from gdb_etm.protocols.etmv4.encode.data import Transfer
from gdb_etm.protocols.etmv4.encode.encoder import NO_EXECUTION, DataConfig, Encoder, EncoderConfig
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
_PDSR = 0x314
_CLAIMSET = 0xFA0
_CLAIMCLR = 0xFA4

_CLAIM_TAGS = 0xF
_POLLS_TO_SETTLE = 2
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


class Etmv4Device:
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

    size = 0x1000

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
        self.base = base
        self.handler_mode: Callable[[], bool] = lambda: False
        # Takes trace ID and trace bytes of the data stream.
        self.data_out: Callable[[int, bytes], None] = lambda trace_id, data: None
        # Called with whether loads and stores must be told from now on.
        self.watch_accesses: Callable[[bool], None] = lambda on: None
        # Called with whether failed conditions must be told from now on.
        self.watch_conditions: Callable[[bool], None] = lambda on: None
        # Called when it has lost its power.
        self.power_lost: Callable[[], None] = lambda: None
        # Called with the external outputs, one bit each, when they change.
        self.outputs: Callable[[int], None] = lambda levels: None
        model = equipped(model, options.comparators, options.resources)
        self._model = model
        self._has_data = model.has_data
        self._read_code = read_code
        self._pe_inputs = pe_inputs
        self._out = out
        self._overflow_in = faults.overflow
        self._data_overflow_in = faults.data_overflow
        self._power_loss_in = faults.power_loss
        self._encoder: Optional[Encoder] = None
        self._logic: Optional[Logic] = None
        self._inputs = 0
        self._fixed = {**model.fixed, _IDR8: speculation}
        self._counts = Counts.of(model.fixed[_IDR0], model.fixed[_IDR4], model.fixed[_IDR5])
        self._ones = model.ones
        self._masks = model.masks
        junk = self._junk = random.Random(base)
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
        return self._state().get(offset, self._values.get(offset, 0)) | self._ones.get(offset, 0)

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

    def executed(
        self, addresses: Sequence[int], accesses: Accesses = NO_ACCESSES, failed: Collection[int] = NONE_FAILED
    ) -> None:
        """Take executed instructions, what they loaded and stored, and whose condition failed."""
        if self._encoder is not None and self._logic is not None:
            self._logic.begin(accesses)
            self._encoder.instructions(addresses, _Transfers(self._logic, addresses, accesses), failed)
            if self._overflow_in < 0:
                self._overflow_in = 0
                self._encoder.overflow()
            if self._data_overflow_in < 0:
                self._data_overflow_in = 0
                self._encoder.data_overflow()
        if self._power_loss_in < 0:
            self._power_loss_in = 0
            self.lose_power()

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
        told = model.lockup_address if model.tells_lockup_address or address == NO_EXECUTION else None
        self._encoder.lockup(address, self._logic is not None and self._logic.view.forces_lockup, told)

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

    def lose_power(self) -> None:
        """Stop, and forget what was programmed and what has not left it."""
        self._forget()
        self._values[_PRGCTLR] = 0
        self._sticky_power_down = True
        self.power_lost()
        self._polls = self._claims = 0
        self._values.update({offset: self._junk.getrandbits(32) & mask for offset, mask in self._masks.items()})

    def _stacked(self, accesses: Sequence[BusAccess]) -> Tuple[Transfer, ...]:
        return () if self._logic is None else _traced(self._logic.stacked(accesses))

    # External inputs.

    def pulse(self, number: int) -> None:
        """Take a pulse of an external input."""
        if self._logic is not None:
            self._logic.resources.pulse(number)

    def set_inputs(self, levels: int) -> None:
        """Take the levels of the external inputs from outside, one bit each."""
        self._inputs = levels
        if self._logic is not None:
            self._logic.resources.levels = levels

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
        self._polls = _POLLS_TO_SETTLE
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
        logic = self._logic = Logic(self._register, self._counts, self._pe_inputs, self._take)
        logic.handler = handler
        logic.resources.levels = self._inputs
        config = EncoderConfig(
            return_stack=bool(configuration & _RS),
            broadcast=self._broadcast() if configuration & _BB else None,
            timestamps=bool(configuration & _TS),
            threshold=self._values[_CCCTLR] if configuration & _CCI else None,
            sync_period=1 << self.read32(_SYNCPR) if self.read32(_SYNCPR) else 0,
            view=None if logic.is_open else logic,
            separate_address=bool(configuration & _RS),
            conditional=_conditional(configuration),
        )
        if self._has_data:
            config = self._with_data(config, configuration)
        self._encoder = Encoder(config, self._read_code, self._send, handler, self._send_data)
        self.watch_accesses(config.data is not None or logic.uses_data)
        self.watch_conditions(config.conditional != 0)
        self._encoder.enable()

    def _take(self, outcome: Outcome) -> None:
        # Events become Event elements, external outputs and ATB triggers (4.4.3, 7.3.28).
        control = self._register(_EVENTCTL1R)
        encoder = self._encoder
        assert encoder is not None
        if outcome.timestamp:
            encoder.request_timestamp()
        if outcome.begun & control & 0xF:
            encoder.event(outcome.begun & control & 0xF)
        if outcome.begun & 1 and control & _DATAEN:
            encoder.data_event()
        if outcome.begun & 1 and control & _ATB:
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

        control = self._register(_VDCTLR)
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

    def _register(self, offset: int) -> int:
        return self._values.get(offset, 0)

    def _broadcast(self) -> Region:
        # TRCBBCTLR: MODE is bit 8, and without comparators branch broadcasting is on everywhere (7.3.5).
        control = self._register(_BBCTLR)
        regions = [range_comparator(self._register, n) for n in range(8) if control >> n & 1]
        include = bool(control & 0x100)
        return lambda address: include == any(region.first <= address <= region.last for region in regions)

    def _send_data(self, data: bytes) -> None:
        # The data stream has the next trace ID (7.3.72).
        self.data_out(self._values[_TRACEIDR] + 1, data)
        if self._data_overflow_in > 0:
            self._data_overflow_in -= len(data)
            if self._data_overflow_in <= 0:
                self._data_overflow_in = -1

    def _send(self, data: bytes) -> None:
        self._out(self._values[_TRACEIDR], data)
        if self._overflow_in > 0:
            self._overflow_in -= len(data)
            if self._overflow_in <= 0:
                self._overflow_in = -1
        if self._power_loss_in > 0:
            self._power_loss_in -= len(data)
            if self._power_loss_in <= 0:
                self._power_loss_in = -1


def _conditional(configuration: int) -> int:
    # TRCCONFIGR.COND; the values that are reserved trace none (7.3.19).
    value = configuration >> 8 & 7
    return 0 if 4 <= value <= 6 else value


class _Transfers(Mapping[int, Sequence[Transfer]]):
    """The traced loads and stores of instructions, each decided when it is asked for: in order."""

    def __init__(self, logic: Logic, addresses: Sequence[int], accesses: Accesses) -> None:
        self.__logic = logic
        self.__addresses = addresses
        self.__accesses = accesses

    def __getitem__(self, index: int) -> Sequence[Transfer]:
        return _traced(self.__logic.data(self.__addresses[index], self.__accesses[index]))

    def __iter__(self) -> Iterator[int]:
        return iter(self.__accesses)

    def __len__(self) -> int:
        return len(self.__accesses)


def _traced(accesses: Sequence[BusAccess]) -> Tuple[Transfer, ...]:
    # Of several transfers of an instruction all lie one after the other but the success of a store-exclusive, which has
    # no address of its own; that of one whose predecessor is not traced does not follow from anything.
    orders = [each.order for each in accesses]
    return tuple(Transfer(each.address, each.value, each.order, each.order - 1 in orders) for each in accesses)
