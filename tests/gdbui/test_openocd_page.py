"""Real GDB, real OpenOCD: the session on the guide's page openocd.md.

``python -m tests.gdbui.test_openocd_page`` puts it into the page.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.gdb_session import ROOT, SCRIPT, run_gdb
from tests.openocd import board_with_pins, openocd
from tests.pages import GUIDE, Block, blocks, replace, shown

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
PAGE = GUIDE / "openocd.md"
_FIRST = "$ gdb-multiarch demo.elf\n"


def the_block() -> Block:
    """Find the session on the page."""
    (found,) = [block for block in blocks(PAGE) if not block.is_session]
    assert found.text.startswith(_FIRST)
    return found


def session(block: Block, folder: Path) -> str:
    """Type it into GDB, beside OpenOCD; return what is printed."""
    with board_with_pins(folder, "m33", "--elf", str(DEMO / "demo.elf")) as config:
        # Without the reset GDB would say where the program was, which is another place each time.
        with openocd(config, "reset halt") as server:
            asked = ["set remotetimeout 100", "set directories %s:$cdir:$cwd" % SCRIPT.parent]
            for command in block.commands:
                typed = command.replace("localhost:3333", "localhost:%d" % server.port)
                asked += ["echo (gdb) %s\\n" % command, typed]
            asked.append("echo (gdb) end\\n")
            output = run_gdb(asked, cwd=DEMO, source=False, arguments=["demo.elf"])
            output = output.replace("localhost:%d" % server.port, "localhost:3333")
    # On a busy machine there is a line of progress.
    lines = [line for line in output.splitlines(True) if "(Ctrl-C ends it)" not in line]
    output = "".join(lines)
    return _FIRST + shown(output[output.index("(gdb) ") : output.index("(gdb) end")])


def test_the_session_is_what_gdb_prints(tmp_path: Path) -> None:
    block = the_block()
    assert block.text == session(block, tmp_path)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        replace(the_block(), session(the_block(), Path(made)))
