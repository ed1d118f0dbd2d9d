"""Real GDB, pyOCD, the boards' truth: registers over many halts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Dict, List

import pytest

from tests.firmware.recovery.build import board_of, elf
from tests.gdb_session import run_gdb

_NAMES = ["r%d" % number for number in range(13)] + ["sp", "lr"]
_TELL = """python
import json
from gdb_etm.api.inside import commands_session
from gdb_etm.session.past import recovered
session = commands_session()
decoded = session.shown()
recovery = recovered(session, decoded).recovery
recovery.solve()
names, told = %r, {}
for number in range(1, len(decoded.history) + 1, 3):
    values = [recovery.register(number, name) for name in names]
    told[number] = [value.value if value.tier <= recovery.rules.limit else None for value in values]
print("TOLD " + json.dumps(told))
end
"""
_HALTS = ["break quick_sort", "continue", "finish", "next", "delete", "break crc32", "continue", "next", "next"]
_CHANGES = ["set var $r3 = 0x55", "set var $r11 = 0x1234", "next"]


def _before(folder: Path) -> List[Dict[str, int]]:
    # The registers before each instruction that ran since the first resume.
    found: List[Dict[str, int]] = []
    now: Dict[str, int] = {}
    has_begun = False
    for line in (folder / "truth").read_text("ascii").splitlines():
        kind, _, rest = line.partition(" ")
        has_begun = has_begun or kind == "resume"
        if kind == "registers":
            now.update({name: int(value, 16) for name, value in re.findall(r"(\w+)=0x(\w+)", rest)})
        elif kind.startswith("0x") and has_begun:
            found.append(dict(now))
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["algorithms-O0", "algorithms-Os", "algorithms-O2"])
@pytest.mark.parametrize("changes", [[], _CHANGES])
def test_what_is_known_is_what_was_there(program: str, changes: List[str], tmp_path: Path) -> None:
    (tmp_path / "tell.gdb").write_text(_TELL % _NAMES)
    place = "%s --elf %s --etb-size 256K" % (board_of(program), elf(program))
    connect = "etm connect board:%s --truth %s --registers" % (place, tmp_path / "truth")
    begin = ["set remotetimeout 100", connect, "etm start", *_HALTS, *changes, "delete", "break base64", "continue"]
    output = run_gdb([*begin, "source %s" % (tmp_path / "tell.gdb"), "etm history -1"])
    (line,) = [line for line in output.splitlines() if line.startswith("TOLD ")]
    told, truth = json.loads(line[5:]), _before(tmp_path)
    known = total = 0
    for number, values in told.items():
        real = truth[int(number) - 1]
        for name, value in zip(_NAMES, values):
            total += 1
            known += value is not None
            assert value in (None, real[name]), (number, name)
    assert len(told) > 900 and known / total > 0.9, (len(told), known / total)
