"""Real GDB session of many halts: old histories are freed."""

from __future__ import annotations

import re
from pathlib import Path

from gdb_etm.session.captures import KEPT
from tests.access.processes import FOREVER_TICK, write_forever
from tests.gdb_session import run_gdb

# Python's own collector rests, as it does for long while there is much that is old.
_CYCLES = """import gc, weakref
from gdb_etm.api.inside import commands_session
gc.disable()
session, made = commands_session(), []
for _ in range(20):
    for command in ('continue', 'etm history -1', 'etm reverse-stepi', 'etm live'):
        gdb.execute(command, False, True)
    made.append((weakref.ref(session.shown()), weakref.ref(session.decode(session.look()))))
print('alive', [[number for number, each in enumerate(kind) if each() is not None] for kind in zip(*made)])
"""


def test_histories_of_captures_that_are_gone_are_collected(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    output = run_gdb(
        [
            "etm connect board:m33 --elf %s" % elf,
            "etm start",
            "break *%#x" % FOREVER_TICK,
            "python exec(%r)" % _CYCLES,
        ]
    )
    # A newer history replaces the older one, which is collected after 16 halts at the latest; what a capture was
    # decoded to is not kept when it was put together with what was there.
    found = re.search(r"^alive \[\[([\d, ]+)\], \[19\]\]$", output, re.MULTILINE)
    assert found is not None and len(found[1].split(", ")) <= KEPT, output[-2000:]
