"""ELF files in place of a debugger: symbols, source lines, disassembly."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.errors import AccessError, CommandError, ConnectError
from gdb_etm.history.frames import Function
from gdb_etm.offline.lines import LineTable, load_lines
from gdb_etm.offline.symbols import SymbolTable, load_symbols, load_variables
from gdb_etm.program.frame_variables import FrameVariables, cplusplus_name
from gdb_etm.program.isa import Isa
from gdb_etm.session.debugger import Ran, SourceLine
from gdb_etm.session.disassembler import Disassembler, symbol_text
from gdb_etm.session.scenes import debug_information
from gdb_etm.session.source_files import read_source

if TYPE_CHECKING:
    from gdb_etm.access.client import Client

# How names of C++ begin in symbol tables (Itanium C++ ABI, 5.1.2).
_MANGLED = "_Z"


class OfflineDebugger:
    """The :class:`~gdb_etm.session.debugger.Debugger` of the shell: files, and no target.

    :param paths: ELF files with symbols; may be empty.
    :raises ImageError: A file cannot be read.
    """

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self._paths: List[str] = list(paths)
        self._symbols: SymbolTable = load_symbols(self._paths)
        self._variables: Optional[SymbolTable] = None
        self._lines: Optional[LineTable] = None
        # Functions of C++, by what the symbol table has.
        self._names: Dict[Function, Function] = {}
        self._frames: Optional[FrameVariables] = None
        self._disassembler = Disassembler(self.function_at)

    def function_at(self, address: int) -> Optional[Function]:
        """Find a function, with its name in the source."""
        found = self._symbols.at(address)
        return self._spelled(found) if found is not None and found.name.startswith(_MANGLED) else found

    def _spelled(self, function: Function) -> Function:
        if function not in self._names:
            if self._frames is None:
                self._frames = debug_information(self._paths)[1]
            scopes = self._frames.functions(function.start)
            name = function.name if not scopes else cplusplus_name(scopes[-1], function.name)
            self._names[function] = function._replace(name=name)
        return self._names[function]

    def symbol_at(self, address: int) -> str:
        """Find data, or a constant in a function, in the symbol tables."""
        return symbol_text(self._data().at(address) or self.function_at(address), address)

    @property
    def variables(self) -> List[Function]:
        """The data objects in the symbol tables, by address."""
        return self._data().functions

    def _data(self) -> SymbolTable:
        if self._variables is None:
            self._variables = load_variables(self._paths)
        return self._variables

    @property
    def functions(self) -> List[Function]:
        """The functions in the symbol tables, by address."""
        return self._symbols.functions

    def line_at(self, address: int) -> Optional[SourceLine]:
        """Find a source line in DWARF, which is read at first use."""
        return self._line_table().at(address)

    def line_ranges(self, file: str, line: int) -> List[Tuple[int, int]]:
        """Find the code of a source line, as first and last addresses.

        :param file: The end of the file's path, such as ``"rx.c"``.
        """
        return self._line_table().ranges(file, line)

    def lines_of(self, file: str) -> List[int]:
        """List the lines of a source file that have code."""
        return self._line_table().lines_of(file)

    def source_text(self, line: SourceLine) -> Optional[str]:
        """Read one line of source."""
        return read_source(line.file, line.line).strip() or None

    def disassemble(self, address: int, code: bytes, isa: Isa, before: bytes = b"") -> str:
        """Write an instruction as Capstone does."""
        return self._disassembler.text(address, code, isa, before)

    def constant(self, expression: str) -> Optional[int]:
        """Give None: expressions are GDB's."""
        return None

    def version(self) -> str:
        """Name nothing: there is no debugger."""
        return "none"

    def program_files(self) -> List[str]:
        """List the ELF files."""
        return list(self._paths)

    def load_files(self, paths: Sequence[str]) -> List[str]:
        """Take more ELF files."""
        self._paths += [path for path in paths if path not in self._paths]
        self._symbols = load_symbols(self._paths)
        self._variables = self._lines = self._frames = None
        self._names.clear()
        return []

    def _line_table(self) -> LineTable:
        if self._lines is None:
            self._lines = load_lines(self._paths)
        return self._lines

    def read_memory(self, address: int, size: int) -> bytes:
        """Refuse: there is no target."""
        raise AccessError("no target", address, "lost")

    def registers(self) -> Mapping[str, int]:
        """Give nothing: there is no target."""
        return {}

    def connection(self) -> Optional[str]:
        """Give nothing: there is no target."""
        return None

    def connect(self, client: Client) -> None:
        """Refuse: there is no debugger to connect."""
        raise ConnectError("connecting works inside GDB: source gdb_etm, then etm connect")

    def connect_replay(self, where: str) -> None:
        """Refuse: there is no debugger to connect."""
        raise ConnectError("connecting works inside GDB: source gdb_etm, then etm replay")

    def server(self) -> Optional[Tuple[str, int]]:
        """Offline there is none."""
        return None

    def connect_server(self, host: str, port: int) -> None:
        """Refuse: nothing can be connected.

        :raises ConnectError: Always.
        """
        raise ConnectError("GDB is needed for that")

    def monitor(self, command: str) -> str:
        """Refuse: there is no debugger to connect."""
        raise ConnectError("no target")

    def refresh(self) -> None:
        """Do nothing: there is no target."""

    def disconnect(self) -> None:
        """Do nothing: there is no target."""

    def access_port(self) -> AccessPort:
        """Refuse: there is no target."""
        raise ConnectError("connecting works inside GDB: source gdb_etm, then etm connect")

    def is_running(self) -> bool:
        """Give False: nothing runs."""
        return False

    @property
    def notes_halts(self) -> bool:
        """Give False: there are none."""
        return False

    @contextmanager
    def kept_quiet(self) -> Iterator[Callable[[], str]]:
        """Give nothing: nothing is printed."""
        yield lambda: ""

    def run_once(self, seconds: Optional[float]) -> Ran:
        """Refuse: nothing runs."""
        raise CommandError("nothing runs here: source gdb_etm in GDB, then etm connect")

    def location(self) -> str:
        """Give nothing: there is no halt."""
        return ""
