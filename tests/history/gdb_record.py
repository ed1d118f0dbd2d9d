"""GDB's own ``record full`` of a program in QEMU."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import List, NamedTuple, Sequence

import pytest

from tests.gdb_session import gdb_program

_SCRIPT = r"""
set pagination off
set confirm off
set width 0
set record full insn-number-max unlimited
target remote localhost:%(port)d
tbreak *%(first)d
continue
record full
tbreak *%(last)d
continue
python
import gdb, re
def where():
    text = gdb.execute("info record", False, True)
    current = re.search(r"Current instruction number is (\d+)", text)
    highest = int(re.search(r"Highest recorded instruction number is (\d+)", text).group(1))
    return int(current.group(1)) + 1 if current else highest + 1
def stack():
    frame, names = gdb.newest_frame(), []
    while frame is not None:
        names.append("%%s:%%x" %% (frame.name(), frame.pc()))
        frame = frame.older()
    return ",".join(names)
print("\n@", where(), int(gdb.newest_frame().pc()), stack())
for line in open(%(commands)r):
    try:
        gdb.execute(line.strip(), False, True)
    except gdb.error as error:
        print("\n@", 0, 0, "error")
        continue
    print("\n@", where(), int(gdb.newest_frame().pc()), stack())
end
kill
"""


class Stop(NamedTuple):
    """Where GDB stopped; number 0 when it refused the command."""

    # Of the instruction, from 1.
    number: int
    address: int
    # Names of the functions and where they go on, innermost first.
    stack: str


def stops(elf: str, first: int, last: int, commands: Sequence[str]) -> List[Stop]:
    """Record a program in QEMU, run commands, and return GDB's stops.

    :returns: Where GDB is after recording, then after each command.
    """
    qemu, gdb = shutil.which("qemu-system-arm"), shutil.which(gdb_program())
    if qemu is None or gdb is None:
        pytest.skip("no qemu-system-arm, or no gdb-multiarch")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    board = [qemu, "-M", "mps2-an500", "-kernel", elf, "-display", "none", "-serial", "none", "-monitor", "none"]
    with tempfile.TemporaryDirectory() as folder:
        script, typed = Path(folder) / "script", Path(folder) / "commands"
        typed.write_text("".join(command + "\n" for command in commands))
        script.write_text(_SCRIPT % {"port": port, "first": first, "last": last, "commands": str(typed)})
        board += ["-gdb", "tcp:localhost:%d" % port, "-S"]
        with subprocess.Popen(board, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            try:
                _wait_for(port)
                line = [gdb, "-nx", "-q", "-batch", "-x", str(script), elf]
                done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=110, check=False)
            finally:
                running.kill()
    output = done.stdout.decode("utf-8", "replace")
    found = [line.split() for line in output.splitlines() if line.startswith("@ ")]
    assert len(found) == len(commands) + 1, output[-2000:]
    return [Stop(int(number), int(address), stack) for _, number, address, stack in found]


def _wait_for(port: int) -> None:
    # QEMU accepts one client after the other.
    for _ in range(100):
        try:
            socket.create_connection(("localhost", port)).close()
            return
        except OSError:
            time.sleep(0.05)
