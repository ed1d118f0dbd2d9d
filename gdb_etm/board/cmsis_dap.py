"""Firmware of a CMSIS-DAP debug probe: commands in, responses out.

Ref: Arm, "CMSIS-DAP: Interface Firmware for CoreSight Debug Access Port", 2.1, "CMSIS-DAP Commands"; each function
names its command.  SWD alone; without SWO and without queued commands, as many probes are.
"""

from __future__ import annotations

import struct
from typing import Callable, Dict, List, Tuple

from gdb_etm.board.dap import DebugPort, FaultResponse, WaitResponse

# Bytes of a packet: USB HID, and high-speed bulk endpoints.
PACKET_SIZES = {"hid": 64, "bulk": 512}
# Packets that the firmware keeps until they are fetched.
PACKET_COUNT = 4

_OK, _ERROR = 0x00, 0xFF
_SWD = 1
# DAP_Info: identifiers, and what they give.
_STRINGS = {0x01: "gdb_etm", 0x02: "simulated CMSIS-DAP"}
_VERSIONS = {64: "1.10", 512: "2.0.0"}
_INFO_VERSION, _INFO_CAPABILITIES, _INFO_COUNT, _INFO_SIZE = 0x04, 0xF0, 0xFE, 0xFF
_CAPABLE_OF_SWD = 1 << 0
# Transfer Request.
_AP, _READ, _MATCH, _MASK = 1 << 0, 1 << 1, 1 << 4, 1 << 5
# Transfer Response.
_ACK_OK, _ACK_WAIT, _ACK_FAULT, _MISMATCH = 1, 2, 4, 1 << 4
_NRESET = 1 << 7


