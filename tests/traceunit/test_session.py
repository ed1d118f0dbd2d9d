"""Real pyOCD on the simulated board: the trace session."""

from __future__ import annotations

import re
from itertools import count
from typing import Any, Dict, Iterator, List

import pytest

from gdb_etm.access.port import AccessPort
from gdb_etm.capture import BufferEnd, BufferFormat, RawCapture
from gdb_etm.coresight.components import ComponentKind
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.topology import TracePath, find_path
from gdb_etm.errors import AccessError, CaptureError, TopologyError, UnsupportedError
from gdb_etm.framing.formatter import deframe
from gdb_etm.registers import cortex_m, etmv4, etmv4_id, funnel, tmc
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.traceunit.actions import Rule, Trigger
from gdb_etm.traceunit.events import Watched
from gdb_etm.traceunit.options import AddressRange, TraceOptions
from gdb_etm.traceunit.session import TraceSession
from gdb_etm.traceunit.status import SessionState
from tests.firmware.build import elf

from .live import CORE, Live, fixture_boards
from .ports import Interrupted, Stuck

ETM, FUNNEL, ETF = 0xE0041000, 0xE0042000, 0xE0043000
DEMCR = cortex_m.SCS_BASE + cortex_m.DEMCR.offset
A_SYNC = bytes(11) + b"\x80"
BIG = 1 << 20

__all__ = ["fixture_boards"]


def stream(capture: RawCapture) -> bytes:
    """Return what the trace unit put into a capture."""
    return bytes(deframe(capture.buffer).streams[0x10].data)


def settings(live: Live) -> Dict[str, int]:
    """Read every register that can be written, and the locks."""
    found = {}
    for base, page in ((ETM, PAGE), (FUNNEL, funnel.PAGE), (ETF, tmc.PAGE)):
        for register in page:
            if register.access == "RW":
                found["%08x %s" % (base, register.name)] = live.port.read32(base + register.offset)
        found["%08x LSR" % base] = live.port.read32(base + 0xFB4)
    return found


def replaced(path: TracePath, port: AccessPort) -> TracePath:
    """Reach the path's components through another port."""
    links = tuple(link._replace(component=link.component._replace(port=port)) for link in path.links)
    return path._replace(source=path.source._replace(port=port), links=links, sink=path.sink._replace(port=port))


@pytest.fixture(name="live")
def fixture_live(boards: Any) -> Iterator[Live]:
    yield boards(elf("sort"))


def test_discovery(live: Live) -> None:
    found = live.discover()
    names = [component.name for component in found.components]
    assert names == ["SCS", "DWT", "FPB", "ETMv4", "funnel", "ETF", "CTI", "CTI"]
    assert found.notes == ()
    path = find_path(found.components)
    assert (path.source.address, path.sink.address, path.scs and path.scs.address) == (ETM, ETF, 0xE000E000)
    assert [str(link) for link in path.links] == ["funnel 0xe0042000 ports 0, 1"]


def test_a_capture_from_the_start(boards: Any) -> None:
    live = boards(elf("sort"), etb_size=BIG)
    session = live.trace_session()
    assert session.unit.title == "ETMv4.2" and session.sink.size == BIG
    plan = session.start()
    assert plan.return_stack and session.sync_bytes == plan.sync_bytes == 1024 and session.notes == ()
    live.run_for(0.1)
    capture = session.drain("first")
    assert (capture.name, capture.format, capture.end) == ("first", BufferFormat.FRAMES, BufferEnd.STARTED)
    assert 0 < len(capture.buffer) < BIG and len(capture.buffer) % 16 == 0
    assert stream(capture).startswith(A_SYNC)
    (source,) = capture.sources
    assert (source.name, source.protocol, source.core, source.images) == ("ETM_0", "etmv4", CORE, ())
    assert source.registers == {
        "TRCCONFIGR": 0x1001,
        "TRCTRACEIDR": 0x10,
        "TRCAUTHSTATUS": 0xCC,
        "TRCDEVARCH": 0x47724A13,
        "TRCIDR0": 0x280006E1,
        "TRCIDR1": 0x4100F421,
        "TRCIDR2": 4,
        "TRCIDR8": 0,
        "TRCIDR9": 0,
        "TRCIDR10": 0,
        "TRCIDR11": 0,
        "TRCIDR12": 1,
        "TRCIDR13": 0,
    }


