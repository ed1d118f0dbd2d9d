"""Debug registers of a Cortex-A9: run control, instructions in Debug state, breakpoints.

The v7 Debug architecture (DDI 0406C): C3 debug events, C5 Debug state, C8 the transfer channel, C11 the registers; the
Cortex-A9 (DDI 0388), chapter 10.  A debugger reaches them with PADDRDBG31 set, for which there is no software lock.

Simplifications, each of which the architecture allows: the processor does not clear InstrCompl_l or the pipeline flag
for longer than a write takes; watchpoints are asynchronous.  Breakpoints by Context ID, linked ones, and address masks
never match.
"""

from __future__ import annotations

from typing import Dict, List, Mapping

from gdb_etm.board.cortex_a import CortexACore, DebugEntry, ExceptionEntry
from gdb_etm.board.cortex_a_itr import DebugStateInstructions
from gdb_etm.board.cortex_a_watch import WATCHPOINTS
from gdb_etm.board.identity import ComponentDevice, identification

_PART_DEBUG = 0xC09
_DIDR, _WFAR, _VCR, _DTRRX, _ITR, _DSCR, _DTRTX, _DRCR = 0x000, 0x018, 0x01C, 0x080, 0x084, 0x088, 0x08C, 0x090
_PCSR, _BVR, _BCR, _WVR, _WCR, _PRCR, _PRSR, _AUTHSTATUS = 0x0A0, 0x100, 0x140, 0x180, 0x1C0, 0x310, 0x314, 0xFB8
_ECR, _DSCCR, _DSMCR = 0x024, 0x028, 0x02C
# DBGDSCR: what is status, and what a debugger writes (C11.11.20).
_HALTED, _RESTARTED, _SDABORT, _UND = 1 << 0, 1 << 1, 1 << 6, 1 << 8
_INTDIS, _ITREN, _HDBGEN, _NS = 1 << 11, 1 << 13, 1 << 14, 1 << 18
_INSTRCOMPL, _TXFULL_L, _RXFULL_L, _TXFULL, _RXFULL = 1 << 24, 1 << 26, 1 << 27, 1 << 29, 1 << 30
_MODE = 3 << 20
_NON_BLOCKING, _FAST = 0, 2 << 20
_WRITABLE = 0x0008FC00 | _MODE
# DBGDRCR, DBGPRCR, DBGPRSR.
_HRQ, _RRQ, _CSE = 1 << 0, 1 << 1, 1 << 2
_CWRR, _HCWR = 1 << 1, 1 << 2
_POWERED, _IN_RESET, _WAS_RESET = 1 << 0, 1 << 2, 1 << 3
_BREAKPOINTS = 6
# DBGBCR.BT: address match, and mismatch.
_MATCH, _MISMATCH = 0, 4
_NO_SAMPLE = 0xFFFFFFFF
# DBGVCR: the bit of an exception's vector by its offset, in Secure state; those of Non-secure state are 24 higher.
_NON_SECURE_VECTORS = 24
_USER, _SYSTEM, _SUPERVISOR = 0x10, 0x1F, 0x13
_PROCESSOR_IDS = 0xD00
_THUMB = 1 << 5


