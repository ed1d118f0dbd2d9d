"""Walk the ROM tables of an access port: where the components are.

Arm CoreSight Architecture Specification v3.0 (IHI 0029E), D5 (class 0x1) and D7 (class 0x9).  Tables
nest.  Power requests of entries are ignored: what is not powered faults, and is reported and skipped.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Set, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.components import CLASS_ROM_TABLE, Component, ComponentKind, read_component
from gdb_etm.errors import AccessError
from gdb_etm.registers import coresight

_DEEPEST = 8  # levels below the first table
_MOST_COMPONENTS = 512
_PRESENT_9 = 3


class Space(NamedTuple):
    """A memory space to look for components in."""

    port: AccessPort
    # Address of its first ROM table.
    rom: int


class Discovery(NamedTuple):
    """What was found."""

    # Everything but ROM tables, in the order of the tables.
    components: Tuple[Component, ...]
    # What was skipped and why, one line each.
    notes: Tuple[str, ...]


def discover(*spaces: Space) -> Discovery:
    """Find the components of one or more memory spaces.

    :raises AccessError: The target is gone; a single component that faults is a note.
    """
    walk = _Walk()
    for space in spaces:
        walk.visit(space.port, space.rom & ~0xFFF, 0, 0)
    return Discovery(tuple(walk.components), tuple(walk.notes))


class _Walk:
    def __init__(self) -> None:
        self.components: List[Component] = []
        self.notes: List[str] = []
        self._seen: Set[Tuple[str, int]] = set()

    def visit(self, port: AccessPort, address: int, table: int, depth: int) -> None:
        if (port.name, address) in self._seen:
            return
        if depth > _DEEPEST or len(self._seen) >= _MOST_COMPONENTS:
            self.notes.append("0x%08x on %s: skipped, the ROM tables are too deep or too long" % (address, port.name))
            return
        self._seen.add((port.name, address))
        try:
            component = read_component(port, address, table)
            if component is None:
                self.notes.append("0x%08x on %s: no component answers; is it powered?" % (address, port.name))
            elif component.kind is not ComponentKind.ROM_TABLE:
                self.components.append(component)
            else:
                for entry in _entries(component):
                    self.visit(port, entry, address, depth + 1)
        except AccessError as error:
            if error.kind != "fault":
                raise
            self.notes.append("0x%08x on %s: skipped, %s" % (address, port.name, error))


def _entries(table: Component) -> Iterator[int]:
    """Yield the addresses of the components that a table says are present."""
    if table.identity.component_class == CLASS_ROM_TABLE:
        for index in range(coresight.ROM_ENTRIES):
            value = table.port.read32(table.address + 4 * index)
            if value == 0:
                return
            entry = coresight.ROM_ENTRY.decode(value)
            if entry["PRESENT"] and entry["FORMAT"]:
                yield _absolute(table, entry["OFFSET"])
        return
    wide = coresight.ROM9_DEVID.get(table.identity.devid, "FORMAT") == 1
    for index in range(coresight.ROM9_ENTRIES // (2 if wide else 1)):
        value = table.port.read32(table.address + index * (8 if wide else 4))
        entry = coresight.ROM9_ENTRY.decode(value)
        if entry["PRESENT"] == 0:
            return
        if entry["PRESENT"] == _PRESENT_9:
            # The high word of a 64-bit entry is part of the offset; an AccessPort reaches 32 bits of address.
            yield _absolute(table, entry["OFFSET"])


def _absolute(table: Component, offset: int) -> int:
    # Offsets are signed, in units of 4 KiB.
    return (table.address + (offset << 12)) & 0xFFFFFFFF
