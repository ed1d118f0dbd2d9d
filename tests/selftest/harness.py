"""The self test on a board through pyOCD's access port, without GDB."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import Any, Callable, Iterator, List

from pyocd.core.session import Session
from pyocd.probe.aggregator import DebugProbeAggregator

from gdb_etm.access.pyocd_port import PyocdPort
from gdb_etm.board.board import Board
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.topology import Choice
from gdb_etm.errors import EtmError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.selftest.findings import StepFinding
from gdb_etm.session.opening import over_port
from gdb_etm.session.selftesting import selftest
from gdb_etm.session.session import DebugSession

# Reads of a register until a wait for it is over: a board needs two.
_READS = 8


class BoardAtHand:
    """A board, and a session that is connected to it.

    :param session: pyOCD's session.
    """

    def __init__(self, session: Session) -> None:
        self.board: Board = session.probe.etm_wire.powered
        self.port = PyocdPort(session.target.aps[0])
        self.session = DebugSession(OfflineDebugger())

    def connect(self) -> None:
        """Find trace unit and buffer, if they can be found."""
        connection = self.session.connection = over_port(self.port)
        try:
            connection.find(Choice())
        except EtmError:
            return
        trace: Any = connection.trace
        trace.unit._deadline = trace.sink._deadline = Deadline(_READS, count().__next__)

    def findings(self) -> List[StepFinding]:
        """Run the self test."""
        return list(selftest(self.session))


@contextmanager
def board_at_hand(
    name: str, plant: Callable[[Board], None] = lambda board: None, **options: Any
) -> Iterator[BoardAtHand]:
    """Switch a board on, with blank flash, and connect.

    :param name: Which board.
    :param plant: Called with the board before anybody looks for its trace hardware.
    """
    (probe,) = DebugProbeAggregator.get_all_connected_probes(unique_id="board:" + name)
    settings = {"connect_mode": "under-reset", "warning.cortex_m_default": False}
    settings.update({"board." + key: value for key, value in options.items()})
    with Session(probe, options=settings) as session:
        hand = BoardAtHand(session)
        plant(hand.board)
        hand.connect()
        yield hand
