"""Registers of an ETMv3 or PTM and a DWT, with rules.

IHI 0014Q, 3.4.3 (programming bit), 3.5 (ETMCR, ETMSR, ETMFFLR, ETMOSLAR) and 3.8: what is not there reads as zero, and
a write that the architecture forbids is an AssertionError.
"""

from __future__ import annotations

import re
from typing import Dict, List

from gdb_etm.coresight.components import Component, ComponentKind, Identity
from gdb_etm.errors import AccessError
from gdb_etm.registers import dwt
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities, EtmV3Capabilities

UNIT, DWT = 0xE0041000, 0xE0001000
PROG, POWER_DOWN = 1 << 10, 1
_CR, _SR, _FFLR, _SYNCFR = 0x000, 0x010, 0x02C, 0x1E0
_OSLAR, _OSLSR, _PDCR, _PDSR, _CLAIMSET, _CLAIMCLR, _LAR, _LSR = 0x300, 0x304, 0x310, 0x314, 0xFA0, 0xFA4, 0xFB0, 0xFB4
_KEY = 0xC5ACCE55
_SR_WRITABLE = 0xC
_COUNTED = {
    "ETMACVR": 2,
    "ETMACTR": 2,
    "ETMCNTRLDVR": 1,
    "ETMCNTENR": 1,
    "ETMCNTRLDEVR": 1,
    "ETMCNTVR": 1,
    "ETMEXTOUTEVR": 1,
    "ETMCIDCVR": 1,
    "ETMDCVR": 1,
    "ETMDCMR": 1,
}
_NUMBERS = {"ETMAC": "AddrPairs", "ETMCN": "Counters", "ETMEX": "ExtOut", "ETMCI": "CIDComps", "ETMDC": "DataComps"}


