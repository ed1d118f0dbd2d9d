"""The halted target through its server's packets: registers, memory, and its description."""

from __future__ import annotations

from typing import Dict, List, Optional, Protocol

from gdb_etm.errors import AccessError
from gdb_etm.recovery.values import CoreState
from gdb_etm.replay.layout import RegisterLayout, described, included, old_layout
from gdb_etm.replay.packets import unescape

_BLOCK = 256
_MOST_KEPT = 4096
_MOST_BLOCKS = 1024
# From there on an M-profile core has its own registers (Armv8-M ARM, B3.2).
_DEVICES = 0xE0000000
_MOST_XML = 1 << 18
_PIECE = 0xFF0


class Server(Protocol):
    """The live target's server."""

    def ask(self, data: bytes) -> bytes:
        """Send a packet and give the reply, runs expanded.

        :raises AccessError: It does not answer.
        """

    def send(self, data: bytes) -> None:
        """Send a packet whose reply comes later."""

    def interrupt(self) -> None:
        """Ask that the target halt."""


class Halt:
    """The target as it was when it halted, whatever GDB writes afterwards.

    :param server: Its server.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._layout: Optional[RegisterLayout] = None
        self._registers: Optional[bytes] = None
        self._blocks: Dict[int, Optional[bytes]] = {}
        # Whether more of its memory was written than was kept.
        self._is_lost = False

    @property
    def layout(self) -> RegisterLayout:
        """The registers that the server describes."""
        if self._layout is None:
            self._layout = layout_of(self.server)
        return self._layout

    def state(self) -> CoreState:
        """Read the registers; memory is read when it is asked for.

        :raises AccessError: The server does not give the registers.
        """
        reply = self.keep_registers()
        if len(reply) % 2 or reply[:1] == b"E":
            # A server may say why (Debugging with GDB, E.1: "E.errtext").
            why = ": " + reply[2:].decode("utf-8", "replace") if reply[:2] == b"E." else ""
            raise AccessError("the server does not give the registers" + why)
        self.layout.measure(reply.decode("latin-1"))
        values = self.layout.values(reply.decode("latin-1"))
        return CoreState({name.lower(): value for name, value in values.items()}, self.read)

    def before_write(self, data: bytes) -> None:
        """Keep what a packet is about to overwrite."""
        if data[:1] in (b"G", b"P"):
            self.keep_registers()
            return
        try:
            address, size = (int(word, 16) for word in data[1:].partition(b":")[0].split(b","))
        except ValueError:
            return
        if size > _MOST_KEPT or len(self._blocks) > _MOST_BLOCKS:
            self._is_lost = True  # a program is being loaded
        elif size and address < _DEVICES:
            self.read(address, size)

    def keep_registers(self) -> bytes:
        """Read the registers, once: the reply to a ``g`` packet."""
        if self._registers is None:
            self._registers = self.server.ask(b"g")
        return self._registers

    def read(self, address: int, size: int) -> Optional[bytes]:
        """Read RAM; None when it cannot be read."""
        if self._is_lost:
            return None
        data = b""
        for start in range(address // _BLOCK * _BLOCK, address + size, _BLOCK):
            if start not in self._blocks:
                self._blocks[start] = read_memory(self.server, start, _BLOCK)
            block = self._blocks[start]
            if block is None:
                return None
            data += block
        first = address % _BLOCK
        return data[first : first + size]


def read_memory(server: Server, address: int, size: int) -> Optional[bytes]:
    """Read memory by one ``m`` packet.

    None when the server refuses, or gives less.
    """
    reply = server.ask(b"m%x,%x" % (address, size))
    try:
        data = bytes.fromhex(reply.decode("ascii"))
    except ValueError:
        return None
    return data if len(data) == size else None


def layout_of(server: Server) -> RegisterLayout:
    """Read a server's own description of its registers."""
    xml = _document(server, "target.xml")
    if xml is None:
        return old_layout()
    documents: List[str] = [xml]
    for name in included(xml):
        documents.append(_document(server, name) or "")
    return described("\n".join(documents)) or old_layout()


def _document(server: Server, name: str) -> Optional[str]:
    data = b""
    while len(data) < _MOST_XML:
        reply = server.ask(b"qXfer:features:read:%s:%x,%x" % (name.encode("ascii"), len(data), _PIECE))
        if reply[:1] not in (b"m", b"l"):
            return None
        data += unescape(reply[1:])
        if reply[:1] == b"l":
            return data.decode("utf-8", "replace")
        if len(reply) == 1:
            return None
    return None
