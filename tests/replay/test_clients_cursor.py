"""Real GDB over MI and as a debug adapter: one position.

Scripts mix the plug-in's commands with the client's own requests.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Callable

import pytest

from tests.adapter_client import AdapterClient, Refused, require_adapter
from tests.gdb_session import SCRIPT
from tests.gdbui.test_board import CONNECT
from tests.replay.boards import ELF
from tests.replay.test_mi import Mi

pytestmark = pytest.mark.every_gdb

_OURS = ["goto 1", "goto -1", "goto 50%", "goto 777", "goto -300", "undo", "last parse", "next-hit parse", "live"]
_OURS += ["reverse-next", "reverse-step", "reverse-finish", "reverse-stepi 5", "step", "next", "finish", "stepi 7"]
_MI = ["-exec-step", "-exec-next", "-exec-finish", "-exec-step-instruction"]
_ADAPTER = [("stepIn", "statement"), ("next", "statement"), ("stepOut", "statement"), ("next", "instruction")]
_ADAPTER_BACK = [("stepBack", "statement"), ("stepBack", "instruction")]
# What GDB and the plug-in take for the position.
_TELL = r"""
python
import gdb, re
def told(command):
    found = re.search(r"instruction (\d[\d,]*)\b(, the last)?", gdb.execute(command, False, True))
    return "end" if found is None or found.group(2) else found.group(1).replace(",", "")
class Places(gdb.Command):
    def __init__(self):
        super().__init__("places", gdb.COMMAND_USER)
    def invoke(self, text, from_tty):
        try:
            number = told("monitor where")
        except gdb.error:
            number = "end"
        pcs = [int(gdb.parse_and_eval(name)) & 0xFFFFFFFE for name in ("$pc", "$etm_pc")]
        print("@", number, told("etm where"), *pcs, "@")
Places()
end
"""


def _checked(said: str) -> str:
    gdbs, ours, pc, etm_pc = said.partition("@ ")[2].partition(" @")[0].split()
    assert (gdbs, pc) == (ours, etm_pc), said
    return gdbs


def _play(seed: int, lines: int, go: Callable[[random.Random, bool], str]) -> None:
    # Back and forth, and a look after each line.
    choose, places = random.Random(seed), ["end"]
    for _ in range(lines):
        places.append(go(choose, places[-1] == "end"))
    assert len(set(places)) > lines // 3, places


def test_over_mi(tmp_path: Path) -> None:
    (tmp_path / "tell.gdb").write_text(_TELL)
    with Mi() as mi:
        for line in ("source %s" % SCRIPT, "source %s" % (tmp_path / "tell.gdb"), CONNECT, "etm start"):
            mi.type(line)
        mi.type("break dispatch")
        for _ in range(3):
            mi.go("-exec-continue")
        mi.type("delete")

        def go(choose: random.Random, is_at_end: bool) -> str:
            line = choose.choice(_MI) + " --reverse" * (is_at_end or choose.random() < 0.5)
            if choose.random() < 0.5:
                line = '-interpreter-exec console "etm %s"' % choose.choice(_OURS)
            mi.move(line)
            return _checked(mi.say("places"))

        _play(1, 40, go)


def test_as_a_debug_adapter(tmp_path: Path) -> None:
    require_adapter()
    (tmp_path / "tell.gdb").write_text(_TELL)
    with AdapterClient(["-ex", "source %s" % SCRIPT, "-x", str(tmp_path / "tell.gdb")], with_plugin=False) as client:
        client.start()
        client.attach("etm connect board:m33 --elf %s" % ELF)
        client.type("etm start")
        client.type("break dispatch")
        for _ in range(3):
            client.go("continue")
        client.type("delete")

        def go(choose: random.Random, is_at_end: bool) -> str:
            moves = _ADAPTER_BACK if is_at_end or choose.random() < 0.5 else _ADAPTER
            request, granularity = choose.choice(moves)
            # The stops of the line before.
            client.forget()
            try:
                if choose.random() < 0.5:
                    client.type("etm " + choose.choice(_OURS))
                else:
                    client.go(request, granularity=granularity)
            except Refused:
                # Such as a "finish" of the outermost function: nothing has moved.
                pass
            place = _checked(client.type("places"))
            top = int(client.frames()[0]["instructionPointerReference"], 16)
            assert "= %d\n" % top in client.type("print $etm_pc"), place
            return place

        _play(2, 40, go)
