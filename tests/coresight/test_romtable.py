"""Vectors worked by hand from the specification: ROM tables of chips.

From CoreSight Architecture v3.0, D5 and D7, and the manuals of Cortex-M33, M4, A53 and SoC-400.
"""

from __future__ import annotations

from typing import List, Optional

import pytest

from gdb_etm.coresight.components import ComponentKind, Identity, classify, product
from gdb_etm.coresight.romtable import Space, discover
from gdb_etm.errors import AccessError

from .rom import Ids, Rom, cortex_m33


def names(*spaces: Space) -> List[str]:
    return ["%s %x" % (component.name, component.address) for component in discover(*spaces).components]


def test_cortex_m33() -> None:
    rom = Rom()
    cortex_m33(rom)
    found = discover(Space(rom, 0xE00FF000))
    assert [str(component) for component in found.components] == [
        "SCS at 0xe000e000 on AHB-AP 0",
        "DWT at 0xe0001000 on AHB-AP 0",
        "FPB at 0xe0002000 on AHB-AP 0",
        "ITM at 0xe0000000 on AHB-AP 0",
        "ETMv4 at 0xe0041000 on AHB-AP 0",
        "CTI at 0xe0042000 on AHB-AP 0",
    ]
    assert found.notes == ()
    assert found.components[4].identity == Identity(9, 0x43B, 0xD21, 0, 0x13, 0x4A13, 0)


def test_cortex_m4_has_generic_components() -> None:
    """Class 0xE, without DEVTYPE and DEVARCH, which are not read."""
    rom = Rom()
    rom.add_table(0xE00FF000, 0xE000E000, 0xE0001000, 0xE0002000, 0xE0000000, 0xE0040000, 0xE0041000)
    for address, part in ((0xE000E000, 0x00C), (0xE0001000, 0x002), (0xE0002000, 0x003), (0xE0000000, 0x001)):
        rom.add(address, Ids(part, component_class=0xE))
        del rom.words[address + 0xFCC]
    rom.add(0xE0040000, Ids(0x9A1, devtype=0x11))
    rom.add(0xE0041000, Ids(0x925, devtype=0x13))
    assert names(Space(rom, 0xE00FF000)) == [
        "SCS e000e000",
        "DWT e0001000",
        "FPB e0002000",
        "ITM e0000000",
        "TPIU e0040000",
        "ETM e0041000",
    ]
    assert discover(Space(rom, 0xE00FF003)).components[-1].kind is ComponentKind.ETMV3


@pytest.mark.parametrize(
    "identity, kind, name",
    [
        (0x4104F230, ComponentKind.ETMV3, "ETM"),
        (0x411CF312, ComponentKind.PTM, "PTM"),  # ETMIDR bits 11:8: 2 is ETMv3, 3 is PFT
        (0x41001100, ComponentKind.ETM, "older ETM or PTM"),
        (None, ComponentKind.ETM, "older ETM or PTM"),
    ],
)
def test_older_units_tell_what_they_are(identity: Optional[int], kind: ComponentKind, name: str) -> None:
    """Programming map 6.0: DEVTYPE 0x13 without DEVARCH; without power unknown."""
    rom = Rom()
    rom.add_table(0x80000000, 0x80001000, 0x80002000)
    rom.add(0x80001000, Ids(0x123, devtype=0x13))
    if identity is None:
        del rom.words[0x800011E4]
    else:
        rom.words[0x800011E4] = identity
    rom.add(0x80002000, Ids(0x907, devtype=0x21))
    unit, _ = discover(Space(rom, 0x80000000)).components
    assert (unit.kind, unit.name) == (kind, name)


def test_zynq_debug_apb() -> None:
    """UG585: a Zynq-7000's two PTMs, by their PIDRs."""
    rom = Rom("APB-AP 1")
    rom.add_table(0x80000000, 0x80001000, 0x80004000, 0x8009C000, 0x8009D000)
    rom.add(0x80001000, Ids(0x907, devtype=0x21))
    rom.add(0x80004000, Ids(0x908, devtype=0x12))
    for address in (0x8009C000, 0x8009D000):
        rom.add(address, Ids(0x950, devtype=0x13))
    found = discover(Space(rom, 0x80000000)).components
    assert [component.kind for component in found] == [
        ComponentKind.ETB,
        ComponentKind.FUNNEL,
        ComponentKind.PTM,
        ComponentKind.PTM,
    ]
    assert found[2].identity.designer == 0x43B and product(found[2]) == "Cortex-A9"


def test_tables_nest_and_may_be_listed_twice() -> None:
    rom = Rom()
    rom.add_table(0x80000000, 0x80010000, 0x80020000, 0x80010000, 0x80000000)
    rom.add_table(0x80010000, 0x80011000, 0x80000000)
    rom.add(0x80011000, Ids(0x961, devtype=0x32, devid=0x280))
    rom.add(0x80020000, Ids(0x908, devtype=0x12, devid=0x34))
    found = discover(Space(rom, 0x80000000))
    assert [(c.name, c.address, c.table) for c in found.components] == [
        ("ETF", 0x80011000, 0x80010000),
        ("funnel", 0x80020000, 0x80000000),
    ]
    assert found.notes == ()


