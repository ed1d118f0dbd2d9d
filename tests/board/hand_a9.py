"""Trace on board a9, programmed register by register through pyOCD."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from pyocd.core.helpers import ConnectHelper
from pyocd.coresight.ap import MEM_AP

from gdb_etm.board.cortex_a_board import CORE_DEBUG, ETB, FUNNEL, PTM
from tests.board.hand import KEY, LAR, probe_of

_SECONDS = 20.0
TRACE_ID = 0x10
CYCLES, CONTEXT_ID, TIMESTAMPS, RETURN_STACK, BROADCAST = 1 << 12, 3 << 14, 1 << 28, 1 << 29, 1 << 8
_POWER_DOWN, _PROG = 1, 1 << 10
CR, SR, TEEVR, TECR1, SYNCFR, IDR, CCER, TRACEIDR = 0x000, 0x010, 0x020, 0x024, 0x1E0, 0x1E4, 0x1E8, 0x200
_DSCR, DRCR = 0x088, 0x090
_STS, _RRD, _RRP, RWP, _CTL, _FFCR = 0x00C, 0x010, 0x014, 0x018, 0x020, 0x304


class Script:
    """A session with the board, for scripts.

    :param ap: The APB-AP.
    """

    def __init__(self, ap: MEM_AP, probe: Any) -> None:
        self._ap = ap
        self.board = probe.etm_wire.board

    def read(self, address: int) -> int:
        """Read a register of a debug component."""
        return int(self._ap.read32(address))

    def write(self, address: int, value: int) -> None:
        """Write a register of a debug component."""
        self._ap.write32(address, value)

    def poll(self, address: int, mask: int, wanted: int) -> None:
        """Read a register until it has a value.

        The core runs in a thread of its own.
        """
        deadline = time.monotonic() + _SECONDS
        while self.read(address) & mask != wanted:
            failure = self.board.machine.failure
            assert failure is None, failure
            assert time.monotonic() < deadline, "0x%08x stays 0x%x" % (address, self.read(address))

    def start_trace(self, control: int = 0, sync: int = 0x400, more: Tuple[Tuple[int, int], ...] = ()) -> None:
        """Bring up buffer, funnel and trace unit, in this order.

        :param control: Bits of ETMCR.
        :param sync: ETMSYNCFR.
        :param more: More register writes to the trace unit.
        """
        for base in (ETB, FUNNEL, PTM):
            self.write(base + LAR, KEY)
        for offset, value in ((_CTL, 0), (RWP, 0), (_RRP, 0), (_FFCR, 3), (_CTL, 1)):
            self.write(ETB + offset, value)
        self.write(FUNNEL, 0x301)
        self.write(PTM + CR, _PROG)
        self.poll(PTM + SR, 2, 2)
        everything = ((CR, _PROG | control), (TEEVR, 0x6F), (TECR1, 1 << 24), (SYNCFR, sync), (TRACEIDR, TRACE_ID))
        # The trigger and a timestamp by an event: never.
        everything += ((0x008, 0x406F), (0x1F8, 0x406F))
        for offset, value in everything + more:
            self.write(PTM + offset, value)
        self.write(PTM + CR, control)
        self.poll(PTM + SR, 2, 0)

    def run_to_halt(self) -> None:
        """Wait until the core halts by itself."""
        self.poll(CORE_DEBUG + _DSCR, 1, 1)

    def stop_trace(self, control: int = 0) -> Tuple[bytes, bool]:
        """Stop; return the buffer, oldest byte first, and whether it wrapped."""
        self.write(PTM + CR, control | _PROG)
        self.poll(PTM + SR, 2, 2)
        self.write(ETB + _FFCR, 0x1003)
        self.write(ETB + _FFCR, 0x1043)
        self.poll(ETB + _STS, 4, 4)
        self.write(ETB + _CTL, 0)
        wrapped = bool(self.read(ETB + _STS) & 1)
        end = self.read(ETB + RWP)
        words = self.read(ETB + 0x004) if wrapped else end
        self.write(ETB + _RRP, end if wrapped else 0)
        data: List[int] = [self.read(ETB + _RRD) for _ in range(words)]
        return b"".join(word.to_bytes(4, "little") for word in data), wrapped


@contextmanager
def board(**options: Any) -> Iterator[Script]:
    """Open a pyOCD session; the core waits for its trace unit."""
    settings: Dict[str, Any] = {"board." + name: value for name, value in {"hold": True, **options}.items()}
    session = ConnectHelper.session_with_chosen_probe(
        blocking=False,
        unique_id="board:a9",
        target_override="cortex_m",
        connect_mode="attach",
        options={"allow_no_cores": True, **settings},
    )
    assert session is not None
    with session:
        ports = {int(ap.address.nominal_address): ap for ap in session.target.aps.values()}
        yield Script(ports[1], probe_of(session))


def read_truth(path: Path) -> List[str]:
    """Return the lines of the truth file."""
    return path.read_text("ascii").splitlines()