def test_an_older_buffer_may_not_hear_of_a_trigger(live: Live) -> None:
    path = find_path(live.discover().components)
    options = TraceOptions(rules=(Rule(Watched(0), Trigger(), "dwt 0"),))
    for kind, told in ((ComponentKind.TMC, False), (ComponentKind.ETB, True)):
        session = TraceSession(path._replace(sink=path.sink._replace(kind=kind)), CORE)
        session.unit.attach()
        plan, _ = session.plan_start(options)
        assert any("an ETB may not hear" in note for note in plan.notes) == told
        session.unit.release()


def test_a_capture_that_wrapped(live: Live) -> None:
    session = live.trace_session()
    session.start()
    assert session.sync_bytes == 512 and live.port.read32(ETF + tmc.PSCR.offset) == 9
    live.fill(session)
    capture = session.drain()
    assert capture.end is BufferEnd.WRAPPED and 4096 - 16 < len(capture.buffer) <= 4096
    assert len(capture.buffer) % 16 == 0
    assert stream(capture).count(A_SYNC) >= 4


def test_a_transfer_a_word(boards: Any) -> None:
    live = boards(elf("sort"), etb_size=16 * 1024)
    session = live.trace_session()
    session.start()
    live.fill(session)
    session.stop()
    before = live.transfers
    capture = session.drain()
    assert len(capture.buffer) > 16 * 1024 - 16
    assert live.transfers - before <= 1.1 * len(capture.buffer) / 4


def test_resuming_empties_the_buffer(live: Live) -> None:
    session = live.trace_session()
    with pytest.raises(CaptureError, match="nothing to resume"):
        session.resume()
    session.start()
    live.fill(session)
    assert session.drain().end is BufferEnd.WRAPPED
    session.resume()
    live.core.step()
    capture = session.drain()
    assert capture.end is BufferEnd.STARTED and 0 < len(capture.buffer) < 256
    assert stream(capture).startswith(A_SYNC)
    with pytest.raises(CaptureError, match="was drained before"):
        session.drain()


def test_resuming_after_the_unit_forgot(live: Live) -> None:
    session = live.trace_session()
    session.start()
    session.drain()
    live.port.write32(ETM + etmv4.TRCTRACEIDR.offset, 0x55)
    live.port.write32(DEMCR, live.port.read32(DEMCR) & ~(1 << 24))
    session.resume()
    live.core.step()
    assert stream(session.drain()) and session.status().trace_enabled


def test_status(live: Live) -> None:
    session = live.trace_session()
    status = session.status()
    assert status.state is SessionState.READY and status.plan is None and status.inputs == (0,)
    assert status.unit.powered and status.unit.claimed and status.unit.idle and not status.unit.enabled
    session.start()
    live.run_for(0.01)
    status = session.status()
    assert (
        status.state is SessionState.TRACING and status.unit.enabled and not status.unit.idle and status.sink.capturing
    )
    assert status.inputs == (3,) and status.trace_enabled and status.size == 4096 and status.plan is session.plan
    session.stop()
    assert session.status().state is SessionState.STOPPED and session.status().unit.idle
    assert not session.status().sink.capturing
    session.close()
    for act in (session.status, session.start, session.stop, session.drain, session.resume):
        with pytest.raises(CaptureError, match="is closed"):
            act()
    session.close()


