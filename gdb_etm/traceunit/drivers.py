"""Drivers of the components on a path, by their kinds."""

from __future__ import annotations

from typing import Optional

from gdb_etm.coresight.components import Component, ComponentKind
from gdb_etm.coresight.etb import EmbeddedTraceBuffer
from gdb_etm.coresight.mtb import MtbBuffer
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.sink import Sink
from gdb_etm.coresight.tmc import TraceMemoryController
from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.armv7.unit import EtmV3Unit, PtmUnit
from gdb_etm.traceunit.etmv4.unit import EtmV4Unit
from gdb_etm.traceunit.mtb.unit import MtbUnit
from gdb_etm.traceunit.unit import TraceUnit


def make_sink(component: Component, deadline: Deadline, unit: TraceUnit) -> Sink:
    """Return the driver for a trace buffer.

    :param unit: The trace unit's, which may be the same component.
    """
    if component.kind is ComponentKind.MTB:
        return MtbBuffer(unit.registers)
    if component.kind is ComponentKind.ETB:
        return EmbeddedTraceBuffer(component.port, component.address, deadline)
    return TraceMemoryController(component.port, component.address, deadline)


def make_unit(
    component: Component, deadline: Deadline, dwt: Optional[Component] = None, scs: Optional[Component] = None
) -> TraceUnit:
    """Return the driver for a trace unit.

    :param dwt: The processor's DWT, if that is a Cortex-M.
    :param scs: The processor's System Control Space, if that is a Cortex-M.
    :raises UnsupportedError: There is none.
    """
    if component.kind is ComponentKind.ETMV4:
        return EtmV4Unit(component.port, component.address, deadline, dwt)
    if component.kind is ComponentKind.ETMV3:
        return EtmV3Unit(component, deadline, dwt)
    if component.kind is ComponentKind.PTM:
        return PtmUnit(component, deadline, dwt)
    if component.kind is ComponentKind.MTB:
        return MtbUnit(component, deadline, dwt, scs)
    if component.kind is ComponentKind.ETM:
        raise UnsupportedError(
            "%s: which architecture it is cannot be read (ETMIDR.Major); is it powered?" % (component,), "ETMIDR.Major"
        )
    raise UnsupportedError(
        "%s: only ETMv3, ETMv4 and PTM can be programmed (DEVARCH.ARCHID)" % (component,), "DEVARCH.ARCHID"
    )
