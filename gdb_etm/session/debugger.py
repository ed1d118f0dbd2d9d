"""What the session needs from a debugger: GDB, or ELF files."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Callable,
    ContextManager,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Protocol,
    Sequence,
    Tuple,
)

from gdb_etm.access.port import AccessPort
from gdb_etm.history.frames import Function
from gdb_etm.program.isa import Isa

if TYPE_CHECKING:
    from gdb_etm.access.client import Client  # what connects to a process imports it


class SourceLine(NamedTuple):
    """A line of the program's source."""

    # As the debug information names it.
    path: str
    # From 1.
    line: int
    # The file to read it from.
    file: str


class Ran(NamedTuple):
    """A run of the core, from a halt to the next."""

    # Whether the core halted by itself, or the user halted it; if not, the time was over.
    is_itself: bool
    # Seconds of the computer's clock, as short as they can be measured.
    seconds: float


class Debugger(Protocol):
    """Symbols, source lines, disassembly and the target."""

    def function_at(self, address: int) -> Optional[Function]:
        """Find the function that holds an address."""

    def symbol_at(self, address: int) -> str:
        """Name a data address: ``"station+80"``; empty when no symbol is known there."""

    def line_at(self, address: int) -> Optional[SourceLine]:
        """Find the source line of an instruction."""

    def source_text(self, line: SourceLine) -> Optional[str]:
        """Read a source line without leading blanks; None without a file."""

    def disassemble(self, address: int, code: bytes, isa: Isa, before: bytes = b"") -> str:
        """Write an instruction as text: mnemonic, a tab, operands.

        :param address: Where it is.
        :param code: Its bytes as they were traced.
        :param before: Those of its IT block before it.
        """

    def constant(self, expression: str) -> Optional[int]:
        """Evaluate an expression of addresses and sizes; None without meaning."""

    def version(self) -> str:
        """Name the debugger and its version, such as ``"GDB 13.1"``."""

    def program_files(self) -> List[str]:
        """List the ELF files whose code may run on the target."""

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the target's memory.

        :raises AccessError: It cannot be read.
        """

    def registers(self) -> Mapping[str, int]:
        """Read the halted core's registers by lower-case name; empty without a core."""

    def connection(self) -> Optional[str]:
        """Describe the debugger's own connection; None without one."""

    def connect(self, client: Client) -> None:
        """Connect the debugger to the core that the process has opened.

        :param client: The connection to that process, which has a core.
        :raises ConnectError: Its GDB server does not answer.
        """

    def connect_replay(self, where: str) -> None:
        """Make a history that is replayed on this machine the debugger's target.

        :param where: Where it is served, as GDB's ``target remote`` takes it.
        :raises ConnectError: Nobody answers there.
        """

    def server(self) -> Optional[Tuple[str, int]]:
        """Give host and port of the debugger's own server; None without one."""

    def connect_server(self, host: str, port: int) -> None:
        """Connect the debugger to a server.

        :raises ConnectError: It does not answer.
        """

    def monitor(self, command: str) -> str:
        """Run a command of the target's server, and give what it says.

        :raises ConnectError: It does not.
        """

    def refresh(self) -> None:
        """Forget cached registers and memory of the target."""

    def disconnect(self) -> None:
        """End the debugger's connection; its server decides whether the target runs."""

    def access_port(self) -> AccessPort:
        """Reach the target's registers through the debugger's own connection."""

    def is_running(self) -> bool:
        """Check whether the target runs, so that nothing can be read."""

    @property
    def notes_halts(self) -> bool:
        """Whether the session hears of runs and halts from the debugger itself."""

    def kept_quiet(self) -> ContextManager[Callable[[], str]]:
        """Keep what the debugger prints to itself.

        :returns: What gives what was printed since the last call.
        """

    def run_once(self, seconds: Optional[float]) -> Ran:
        """Run the halted core until it halts.

        :param seconds: How long at most, after which it is halted; None: without end.
        :raises CommandError: There is nothing to run.
        """

    def location(self) -> str:
        """Name the place of the halt, such as a function, if known."""

    def load_files(self, paths: Sequence[str]) -> List[str]:
        """Take the symbols of ELF files, where the debugger has none yet.

        A program that lies at the same addresses as one of them gives way to it.

        :param paths: The files.
        :returns: Lines for the user: which program gave way.
        :raises CommandError: That program is one that the debugger has a target for.
        :raises ImageError: A file cannot be read.
        """
