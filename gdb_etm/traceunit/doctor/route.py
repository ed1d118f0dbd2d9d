"""Checks of the path after the trace unit: funnels and buffer."""

from __future__ import annotations

from typing import Iterator

from gdb_etm.coresight.components import Component, ComponentKind
from gdb_etm.coresight.topology import FunnelLink
from gdb_etm.registers import coresight, etb, funnel, tmc
from gdb_etm.traceunit.doctor.findings import START, DoctorFinding, Mend, bad, ok
from gdb_etm.traceunit.doctor.reading import Reading, RegisterBlock

_MODES = {tmc.MODE_SOFTWARE_FIFO: "software FIFO", tmc.MODE_HARDWARE_FIFO: "hardware FIFO"}


def check_link(link: FunnelLink, advice: str) -> Iterator[DoctorFinding]:
    """Check a funnel.

    :param advice: What to type when it is closed.
    :raises AccessError: It does not answer.
    """
    block = RegisterBlock(link.component.port, link.component.address)
    control = block.read(funnel.FUNNELCONTROL)
    subject = "funnel 0x%08x" % link.component.address
    closed = [str(n) for n in range(8) if (link.inputs & ~control["ENS"]) >> n & 1]
    if closed:
        plural = "s" if len(closed) > 1 else ""
        mend = Mend.LINKS if advice != START else Mend.START
        yield bad(subject, control.says("port%s %s closed" % (plural, ", ".join(closed))), advice, mend)
    else:
        yield ok(subject, control.says("all ports that our trace may come in at are open"))
    yield from software_lock(block, subject)


def software_lock(block: RegisterBlock, subject: str, mend: Mend = Mend.START) -> Iterator[DoctorFinding]:
    """Check the software lock; open or absent, it gives no finding.

    On some paths it keeps a debugger out too.

    :raises AccessError: It does not answer.
    """
    lock = block.read(coresight.LSR)
    if lock["SLI"] and lock["SLK"]:
        yield bad(subject, lock.says("the software lock is locked: writes have no effect"), mend=mend)


def check_sink(component: Component, advice: str) -> Iterator[DoctorFinding]:
    """Check the trace buffer.

    :param advice: What to type when it does not capture.
    :raises AccessError: It does not answer.
    """
    block = RegisterBlock(component.port, component.address)
    yield from software_lock(block, "buffer lock")
    if component.kind is ComponentKind.ETB:
        yield from _check_etb(block, advice)
    else:
        yield from _check_tmc(block, advice)


def _check_tmc(block: RegisterBlock, advice: str) -> Iterator[DoctorFinding]:
    mode = block.read(tmc.MODE)
    if mode["MODE"] == tmc.MODE_CIRCULAR:
        yield ok("buffer mode", mode.says("circular buffer"))
    else:
        name = _MODES.get(mode["MODE"], "reserved")
        yield bad("buffer mode", mode.says("%s: trace does not stay in it" % name), advice, Mend.START)
    control, status = block.read(tmc.CTL), block.read(tmc.STS)
    formatter, flow = block.read(tmc.FFCR), block.read(tmc.FFSR)
    yield _capture(control, advice)
    if status["MemErr"]:
        yield bad("buffer memory", status.says("the trace memory reports an error (MemErr)"), "reset the chip")
    if control["TraceCaptEn"]:
        yield _formatter(flow, formatter, formatter["EnFt"], bool(status["TMCReady"]))
    yield ok("buffer content", "%s, RWP 0x%08x" % (_content(status, status["Empty"]), block.read(tmc.RWP).value))


def _check_etb(block: RegisterBlock, advice: str) -> Iterator[DoctorFinding]:
    control, status = block.read(etb.CTL), block.read(etb.STS)
    formatter, flow = block.read(etb.FFCR), block.read(etb.FFSR)
    yield _capture(control, advice)
    if control["TraceCaptEn"]:
        yield _formatter(flow, formatter, formatter["EnFTC"], bool(flow["FtStopped"]))
    write = block.read(etb.RWP).value
    yield ok("buffer content", "%s, RWP 0x%08x" % (_content(status, not write), write))


def _capture(control: Reading, advice: str) -> DoctorFinding:
    if control["TraceCaptEn"]:
        return ok("buffer capture", control.says("capturing"))
    return bad("buffer capture", control.says("not capturing (TraceCaptEn is 0)"), advice, Mend.START)


def _formatter(flow: Reading, control: Reading, formats: int, stopped: bool) -> DoctorFinding:
    subject = "formatter"
    if flow["FlInProg"]:
        words = "a flush does not end (FlInProg): some source does not hand over its trace"
        return bad(subject, flow.says(words), mend=Mend.START)
    if stopped:
        words = "stopped, though capture is on (FtStopped): by a flush or by a trigger"
        return bad(subject, flow.says(words), mend=Mend.START)
    if not formats:
        words = "it formats nothing, so trace of several sources cannot be told apart"
        return bad(subject, control.says(words), mend=Mend.START)
    return ok(subject, flow.says("running; ") + control.says("formatting"))


def _content(status: Reading, empty: int) -> str:
    return status.says("full, and wraps" if status["Full"] else "empty" if empty else "some trace")
