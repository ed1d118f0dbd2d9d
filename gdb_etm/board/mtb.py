"""The Micro Trace Buffer: registers, and a buffer in the board's RAM.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3, 2.4 and chapter 3; for TSTART and TSTOP CoreSight
MTB-M33 (100231).  The reset of the core clears MASTER and leaves the rest, as on a Kinetis (KL25 Reference Manual,
19.31).
"""

from __future__ import annotations

from typing import Callable, Collection, Sequence

from gdb_etm.board.accesses import Accesses, BusAccess
from gdb_etm.board.bus import RAM_BASE, RAM_SIZE, Bus
from gdb_etm.board.dwt import Dwt
from gdb_etm.board.exceptions import RESET
from gdb_etm.board.identity import ComponentDevice
from gdb_etm.board.units_mtb import MtbModel
from gdb_etm.protocols.mtb.encode.encoder import MtbEncoder

_POSITION, _MASTER, _FLOW, _BASE, _TSTART, _TSTOP = range(0, 0x18, 4)
_WRAP = 1 << 2
_EN, _HALTREQ, _TSTOPEN, _TSTARTEN, _MASK = 1 << 31, 1 << 9, 1 << 6, 1 << 5, 0x1F
_AUTOHALT, _AUTOSTOP = 2, 1
_ADDRESS = ~7
_NO_EXECUTION = 0xFFFFFFFE
_EXC_RETURN = 0xFFFFFF00


class MtbDevice(ComponentDevice):
    """A Micro Trace Buffer, which hears the core and writes RAM.

    :param model: Which one.
    :param base: Address of its registers.
    :param bus: What it writes to.
    :param dwt: What starts and stops it.
    """

    def __init__(self, model: MtbModel, base: int, bus: Bus, dwt: Dwt) -> None:
        super().__init__(base, model.identity, has_lock=False)
        self._model = model
        self._bus = bus
        self._dwt = dwt
        self._encoder = MtbEncoder(bus.code, self._packet, model.isb)
        # UNKNOWN after a reset (DDI 0486, table 3-1).
        self._position = self._flow = 0x5A5A5A58 & (RAM_SIZE - 1)
        self._tstart = self._tstop = 0
        self._master = self._initial = model.master & 1 << 7
        self._is_first = True
        # Whether a watermark stopped it, which start events do not undo (2.4).
        self._is_full = False
        # Its buffer is RAM, of which nobody counts what is read.
        self.words_read = 0
        # The core's PC, with an EXC_RETURN value in it while that is what it holds.
        self.pc: Callable[[], int] = lambda: 0
        # The exception that the core is in: its number, 0 for none.
        self.exception_number: Callable[[], int] = lambda: 0
        # What the PC shows in lockup.
        self.lockup_address = _NO_EXECUTION

    @property
    def wants_halt(self) -> bool:
        """Whether it asks the core to halt (EDBGRQ)."""
        return bool(self._master & _HALTREQ)

    def pace(self, limit: int) -> int:
        """Return how many instructions may run before it asks for a halt."""
        if not self._master & (_EN | _TSTARTEN) or not self._flow & _AUTOHALT:
            return limit
        size = 16 << min(self._master & _MASK, 15)
        left = (self._flow & _ADDRESS) - (self._position & _ADDRESS)
        return max(1, min(limit, left % size // 8))

    def reset(self) -> None:
        """Take a reset of the core."""
        self._master = self._initial
        self._is_first = True
        self._encoder.restarted(self.pc() & ~1)
        self._refresh()

    # Registers.

    def _read(self, offset: int) -> int:
        registers = {
            _POSITION: self._position,
            _MASTER: self._master,
            _FLOW: self._flow,
            _BASE: RAM_BASE,
            _TSTART: self._tstart,
            _TSTOP: self._tstop,
        }
        return registers.get(offset, 0)

    def _write(self, offset: int, value: int) -> None:
        if offset == _POSITION:
            self._position = value & (RAM_SIZE - 1) & ~3
            self._is_full = False
        elif offset == _MASTER:
            was_on, self._master = self._master & _EN, value & self._model.master
            if not was_on:
                self._is_first = True
                self._encoder.forget()
        elif offset == _FLOW:
            self._flow = value & (RAM_SIZE - 1) & ~4
            self._is_full = self._is_full and bool(value & _AUTOSTOP)
        elif offset == _TSTART and self._model.has_inputs:
            self._tstart = value & 0xF
        elif offset == _TSTOP and self._model.has_inputs:
            self._tstop = value & 0xF
        self._refresh()

    def _refresh(self) -> None:
        wanted = bool(self._master & (_TSTARTEN | _TSTOPEN))
        self._encoder.passing = self._passing if wanted else None

    def _passing(self, address: int) -> None:
        matches = self._dwt.instruction_inputs(address)
        if matches & self._tstop and self._master & _TSTOPEN:
            self._master &= ~_EN
            self._is_first = True
        elif matches & self._tstart and self._master & _TSTARTEN and not self._is_full:
            self._master |= _EN

    def _packet(self, source: int, destination: int, atomic: bool) -> None:
        if not self._master & _EN:
            return
        at = RAM_BASE + (self._position & _ADDRESS)
        self._bus.write(at, 4, source & ~1 | atomic)
        self._bus.write(at + 4, 4, destination & ~1 | self._is_first)
        self._is_first = False
        self._advance()

    def _advance(self) -> None:
        pointer, wrapped = self._position & _ADDRESS, self._position & _WRAP
        size = min(16 << (self._master & _MASK), RAM_SIZE)
        within = (pointer + 8) & (size - 1)
        self._position = pointer & ~(size - 1) | within | wrapped | (0 if within else _WRAP)
        if within | pointer & ~(size - 1) == self._flow & _ADDRESS:
            if self._flow & _AUTOSTOP:
                self._master &= ~_EN
                self._is_first = self._is_full = True
            if self._flow & _AUTOHALT:
                self._master |= _HALTREQ

    # What the core does.

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int]) -> None:
        """Take completed instructions."""
        self._encoder.executed(addresses, self.pc() & ~1)

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess]) -> None:
        """Take an exception entry."""
        # A double fault of the stack locks the core up instead of entering the handler.
        if number != RESET and number == self.exception_number():
            self._encoder.excepted(None if return_address == _NO_EXECUTION else return_address, self.pc() & ~1)

    def exception_return(self, popped: Sequence[BusAccess]) -> None:
        """Take an exception return."""
        then = self.pc() & ~1
        if then < _EXC_RETURN:
            self._encoder.returned(then)

    def lockup(self, address: int) -> None:
        """Take an entry to lockup."""
        self._encoder.excepted(None if address == _NO_EXECUTION else address, self.lockup_address)

    def debug_entry(self, pc: int) -> None:
        """Take a halt: it is no packet."""
        self._encoder.restarted(pc & ~1)

    def debug_exit(self, pc: int) -> None:
        """Take the end of a halt."""
        self._encoder.resumed(pc & ~1)
