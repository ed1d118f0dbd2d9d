"""Starts the process beside GDB on the simulated board."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Set

from gdb_etm.access.client import Client, start
from gdb_etm.access.process import server_arguments

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
CPUID = 0xE000ED00
RAM = 0x20000000
# RAM that the demo does not use.
SPARE = 0x20060000
# Seconds until a test gives up; nothing is asserted about time.
PATIENCE = 20.0


class ByHand(NamedTuple):
    """A running ``gdb-etm serve``."""

    process: "subprocess.Popen[str]"
    gdb_port: int
    control_port: int


# Address of the handler in :func:`write_forever`'s program.
FOREVER_TICK = 0x60


def write_forever(path: Path) -> Path:
    """Write an ELF file whose program counts for ever.

    SysTick fires every 2000 cycles.
    """
    vectors = [0x20010000, 0x41, *[FOREVER_TICK | 1] * 14]
    # ldr r0,=SYST_CSR; ldr r1,=2000; str r1,[r0,#4]; str r1,[r0,#8]; movs r2,#7; str r2,[r0]; 1: adds r3,#1; b 1b
    code = struct.pack("<8H2I", 0x4803, 0x4904, 0x6041, 0x6081, 0x2207, 0x6002, 0x3301, 0xE7FD, 0xE000E010, 2000)
    handler = struct.pack("<2H", 0x3401, 0x4770)  # adds r4,#1; bx lr
    image = (struct.pack("<16I", *vectors) + code).ljust(FOREVER_TICK, b"\0") + handler
    ident = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    header = ident + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0x41, 52, 0, 0x05000000, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, 84, 0, 0, len(image), len(image), 5, 4)
    path.write_bytes(header + segment + image)
    return path


def start_board(elf: Path, *options: str) -> Client:
    """Start the process beside GDB, with a program in the board's flash."""
    return start(sys.executable, server_arguments(probe="board:m33", options=("board.elf=%s" % elf, *options)))


def serve_by_hand(*arguments: str) -> ByHand:
    """Run ``gdb-etm serve`` on free ports; wait until it serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gdb_etm.access.server", "--probe=board:m33", "--control-port=0", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    lines = process.stdout.readline() + process.stdout.readline()
    ports = re.findall(r"localhost:(\d+)", lines)
    assert len(ports) == 2, lines + process.stderr.read()
    return ByHand(process, int(ports[0]), int(ports[1]))


def run_server(text: bytes, *arguments: str) -> List[Dict[str, Any]]:
    """Run the process on an input; return its output lines, parsed."""
    finished = subprocess.run(
        [sys.executable, "-m", "gdb_etm.access.server", "--stdio", *arguments],
        input=text,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
    )
    return [json.loads(line) for line in finished.stdout.splitlines()]


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def wait_until(condition: Callable[[], bool]) -> bool:
    """Wait until something holds; return whether it came to hold."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def _socket_inodes(pid: int) -> Set[str]:
    inodes = set()
    for entry in os.listdir("/proc/%d/fd" % pid):
        try:
            link = os.readlink("/proc/%d/fd/%s" % (pid, entry))
        except OSError:
            continue
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    return inodes


def listening_ports(pid: int) -> Dict[int, str]:
    """Return a process's listening TCP ports and their addresses (Linux)."""
    inodes = _socket_inodes(pid)
    ports = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address, port = fields[1].split(":")
                ports[int(port, 16)] = address
    return ports


def listening_sockets(pid: int) -> List[str]:
    """Return the paths of a process's listening sockets (Linux)."""
    inodes = _socket_inodes(pid)
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return [row[7] for row in rows if len(row) > 7 and row[6] in inodes and int(row[3], 16) & 1 << 16]
