"""Access ports of an OpenOCD, by its monitor commands.

Where the memory that a server gives GDB has no trace hardware in it, as on a Cortex-A: ``dap apreg`` reaches the
registers of every access port (OpenOCD User's Guide 0.12, "ARM DAP subcommands"), and the commands are Tcl, so that a
loop of accesses is one command.

Registers of a MEM-AP: Arm Debug Interface v5.2 (IHI 0031), C2.6.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping

from gdb_etm.access.memory_port import MemoryPort
from gdb_etm.coresight.romtable import Space
from gdb_etm.errors import AccessError, ConnectError
from gdb_etm.program.modes import status_name
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.servers import kind_of

# More than any chip was seen to have; APSEL has 8 bits.
_MOST_PORTS = 8
# IDR.CLASS of a MEM-AP, and BASE: an entry is present.
_CLASS, _MEM_AP = 0xF << 13, 0x8 << 13
_PRESENT = 1
# CSW: size and increment, 32 bits, an increment by them.
_SHAPE, _WORD, _INCREMENT = 0x37, 0x02, 0x10
# Addresses are incremented that far for certain (C2.2.2).
_PAGE = 0x400
_MOST_WORDS = 512
_HEX = re.compile(r"\b0x[0-9a-fA-F]+\b")
# Between two commands OpenOCD looks after its targets, and moves CSW and TAR: not while these run.
_FRAME = (
    "set p [string match {{*polling: on*}} [poll]]; poll off; set c [string trim [{ap} 0]]; set r {{}}; "
    "set failed [catch {{{ap} 0 [expr {{($c & ~{shape}) | {wanted}}}]; {ap} 4 {address}; %s}} said]; "
    "catch {{{ap} 0 $c}}; if {{$p}} {{poll on}}; if {{$failed}} {{error $said}}; set r"
)
# CRn, CRm and opc2 of the fault status and address registers ("Architecture and Core Commands", arm mrc).
_STATUS = {"dfsr": (5, 0, 0), "ifsr": (5, 0, 1), "dfar": (6, 0, 0), "ifar": (6, 0, 2)}
_READ = _FRAME % "for {{set i 0}} {{$i < {words}}} {{incr i}} {{lappend r [string trim [{ap} 12]]}}"
_WRITE = _FRAME % "{ap} 12 {value}"


class MonitorPort(MemoryPort):
    """An :class:`~gdb_etm.access.port.AccessPort` over one access port of OpenOCD's.

    :param debugger: It is connected to OpenOCD.
    :param dap: OpenOCD's name of the debug access port, such as ``"a9.dap"``.
    :param number: Number of the access port.
    """

    def __init__(self, debugger: Debugger, dap: str, number: int) -> None:
        super().__init__("AP %d of %s" % (number, dap))
        self._debugger = debugger
        self._command = "%s apreg %d" % (dap, number)

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        self._run(_WRITE, "write", address, wanted=_WORD, value="0x%x" % value)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        result: List[int] = []
        while len(result) < words:
            at = address + 4 * len(result)
            piece = min(words - len(result), (_PAGE - at % _PAGE) // 4)
            result += self._read(at, piece, _WORD | _INCREMENT)
        return result

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times."""
        result: List[int] = []
        while len(result) < words:
            result += self._read(address, min(words - len(result), _MOST_WORDS), _WORD)
        return result

    def register(self, offset: int) -> int:
        """Read a register of the access port itself."""
        return self._numbers("%s 0x%x" % (self._command, offset), "read AP register", offset)[-1]

    def _read(self, address: int, words: int, wanted: int) -> List[int]:
        found = self._run(_READ, "read", address, wanted=wanted, words=words)
        if len(found) < words:
            raise AccessError("%s: %d words instead of %d at 0x%08x" % (self.name, len(found), words, address), address)
        return found[-words:]

    def _run(self, script: str, what: str, address: int, **values: object) -> List[int]:
        text = script.format(ap=self._command, shape=_SHAPE, address="0x%x" % address, **values)
        return self._numbers(text, what, address)

    def _numbers(self, script: str, what: str, address: int) -> List[int]:
        try:
            said = self._debugger.monitor(script)
        except ConnectError as error:
            # What OpenOCD says of it is on the terminal already.
            raise AccessError("cannot %s 0x%08x through %s" % (what, address, self.name), address) from error
        return [int(number, 16) for number in _HEX.findall(said)]


def fault_status(debugger: Debugger, known: Mapping[str, int]) -> Dict[str, int]:
    """Read DFSR, IFSR, DFAR and IFAR of the halted core, lower-case names.

    :param known: Its other registers.
    :returns: Nothing outside of a fault's handler, and where OpenOCD does not give them.
    """
    if status_name(known.get("cpsr", 0)) is None:
        return {}
    try:
        said = debugger.monitor("list " + " ".join("[arm mrc 15 0 %d %d %d]" % place for place in _STATUS.values()))
    except ConnectError:
        return {}
    words = said.split()
    return dict(zip(_STATUS, map(int, words))) if len(words) == len(_STATUS) and all(map(str.isdigit, words)) else {}


def spaces_of(debugger: Debugger) -> List[Space]:
    """Find the access ports with ROM tables behind the debugger's server.

    :raises ConnectError: The server is no OpenOCD, or has no debug access port.
    """
    kind = kind_of(debugger)
    if kind is None or kind.name != "OpenOCD":
        raise ConnectError(
            "--dap-only through GDB's own connection needs OpenOCD, whose monitor commands reach the DAP"
        )
    names = debugger.monitor("dap names").split()
    spaces = []
    for name in names:
        for number in range(_MOST_PORTS):
            port = MonitorPort(debugger, name, number)
            if port.register(0xFC) & _CLASS != _MEM_AP:
                continue
            base = port.register(0xF8)
            if base & _PRESENT:
                spaces.append(Space(port, base & ~0xFFF))
    if not spaces:
        raise ConnectError("no access port of OpenOCD's has a ROM table (dap names: %s)" % (", ".join(names) or "none"))
    return spaces
