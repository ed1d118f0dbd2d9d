"""Property test: any words give gaps and possible instructions, never an exception."""

from __future__ import annotations

import random
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb_etm.protocols.elements import Range
from gdb_etm.protocols.mtb.config import BufferEnds, MtbConfig
from gdb_etm.protocols.mtb.listing import list_packets
from tests.protocols.damage import damaged
from tests.protocols.histories import same
from tests.protocols.mtb.streams import buffer, history
from tests.protocols.mtb.test_decoder_vectors import PROGRAM
from tests.protocols.possible import Judge

JUDGE = Judge(PROGRAM)
# A run with exceptions, which damage may strike.
RUN = buffer(
    "118>10c 10e!>140 142>fffffff8 fffffff8!>10e 110>100 106>120 122>10a 10a>100 104>100 106>120 122!>140 "
    "142>fffffff8 fffffff8!>160 162>fffffff8 fffffff8!>122 122>10a 10a>100 106>120* 122!>160 160!>170 "
    "172>fffffff0 fffffff0!>160 "
)
# What may be in a word: places of the program and beside it, and values that mean something.
_WORDS = st.one_of(
    st.integers(0xF0, 0x1D0), st.integers(0xFFFFFF00, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFF), st.just(0xEFFFFFFE)
)
_PLACES = st.one_of(st.none(), st.integers(0x100, 0x190).map(lambda at: at & ~1))
_ENDS = st.builds(
    BufferEnds,
    is_first=st.booleans(),
    begin=_PLACES,
    stopped=st.one_of(st.none(), st.booleans()),
    was_reset=st.booleans(),
    halted_at=_PLACES,
    exception=st.one_of(st.none(), st.integers(0, 48)),
)


def check(data: bytes, ends: BufferEnds) -> None:
    """Decode a buffer, and have what it tells judged."""
    decoded = history(PROGRAM, data, ends)
    elements = list(decoded.elements())
    assert all(0 <= offset <= len(data) for offset, _ in elements)
    assert len(decoded) == sum(one.instructions for _, one in elements if isinstance(one, Range))
    assert not JUDGE.impossible(elements, list(list_packets(MtbConfig(), data, same)))
    assert b"".join(one.raw for one in list_packets(MtbConfig(), data, same)) == data


@given(st.lists(_WORDS, max_size=40), st.binary(max_size=7), _ENDS)
@settings(max_examples=300)
def test_any_words(words: list, rest: bytes, ends: BufferEnds) -> None:
    check(pack("<%dI" % len(words), *words) + rest, ends)


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_run(seed: int) -> None:
    check(damaged(RUN, random.Random(seed)), BufferEnds())


def test_the_run_itself_has_no_gap_but_where_it_was_started_again() -> None:
    decoded = history(PROGRAM, RUN)
    assert [event.detail for _, event in decoded.interruptions() if hasattr(event, "detail")] == [""]
