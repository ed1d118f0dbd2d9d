"""Real GDB, real pyOCD: trace hardware alone, and the board's truth.

The core runs by itself, or another server controls it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Sequence

import pytest

from tests.access.processes import write_forever
from tests.gdb_session import ROOT, run_gdb

ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_LINE = re.compile(r"(\d+) +0x([0-9a-f]{8}) ")
PAUSE = "python import time; time.sleep(0.3)"
CPUID_OF_M7 = 0x411FC272
READ = "output *(unsigned *) 0xe000ed00"


def run(commands: Sequence[str]) -> str:
    output = run_gdb(commands)
    assert "Traceback" not in output and "Python Exception" not in output and "Fatal signal" not in output, output
    return output


def addresses(output: str) -> List[int]:
    found: Dict[int, int] = {int(m[1]): int(m[2], 16) for m in map(_LINE.match, output.splitlines()) if m}
    assert list(found) == list(range(1, len(found) + 1))
    return list(found.values())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Whatever server has the core of another board: pyOCD's own; its address."""
    command = [sys.executable, "-m", "pyocd", "gdbserver", "-u", "board:m7", "-t", "cortex_m", "--persist"]
    command += ["-M", "under-reset", "--port", "0", "--telnet-port", "0", "-O", "board.elf=%s" % ELF]
    with subprocess.Popen(command, stderr=subprocess.PIPE, universal_newlines=True) as server:
        try:
            assert server.stderr is not None
            ports = (re.search(r"GDB server listening on port (\d+)", line) for line in server.stderr)
            found = next(port for port in ports if port)
            yield "localhost:" + found[1]
        finally:
            server.terminate()


def test_a_core_that_runs_by_itself(tmp_path: Path) -> None:
    """Each stop gives a capture, a part of the truth."""
    forever, truth = write_forever(tmp_path / "forever.elf"), tmp_path / "truth"
    output = run(
        [
            "etm connect board:m33 --dap-only --elf %s --truth %s --etb-size 512" % (forever, truth),
            "etm start",
            PAUSE,
            "etm stop",
            "etm history 1,1000000",
            "echo >>>\\n",
            "etm start",
            PAUSE,
            "etm stop",
            "etm captures 2",
            "etm history 1,1000000",
            "etm disconnect",
            "etm captures",
        ]
    )
    lines = output.splitlines()
    assert re.match(r"pyOCD [\d.]+, .*board m33: access ports only: AHB-AP 0$", lines[0])
    assert lines[1].startswith("Trace: ETMv4.2 at 0xe0041000 -> ")
    ran = [int(line, 16) for line in truth.read_text().splitlines() if line.startswith("0x")]
    text = " ".join("%x" % address for address in ran)
    for part in output.split(">>>\n"):
        history = addresses(part)
        assert len(history) > 1000
        assert " ".join("%x" % address for address in history) in text
    assert "The program is not being run." not in output and "not compared" not in output
    assert "disconnected from " in output and "etm stop" in output


def test_gdb_stays_where_it_is(served: str, tmp_path: Path) -> None:
    """GDB keeps its connection to another core."""
    forever = write_forever(tmp_path / "forever.elf")
    output = run(
        [
            "target extended-remote " + served,
            READ,
            "etm connect board:m33 --dap-only --option board.elf=%s" % forever,
            "etm start",
            READ,
            "stepi",
            "stepi",
            "etm captures",
            "etm stop",
            "etm disconnect",
            READ,
            "info inferiors",
        ]
    )
    assert output.count(str(CPUID_OF_M7)) == 3 and "Cortex-M33" not in output
    assert re.search(r"1 +Remote target +1 \(extended-remote %s\)" % served, output)
    # GDB's halts are halts, whoever's core it is.
    assert re.search(r"\n\* 2 +[\d,]+ bytes .* halt in 0x0000004a\n", output)


def test_its_own_server_would_take_gdbs_connection(served: str) -> None:
    output = run(["target extended-remote " + served, "etm connect board:m33"])
    assert 'GDB is connected to extended-remote %s: "disconnect" first, or "etm connect target"' % served in output


def test_where_nothing_halted_the_core_the_capture_ends(tmp_path: Path) -> None:
    forever = write_forever(tmp_path / "forever.elf")
    output = run(
        [
            "etm connect board:m33 --dap-only --elf %s --etb-size 512" % forever,
            "etm start",
            PAUSE,
            "etm stop",
            "etm goto -2",
            "etm continue",
        ]
    )
    assert "[the capture ends here]" in output and "the live end" not in output