class CoreDebug(ComponentDevice):
    """The debug registers of a Cortex-A9.

    :param base: Their address.
    :param core: The core.
    """

    def __init__(self, base: int, core: CortexACore) -> None:
        # DBGDIDR: six breakpoints, four watchpoints, v7 Debug, PC sampling, Security Extensions; everything is
        # permitted.
        fixed = {_DIDR: 0x35137030, _AUTHSTATUS: 0xFF, **identification(_PART_DEBUG, devtype=0x15)}
        super().__init__(base, fixed, has_lock=False)
        self._core = core
        self._instructions = DebugStateInstructions(core.engine)
        self._values: Dict[int, int] = {}
        self._control = _HDBGEN
        self._sticky = 0
        # The flags as DBGDSCR was read last, by which a debugger's accesses are judged.
        self._latched = 0
        self._repeated = 0
        self._was_reset = True
        core.breaks = self._breaks
        core.catches = self._catches
        core.watches = self._watches
        core.on_reset = (*core.on_reset, self._on_reset)

    def _on_reset(self) -> None:
        self._was_reset = True

    @property
    def _stopped(self) -> bool:
        return self._core.halted or self._core.held

    # What a debugger reads.

    def _read(self, offset: int) -> int:
        if offset == _DSCR:
            return self._status()
        if offset == _DTRTX:
            return self._read_data()
        if offset in (_ITR, _PCSR):
            engine = self._core.engine
            return _NO_SAMPLE if self._stopped else (engine.pc + (4 if engine.pc & 1 else 8)) & _NO_SAMPLE
        if offset == _WFAR:
            return self._core.watched_at
        if offset == _PRSR:
            found = _POWERED | (_IN_RESET if self._values.get(_PRCR, 0) & _HCWR else 0)
            found |= _WAS_RESET if self._was_reset else 0
            self._was_reset = False
            return found
        if _PROCESSOR_IDS <= offset < _PROCESSOR_IDS + 0x60:
            number = offset - _PROCESSOR_IDS >> 2
            return self._core.engine.read_system((0, number >> 3, 0, number & 7), True)
        return self._values.get(offset, 0)

    def _status(self) -> int:
        channel = self._instructions.channel
        self._latched = (_TXFULL_L if channel.is_output_full else 0) | (_RXFULL_L if channel.is_input_full else 0)
        found = self._control | self._sticky | _RESTARTED | _INSTRCOMPL | self._latched | self._core.entry << 2
        found |= (_TXFULL if channel.is_output_full else 0) | (_RXFULL if channel.is_input_full else 0)
        found |= (_HALTED if self._stopped else 0) | (_NS if self._core.non_secure else 0)
        return found

    def _read_data(self) -> int:
        channel = self._instructions.channel
        mode = self._control & _MODE
        if mode == _NON_BLOCKING and not self._latched & _TXFULL_L:
            return channel.output
        found = channel.output
        channel.is_output_full = False
        self._latched &= ~_TXFULL_L
        if mode == _FAST:
            self._issue(self._repeated)
        return found

    # What it writes.

    def _write(self, offset: int, value: int) -> None:
        if offset == _DSCR:
            self._control = value & _WRITABLE
            self._core.halting_debug = bool(value & _HDBGEN)
            self._core.interrupts_disabled = bool(value & _INTDIS)
        elif offset == _ITR:
            self._repeated = value
            if self._control & _MODE != _FAST:
                self._issue(value)
        elif offset == _DTRRX:
            self._write_data(value)
        elif offset == _DTRTX:
            self._instructions.channel.output = value
        elif offset == _DRCR:
            self._run_control(value)
        elif offset == _PRCR:
            self._values[offset] = value & (_HCWR | 1)
            if value & _CWRR:
                self._core.reset()
        elif offset == _WFAR:
            self._core.watched_at = value
        elif offset in _KEPT:
            self._values[offset] = value
            self._set_points()

    def _write_data(self, value: int) -> None:
        channel = self._instructions.channel
        mode = self._control & _MODE
        if mode == _NON_BLOCKING and self._latched & _RXFULL_L:
            return
        channel.input, channel.is_input_full = value, True
        self._latched |= _RXFULL_L
        if mode == _FAST:
            self._issue(self._repeated)

    def _issue(self, opcode: int) -> None:
        # Not while an abort is pending (C8.2): a whole block fails at its first word.
        if self._stopped and self._control & _ITREN and not self._sticky & _SDABORT:
            self._sticky |= {"abort": _SDABORT, "undefined": _UND}.get(self._instructions.run(opcode), 0)

    def _run_control(self, value: int) -> None:
        if value & _CSE:
            self._sticky = 0
        if value & _HRQ:
            self._core.halt(DebugEntry.REQUEST)
        elif value & _RRQ and not self._sticky and not self._control & _ITREN:
            self._core.held = False
            self._core.resume()

    # Debug events.

    def _set_points(self) -> None:
        core = self._core
        controls = [self._values.get(_BCR + 4 * n, 0) for n in range(_BREAKPOINTS)]
        on = [(n, control) for n, control in enumerate(controls) if control & 1]
        core.steps = any(control >> 20 & 7 == _MISMATCH for _, control in on)
        found: List[int] = []
        for n, control in on:
            if control >> 20 & 7 == _MATCH:
                word = self._values.get(_BVR + 4 * n, 0) & ~3
                found += [word + 2 * half for half in (0, 1) if control >> 5 + 2 * half & 3]
        core.engine.set_breakpoints(found)
        core.engine.watch.wanted = any(self._values.get(_WCR + 4 * n, 0) & 1 for n in range(WATCHPOINTS))

    def _breaks(self) -> bool:
        pc = self._core.engine.pc
        lanes = 3 << (pc & 2) if pc & 1 else 0xF
        for n in range(_BREAKPOINTS):
            control = self._values.get(_BCR + 4 * n, 0)
            kind = control >> 20 & 7
            if control & 1 and kind in (_MATCH, _MISMATCH) and self._is_in_state(control):
                is_there = pc & ~3 == self._values.get(_BVR + 4 * n, 0) & ~3 and control >> 5 & lanes == lanes
                if is_there == (kind == _MATCH):
                    return True
        return False

    def _watches(self, is_store: bool, address: int, size: int) -> bool:
        for n in range(WATCHPOINTS):
            control = self._values.get(_WCR + 4 * n, 0)
            if not control & 1 or not control >> 3 & (2 if is_store else 1) or not self._is_in_state(control):
                continue
            mask = (1 << (control >> 24 & 0x1F)) - 1
            first = self._values.get(_WVR + 4 * n, 0) & ~3
            for at in range(address, address + size):
                if (at & ~3) & ~mask == first & ~mask and (mask or control >> 5 + (at & 3) & 1):
                    return True
        return False

    def _is_in_state(self, control: int) -> bool:
        # Which modes (PMC, PAC), and which Security state (SSC).
        mode = self._core.engine.cpsr & 0x1F
        modes = control >> 1 & 3
        if modes == 0:
            fits = mode in (_USER, _SYSTEM, _SUPERVISOR)
        else:
            fits = bool(modes & (2 if mode == _USER else 1))
        state = control >> 14 & 3
        return fits and (state == 0 or state == (1 if self._core.non_secure else 2))

    def _catches(self, kind: ExceptionEntry) -> bool:
        bit = kind.vector >> 2
        return bool(self._values.get(_VCR, 0) >> (bit + _NON_SECURE_VECTORS * self._core.non_secure) & 1)


_KEPT: Mapping[int, None] = dict.fromkeys(
    [_VCR, _ECR, _DSCCR, _DSMCR]
    + [base + 4 * n for base in (_BVR, _BCR) for n in range(_BREAKPOINTS)]
    + [base + 4 * n for base in (_WVR, _WCR) for n in range(WATCHPOINTS)]
)
