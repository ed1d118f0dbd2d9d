"""Real pyOCD on the board, for tests of the trace session."""

from __future__ import annotations

import time
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from pyocd.core.session import Session
from pyocd.core.target import Target
from pyocd.probe.aggregator import DebugProbeAggregator

from gdb_etm.access.pyocd_port import PyocdPort
from gdb_etm.capture import Core
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.romtable import Discovery, Space, discover
from gdb_etm.coresight.topology import find_path
from gdb_etm.traceunit.session import TraceSession

# RAM that the programs do not use.
SPARE = 0x20060000
CORE = Core("cpu_0", "Cortex-M33", {})


class Live:
    """An open session on the board, halted at the first instruction.

    :param session: The pyOCD session.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.core: Target = session.target.cores[0]
        self.port = PyocdPort(session.target.aps[0])

    @property
    def transfers(self) -> int:
        """Number of transfers on the wire so far."""
        return int(self.session.probe.etm_wire.transfers)

    def discover(self) -> Discovery:
        """Walk the ROM table."""
        return discover(Space(self.port, self.session.target.aps[0].rom_addr))

    def trace_session(self, **deadline: Any) -> TraceSession:
        """Attach a trace session."""
        session = TraceSession(find_path(self.discover().components), CORE, Deadline(**deadline))
        session.attach()
        return session

    def run_endless_calls(self) -> None:
        """Make the next run endless: calls through two registers."""
        # 1: blx r4; blx r5; b 1b; nop; r4: bx lr; r5: bx lr
        for address, word in ((SPARE, 0x47A847A0), (SPARE + 4, 0xBF00E7FC), (SPARE + 8, 0x47704770)):
            self.port.write32(address, word)
        for name, value in (("r4", SPARE + 9), ("r5", SPARE + 11), ("pc", SPARE)):
            self.core.write_core_register(name, value)

    def fill(self, session: TraceSession) -> None:
        """Run endless calls until the trace buffer has wrapped."""
        self.run_endless_calls()
        self.core.resume()
        while not session.status().sink.wrapped:
            time.sleep(0.01)
        self.core.halt()

    def run_for(self, seconds: float) -> None:
        """Let the program run for a while, and halt it."""
        self.core.resume()
        time.sleep(seconds)
        self.core.halt()

    def registers(self, *blocks: Tuple[int, int]) -> Dict[int, int]:
        """Read blocks of registers: (address, words)."""
        return {
            first + 4 * n: value
            for first, words in blocks
            for n, value in enumerate(self.port.read_block(first, words))
        }


@pytest.fixture(name="boards")
def fixture_boards() -> Iterator[Any]:
    """Open sessions with a program in flash; close them at the end."""
    sessions: List[Session] = []

    def open_board(elf: str, name: str = "m33", **options: Any) -> Live:
        (probe,) = DebugProbeAggregator.get_all_connected_probes(unique_id="board:" + name)
        settings = {"connect_mode": "halt", "warning.cortex_m_default": False, "board.elf": elf}
        settings.update({"board." + name: value for name, value in options.items()})
        session = Session(probe, options=settings)
        sessions.append(session)
        session.open()
        live = Live(session)
        live.core.reset_and_halt()
        return live

    yield open_board
    for session in sessions:
        session.close()
