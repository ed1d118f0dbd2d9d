"""What the self test needs of a core."""

from __future__ import annotations

from typing import ContextManager, Dict, List, Protocol

from gdb_etm.access.port import AccessPort
from gdb_etm.selftest.program import KnownProgram


class TestedCore(Protocol):
    """A core in Debug state: saved, stepped, run, put back."""

    # What it runs.
    program: KnownProgram
    # The exception that the program makes, as the architecture calls it.
    exception_name: str

    @property
    def port(self) -> AccessPort:
        """Its memory."""

    @property
    def is_halted(self) -> bool:
        """Whether it is in Debug state."""

    def halt(self) -> None:
        """Halt it.

        :raises CaptureError: It does not halt.
        """

    def let_run(self) -> None:
        """Have it run on, its state put back."""

    @property
    def pc(self) -> int:
        """Address of the next instruction."""

    def registers(self) -> Dict[str, int]:
        """Read PC and status register, as a capture has them."""

    def stack_pointers(self) -> List[int]:
        """Read the stack pointers that are in use."""

    def is_code(self, address: int, end: int) -> bool:
        """Whether its memory map may have code there."""

    def check_state(self) -> None:
        """See that its state can be put back.

        :raises CaptureError: It cannot.
        """

    def check_exception(self) -> None:
        """See that the program can make an exception.

        :raises StepSkipped: It cannot.
        """

    def put_word_back(self) -> None:
        """Put back what reading of core registers has changed."""

    def save(self) -> int:
        """Read all that the self test may change.

        :returns: The number of core registers.
        """

    def prepare(self) -> None:
        """Hold interrupts back, and have faults halt the core."""

    def restore(self) -> List[str]:
        """Put everything back that was saved.

        :returns: What is not as it was.
        """

    def enter(self, address: int, stack: int, **registers: int) -> None:
        """Set the next instruction, stack pointer and some registers."""

    def step(self) -> int:
        """Run one instruction; give the address of the next one."""

    def run(self) -> int:
        """Run until a BKPT or a fault halts the core.

        :returns: The address of the next instruction.
        """

    def why(self) -> str:
        """Say by its registers why it halted."""

    def forget_code(self, address: int, size: int) -> None:
        """Have the core fetch code anew that the debugger wrote."""

    def vectors_at(self, base: int) -> ContextManager[None]:
        """Have exceptions taken by the vectors at an address.

        :raises StepSkipped: They cannot be moved there.
        """
