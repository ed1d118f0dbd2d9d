"""Checks of an ETMv4 (IHI 0064).

Power 3.3, OS Lock 3.4.2, programming 3.5, trace ID 7.3.72, ViewInst 4.1.2.
"""

from __future__ import annotations

from typing import Iterator, Tuple

from gdb_etm.registers import etmv4, etmv4_comparators, etmv4_id
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.traceunit.doctor.core import authentication
from gdb_etm.traceunit.doctor.findings import DoctorFinding, Mend, bad, ok
from gdb_etm.traceunit.doctor.reading import Reading, RegisterBlock
from gdb_etm.traceunit.doctor.route import software_lock
from gdb_etm.traceunit.doctor.unit import FILTER, STARTED, Circumstances, claim, ranges, start_point, trace_id
from gdb_etm.traceunit.etmv4.capabilities import Capabilities

_GATES = (etmv4_id.TRCIDR1, etmv4_id.TRCIDR3, etmv4_id.TRCIDR4)


def check_unit(block: RegisterBlock, around: Circumstances) -> Iterator[DoctorFinding]:
    """Check the trace unit; stops where nothing else of it would answer.

    :raises AccessError: It does not answer.
    """
    arch = block.read(etmv4_id.TRCDEVARCH)
    yield ok("unit answers", arch.says("an ETMv4.%d: its clock runs" % arch["REVISION"]))
    yield from software_lock(block, "unit software lock", Mend.UNIT)
    yield authentication("unit authentication", block.read(etmv4_id.TRCAUTHSTATUS))
    power = around.power(block, etmv4_id.TRCPDSR)
    lost = ", and it was without since it was last asked (STICKYPD)" if power["STICKYPD"] else ""
    if power["POWER"]:
        yield ok("unit power", power.says("on" + lost))
    else:
        yield bad("unit power", power.says("off" + lost), mend=around.unit_mend)
        return
    lock = block.read(etmv4_id.TRCOSLSR)
    if lock["OSLK"]:
        words = "locked, as by software that saves the unit's state: nothing else of it answers"
        yield bad("OS Lock", lock.says(words), mend=around.unit_mend)
        return
    yield ok("OS Lock", lock.says("open" if lock["OSLM_1"] or lock["OSLM_0"] else "there is none"))
    yield from _check_use(block, around)


def _check_use(block: RegisterBlock, around: Circumstances) -> Iterator[DoctorFinding]:
    mode = block.read(etmv4_id.TRCITCTRL)
    if mode["IME"]:
        yield bad("integration mode", mode.says("on: the unit does not trace"), "reset the chip")
    yield claim(block, block.read(etmv4_id.TRCCLAIMCLR), etmv4_id.TRCCLAIMCLR)
    enable, status = block.read(etmv4.TRCPRGCTLR), block.read(etmv4.TRCSTATR)
    if not enable["EN"]:
        yield bad("unit enable", enable.says("off"), around.advice, Mend.START)
        if around.is_unprogrammed:
            return
    elif status["IDLE"]:
        words = "idle though it is enabled: it is without power or leave to trace"
        yield bad("unit enable", status.says(words), around.advice, Mend.START)
    else:
        yield ok("unit enable", enable.says("on, ") + status.says("not idle"))
    yield from around.check_programming(block, PAGE, etmv4.TRCPRGCTLR.mask)
    yield trace_id(block.read(etmv4.TRCTRACEIDR), "TRACEID", around.advice)
    yield from _check_view(block, around)


def _check_view(block: RegisterBlock, around: Circumstances) -> Iterator[DoctorFinding]:
    control = block.read(etmv4.TRCVICTLR)
    caps = Capabilities({register.name: block.read(register).value for register in _GATES})
    levels = caps.field("TRCIDR3.EXLEVEL_S"), caps.field("TRCIDR3.EXLEVEL_NS")
    seen = levels[0] & ~control["EXLEVEL_S"] | levels[1] & ~control["EXLEVEL_NS"]
    if control["EVENT"] == etmv4.EVENT_FALSE:
        words = "its event is FALSE, which excludes everything"
    elif any(levels) and not seen:
        words = "every exception level that the core has is left out"
    elif not control["SSSTATUS"] and not _has_start(block, caps):
        words = "the start/stop block is off (SSSTATUS), and nothing can start it"
    else:
        yield from _check_limits(block, caps, control, around)
        return
    yield bad(FILTER, control.says(words), around.advice, Mend.START)


def _has_start(block: RegisterBlock, caps: Capabilities) -> bool:
    points = 0
    if caps.field("TRCIDR4.NUMACPAIRS"):
        points |= block.read(etmv4.TRCVISSCTLR)["START"]
    if caps.field("TRCIDR4.NUMPC"):
        points |= block.read(etmv4.TRCVIPCSSCTLR)["START"]
    return bool(points)


def _check_limits(
    block: RegisterBlock, caps: Capabilities, control: Reading, around: Circumstances
) -> Iterator[DoctorFinding]:
    pairs = caps.field("TRCIDR4.NUMACPAIRS")
    if pairs:
        lists = block.read(etmv4.TRCVIIECTLR)
        include, exclude = (
            [_range(block, n) for n in range(pairs) if lists[field] >> n & 1] for field in ("INCLUDE", "EXCLUDE")
        )
        if include or exclude:
            yield ranges(lists, include, exclude, around)
    if not control["SSSTATUS"]:
        yield start_point(control, "SSSTATUS", around)
    elif not pairs or not (include or exclude):
        yield ok(FILTER, control.says(STARTED if _has_start(block, caps) else _seen(caps, control)))


def _seen(caps: Capabilities, control: Reading) -> str:
    if control["EVENT"] != etmv4.EVENT_TRUE:
        return "what its event lets through"
    left_out = [
        "%s %d" % (state, level)
        for state, field in (("Secure", "EXLEVEL_S"), ("Non-secure", "EXLEVEL_NS"))
        for level in range(4)
        if caps.field("TRCIDR3." + field) & control[field] & 1 << level
    ]
    return "all but exception levels: " + ", ".join(left_out) if left_out else "none: everything is traced"


def _range(block: RegisterBlock, pair: int) -> Tuple[int, int]:
    first, last = (etmv4_comparators.TRCACVR[2 * pair + n] for n in (0, 1))
    return block.word(first.offset), block.word(last.offset)
