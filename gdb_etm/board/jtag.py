"""A JTAG debug port: TAP, scan chains, answers.

The TAP is that of IEEE 1149.1; instructions and scan chains are those of ADIv5.2 (IHI 0031E), B3.2 to B3.4.
"""

from __future__ import annotations

from typing import Callable, Dict, Optional, Tuple

from gdb_etm.board.dap import (
    ABORT,
    CTRL_STAT,
    READOK,
    SELECT,
    STICKYCMP,
    STICKYERR,
    STICKYORUN,
    WDATAERR,
    DebugPort,
    FaultResponse,
    WaitResponse,
)

# What IDCODE gives beside this DPIDR (OpenOCD 0.12, tcl/target/stm32h7x.cfg, has the pair of a real chip).
IDCODE = 0x6BA00477

# States of the TAP: the stable ones, and those in which something happens.
RESET, IDLE, SHIFT_DR, PAUSE_DR, SHIFT_IR, PAUSE_IR = "reset", "idle", "shift-dr", "pause-dr", "shift-ir", "pause-ir"
_CAPTURE_DR, _UPDATE_DR, _CAPTURE_IR, _UPDATE_IR = "capture-dr", "update-dr", "capture-ir", "update-ir"
# From each state: to where TMS 0 leads, and TMS 1 (IEEE 1149.1, figure 6-1).
_NEXT: Dict[str, Tuple[str, str]] = {
    RESET: (IDLE, RESET),
    IDLE: (IDLE, "select-dr"),
    "select-dr": (_CAPTURE_DR, "select-ir"),
    _CAPTURE_DR: (SHIFT_DR, "exit1-dr"),
    SHIFT_DR: (SHIFT_DR, "exit1-dr"),
    "exit1-dr": (PAUSE_DR, _UPDATE_DR),
    PAUSE_DR: (PAUSE_DR, "exit2-dr"),
    "exit2-dr": (SHIFT_DR, _UPDATE_DR),
    _UPDATE_DR: (IDLE, "select-dr"),
    "select-ir": (_CAPTURE_IR, RESET),
    _CAPTURE_IR: (SHIFT_IR, "exit1-ir"),
    SHIFT_IR: (SHIFT_IR, "exit1-ir"),
    "exit1-ir": (PAUSE_IR, _UPDATE_IR),
    PAUSE_IR: (PAUSE_IR, "exit2-ir"),
    "exit2-ir": (SHIFT_IR, _UPDATE_IR),
    _UPDATE_IR: (IDLE, "select-dr"),
}

# Instructions (B3.3, table B3-2); any other one is BYPASS.
IR_ABORT, IR_DPACC, IR_APACC, IR_IDCODE, IR_BYPASS = 0x8, 0xA, 0xB, 0xE, 0xF
IR_LENGTH = 4
_IR_CAPTURED = 0b0001
_LENGTHS = {IR_ABORT: 35, IR_DPACC: 35, IR_APACC: 35, IR_IDCODE: 32}

# Answers of DPACC and APACC (B3.4.2).
ACK_OK_FAULT, ACK_WAIT = 0b010, 0b001
_DAPABORT = 1
# How long a slow access takes, in cycles of TCK: more than a debugger leaves between two accesses in a row.
_SLOW_CLOCKS = 16
# A JTAG-DP's sticky flags are cleared by writing 1 to them; the other two it has not (B2.2.2).
_STICKY = STICKYORUN | STICKYCMP | STICKYERR
_NOT_OF_JTAG = READOK | WDATAERR


