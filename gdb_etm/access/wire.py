"""Messages between the process beside GDB and its client.

One JSON object a line.

The first line of the server is ``{"hello": {...}}`` or ``{"error": {...}}``; every later line answers one request
``{"id": N, "op": "read32", ...}`` with ``{"id": N, ...}``; ``{"farewell": {...}}`` comes unasked, when nothing can be
answered any more.  Bulk data travels as base64 of little-endian words.
Standard library only: this file is loaded by GDB's own Python as well.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import AccessError, ConnectError, EtmError, plain

# Version of this protocol; a client refuses a server that speaks another one.
PROTOCOL = 3
# ``Hello.core`` of a session that has opened access ports alone.
NO_CORE = -1
# Longest line that either side accepts, in bytes.
MAX_LINE = 1 << 20
# Most words in one request; more are fetched in several, so that Ctrl-C and GDB's own accesses get a turn.
MAX_WORDS = 4096
# Most writes that one client may leave to be done when it is gone.
MAX_AT_END = 256 + (1 << 14)

# The largest number of a reply.
_MOST = (1 << 64) - 1
# Of accesses that failed.
_KINDS = ("fault", "timeout", "lost", "busy")

# One line, parsed.
Message = Dict[str, Any]

# What each side's words are.
_CORE = {"number": int, "name": str, "cpuid": int, "ap": int}
_AP = {"id": int, "name": str, "idr": int, "rom": int, "has_rom": bool}
_HELLO = {
    **dict.fromkeys(("pyocd", "probe", "probe_uid", "target", "gdb_server"), str),
    **{"core": int, "running": bool, "reverse": bool},
}
# What GDB's "target extended-remote" takes: no program, whose output GDB would read.
_GDB_SERVER = re.compile(r"(?:/.+|localhost:\d{1,5})?\Z")


class CoreInfo(NamedTuple):
    """One core that the debug session found."""

    # Its number in pyOCD, from 0.
    number: int
    # Product and revision, such as ``"Cortex-M33 r0p4"``.
    name: str
    cpuid: int
    # The ``id`` of the access port it is on.
    ap: int


class ApInfo(NamedTuple):
    """One memory access port."""

    # APSEL of an ADIv5 port, base address of an ADIv6 port; what :meth:`Client.port` takes.
    id: int
    # Type and id, such as ``"AHB-AP 0"``.
    name: str
    idr: int
    # Base address of its ROM table; meaningless unless ``has_rom``.
    rom: int
    has_rom: bool


class Hello(NamedTuple):
    """What the server says first."""

    protocol: int
    # pyOCD's version.
    pyocd: str
    # The probe's description, such as ``"Arm DAPLink CMSIS-DAP"``.
    probe: str
    probe_uid: str
    # pyOCD's target type, such as ``"cortex_m"``.
    target: str
    # What GDB's ``target extended-remote`` takes: a socket's path or ``localhost:PORT``; empty without a core.
    gdb_server: str
    # Number of the core that ``gdb_server`` serves, or :data:`NO_CORE`.
    core: int
    # Whether that core is left running when the session ends: it ran when the session opened, or was halted by it.
    running: bool
    cores: Tuple[CoreInfo, ...]
    aps: Tuple[ApInfo, ...]
    # Whether GDB is served reverse execution, from the captures that it is given.
    reverse: bool = False
    # Lines for the user: that the system keeps nobody away from ``gdb_server``, project files that are not used.
    warnings: Tuple[str, ...] = ()


def describe(hello: Hello) -> str:
    """Say in a line what was opened, by which pyOCD."""
    core = next((core.name for core in hello.cores if core.number == hello.core), None)
    if core is None:
        served = "access ports only: " + (", ".join(ap.name for ap in hello.aps) or "none")
    else:
        served = "%s, GDB server on %s" % (core, hello.gdb_server)
    return "pyOCD %s, %s: %s" % (hello.pyocd, hello.probe, served)


def encode_words(words: Sequence[int]) -> str:
    """Pack 32-bit words for a reply."""
    return base64.b64encode(struct.pack("<%dI" % len(words), *words)).decode("ascii")


def decode_words(text: str, count: int) -> List[int]:
    """Unpack ``count`` words of a reply.

    :raises ValueError: The text is not base64, or holds another number of words.
    """
    try:
        return list(struct.unpack("<%dI" % count, base64.b64decode(text, validate=True)))
    except (binascii.Error, struct.error, TypeError) as error:
        raise ValueError("bad data in a reply: %s" % error) from None


def encode_line(message: Message) -> bytes:
    """Write one message as a line."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def decode_line(line: bytes) -> Message:
    """Parse one line.

    :raises ValueError: It is not a JSON object.
    """
    try:
        message = json.loads(line.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(message, dict):
        raise ValueError("not a JSON object")
    return message


def hello_message(hello: Hello) -> Message:
    """Write a hello as a message."""
    fields = hello._asdict()
    fields["cores"] = [core._asdict() for core in hello.cores]
    fields["aps"] = [ap._asdict() for ap in hello.aps]
    return {"hello": fields}


def farewell_message(reason: str) -> Message:
    """Return the last message, which reports the loss of the probe."""
    return {"farewell": error_message(AccessError("the debug probe is lost: %s" % reason, kind="lost"))}


def parse_hello(message: Message) -> Hello:
    """Read the server's first message.

    :raises ConnectError: It is the server's error, or no hello of this protocol.
    """
    if "error" in message:
        raise error_from(message["error"])
    fields = message.get("hello")
    if not isinstance(fields, dict) or fields.get("protocol") != PROTOCOL:
        raise ConnectError("the process beside GDB speaks another protocol; install the same gdb_etm on both sides")
    try:
        cores = tuple(CoreInfo(**_checked(core, _CORE)) for core in fields["cores"])
        aps = tuple(ApInfo(**_checked(ap, _AP)) for ap in fields["aps"])
        warnings = tuple(plain(str(each)) for each in fields["warnings"])
        hello = Hello(**dict(_checked(fields, _HELLO), cores=cores, aps=aps, warnings=warnings))
    except (KeyError, TypeError) as error:
        raise ConnectError("bad hello from the process beside GDB: %s" % error) from None
    if hello.core != NO_CORE and hello.core not in [core.number for core in cores]:
        raise ConnectError("bad hello from the process beside GDB: no core %d" % hello.core)
    if _GDB_SERVER.match(hello.gdb_server) is None:
        raise ConnectError("bad hello from the process beside GDB: no GDB server is at %s" % hello.gdb_server)
    return hello


def _checked(fields: Message, kinds: Mapping[str, type]) -> Message:
    # GDB's commands and lines for the user are made of them.
    for name, kind in kinds.items():
        if type(fields[name]) is not kind:
            raise TypeError("%s is no %s" % (name, kind.__name__))
    return {name: plain(value) if isinstance(value, str) else value for name, value in fields.items()}


def reply_fields(reply: Message, kinds: Mapping[str, type]) -> Message:
    """Give fields of a reply, by what each has to be.

    :raises AccessError: One is missing, of another kind, or a number that is negative or longer than 64 bits.
    """
    for name, kind in kinds.items():
        found: Any = reply.get(name)
        if type(found) is not kind or type(found) is int and not 0 <= found <= _MOST:
            raise AccessError('the process beside GDB sent a reply without a right "%s"' % name)
    return {name: reply[name] for name in kinds}


def reply_number(reply: Message, name: str) -> int:
    """Give a number of a reply.

    :raises AccessError: It is no number of 64 bits.
    """
    return int(reply_fields(reply, {name: int})[name])


def reply_texts(reply: Message, name: str) -> List[str]:
    """Give texts of a reply, each as one line.

    :raises AccessError: They are no list.
    """
    return [plain(str(one)) for one in reply_fields(reply, {name: list})[name]]


def error_message(error: EtmError) -> Message:
    """Describe an error for the other side."""
    if isinstance(error, AccessError):
        return {"kind": error.kind, "message": str(error), "address": error.address}
    kind = "connect" if isinstance(error, ConnectError) else "request"
    return {"kind": kind, "message": str(error), "address": None}


def error_from(fields: Any) -> EtmError:
    """Make the exception that the other side described."""
    if not isinstance(fields, dict):
        return EtmError("the other side reported an error it did not describe")
    message = str(fields.get("message"))
    kind = fields.get("kind")
    if kind == "connect":
        return ConnectError(message)
    if kind == "request":
        return EtmError(message)
    address: Optional[int] = fields.get("address") if type(fields.get("address")) is int else None
    return AccessError(message, address, kind if kind in _KINDS else "fault")
