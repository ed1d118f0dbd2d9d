"""The chip behind a connection: its IDs, its trace path, its core."""

from __future__ import annotations

from typing import List, Optional, Sequence

from gdb_etm.capture import Core
from gdb_etm.coresight.components import Component, product, read_identity
from gdb_etm.coresight.romtable import Space
from gdb_etm.coresight.topology import Choice, CoreLocation, TracePath, find_path, trace_buffers
from gdb_etm.errors import AccessError, TopologyError
from gdb_etm.profiles.profile import PartId, Profile
from gdb_etm.registers import cortex_m
from gdb_etm.session.description import core_type


def part_ids(spaces: Sequence[Space]) -> List[PartId]:
    """Read the chip's part IDs from the ROM tables that answer.

    :raises AccessError: The connection is lost.
    """
    found = []
    for space in spaces:
        try:
            identity = read_identity(space.port, space.rom & ~0xFFF)
        except AccessError as error:
            if error.kind != "fault":
                raise
            continue
        if identity is not None:
            found.append(PartId(identity.designer, identity.part))
    return found


def path_with(
    profile: Optional[Profile], components: Sequence[Component], location: CoreLocation, choice: Choice
) -> TracePath:
    """Find the trace path, using a profile's funnels and buffers.

    :raises TopologyError: No trace unit or no buffer is there, or which one to take must be chosen.
    """
    if profile is None:
        return find_path(components, location, choice)
    if profile.no_buffer and not trace_buffers(components):
        raise TopologyError("no trace buffer: %s" % profile.no_buffer)
    path = find_path(components, location, choice)
    inputs = {**profile.funnel_inputs(path.source.address), **choice.inputs}
    return find_path(components, location, choice._replace(inputs=inputs))


def core_of(path: TracePath) -> Core:
    """Identify the processor by the components beside its trace unit."""
    if path.scs is not None:
        name = core_type(path.scs.port.read32(path.scs.address + cortex_m.CPUID.offset))
    else:
        name = product(path.source) or "Cortex-A"
    return Core("cpu_0", name, {})
