"""What a walk needs from the debugger: locations, lines, breakpoints, moves."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.history.lines import SymbolTables


class Locations(Protocol):
    """Finds places in the program by what the user calls them."""

    def code(self, text: str) -> Sequence[Tuple[int, int]]:
        """Find the code of a function, line or address, as ranges.

        Each range is a first and a last address.

        :raises CommandError: There is no such place.
        """

    def data(self, text: str) -> Sequence[Tuple[int, int]]:
        """Find the memory of a variable or another object.

        :returns: Its first and last address.
        :raises CommandError: There is no such object, or it is in no memory.
        """

    def entries(self, text: str) -> Sequence[int]:
        """Find where a location begins: of a function its first instruction.

        :raises CommandError: There is no such place.
        """

    def completions(self, text: str) -> List[str]:
        """List the locations that begin so."""


def required(locations: Optional[Locations]) -> Locations:
    """Give locations that are needed.

    :raises CommandError: Nothing finds any here.
    """
    if locations is None:
        raise CommandError("nothing here finds locations by name; give addresses")
    return locations


class SymbolFile(NamedTuple):
    """A file that the debugger has symbols of."""

    path: str
    # What is added to the addresses in it.
    offset: int
    # Whether it is the program rather than what was added to it.
    is_main: bool


class ReplayPlaces(SymbolTables, Locations, Protocol):
    """Line tables, locations, breakpoints and source text."""

    def locate(self, text: str) -> Sequence[int]:
        """Find the addresses of a location such as ``dispatch``, ``rx.c:121`` or ``*0x304``.

        :raises CommandError: There is no such place.
        """

    def breakpoints(self) -> Dict[int, int]:
        """Give the numbers of the enabled breakpoints by their addresses."""

    def shown(self, file: str) -> str:
        """Name a file of a :class:`~gdb_etm.history.lines.LineEntry` for the user."""

    def text(self, file: str, line: int) -> Optional[str]:
        """Read a source line with its blanks; None without a file."""

    def source_folders(self) -> List[str]:
        """List the folders where the debugger looks for sources."""

    def has_arguments(self, address: int, name: str) -> bool:
        """Check whether the function of that name around an address takes any."""

    def publish(self, values: Mapping[str, Optional[int]]) -> None:
        """Set convenience variables; None makes one void."""

    def gdb_command(self) -> Sequence[str]:
        """Give the words that start the debugger once more.

        :raises ConnectError: They cannot be found.
        """

    def expressions(self, text: str) -> List[str]:
        """List the expressions that begin so."""

    def symbol_files(self) -> Sequence[SymbolFile]:
        """List what the debugger has symbols of."""


class ReverseExecution(Protocol):
    """The debugger's commands for a target in the past."""

    def execute(self, command: str) -> None:
        """Run a command, which prints by itself.

        :raises CommandError: It could not; in the debugger's words.
        """

    def jump(self, place: str, leave: bool) -> None:
        """Bring the debugger to another moment.

        It prints the place as where a program stops.  Breakpoints there do not count as hit.

        :param place: As ``monitor goto`` takes it.
        :param leave: Whether that is the live end.
        :raises CommandError: It is still where it was.
        """

    def inlined(self) -> int:
        """Count the frames of functions inlined where it is."""

    def selected(self) -> int:
        """Give the level of the selected frame; 0 is the innermost."""

    def registers(self) -> Dict[str, int]:
        """Give the known registers of the innermost frame by lower-case names."""
