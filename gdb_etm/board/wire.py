"""The wire between probe and board: counts transfers, fails on demand.

They are counted as they would be on the wire: one for each access to a port register, and one more to fetch the last
of a series of posted reads (ADIv5.2, B4.2.1).
"""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Set

from pyocd.core import exceptions

from gdb_etm.board.dap import FaultResponse, WaitResponse

if TYPE_CHECKING:
    from gdb_etm.board.board import AnyBoard

_WAIT_RETRIES = 100
_STUCK_SECONDS = 60.0


class ProbeWire:
    """What a probe sends and receives.

    :param name: The probe's unique ID, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # Transfers so far.
        self.transfers = 0
        # The board, while it has power.
        self.powered: Optional[AnyBoard] = None
        # Marks the last posted read whose result has not been fetched.
        self._posted: Optional[object] = None
        # Faults that happen once, and have happened.
        self._failed: Set[str] = set()
        # Whether the answer to the next read lacks a value.
        self._cut = False

    @property
    def board(self) -> AnyBoard:
        """The board that the probe reaches.

        :raises ProbeError: the probe is not open.
        """
        if self.powered is None:
            raise exceptions.ProbeError("%s is not open" % self._name)
        return self.powered

    def mend(self) -> None:
        """Let faults that happen once happen again."""
        self._failed.clear()

    def read_dp(self, address: int) -> int:
        """Read a debug port register."""
        self._fetch()
        self._count()
        return self.board.dp.read(address)

    def write_dp(self, address: int, data: int) -> None:
        """Write a debug port register."""
        self._fetch()
        self._count()
        self.board.dp.write(address, data)

    def read_ap(self, address: int, count: int) -> Callable[[], Sequence[int]]:
        """Read an access port register several times; return the values' getter."""
        read = self.board.dp.read_ap
        values = [self._access(read, address & 0xC) for _ in range(count)]
        if self._cut:
            self._cut = False
            del values[-1]
        posted = self._posted = object()

        def fetch() -> Sequence[int]:
            if self._posted is posted:
                self._fetch()
            return values

        return fetch

    def write_ap(self, address: int, values: Sequence[int]) -> None:
        """Write one register of the selected access port several times."""
        self._fetch()
        write = self.board.dp.write_ap
        for value in values:
            self._access(write, address & 0xC, value)

    def _access(self, access: Callable[..., Any], *arguments: int) -> Any:
        # One access to the access port, tried again while the answer is WAIT.
        for _ in range(_WAIT_RETRIES):
            self._count()
            try:
                return access(*arguments)
            except WaitResponse:
                continue
            except FaultResponse:
                self._posted = None
                raise exceptions.TransferFaultError() from None
        raise exceptions.TransferTimeoutError("%s: the access port answers WAIT" % self._name)

    def _fetch(self) -> None:
        # The result of a posted read comes with the next read, or else through RDBUFF.
        if self._posted is not None:
            self._posted = None
            self._count()

    def _count(self) -> None:
        self.transfers += 1
        fault = self.board.faults.of_probe(self.transfers, self.board.buffer.words_read)
        if fault is not None:
            self._fail(fault)

    def _fail(self, fault: str) -> None:
        if fault == "unplug_after":
            raise exceptions.ProbeDisconnected("%s is not connected any more" % self._name)
        while fault == "stuck":
            time.sleep(_STUCK_SECONDS)
        if fault not in self._failed:
            self._failed.add(fault)
            if fault == "usb_error":
                raise OSError(errno.EIO, "Input/Output Error")
            self._cut = True
