"""Trace on the board, programmed register by register through real pyOCD."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from pyocd.core.helpers import ConnectHelper
from pyocd.core.session import Session
from pyocd.core.target import Target

from gdb_etm.board.probe import BoardProbe

ROOT = Path(__file__).resolve().parents[2]
FIRMWARE = ROOT / "tests" / "firmware"
_SECONDS = 20.0

ETM, FUNNEL, ETF = 0xE0041000, 0xE0042000, 0xE0043000
LAR, KEY = 0xFB0, 0xC5ACCE55
STS, RRD, CTL, MODE, FFCR, PSCR = 0x00C, 0x010, 0x020, 0x028, 0x304, 0x308
TRACE_ID = 0x10
RETURN_STACK, TIMESTAMPS, CYCLES, BROADCAST = 1 << 12, 1 << 11, 1 << 4, 1 << 3
LOADS, STORES, ADDRESSES, VALUES = 1 << 1, 1 << 2, 1 << 16, 1 << 17


@contextmanager
def board(name: str = "m33", **options: Any) -> Iterator[Session]:
    """Open a pyOCD session on a board, halted at its start."""
    settings: Dict[str, Any] = {"board." + name: value for name, value in options.items()}
    session = ConnectHelper.session_with_chosen_probe(
        blocking=False, unique_id="board:" + name, target_override="cortex_m", connect_mode="halt", options=settings
    )
    assert session is not None
    with session:
        session.target.reset_and_halt()
        yield session


def probe_of(session: Session) -> BoardProbe:
    """Return the board's probe, which pyOCD wraps in a proxy."""
    probe = getattr(session.probe, "_probe", session.probe)
    assert isinstance(probe, BoardProbe)
    return probe


def start_trace(target: Target, configuration: int = 1, sync: int = 9, more: Tuple[Tuple[int, int], ...] = ()) -> None:
    """Start buffer, funnel and trace unit; data trace if configured."""
    target.write32(ETF + LAR, KEY)
    target.write32(ETF + CTL, 0)
    for offset, value in ((MODE, 0), (PSCR, sync), (FFCR, 0x133), (CTL, 1)):
        target.write32(ETF + offset, value)
    target.write32(FUNNEL + LAR, KEY)
    target.write32(FUNNEL, 0x303)
    target.write32(ETM + 0x004, 0)
    poll(target, ETM + 0x00C, 1, 1)
    unused = (0x020, 0x024, 0x02C, 0x030, 0x08C, 0x140, 0x208, 0x20C, 0x280, 0x2A0, 0x2C0)
    zero = tuple((offset, 0) for offset in unused)
    # Of a Cortex-M33's unit TRCSYNCPR is read-only, and there is no TRCVDCTLR.
    wanted = ((0x010, configuration | 1), (0x034, 10), (0x038, 4), (0x040, TRACE_ID), (0x080, 0x201), (0x0A0, 0x1001))
    for offset, value in zero + wanted + more:
        target.write32(ETM + offset, value)
    target.write32(ETM + 0x004, 1)
    poll(target, ETM + 0x00C, 1, 0)


def flush(target: Target) -> None:
    """Stop the unit, then flush and stop the buffer."""
    target.write32(ETM + 0x004, 0)
    poll(target, ETM + 0x00C, 1, 1)
    target.write32(ETF + FFCR, 0x1133)
    target.write32(ETF + FFCR, 0x1173)
    poll(target, ETF + FFCR, 0x40, 0)
    poll(target, ETF + STS, 4, 4)


def stop_trace(target: Target) -> Tuple[bytes, bool]:
    """Stop; return the buffer, oldest byte first, and whether it wrapped."""
    flush(target)
    wrapped = bool(target.read32(ETF + STS) & 1)
    words: List[int] = []
    while True:
        word = target.read32(ETF + RRD)
        if word == 0xFFFFFFFF:
            break
        words.append(word)
    target.write32(ETF + CTL, 0)
    return b"".join(word.to_bytes(4, "little") for word in words), wrapped


def poll(target: Target, address: int, mask: int, wanted: int) -> None:
    """Read a register until it has a value.

    The core runs in a thread of its own.
    """
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if target.read32(address) & mask == wanted:
            return
    raise AssertionError("0x%08x stays 0x%x" % (address, target.read32(address)))


def run_to_halt(session: Session) -> None:
    """Let the core run until it halts by itself."""
    session.target.resume()
    while session.target.get_state() is not Target.State.HALTED:
        failure = probe_of(session).etm_wire.board.machine.failure
        assert failure is None, failure


def read_truth(path: Path) -> List[str]:
    """Return the lines of the truth file."""
    return path.read_text("ascii").splitlines()
