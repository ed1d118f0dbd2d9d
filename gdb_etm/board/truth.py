"""The truth file: what really ran, one record a line."""

from __future__ import annotations

from typing import Collection, Optional, Sequence, TextIO

from gdb_etm.board.accesses import Access, Accesses


class Truth:
    """Writes the truth file, if one is wanted.

    An executed instruction is its address, with ``failed`` after it if it is known that its condition failed; between
    them stand ``exception N return 0x...`` with the number in IPSR, ``exception-return``, ``lockup 0x...``, ``halt
    0x...`` and ``resume 0x...`` with the next instruction's address.
    What an instruction, an exception or a return transfers follows it if it is wanted: ``load ADDRESS SIZE VALUE`` or
    ``store ADDRESS SIZE VALUE``, the size in bytes.

    :param path: The file, or None.
    :param data: Whether transfers are wanted.
    :raises OSError: it cannot be written.
    """

    def __init__(self, path: Optional[str], data: bool = False) -> None:
        self._data = data
        self._file: Optional[TextIO] = None if path is None else open(path, "w", encoding="ascii")

    def executed(self, addresses: Sequence[int], accesses: Accesses, failed: Collection[int] = ()) -> None:
        """Write executed instructions."""
        if self._file is None or not addresses:
            return
        if not (self._data and accesses or failed):
            self._file.write("".join(["0x%08x\n" % address for address in addresses]))
            return
        for index, address in enumerate(addresses):
            self._line("0x%08x%s" % (address, " failed" if index in failed else ""))
            self._transfers(accesses.get(index, ()))

    def exception(self, number: int, return_address: int, pushed: Sequence[Access]) -> None:
        """Write an exception entry."""
        self._line("exception %d return 0x%08x" % (number, return_address))
        self._transfers(pushed)

    def exception_return(self, popped: Sequence[Access]) -> None:
        """Write an exception return."""
        self._line("exception-return")
        self._transfers(popped)

    def lockup(self, address: int) -> None:
        """Write that the core locked up."""
        self._line("lockup 0x%08x" % address)

    def halt(self, pc: int) -> None:
        """Write a halt, and make sure that all is in the file."""
        self._line("halt 0x%08x" % pc)
        self.flush()

    def resume(self, pc: int) -> None:
        """Write the end of a halt."""
        self._line("resume 0x%08x" % pc)

    def flush(self) -> None:
        """Make sure that all is in the file."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _transfers(self, accesses: Sequence[Access]) -> None:
        for access in accesses if self._data else ():
            kind = "store" if access.store else "load"
            self._line("%s 0x%08x %d 0x%x" % (kind, access.address, access.size, access.value))

    def _line(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text + "\n")
