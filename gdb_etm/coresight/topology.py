"""From the components found to one path: source, links, sink.

ROM tables say where components are, never how they are wired.  So the path is inferred as it is on usual
chips: the trace unit of the chosen core, through every funnel (all of them have all their inputs opened,
since which input is which cannot be known either), into the one buffer.  What cannot be inferred is reported,
and can be chosen.
"""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.components import TRACE_UNITS, Component, ComponentKind
from gdb_etm.errors import TopologyError
from gdb_etm.registers import funnel, tmc


class FunnelLink(NamedTuple):
    """A funnel on the path."""

    component: Component
    # Bit mask of the input ports to open.
    inputs: int

    def __str__(self) -> str:
        numbers = [str(n) for n in range(8) if self.inputs >> n & 1]
        return "funnel 0x%08x port%s %s" % (self.component.address, "s"[len(numbers) == 1 :], ", ".join(numbers))


class TracePath(NamedTuple):
    """How trace gets from the processor to the buffer."""

    source: Component
    links: Tuple[FunnelLink, ...]
    sink: Component
    # The System Control Space of the source's processor, if that is a Cortex-M.
    scs: Optional[Component] = None
    # The Data Watchpoint and Trace unit of the same.
    dwt: Optional[Component] = None
    # The debug registers of the source's processor, if that is an A or R profile one.
    debug: Optional[Component] = None
    # All Cross Trigger Interfaces of the chip.
    interfaces: Tuple[Component, ...] = ()


class CoreLocation(NamedTuple):
    """Where the processor that GDB debugs is, as far as is known."""

    # The memory space that it executes in, or through which it is debugged.
    port: Optional[AccessPort] = None
    # Address of its debug registers, on an A or R profile processor.
    debug_base: Optional[int] = None
    # Its MPIDR, on an A or R profile processor.
    affinity: Optional[int] = None


class Choice(NamedTuple):
    """What the user decides where nothing can be inferred."""

    # Trace unit: its number, from 0 in the order found, or its address.
    unit: Optional[int] = None
    # Trace buffer: the same.
    sink: Optional[int] = None
    # Funnel's address -> bit mask of its input ports.
    inputs: Mapping[int, int] = {}


def find_path(
    components: Sequence[Component], core: CoreLocation = CoreLocation(), choice: Choice = Choice()
) -> TracePath:
    """Arrange components into the path of one core's trace.

    :raises TopologyError: No trace unit or no buffer is there, or which one to take must be chosen.
    """
    source = _source(components, core, choice.unit)
    # A Micro Trace Buffer is source and sink at once.
    is_own = source.kind is ComponentKind.MTB
    sink = source if is_own else _sink(components, choice.sink)
    links = tuple(
        FunnelLink(component, choice.inputs.get(component.address, _all_inputs(component)))
        for component in components
        if component.kind is ComponentKind.FUNNEL and not is_own
    )
    return TracePath(
        source,
        links,
        sink,
        _beside(components, source, ComponentKind.SCS),
        _beside(components, source, ComponentKind.DWT),
        _core_debug(components, source),
        tuple(component for component in components if component.kind is ComponentKind.CTI),
    )


def trace_units(components: Sequence[Component]) -> List[Component]:
    """List the trace units in the order of their numbers.

    Micro Trace Buffers are the last ones.
    """
    return [one for one in components if one.kind in TRACE_UNITS] + [
        one for one in components if one.kind is ComponentKind.MTB
    ]


def trace_buffers(components: Sequence[Component]) -> List[Component]:
    """List the trace buffers that can be drained, by number."""
    return [
        component
        for component in components
        if component.kind is ComponentKind.ETB
        or component.kind is ComponentKind.TMC
        and _tmc_type(component) in (tmc.CONFIG_ETB, tmc.CONFIG_ETF)
    ]


def _beside(components: Sequence[Component], source: Component, kind: ComponentKind) -> Optional[Component]:
    """Find a private peripheral of the source's processor."""
    return next(
        (component for component in components if component.kind is kind and component.port.name == source.port.name),
        None,
    )


