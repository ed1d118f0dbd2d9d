"""Real GDB and real pyOCD: the refused ``monitor`` commands.

The tricks go to the server as GDB sends them; each would leave a file behind.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Iterator

import pytest
from pyocd.commands.execution_context import CommandExecutionContext

from gdb_etm.access.client import Client
from gdb_etm.replay.ends import ServerLink
from gdb_etm.replay.wires import Wire, over_socket
from tests.access.processes import start_board, write_forever
from tests.replay.boards import ELF, run
from tests.sockets.visitors import come_in

MARK = "mark"
SHELL = [
    *("!touch mark", "! touch mark", "  !  touch mark", "\t!touch mark", "\xa0!touch mark", "!touch mark\0"),
    *("halt; ! 'touch mark'", "halt;! touch\\ mark", ";! 'touch mark'", ';"!" "touch mark"', "help;!'touch mark'"),
    *("!!touch mark", "$!touch mark", "'!' touch mark", "'' !touch mark", "\\! touch mark", "halt\n!touch mark"),
]
PYTHON = [
    *("$open('mark','w')", "$ open('mark','w')", " $\topen('mark','w')", "$__import__('os').system('touch mark')"),
    *("halt; $ \"open('mark','w')\"", ";$ \"open('mark','w')\"", "$$open('mark','w')"),
]
FILES = ["savemem 0 4 mark", "savem 0 4 mark", "SAVEMEM 0 4 mark", "halt; save 0 4 mark", "halt;SaveM 0 4 'mark'"]
REFUSED = {
    "!id": '"!" is refused: it runs a shell; in GDB: shell',
    "$1": '"$" is refused: it runs Python; in GDB: python',
    "save 0 4 x": '"savemem" is refused: it writes a file; in GDB: dump binary memory FILE START STOP',
    "loadmem 0 x": '"loadmem" is refused: it reads a file; in GDB: restore FILE binary ADDRESS',
    "load x": '"load" is refused: it reads a file; in GDB: load FILE',
    "cmp 0 x": '"compare" is refused: it reads a file; in GDB: compare-sections',
    "compare 0 x": '"compare" is refused: it reads a file; in GDB: compare-sections',
    "gdbserver start": '"gdbserver" is refused: it opens a port that is not guarded',
    "probes start": '"probeserver" is refused: it opens a port that is not guarded',
}


@pytest.fixture(scope="module", name="client")
def fixture_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A process beside GDB, in a folder of its own."""
    folder = tmp_path_factory.mktemp("monitor")
    before = os.getcwd()
    os.chdir(folder)
    try:
        started = start_board(write_forever(folder / "forever.elf"))
    finally:
        os.chdir(before)
    yield started
    started.close()


@pytest.fixture(scope="module", name="link")
def fixture_link(client: Client) -> Iterator[ServerLink]:
    """GDB's place at its server."""
    wire: Wire = over_socket(come_in(client.hello.gdb_server))
    yield ServerLink(wire, "pyOCD")
    wire.close()


def folder_of(client: Client) -> Path:
    return Path("/proc/%s/cwd" % client.process_id).resolve()


def monitor(link: ServerLink, line: str, upper: bool = False) -> str:
    """Have the server carry out a command, and give what it prints."""
    text = line.encode("utf-8").hex()
    return bytes.fromhex(link.ask(b"qRcmd," + (text.upper() if upper else text).encode()).decode()).decode()


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("line", SHELL + PYTHON + FILES)
def test_a_trick_leaves_nothing_behind(client: Client, link: ServerLink, line: str, upper: bool) -> None:
    before = sorted(folder_of(client).iterdir())
    output = monitor(link, line, upper)
    assert sorted(folder_of(client).iterdir()) == before, output
    assert "refused" in output or "rror" in output, output


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_refused_says_what_gdb_has_for_it(link: ServerLink, line: str) -> None:
    assert monitor(link, line) == "Error: %s\n" % REFUSED[line]


def test_what_concerns_the_target_is_done(link: ServerLink) -> None:
    assert "halted" in monitor(link, "halt; status").lower()
    assert "20000000:" in monitor(link, "read32 0x20000000 4").lower()


def test_in_gdb_a_shell_is_gdbs_own(tmp_path: Path) -> None:
    mark = tmp_path / MARK
    output = run(["etm connect board:m33 --elf %s" % ELF, "monitor !touch %s" % mark, "monitor reset halt"])
    assert REFUSED["!id"] in output and "halted" in output and not mark.exists()


def test_pyocd_has_what_is_overridden() -> None:
    for name in ("handle_python", "handle_system", "execute_command"):
        assert list(inspect.signature(getattr(CommandExecutionContext, name)).parameters) == ["self", "invocation"]
