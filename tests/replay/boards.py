"""Real GDB on the boards with reverse execution; plain servers."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, Sequence

from tests.gdb_session import ROOT, run_gdb

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
ELF = DEMO / "demo.elf"
REPLAY = "target remote | %s -m gdb_etm replay" % sys.executable
PROXY = "target remote | %s -m gdb_etm proxy" % sys.executable

_WALK = r"""
python
import gdb, re
def number(command):
    found = re.search(r"instruction (\d[\d,]*)\b(, the last)?", gdb.execute(command, False, True))
    return int(found.group(1).replace(",", "")) + bool(found.group(2)) if found else 0
def where():
    try:
        return number("monitor where") or END
    except gdb.error:
        return END
END = int(gdb.parse_and_eval("$etm_count")) + 1
gdb.execute("etm goto end", False, True)
for line in open(%(script)r):
    line = line.strip()
    before = where()
    if before == END and not line.startswith("reverse"):
        continue  # the target would run
    told = ""
    for command in (line, "etm " + line):
        try:
            gdb.execute(command, False, True)
        except gdb.error as error:
            told += str(error)
    print("\n@", line.replace(" ", "_"), before, where(), number("etm where"), "refused" if told else "done")
    gdb.execute("etm goto %%s" %% ("end" if where() == END else where()), False, True)
end
"""


def run(commands: Sequence[str], source: bool = True) -> str:
    """Run GDB beside the demo's sources, without internal errors."""
    # On a busy machine GDB must not ask again: it would take the late answer for that to its next question.
    output = run_gdb(["set remotetimeout 100", *commands], cwd=DEMO, source=source)
    assert "Traceback" not in output and "Fatal signal" not in output, output
    return output


def walk(elf: str, until: Sequence[str], script: Sequence[str], folder: Path) -> List[List[str]]:
    """Play a script with GDB's own commands, and with the plug-in's.

    Both begin at the same instruction.

    :param until: Commands that let the program run to where the script begins.
    :returns: For each command its name, where it began, where GDB and where the plug-in stopped, and if both could.
    """
    typed = folder / "script"
    typed.write_text("".join(line + "\n" for line in script))
    text = folder / "walk"
    text.write_text(_WALK % {"script": str(typed)})
    # Of a capture that is looked at alone the plug-in has a cursor of its own.
    connect = ["etm connect board:m33 --elf %s" % elf, "etm start", *until, "etm captures 1", "etm where"]
    output = run(connect + ["source %s" % text])
    found = [line.split()[1:] for line in output.splitlines() if line.startswith("@ ")]
    assert "Error" not in output, output[-3000:]
    return found


@contextmanager
def pyocd_server(elf: Path = ELF, board: str = "m33") -> Iterator[int]:
    """Run pyOCD's own GDB server on a board, and give its port."""
    command = [sys.executable, "-m", "pyocd", "gdbserver", "-u", "board:" + board, "-t", "cortex_m", "--persist"]
    command += ["-M", "under-reset", "--port", "0", "--telnet-port", "0", "-O", "board.elf=%s" % elf]
    with subprocess.Popen(command, stderr=subprocess.PIPE, universal_newlines=True) as server:
        try:
            assert server.stderr is not None
            for line in server.stderr:
                found = re.search(r"GDB server listening on port (\d+)", line)
                if found:
                    break
            assert found
            yield int(found.group(1))
        finally:
            server.terminate()
