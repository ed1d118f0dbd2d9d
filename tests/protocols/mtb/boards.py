"""A board with an MTB, without a debugger, and its buffer decoded."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Union

from gdb_etm.board.bus import RAM_BASE, BusDevice
from gdb_etm.board.listeners import Both
from gdb_etm.board.machine import Machine
from gdb_etm.board.mtb_board import add_mtb
from gdb_etm.board.options import BoardOptions
from gdb_etm.board.variants import VARIANTS
from gdb_etm.capture import Beginning, BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.history.build import build
from gdb_etm.history.store import ExecutionHistory, TracedInstruction
from gdb_etm.program.image import load_elf
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, ExceptionReturn, Gap
from tests.board import witness
from tests.recovery.inputs import Inputs

# Far from what the test programs use of the RAM.
BUFFER = 0x20040000
POSITION, MASTER, FLOW = 0, 4, 8
EN = 1 << 31
Event = Union[int, str]


class Ran(NamedTuple):
    """A run: what the board says, and what the buffer holds."""

    truth: List[Event]
    capture: RawCapture


class MtbRun:
    """A program on a board, traced from its reset on.

    :param board: Which board.
    :param elf: The program.
    :param size: Of the buffer, in bytes.
    :param flow: What is written to FLOW.
    :param images: The program in place of the ELF file.
    :param devices: What there is beside the core's own devices.
    """

    def __init__(
        self,
        board: str,
        elf: Optional[str],
        size: int,
        flow: int = 0,
        images: Sequence[MemoryImage] = (),
        devices: Sequence[BusDevice] = (),
    ) -> None:
        self.recorder = witness.Recorder()
        self.size = size
        self.images = tuple(load_elf(elf)) if elf is not None else tuple(images)
        self.machine = Machine(BoardOptions(board, elf))
        for image in images:
            self.machine.bus.flash[image.address : image.address + len(image.data)] = image.data
        for device in devices or (Inputs(),):
            self.machine.add_device(device)
        self._variant = VARIANTS[board]
        self.mtb = add_mtb(self.machine, self._variant)
        self.machine.trace = Both(self.recorder, self.mtb)
        self.machine.core.reset()
        self.machine.write(witness.DHCSR, 4, witness.HALT)
        self.begin = self.machine.core.engine.pc & ~1
        self._start = len(self.recorder.stream)
        self.write(POSITION, BUFFER - RAM_BASE)
        self.write(FLOW, flow)
        self.write(MASTER, EN | (size // 16).bit_length() - 1)
        self.machine.write(witness.DHCSR, 4, witness.RUN)

    def write(self, offset: int, value: int) -> None:
        """Write a register of the buffer."""
        self.machine.write(self._variant.mtb_base + offset, 4, value)

    def read(self, offset: int) -> int:
        """Read a register of the buffer."""
        return self.machine.read(self._variant.mtb_base + offset, 4)

    def run(self, limit: int) -> None:
        """Run to a halt or about so many instructions; then halt."""
        while not self.machine.core.is_idle() and self.machine.clock.now() < limit:
            self.machine.run(500)
        self.machine.write(witness.DHCSR, 4, witness.HALT)

    def empty(self) -> None:
        """Empty the buffer, and let the core run on."""
        self.write(MASTER, self.read(MASTER) & ~EN)
        self.begin = self.machine.core.engine.pc & ~1
        self._start = len(self.recorder.stream)
        self.write(POSITION, BUFFER - RAM_BASE)
        self.write(MASTER, EN | (self.size // 16).bit_length() - 1)
        self.machine.write(witness.DHCSR, 4, witness.RUN)

    def result(self, begin: bool = True) -> Ran:
        """Read the buffer as it is now.

        :param begin: Whether the capture says where the run began.
        """
        position = self.read(POSITION)
        within = (position & ~7) - (BUFFER - RAM_BASE)
        data = self.machine.read_block(BUFFER, self.size)
        wrapped = bool(position & 4)
        buffer = data[within:] + data[:within] if wrapped else data[:within]
        core = self.machine.core
        pc = core.engine.pc & ~1
        begins = Beginning({"pc": self.begin}) if begin else None
        registers = {"pc": pc, "xpsr": core.engine.xpsr}
        source = TraceSource(
            "MTB_0",
            "mtb",
            {"MTB_MASTER": self.read(MASTER), "VTOR": self.machine.read(0xE000ED08, 4)},
            Core("cpu_0", core.model.name, registers, begin=begins),
            self.images,
        )
        end = BufferEnd.WRAPPED if wrapped else BufferEnd.STARTED
        capture = RawCapture(buffer, BufferFormat.RAW, (source,), end)
        return Ran(told(self.recorder.stream[self._start :]), capture)


def told(stream: Sequence[object]) -> List[Event]:
    """Write what the board says in words that the trace can say."""
    found: List[Event] = []
    for one in stream:
        if isinstance(one, int):
            found.append(one)
        elif isinstance(one, tuple) and one[0] == "exception":
            found.append("exception %d, return %#x" % (one[1], one[2]))
        elif isinstance(one, tuple) and one[0] in ("return", "lockup"):
            found.append(str(one[0]))
    return found


def decoded(history: ExecutionHistory) -> List[Event]:
    """Write what was decoded in the same words, gaps in their own."""
    found: List[Event] = []
    for item in history.walk(1, len(history)):
        if isinstance(item, TracedInstruction):
            found.append(item.address)
        elif isinstance(item, Exception_) and item.name == "Lockup":
            found.append("lockup")
        elif isinstance(item, Exception_) and item.name != DEBUG_HALT:
            found.append("exception %s, return %#x" % (item.vector, item.return_address or 0))
        elif isinstance(item, ExceptionReturn):
            found.append("return")
        elif isinstance(item, Gap):
            found.append(str(item))
    return found


def compare(ran: Ran) -> int:
    """Decode a run, which must be the end of what ran.

    :returns: How many instructions were decoded.
    """
    (history,) = build(ran.capture).values()
    found = decoded(history)
    wanted: Optional[List[Event]] = ran.truth
    if ran.capture.end is BufferEnd.WRAPPED:
        wanted = ran.truth[-len(found) :] if found else []
    assert found == wanted, first_difference(found, wanted or [])
    return len(history)


def first_difference(found: List[Event], wanted: List[Event]) -> str:
    """Say where two lists differ first."""
    at = next((n for n, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))

    def show(events: List[Event]) -> str:
        return " ".join(
            "%#x" % one if isinstance(one, int) else "<%s>" % one for one in events[max(0, at - 6) : at + 6]
        )

    return "%d of %d and %d: %s | %s" % (at, len(found), len(wanted), show(found), show(wanted))
