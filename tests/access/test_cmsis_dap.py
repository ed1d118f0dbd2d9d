"""Real pyOCD, its own CMSIS-DAP driver, on a simulated USB.

Packets are counted; the capture is that of the board behind any other probe.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Tuple

import pytest

from gdb_etm.access.pyocd_session import PyocdSession, SessionOptions
from gdb_etm.coresight.sink import BufferPlace
from gdb_etm.coresight.special import SpecialRegisters
from gdb_etm.coresight.topology import Choice
from gdb_etm.errors import AccessError
from gdb_etm.session.connection import TargetConnection
from gdb_etm.session.opening import over_port
from gdb_etm.traceunit.options import TraceOptions
from tests.firmware.cortex_m0.build import elf as elf_m0
from tests.gdb_session import ROOT, run_gdb

ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
RAM = 0x20040000
# Words that a DAP_TransferBlock's response holds: it has four bytes more.
WORDS = {"hid": (64 - 4) // 4, "bulk": (512 - 4) // 4}
REGISTERS = ["r%d" % number for number in range(13)] + ["sp", "lr", "pc", "xpsr"]
_SECONDS = 30


@contextmanager
def opened(probe: str, *options: str) -> Iterator[PyocdSession]:
    session = PyocdSession(
        SessionOptions(probe="board:" + probe, connect_mode="under-reset", options=("board.elf=%s" % ELF, *options))
    )
    try:
        yield session
    finally:
        session.close()


def usb(session: PyocdSession) -> Any:
    return session.probe.etm_usb


def traced(session: PyocdSession, options: TraceOptions = TraceOptions()) -> Tuple[TargetConnection, Any]:
    """Trace the demo up to its end, and give what drains it."""
    connection = over_port(session.port(0))
    connection.find(Choice())
    connection.start(options)
    core = session._session.target.cores[0]
    core.resume()
    end = time.monotonic() + _SECONDS
    while not core.is_halted():
        assert time.monotonic() < end
        time.sleep(0.02)
    return connection, core


@pytest.fixture(scope="module")
def expected() -> Dict[str, bytes]:
    """Give the demo's trace, drained through the plain probe."""
    with opened("m33") as session:
        connection, _ = traced(session)
        return {"m33": connection.drain((), "halt").buffer}


@pytest.mark.parametrize("faults", ["", "wait:13", "wait:2"])
@pytest.mark.parametrize("kind", WORDS)
def test_trace_through_packets(kind: str, faults: str, expected: Dict[str, bytes]) -> None:
    with opened("m33-" + kind, *(["board.faults=" + faults] if faults else [])) as session:
        connection, _ = traced(session)
        assert connection.drain((), "halt").buffer == expected["m33"]
        # A fault in between is one, and is cleared.
        port = session.port(0)
        with pytest.raises(AccessError, match="cannot read 0x70000000: the bus answered with a fault"):
            port.read_block(0x70000000, 40)
        with pytest.raises(AccessError, match="cannot write 0x70000000: the bus answered with a fault"):
            port.write32(0x70000000, 1)
        assert port.read32(0xE000ED00) == 0x410FD214
        connection.release()


@pytest.mark.parametrize("kind", WORDS)
def test_draining_takes_few_packets_beyond_its_words(kind: str) -> None:
    with opened("m33-" + kind) as session:
        connection, _ = traced(session)
        port, address = session.port(0), 0xE0043010
        before = usb(session).etm_packets
        words = port.read_fifo(address, 1024)
        spent = usb(session).etm_packets - before
        assert len(words) == 1024
        assert spent <= 1.15 * -(-1024 // WORDS[kind]), spent
        before = usb(session).etm_packets
        assert len(port.read_block(RAM, 1024)) == 1024
        assert usb(session).etm_packets - before <= 1.15 * -(-1024 // WORDS[kind])
        connection.release()


@pytest.mark.parametrize("board", ["m33", "m7", "m4", "m0"])
@pytest.mark.parametrize("kind", WORDS)
def test_a_drain_takes_few_packets_beyond_its_words(kind: str, board: str) -> None:
    """From the stopped trace to the capture: configuration, status, pointers, words.

    Six more at most: beside 69 packets of 64 bytes these are less than 15 %, beside nine of 512 they are not.
    """
    program = ["board.elf=%s" % elf_m0("sort")] if board == "m0" else []
    with opened("%s-%s" % (board, kind), *program) as session:
        place = BufferPlace(RAM, 4096) if board == "m0" else None
        connection, _ = traced(session, TraceOptions(buffer=place))
        trace = connection.session()
        trace.stop()
        before = usb(session).etm_packets
        capture = trace.drain()
        spent = usb(session).etm_packets - before
        words = -(-len(capture.buffer) // 4 // WORDS[kind])
        assert len(capture.buffer) >= 2032
        assert spent <= words + 6, (spent, words)
        if kind == "hid":
            assert spent <= 1.15 * words, (spent, words)
        connection.release()


@pytest.mark.parametrize("kind", WORDS)
def test_the_state_at_a_halt_takes_few_packets(kind: str) -> None:
    """Core registers, what pyOCD's server leaves out, and fault status."""
    with opened("m33-" + kind) as session:
        _, core = traced(session)
        special = SpecialRegisters(session.port(0))
        before = usb(session).etm_packets
        assert len(core.read_core_registers_raw(REGISTERS)) == len(REGISTERS)
        found = special.missing(("msp", "psp", "control", "primask", "basepri", "faultmask"))
        assert set(found) == {"msplim", "psplim"}
        assert special.status()["hfsr"] == 0x40000000
        assert usb(session).etm_packets - before <= 20
        # One access a register, and one for all that frames it.
        before = usb(session).etm_packets
        assert len(special.missing(())) == 8
        assert usb(session).etm_packets - before <= 12


def test_blocks_over_the_border_where_addresses_wrap() -> None:
    """This access port increments 10 bits of TAR (ADIv5.2, C2.2.2)."""
    with opened("m7-hid") as session:
        memory = session._session.target.aps
        ap = next(iter(memory.values()))
        assert ap.idr == 0x84770001
        port, data = session.port(0), [0x01010101 * (number & 0x7F) for number in range(700)]
        ap.write_memory_block32(RAM + 0x3F0, data)
        assert port.read_block(RAM + 0x3F0, 700) == data
        assert [port.read32(RAM + 0x3F0 + 4 * number) for number in (3, 4, 5, 259, 260)] == [
            data[number] for number in (3, 4, 5, 259, 260)
        ]


def test_a_port_that_hangs_is_told_by_its_timeout() -> None:
    with opened("m33-hid", "board.faults=hang:3000") as session:
        port = session.port(0)
        with pytest.raises(AccessError, match="no answer in time"):
            for _ in range(4):
                port.read_block(RAM, 1024)


def test_a_session_in_gdb() -> None:
    output = run_gdb(
        ["file %s" % ELF, "etm connect --probe board:m33-hid --mode under-reset --option board.elf=%s" % ELF]
        + ["etm start", "continue", "etm history -1", "reverse-stepi", "etm fault", "etm disconnect"]
    )
    assert "gdb_etm simulated CMSIS-DAP: Cortex-M33 r0p4" in output
    assert "etm: 18,364 instructions from UART_Handler to dispatch" in output
    assert "<HardFault (exception 3), return address 0x00163332>" in output
    assert "parse_values, rx.c:83: writes past the end of station.values (32 bytes)" in output
