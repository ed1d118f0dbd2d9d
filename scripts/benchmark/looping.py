"""A capture of looping firmware, whose sensor sends nothing that crashes it.

The firmware is the demo, on the simulated board.

The board runs some hundred thousand instructions a second, so only the first megabytes are run.  By then everything
has come round, main loop, tick and sensor: the trace repeats itself to the byte, and is continued as it would go on.
"""

import itertools
import os
import sys

from gdb_etm.board import uart
from gdb_etm.board.etm import Etmv4Device
from gdb_etm.board.formatter import Formatter
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.units import ETM_M33
from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.program.image import load_elf
from gdb_etm.protocols.etmv4.packets import ASYNC
from gdb_etm.snapshot.writer import write_snapshot

_SENTENCES = (b"$TMP,21.4\n", b"$HUM,45.2\n", b"$PRS,1013.2\n")
_BASE = 0xE0041000
_TRACE_ID = 0x10
_DHCSR, _RUN = 0xE000EDF0, 0xA05F0001
# As a debugger programs the unit: return stack, trace ID, ViewInst always on, then enabled.
_PROGRAM = ((0x010, 0x1001), (0x040, _TRACE_ID), (0x080, 0x201), (0x08C, 0), (0x004, 1))
_STATR = 0x00C
_REGISTERS = {
    "TRCIDR0": 0x1E0,
    "TRCIDR1": 0x1E4,
    "TRCIDR2": 0x1E8,
    "TRCIDR8": 0x180,
    "TRCCONFIGR": 0x010,
    "TRCTRACEIDR": 0x040,
    "TRCAUTHSTATUS": 0xFB8,
    "TRCDEVARCH": 0xFBC,
}
_SLICE = 5000
_COMPARED = 1 << 16


def run(elf, size):
    """Run the firmware until it has made enough trace.

    :param elf: Path of the firmware.
    :param size: Bytes of trace wanted.
    :returns: The trace, and the unit's registers.
    """
    uart.stream = lambda: itertools.chain.from_iterable(itertools.cycle(_SENTENCES))
    trace = bytearray()
    machine = Machine(BoardOptions(elf=elf))

    def code(address):
        memory, offset = machine.bus.memory(address, 2)
        return bytes(memory[offset : offset + 4])

    unit = Etmv4Device(ETM_M33, _BASE, code, machine.dwt, lambda trace_id, data: trace.extend(data))
    unit.handler_mode = lambda: machine.core.engine.xpsr & 0x1FF != 0
    machine.trace = unit
    machine.core.reset()
    for offset, value in _PROGRAM:
        unit.write32(offset, value)
    while unit.read32(_STATR) & 1:
        pass
    machine.write(_DHCSR, 4, _RUN)
    while len(trace) < size:
        machine.run(_SLICE)
        if machine.core.halted:
            sys.exit("the looping firmware halted")
    return bytes(trace), {name: unit.read32(offset) for name, offset in _REGISTERS.items()}


def period(trace):
    """Find an earlier copy of the end of a trace.

    :returns: The end of that copy, and of the trace, both at a synchronisation packet; None without a copy.
    """
    last = trace.rfind(ASYNC)
    if last < _COMPARED:
        return None
    end = trace[last - _COMPARED : last]
    at = trace.rfind(end, 0, last - 1)
    while at >= 0 and not trace.startswith(ASYNC, at + _COMPARED):
        at = trace.rfind(end, 0, at + _COMPARED - 1)
    return (at + _COMPARED, last) if at >= 0 else None


def make(folder, elf, size, really):
    """Write the capture as a snapshot folder, with a line of notes.

    :param size: Bytes in the buffer, a multiple of 16.
    :param really: Bytes of trace that are really run.
    """
    trace, registers = run(elf, really)
    repeats = period(trace)
    note = "%.1f MiB of trace, all of it run on the board" % (len(trace) / (1 << 20))
    if repeats is not None:
        first, last = repeats
        count = (size - last) // (last - first) + 2
        trace = trace[:last] + trace[first:last] * count
        note = "%.1f MiB run on the board; it repeats itself every %d KiB, and is continued so"
        note %= last / (1 << 20), (last - first) // 1024
    frames = bytearray()
    formatter = Formatter(frames.extend)
    for at in range(0, len(trace), 4096):
        formatter.write(_TRACE_ID, trace[at : at + 4096])
        if len(frames) >= size:
            break
    core = Core("cpu_0", "Cortex-M33", {})
    source = TraceSource("ETM_0", "etmv4", registers, core, tuple(load_elf(elf)))
    capture = RawCapture(bytes(frames[:size]), BufferFormat.FRAMES, (source,), BufferEnd.STARTED)
    write_snapshot(capture, folder)
    with open(os.path.join(folder, "note.txt"), "w", encoding="utf-8") as file:
        file.write(note + "\n")


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
