"""Worked by hand: where a frame goes on that an exception interrupted."""

from __future__ import annotations

from typing import Optional, Sequence

import pytest

from gdb_etm.history.frames import Frame, Function
from gdb_etm.history.lines import Inlined, LineEntry
from gdb_etm.history.path import Path
from gdb_etm.history.stack import stack
from gdb_etm.protocols.elements import Exception_
from tests.firmware.build import elf, symbol
from tests.history.executed import history_of

PROGRAM = elf("sort")
START = symbol(PROGRAM, "run") & ~1
RUN = Function("run", START, START + 4)


class Places:
    """The symbols of one function, without lines."""

    version = 13

    def line_at(self, address: int) -> Optional[LineEntry]:
        return None

    def function_at(self, address: int) -> Optional[Function]:
        return RUN if RUN.start <= address < RUN.end else None

    def inlined_at(self, address: int) -> Sequence[Inlined]:
        return ()


@pytest.mark.parametrize("function, address", [(RUN, START), (None, None)])
def test_a_branch_to_nowhere_is_where_its_own_function_was(
    function: Optional[Function], address: Optional[int]
) -> None:
    # What ran in a gap since is no function that is known, and the exception does not say where it was.
    path = Path(history_of(PROGRAM, [START]))
    taken = Frame(1, None, Frame(0, function, None, None), None)
    taken.event, taken.called_at = Exception_(0, 11, "Prefetch abort", None, None), 1
    levels = stack(path, taken, Places(), None, lambda frame: None)
    assert [level.address for level in levels] == [None, address]