def test_no_mark_is_left(live: Live) -> None:
    live.port.write32(ETF + 0xFB0, 0xC5ACCE55)
    for register, value in ((tmc.RWP, 0x40), (tmc.RRP, 0x80), (tmc.TRG, 7), (tmc.MODE, 1), (tmc.PSCR, 0xB)):
        live.port.write32(ETF + register.offset, value)
    found = settings(live)
    assert found["%08x LSR" % FUNNEL] == 3 and found["%08x TRCVICTLR" % ETM] & ~0x201
    session = live.trace_session()
    session.start()
    live.run_for(0.05)
    session.close()
    assert settings(live) == found


def test_no_mark_is_left_by_others(live: Live) -> None:
    """The process beside GDB carries out ``restoration()`` when GDB is gone."""
    found = settings(live)
    session = live.trace_session()
    session.start()
    live.run_for(0.05)
    steps = session.restoration()
    assert 20 < len(steps) < 256
    for port, address, value, mask in steps:
        if mask:
            # The unit takes two polls to become idle.
            assert any(port.read32(address) & mask == value for _ in range(10))
        else:
            port.write32(address, value)
    assert settings(live) == found


def test_trcena_is_put_back_alone(live: Live) -> None:
    live.port.write32(DEMCR, 1 << 10)
    session = live.trace_session()
    assert live.port.read32(DEMCR) == 1 << 24 | 1 << 10
    live.port.write32(DEMCR, 1 << 24 | 1)  # the debugger changes its vector catches
    session.close()
    assert live.port.read32(DEMCR) == 1


def test_after_a_session_that_was_killed(live: Live) -> None:
    live.trace_session().start()
    live.run_for(0.05)
    session = live.trace_session()
    assert session.unit.enabled
    assert any("another debugger had claimed" in note for note in session.unit.notes)
    session.start()
    live.core.step()
    capture = session.drain()
    assert capture.end is BufferEnd.STARTED and stream(capture).startswith(A_SYNC)


def test_what_the_unit_lacks(live: Live) -> None:
    session = live.trace_session()
    found = settings(live)
    with pytest.raises(UnsupportedError, match=r"no address comparators \(TRCIDR4.NUMACPAIRS\), .* need"):
        session.start(TraceOptions(include=(AddressRange(0, 0xFFF),)))
    assert settings(live) == found
    session.start()


def test_ranges(boards: Any) -> None:
    live = boards(elf("sort"), comparators=1)
    session = live.trace_session()
    session.start(TraceOptions(include=(AddressRange(0x10000000, 0x10000FFF),)))
    live.run_for(0.05)
    assert A_SYNC not in stream(session.drain())[12:]


