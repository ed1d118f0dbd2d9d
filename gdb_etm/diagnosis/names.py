"""Names of memory, as debug information and symbols have them."""

from __future__ import annotations

from typing import AbstractSet, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.library import is_destructor, is_library, is_library_file
from gdb_etm.history.frames import Function
from gdb_etm.program.containers import Container
from gdb_etm.program.datatypes import ARRAY, POINTER
from gdb_etm.program.frame_variables import FormalParameter, FrameVariables
from gdb_etm.program.places import CFA
from gdb_etm.program.variables import StaticVariables

_REGISTERS = 4
# Of LLVM's name for what it has noted.
_TRAP_REASON = "__clang_trap_msg$"


class Area(NamedTuple):
    """A piece of memory with a name, as in ``station.table[2]``."""

    name: str
    start: int
    # In bytes.
    size: int
    is_array: bool

    @property
    def end(self) -> int:
        """The address just past it."""
        return self.start + self.size


class InlinedCall(NamedTuple):
    """A call of a library's function that was inlined."""

    # The function, without its parameters.
    name: str
    # Where the program's own code calls it.
    file: str
    line: int
    # The first address of what calls it.
    caller: int


class DebugNames:
    """Names of memory in ELF files.

    :param variables: Their static variables.
    :param frames: Their local variables.
    :param markers: Addresses of symbols that only mark a place, such as the bounds of a section.
    :param file_of: Gives the path of an instruction's source file; empty where unknown.
    :param function_at: Finds the function that holds an address.
    """

    def __init__(
        self,
        variables: StaticVariables,
        frames: FrameVariables,
        markers: AbstractSet[int],
        file_of: Callable[[int], str],
        function_at: Callable[[int], Optional[Function]],
    ) -> None:
        self._variables = variables
        self._frames = frames
        self._markers = markers
        self.file = file_of
        self._function_at = function_at
        self._found: Dict[int, Sequence[Area]] = {}
        self._locals: Dict[Tuple[int, int], Sequence[Area]] = {}

    def containers(self, address: int) -> Sequence[Area]:
        """List what holds an address: the object first, its innermost member last."""
        found = self._found.get(address)
        if found is None:
            found = self._found[address] = _areas(self._variables.containers(address))
        return found

    def locals(self, pc: int, cfa: int) -> Sequence[Area]:
        """List the variables in a function's frame, each with its members.

        :param pc: Where execution is in the function.
        :param cfa: The canonical frame address.
        """
        found = self._locals.get((pc, cfa))
        if found is None:
            found = self._locals[pc, cfa] = self._find_locals(pc, cfa)
        return found

    def in_frame(self, pc: int, cfa: int, address: int) -> Sequence[Area]:
        """List what holds an address in a function's frame, the variable first.

        :param pc: Where execution is in the function.
        :param cfa: The canonical frame address.
        """
        return _areas(self._frames.containers(pc, {CFA: cfa}, address))

    def _find_locals(self, pc: int, cfa: int) -> List[Area]:
        found: List[Area] = []
        for variable in self._frames.variables(pc):
            offset = variable.places[0].offset if len(variable.places) == 1 else None
            if offset is not None and variable.places[0].base == CFA:
                inside = self._frames.containers(pc, {CFA: cfa}, cfa + offset)
                is_array = bool(inside) and inside[0].kind == ARRAY
                found.append(Area(variable.name, cfa + offset, variable.size, is_array))
        return found

    def function(self, address: int) -> str:
        """Name the function at an address; empty where unknown."""
        found = self._function_at(address & ~1)
        return found.name if found is not None else ""

    def beginning(self, address: int) -> str:
        """Name the function that begins at an address; empty where none does."""
        found = self._function_at(address & ~1)
        return found.name if found is not None and found.start == address & ~1 else ""

    def inlined_call(self, address: int) -> Optional[InlinedCall]:
        """Give the program's own call of what is inlined at an instruction.

        :returns: None where the instruction is the program's own, or in a library's function that was not inlined.
        """
        if not is_library_file(self.file(address)):
            return None
        scopes = list(self._frames.functions(address))
        gone = (
            self._frames.inlined_before(address) if scopes and not is_library(scopes[0].name, scopes[0].file) else None
        )
        scopes = [gone, *scopes] if gone is not None else scopes
        for inner, outer in zip(scopes, scopes[1:]):
            if not inner.is_inlined or not is_library(inner.name, inner.file):
                break
            if not is_library(outer.name, outer.file) and inner.call_line:
                return InlinedCall(inner.name, inner.call_file, inner.call_line, outer.start)
        return None

    def is_library_code(self, address: int) -> bool:
        """Check whether an instruction is of a library's function, inlined or not.

        Its line may be of a header where its function is the program's.
        """
        scopes = self._frames.functions(address)
        return is_library(scopes[0].name, scopes[0].file) if scopes else is_library_file(self.file(address))

    def destructor(self, address: int) -> str:
        """Name the innermost destructor at an instruction; empty without one.

        Inlined ones count, too.
        """
        names = [scope.name for scope in self._frames.functions(address)]
        return next((name for name in names if is_destructor(name)), "")

    def trap_reason(self, address: int) -> str:
        """Give what a compiler has noted at a trap; empty without.

        LLVM makes an inlined function of it, whose name has its kind and the reason.
        """
        names = [scope.name for scope in self._frames.functions(address)]
        noted = next((name for name in names if name.startswith(_TRAP_REASON)), "")
        return ": ".join(filter(None, noted[len(_TRAP_REASON) :].split("$", 1)))

    def parameters(self, address: int) -> Optional[int]:
        """Count the registers that a function's arguments are in; None where unknown.

        :param address: Of its first instruction.
        """
        function = self._frames.beginning(address)
        if function is None:
            return None
        return _REGISTERS if function.is_variadic else min(function.words[1], _REGISTERS)

    def arguments(self, address: int) -> Optional[Sequence[Tuple[FormalParameter, str]]]:
        """List a function's parameters with the registers they begin in.

        :param address: Of its first instruction.
        :returns: Those on the stack are left out; None where they are not known.
        """
        function = self._frames.beginning(address)
        if function is None:
            return None
        return [(one, "r%d" % at) for one, at in zip(function.parameters, function.words[0]) if at < _REGISTERS]

    def gives_pointer(self, address: int) -> bool:
        """Check whether a function may return a pointer.

        :param address: Of its first instruction.
        """
        function = self._frames.beginning(address)
        return function is None or function.result_kind == POINTER

    def gives_bytes(self, address: int) -> bool:
        """Check whether a function may return plain bytes, by its type.

        :param address: Of its first instruction.
        """
        function = self._frames.beginning(address)
        pointee = function.result_pointee if function is not None else None
        return pointee is None or pointee.size <= 1

    def is_copy(self, address: int) -> bool:
        """Check whether a function is a compiler's copy for some calls.

        It may have other parameters.

        :param address: Of its first instruction.
        """
        return bool(self._frames.functions(address)) and self._frames.beginning(address) is None

    def is_marker(self, address: int) -> bool:
        """Check whether a linker script's symbol marks an address."""
        return address in self._markers


def _areas(found: Sequence[Container]) -> Sequence[Area]:
    return [Area(one.path, one.start, one.size, one.kind == ARRAY) for one in found]
