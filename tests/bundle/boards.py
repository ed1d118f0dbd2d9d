"""A bundle of each board, made by the commands that users type."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from gdb_etm.api.session import Session
from gdb_etm.api.target import ScriptDebugger
from gdb_etm.bundle.archive import read_bundle
from gdb_etm.bundle.repeat import Repetition
from gdb_etm.errors import EtmError
from gdb_etm.session.connecting import ConnectRequest, connect
from gdb_etm.session.session import DebugSession
from tests.access.processes import DEMO, ROOT
from tests.firmware.cortex_a.build import elf as cortex_a

SECONDS = 60.0
PROGRAMS: Dict[str, str] = {
    "m33": str(DEMO),
    "m7": str(DEMO),
    "m4": str(ROOT / "tests/firmware/cortex_m4/interrupts.elf"),
    "a9": cortex_a("sort-t32"),
}


@contextmanager
def session_on(board: str, faults: str = "", **more: Any) -> Iterator[Session]:
    """Give a session that stays when connecting fails, as in GDB.

    :param faults: What is wrong with the board.
    :param more: Of the request.
    """
    debugger = ScriptDebugger()
    session = DebugSession(debugger)
    session.settings["reverse"] = "off"
    alone = board == "a9"
    options = (["board.faults=" + faults] if faults else []) + (["board.hold=1"] if alone else [])
    chosen: Dict[str, Any] = {
        "elf": (PROGRAMS.get(board, PROGRAMS["m33"]),),
        "dap_only": alone,
        "option": tuple(options),
        **more,
    }
    api = Session(session, debugger)
    with suppress(EtmError):
        list(connect(session, ConnectRequest("board:" + board, **chosen)))
    try:
        yield api
    finally:
        with suppress(EtmError):
            api.close()  # a probe that is lost is no news


def run(session: Session, board: str) -> None:
    """Trace the board's program to its end."""
    session.command("start")
    if board == "a9":
        time.sleep(1.0)
        session.command("stop")
    else:
        session.run(SECONDS)


def bundle(session: Session, folder: Path, words: str = "") -> Tuple[str, List[str]]:
    """Make a bundle.

    :param words: More words of the command.
    :returns: Its path, and what was printed.
    """
    path = str(folder / "board.etmb")
    return path, session.command("doctor --bundle %s -f %s" % (path, words))


def repeated(path: str, *files: str) -> Tuple[Repetition, List[str]]:
    """Repeat a bundle, and give what it says."""
    repetition = Repetition(read_bundle(path), files)
    return repetition, list(repetition.lines())