class Registers:
    """One trace unit out of reset.

    :param has: What it has.
    :param os_locked: Whether its OS Lock is set.
    """

    def __init__(self, has: Armv7Capabilities, os_locked: bool = False) -> None:
        self.name = "APB-AP 1"
        self.has = has
        # Whether its trace goes anywhere: ETMSR.Prog does not become 1 without.
        self.drains = True
        # Whether power is lost once, at the next start.
        self.loses_power = False
        self.words: Dict[int, int] = {}
        self.watch: Dict[int, int] = {}
        self._has_os_lock = os_locked
        self._os_locked = os_locked
        self._locked = True
        self._sticky = False
        self._tags = 0
        self._late = 0
        self._state_written = False
        for register in has.page:
            if register.access == "RW" and _is_there(register.name, has):
                self.words[register.offset] = 0x5A5A5A5A & register.mask & ~has.option_bits
        for name, value in has.registers.items():
            if name in has.page.by_name:
                self.words[has.page.by_name[name].offset] = value
        self.words.update({_CR: has.registers["ETMCR"] & ~has.option_bits & ~PROG | PROG | POWER_DOWN, _SR: 2})
        if has.fixed_sync_bytes is None:
            self.words[_SYNCFR] = 0x400
        for n in range(dwt.DWT_CTRL.get(has.registers.get("DWT_CTRL", 0), "NUMCOMP")):
            self.watch.update(
                {
                    dwt.DWT_COMP[n].offset: 0x1234,
                    dwt.DWT_MASK[n].offset: 3,
                    dwt.DWT_FUNCTION[n].offset: has.registers.get("DWT_FUNCTION%d" % n, 0),
                }
            )

    @property
    def component(self) -> Component:
        """The unit as discovery finds it."""
        kind = ComponentKind.ETMV3 if isinstance(self.has, EtmV3Capabilities) else ComponentKind.PTM
        return Component(self, UNIT, Identity(9, 0x43B, 0, 0, 0x13, 0, 0), kind, kind.value, 0, 0)

    @property
    def dwt(self) -> Component:
        """The DWT as discovery finds it."""
        return Component(self, DWT, Identity(14, 0x43B, 2, 0, 0, 0, 0), ComponentKind.DWT, "DWT", 0, 0)

    def settings(self) -> Dict[int, int]:
        """Return all that can be changed."""
        changing = {_SR: 0}
        locks = {_OSLSR: int(self._os_locked), _LSR: int(self._locked), _CLAIMCLR: self._tags}
        return {**self.words, **changing, **locks, **{DWT + offset: value for offset, value in self.watch.items()}}

    def read32(self, address: int) -> int:
        """Read one word."""
        offset = address - UNIT
        if address & ~0xFFF == DWT:
            control = self.has.registers.get("DWT_CTRL", 0)
            return control if address == DWT else self.watch.get(address - DWT, 0)
        self._check_access(offset, address)
        if offset == _SR:
            self._settle()
        if offset == _PDSR:
            sticky, self._sticky = self._sticky, False
            return (1 | sticky << 1 | self._os_locked << 5) if self._tells_power else 0
        fixed = {
            _LSR: 1 | self._locked << 1,
            _OSLSR: (8 | self._os_locked << 1) if self._has_os_lock else 0,
            _CLAIMSET: 0xFF,
            _CLAIMCLR: self._tags,
            0xFB8: 0x0C,
        }
        return fixed.get(offset, self.words.get(offset, 0))

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        offset = address - UNIT
        if address & ~0xFFF == DWT:
            if address - DWT in self.watch:
                is_mask = (address - DWT) % 16 == 4
                self.watch[address - DWT] = min(value, 15) if is_mask else value
            return
        if offset == _LAR:
            self._locked = value != _KEY
        if self._locked:
            return
        if offset == _OSLAR:
            self._os_locked = self._has_os_lock and value == _KEY
        self._check_access(offset, address)
        if offset == _CLAIMSET:
            self._tags |= value
        elif offset == _CLAIMCLR:
            self._tags &= ~value
        elif offset == _CR:
            self._write_control(value)
        elif offset in self.words and not self.words[_CR] & POWER_DOWN:
            assert self.words[_CR] & PROG and self.words[_SR] & 2 or offset >= 0x300, "0x%03x is written" % offset
            self._write_other(offset, value)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        return [self.read32(address + 4 * n) for n in range(words)]

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read one word many times."""
        return [self.read32(address) for _ in range(words)]

    def reset(self) -> None:
        """Forget everything, as on a reset of the chip."""
        fresh = Registers(self.has)
        self.words, self._locked, self._os_locked = fresh.words, False, False

    @property
    def _tells_power(self) -> bool:
        return self.has.field("ETMIDR.Major") > 2 or self.has.minor >= 3

    def _check_access(self, offset: int, address: int) -> None:
        if self._os_locked and offset < 0x300:
            raise AccessError("cannot access 0x%08x: the bus answered with a fault" % address, address)

    def _write_control(self, value: int) -> None:
        old = self.words[_CR]
        if old & POWER_DOWN:
            # Others may be ignored, so they are.
            self.words[_CR] = old & ~POWER_DOWN | value & POWER_DOWN
            return
        may = self.has.registers["ETMCR"] | PROG | POWER_DOWN | 1 << 11
        new = value & may
        if (old ^ new) & ~PROG & ~POWER_DOWN:
            assert self.words[_SR] & 2 and new & PROG, "ETMCR is changed from 0x%x to 0x%x" % (old, new)
        if (old ^ new) & PROG:
            self._late = 2
            if not new & PROG and not self._state_written:
                self.words[_SR] &= ~_SR_WRITABLE
            self._state_written = False
            if not new & PROG and self.loses_power:
                self.loses_power, self._sticky = False, True
        self.words[_CR] = new

    def _write_other(self, offset: int, value: int) -> None:
        if offset == _SYNCFR and self.has.fixed_sync_bytes is not None:
            return
        if offset == _SR:
            self._state_written = True
            value = self.words[_SR] & ~_SR_WRITABLE | value & _SR_WRITABLE
        if offset == _FFLR:
            value = min(value, self.has.fifo_bytes)
        if offset in self.has.page.by_offset:
            register = self.has.page.by_offset[offset]
            if register.access != "RW":
                return
            value &= register.mask
        self.words[offset] = value

    def _settle(self) -> None:
        wanted = bool(self.words[_CR] & PROG)
        if bool(self.words[_SR] & 2) == wanted:
            return
        if wanted and not self.drains:
            return
        self._late -= 1
        if self._late < 0:
            self.words[_SR] = self.words[_SR] & ~2 | wanted << 1


def _is_there(name: str, has: Armv7Capabilities) -> bool:
    found = re.fullmatch(r"([A-Z]+)(\d+)", name)
    if found and found[1] in _COUNTED:
        there = int(found[2]) <= _COUNTED[found[1]] * has.field("ETMCCR." + _NUMBERS[name[:5]])
        full = found[1] in ("ETMCNTENR", "ETMCNTRLDEVR", "ETMCNTVR")
        return there and (not full or int(found[2]) in has.counters)
    fields = {
        "ETMTESSEICR": "ETMCCER.WatchStartStop",
        "ETMTSSCR": "ETMCCR.AddrPairs",
        "ETMFFLR": "ETMCCR.FIFOFULL",
        "ETMCIDCMR": "ETMCCR.CIDComps",
        "ETMVMIDCVR": "ETMCCER.Virtualization",
        "ETMEXTINSELR": "ETMCCER.ExtInSel",
        "ETMTECR2": "ETMCCR.AddrPairs",
        "ETMFFRR": "ETMCCR.AddrPairs",
    }
    if name in fields:
        return bool(has.field(fields[name]))
    if name.startswith("ETMSQ"):
        return bool(has.field("ETMCCR.Sequencer"))
    if name.startswith("ETMVD"):
        return bool(has.field("ETMCR.DataAddress") or has.field("ETMCR.DataValue"))
    absent = ("ETMITCTRL", "ETMPDCR", "ETMOSSRR", "ETMASICCR", "ETMAUXCR", "ETMEIBCR")
    return name not in absent and "IMPSPEC" not in name
