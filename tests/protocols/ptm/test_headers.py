"""Vectors worked by hand from the specification: what each of the 256 first bytes opens (IHI 0035B, table 4.1)."""

from __future__ import annotations

from typing import Dict, Set, Tuple

import pytest

from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.headers import build_table
from gdb_etm.protocols.ptm.packets import Kind
from tests.protocols.etmv3.test_headers import matching
from tests.protocols.ptm.streams import PLAIN

TABLE: Dict[str, Kind] = {
    "Cxxxxxx1": Kind.BRANCH,
    "00000000": Kind.ASYNC,
    "00001000": Kind.ISYNC,
    "01110010": Kind.WAYPOINT_UPDATE,
    "00001100": Kind.TRIGGER,
    "01101110": Kind.CONTEXT_ID,
    "00111100": Kind.VMID,
    "01000x10": Kind.TIMESTAMP,
    "01110110": Kind.EXCEPTION_RETURN,
    "01100110": Kind.IGNORE,
}
# One to five atoms; with a cycle count there is one.
ATOMS = ("100000F0", "10001FF0", "1001FFF0", "101FFFF0", "11FFFFF0")
CYCLE_ATOMS = ("1CccccF0",)
ALL = PLAIN._replace(context_id_bytes=4)


@pytest.mark.parametrize("config, atoms", [(ALL, ATOMS), (ALL._replace(cycle_accurate=True), CYCLE_ATOMS)])
def test_every_first_byte(config: PtmConfig, atoms: Tuple[str, ...]) -> None:
    expected: Dict[int, Kind] = {}
    for pattern, kind in [*TABLE.items(), *[(pattern, Kind.ATOM) for pattern in atoms]]:
        assert not matching(pattern) & set(expected), "claimed twice"
        expected.update(dict.fromkeys(matching(pattern), kind))
    for byte, header in enumerate(build_table(config)):
        assert header.kind is expected.get(byte, Kind.RESERVED), "0x%02x" % byte


def kinds(config: PtmConfig) -> Set[Kind]:
    return {header.kind for header in build_table(config)}


def test_what_a_unit_does_not_trace_is_reserved() -> None:
    assert kinds(ALL) == set(Kind)
    assert kinds(ALL) - kinds(PLAIN) == {Kind.CONTEXT_ID}
    assert kinds(PLAIN) - kinds(PLAIN._replace(version=0)) == {Kind.VMID}
