"""Real GDB session: QEMU's GDB server, with a snapshot's history."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.program.image import Program, load_elf
from gdb_etm.protocols.etmv4.encode.config import EncoderConfig
from gdb_etm.protocols.etmv4.encode.encoder import Encoder
from gdb_etm.snapshot.writer import write_snapshot
from tests.firmware.an505.build import SORT as SORT_AN505
from tests.firmware.build import elf, symbol
from tests.qemu import CORTEX_M7, CORTEX_M33, executed
from tests.replay.boards import PROXY, run

SORT = elf("sort")


@contextmanager
def qemu(machine: Sequence[str], kernel: str) -> Iterator[int]:
    """Run QEMU's GDB server, halted at the start; return its port."""
    program = shutil.which("qemu-system-arm")
    if program is None:
        pytest.skip("no qemu-system-arm")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = int(free.getsockname()[1])
    board = [program, "-M", *machine, "-kernel", kernel, "-display", "none", "-serial", "none", "-monitor", "none"]
    with subprocess.Popen([*board, "-gdb", "tcp:localhost:%d" % port, "-S"], stdin=subprocess.DEVNULL) as running:
        for _ in range(100):
            try:
                socket.create_connection(("localhost", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port
        running.kill()


def save_trace(folder: Path) -> None:
    """Write the trace that AN505's unit would give of QEMU's run."""
    end = symbol(SORT_AN505, "finished")
    images = tuple(load_elf(SORT_AN505))
    memory = Program(images)
    trace = bytearray()
    encoder = Encoder(EncoderConfig(return_stack=True), lambda address: memory.read(address, 4), trace.extend)
    encoder.enable()
    encoder.instructions(executed(SORT_AN505, end, machine=CORTEX_M33)[:-1])
    encoder.debug_halt(end)
    registers = {"TRCIDR0": 0x1E1, "TRCIDR1": 0x4100F421, "TRCIDR2": 4, "TRCIDR8": 0}
    registers.update({"TRCCONFIGR": 0x1001, "TRCTRACEIDR": 0x10, "TRCAUTHSTATUS": 0xFF, "TRCDEVARCH": 0x47724A13})
    source = TraceSource("ETM_0", "etmv4", registers, Core("cpu_0", "Cortex-M33", {}), images)
    write_snapshot(RawCapture(bytes(trace), BufferFormat.RAW, (source,), BufferEnd.STARTED), str(folder))


def walk(port: int, program: str, folder: Path) -> str:
    """Go back and forth through the program's end, then continue live."""
    target = "%s --server localhost:%d --elf %s --snapshot %s" % (PROXY, port, program, folder)
    return run(
        ["file %s" % program, target, "tbreak finished", "continue", "reverse-step", "reverse-step", "backtrace"]
        + ["monitor where", "reverse-finish", "next", "continue", "info registers pc", "kill"],
        source=False,
    )


def check(output: str) -> None:
    """Hold a walk against what happens."""
    assert "Temporary breakpoint 1, finished ()" in output
    assert re.search(r"^instruction [\d,]+ of [\d,]+$", output, re.M), output
    assert "etm: [the live end: here the target is halted; the next command runs it]" in output
    live = output[output.index("the next command runs it") :]
    assert re.search(r"^pc +0x[0-9a-f]+ +0x[0-9a-f]+ <finished", live, re.M), output


def test_qemu_need_not_know(tmp_path: Path) -> None:
    folder = tmp_path / "sorted"
    run(
        ["etm connect board:m33 --etb-size 512 --elf %s" % SORT, "etm start", "tbreak finished", "continue"]
        + ["etm save %s" % folder]
    )
    with qemu(CORTEX_M7, SORT) as port:
        check(walk(port, SORT, folder))


def test_a_cortex_m33_in_qemu(tmp_path: Path) -> None:
    save_trace(tmp_path / "sorted")
    with qemu(CORTEX_M33, SORT_AN505) as port:
        output = walk(port, SORT_AN505, tmp_path / "sorted")
    check(output)
    assert "instruction 36,3" in output