def _core_debug(components: Sequence[Component], source: Component) -> Optional[Component]:
    """Find the debug registers of the source's processor.

    By affinity, which Armv7 cores have none of; else by order, where there are as many as trace units.
    """
    near = [one for one in components if one.port.name == source.port.name and one.table == source.table]
    cores = [one for one in near if one.kind is ComponentKind.CPU_DEBUG]
    units = [one for one in near if one.kind in TRACE_UNITS]
    same = [one for one in cores if source.affinity and one.affinity == source.affinity]
    if len(same) == 1:
        return same[0]
    return cores[units.index(source)] if source in units and len(cores) == len(units) else None


def _source(components: Sequence[Component], core: CoreLocation, unit: Optional[int]) -> Component:
    units = trace_units(components)
    if not units:
        raise TopologyError("no trace unit found; the chip shows %s" % _listed(components))
    if unit is not None:
        return _chosen(units, unit, "trace unit")
    # A Micro Trace Buffer is for chips that have nothing else, or no buffer for it.
    others = [unit for unit in units if unit.kind is not ComponentKind.MTB]
    units = others if others and trace_buffers(components) else [unit for unit in units if unit not in others] or units
    units = _of_core(components, units, core)
    if len(units) > 1:
        raise TopologyError(
            "which trace unit is this core's? choose one by its number with --unit: %s"
            % _numbered(trace_units(components))
        )
    return units[0]


def _of_core(components: Sequence[Component], units: List[Component], core: CoreLocation) -> List[Component]:
    """Narrow the units down by what the core is known to be.

    Unless none would be left.
    """
    if core.port is not None:
        name = core.port.name
        units = [unit for unit in units if unit.port.name == name] or units
    if core.affinity is not None:
        # MPIDR bits 31:24 are flags, DEVAFF0 holds the same register (B2.3.1).
        units = [unit for unit in units if (unit.affinity ^ core.affinity) & 0xFFFFFF == 0] or units
    if core.debug_base is not None and len(units) > 1:
        owner = next((component for component in components if component.address == core.debug_base), None)
        if owner is not None:
            units = (
                [unit for unit in units if unit.affinity and unit.affinity == owner.affinity]
                or [unit for unit in units if unit.table == owner.table]
                or units
            )
    return units


def _sink(components: Sequence[Component], sink: Optional[int]) -> Component:
    sinks = trace_buffers(components)
    if not sinks:
        etr = next((component for component in components if component.kind is ComponentKind.TMC), None)
        if etr is not None:
            raise TopologyError("no trace buffer found: %s needs the target's memory, which is not supported" % (etr,))
        raise TopologyError("no trace buffer (ETB, ETF) found; the chip shows %s" % _listed(components))
    if sink is not None:
        return _chosen(sinks, sink, "trace buffer")
    if len(sinks) > 1:
        raise TopologyError("which trace buffer? choose one by its number with --buffer: %s" % _numbered(sinks))
    return sinks[0]


def _chosen(candidates: List[Component], choice: int, what: str) -> Component:
    if 0 <= choice < len(candidates):
        return candidates[choice]
    for component in candidates:
        if component.address == choice:
            return component
    wanted = hex(choice) if choice > 255 else str(choice)
    raise TopologyError("no %s %s; there are %s" % (what, wanted, _numbered(candidates)))


def _all_inputs(component: Component) -> int:
    count = funnel.DEVID.get(component.identity.devid, "PORTCOUNT")
    return (1 << min(count, 8)) - 1 if count else 0xFF


def _tmc_type(component: Component) -> int:
    return tmc.DEVID.get(component.identity.devid, "CONFIGTYPE")


def _numbered(components: Sequence[Component]) -> str:
    return "; ".join("%d: %s" % numbered for numbered in enumerate(components))


def _listed(components: Sequence[Component]) -> str:
    return ", ".join("%s 0x%08x" % (component.name, component.address) for component in components) or "nothing"
