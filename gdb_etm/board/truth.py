"""The truth file: what really ran, one record a line."""

from __future__ import annotations

from typing import Collection, Optional, Sequence, TextIO

from gdb_etm.board.accesses import Accesses, BusAccess
from gdb_etm.board.registers import CORTEX_M, Changes, RegisterSet, State


class Truth:
    """Writes the truth file, if one is wanted.

    An executed instruction is its address, with ``failed`` after it if it is known that its condition failed (VSEL's
    too); between them stand ``exception N return 0x...`` with the number in IPSR, ``exception-return``, ``lockup
    0x...``, ``halt 0x...`` and ``resume 0x...`` with the next instruction's address.
    What an instruction, an exception or a return transfers follows it if it is wanted: ``load ADDRESS SIZE VALUE`` or
    ``store ADDRESS SIZE VALUE``, the size in bytes.
    ``registers NAME=VALUE ...``, if that is wanted, names the registers that have other values than on the line of that
    kind before; the first one names all.  It follows what has changed them, or ``resume``, and comes before an
    instruction when nothing in the file has changed them.  The program status register is without T and IT state.

    :param path: The file, or None.
    :param data: Whether transfers are wanted.
    :param registers: What states of registers hold.
    :raises OSError: it cannot be written.
    """

    def __init__(self, path: Optional[str], data: bool = False, registers: RegisterSet = CORTEX_M) -> None:
        self._data = data
        self._changes = Changes(registers)
        self._file: Optional[TextIO] = None if path is None else open(path, "w", encoding="ascii")

    def executed(
        self,
        addresses: Sequence[int],
        accesses: Accesses,
        failed: Collection[int] = (),
        states: Sequence[State] = (),
    ) -> None:
        """Write executed instructions.

        :param states: The registers before the first of them and after each, if they are known.
        """
        if self._file is None or not addresses:
            return
        if not (self._data and accesses or failed or states):
            self._file.write("".join(["0x%08x\n" % address for address in addresses]))
            return
        self._registers(states[0] if states else None)
        for index, address in enumerate(addresses):
            self._line("0x%08x%s" % (address, " failed" if index in failed else ""))
            self._transfers(accesses.get(index, ()))
            self._registers(states[index + 1] if states else None)

    def exception(
        self, number: int, return_address: int, pushed: Sequence[BusAccess], state: Optional[State] = None
    ) -> None:
        """Write an exception entry."""
        self._line("exception %d return 0x%08x" % (number, return_address))
        self._transfers(pushed)
        self._registers(state)

    def exception_return(self, popped: Sequence[BusAccess], state: Optional[State] = None) -> None:
        """Write an exception return."""
        self._line("exception-return")
        self._transfers(popped)
        self._registers(state)

    def lockup(self, address: int) -> None:
        """Write that the core locked up."""
        self._line("lockup 0x%08x" % address)

    def halt(self, pc: int) -> None:
        """Write a halt, and make sure that all is in the file."""
        self._line("halt 0x%08x" % pc)
        self.flush()

    def resume(self, pc: int, state: Optional[State] = None) -> None:
        """Write the end of a halt."""
        self._line("resume 0x%08x" % pc)
        self._registers(state)

    def flush(self) -> None:
        """Make sure that all is in the file."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _transfers(self, accesses: Sequence[BusAccess]) -> None:
        for access in accesses if self._data else ():
            kind = "store" if access.store else "load"
            self._line("%s 0x%08x %d 0x%x" % (kind, access.address, access.size, access.value))

    def _registers(self, state: Optional[State]) -> None:
        changed = self._changes.next(state) if state is not None else {}
        if changed:
            self._line("registers " + " ".join(["%s=0x%x" % item for item in changed.items()]))

    def _line(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text + "\n")
