"""Simulated boards as pyOCD debug probes: unique IDs ``board:m33`` and so on.

Opening the probe powers the board up, closing it ends the board.  The probe counts its transfers as they would be on
the wire: one for each access to a port register, and one more to fetch the last of a series of posted reads (ADIv5.2,
B4.2.1).
"""

from __future__ import annotations

import errno
import logging
import time
from typing import TYPE_CHECKING, Any, Callable, Collection, List, Optional, Sequence, Set, Union

from pyocd.core import exceptions
from pyocd.probe.debug_probe import DebugProbe

from gdb_etm.board.dap import FaultResponse, WaitResponse
from gdb_etm.board.faults import parse_faults
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.variants import NAMES
from gdb_etm.errors import EtmError

if TYPE_CHECKING:
    from gdb_etm.board.board import AnyBoard

LOG = logging.getLogger(__name__)

_WAIT_RETRIES = 100
_STUCK_SECONDS = 60.0


class BoardProbe(DebugProbe):
    """The debug probe on a simulated board.

    :param name: Which board.
    """

    @classmethod
    def get_all_connected_probes(cls, unique_id: Optional[str] = None, is_explicit: bool = False) -> List[DebugProbe]:
        """Return a probe for each board there is."""
        return [cls(name) for name in NAMES]

    @classmethod
    def get_probe_with_id(cls, unique_id: str, is_explicit: bool = False) -> Optional[DebugProbe]:
        """Return the board of a name, which pyOCD gives with or without the probe type before it."""
        kind, _, name = unique_id.lower().rpartition(":")
        return cls(name) if kind in ("", "board") and name in NAMES else None

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.transfers = 0
        self._board: Optional[AnyBoard] = None
        self._protocol: Optional[DebugProbe.Protocol] = None
        self._in_reset = False
        # Marks the last posted read whose result has not been fetched.
        self._posted: Optional[object] = None
        # Faults that happen once, and have happened.
        self._failed: Set[str] = set()
        # Whether the answer to the next read lacks a value.
        self._cut = False

    @property
    def vendor_name(self) -> str:
        """Who makes it."""
        return "gdb_etm"

    @property
    def product_name(self) -> str:
        """What it is."""
        return "simulated board " + self._name

    @property
    def unique_id(self) -> str:
        """The name that selects it."""
        return "board:" + self._name

    @property
    def supported_wire_protocols(self) -> Collection[DebugProbe.Protocol]:
        """Serial wire debug only."""
        return [DebugProbe.Protocol.DEFAULT, DebugProbe.Protocol.SWD]

    @property
    def wire_protocol(self) -> Optional[DebugProbe.Protocol]:
        """The protocol in use, None before :meth:`connect`."""
        return self._protocol

    @property
    def is_open(self) -> bool:
        """Whether the board has power."""
        return self._board is not None

    @property
    def capabilities(self) -> Set[DebugProbe.Capability]:
        """What pyOCD may ask for: debug port registers are banked through SELECT by pyOCD itself."""
        return {DebugProbe.Capability.BANKED_DP_REGISTERS}

    @property
    def board(self) -> AnyBoard:
        """The board behind the probe.

        :raises ProbeError: the probe is not open.
        """
        if self._board is None:
            raise exceptions.ProbeError("%s is not open" % self.unique_id)
        return self._board

    def open(self) -> None:
        """Power the board up with the session's options.

        :raises ProbeError: an option is wrong, the ELF file cannot be loaded, or the fault `busy` was asked for.
        """
        # pyOCD imports this file for every command; Unicorn is only needed now.
        from gdb_etm.board.board import make_board

        faults = str(self._option("board.faults") or "")
        size = self._option("board.etb_size")
        speculation = self._option("board.speculation")
        options = BoardOptions(
            board=self._name,
            elf=self._option("board.elf"),
            etb_size=None if size is None else int(size),
            truth=self._option("board.truth"),
            faults=tuple(name for name in faults.split(",") if name),
            comparators=int(self._option("board.comparators") or 0),
            resources=str(self._option("board.resources") or "own"),
            speculation=None if speculation is None else int(speculation),
            truth_data=bool(self._option("board.truth_data")),
            truth_registers=bool(self._option("board.truth_registers")),
            data_trace=bool(self._option("board.data_trace")),
            hold=bool(self._option("board.hold")),
        )
        try:
            if parse_faults(options.faults).busy:
                raise exceptions.ProbeError("%s is in use by another program" % self.unique_id)
            self._board = make_board(options)
        except (EtmError, OSError, ValueError) as error:
            raise exceptions.ProbeError("%s: %s" % (self.unique_id, error)) from error

    def close(self) -> None:
        """Take the power away."""
        if self._board is not None:
            LOG.info("%s: %d transfers", self.unique_id, self.transfers)
            board, self._board = self._board, None
            board.close()

    def connect(self, protocol: Optional[DebugProbe.Protocol] = None) -> None:
        """Select the wire protocol."""
        self._protocol = DebugProbe.Protocol.SWD

    def disconnect(self) -> None:
        """Release the wire."""
        self._protocol = None

    def set_clock(self, frequency: float) -> None:
        """Accept any frequency: the simulated wire is as fast as it can be."""

    def reset(self) -> None:
        """Pulse nRESET."""
        self.board.reset()

    def assert_reset(self, asserted: bool) -> None:
        """Drive nRESET; the system resets when it is released."""
        if self._in_reset and not asserted:
            self.board.reset()
        self._in_reset = asserted

    def is_reset_asserted(self) -> bool:
        """Return whether nRESET is driven low."""
        return self._in_reset

    def read_dp(self, addr: int, now: bool = True) -> Union[int, Callable[[], int]]:
        """Read a debug port register."""
        self._fetch()
        self._count()
        value = self.board.dp.read(addr)
        return value if now else lambda: value

    def write_dp(self, addr: int, data: int) -> None:
        """Write a debug port register."""
        self._fetch()
        self._count()
        self.board.dp.write(addr, data)

    def read_ap(self, addr: int, now: bool = True) -> Union[int, Callable[[], int]]:
        """Read a register of the selected access port."""
        result = self.read_ap_multiple(addr, 1, now=False)
        assert callable(result)
        return result()[0] if now else lambda: int(result()[0])

    def write_ap(self, addr: int, data: int) -> None:
        """Write a register of the selected access port."""
        self.write_ap_multiple(addr, (data,))

    def read_ap_multiple(
        self, addr: int, count: int = 1, now: bool = True
    ) -> Union[Sequence[int], Callable[[], Sequence[int]]]:
        """Read one register of the selected access port several times."""
        read = self.board.dp.read_ap
        register = addr & 0xC
        values = [self._access(read, register) for _ in range(count)]
        if self._cut:
            self._cut = False
            del values[-1]
        posted = self._posted = object()

        def fetch() -> Sequence[int]:
            if self._posted is posted:
                self._fetch()
            return values

        return fetch() if now else fetch

    def write_ap_multiple(self, addr: int, values: Sequence[int]) -> None:
        """Write one register of the selected access port several times."""
        self._fetch()
        write = self.board.dp.write_ap
        register = addr & 0xC
        for value in values:
            self._access(write, register, value)

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
        raise exceptions.TransferTimeoutError("%s: the access port answers WAIT" % self.unique_id)

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
            raise exceptions.ProbeDisconnected("%s is not connected any more" % self.unique_id)
        while fault == "stuck":
            time.sleep(_STUCK_SECONDS)
        if fault not in self._failed:
            self._failed.add(fault)
            if fault == "usb_error":
                raise OSError(errno.EIO, "Input/Output Error")
            self._cut = True

    def _option(self, name: str) -> Any:
        return None if self.session is None else self.session.options.get(name)
