"""GDB as the session's debugger: symbols, source, disassembly, target."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Callable, ContextManager, Dict, List, Optional, Sequence, Tuple

import gdb

from gdb_etm.access.port import AccessPort
from gdb_etm.errors import AccessError, CommandError, ConnectError, EtmError, ImageError
from gdb_etm.gdbui.charset import ask, tabbed, text_of
from gdb_etm.gdbui.running import TimedRun, kept_quiet
from gdb_etm.gdbui.target import GdbMemoryPort, read_registers
from gdb_etm.gdbui.there import There, minimal_symbol
from gdb_etm.history.frames import Function
from gdb_etm.offline.symbols import SymbolTable, load_symbols, without_hashes
from gdb_etm.program.elf import open_elf
from gdb_etm.program.image import load_elf
from gdb_etm.program.isa import Isa
from gdb_etm.session.debugger import Ran, SourceLine
from gdb_etm.session.disassembler import Disassembler
from gdb_etm.session.source_files import read_source

if TYPE_CHECKING:
    from gdb_etm.access.client import Client

# GDB 11, and before; GDB before 11 keeps nothing but the stack.
_FORGET = (("maintenance flush register-cache", "flushregs"), ("maintenance flush dcache",))
# Where GDB says that its server is.
_TCP = re.compile(r"(?:tcp:)?(\[[0-9a-fA-F:]+\]|[^:\s|/]*):(\d+)\Z")
_SYMBOL = re.compile(r"<(.+)>\Z")
_OPERAND = re.compile(r"0x([0-9a-f]+) <.+>\Z")


class GdbDebugger:
    """The :class:`~gdb_etm.session.debugger.Debugger` that GDB is.

    What is learnt from symbols is kept until :meth:`forget` is called.
    """

    def __init__(self) -> None:
        self._disassembler = Disassembler(self.function_at)
        # The run that was asked for last.
        self.running = TimedRun()
        # Tells which of GDB's answers are of code that is there.
        self.there = There(self.program_files)
        # Whether an instruction's text is for us, not for the user.
        self.is_asking = False
        self._functions: Dict[Tuple[int, int, str], Function] = {}
        self._named: Dict[Function, Function] = {}
        self._names: Dict[int, str] = {}
        self._lines: Dict[int, Optional[SourceLine]] = {}
        self._texts: Dict[Tuple[int, bytes], str] = {}
        self._symbols: Optional[SymbolTable] = None

    def forget(self) -> None:
        """Drop what was learnt from symbols: GDB read others."""
        self.there.forget()
        self._functions.clear()
        self._named.clear()
        self._names.clear()
        self._lines.clear()
        self._texts.clear()
        self._symbols = None

    def function_at(self, address: int) -> Optional[Function]:
        """Find a function by debug information, else by the symbol table.

        Where dropped functions lie over others, by the symbol table alone: the more GDB reads of debug information, the
        more of them it sees, and a frame that it has shown may then be another function's.
        """
        blocks = [] if self.there.is_hiding else self.there.blocks(address)
        if blocks:
            found = self._function_of(blocks[-1])
            if address < found.end:
                return found
        function = self._table().at(address)
        return self._as_named(function) if function is not None else None

    def names_at(self, address: int) -> List[str]:
        """List the names of the function at an address.

        Its own name comes first, then those of symbols with the same start.
        """
        function = self.function_at(address)
        if function is None:
            return []
        return [function.name] + [one.name for one in self._table().functions if one.start == function.start]

    def symbol_at(self, address: int) -> str:
        """Name an address as GDB prints pointers."""
        if address not in self._names:
            self._names[address] = self._minimal(address) if self.there.misnames(address) else _pointer(address)
        return self._names[address]

    def line_at(self, address: int) -> Optional[SourceLine]:
        """Find the source line of an instruction."""
        if address not in self._lines:
            self._lines[address] = self._hidden_line(address) if self.there.hides(address) else _line(address)
        return self._lines[address]

    def source_text(self, line: SourceLine) -> Optional[str]:
        """Read one line of source."""
        return read_source(line.file, line.line).strip() or None

    def disassemble(self, address: int, code: bytes, isa: Isa, before: bytes = b"") -> str:
        """Write an instruction as GDB does, or as Capstone does.

        Capstone is used where GDB sees other bytes.
        """
        key = (address, code)
        if key not in self._texts:
            self.is_asking = True
            try:
                text = _gdb_text(address, code)
            finally:
                self.is_asking = False
            given = self._disassembler.text(address, code, isa, before) if text is None else text
            self._texts[key] = _OPERAND.sub(self._operand, given)
        return self._texts[key]

    def constant(self, expression: str) -> Optional[int]:
        """Evaluate an expression that reads no memory."""
        try:
            return int(gdb.parse_and_eval(expression))
        except gdb.error:
            return None

    def version(self) -> str:
        """Name GDB and its version."""
        return "GDB %s" % gdb.VERSION

    def program_files(self) -> List[str]:
        """List the files that GDB has symbols of, without separate debug files."""
        return [one.filename for one in gdb.objfiles() if one.owner is None and os.path.isfile(one.filename or "")]

    def load_files(self, paths: Sequence[str]) -> List[str]:
        """Load the program's symbols, and add those of further files.

        A file becomes the program if GDB has none, or one that cannot be loaded together with it.
        """
        lines: List[str] = []
        known = [os.path.realpath(name) for name in self.program_files()]
        named = [os.path.realpath(path) for path in paths]
        for path in paths:
            if os.path.realpath(path) in known:
                continue
            program = gdb.current_progspace().filename
            gives_way = bool(program) and os.path.realpath(program) not in named and _is_other(program, path)
            if gives_way:
                self._leave(program, path)
                lines.append("%s is the program now, in the place of %s" % (path, program))
            verb = "file" if gives_way or not program else "add-symbol-file"
            try:
                ask('%s "%s"' % (verb, path.replace("\\", "\\\\").replace('"', '\\"')))
            except gdb.error as error:
                raise ImageError("GDB cannot read %s: %s" % (path, error))
        return lines

    def _leave(self, program: str, path: str) -> None:
        # GDB has two programs at the same addresses for one, and was seen to end with "internal-error" then.
        connection = self.connection()
        if connection is not None:
            words = '%s is not the program that GDB has for %s, which is %s: "file %s" first, if it runs there'
            raise CommandError(words % (path, connection, program, path))
        self.disconnect()  # after "detach" GDB would still ask a server that has ended

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the target's memory."""
        inferior = gdb.selected_inferior()
        if not inferior.pid:
            # GDB would read the program's file.
            raise AccessError("cannot read memory at 0x%08x: GDB is connected to no target" % address, address)
        try:
            return bytes(inferior.read_memory(address, size))
        except gdb.error as error:
            raise AccessError("cannot read memory at 0x%08x: %s" % (address, error), address)

    def registers(self) -> Dict[str, int]:
        """Read the registers of the selected thread's newest frame."""
        return read_registers()

    def connection(self) -> Optional[str]:
        """Describe GDB's connection; None without one that runs a program."""
        inferior = gdb.selected_inferior()
        if not inferior.pid:
            return None
        connection = getattr(inferior, "connection", None)  # new in GDB 12
        if connection is not None:
            return ("%s %s" % (connection.type, connection.details or "")).strip()
        return "the current target"

    def connect(self, client: Client) -> None:
        """Run ``target extended-remote``."""
        _connect("extended-remote", client.hello.gdb_server)

    def connect_replay(self, where: str) -> None:
        """Run ``target remote``."""
        _connect("remote", where)

    def server(self) -> Optional[Tuple[str, int]]:
        """Take apart the address of GDB's remote connection."""
        connection = getattr(gdb.selected_inferior(), "connection", None)  # new in GDB 12
        if connection is None or "remote" not in connection.type:
            return None
        found = _TCP.match(connection.details or "")
        return None if found is None else (found.group(1).strip("[]") or "localhost", int(found.group(2)))

    def connect_server(self, host: str, port: int) -> None:
        """Run ``target extended-remote``."""
        _connect("extended-remote", ("[%s]:%d" if ":" in host else "%s:%d") % (host, port))

    def monitor(self, command: str) -> str:
        """Run ``monitor``."""
        try:
            return ask("monitor " + command)
        except gdb.error as error:
            raise ConnectError("the target's server does not take %s: %s" % (command, error))

    def refresh(self) -> None:
        """Flush GDB's caches of registers and memory.

        The frame of the same level stays selected.
        """
        level = selected_level()
        for commands in _FORGET:
            for command in commands:
                try:
                    gdb.execute(command, False, True)
                    break
                except gdb.error:
                    continue  # of another version of GDB
        if level:
            try:
                gdb.execute("frame %d" % level, False, True)
            except gdb.error:
                pass  # there are not so many frames any more

    def disconnect(self) -> None:
        """Run ``disconnect``; without a connection nothing is to be done."""
        try:
            gdb.execute("disconnect", False, True)
        except gdb.error:
            pass  # "You can't do that when not connected": that is what was wanted

    def access_port(self) -> AccessPort:
        """Reach registers through GDB's own connection."""
        connection = self.connection()
        if connection is None:
            raise ConnectError('GDB is connected to nothing. Try "target extended-remote HOST:PORT" first')
        return GdbMemoryPort(gdb.selected_inferior(), connection)

    def is_running(self) -> bool:
        """Check whether the selected thread runs."""
        thread = gdb.selected_thread()
        return thread is not None and thread.is_running()

    @property
    def notes_halts(self) -> bool:
        """Give True: by GDB's events."""
        return True

    def kept_quiet(self) -> ContextManager[Callable[[], str]]:
        """Have GDB print into a file."""
        return kept_quiet()

    def run_once(self, seconds: Optional[float]) -> Ran:
        """Run ``continue``."""
        self.running = TimedRun()
        return self.running.run(seconds)

    def location(self) -> str:
        """Name the place where the target is halted; empty without one."""
        try:
            frame = gdb.newest_frame()
        except gdb.error:
            return ""
        function = self.function_at(frame.pc()) if self.there.hides(frame.pc()) else None
        return str(function.name if function is not None else text_of(lambda: frame.name() or "0x%08x" % frame.pc()))

    def _function_of(self, block: gdb.Block) -> Function:
        key = int(block.start), int(block.end), text_of(lambda: block.function.print_name)
        if key not in self._functions:
            # The first part of a function need not hold its entry.  Assemblers leave the T32 state in bit 0.
            value = block.function.value().address
            state = block.start & 1
            start = int(value) & ~1 if value is not None else int(block.start) - state
            self._functions[key] = Function(key[2], start, int(block.end) - state)
        return self._functions[key]

    def _as_named(self, function: Function) -> Function:
        # The name as GDB writes it; of several, the one that GDB takes without debug information.
        is_plain = self.there.is_hiding and not function.name.startswith(("_Z", "_R"))
        if function not in self._named:
            found = None if is_plain else minimal_symbol(function.start)
            name = found[0] if found is not None and found[1] == 0 else function.name
            self._named[function] = function._replace(name=name)
        return self._named[function]

    def _minimal(self, address: int) -> str:
        found = minimal_symbol(address)
        if found is None:
            return ""
        return "%s+%d" % found if found[1] else found[0]

    def _hidden_line(self, address: int) -> Optional[SourceLine]:
        line = self.there.line(address)
        if line is None:
            return None
        table = self.there.table(line.file, line.line)
        if table is None:
            return line._replace(file=os.path.normpath(line.file))
        return SourceLine(display_name(table), line.line, text_of(table.fullname))

    def _operand(self, found: "re.Match[str]") -> str:
        address = int(found.group(1), 16)
        name = self.symbol_at(address) if self.there.misnames(address) else ""
        return "0x%x <%s>" % (address, name) if name else found.group(0)

    def _table(self) -> SymbolTable:
        if self._symbols is None:
            try:
                self._symbols = load_symbols(self.program_files())
            except EtmError:
                self._symbols = SymbolTable([])  # GDB could read the files; names from them are a bonus
        return self._symbols


