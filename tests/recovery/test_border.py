"""Property tests: words of memory behind borders are those of their bytes.

What no newer piece has touched is looked up once, however many of them there are.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.program.isa import Isa
from gdb_etm.recovery.border import Border, Byte, UnresolvedStore
from gdb_etm.recovery.distrust import Distrust
from gdb_etm.recovery.lift.operations import MASK
from gdb_etm.recovery.values import Tier

RAM = 0x20000000
WORDS = range(RAM, RAM + 64, 4)
TIERS = st.sampled_from([Tier.EXACT, Tier.ASSUMED])
BYTES = st.none() | st.tuples(st.integers(0, 255), TIERS)
KNOWN = st.dictionaries(st.sampled_from(WORDS), st.tuples(BYTES, BYTES, BYTES, BYTES), max_size=4)
NEAR = st.integers(RAM - 8, RAM + 64) | st.sampled_from([0, MASK - 3, MASK])
STORES = st.builds(
    lambda size, low, span, mask, bits: UnresolvedStore(size, low, span, mask, bits & mask),
    st.sampled_from([0, 1, 2, 4]),
    NEAR,
    st.sampled_from([0, 4, 16, 100, MASK]),
    st.sampled_from([0, 1, 3, MASK & ~12]),
    NEAR,
)
LAYERS = st.lists(st.tuples(KNOWN, st.none() | st.lists(STORES, max_size=3), TIERS), min_size=1, max_size=4)


class Rest:
    """Memory at the end, which counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, address: int) -> Optional[bytes]:
        self.reads += 1
        return None if address == RAM + 8 else bytes((address + index) & 0xFF for index in range(4))


Layer = Tuple[Dict[int, Tuple[Byte, ...]], Optional[List[UnresolvedStore]], Tier]


def border(layers: List[Layer], rest: Rest) -> Border:
    """Make the oldest of some borders, the newest first."""
    made: Optional[Border] = None
    for words, stores, missed in layers:
        made = Border(1, 0, Isa.T32, Distrust(), {}, words, stores, missed, made, rest, lambda word: True, None)
    assert made is not None
    return made


@given(LAYERS, TIERS)
def test_a_word_is_what_its_bytes_are(layers: List[Layer], limit: Tier) -> None:
    made = border(layers, Rest())
    word = made.word(limit)
    for address in WORDS:
        found = [made.byte(address + index) for index in range(4)]
        values = [one[0] for one in found if one is not None and one[1] <= limit]
        assert word(address) == (int.from_bytes(bytes(values), "little") if len(values) == 4 else None)


def test_what_was_not_touched_is_looked_up_once() -> None:
    rest = Rest()
    store = UnresolvedStore(4, RAM, 12, 0, 0)
    word = border([({RAM + 16: (None,) * 4}, [store], Tier.EXACT)] * 8, rest).word(Tier.ASSUMED)
    assert [word(address) for address in WORDS[:5]] == [None] * 5 and rest.reads == 0
    assert word(RAM + 20) == 0x17161514 and rest.reads == 1