class Tap:
    """The test access port of a debug port.

    :param dp: The debug port's registers.
    """

    def __init__(self, dp: DebugPort) -> None:
        self.state = RESET
        # Cycles of TCK so far.
        self.clocks = 0
        self._port = _JtagPort(dp, lambda: self.clocks)
        self._instruction = IR_IDCODE
        # The shift register between TDI and TDO, and its length in bits.
        self._shifted, self._length = 0, IR_LENGTH
        # What happens in a state, once it is entered.
        self._entered: Dict[str, Callable[[], None]] = {
            RESET: self.reset,
            _CAPTURE_DR: self._capture_dr,
            _UPDATE_DR: self._update_dr,
            _CAPTURE_IR: self._capture_ir,
            _UPDATE_IR: self._update_ir,
        }

    @property
    def tdo(self) -> int:
        """The level of TDO, which is pulled up while nothing is shifted."""
        return self._shifted & 1 if self.state in (SHIFT_DR, SHIFT_IR) else 1

    def reset(self) -> None:
        """Reset the TAP, as TRST does, and not the debug port (B3.2.2)."""
        self.state = RESET
        self._instruction = IR_IDCODE

    def clock(self, tms: int, tdi: int) -> None:
        """Take a rising edge of TCK."""
        if self.state in (SHIFT_DR, SHIFT_IR):
            self.shift(tdi, 1)
        else:
            self.clocks += 1
        self.state = _NEXT[self.state][tms]
        act = self._entered.get(self.state)
        if act is not None:
            act()

    def shift(self, bits: int, count: int) -> int:
        """Shift, without leaving the state.

        :param bits: What TDI brings, its first bit lowest.
        :returns: What TDO gives, its first bit lowest.
        """
        self.clocks += count
        whole = self._shifted | bits << self._length
        self._shifted = whole >> count & (1 << self._length) - 1
        return whole & (1 << count) - 1

    def _capture_ir(self) -> None:
        self._shifted, self._length = _IR_CAPTURED, IR_LENGTH

    def _update_ir(self) -> None:
        self._instruction = self._shifted

    def _capture_dr(self) -> None:
        self._length = _LENGTHS.get(self._instruction, 1)
        self._shifted = 0
        if self._instruction == IR_IDCODE:
            self._shifted = IDCODE
        elif self._instruction in (IR_DPACC, IR_APACC):
            self._shifted = self._port.result()

    def _update_dr(self) -> None:
        if self._length != 35:
            return
        is_read, register, value = self._shifted & 1, self._shifted << 1 & 0xC, self._shifted >> 3
        if self._instruction == IR_ABORT:
            if register == ABORT and not is_read:
                self._port.abort(value)
        elif self._instruction == IR_DPACC:
            self._port.access_dp(register, None if is_read else value)
        else:
            self._port.access_ap(register, None if is_read else value)


class _JtagPort:
    # The debug port as its scan chains reach it: an access begins at Update-DR, and the next Capture-DR tells its end.

    def __init__(self, dp: DebugPort, now: Callable[[], int]) -> None:
        self._dp = dp
        self._now = now
        self._value = 0
        # The access that has not ended: register, and the value of a write.
        self._busy: Optional[Tuple[int, Optional[int]]] = None
        # When it may end, in cycles of TCK.
        self._due = 0
        # The last answer was WAIT: what is scanned in with it is discarded (B3.4.2).
        self._discards = False

    def result(self) -> int:
        if self._busy is not None and self._now() >= self._due and not self._dp.is_busy():
            register, value = self._busy
            self._busy = None
            self._end(register, value)
        self._discards = self._busy is not None
        if self._discards:
            self._dp.note_overrun()
            return ACK_WAIT
        return self._value << 3 | ACK_OK_FAULT

    def abort(self, value: int) -> None:
        if value & _DAPABORT:
            self._busy = None

    def access_dp(self, register: int, value: Optional[int]) -> None:
        if self._discards:
            return
        dp = self._dp
        if value is None:
            # SELECT cannot be read, and RDBUFF is zero: here it is a read without effect (B2.2.8).
            self._value = dp.read(register) if register in (0, CTRL_STAT) else 0
            if register == CTRL_STAT:
                self._value &= ~_NOT_OF_JTAG
            return
        self._value = 0
        if register == CTRL_STAT:
            dp.clear(value & _STICKY)
        if register in (CTRL_STAT, SELECT):
            dp.write(register, value)

    def access_ap(self, register: int, value: Optional[int]) -> None:
        if self._discards:
            return
        dp = self._dp
        self._value = 0
        try:
            if value is None:
                self._value = dp.read_ap(register)
            else:
                dp.write_ap(register, value)
        except WaitResponse:
            self._busy = (register, value)
            self._due = self._now() + _SLOW_CLOCKS
        except FaultResponse:
            pass  # a JTAG-DP tells it in CTRL/STAT alone

    def _end(self, register: int, value: Optional[int]) -> None:
        try:
            if value is None:
                self._value = self._dp.complete_read(register)
            else:
                self._dp.complete_write(register, value)
        except FaultResponse:
            pass
