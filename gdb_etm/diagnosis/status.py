"""What a core's fault status registers tell of the fault it took.

Their bits stay set until software clears them, so several may be set, and some of them be of an earlier fault.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), B3.9 to B3.13 and D1.2; Armv7-M (DDI 0403E), B1.5.14 and B1.5.15.
"""

from __future__ import annotations

from typing import Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.aborts import abort_lines, abort_of
from gdb_etm.diagnosis.causes import (
    ADDRESSES,
    CAUSES,
    DEBUG,
    FAULTS,
    HARD_FAULT,
    PARTS,
    STACKING,
    UNSTACKING,
    Cause,
)
from gdb_etm.protocols.elements import Exception_
from gdb_etm.protocols.profile import LOCKUP_ADDRESSES
from gdb_etm.registers import cortex_m

_MOST_LINES = 6
_IN_LOCKUP = "DHCSR.S_LOCKUP: a second fault within HardFault or NMI, or no vector: nothing runs on"
_UNKNOWN = "CFSR, HFSR: not read: the core has none, or the debugger cannot read them"
_NO_REASON = "HFSR.FORCED: another fault became a HardFault"
# The core's own registers.
_PRIVATE = range(0xE0000000, 0xE0100000)


class FaultStatus(NamedTuple):
    """What the fault status registers tell."""

    # The exception that was taken; None in lockup, and where none was.
    exception: Optional[int]
    # The bits that may be of this fault, the most telling first.
    causes: Tuple[Cause, ...]
    # Bits of other faults: taken earlier and not cleared, or pending.
    others: Tuple[Cause, ...]
    # What halted the core, or would have.
    debug: Tuple[Cause, ...]
    # What the fault's address register holds, whether valid or not; None where it has none.
    address: Optional[int]
    # MMFAR, BFAR, SFAR, or nothing.
    address_register: str
    # Whether that is the address of this fault.
    address_is_valid: bool
    # Whether the stacked PC is that of the instruction that faulted.
    is_precise: bool
    # Whether another fault became this HardFault.
    is_forced: bool
    # Whether the frame could not be written, or not be read.
    while_stacking: bool
    while_unstacking: bool
    is_lockup: bool
    # Each a line: what misleads.
    notes: Tuple[str, ...]
    # Whether any fault status register could be read.
    is_known: bool

    @property
    def name(self) -> str:
        """The fault's name, such as ``HardFault``; ``lockup``; or nothing."""
        return "lockup" if self.is_lockup else FAULTS.get(self.exception or 0, "")

    @property
    def brief(self) -> str:
        """The name, and in a few words what the program did."""
        # A frame that could not be written tells more than the access that came before it.
        first = [cause for cause in self.causes if cause.field in STACKING] + list(self.causes)
        return "%s (%s)" % (self.name, first[0].brief) if first else self.name

    @property
    def lines(self) -> List[str]:
        """Lines for people, the most important first, six at most."""
        found = [_IN_LOCKUP] if self.is_lockup else []
        found += [self._line(cause) for cause in self.causes]
        if self._tells_debug:
            found += [cause.line for cause in self.debug]
        # Of many, two causes at least, and then what misleads.
        notes = list(self.notes)
        return found[: max(_MOST_LINES - len(notes), 2)] + notes[: _MOST_LINES - min(len(found), 2)]

    @property
    def _tells_debug(self) -> bool:
        return any(cause.field == "DEBUGEVT" for cause in self.causes) or not (self.causes or self.exception)

    def _line(self, cause: Cause) -> str:
        # With the address, if it is known.
        field, register, _ = ADDRESSES.get(cause.exception, ("", "", ""))
        if (
            self.address is None
            or not self.address_is_valid
            or (cause.field, self.address_register) != (field, register)
        ):
            return cause.line
        return "%s (%s 0x%08x)" % (cause.line, register, self.address)


