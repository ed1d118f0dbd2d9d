"""OpenOCD on a simulated board: two processes, as people run them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Iterator, List, NamedTuple, Sequence

import pytest

_SECONDS = 60
_NO_PORTS = "gdb_port 0; telnet_port disabled; tcl_port disabled"


class OpenOcd(NamedTuple):
    """A running OpenOCD."""

    # Where GDB connects.
    port: int
    # What it has said so far.
    said: List[str]


def openocd_program() -> str:
    """Name the program; the test is skipped where there is none."""
    program = shutil.which("openocd")
    if program is None:
        pytest.skip("no openocd; scripts/setup installs it")
    return program


@contextmanager
def board_with_pins(folder: Path, name: str, *arguments: str) -> Iterator[Path]:
    """Give a board power, and give OpenOCD's configuration of it.

    :param arguments: More arguments of ``gdb-etm board``.
    """
    config = folder / ("%s.cfg" % name)
    command = [sys.executable, "-m", "gdb_etm", "board", name, "--config", str(config), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True) as board:
        try:
            assert board.stdout is not None
            assert board.stdout.readline().startswith("simulated board %s: " % name)
            assert str(config) in board.stdout.readline()
            yield config
        finally:
            board.terminate()


def run_openocd(config: Path, *commands: str) -> str:
    """Run OpenOCD's commands, and give all that it says.

    :param commands: What comes after ``init``.
    """
    script = "; ".join([_NO_PORTS, "init", *commands, "shutdown"])
    done = subprocess.run(
        [openocd_program(), "-f", str(config), "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=_SECONDS,
        check=False,
    )
    return done.stdout


@contextmanager
def openocd(config: Path, *commands: str, before: str = "") -> Iterator[OpenOcd]:
    """Run OpenOCD as a server for GDB.

    :param commands: What comes after ``init``.
    :param before: What comes before it.
    """
    script = "; ".join([_NO_PORTS, *([before] if before else []), "init", *commands])
    command = [openocd_program(), "-f", str(config), "-c", script]
    with subprocess.Popen(command, stderr=subprocess.PIPE, universal_newlines=True) as server:
        said: List[str] = []
        try:
            assert server.stderr is not None
            yield OpenOcd(_port(server.stderr, said), said)
        finally:
            server.terminate()


def _port(lines: IO[str], said: List[str]) -> int:
    for line in lines:
        said.append(line)
        found = re.search(r"Listening on port (\d+) for gdb connections", line)
        if found:
            # Nobody may wait for a pipe that is full.
            threading.Thread(target=_keep, args=(lines, said), daemon=True).start()
            return int(found[1])
    raise AssertionError("OpenOCD serves no GDB: " + "".join(said))


def _keep(lines: IO[str], said: List[str]) -> None:
    try:
        said.extend(lines)
    except ValueError:
        pass  # closed meanwhile


def connect_commands(server: OpenOcd, elf: Path) -> Sequence[str]:
    """Return GDB's commands that connect, and reset the core."""
    return ["file %s" % elf, "target extended-remote localhost:%d" % server.port, "monitor reset halt"]
