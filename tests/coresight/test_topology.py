"""Vectors worked by hand from the specification: paths of usual chips.

From CoreSight Architecture v3.0, D5 and B2.3.1, and the chips' manuals.
"""

from __future__ import annotations

from typing import Sequence, Tuple

import pytest

from gdb_etm.coresight.components import Component, ComponentKind
from gdb_etm.coresight.romtable import Space, discover
from gdb_etm.coresight.topology import Choice, CoreLocation, find_path, trace_buffers, trace_units
from gdb_etm.errors import TopologyError

from .rom import Ids, Rom, cortex_m33

FUNNEL = Ids(0x908, devtype=0x12, devid=0x32)
ETF = Ids(0x961, devtype=0x32, devid=0x280)
ETR = Ids(0x961, devtype=0x21, devid=0x240)


def two_m33() -> Tuple[Rom, Rom, Sequence[Component]]:
    """Two Cortex-M33, with own spaces and a shared one."""
    first, second, shared = Rom("AHB-AP 0"), Rom("AHB-AP 1"), Rom("APB-AP 2")
    cortex_m33(first)
    cortex_m33(second)
    shared.add_table(0x80000000, 0x80001000, 0x80002000)
    shared.add(0x80001000, FUNNEL)
    shared.add(0x80002000, ETF)
    found = discover(Space(first, 0xE00FF000), Space(second, 0xE00FF000), Space(shared, 0x80000000))
    return first, second, found.components


def a53_cluster() -> Sequence[Component]:
    """Four Cortex-A53 on one APB-AP (TRM DDI 0500, 11.10.1)."""
    rom = Rom("APB-AP 1")
    parts = [base + offset for base in (0x82000000, 0x82200000) for offset in (0x10000, 0x40000)]
    rom.add_table(0x80000000, *parts, 0x83000000, 0x83001000, 0x83002000)
    for n, address in enumerate(parts):
        affinity = 0x80000000 | n // 2
        ids = (
            Ids(0xD03, devtype=0x15, devarch=0x47706A15, affinity=affinity),
            Ids(0xD03, devtype=0x13, devarch=0x47704A13, affinity=affinity),
        )
        rom.add(address, ids[n % 2])
    rom.add(0x83000000, FUNNEL)
    rom.add(0x83001000, ETF)
    rom.add(0x83002000, ETR)
    return discover(Space(rom, 0x80000000)).components


def test_each_m33_gets_its_own_unit() -> None:
    first, second, components = two_m33()
    for rom in (first, second):
        path = find_path(components, CoreLocation(port=rom))
        assert path.source.port is rom and path.source.address == 0xE0041000
        assert path.scs is not None and path.scs.port is rom
        assert [str(link) for link in path.links] == ["funnel 0x80001000 ports 0, 1"]
        assert path.sink.name == "ETF"


def test_private_peripherals_of_the_same_processor() -> None:
    first, second = Rom("AHB-AP 0"), Rom("AHB-AP 1")
    cortex_m33(first)
    cortex_m33(second)
    second.add(0xE0043000, Ids(0x961, devtype=0x32, devid=0x280))
    second.add_table(0xE00FF000, 0xE000E000, 0xE0001000, 0xE0041000, 0xE0043000)
    components = discover(Space(first, 0xE00FF000), Space(second, 0xE00FF000)).components
    path = find_path(components, CoreLocation(port=second))
    assert path.scs is not None and path.dwt is not None
    assert (path.dwt.kind, path.dwt.port.name, path.scs.port.name) == (ComponentKind.DWT, "AHB-AP 1", "AHB-AP 1")


def test_a_choice_must_be_made() -> None:
    _, second, components = two_m33()
    with pytest.raises(TopologyError) as error:
        find_path(components)
    assert str(error.value) == (
        "which trace unit is this core's? choose one by its number with --unit:"
        " 0: ETMv4 at 0xe0041000 on AHB-AP 0; 1: ETMv4 at 0xe0041000 on AHB-AP 1"
    )
    assert find_path(components, choice=Choice(unit=1)).source.port is second
    with pytest.raises(TopologyError, match="no trace unit 2; there are 0: ETMv4"):
        find_path(components, choice=Choice(unit=2))


def test_units_of_a_cluster_by_affinity() -> None:
    components = a53_cluster()
    assert [unit.address for unit in trace_units(components)] == [0x82040000, 0x82240000]
    assert find_path(components, CoreLocation(affinity=0x81000001)).source.address == 0x82240000
    assert find_path(components, CoreLocation(debug_base=0x82210000)).source.address == 0x82240000
    assert find_path(components, CoreLocation(debug_base=0x82010000)).source.address == 0x82040000
    assert find_path(components, choice=Choice(unit=0x82240000)).source.address == 0x82240000
    # The ETR, which stores in the target's memory, is no candidate.
    assert [sink.address for sink in trace_buffers(components)] == [0x83001000]


def test_unit_in_the_core_s_own_table() -> None:
    """Without DEVAFF, the table with the core's registers has its unit."""
    rom = Rom()
    rom.add_table(0x80000000, 0x80010000, 0x80020000, 0x80030000)
    for table in (0x80010000, 0x80020000):
        rom.add_table(table, table + 0x1000, table + 0x2000)
        rom.add(table + 0x1000, Ids(0xC09, devtype=0x15))
        rom.add(table + 0x2000, Ids(0x950, devtype=0x13))
    rom.add(0x80030000, Ids(0x907, devtype=0x21))
    components = discover(Space(rom, 0x80000000)).components
    path = find_path(components, CoreLocation(debug_base=0x80021000))
    assert (
        path.source.address == 0x80022000
        and path.sink.kind is ComponentKind.ETB
        and path.links == ()
        and path.scs is None
    )


def test_nothing_to_trace_with() -> None:
    rom = Rom()
    rom.add_table(0xE00FF000, 0xE000E000)
    rom.add(0xE000E000, Ids(0xD21, devarch=0x47702A04))
    components = discover(Space(rom, 0xE00FF000)).components
    with pytest.raises(TopologyError, match="^no trace unit found; the chip shows SCS 0xe000e000$"):
        find_path(components)
    with pytest.raises(TopologyError, match="^no trace unit found; the chip shows nothing$"):
        find_path(())


def test_no_buffer() -> None:
    rom = Rom()
    cortex_m33(rom)
    components = discover(Space(rom, 0xE00FF000)).components
    with pytest.raises(TopologyError, match=r"^no trace buffer \(ETB, ETF\) found; the chip shows SCS 0xe000e000, DWT"):
        find_path(components)
    rom.add_table(0x80000000, 0x80002000)
    rom.add(0x80002000, ETR)
    with pytest.raises(TopologyError, match="ETR at 0x80002000 on AHB-AP 0 needs the target's memory"):
        find_path([*components, *discover(Space(rom, 0x80000000)).components])


def test_inputs_and_buffer_can_be_chosen() -> None:
    rom = Rom()
    cortex_m33(rom)
    rom.add_table(0x80000000, 0x80001000, 0x80002000, 0x80003000)
    rom.add(0x80001000, FUNNEL)
    rom.add(0x80002000, ETF)
    rom.add(0x80003000, Ids(0x907, devtype=0x21))
    components = discover(Space(rom, 0xE00FF000), Space(rom, 0x80000000)).components
    with pytest.raises(TopologyError, match="which trace buffer.*0: ETF at 0x80002000.*; 1: ETB at 0x80003000"):
        find_path(components)
    path = find_path(components, choice=Choice(sink=1, inputs={0x80001000: 0b10}))
    assert path.sink.name == "ETB" and str(path.links[0]) == "funnel 0x80001000 port 1"
