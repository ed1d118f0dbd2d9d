"""Checks of an ETMv3 or PTM.

IHI 0014Q, 3.4, 3.5, 3.8; IHI 0035B, 3.16.
"""

from __future__ import annotations

from typing import Iterator, Tuple

from gdb_etm.registers import etmv3, etmv3_comparators, etmv3_id, etmv3_page, ptm
from gdb_etm.traceunit.armv7.probe import tells_power
from gdb_etm.traceunit.doctor.core import authentication
from gdb_etm.traceunit.doctor.findings import DoctorFinding, Mend, bad, ok, unknown
from gdb_etm.traceunit.doctor.reading import Reading, RegisterBlock
from gdb_etm.traceunit.doctor.route import software_lock
from gdb_etm.traceunit.doctor.unit import FILTER, STARTED, Circumstances, claim, ranges, start_point, trace_id


def check_unit(block: RegisterBlock, around: Circumstances, is_ptm: bool) -> Iterator[DoctorFinding]:
    """Check the trace unit; stops where nothing else of it would answer.

    :raises AccessError: It does not answer.
    """
    kind = block.read(etmv3_id.ETMDEVTYPE)
    yield ok("unit answers", kind.says("a processor's trace unit: its clock runs"))
    yield from software_lock(block, "unit software lock", Mend.UNIT)
    yield authentication("unit authentication", block.read(etmv3_id.ETMAUTHSTATUS))
    power = around.power(block, etmv3_id.ETMPDSR)
    lost = ", and it was without since it was last asked (Sticky)" if power["Sticky"] else ""
    if power["Power"]:
        yield ok("unit power", power.says("on" + lost))
    elif tells_power(lambda register: block.word(register.offset)):
        yield bad("unit power", power.says("off" + lost), mend=around.unit_mend)
        return
    else:
        yield unknown("unit power", power.says("units before ETMv3.3 do not report it"))
    lock = block.read(etmv3_id.ETMOSLSR)
    if lock["Locked"]:
        words = "locked, as by software that saves the unit's state: nothing else of it answers"
        yield bad("OS Lock", lock.says(words), mend=around.unit_mend)
        return
    yield ok("OS Lock", lock.says("open" if lock["Model0"] or lock["Model1"] else "there is none"))
    yield from _check_use(block, around, is_ptm)


def _check_use(block: RegisterBlock, around: Circumstances, is_ptm: bool) -> Iterator[DoctorFinding]:
    mode = block.read(etmv3_id.ETMITCTRL)
    if mode["IME"]:
        yield bad("integration mode", mode.says("on: the unit does not trace"), "reset the chip")
    yield claim(block, block.read(etmv3_id.ETMCLAIMCLR), etmv3_id.ETMCLAIMCLR)
    control = block.read(ptm.ETMCR if is_ptm else etmv3.ETMCR)
    off = _why_off(control, is_ptm)
    status = block.read(etmv3.ETMSR)
    if off:
        yield bad("unit enable", control.says(off), around.advice, Mend.START)
        if around.is_unprogrammed:
            return
    elif status["Prog"]:
        yield bad("unit enable", status.says("stopped though it is enabled (Prog)"), around.advice, Mend.START)
    else:
        yield ok("unit enable", control.says("on"))
    if not is_ptm and not block.read(etmv3_id.ETMCCER)["Readable"]:
        yield unknown("programming", "this unit's registers can only be written (ETMCCER.Readable)")
        return
    yield from around.check_programming(block, ptm.PAGE if is_ptm else etmv3_page.PAGE, etmv3.ETMCR.encode(Prog=1))
    yield trace_id(block.read(etmv3.ETMTRACEIDR), "TraceID", around.advice)
    yield from _check_view(block, around, status, is_ptm)


def _why_off(control: Reading, is_ptm: bool) -> str:
    if control["PowerDown"]:
        return "powered down (PowerDown)"
    if control["Prog"]:
        return "off (Prog)"
    return "" if is_ptm or control["ETMEN"] else "its trace port is not selected (ETMEN)"


def _check_view(block: RegisterBlock, around: Circumstances, status: Reading, is_ptm: bool) -> Iterator[DoctorFinding]:
    event = block.read(etmv3.ETMTEEVR)
    if event.value == etmv3.EVENT_FALSE:
        yield bad(FILTER, event.says("its event is FALSE, which excludes everything"), around.advice, Mend.START)
        return
    control = block.read(ptm.ETMTECR1 if is_ptm else etmv3.ETMTECR1)
    is_limited = False
    if block.read(etmv3.ETMCCR)["AddrPairs"]:
        pairs = [_range(block, n) for n in range(8) if control["Ranges"] >> n & 1]
        others = 0 if is_ptm else control["MMDs"] | block.read(etmv3.ETMTECR2)["Addresses"]
        if not control["Exclude"] and not pairs and not others:
            words = "it includes only what is listed, and nothing is"
            yield bad(FILTER, control.says(words), around.advice, Mend.START)
            return
        if pairs:
            excludes = bool(control["Exclude"])
            yield ranges(control, [] if excludes else pairs, pairs if excludes else [], around)
            is_limited = True
    if control["StartStop"] and not status["StartStop"]:
        yield start_point(status, "StartStop", around)
    elif not is_limited:
        if event.value != etmv3.EVENT_TRUE:
            yield ok(FILTER, event.says("what its event lets through"))
        else:
            yield ok(FILTER, event.says(STARTED if control["StartStop"] else "none: everything is traced"))


def _range(block: RegisterBlock, pair: int) -> Tuple[int, int]:
    # The second address is the first that is not in the range.
    first, last = (etmv3_comparators.ETMACVR[2 * pair + n] for n in (1, 2))
    return block.word(first.offset), block.word(last.offset) - 1