class Firmware:
    """The probe's firmware.

    :param dp: The debug port that it drives.
    :param reset: Resets the system; called when nRESET is released.
    :param packet_size: Bytes of a packet, of :data:`PACKET_SIZES`.
    """

    def __init__(self, dp: DebugPort, reset: Callable[[], None], packet_size: int) -> None:
        self._dp = dp
        self._reset = reset
        self._size = packet_size
        self._pins = _NRESET
        # DAP_TransferConfigure.
        self._wait_retry, self._match_retry, self._match_mask = 100, 0, 0xFFFFFFFF
        # Transfers tried so far, retries among them.
        self.transfers = 0
        self._commands: Dict[int, Callable[[bytes], bytes]] = {
            0x00: self._info,
            0x01: _done,  # DAP_HostStatus
            0x02: self._connect,
            0x03: _done,  # DAP_Disconnect
            0x04: self._transfer_configure,
            0x05: self._transfer,
            0x06: self._transfer_block,
            0x08: self._write_abort,
            0x09: _done,  # DAP_Delay
            0x0A: lambda request: b"\x00\x00",  # DAP_ResetTarget: no sequence of this device's own
            0x10: self._swj_pins,
            0x11: _done,  # DAP_SWJ_Clock
            0x12: _done,  # DAP_SWJ_Sequence: the debug port is always ready for SWD
            0x13: _done,  # DAP_SWD_Configure
            0x1D: self._swd_sequence,
        }

    def respond(self, request: bytes) -> bytes:
        """Carry out a command.

        :returns: The response; a command that is not there has 0xFF.
        :raises ValueError: The request or its response does not fit into a packet.
        """
        if not 0 < len(request) <= self._size:
            raise ValueError("a request of %d bytes in packets of %d" % (len(request), self._size))
        command = self._commands.get(request[0])
        response = b"\xff" if command is None else request[:1] + command(request[1:])
        if len(response) > self._size:
            raise ValueError("a response of %d bytes in packets of %d" % (len(response), self._size))
        return response

    def _info(self, request: bytes) -> bytes:
        # DAP_Info: a length, then the value; a text ends with a zero.
        asked = request[0]
        if asked == _INFO_CAPABILITIES:
            return bytes((1, _CAPABLE_OF_SWD))
        if asked == _INFO_COUNT:
            return bytes((1, PACKET_COUNT))
        if asked == _INFO_SIZE:
            return struct.pack("<BH", 2, self._size)
        text = _VERSIONS[self._size] if asked == _INFO_VERSION else _STRINGS.get(asked)
        return b"\x00" if text is None else bytes((len(text) + 1,)) + text.encode("ascii") + b"\x00"

    def _connect(self, request: bytes) -> bytes:
        return bytes((_SWD if request[0] in (0, _SWD) else 0,))

    def _transfer_configure(self, request: bytes) -> bytes:
        _, self._wait_retry, self._match_retry = struct.unpack_from("<BHH", request)
        return bytes((_OK,))

    def _transfer(self, request: bytes) -> bytes:
        # DAP_Transfer: ends at the first transfer that is not answered OK.
        count, at, done, answer = request[1], 2, 0, _ACK_OK
        data: List[int] = []
        while done < count and answer == _ACK_OK:
            what, value = request[at], 0
            at += 1
            if not what & _READ or what & _MATCH:
                value = int.from_bytes(request[at : at + 4], "little")
                at += 4
            if what & _READ and what & _MATCH:
                answer = self._match(what, value)
            elif what & _READ:
                answer, found = self._try(what, 0)
                data += [found] if answer == _ACK_OK else []
            elif what & _MASK:
                self._match_mask = value
            else:
                answer, _ = self._try(what, value)
            done += answer == _ACK_OK
        return struct.pack("<BB%dI" % len(data), done, answer, *data)

    def _transfer_block(self, request: bytes) -> bytes:
        # DAP_TransferBlock: the same register, many times.
        count, what = struct.unpack_from("<HB", request, 1)
        words = [0] * count if what & _READ else struct.unpack_from("<%dI" % count, request, 4)
        data: List[int] = []
        done, answer = 0, _ACK_OK
        for value in words:
            answer, found = self._try(what, value)
            if answer != _ACK_OK:
                break
            done += 1
            data += [found] if what & _READ else []
        return struct.pack("<HB%dI" % len(data), done, answer, *data)

    def _write_abort(self, request: bytes) -> bytes:
        self._dp.write(0, int.from_bytes(request[1:5], "little"))
        return bytes((_OK,))

    def _swj_pins(self, request: bytes) -> bytes:
        output, select = request[0], request[1]
        before, self._pins = self._pins, (self._pins & ~select) | (output & select)
        if self._pins & ~before & _NRESET:
            self._reset()
        return bytes((self._pins,))

    def _swd_sequence(self, request: bytes) -> bytes:
        # DAP_SWD_Sequence: nothing is driven where bits are read.
        at, read = 1, b""
        for _ in range(request[0]):
            info = request[at]
            size = ((info & 0x3F or 64) + 7) // 8
            if info & 0x80:
                read += b"\xff" * size
            at += 1 if info & 0x80 else 1 + size
        return bytes((_OK,)) + read

    def _match(self, what: int, value: int) -> int:
        # Read again until the masked value is as wanted.
        for _ in range(self._match_retry + 1):
            answer, found = self._try(what, 0)
            if answer != _ACK_OK or found & self._match_mask == value:
                return answer
        return _ACK_OK | _MISMATCH

    def _try(self, what: int, value: int) -> Tuple[int, int]:
        # One transfer, tried again while it is answered WAIT.
        for _ in range(self._wait_retry + 1):
            self.transfers += 1
            try:
                return _ACK_OK, self._access(what, value)
            except FaultResponse:
                return _ACK_FAULT, 0
            except WaitResponse:
                pass
        return _ACK_WAIT, 0

    def _access(self, what: int, value: int) -> int:
        register = what & 0xC
        if what & _READ:
            return self._dp.read_ap(register) if what & _AP else self._dp.read(register)
        (self._dp.write_ap if what & _AP else self._dp.write)(register, value)
        return 0


def _done(request: bytes) -> bytes:
    return bytes((_OK,))
