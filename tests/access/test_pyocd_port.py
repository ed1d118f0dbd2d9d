"""Real pyOCD on board m33, in this process: the access port."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator, List

import pytest
from pyocd.core.session import Session
from pyocd.probe.aggregator import DebugProbeAggregator

from gdb_etm.access.port import AccessPort
from gdb_etm.access.pyocd_port import CHUNK_WORDS, PyocdPort
from gdb_etm.errors import AccessError

CPUID = 0xE000ED00
RAM = 0x20000000
NOTHING = 0x60000000
CSW = 0x00

OpenBoard = Callable[..., Session]


@pytest.fixture
def open_board() -> Iterator[OpenBoard]:
    """Open sessions on the board; each is closed after the test."""
    sessions: List[Session] = []

    def open_one(**options: Any) -> Session:
        (probe,) = DebugProbeAggregator.get_all_connected_probes(unique_id="board:m33")
        settings = {"connect_mode": "attach", "warning.cortex_m_default": False}
        settings.update({"board." + name: value for name, value in options.items()})
        session = Session(probe, options=settings)
        sessions.append(session)
        session.open()
        return session

    yield open_one
    for session in sessions:
        session.close()


def _port(session: Session) -> PyocdPort:
    return PyocdPort(session.target.aps[0])


def test_it_is_an_access_port(open_board: OpenBoard) -> None:
    port: AccessPort = _port(open_board())
    assert port.name == "AHB-AP 0" or port.name.endswith("AP 0")
    assert port.read32(CPUID) & 0xFFF0 == 0xD210


def test_words_and_blocks(open_board: OpenBoard) -> None:
    port = _port(open_board())
    words = [0x9E3779B9 * i & 0xFFFFFFFF for i in range(3 * CHUNK_WORDS + 7)]
    for i, word in enumerate(words[:20]):
        port.write32(RAM + 4 * i, word)
    assert port.read_block(RAM, 20) == words[:20]
    assert [port.read32(RAM + 4 * i) for i in range(20)] == words[:20]
    port.write32(RAM, -1)
    assert port.read32(RAM) == 0xFFFFFFFF
    assert port.read_block(RAM, 0) == [] == port.read_fifo(RAM, 0)


def test_a_long_block_is_read_whole(open_board: OpenBoard) -> None:
    session = open_board()
    words = [0x9E3779B9 * i & 0xFFFFFFFF for i in range(3 * CHUNK_WORDS + 7)]
    session.target.aps[0].write_memory_block32(RAM + 0x3F4, words)
    assert _port(session).read_block(RAM + 0x3F4, len(words)) == words


@pytest.mark.parametrize("words", [1, 2, 1024, 16384])
def test_a_fifo_read_stays_at_its_address(open_board: OpenBoard, words: int) -> None:
    session = open_board()
    port = _port(session)
    port.write32(RAM, 0x11111111)
    port.write32(RAM + 4, 0x22222222)
    assert port.read_fifo(RAM, words) == [0x11111111] * words
    assert port.read_block(RAM, 2) == [0x11111111, 0x22222222]


@pytest.mark.parametrize("words", [1024, 2048, 16384])
def test_draining_costs_about_one_transfer_a_word(open_board: OpenBoard, words: int) -> None:
    session = open_board()
    port = _port(session)
    before = session.probe.etm_wire.transfers
    port.read_fifo(RAM, words)
    assert words <= session.probe.etm_wire.transfers - before <= 1.1 * words


def test_the_access_port_is_left_as_it_was(open_board: OpenBoard) -> None:
    session = open_board()
    ap = session.target.aps[0]
    ap.read_memory(RAM)
    before = session.target.dp.read_ap(ap.address.address + CSW)
    _port(session).read_fifo(CPUID, 100)
    assert session.target.dp.read_ap(ap.address.address + CSW) == before == ap.read_reg(CSW)


def test_a_fault_names_its_address_and_leaves_the_port_usable(open_board: OpenBoard) -> None:
    session = open_board()
    port = _port(session)
    ap = session.target.aps[0]
    accesses: List[Callable[[], object]] = [
        lambda: port.read32(NOTHING),
        lambda: port.write32(NOTHING, 1),
        lambda: port.read_block(NOTHING, 4),
        lambda: port.read_fifo(NOTHING, 400),
    ]
    for access in accesses:
        with pytest.raises(AccessError, match="0x60000000: the bus answered with a fault") as caught:
            access()
        assert (caught.value.kind, caught.value.address) == ("fault", NOTHING)
        assert port.read32(CPUID) == session.target.cores[0].read_memory(CPUID)
        assert session.target.dp.read_ap(ap.address.address + CSW) == ap.read_reg(CSW)


def test_a_block_that_runs_off_the_end_of_memory_names_where_it_failed(open_board: OpenBoard) -> None:
    with pytest.raises(AccessError) as caught:
        _port(open_board()).read_block(0x2007F000, 2 * CHUNK_WORDS)
    assert caught.value.address == 0x20080000


@pytest.mark.parametrize("address", [2, 0xE0041FBD, -4, 1 << 32])
def test_an_address_of_no_word_is_refused(open_board: OpenBoard, address: int) -> None:
    port = _port(open_board())
    accesses: List[Callable[[], object]] = [
        lambda: port.read32(address),
        lambda: port.write32(address, 0),
        lambda: port.read_block(address, 1),
        lambda: port.read_fifo(address, 1),
    ]
    for access in accesses:
        with pytest.raises(AccessError, match="no address of a word"):
            access()


def test_waits_on_the_wire_are_only_slow(open_board: OpenBoard) -> None:
    port = _port(open_board(faults="wait:10"))
    port.write32(RAM, 0x12345678)
    assert port.read_fifo(RAM, 1000) == [0x12345678] * 1000
    assert port.read_block(RAM, 1) == [0x12345678]


def test_a_port_that_only_waits_is_a_timeout(open_board: OpenBoard) -> None:
    session = open_board(faults="hang:2000")
    port = _port(session)
    with pytest.raises(AccessError, match="no answer in time") as caught:
        port.read_fifo(RAM, 4000)
    assert caught.value.kind == "timeout"


def test_a_probe_that_is_pulled_out_is_lost(open_board: OpenBoard) -> None:
    port = _port(open_board(faults="unplug-after:3000"))
    with pytest.raises(AccessError, match="is it unplugged") as caught:
        port.read_fifo(RAM, 4000)
    assert (caught.value.kind, caught.value.address) == ("lost", RAM)
    for access in (lambda: port.read32(RAM), lambda: port.write32(RAM, 0)):
        with pytest.raises(AccessError) as again:
            access()
        assert again.value.kind == "lost"


def test_other_threads_move_nothing_under_a_drain(open_board: OpenBoard) -> None:
    """pyOCD's GDB server reads from its threads during a drain."""
    session = open_board()
    ap = session.target.aps[0]
    words = list(range(0x1000, 0x1400))
    ap.write_memory_block32(RAM + 0x400, words)
    port = _port(session)
    port.write32(RAM, 0xCAFE0000)
    done = threading.Event()
    wrong: List[object] = []

    def read_beside() -> None:
        while not done.is_set():
            block = list(ap.read_memory_block32(RAM + 0x400, len(words)))
            half, byte = ap.read_memory(RAM + 2, 16), ap.read_memory(RAM + 3, 8)
            if (block, half, byte) != (words, 0xCAFE, 0xCA):
                wrong.append((block[:4], half, byte))

    threads = [threading.Thread(target=read_beside) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            assert port.read_fifo(RAM, 1500) == [0xCAFE0000] * 1500
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []
