"""Real GDB session: QEMU's own GDB server behind the proxy, with the history of the same program from a snapshot."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Iterator

import pytest

from tests.firmware.build import elf
from tests.qemu import CORTEX_M7
from tests.replay.boards import PROXY, run

SORT = elf("sort")


@pytest.fixture(name="qemu")
def fixture_qemu() -> Iterator[int]:
    """The port of QEMU's GDB server, its core halted at its first instruction."""
    program = shutil.which("qemu-system-arm")
    if program is None:
        pytest.skip("no qemu-system-arm")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = int(free.getsockname()[1])
    board = [program, "-M", *CORTEX_M7, "-kernel", SORT, "-display", "none", "-serial", "none", "-monitor", "none"]
    with subprocess.Popen([*board, "-gdb", "tcp:localhost:%d" % port, "-S"], stdin=subprocess.DEVNULL) as running:
        for _ in range(100):
            try:
                socket.create_connection(("localhost", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port
        running.kill()


def test_qemu_need_not_know(qemu: int, tmp_path: Path) -> None:
    folder = tmp_path / "sorted"
    run(
        ["etm connect board:m33 --etb-size 512 --elf %s" % SORT, "etm start", "tbreak finished", "continue"]
        + ["etm save %s" % folder]
    )
    target = "%s --server localhost:%d --elf %s --snapshot %s" % (PROXY, qemu, SORT, folder)
    output = run(
        ["file %s" % SORT, target, "tbreak finished", "continue", "reverse-step", "reverse-step", "backtrace"]
        + ["monitor where", "reverse-finish", "next", "continue", "info registers pc", "kill"],
        source=False,
    )
    assert "Temporary breakpoint 1, finished ()" in output
    assert re.search(r"^instruction [\d,]+ of [\d,]+$", output, re.M), output
    assert "etm: [the live end: here the target is halted; the next command runs it]" in output
    live = output[output.index("the next command runs it") :]
    assert re.search(r"^pc +0x[0-9a-f]+ +0x[0-9a-f]+ <finished", live, re.M), output
