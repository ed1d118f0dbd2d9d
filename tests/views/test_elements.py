"""Worked by hand, and a property test: elements as rows and lines."""

from __future__ import annotations

from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Cycles, Gap, GapReason, Range, TraceEvent
from gdb_etm.views.elements import Element, Row, element_object, element_text, merge_rows


@given(st.lists(st.lists(st.integers(0, 12)), max_size=5))
def test_rows_come_in_order(sources: List[List[int]]) -> None:
    rows: List[List[Row]] = [
        [(offset, trace_id, TraceEvent(offset, number)) for number, offset in enumerate(sorted(offsets))]
        for trace_id, offsets in enumerate(sources)
    ]
    # Sorting leaves the order of the sources, and of the rows of each.
    expected = sorted([row for each in rows for row in each], key=lambda row: row[0])
    assert list(merge_rows([iter(each) for each in rows])) == expected


@pytest.mark.parametrize(
    "element",
    [
        Range(0x1000, 0x1008, 2, Isa.A64, False),
        Gap(7, GapReason.NO_CODE, "", 0x1000),
        Gap(7, GapReason.NO_CODE, ""),
        Gap(7, GapReason.BAD_IMAGE, "not so", 0x1000),
        Cycles(7, 3),
        Cycles(7, None),
    ],
)
def test_text_says_what_the_object_says(element: Element) -> None:
    found = element_object(0x10, 7, element)
    fields = [item for item in found.items() if item[0] not in ("schema", "index", "id", "kind")]
    words = " ".join("%s=%s" % item for item in fields)
    assert element_text(0x10, 7, element) == ("%8d  10  %-16s  %s" % (7, found["kind"], words)).rstrip()
