"""Child process beside GDB: its command line, pipes and end.

Loaded by GDB's own Python: standard library only, Python 3.8, no threads (a thread in GDB would take its signals).
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Iterator, List, Optional, Sequence

from gdb_etm.access.stream import LineStream
from gdb_etm.errors import ConnectError

_LAST_LINES = 3
_LAST_BYTES = 4096

# Neither the working directory nor GDB's own Python may decide what the process imports: only "sys" is in each
# interpreter itself.
_BOOT = (
    "import sys; sys.path[:] = [sys.argv.pop(1)] + [p for p in sys.path if p]; import importlib; "
    "sys.exit(getattr(importlib.import_module(sys.argv.pop(1)), sys.argv.pop(1))(sys.argv[1:]))"
)
# The module whose ``main`` the process runs.
SERVER = "gdb_etm.access.server"
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


def python_command(python: str, module: str, arguments: Sequence[str], function: str = "main") -> List[str]:
    """Give the command that runs a module of this package.

    :param python: The interpreter.
    :param function: What takes the arguments, and gives the exit status.
    """
    return [python, "-c", _BOOT, _PACKAGE_ROOT, module, function, *arguments]


class ServerProcess:
    """A child process that owns the probe, with its standard error.

    :param python: The interpreter that pyOCD is installed in.
    :param arguments: From :func:`server_arguments`.
    :param module: Whose ``main`` takes them: of this package, and one that ends in that of :data:`SERVER`.
    :raises ConnectError: It cannot be started.
    """

    def __init__(self, python: str, arguments: Sequence[str], module: str) -> None:
        # A file, not a pipe: nobody reads it while all goes well, and a full pipe would stop the process.
        self._errors: BinaryIO = tempfile.TemporaryFile()
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
        try:
            # In a session of its own: Ctrl-C in GDB's terminal is not for it.
            with _interrupt_blocked():
                self.popen = subprocess.Popen(
                    python_command(python, module, ["--stdio", *arguments]),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    bufsize=0,
                    env=environment,
                    start_new_session=True,
                )
        except OSError as error:
            self._errors.close()
            raise ConnectError("cannot start %s: %s" % (python, error.strerror)) from None

    def stream(self) -> LineStream:
        """Return the pipes to and from the process."""
        assert self.popen.stdin is not None and self.popen.stdout is not None
        return LineStream(self.popen.stdout, self.popen.stdin)

    def last_words(self) -> str:
        """Return the last lines of its standard error, for a message.

        They begin with a colon; without any, the text is empty.
        """
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), _LAST_BYTES, max(0, size - _LAST_BYTES)).decode("utf-8", "replace")
        lines = [line.strip() for line in tail.splitlines() if line.strip()][-_LAST_LINES:]
        return ": " + " | ".join(lines) if lines else ""

    def end(self, seconds: float) -> None:
        """Wait for the process and kill it if it is late.

        Its stdin must be closed.
        """
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self._errors.close()


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    # A process begins with its parent's mask: Python would end by an interrupt before it can ignore it.
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def server_arguments(
    probe: Optional[str] = None,
    target: Optional[str] = None,
    frequency: Optional[str] = None,
    connect_mode: Optional[str] = None,
    core: Optional[int] = None,
    options: Sequence[str] = (),
    dap_only: bool = False,
) -> List[str]:
    """Return the command line of the process.

    What is None is left to its defaults.

    :param options: pyOCD session options, each ``NAME=VALUE``.
    :param dap_only: Open no core, and serve no GDB.
    """
    named = (("probe", probe), ("target", target), ("frequency", frequency), ("connect-mode", connect_mode))
    result = ["--%s=%s" % (name, value) for name, value in named if value is not None]
    if core is not None:
        result.append("--core=%d" % core)
    if dap_only:
        result.append("--dap-only")
    return result + ["-O%s" % option for option in options]
