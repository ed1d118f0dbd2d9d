"""Trace on board m4, programmed register by register through real pyOCD."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

from pyocd.core.target import Target

from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.program.image import load_elf
from tests.board import hand
from tests.board.hand import KEY, LAR, TRACE_ID, poll
from tests.firmware.cortex_m4.build import elf

ETM, ETB, FUNNEL = 0xE0041000, 0xE0042000, 0xE0043000
CR, SR, TRIGGER, TSSCR, TECR2, TEEVR, TECR1, FFLR = 0x000, 0x010, 0x008, 0x018, 0x01C, 0x020, 0x024, 0x02C
VDEVR, VDCR1, VDCR2, VDCR3, ACVR1, ACTR1 = 0x030, 0x034, 0x038, 0x03C, 0x040, 0x080
SYNCFR, TESSEICR, TSEVR, TRACEIDR = 0x1E0, 0x1F0, 0x1F8, 0x200
STS, RRD, RRP, RWP, CTL, FFSR, FFCR = 0x00C, 0x010, 0x014, 0x018, 0x020, 0x300, 0x304
PROG, ETMEN = 1 << 10, 1 << 11
VALUES, ADDRESSES, STALL, BRANCHES = 1 << 2, 1 << 3, 1 << 7, 1 << 8
CYCLES, SUPPRESS, TIMESTAMPS = 1 << 12, 1 << 18, 1 << 28
ALWAYS, NEVER = 0x6F, 0x406F

_REGISTERS = {"ETMCR": CR, "ETMCCR": 0x004, "ETMIDR": 0x1E4, "ETMCCER": 0x1E8, "ETMTRACEIDR": TRACEIDR}


class Traced(NamedTuple):
    """A traced run of a program to its end."""

    capture: RawCapture
    wrapped: bool
    # The truth's, from the start of the program on.
    lines: List[str]
    # ETMSR after the run.
    status: int


def trace(
    program: str,
    folder: Path,
    control: int = 0,
    size: int = 1 << 20,
    more: Tuple[Tuple[int, int], ...] = (),
    watch: Tuple[Tuple[int, int], ...] = (),
    sync: int = 0x400,
    **options: Any,
) -> Traced:
    """Run a test program to its end with the trace unit on.

    :param control: What is set in ETMCR besides what must be.
    :param more: Writes to the trace unit's registers.
    :param watch: Writes to the DWT's.
    :param options: The board's.
    """
    path, truth = elf(program), folder / "truth"
    with hand.board("m4", elf=path, truth=str(truth), etb_size=size, **options) as session:
        skip = len(hand.read_truth(truth))
        target = session.target
        for offset, value in watch:
            target.write32(0xE0001000 + offset, value)
        start(target, control, sync, more)
        hand.run_to_halt(session)
        status = target.read32(ETM + SR)
        buffer, wrapped = stop(target)
        registers = {name: target.read32(ETM + offset) for name, offset in _REGISTERS.items()}
        lines = hand.read_truth(truth)[skip + 1 :]
    source = TraceSource("ETM_0", "etmv3", registers, Core("cpu_0", "Cortex-M4", {}), tuple(load_elf(path)))
    end = BufferEnd.WRAPPED if wrapped else BufferEnd.STARTED
    return Traced(RawCapture(buffer, BufferFormat.FRAMES, (source,), end), wrapped, lines, status)


def start(target: Target, control: int, sync: int, more: Tuple[Tuple[int, int], ...]) -> None:
    """Bring up buffer, funnel and trace unit, in this order."""
    for base in (ETM, ETB, FUNNEL):
        target.write32(base + LAR, KEY)
    for offset, value in ((CTL, 0), (RWP, 0), (RRP, 0), (FFCR, 3), (CTL, 1)):
        target.write32(ETB + offset, value)
    target.write32(FUNNEL, 0x303)
    # Power first, then nothing but the programming bit.
    target.write32(ETM + CR, PROG)
    poll(target, ETM + SR, 2, 2)
    target.write32(ETM + CR, PROG | ETMEN | control)
    wanted: Dict[int, int] = {TRIGGER: NEVER, TEEVR: ALWAYS, TECR1: 1 << 24, TECR2: 0, TSSCR: 0, FFLR: 12, TSEVR: NEVER}
    wanted.update({SYNCFR: sync, TESSEICR: 0, TRACEIDR: TRACE_ID, VDEVR: ALWAYS, VDCR1: 0, VDCR2: 0, VDCR3: 1 << 16})
    wanted.update(more)
    for offset, value in wanted.items():
        target.write32(ETM + offset, value)
    target.write32(ETM + CR, ETMEN | control)
    poll(target, ETM + SR, 2, 0)


def stop(target: Target) -> Tuple[bytes, bool]:
    """Stop; return the buffer, oldest byte first, and whether it wrapped."""
    target.write32(ETM + CR, target.read32(ETM + CR) | PROG)
    poll(target, ETM + SR, 2, 2)
    target.write32(ETB + FFCR, 0x1003)
    target.write32(ETB + FFCR, 0x1043)
    poll(target, ETB + FFSR, 2, 2)
    target.write32(ETB + CTL, 0)
    wrapped = bool(target.read32(ETB + STS) & 1)
    write, depth = target.read32(ETB + RWP), target.read32(ETB + 0x004)
    target.write32(ETB + RRP, write if wrapped else 0)
    words = [target.read32(ETB + RRD) for _ in range(depth if wrapped else write)]
    return b"".join(word.to_bytes(4, "little") for word in words), wrapped
