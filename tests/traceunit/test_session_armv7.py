"""Real pyOCD, property tests: the session on ETMv3 and PTM."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings

from gdb_etm.access.port import AccessPort
from gdb_etm.access.pyocd_session import PyocdSession, SessionOptions
from gdb_etm.capture import BufferEnd, Core
from gdb_etm.coresight.components import Component, ComponentKind
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.romtable import Space, discover
from gdb_etm.coresight.topology import TracePath, find_path
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.framing.formatter import deframe
from gdb_etm.registers import dwt, etb, etmv3_page, funnel, ptm
from gdb_etm.registers.page import Page
from gdb_etm.traceunit.options import AddressRange, DataTrace, TraceOptions
from gdb_etm.traceunit.session import TraceSession

from .ports import Interrupted
from .test_plan_etmv3 import OPTIONS

FIRMWARE = Path(__file__).resolve().parents[1] / "firmware"
CORE = Core("cpu_0", "Cortex-A9", {})
A_SYNC = b"\x00\x00\x00\x00\x00\x80"
# Locks, claims and what reading changes are compared by themselves; moving pointers mean nothing.
_MOVING = ("ETMSR", "ETMOSSRR", "RRP", "RWP", "ETMCLAIMSET")


class Board(NamedTuple):
    """An open session of access ports alone; the core runs by itself."""

    path: TracePath
    port: AccessPort

    def settings(self) -> Dict[str, int]:
        """Read every register that can be written, and the locks."""
        found = {}
        links = [link.component for link in self.path.links]
        for component in [self.path.source, self.path.sink, *links, *([self.path.dwt] if self.path.dwt else [])]:
            page = _page(component)
            for register in page:
                if register.access == "RW" and register.name not in _MOVING:
                    found["%08x %s" % (component.address, register.name)] = self.port.read32(
                        component.address + register.offset
                    )
            found["%08x LSR" % component.address] = self.port.read32(component.address + 0xFB4)
        return found


def _page(component: Component) -> Page:
    pages = {
        ComponentKind.ETMV3: etmv3_page.PAGE,
        ComponentKind.PTM: ptm.PAGE,
        ComponentKind.ETB: etb.PAGE,
        ComponentKind.FUNNEL: funnel.PAGE,
        ComponentKind.DWT: dwt.PAGE,
    }
    return pages[component.kind]


BOARDS = {
    "m4": ("board:m4", "cortex_m4/tasks.elf", ()),
    "m4-data": ("board:m4", "cortex_m4/tasks.elf", ("board.data_trace=1",)),
    "a9": ("board:a9", "cortex_a/tables-t32.elf", ()),
}
Open = Callable[[str], Board]


@pytest.fixture(name="open_board", scope="module")
def fixture_open_board() -> Iterator[Open]:
    sessions: Dict[str, PyocdSession] = {}
    boards: Dict[str, Board] = {}

    def open_board(name: str) -> Board:
        if name not in boards:
            probe, elf, options = BOARDS[name]
            options = (*options, "board.elf=%s" % (FIRMWARE / elf))
            session = sessions[name] = PyocdSession(SessionOptions(probe=probe, options=options, dap_only=True))
            spaces = [Space(session.port(ap.id), ap.rom) for ap in session.aps() if ap.has_rom]
            path = find_path(discover(*spaces).components)
            boards[name] = Board(path, path.source.port)
        return boards[name]

    yield open_board
    for session in sessions.values():
        session.close()


@pytest.fixture(name="board", params=BOARDS)
def fixture_board(request: pytest.FixtureRequest, open_board: Open) -> Board:
    return open_board(request.param)


def attached(board: Board, path: TracePath) -> TraceSession:
    session = TraceSession(path, CORE, Deadline(5.0))
    session.attach()
    return session


def test_what_is_found(open_board: Open) -> None:
    titles: List[str] = []
    for name in BOARDS:
        board = open_board(name)
        session = attached(board, board.path)
        titles.append("%s, %s, %d" % (session.unit.title, session.unit.protocol, session.sink.size))
        session.close()
    assert titles == ["ETMv3.5, etmv3, 2048", "ETMv3.5, etmv3, 2048", "PTM 1.0, ptm, 4096"]


def test_a_capture(board: Board) -> None:
    session = attached(board, board.path)
    plan = session.start(TraceOptions(trace_id=0x33))
    time.sleep(0.1)
    capture = session.drain("first")
    (source,) = capture.sources
    assert (capture.name, source.protocol, source.core) == ("first", session.unit.protocol, CORE)
    assert source.name == ("PTM_0" if source.protocol == "ptm" else "ETM_0")
    assert source.registers.keys() >= {"ETMCR", "ETMTRACEIDR", "ETMIDR", "ETMCCER"}
    assert source.registers["ETMTRACEIDR"] == 0x33 and source.registers["ETMCR"] == plan.value("ETMCR")
    assert capture.end in (BufferEnd.STARTED, BufferEnd.WRAPPED) and len(capture.buffer) % 16 == 0
    assert A_SYNC in bytes(deframe(capture.buffer).streams[0x33].data)
    session.close()


def test_no_mark_is_left(board: Board) -> None:
    found = board.settings()
    session = attached(board, board.path)
    session.start(TraceOptions(exclude=(AddressRange(0x1000, 0x1FFF),), timestamps=True))
    time.sleep(0.05)
    session.close()
    assert board.settings() == found


def test_no_mark_is_left_by_others(board: Board) -> None:
    """The process beside GDB carries out ``restoration()`` when GDB is gone."""
    found = board.settings()
    session = attached(board, board.path)
    session.start(TraceOptions(exclude=(AddressRange(0x1000, 0x1FFF),)))
    steps = session.restoration()
    assert 10 < len(steps) < 256
    for port, address, value, mask in steps:
        if mask:
            assert any(port.read32(address) & mask == value for _ in range(20))
        else:
            port.write32(address, value)
    # What remains is DEMCR's, which a debugger that ends sets itself, and the session's own book of it.
    assert board.settings() == found


def test_resuming_after_the_unit_forgot(board: Board) -> None:
    session = attached(board, board.path)
    session.start()
    session.drain()
    board.port.write32(board.path.source.address + 0x200, 0x55)
    session.resume()
    time.sleep(0.05)
    assert 0x10 in deframe(session.drain().buffer).streams
    session.close()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=OPTIONS)
def test_any_options(board: Board, options: TraceOptions) -> None:
    """What can be planned reads back; the rest names a field."""
    session = attached(board, board.path)
    try:
        session.start(options)
        assert session.unit.enabled
    except UnsupportedError as error:
        assert error.register in str(error) and "\n" not in str(error)
    finally:
        session.close()


@pytest.mark.parametrize("late", [False, True])
def test_ctrl_c_anywhere(open_board: Open, late: bool) -> None:
    """Interrupted before or after any access, it restores everything."""
    board = open_board("a9")
    found = board.settings()
    port = Interrupted(board.port)
    components = [board.path.source, board.path.sink, *(link.component for link in board.path.links)]
    through = {component: component._replace(port=port) for component in components}
    links = tuple(link._replace(component=through[link.component]) for link in board.path.links)
    path = board.path._replace(source=through[board.path.source], sink=through[board.path.sink], links=links)
    for access in range(0, 4000, 7):
        port.interrupt_at(access, late)
        session = TraceSession(path, CORE, Deadline(5.0))
        is_attached = False
        try:
            session.attach()
            is_attached = True
            session.start(TraceOptions(cycle_count=1))
            session.drain()
        except KeyboardInterrupt:
            port.interrupt_at(-1, late)
            if is_attached:
                session.start()
                session.drain()
                session.close()
            assert board.settings() == found, access
        else:
            port.interrupt_at(-1, late)
            session.close()
            break
    assert access > 100 and board.settings() == found


def test_data_of_some_addresses(open_board: Open) -> None:
    board = open_board("m4-data")
    session = attached(board, board.path)
    plan = session.start(TraceOptions(data=DataTrace.BOTH, data_include=(AddressRange(0x20000000, 0x2000FFFF),)))
    assert plan.value("ETMCR") & 0xC == 0xC
    session.close()
    with pytest.raises(CaptureError, match="is closed"):
        session.start()
