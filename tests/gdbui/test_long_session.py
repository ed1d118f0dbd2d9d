"""Real GDB session of many halts: old histories are freed."""

from __future__ import annotations

from pathlib import Path

from gdb_etm.session.session import KEPT
from tests.access.processes import FOREVER_TICK, write_forever
from tests.gdb_session import run_gdb

# Python's own collector rests, as it does for long while there is much that is old.
_CYCLES = """import gc, weakref
from gdb_etm.api.inside import commands_session
gc.disable()
session, made = commands_session(), []
for _ in range(%d):
    for command in ('continue', 'etm history -1', 'etm reverse-stepi'):
        gdb.execute(command, False, True)
    made.append(weakref.ref(session.decode(session.look())))
print('alive', [number for number, each in enumerate(made) if each() is not None])
"""


def test_histories_of_captures_that_are_gone_are_collected(tmp_path: Path) -> None:
    elf = write_forever(tmp_path / "forever.elf")
    output = run_gdb(
        [
            "etm connect board:m33 --elf %s" % elf,
            "etm start",
            "break *%#x" % FOREVER_TICK,
            "python exec(%r)" % (_CYCLES % (2 * KEPT)),
        ]
    )
    assert "alive %s\n" % list(range(KEPT, 2 * KEPT)) in output, output[-2000:]
