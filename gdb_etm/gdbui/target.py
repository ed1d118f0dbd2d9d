"""GDB's target: its registers, its memory, and running it for scripts."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, List, Optional, Sequence

import gdb

from gdb_etm.access.memory_port import MemoryPort
from gdb_etm.errors import AccessError, CommandError
from gdb_etm.gdbui.charset import one_command
from gdb_etm.gdbui.version import VERSION
from gdb_etm.program.modes import banked_names, status_name

# What GDB's target descriptions call the registers of 32-bit cores; OpenOCD writes xPSR.
_REGISTERS = ["r%d" % number for number in range(13)] + [
    "sp",
    "lr",
    "pc",
    "xpsr",
    "xPSR",
    "cpsr",
    "msp",
    "psp",
    "control",
]
_REGISTERS += ["primask", "basepri", "faultmask", "msplim", "psplim", "msplim_s", "psplim_s", "msplim_ns", "psplim_ns"]
_FLOATS = ["fpscr"] + ["s%d" % number for number in range(32)]
# CONTROL.FPCA: whether the floating-point registers are in use.
_FPCA = 4


def read_registers() -> Dict[str, int]:
    """Read the registers of the newest frame; empty without a target."""
    try:
        frame = gdb.newest_frame()
    except gdb.error:
        return {}
    found = _read(frame, _REGISTERS)
    found.update(_of_failed(frame, found.get("cpsr", 0)))
    # Each of these may cost a transfer.
    if found.get("control", _FPCA) & _FPCA:
        floats = _read(frame, _FLOATS)
        found.update(floats if _are_read(floats) else {})
    return found


def _are_read(floats: Dict[str, int]) -> bool:
    # OpenOCD takes no note that each read of a unit that is off fails, and gives the same for all of its registers.
    pairs = {(floats["s%d" % number], floats["s%d" % (number + 1)]) for number in range(0, 32, 2)} if floats else set()
    return len(pairs) != 1 or pairs == {(0, 0)}


def _of_failed(frame: gdb.Frame, cpsr: int) -> Dict[str, int]:
    # What an A-profile core's handler of a fault has found; each costs a change of the core's mode.
    name = status_name(cpsr)
    status = {} if name is None else _read(frame, [name])
    banked = banked_names(status[name]) if name in status else None
    return status if banked is None else {**status, **_read(frame, banked)}


def _read(frame: gdb.Frame, names: Sequence[str]) -> Dict[str, int]:
    found = {}
    for name in names:
        try:
            # The bits, whatever the type is: flags, a pointer, a float.  A printer in Python would swallow Ctrl-C.
            found[name.lower()] = int(frame.read_register(name).format_string(format="x", raw=True), 16) & 0xFFFFFFFF
        except (ValueError, gdb.error):
            continue  # there is no such register, or it is not available
    return found


class GdbMemoryPort(MemoryPort):
    """An :class:`~gdb_etm.access.port.AccessPort` made of GDB's memory reads and writes.

    :param inferior: The program whose target is read.
    :param name: The connection, for messages.
    """

    def __init__(self, inferior: gdb.Inferior, name: str) -> None:
        super().__init__(name)
        self._inferior = inferior

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        try:
            with _whole_memory():
                self._inferior.write_memory(address, struct.pack("<I", value))
        except gdb.error as error:
            raise AccessError("write of 0x%08x failed: %s" % (address, error), address)

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        try:
            with _whole_memory():
                data = self._inferior.read_memory(address, 4 * words)
        except gdb.error as error:
            raise AccessError("read of 0x%08x failed: %s" % (address, error), address)
        return list(struct.unpack("<%dI" % words, bytes(data)))


@contextmanager
def _whole_memory() -> Iterator[None]:
    # A server's memory map often lists flash and RAM only; by default GDB then refuses the debug registers.
    if not gdb.parameter("mem inaccessible-by-default"):
        yield
        return
    gdb.execute("set mem inaccessible-by-default off")
    try:
        yield
    finally:
        gdb.execute("set mem inaccessible-by-default on")


class GdbRunner:
    """The :class:`~gdb_etm.api.target.Runner` that GDB is.

    :param reset: Gives the monitor commands that reset the chip and halt the core.
    """

    def __init__(self, reset: Callable[[], Sequence[str]]) -> None:
        self._reset = reset
        self._breakpoints: Dict[int, gdb.Breakpoint] = {}

    def run(self, seconds: Optional[float]) -> bool:
        """Run ``continue``, which returns at the halt."""
        if seconds is not None:
            raise CommandError("seconds: GDB itself waits for the halt; Ctrl-C halts the core")
        _execute("continue")
        return True

    def halt(self) -> None:
        """Refuse: while Python runs, GDB takes no note of a halt."""
        raise CommandError('the core runs in the background; "interrupt" at the prompt halts it')

    def reset(self) -> None:
        """Reset the chip by monitor commands."""
        for command in self._reset():
            _execute("monitor " + command)
        # Nothing was run that would tell GDB that the registers have changed.
        _execute("maintenance flush register-cache" if VERSION >= (11,) else "flushregs")

    def load(self, path: str) -> None:
        """Write a program with GDB's ``load``, and reset the chip."""
        _execute('load "%s"' % path.replace("\\", "\\\\").replace('"', '\\"'))
        self.reset()

    def pc(self) -> int:
        """Ask GDB's newest frame."""
        try:
            return int(gdb.newest_frame().pc())
        except gdb.error as error:
            raise CommandError(str(error).rstrip(".")) from None

    def set_breakpoint(self, address: int) -> int:
        """Set a breakpoint of GDB's."""
        try:
            made = gdb.Breakpoint("*0x%x" % address)
        except gdb.error as error:
            raise CommandError(str(error).rstrip(".")) from None
        self._breakpoints[made.number] = made
        return int(made.number)

    def clear_breakpoint(self, number: int) -> None:
        """Delete it, unless the user did."""
        made = self._breakpoints.pop(number, None)
        if made is not None and made.is_valid():
            made.delete()


def _execute(line: str) -> None:
    try:
        gdb.execute(one_command(line))
    except gdb.error as error:
        raise CommandError(str(error).rstrip(".")) from None