@pytest.mark.parametrize(
    "fault, message",
    [
        ("no-etm", "no trace unit found; the chip shows SCS"),
        ("no-sink", "no trace buffer .* found; the chip shows SCS"),
    ],
)
def test_incomplete_chips(boards: Any, fault: str, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        find_path(boards(elf("sort"), faults=fault).discover().components)


def test_unplugged_while_draining(boards: Any) -> None:
    live = boards(elf("sort"), faults="unplug-after:100,in-drain")
    session = live.trace_session()
    session.start()
    live.fill(session)
    with pytest.raises(AccessError) as error:
        session.drain()
    assert error.value.kind == "lost"
    with pytest.raises(AccessError):
        session.close()


@pytest.mark.parametrize(
    "address, bits, value, act, message",
    [
        (
            ETF + 0x00C,
            4,
            0,
            "start",
            r"^STS at 0xe004300c \(AHB-AP 0\) stays 0x.*, TMCReady=1 was awaited: is its trace",
        ),
        (ETF + 0x304, 0x40, 0x40, "stop", r"^FFCR at 0xe0043304 .* FlushMan=0 was awaited"),
        (
            ETM + 0x00C,
            1,
            0,
            "stop",
            r"^TRCSTATR at 0xe004100c .* until all trace has left it; the trace it still holds",
        ),
        (ETM + 0x00C, 1, 1, "start", r"^TRCSTATR at 0xe004100c .* check that the chip's trace clock runs"),
        (
            ETM + 0x080,
            1,
            0,
            "start",
            r"^TRCVICTLR at 0xe0041080 was written 0x00000201 and reads 0x00000200: the trace",
        ),
        (ETM + 0x314, 2, 2, "start", r"lost power while it was programmed \(TRCPDSR.STICKYPD\)"),
    ],
)
def test_deadlines(live: Live, address: int, bits: int, value: int, act: str, message: str) -> None:
    """Hardware that is not ready is reported, and starts later."""
    port = Stuck(live.port, {})
    ticks = iter(range(1 << 20))
    path = find_path(live.discover().components)
    session = TraceSession(replaced(path, port), CORE, Deadline(20.0, lambda: float(next(ticks))))
    session.attach()
    if act == "stop":
        session.start()
        live.core.step()
    port.stuck[address] = (bits, value)
    with pytest.raises(CaptureError, match=message) as error:
        getattr(session, act)()
    assert "\n" not in str(error.value)
    if act == "start":
        assert session.state is SessionState.READY
    port.stuck.clear()
    session.start()
    live.core.step()
    assert stream(session.drain()).startswith(A_SYNC)
    session.close()


def cycle(session: TraceSession, live: Live) -> None:
    session.start()
    live.core.step()
    session.stop()
    session.drain()
    session.resume()


@pytest.mark.parametrize("late", [False, True])
def test_ctrl_c_anywhere(live: Live, late: bool) -> None:
    """Interrupted before or after any access, it restores everything."""
    found = settings(live)
    port = Interrupted(live.port)
    session = TraceSession(replaced(find_path(live.discover().components), port), CORE)
    session.attach()
    for access in count():
        port.interrupt_at(access, late)
        try:
            cycle(session, live)
        except KeyboardInterrupt:
            session.start()
            live.core.step()
            capture = session.drain()
            assert stream(capture).startswith(A_SYNC) and capture.end is BufferEnd.STARTED, access
        else:
            break
    assert access > 90
    port.interrupt_at(-1, late)
    session.close()
    assert settings(live) == found


@pytest.mark.parametrize("late", [False, True])
def test_ctrl_c_in_a_drain(boards: Any, late: bool) -> None:
    """The newest part is kept, with the older part unknown."""
    live = boards(elf("sort"), etb_size=16 * 1024)
    port = Interrupted(live.port)
    session = TraceSession(replaced(find_path(live.discover().components), port), CORE)
    session.attach()
    session.start()
    live.fill(session)
    session.stop()
    # Two registers of the unit and two of the buffer, then the data in four pieces.
    port.interrupt_at(4 + 1, late)
    with pytest.raises(KeyboardInterrupt):
        session.drain()
    capture = session.drain()
    assert capture.end is BufferEnd.UNKNOWN and len(capture.buffer) % 16 == 0
    words = 16 * 1024 // 4 - 1024 * (2 if late else 1)
    assert words - 4 < len(capture.buffer) // 4 <= words
    assert A_SYNC in stream(capture)


def test_ctrl_c_while_attaching(live: Live) -> None:
    found = settings(live)
    components = live.discover().components
    for access in range(1000):
        port = Interrupted(live.port)
        session = TraceSession(replaced(find_path(components), port), CORE)
        port.interrupt_at(access, late=True)
        try:
            session.attach()
        except KeyboardInterrupt:
            assert settings(live) == found, access
        else:
            port.interrupt_at(-1, late=True)
            session.close()
            break
    assert access >= 20 and settings(live) == found


def test_claims(live: Live) -> None:
    claimed: List[int] = []
    session = live.trace_session()
    claimed.append(live.port.read32(ETM + etmv4_id.TRCCLAIMCLR.offset))
    session.close()
    claimed.append(live.port.read32(ETM + etmv4_id.TRCCLAIMCLR.offset))
    live.port.write32(ETM + etmv4_id.TRCCLAIMSET.offset, 2)
    with pytest.raises(CaptureError, match="in use by software on the target"):
        live.trace_session()
    assert claimed == [1, 0]
    assert re.fullmatch("0x2", hex(live.port.read32(ETM + etmv4_id.TRCCLAIMCLR.offset)))
