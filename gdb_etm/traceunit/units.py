"""Which of our drivers fits which trace unit."""

from __future__ import annotations

from typing import Optional

from gdb_etm.coresight.components import Component, ComponentKind
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.armv7.kinds import EtmV3Unit, PtmUnit
from gdb_etm.traceunit.etmv4.unit import EtmV4Unit
from gdb_etm.traceunit.unit import TraceUnit


def make_unit(component: Component, deadline: Deadline, dwt: Optional[Component] = None) -> TraceUnit:
    """Return the driver for a trace unit.

    :param dwt: The processor's DWT, if that is a Cortex-M.
    :raises UnsupportedError: There is none.
    """
    if component.kind is ComponentKind.ETMV4:
        return EtmV4Unit(component.port, component.address, deadline, dwt)
    if component.kind is ComponentKind.ETMV3:
        return EtmV3Unit(component, deadline, dwt)
    if component.kind is ComponentKind.PTM:
        return PtmUnit(component, deadline, dwt)
    if component.kind is ComponentKind.ETM:
        raise UnsupportedError(
            "%s: which architecture it is cannot be read (ETMIDR.Major); is it powered?" % (component,), "ETMIDR.Major"
        )
    raise UnsupportedError(
        "%s: only ETMv3, ETMv4 and PTM can be programmed (DEVARCH.ARCHID)" % (component,), "DEVARCH.ARCHID"
    )
