"""Symbol tables for stepping by line, and GDB's prologue analysis."""

from __future__ import annotations

from typing import NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_etm.history.frames import Function

_ASSEMBLER = (".s", ".S", ".asm", ".sx")


class LineEntry(NamedTuple):
    """One entry of the line table, up to the next entry."""

    # Names the source file; equal for equal files.
    file: str
    # From 1.
    line: int
    start: int
    # Address just past the entry's code.
    end: int
    # Whether it is a recommended place to stop (DWARF 5, 6.2.2, is_stmt).
    is_statement: bool
    # Whether the file's table has two entries at :attr:`start`.
    is_doubled: bool

    @property
    def place(self) -> Tuple[str, int]:
        """The file and the line."""
        return self.file, self.line


class InlinedKey(NamedTuple):
    """Identity of an inlined instance: the same only for the same code."""

    # Lowest address of its parts.
    start: int
    # Address just past the highest of them.
    end: int
    name: str
    # Where it is entered.
    entry: int


class Inlined(NamedTuple):
    """A function that was inlined around an address."""

    # Names this instance; equal at all addresses inside it.
    key: InlinedKey
    name: str
    # File and line of its call; None when the debug information does not say.
    call: Optional[Tuple[str, int]]
    # Whether it is entered at the address, or the address before does not belong to it.
    begins_here: bool


class SymbolTables(Protocol):
    """The symbol tables, as far as stepping needs them."""

    @property
    def version(self) -> int:
        """The first number of the GDB's version whose rules are followed."""

    def line_at(self, address: int) -> Optional[LineEntry]:
        """Find the line-table entry that an address belongs to; None without one."""

    def function_at(self, address: int) -> Optional[Function]:
        """Find the function (not an inlined one) that holds an address."""

    def inlined_at(self, address: int) -> Sequence[Inlined]:
        """List the functions inlined at an address, outermost first."""


def line_start(places: SymbolTables, line: LineEntry) -> int:
    """Find the first of the adjacent entries of a line.

    GDB's find_line_range_start.
    """
    start = line.start
    while start:
        before = places.line_at(start - 1)
        if before is None or before.place != line.place:
            break
        start = before.start
    return start


def after_prologue(places: SymbolTables, function: Function) -> int:
    """Find the address at which stepping into a function stops.

    The end of the prologue as GDB finds it by line numbers (skip_prologue_using_sal), then to the beginning of
    a line (handle_step_into_function).
    """
    line = places.line_at(function.start)
    if line is None or line.file.endswith(_ASSEMBLER):
        return function.start
    address = _body(places, function, line)
    line = places.line_at(address)
    if line is not None and line.start != address and line.end < function.end:
        return line.end
    return address


def _body(places: SymbolTables, function: Function, line: LineEntry) -> int:
    # Two entries at one address are a prologue without instructions; one entry for everything is a
    # function on one line.
    if line.is_doubled or line.end >= function.end:
        return function.start
    while line.end < function.end:
        following = places.line_at(line.end)
        # The scheduler may have moved lines before the first into the prologue; the body begins with a
        # line that is not before it, unless that was inlined.
        if following is None or following.line >= line.line or following.file != line.file:
            break
        if places.inlined_at(line.end):
            break
        line = following
    return line.end if line.end < function.end else line.start
