"""The record that the black box leaves in memory.

``gdb_etm/firmware/etm_blackbox.h`` lays it out.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import ImageError
from gdb_etm.program.modes import banked_names, status_name

if TYPE_CHECKING:
    from gdb_etm.registers.page import Page

# Its name in the program.
SYMBOL = "etm_blackbox"
TRACES, HOLDS = 0x5254424D, 0x5254424E
_VERSION = 1
# Bytes of magic, checksum and resets; what follows is in the checksum, after the trace.
_HEAD = 12
# The word at which the core's registers begin.
_CORE_AT = 13
_LEAST, _MOST = 4 * (_CORE_AT + 20), 1 << 12
_MOST_TRACE = 1 << 24
_FAULT = 0
# Of etm_blackbox_fault: where the instruction after the one that stops the unit is, what it has saved before, and what
# it writes to ETMCR.
_STOPPED_AT, _SAVED_FIRST, _PROG = 18, 28, 0xC10
_SCS = 0xE000E000
# DHCSR.S_RESET_ST.
_WAS_RESET = 1 << 25
_CORE_NAMES = (*("r%d" % number for number in range(1, 12)), "r0", "sp", "xpsr", "lr", "msp", "psp", "control")
_CORE_NAMES += ("primask", "pc")
# Those of a core with a PTM, which is an A-profile one.
_A_NAMES = (*("r%d" % number for number in range(13)), "sp", "lr", "cpsr", "spsr", "pc", "failed_sp", "failed_lr")
_PROTOCOLS = ("mtb", "etmv4", "etmv3", "ptm")
_STATUS = ("SHCSR", "CFSR", "HFSR", "DFSR", "MMFAR", "BFAR")
_SECURE_STATUS = ("SFSR", "SFAR")
# CPUID.ARCHITECTURE of a core with fault status registers.
_MAINLINE = 0xF
# An odd address is a register of the system control coprocessor: CRn << 16 | CRm << 8 | opc2 << 4 | 1.
_COPROCESSOR = {0x00001: "MIDR", 0x50001: "DFSR", 0x50011: "IFSR", 0x60001: "DFAR", 0x60021: "IFAR"}
# ETMCR.ReturnStack, and ETMCCER's bit that says whether it is there.
_RETURN_STACK, _HAS_RETURN_STACK = 1 << 29, 1 << 23

# Reads memory: address, size in bytes; less where it is not known.
Read = Callable[[int, int], bytes]


class BlackBoxRecord(NamedTuple):
    """What the black box kept of a crash."""

    protocol: str
    # Whether it was kept by a fault; if not, a reset came while it traced, and nothing is known of the core.
    is_fault: bool
    # How often the program has started since.
    resets: int
    # CPUID of the core, or MIDR.
    cpuid: int
    # The trace as it lies in RAM.
    trace: bytes
    # Bytes that the trace unit's own buffer holds; 0 where it is RAM.
    capacity: int
    # Its write pointer and its status register.
    pointer: int
    status: int
    # Of the trace unit, by datasheet name.
    registers: Mapping[str, int]
    # Of the core at the end of the trace, before the first instruction of its handler or, of an ETMv3, before the one
    # that follows its stop; lower-case names; empty unless :attr:`is_fault`.
    core: Mapping[str, int]


def read_record(read: Read, address: int) -> Optional[BlackBoxRecord]:
    """Read the record at an address; None where none is.

    :raises ImageError: It is damaged, of another version, or tells that no crash was kept.
    """
    head = read(address, 16)
    if len(head) < 16:
        return None
    magic, checksum, resets, form = struct.unpack("<4I", head)
    where = "the black box at 0x%08x" % address
    if magic == TRACES:
        raise ImageError("%s still traces: no crash is kept before its etm_blackbox_fault has run" % where)
    if magic != HOLDS:
        return None
    size = form & 0xFFFF
    if form >> 16 != _VERSION or not _LEAST <= size <= _MOST:
        raise ImageError("%s has version %d and %d bytes; version %d is known" % (where, form >> 16, size, _VERSION))
    data = read(address, size)
    if len(data) < size:
        raise ImageError("%s is cut: of its %d bytes %d are there" % (where, size, len(data)))
    words = struct.unpack("<%dI" % (size // 4), data[: size // 4 * 4])
    cause, kind, unit, _, start, length, capacity, pointer, status = words[4:_CORE_AT]
    if length > _MOST_TRACE or kind >= len(_PROTOCOLS):
        raise ImageError("%s is damaged: kind %d, %d bytes of trace" % (where, kind, length))
    trace = read(start, length)
    if len(trace) < length:
        wanted = "%s names %d bytes of trace at 0x%08x, and %d of them are there: keep its section in the dump"
        raise ImageError(wanted % (where, length, start, len(trace)))
    found = zlib.crc32(data[_HEAD:], zlib.crc32(trace))
    if found != checksum:
        raise ImageError("%s or its trace is damaged: its checksum is 0x%08x, not 0x%08x" % (where, found, checksum))
    end = _CORE_AT + len(_CORE_NAMES)
    system, registers = _named(words[end:], _PROTOCOLS[kind], unit)
    if _PROTOCOLS[kind] == "ptm":
        core, registers = _of_a_profile(words[_CORE_AT:end], system), _while_traced(registers)
    else:
        core = _of_m_profile(words[_CORE_AT:end], system)
    if _PROTOCOLS[kind] == "etmv3":
        core.update(_stopped(core, address, unit))
    is_fault = cause == _FAULT
    if _PROTOCOLS[kind] == "mtb":
        registers.update(_of_system(system, registers.get("MTB_MASTER", 0), is_fault))
        capacity, pointer, status = 0, registers.get("MTB_POSITION", 0), 0
    return BlackBoxRecord(
        _PROTOCOLS[kind],
        is_fault,
        resets,
        system.get("CPUID", system.get("MIDR", 0)),
        trace,
        capacity,
        pointer,
        status,
        registers,
        core if is_fault else {},
    )


def _of_system(system: Mapping[str, int], master: int, is_fault: bool) -> Dict[str, int]:
    # Of a Micro Trace Buffer.  What was switched off says whether the core halted while it traced; else a reset came,
    # as DHCSR would say.
    found = {name: system[name] for name in ("VTOR", "ICTR") if name in system}
    return {**found, "MTB_MASTER": master | 1 << 31} if is_fault else {**found, "DHCSR": _WAS_RESET}


def _of_m_profile(words: Sequence[int], system: Mapping[str, int]) -> Dict[str, int]:
    core = dict(zip(_CORE_NAMES, words))
    if system.get("CPUID", 0) >> 16 & 0xF == _MAINLINE:
        core.update((name.lower(), system[name]) for name in _STATUS if name in system)
        # They are there with the Security Extension alone.
        core.update((name.lower(), system[name]) for name in _SECURE_STATUS if system.get(name))
    return core


def _of_a_profile(words: Sequence[int], system: Mapping[str, int]) -> Dict[str, int]:
    # The handler of an exception takes SP, and what is called takes R12.
    found = dict(zip(_A_NAMES, words))
    status, failed = found.pop("spsr"), (found.pop("failed_sp"), found.pop("failed_lr"))
    name = status_name(found["cpsr"]) if status else None
    if name is None:
        found.pop("r12")
        return found
    found.pop("sp")
    found[name] = status
    found.update(zip(banked_names(status) or (), failed))
    found.update((name.lower(), value) for name, value in system.items() if name != "MIDR")
    return found


def _while_traced(registers: Mapping[str, int]) -> Dict[str, int]:
    # The unit's return stack is on while it traces, where it has one.
    is_there = registers.get("ETMCCER", 0) & _HAS_RETURN_STACK
    return {**registers, "ETMCR": registers.get("ETMCR", 0) | (_RETURN_STACK if is_there else 0)}


def _stopped(core: Dict[str, int], address: int, unit: int) -> Mapping[str, int]:
    # An ETMv3 traces each instruction, so its trace ends behind the one that stops it: the registers are those there.
    core.pop("r2")
    changed = {"r0": address + 4 * _CORE_AT + _SAVED_FIRST, "r3": core["xpsr"], "r4": unit, "r5": _PROG}
    return {**changed, "r12": core["r0"], "pc": core["pc"] + _STOPPED_AT}


def _named(words: Sequence[int], protocol: str, unit: int) -> Tuple[Dict[str, int], Dict[str, int]]:
    # Registers of the system and of the unit; construct, which declares them, takes time to load.
    from gdb_etm.registers import cortex_m

    system: Dict[str, int] = {}
    registers: Dict[str, int] = {}
    page = page_of(protocol)
    for address, value in zip(words[::2], words[1::2]):
        if not address:
            break
        offset = address - _SCS
        if address in _COPROCESSOR:
            system[_COPROCESSOR[address]] = value
        elif offset in cortex_m.PAGE.by_offset:
            system[cortex_m.PAGE.by_offset[offset].name] = value
        elif address - unit in page.by_offset:
            registers[page.by_offset[address - unit].name] = value
    return system, registers


def page_of(protocol: str) -> Page:
    """Give the registers of a trace unit that has this protocol."""
    from gdb_etm.registers import etmv3_page, etmv4_page, mtb, ptm

    pages = {"mtb": mtb.PAGE, "etmv4": etmv4_page.PAGE, "etmv3": etmv3_page.PAGE, "ptm": ptm.PAGE}
    return pages[protocol]