def fault_status(
    registers: Mapping[str, int], exception: Optional[int] = None, changed: Sequence[str] = ()
) -> FaultStatus:
    """Take a core's fault status registers apart.

    :param registers: By their lower-case names; of them ``shcsr``, ``cfsr``, ``hfsr``, ``dfsr``, ``mmfar``, ``bfar``,
        ``sfsr``, ``sfar`` and ``pc`` are used, and those that are missing tell nothing.
    :param changed: Lines about those that were changed since; what they were is not known, or is in ``registers``.
    :param exception: The number of the exception that was taken; None in lockup.  Any other than a fault is as none.
    """
    exception = exception if exception in FAULTS else None
    is_lockup = exception in (None, HARD_FAULT) and registers.get("pc", 0) & ~1 in LOCKUP_ADDRESSES
    causes, others = _causes(registers, exception, is_lockup)
    fields = {cause.field for cause in causes}
    register, address, is_valid = _address(registers, causes)
    status = FaultStatus(
        exception=exception,
        causes=causes,
        others=others,
        debug=tuple(cause for cause in DEBUG if _is_set(registers, cause.name)),
        address=address,
        address_register=register,
        address_is_valid=is_valid,
        is_precise=bool(causes) and "IMPRECISERR" not in fields,
        is_forced=exception == HARD_FAULT and _is_set(registers, "HFSR.FORCED"),
        while_stacking=bool(fields & set(STACKING)),
        while_unstacking=bool(fields & set(UNSTACKING)),
        is_lockup=is_lockup,
        notes=(),
        is_known=bool(changed) or any(name in registers for name in ("cfsr", "hfsr", "sfsr")),
    )
    return status._replace(notes=(*changed, *_notes(registers, status, bool(changed))))


def abort_status(registers: Mapping[str, int], event: Optional[Exception_]) -> FaultStatus:
    """Take the fault status registers of an A-profile core apart.

    :param registers: By their lower-case names; of them ``dfsr``, ``dfar``, ``ifsr`` and ``ifar`` are used.
    :param event: The exception that was taken; None of other ends.
    """
    abort = abort_of(registers, event)
    return FaultStatus(
        exception=None,
        causes=(),
        others=(),
        debug=(),
        address=abort.address if abort is not None else None,
        address_register=abort.address_register if abort is not None else "",
        address_is_valid=abort is not None and abort.address is not None,
        is_precise=abort is not None and not abort.is_late,
        is_forced=False,
        while_stacking=False,
        while_unstacking=False,
        is_lockup=False,
        notes=tuple(abort_lines(event, abort)) if event is not None else (),
        is_known=abort is not None,
    )


def _is_set(registers: Mapping[str, int], name: str) -> bool:
    register, _, field = name.partition(".")
    value = registers.get(register.lower(), 0)
    return bool(cortex_m.PAGE.by_name[register].get(value, field))


def _causes(
    registers: Mapping[str, int], exception: Optional[int], is_lockup: bool
) -> Tuple[Tuple[Cause, ...], Tuple[Cause, ...]]:
    # The bits that may be of this fault, and those of others.
    found = [cause for cause in CAUSES if _is_set(registers, cause.name)]
    if exception is None or is_lockup:
        return tuple(found), ()
    if exception == HARD_FAULT:
        # Another fault became it, or lost its vector; else it has a bit of its own.
        has_another = "hfsr" not in registers or any(
            _is_set(registers, name) for name in ("HFSR.FORCED", "HFSR.VECTTBL")
        )
        mine = found if has_another else [cause for cause in found if cause.exception == HARD_FAULT]
    else:
        mine = [cause for cause in found if cause.exception == exception]
    return tuple(mine), tuple(cause for cause in found if cause not in mine)


