"""Checks of a Micro Trace Buffer.

CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.4 and 3.2.
"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.coresight.mtb import MtbBuffer
from gdb_etm.registers import mtb
from gdb_etm.traceunit.doctor.findings import DoctorFinding, Mend, bad, ok
from gdb_etm.traceunit.doctor.reading import RegisterBlock
from gdb_etm.traceunit.doctor.unit import Circumstances

# The bits of MASTER that switch it on and off.
_CONTROL = mtb.MASTER.encode(EN=1, HALTREQ=1, TSTARTEN=1, TSTOPEN=1)
_STOPPED = "not tracing (EN is 0): a reset, the program or a stop event has stopped it"
_NO_CLOCK = (
    "switch its clock on by the vendor's register (EFM32: CMU_DBGCLKSEL and the HF peripheral clock; SAM D: the AHB"
    ' clock mask), then "etm start"'
)


def check_unit(block: RegisterBlock, around: Circumstances) -> Iterator[DoctorFinding]:
    """Check whether it traces, and into the buffer that was chosen.

    :raises AccessError: It does not answer.
    """
    master, position, flow = block.read(mtb.MASTER), block.read(mtb.POSITION), block.read(mtb.FLOW)
    base = block.read(mtb.BASE)
    yield ok("buffer RAM", base.says("it begins there" if base.value else "not said where it begins"))
    if around.is_unprogrammed:
        return
    if master["EN"]:
        yield ok("trace on", master.says("tracing (EN)"))
    elif master["TSTARTEN"]:
        yield ok("trace on", master.says("waits for a start point (TSTARTEN)"))
    elif around.is_tracing:
        yield bad("trace on", master.says(_STOPPED), mend=Mend.START)
    if master["HALTREQ"]:
        yield bad("halt request", master.says("it keeps the core halted (HALTREQ)"), mend=Mend.START)
    if around.session is not None and flow.value != getattr(around.session.sink, "flow", 0):
        yield bad("watermark", flow.says("somebody else's: the trace ends at it"), mend=Mend.START)
    yield from around.check_programming(block, mtb.PAGE, _CONTROL)
    yield from _pointer(position.value, around)


def _pointer(position: int, around: Circumstances) -> Iterator[DoctorFinding]:
    sink = around.session.sink if around.session is not None else None
    place = sink.place if isinstance(sink, MtbBuffer) else None
    if not isinstance(sink, MtbBuffer) or place is None:
        return
    at = sink.address_of(position)
    words = "MTB_POSITION 0x%08x: the next packet goes to 0x%08x, " % (position, at)
    if not place.address <= at < place.address + place.size:
        yield bad(
            "buffer pointer", words + "out of the buffer at %s: something has moved it" % (place,), mend=Mend.START
        )
        return
    filled = "wrapped" if position & 4 else "%d of %d bytes filled" % (at - place.address, place.size)
    if around.is_empty and at == place.address and not position & 4:
        yield bad("buffer pointer", words + "and none was written", _NO_CLOCK)
        return
    yield ok("buffer pointer", words + filled)
