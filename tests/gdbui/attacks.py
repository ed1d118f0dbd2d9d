"""Real GDB sessions with failing probes and signals."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, Sequence, Tuple

from tests.access.processes import DEMO, wait_until
from tests.firmware.cortex_a.build import elf as cortex_a_elf
from tests.gdb_session import SCRIPT, gdb_program

SECONDS = 100
FAULTS = ("unplug-after", "stuck", "usb-error", "short-read", "hang")
PHASES = ("connect", "start", "run", "drain", "decode", "reverse", "save", "disconnect")
SIGNALS = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}
WRONG = ("Traceback", "Python Exception", "internal-error")
ENDED = "the process beside GDB ended"
# So it crashes by itself when its connection ends while it prints where the program is halted.
_GDB_13 = "inferior_thread: Assertion"
_ALL_IS_WELL = "disconnected from"
# Whether there is a program to continue, and a history.
_RUNS = "gdb_etm.current().captures and gdb.selected_thread()"
_TOLD = re.compile(
    r"the debug probe|debug probe board:|board:\w+ |the target was found, then|no answer in time"
    r"|cannot read the core's state"
)


class Session:
    """GDB on a board, with its own program and folder.

    :param connect: The command that connects, without the program.
    """

    def __init__(self, folder: Path, connect: str, program: Path, commands: Sequence[Tuple[str, str]]) -> None:
        self._elf = folder / "program.elf"
        shutil.copy(str(program), str(self._elf))
        line = [gdb_program(), "-nx", "-q", "-batch", "-ex", "set width 0", "-ex", "source %s" % SCRIPT]
        for phase, command in (("connect", "%s --elf %s" % (connect, self._elf)), *commands):
            line += ["-ex", "echo >>> %s\\n" % phase, "-ex", command]
        environment = dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb", HOME="/nonexistent")
        self.gdb = subprocess.Popen(
            line,
            cwd=str(folder),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
        )

    def end(self) -> str:
        """Wait for GDB and its process; return the remaining output."""
        output, _ = self.gdb.communicate(timeout=SECONDS)
        assert wait_until(lambda: not self.beside), output
        return output

    def wait_for(self, phase: str) -> str:
        """Read until a phase begins."""
        seen: List[str] = []
        for text in self.gdb.stdout or ():
            seen.append(text)
            if text == ">>> %s\n" % phase:
                break
        return "".join(seen)

    @property
    def beside(self) -> List[int]:
        """The processes beside GDB that have the program."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except OSError:
                continue
            if b"--stdio" in words and str(self._elf).encode() in words:
                found.append(int(path.parent.name))
        return found


@contextmanager
def session(connect: str, program: Path, commands: Sequence[Tuple[str, str]]) -> Iterator[Session]:
    """Run a session; kill it after its time limit."""
    with tempfile.TemporaryDirectory() as folder:
        opened = Session(Path(folder), connect, program, commands)
        try:
            yield opened
        finally:
            opened.gdb.kill()
            opened.gdb.wait()


def check_probe_fault(board: str, fault: str, after: int, in_drain: bool) -> None:
    """After a probe fault GDB reports it and ends normally.

    :param after: Transfers, or words of the trace buffer, until it fails.
    """
    faults = "%s:%d%s" % (fault, after, ",in-drain" if in_drain and fault != "hang" else "")
    connect = "etm connect board:%s --option board.faults=%s" % (board, faults)
    run: Tuple[str, ...] = (
        "etm start",
        "tbreak crc16",
        "continue",
        "etm history -2",
        "reverse-stepi",
        "x/2x $sp",
        "continue",
        "tbreak HardFault_Handler",
        "continue",
        "stepi",
    )
    program = DEMO
    if board == "a9":
        connect += " --dap-only --option board.hold=1"
        run = ("etm start", "python import time; time.sleep(0.3)", "etm stop", "etm history -2", "etm start")
        program = Path(cortex_a_elf("sort-t32"))
    commands = [("run", command) for command in (*run, "etm status", "etm disconnect")]
    with session(connect, program, commands) as opened:
        output = opened.end()
    assert not any(word in output for word in WRONG), output
    assert output.count("this connection is closed") <= 1, output
    assert _ALL_IS_WELL in output or _TOLD.search(output), output


def check_signal(phase: str, name: str, beside: bool, delay: float) -> None:
    """After a signal in some phase nothing is left running.

    :param name: One of :data:`SIGNALS`.
    :param beside: Whether it is for the process beside GDB.
    :param delay: Seconds from the beginning of the phase.
    """
    commands = [
        ("start", "etm start"),
        ("run", "tbreak HardFault_Handler"),
        ("run", "continue"),
        ("drain", "etm status"),
        ("decode", "etm history -2"),
        ("reverse", "reverse-stepi"),
        ("reverse", "reverse-continue"),
        # Without a history this is no past: the program would run for ever.
        ("reverse", "python import gdb_etm; %s and gdb.execute('continue')" % _RUNS),
        ("save", "etm save saved"),
        ("disconnect", "etm disconnect"),
    ]
    before = "run" if phase == "drain" else phase
    with session("etm connect board:m33", DEMO, commands) as opened:
        output = opened.wait_for(before)
        if phase == "drain":
            output += opened.wait_for(before)
        time.sleep(delay)
        for pid in opened.beside if beside else [opened.gdb.pid]:
            os.kill(pid, SIGNALS[name])
        output += opened.end()
        status = opened.gdb.returncode
    if name == "kill" and beside and _GDB_13 in output:
        return
    assert not any(word in output for word in WRONG), output
    if name == "kill" and not beside:
        assert status == -signal.SIGKILL or _ALL_IS_WELL in output, output
    elif name == "kill":
        assert ENDED in output or _ALL_IS_WELL in output or phase == "connect", output
    elif beside:
        assert _ALL_IS_WELL in output, output
