"""Vectors worked by hand: an MTB that no ROM table lists (UM10601)."""

from __future__ import annotations

from typing import Sequence

from gdb_etm.coresight.components import ComponentKind
from gdb_etm.coresight.romtable import Discovery
from gdb_etm.coresight.topology import find_path
from gdb_etm.coresight.unlisted import with_unlisted
from gdb_etm.profiles.library import load
from tests.profiles import test_profiles

NOTHING = Discovery((), ())


class Words(test_profiles.Words):
    """Words that are read one by one."""

    def read_block(self, address: int, count: int) -> Sequence[int]:
        """Read neighbours."""
        return [self.read32(address + 4 * n) for n in range(count)]


def test_it_is_where_the_profile_says() -> None:
    # No identification registers: zeros.
    port = Words({0x14000000 + offset: 0 for offset in range(0, 0x1000, 4)})
    (found,) = with_unlisted(NOTHING, port, load("lpc812")).components
    assert (found.kind, found.address) == (ComponentKind.MTB, 0x14000000)
    path = find_path((found,))
    assert path.source is found and path.sink is found


def test_it_may_not_answer() -> None:
    found = with_unlisted(NOTHING, Words({}), load("lpc812"))
    assert not found.components and "0x14000000" in found.notes[0] and "lpc812" in found.notes[0]


def test_no_profile_and_other_profiles_change_nothing() -> None:
    assert with_unlisted(NOTHING, Words({}), None) is NOTHING
    assert with_unlisted(NOTHING, Words({}), load("zynq7000")) is NOTHING
