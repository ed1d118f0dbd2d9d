"""The truth file: what really ran, one record a line."""

from __future__ import annotations

from typing import Optional, Sequence, TextIO


class Truth:
    """Writes the truth file, if one is wanted.

    An executed instruction is its address; between them stand ``exception N return 0x...`` with the number in IPSR,
    ``exception-return``, ``lockup 0x...``, ``halt 0x...`` and ``resume 0x...`` with the next instruction's address.

    :param path: The file, or None.
    :raises OSError: it cannot be written.
    """

    def __init__(self, path: Optional[str]) -> None:
        self._file: Optional[TextIO] = None if path is None else open(path, "w", encoding="ascii")

    def executed(self, addresses: Sequence[int]) -> None:
        """Write executed instructions."""
        if self._file is not None and addresses:
            self._file.write("".join(["0x%08x\n" % address for address in addresses]))

    def exception(self, number: int, return_address: int) -> None:
        """Write an exception entry."""
        self._line("exception %d return 0x%08x" % (number, return_address))

    def exception_return(self) -> None:
        """Write an exception return."""
        self._line("exception-return")

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

    def _line(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text + "\n")
