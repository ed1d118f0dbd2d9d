"""What an A-profile core's fault status registers tell of an abort.

Each abort writes them anew, so they are of the last one of their kind; an undefined instruction leaves them.

Ref: Armv7-A and Armv7-R Architecture Reference Manual (DDI 0406C), B3.13: table B3-23 with short descriptors, B3-24
with long ones, which DFSR.LPAE and IFSR.LPAE say; B4.1.52, B4.1.96.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.causes import ASYNCHRONOUS, DATA_ABORT, PREFETCH_ABORT, UNDEFINED
from gdb_etm.protocols.elements import Exception_

_LPAE, _STORE, _EXTERNAL = 1 << 9, 1 << 11, 1 << 12
# Words for those of a walk through tables, by level.
_WALK = "a table of the MMU could not be read, at level %d: see TTBR0 and TTBR1"
_TRANSLATION = "no page is mapped there, by the MMU's table of level %d"
_ACCESS = "its page's access flag is 0, in the MMU's table of level %d"
_DOMAIN = "its domain gives no access (DACR), by the MMU's table of level %d"
_PERMISSION = "its page forbids it, by the MMU's table of level %d"
_ALIGNMENT = "not aligned: strict checks are on (SCTLR.A), the memory is a device, or LDM, LDRD, LDREX and the like"
_BUS = "nothing answers there, or it refuses: a synchronous external abort"
_PARITY = "memory with a parity or ECC error"
_LATE = "an access before has failed late, by an external abort: nothing says which, nor its address"
_LATE_PARITY = "memory with a parity or ECC error, reported late: nothing says where"
_DEBUG = "a BKPT, breakpoint or watchpoint without a debugger that halts the core"
_CACHE = "cache maintenance by that address"
_TLB = "the TLB has two entries for one address"
_MAKER = "the maker's own (%s)"

_SHORT: Dict[int, str] = {
    0x01: _ALIGNMENT,
    0x02: _DEBUG,
    0x03: _ACCESS % 1,
    0x04: _CACHE,
    0x05: _TRANSLATION % 1,
    0x06: _ACCESS % 2,
    0x07: _TRANSLATION % 2,
    0x08: _BUS,
    0x09: _DOMAIN % 1,
    0x0B: _DOMAIN % 2,
    0x0C: _WALK % 1,
    0x0D: _PERMISSION % 1,
    0x0E: _WALK % 2,
    0x0F: _PERMISSION % 2,
    0x10: _TLB,
    0x14: _MAKER % "lockdown",
    0x16: _LATE,
    0x18: _LATE_PARITY,
    0x19: _PARITY,
    0x1A: _MAKER % "coprocessor abort",
    0x1C: _WALK % 1,
    0x1E: _WALK % 2,
}
_LONG: Dict[int, str] = {
    **{0x04 | level: _TRANSLATION % level for level in (1, 2, 3)},
    **{0x08 | level: _ACCESS % level for level in (1, 2, 3)},
    **{0x0C | level: _PERMISSION % level for level in (1, 2, 3)},
    0x10: _BUS,
    0x11: _LATE,
    **{0x14 | level: _WALK % level for level in (1, 2, 3)},
    0x18: _PARITY,
    0x19: _LATE_PARITY,
    **{0x1C | level: _WALK % level for level in (1, 2, 3)},
    0x21: _ALIGNMENT,
    0x22: _DEBUG,
    0x30: _TLB,
    0x34: _MAKER % "lockdown",
    0x3A: _MAKER % "coprocessor abort",
}
# Status register and address register of an abort.
_REGISTERS = {DATA_ABORT: ("DFSR", "DFAR"), ASYNCHRONOUS: ("DFSR", "DFAR"), PREFETCH_ABORT: ("IFSR", "IFAR")}
# With these the address register holds nothing of use.
_NO_ADDRESS = (_LATE, _LATE_PARITY, _DEBUG)
# What an address is then, in a few words.
_BRIEF = {_BUS: "no memory is there", _ALIGNMENT: "not aligned"}
_UNDEFINED_LINES = (
    "what was fetched is no instruction: UDF, data, or damaged code",
    "or its coprocessor or floating-point unit is off (CPACR, NSACR, FPEXC.EN), or it needs more privileges",
)


class Abort(NamedTuple):
    """An abort, by its status."""

    # The register with the status, that with the address, and the former's value.
    register: str
    address_register: str
    status: int
    # What it means, in words.
    text: str
    # Whether it was a store; None where nothing says so.
    is_store: Optional[bool]
    # The access's or instruction's address; None where none is known.
    address: Optional[int]
    # What is wrong with that address, in a few words.
    why: str
    # Whether the instruction before the exception is not the one that failed.
    is_late: bool


def abort_of(registers: Mapping[str, int], event: Optional[Exception_]) -> Optional[Abort]:
    """Take the status of an abort apart.

    :param registers: By their lower-case names; of them ``dfsr``, ``dfar``, ``ifsr`` and ``ifar`` are used.
    :param event: The exception that was taken.
    :returns: None of other exceptions, and where its status is not known.
    """
    names = _REGISTERS.get(event.name) if event is not None else None
    status = registers.get(names[0].lower()) if names is not None else None
    if names is None or status is None:
        return None
    number = status & 0x3F if status & _LPAE else status >> 6 & 0x10 | status & 0xF
    text = (_LONG if status & _LPAE else _SHORT).get(number, "status 0x%02x, which has no meaning" % number)
    has_address = text not in _NO_ADDRESS
    address = registers.get(names[1].lower()) if has_address else None
    is_store = bool(status & _STORE) if names[0] == "DFSR" and has_address else None
    why = _BRIEF.get(text, text.partition(",")[0])
    return Abort(*names, status, text, is_store, address, why, text in (_LATE, _LATE_PARITY))


def abort_lines(event: Exception_, abort: Optional[Abort]) -> Iterator[str]:
    """Say what the status registers tell of an A-profile core's fault.

    :param event: The exception that was taken.
    :param abort: Its status, if that is known.
    """
    if event.name == UNDEFINED:
        yield from _UNDEFINED_LINES
    elif abort is not None:
        yield _line(abort)
        if abort.status & _EXTERNAL and abort.text == _BUS:
            yield "%s.ExT is 1: which error the bus answered with, as the maker defines it" % abort.register
    elif event.name in _REGISTERS:
        yield "%s, %s: not read: the debugger cannot read them" % _REGISTERS[event.name]


def _line(abort: Abort) -> str:
    parts: List[str] = []
    if abort.is_store is not None or abort.address is not None:
        parts.append("a store" if abort.is_store else "a fetch" if abort.is_store is None else "a load")
    if abort.address is not None:
        parts.append("0x%08x" % abort.address)
    where: Tuple[str, ...] = (" to ".join(parts) if abort.is_store else " from ".join(parts),) if parts else ()
    return "%s 0x%08x: %s" % (abort.register, abort.status, ": ".join((*where, abort.text)))