def test_what_is_not_present_or_faults_is_skipped() -> None:
    rom = Rom()
    rom.add_table(0x80000000, 0x80001000, 0x80002000, 0x80003000, 0x80004000)
    rom.words[0x80000000] &= ~1
    rom.add(0x80003000, Ids(0x907, devtype=0x21))
    rom.words.update(dict.fromkeys(range(0x80004000, 0x80005000, 4), 0))
    found = discover(Space(rom, 0x80000000))
    assert [c.name for c in found.components] == ["ETB"]
    assert found.notes == (
        "0x80002000 on AHB-AP 0: skipped, cannot read 0x80002fd0: the bus answered with a fault",
        "0x80004000 on AHB-AP 0: no component answers; is it powered?",
    )


def test_a_lost_target_ends_the_walk() -> None:
    class Lost(Rom):
        def read32(self, address: int) -> int:
            raise AccessError("the debug probe no longer answers", address, "lost")

    with pytest.raises(AccessError, match="no longer answers"):
        discover(Space(Lost(), 0xE00FF000))


@pytest.mark.parametrize("wide", [False, True])
def test_class_9_table(wide: bool) -> None:
    """D7.5.17: an entry is 3, present; 2, absent; 0, the end."""
    rom = Rom()
    rom.add(0x10000000, Ids(0x4E4, devarch=0x47700AF7, devid=int(wide)))
    for n, entry in enumerate((0x00010003, 0x00020002, 0xFFFF0007, 0, 0x00030003)):
        rom.words[0x10000000 + n * (8 if wide else 4)] = entry
    rom.add(0x10010000, Ids(0xD03, devtype=0x13, devarch=0x47704A13, affinity=0x80000101))
    rom.add(0x0FFF0000, Ids(0xD03, devtype=0x15, devarch=0x47706A15, affinity=0x80000101))
    rom.add(0x10030000, Ids(0x907, devtype=0x21))
    found = discover(Space(rom, 0x10000000)).components
    assert [(c.name, c.address, c.affinity) for c in found] == [
        ("ETMv4", 0x10010000, 0x80000101),
        ("processor debug", 0x0FFF0000, 0x80000101),
    ]


def test_walk_is_bounded() -> None:
    """A table whose entries never end, and tables in tables without end."""
    rom = Rom()
    rom.add_table(0x80000000)
    rom.words.update((0x80000000 + 4 * n, 0x1003) for n in range(960))
    rom.add(0x80001000, Ids(0x907, devtype=0x21))
    assert names(Space(rom, 0x80000000)) == ["ETB 80001000"]
    deep = Rom()
    for n in range(20):
        deep.add_table(0x80000000 + n * 0x2000, 0x80001000 + n * 0x2000, 0x80002000 + n * 0x2000)
        deep.add(0x80001000 + n * 0x2000, Ids(0x907, devtype=0x21))
    found = discover(Space(deep, 0x80000000))
    assert len(found.components) == 8
    assert found.notes == tuple(
        "0x8001%x000 on AHB-AP 0: skipped, the ROM tables are too deep or too long" % n for n in (1, 2)
    )


@pytest.mark.parametrize(
    "identity, kind, name",
    [
        (Identity(9, 0x43B, 0x961, 0, 0x21, 0, 0x00), ComponentKind.TMC, "ETB"),
        (Identity(9, 0x43B, 0x961, 0, 0x21, 0, 0x40), ComponentKind.TMC, "ETR"),
        (Identity(9, 0x43B, 0x9EA, 0, 0x32, 0, 0x80), ComponentKind.TMC, "ETF"),
        (Identity(9, 0x43B, 0x909, 0, 0x22, 0, 0), ComponentKind.REPLICATOR, "replicator"),
        (Identity(9, 0x43B, 0x950, 0, 0x13, 0, 0), ComponentKind.PTM, "PTM"),
        (Identity(9, 0x43B, 0xD22, 0, 0x13, 0x4A13, 0), ComponentKind.ETMV4, "ETMv4"),
        (Identity(9, 0xA75, 0x132, 0, 0x13, 0x4A13, 0), ComponentKind.ETMV4, "ETMv4"),  # Arm China's STAR-MC1
        (Identity(9, 0x020, 0x123, 0, 0x12, 0, 0), ComponentKind.FUNNEL, "funnel"),  # somebody else's
        (Identity(9, 0x020, 0x123, 0, 0x00, 0, 0), ComponentKind.OTHER, "part 0x123"),
        (Identity(0xF, 0x020, 0x450, 0, 0, 0, 0), ComponentKind.OTHER, "part 0x450"),
        (Identity(0xE, 0x020, 0x000, 0, 0, 0, 0), ComponentKind.OTHER, "part 0x000"),
    ],
)
def test_classify(identity: Identity, kind: ComponentKind, name: str) -> None:
    assert classify(identity) == (kind, name)
