"""All checks of a trace path, in the trace's direction."""

from __future__ import annotations

from typing import Iterator

from gdb_etm.coresight.components import ComponentKind
from gdb_etm.coresight.topology import TracePath
from gdb_etm.errors import AccessError
from gdb_etm.traceunit.doctor import armv7, etmv4, mtb
from gdb_etm.traceunit.doctor.core import check_core
from gdb_etm.traceunit.doctor.findings import DoctorFinding, bad
from gdb_etm.traceunit.doctor.reading import RegisterBlock
from gdb_etm.traceunit.doctor.route import check_link, check_sink
from gdb_etm.traceunit.doctor.unit import Circumstances

# What to do about a component that does not answer.
NO_ANSWER = 'switch its clock and power on by the vendor\'s register (STM32: DBGMCU_CR), then "etm doctor --fix"'


def examine(path: TracePath, around: Circumstances) -> Iterator[DoctorFinding]:
    """Check everything on a path, without changing anything.

    :raises AccessError: The target does not answer in time, or is gone; a component that faults is a finding.
    """
    if path.scs is not None:
        yield from _answering("core", check_core(RegisterBlock(path.scs.port, path.scs.address)))
    unit = RegisterBlock(path.source.port, path.source.address)
    if path.source.kind is ComponentKind.MTB:
        yield from _answering("unit answers", mtb.check_unit(unit, around))
        return
    if path.source.kind is ComponentKind.ETMV4:
        yield from _answering("unit answers", etmv4.check_unit(unit, around))
    elif path.source.kind in (ComponentKind.ETMV3, ComponentKind.PTM):
        yield from _answering("unit answers", armv7.check_unit(unit, around, path.source.kind is ComponentKind.PTM))
    else:
        yield bad("unit answers", "%s: its architecture is not known" % (path.source,), NO_ANSWER)
    for link in path.links:
        yield from _answering("funnel 0x%08x" % link.component.address, check_link(link, around.advice))
    yield from _answering("buffer answers", check_sink(path.sink, around.advice))


def _answering(subject: str, check: Iterator[DoctorFinding]) -> Iterator[DoctorFinding]:
    try:
        yield from check
    except AccessError as error:
        if error.kind != "fault":
            raise
        yield bad(subject, str(error), NO_ANSWER)