def selected_level() -> int:
    """Count the frames that are newer than the selected one."""
    try:
        frame = gdb.selected_frame().newer()
    except gdb.error:
        return 0
    level = 0
    while frame is not None:
        level, frame = level + 1, frame.newer()
    return level


def _connect(kind: str, where: str) -> None:
    try:
        ask("target %s %s" % (kind, where))
    except gdb.error as error:
        raise ConnectError("GDB cannot connect to %s: %s" % (where, error))


def _is_other(program: str, path: str) -> bool:
    # Whether a program cannot be beside another one: they share addresses, or it is broken, or of another processor.
    others = [(image.address, image.address + len(image.data)) for image in load_elf(path)]
    try:
        with open_elf(program) as mine, open_elf(path) as other:
            if mine["e_machine"] != other["e_machine"]:
                return True
        return any(
            image.address < end and start < image.address + len(image.data)
            for image in load_elf(program)
            for start, end in others
        )
    except ImageError:
        return True


def _pointer(address: int) -> str:
    pointer = gdb.lookup_type("void").pointer()
    if address >= 1 << 8 * pointer.sizeof:
        return ""
    found = _SYMBOL.search(text_of(lambda: gdb.Value(address).cast(pointer).format_string(format="a", raw=True)))
    return without_hashes(found.group(1)) if found is not None else ""


def _line(address: int) -> Optional[SourceLine]:
    found = gdb.find_pc_line(address)
    if found.symtab is None or not found.line:
        return None
    return SourceLine(display_name(found.symtab), found.line, text_of(found.symtab.fullname))


def _gdb_text(address: int, code: bytes) -> Optional[str]:
    inferior = gdb.selected_inferior()
    try:
        architecture = inferior.architecture()
        if not architecture.name().startswith(("arm", "aarch64", "iwmmxt", "xscale")):
            return None
        if bytes(inferior.read_memory(address, len(code))) != code:
            return None
        instruction = architecture.disassemble(address)[0]
    except (gdb.error, UnicodeDecodeError):
        return None
    return tabbed(instruction["asm"]) if instruction["length"] == len(code) else None


def display_name(symtab: gdb.Symtab) -> str:
    """Name a source file as ``set filename-display`` says."""
    style = gdb.parameter("filename-display")
    if style == "basename":
        return os.path.basename(text_of(lambda: symtab.filename))
    return text_of(symtab.fullname if style == "absolute" else lambda: symtab.filename)
