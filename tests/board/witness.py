"""A board without a debugger, and a listener to its core."""

from __future__ import annotations

from typing import Collection, List, Optional, Sequence, Tuple

from gdb_etm.board.accesses import NO_ACCESSES, Accesses, BusAccess
from gdb_etm.board.machine import Machine
from gdb_etm.board.options import BoardOptions

Event = Tuple[str, int, int]


class Recorder:
    """Remembers executed addresses, and between them exceptions, returns and halts."""

    def __init__(self) -> None:
        self.addresses: List[int] = []
        self.events: List[Event] = []
        self.stream: List[object] = []
        self.accesses: List[Tuple[int, BusAccess]] = []
        self.failed: List[int] = []

    def executed(
        self, addresses: Sequence[int], accesses: Accesses = NO_ACCESSES, failed: Collection[int] = ()
    ) -> None:
        self.failed += [len(self.addresses) + index for index in sorted(failed)]
        self.accesses += [(addresses[index], each) for index in sorted(accesses) for each in accesses[index]]
        self.addresses += addresses
        self.stream += addresses

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess] = ()) -> None:
        self._event("exception", number, return_address)

    def exception_return(self, popped: Sequence[BusAccess] = ()) -> None:
        self._event("return", 0, 0)

    def lockup(self, address: int) -> None:
        self._event("lockup", 0, address)

    def debug_entry(self, pc: int) -> None:
        self._event("halt", 0, pc)

    def debug_exit(self, pc: int) -> None:
        self._event("resume", 0, pc)

    def _event(self, name: str, number: int, address: int) -> None:
        self.events.append((name, number, address))
        self.stream.append((name, number, address))


def board(elf: Optional[str], recorder: Recorder, truth: Optional[str] = None, name: str = "m33") -> Machine:
    """Return a board after reset; `run` runs it, not a thread."""
    machine = Machine(BoardOptions(name, elf, truth=truth))
    machine.trace = recorder
    machine.core.reset()
    return machine


DHCSR = 0xE000EDF0
DCRSR = 0xE000EDF4
DCRDR = 0xE000EDF8
DEMCR = 0xE000EDFC
DFSR = 0xE000ED30
HALT = 0xA05F0003
RUN = 0xA05F0001
STEP = 0xA05F0005
MASKED = 0xA05F0008


def register(machine: Machine, number: int) -> int:
    """Read a core register as a debugger does."""
    machine.write(DCRSR, 4, number)
    return machine.read(DCRDR, 4)


def set_register(machine: Machine, number: int, value: int) -> None:
    """Write a core register as a debugger does."""
    machine.write(DCRDR, 4, value)
    machine.write(DCRSR, 4, number | 1 << 16)
