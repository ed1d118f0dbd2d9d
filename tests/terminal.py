"""A program on a terminal of its own, as at a keyboard."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Dict, List, Optional, Sequence, Type

SECONDS = 120


class Terminal:
    """Runs a program on its own controlling terminal.

    So Ctrl-C is a signal.

    :param arguments: The program and its arguments.
    :param environment: The program's whole environment.
    :param cwd: Its working directory.
    """

    def __init__(self, arguments: Sequence[str], environment: Dict[str, str], cwd: Path) -> None:
        self.pid, self._master = pty.fork()
        if not self.pid:
            try:
                os.chdir(str(cwd))
                os.execvpe(arguments[0], list(arguments), environment)
            finally:
                os._exit(127)
        # Everything that it has written.
        self.seen = ""
        self._status: Optional[int] = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._master)

    def resize(self, columns: int, lines: int) -> None:
        """Give it a size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def type(self, text: str) -> None:
        """Press keys: a line ends in a newline, Ctrl-C is ``"\\x03"``."""
        os.write(self._master, text.encode())

    def wait(self, text: str, after: int = 0) -> int:
        """Wait until it has written ``text``.

        :param after: Where in :attr:`seen` to look from.
        :returns: Where in :attr:`seen` it ends.
        """
        deadline = time.monotonic() + SECONDS
        while text not in self.seen[after:]:
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "no %r in %r" % (text, self.seen[after:])
            assert self._read(), "ended without %r: %r" % (text, self.seen[after:])
        return self.seen.index(text, after) + len(text)

    def end(self) -> int:
        """Wait until it ends by itself; give its exit status."""
        while self._read():
            pass
        _, status = os.waitpid(self.pid, 0)
        self._status = status
        assert os.WIFEXITED(status), status
        return os.WEXITSTATUS(status)

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return False  # the other end of the terminal is closed
        self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


def children(pid: int) -> List[int]:
    """List the processes that a process has started and not waited for."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


def are_gone(pids: Sequence[int]) -> bool:
    """Tell whether processes have ended, after waiting for that a while."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not any(Path("/proc/%d" % pid).exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False
