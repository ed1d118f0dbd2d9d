"""Vectors worked by hand from IHI 0035B, table 4.1: first bytes.

Each row says where else it is seen: in which capture of silicon, and whether OpenCSD's trc_pkt_lister takes it for the
same packet of the same length (``test_packets_opencsd.py`` asks it for all 256, of units of four kinds).
"""

from __future__ import annotations

from typing import Dict, Set, Tuple

import pytest

from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.headers import build_table
from gdb_etm.protocols.ptm.packets import Kind
from tests.protocols.etmv3.test_headers import matching
from tests.protocols.ptm.streams import PLAIN

TABLE: Dict[str, Kind] = {
    # TC2, Snowball, trace_cov_a15; trc_pkt_lister.
    "Cxxxxxx1": Kind.BRANCH,
    "00000000": Kind.ASYNC,
    "00001000": Kind.ISYNC,
    # TC2, Snowball; trc_pkt_lister. 46 by trc_pkt_lister alone.
    "01000x10": Kind.TIMESTAMP,
    # Snowball; trc_pkt_lister.
    "01110010": Kind.WAYPOINT_UPDATE,
    # TC2; trc_pkt_lister. A single byte (4.3).
    "01110110": Kind.EXCEPTION_RETURN,
    # trc_pkt_lister. Single bytes (4.3).
    "00001100": Kind.TRIGGER,
    "01100110": Kind.IGNORE,
    # trc_pkt_lister, which takes it for a packet also where the unit is set to trace none.
    "01101110": Kind.CONTEXT_ID,
    # From PFTv1.1 (4.3); trc_pkt_lister, which takes it for a packet of PFTv1.0 too.
    "00111100": Kind.VMID,
}
# Without cycle counts: a stop bit, below it one to five atoms down to bit 1.
# One: trace_cov_a15 (84). Three: trace_cov_a15 (9c). Five: trace_cov_a15 (d0, d2, e2). All: trc_pkt_lister, which takes
# a header without a stop bit, 80 or 82, for one atom too; no capture has one.
ATOMS = ("100001F0", "10001FF0", "1001FFF0", "101FFFF0", "11FFFFF0")
# With a cycle count there is one atom: TC2, Snowball, trc_pkt_lister.
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
