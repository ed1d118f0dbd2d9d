"""The self test on a board through pyOCD's access port, without GDB."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import Any, Callable, Iterator, List

from pyocd.core.session import Session
from pyocd.probe.aggregator import DebugProbeAggregator

from gdb_etm.access.pyocd_port import PyocdPort
from gdb_etm.board.board import Board
from gdb_etm.board.cortex_a_board import CORE_DEBUG
from gdb_etm.coresight.core_debug import CoreDebugDriver
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.romtable import Space
from gdb_etm.coresight.topology import Choice
from gdb_etm.errors import EtmError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.selftest.core import HaltedCore
from gdb_etm.selftest.core_a import HaltedCoreA
from gdb_etm.selftest.findings import StepFinding
from gdb_etm.selftest.tested import TestedCore
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.opening import over_port
from gdb_etm.session.selftesting import selftest
from gdb_etm.session.session import DebugSession

# Boards that pyOCD reaches by access ports alone; which of their RAM holds the program, and their ROM table.
CORTEX_A = ("a9", "zynq7000")
_RAM, _APB_TABLE = 0x20000000, 0x80000000
# Reads of a register until a wait for it is over: a board needs two.
_READS = 8


class BoardAtHand:
    """A board, and a session that is connected to it.

    :param session: pyOCD's session.
    :param is_a_profile: Whether the core is a Cortex-A.
    """

    def __init__(self, session: Session, is_a_profile: bool = False) -> None:
        self.board: Board = session.probe.etm_wire.powered
        self.port = PyocdPort({int(ap.address.nominal_address): ap for ap in session.target.aps.values()}[is_a_profile])
        self.session = DebugSession(OfflineDebugger())
        self._is_a_profile = is_a_profile

    def connect(self) -> None:
        """Find trace unit and buffer, if they can be found."""
        if self._is_a_profile:
            space = Space(self.port, _APB_TABLE)
            connection = TargetConnection("a9", "access ports only", None, [space], None)
        else:
            connection = over_port(self.port)
        self.session.connection = connection
        try:
            connection.find(Choice(unit=0) if self._is_a_profile else Choice())
        except EtmError:
            return
        trace: Any = connection.trace
        trace.unit._deadline = trace.sink._deadline = Deadline(_READS, count().__next__)

    def core(self) -> TestedCore:
        """Take the core."""
        if self._is_a_profile:
            return HaltedCoreA(CoreDebugDriver(self.port, CORE_DEBUG))
        return HaltedCore(self.port)

    def findings(self) -> List[StepFinding]:
        """Run the self test."""
        return list(selftest(self.session, _RAM if self._is_a_profile else None))


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
    is_a_profile = name in CORTEX_A
    if is_a_profile:
        settings.update({"connect_mode": "attach", "allow_no_cores": True, "target_override": "cortex_m"})
    with Session(probe, options=settings) as session:
        hand = BoardAtHand(session, is_a_profile)
        plant(hand.board)
        hand.connect()
        yield hand
