"""Real GDB session: back over calls of longjmp.

GDB 16 to 18 whose default system is Linux end by an assertion of their own when they go back over two of its calls.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.firmware.build import elf
from tests.replay.boards import REPLAY, run

_STEPS = elf("steps")
# Linux's longjmp is nobody's then.
_NO_SYSTEM = "set osabi none"
_BACK = ["reverse-stepi", "reverse-next 3", "monitor where"]


@pytest.mark.every_gdb
def test_without_a_system_every_gdb_goes_back(tmp_path: Path) -> None:
    connect = ["etm connect board:m33 --elf %s" % _STEPS, "etm start", "tbreak finished", "continue"]
    live = run([_NO_SYSTEM, *connect, "etm save %s" % (tmp_path / "saved"), *_BACK])
    replay = "%s %s --elf %s" % (REPLAY, tmp_path / "saved", _STEPS)
    replayed = run([_NO_SYSTEM, "file %s" % _STEPS, replay, *_BACK], source=False)
    for output in live, replayed:
        assert "\ninstruction 60 of 509\n" in output, output
