"""Checks of the processor: a Cortex-M's System Control Space.

Armv8-M DDI 0553, D1.2; Armv7-M DDI 0403, C1.6.
"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.registers import cortex_m
from gdb_etm.traceunit.doctor.findings import DoctorFinding, Mend, bad, ok
from gdb_etm.traceunit.doctor.reading import Reading, RegisterBlock

# Of a field of an authentication status register.
IMPLEMENTED, ENABLED = 2, 3


def check_core(scs: RegisterBlock) -> Iterator[DoctorFinding]:
    """Check what the processor itself lets through.

    :raises AccessError: It does not answer.
    """
    demcr = scs.read(cortex_m.DEMCR)
    if demcr["TRCENA"]:
        yield ok("trace enable", demcr.says("TRCENA is set"))
    else:
        words = "TRCENA is 0: DWT and ITM are off, and on Armv7-M the trace unit may be"
        yield bad("trace enable", demcr.says(words), mend=Mend.TRACE_ENABLE)
    status = scs.read(cortex_m.DAUTHSTATUS)
    # Armv7-M has no such register, and it reads as zero.
    if status.value:
        yield authentication("core authentication", status)
    yield _state(scs.read(cortex_m.DHCSR))


def authentication(subject: str, status: Reading) -> DoctorFinding:
    """Judge an authentication status register by its fields for non-invasive debug."""
    secure, other = status["SNID"], status["NSNID"]
    if IMPLEMENTED in (secure, other) and ENABLED not in (secure, other):
        words = "non-invasive debug is forbidden (SNID %d, NSNID %d)" % (secure, other)
        return bad(subject, status.says(words), "unlock debug on the chip: its fuses, debug certificate or boot code")
    words = "tracing is allowed"
    if secure == IMPLEMENTED:
        words += ", but not of Secure code (SNID 2)"
    return ok(subject, status.says(words))


def _state(dhcsr: Reading) -> DoctorFinding:
    # A debugger polls this register all the time, so nobody relies on its sticky bits.
    subject = "core state"
    if dhcsr["S_HALT"]:
        return ok(subject, dhcsr.says('halted; it is traced from "continue" on'))
    if dhcsr["S_LOCKUP"]:
        return bad(subject, dhcsr.says("in lockup (S_LOCKUP): it executes nothing"), "interrupt it, or reset the chip")
    if dhcsr["S_SLEEP"]:
        words = "asleep (S_SLEEP): it executes nothing, and the trace clock may stand still"
        advice = "Ctrl-C wakes it; the chip's vendor may have a bit that keeps the clock on in sleep"
        return bad(subject, dhcsr.says(words), advice)
    return ok(subject, dhcsr.says("running"))
