"""Simulated boards as pyOCD debug probes: unique IDs ``board:m33`` and so on.

Opening the probe powers the board up, closing it ends the board.
"""

from __future__ import annotations

import logging
from typing import Any, Callable, Collection, List, Optional, Sequence, Set, Union

from pyocd.probe.debug_probe import DebugProbe

from gdb_etm.board.chips import NAMES
from gdb_etm.board.cmsis_dap import PACKET_SIZES
from gdb_etm.board.power import power_up
from gdb_etm.board.wire import ProbeWire

LOG = logging.getLogger(__name__)


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
        """Return the board of a name, with or without the probe type."""
        kind, _, name = unique_id.lower().rpartition(":")
        name, _, usb = name.partition("-")
        if kind not in ("", "board") or name not in NAMES:
            return None
        if usb in PACKET_SIZES:
            from gdb_etm.board.usb_probe import UsbBoardProbe

            return UsbBoardProbe(name, usb)
        return None if usb else cls(name)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.__name = name
        self.__protocol: Optional[DebugProbe.Protocol] = None
        self.__in_reset = False
        # What it sends and receives.
        self.etm_wire = ProbeWire(self.unique_id)

    @property
    def vendor_name(self) -> str:
        """Who makes it."""
        return "gdb_etm"

    @property
    def product_name(self) -> str:
        """What it is."""
        return "simulated board " + self.__name

    @property
    def unique_id(self) -> str:
        """The name that selects it."""
        return "board:" + self.__name

    @property
    def supported_wire_protocols(self) -> Collection[DebugProbe.Protocol]:
        """Serial wire debug only."""
        return [DebugProbe.Protocol.DEFAULT, DebugProbe.Protocol.SWD]

    @property
    def wire_protocol(self) -> Optional[DebugProbe.Protocol]:
        """The protocol in use, None before :meth:`connect`."""
        return self.__protocol

    @property
    def is_open(self) -> bool:
        """Whether the board has power."""
        return self.etm_wire.powered is not None

    @property
    def capabilities(self) -> Set[DebugProbe.Capability]:
        """The probe's capabilities: pyOCD itself banks debug port registers through SELECT."""
        return {DebugProbe.Capability.BANKED_DP_REGISTERS}

    def open(self) -> None:
        """Power the board up with the session's options.

        :raises ProbeError: an option is wrong, the ELF file cannot be loaded, or the fault `busy` was asked for.
        """
        self.etm_wire.powered = power_up(self.unique_id, self.__name, self.__option)

    def close(self) -> None:
        """Take the power away."""
        board, self.etm_wire.powered = self.etm_wire.powered, None
        if board is not None:
            LOG.info("%s: %d transfers", self.unique_id, self.etm_wire.transfers)
            board.close()

    def connect(self, protocol: Optional[DebugProbe.Protocol] = None) -> None:
        """Select the wire protocol."""
        self.__protocol = DebugProbe.Protocol.SWD

    def disconnect(self) -> None:
        """Release the wire."""
        self.__protocol = None

    def set_clock(self, frequency: float) -> None:
        """Accept any frequency: the simulated wire has none."""

    def reset(self) -> None:
        """Pulse nRESET."""
        self.etm_wire.board.reset()

    def assert_reset(self, asserted: bool) -> None:
        """Drive nRESET; the system resets when it is released."""
        if self.__in_reset and not asserted:
            self.etm_wire.board.reset()
        self.__in_reset = asserted

    def is_reset_asserted(self) -> bool:
        """Return whether nRESET is driven low."""
        return self.__in_reset

    def read_dp(self, addr: int, now: bool = True) -> Union[int, Callable[[], int]]:
        """Read a debug port register."""
        value = self.etm_wire.read_dp(addr)
        return value if now else lambda: value

    def write_dp(self, addr: int, data: int) -> None:
        """Write a debug port register."""
        self.etm_wire.write_dp(addr, data)

    def read_ap(self, addr: int, now: bool = True) -> Union[int, Callable[[], int]]:
        """Read a register of the selected access port."""
        fetch = self.etm_wire.read_ap(addr, 1)
        return fetch()[0] if now else lambda: fetch()[0]

    def write_ap(self, addr: int, data: int) -> None:
        """Write a register of the selected access port."""
        self.etm_wire.write_ap(addr, (data,))

    def read_ap_multiple(
        self, addr: int, count: int = 1, now: bool = True
    ) -> Union[Sequence[int], Callable[[], Sequence[int]]]:
        """Read one register of the selected access port several times."""
        fetch = self.etm_wire.read_ap(addr, count)
        return fetch() if now else fetch

    def write_ap_multiple(self, addr: int, values: Sequence[int]) -> None:
        """Write one register of the selected access port several times."""
        self.etm_wire.write_ap(addr, values)

    def __option(self, name: str) -> Any:
        return None if self.session is None else self.session.options.get(name)