def _address(registers: Mapping[str, int], causes: Tuple[Cause, ...]) -> Tuple[str, Optional[int], bool]:
    # The address register of the first cause whose exception has one.
    best: Tuple[str, Optional[int], bool] = ("", None, False)
    for cause in causes:
        field, register, valid = ADDRESSES.get(cause.exception, ("", "", ""))
        if register.lower() not in registers:
            continue
        is_valid = cause.field == field and _is_set(registers, valid)
        if is_valid or not best[0]:
            best = (register, registers[register.lower()], is_valid)
        if is_valid:
            break
    return best


def _notes(registers: Mapping[str, int], status: FaultStatus, is_changed: bool) -> Iterator[str]:
    if not status.is_known:
        # Of a reset, or of what software has noticed, they say nothing anyway.
        if status.exception is not None or status.is_lockup:
            yield _UNKNOWN
        return
    yield from _addresses(registers, status)
    if status.is_forced:
        yield from _escalation(registers, status)
    if not (status.causes or status.is_forced or is_changed) and status.exception is not None:
        yield "%s: no bit tells of this fault: software has cleared it already" % _place(status.exception)
    for part in PARTS:
        if status.exception == HARD_FAULT and _is_set(registers, "SHCSR.%sACT" % PARTS[part]):
            yield "SHCSR.%sACT: it came within the handler of %s: two faults" % (PARTS[part], FAULTS[part])
    if len({cause.exception for cause in status.causes} - {HARD_FAULT}) > 1:
        yield "%s: bits of several faults: some may be of an earlier one" % ", ".join(_registers(status.causes))
    elif status.others:
        names = ", ".join(cause.name for cause in status.others[:2])
        yield "%s: set too, by another fault; bits stay until they are cleared" % names


def _place(exception: int) -> str:
    # Where an exception's bits are.
    return {HARD_FAULT: "HFSR"}.get(exception) or next(c.register for c in CAUSES if c.exception == exception)


def _registers(causes: Tuple[Cause, ...]) -> List[str]:
    return sorted({cause.register for cause in causes})


def _addresses(registers: Mapping[str, int], status: FaultStatus) -> Iterator[str]:
    # Addresses that are not those of this fault.
    for exception, (field, register, valid) in ADDRESSES.items():
        fields = [cause.field for cause in status.causes if cause.exception == exception]
        if not fields or register.lower() not in registers:
            continue
        if field in fields and not _is_set(registers, valid):
            yield "%s is not set: %s does not hold the address" % (valid, register)
        elif field not in fields and _is_set(registers, valid):
            yield "%s is set, but not by %s: %s is of an earlier fault" % (valid, fields[0], register)
    if status.address_is_valid and status.address in _PRIVATE and status.address_register == "BFAR":
        yield "BFAR.ADDRESS is of the core's own registers: code without privileges may not use them"
    both = _is_set(registers, "CFSR.MMARVALID") and _is_set(registers, "CFSR.BFARVALID")
    if both and registers.get("mmfar") == registers.get("bfar"):
        yield "CFSR.MMARVALID and BFARVALID: MMFAR and BFAR may be one register, of the last fault"


def _escalation(registers: Mapping[str, int], status: FaultStatus) -> Iterator[str]:
    # Why another fault became a HardFault.
    faults = [each for each in PARTS if any(cause.exception == each for cause in status.causes)]
    if not status.causes:
        if "cfsr" in registers:
            yield "HFSR.FORCED: but CFSR is 0: SVC while masked, or software has cleared CFSR already"
        else:
            yield _NO_REASON + ": see CFSR"
    elif len(faults) != 1 or "shcsr" not in registers:
        yield _NO_REASON
    elif not _is_set(registers, "SHCSR.%sENA" % PARTS[faults[0]]):
        yield "HFSR.FORCED: %s, whose handler is off (SHCSR.%sENA is 0)" % (FAULTS[faults[0]], PARTS[faults[0]])
    else:
        yield "HFSR.FORCED: %s, whose handler could not run here: priority or mask" % FAULTS[faults[0]]
