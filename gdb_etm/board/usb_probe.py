"""Simulated boards behind a CMSIS-DAP probe.

pyOCD's own driver for such probes, over USB that is simulated.

Their unique IDs are ``board:m33-hid`` (packets of 64 bytes) and ``board:m33-bulk`` (512), and so on.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Deque, List, Optional

from pyocd.core import exceptions
from pyocd.probe.cmsis_dap_probe import CMSISDAPProbe
from pyocd.probe.debug_probe import DebugProbe
from pyocd.probe.pydapaccess.dap_access_cmsis_dap import DAPAccessCMSISDAP
from pyocd.probe.pydapaccess.interface.interface import Interface

from gdb_etm.board.cmsis_dap import PACKET_COUNT, PACKET_SIZES, Firmware
from gdb_etm.board.power import power_up

if TYPE_CHECKING:
    from gdb_etm.board.board import AnyBoard


class UsbBoardProbe(CMSISDAPProbe):
    """The CMSIS-DAP probe on a simulated board.

    :param name: Which board.
    :param usb: What its USB is: of :data:`PACKET_SIZES`.
    """

    def __init__(self, name: str, usb: str) -> None:
        self.etm_usb = UsbInterface(name, usb)
        self.__name = name
        super().__init__(DAPAccessCMSISDAP(None, interface=self.etm_usb))

    @classmethod
    def get_all_connected_probes(cls, unique_id: Optional[str] = None, is_explicit: bool = False) -> List[DebugProbe]:
        """Return none: they are found by their unique IDs."""
        return []

    @property
    def associated_board_info(self) -> None:
        """What the probe knows of the board: nothing."""
        return None

    def open(self) -> None:
        """Power the board up with the session's options.

        :raises ProbeError: an option is wrong, or the ELF file cannot be loaded.
        """
        options = self.session.options
        self.etm_usb.etm_powered = power_up(self.unique_id, self.__name, options.get)
        super().open()

    def close(self) -> None:
        """Take the power away."""
        super().close()
        self.etm_usb.close()
        board, self.etm_usb.etm_powered = self.etm_usb.etm_powered, None
        if board is not None:
            board.close()


class UsbInterface(Interface):
    """The USB of the probe, as pyOCD's driver uses it.

    :param name: Which board.
    :param usb: Of :data:`PACKET_SIZES`.
    """

    def __init__(self, name: str, usb: str) -> None:
        super().__init__()
        self.vendor_name, self.product_name = "gdb_etm", "simulated CMSIS-DAP"
        self.serial_number = "board:%s-%s" % (name, usb)
        self.packet_size = PACKET_SIZES[usb]
        self.__is_bulk = usb == "bulk"
        self.__firmware: Optional[Firmware] = None
        self.__responses: Deque[bytes] = deque()
        # Packets sent to the probe so far.
        self.etm_packets = 0
        # The board, while it has power.
        self.etm_powered: Optional[AnyBoard] = None

    @property
    def is_bulk(self) -> bool:
        """Whether it has bulk endpoints."""
        return self.__is_bulk

    @property
    def etm_firmware(self) -> Firmware:
        """What runs on the probe.

        :raises ProbeError: It is not open.
        """
        if self.__firmware is None:
            raise exceptions.ProbeError("%s is not open" % self.serial_number)
        return self.__firmware

    def open(self) -> None:
        """Start the firmware."""
        assert self.etm_powered is not None
        self.__firmware = Firmware(self.etm_powered.dp, self.etm_powered.reset, self.packet_size)

    def close(self) -> None:
        """Stop the firmware; what was not fetched is gone."""
        self.__firmware = None
        self.__responses.clear()

    def write(self, data: List[int]) -> None:
        """Send a packet.

        :raises ProbeError: It does not fit, or the probe has no room for its response.
        """
        if len(self.__responses) >= PACKET_COUNT:
            raise exceptions.ProbeError("%d packets were sent and not fetched" % len(self.__responses))
        self.etm_packets += 1
        try:
            response = self.etm_firmware.respond(bytes(data))
        except ValueError as error:
            raise exceptions.ProbeError(str(error)) from error
        # A HID report has its full size always.
        self.__responses.append(response if self.__is_bulk else response.ljust(self.packet_size, b"\0"))

    def read(self) -> List[int]:
        """Fetch the next response."""
        if not self.__responses:
            raise exceptions.ProbeError("no response to fetch")
        return list(self.__responses.popleft())
