"""Functions at an address, their parameters, and their local variables.

Ref: DWARF Debugging Information Format, version 5, 3.3 (functions), 4.1 (variables).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import ImageError
from gdb_etm.program.code_entries import CodeEntries
from gdb_etm.program.containers import Container, Pointee, known_containers, known_pointee, pointee_of
from gdb_etm.program.conventions import has_convention, placed, refutes
from gdb_etm.program.data_symbols import changed_copies
from gdb_etm.program.datatypes import POINTER, STRUCT, DataType, Types
from gdb_etm.program.dies import DebugTree, attribute, holder_of, name_of, number_of, origins, qualified
from gdb_etm.program.elf import open_elf, readable
from gdb_etm.program.line_programs import LineProgram
from gdb_etm.program.loaded import LoadedElf
from gdb_etm.program.names import name_text
from gdb_etm.program.places import Place, expression_at, frame_base_of, places_of

_WORD = 4
_UNREADABLE = "has debug information that cannot be read"
_FUNCTIONS = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")
_PACK = "DW_TAG_GNU_formal_parameter_pack"
_VARIABLES = ("DW_TAG_formal_parameter", "DW_TAG_variable")


class FormalParameter(NamedTuple):
    """A parameter as the source declares it; ``this`` is one too."""

    name: str
    # In bytes.
    size: int
    is_pointer: bool
    type_name: str
    is_integer: bool


class FunctionScope(NamedTuple):
    """A function whose code is at an address."""

    # With its namespaces and classes, without its parameters.
    name: str
    # Where it is declared, as the line table names the file; empty and 0 where it is not said.
    file: str
    line: int
    # Whether it is inlined here.
    is_inlined: bool
    # Where it is called, of an inlined one, as of where it is declared.
    call_file: str
    call_line: int
    # Its first address there.
    start: int
    parameters: Sequence[FormalParameter]
    # Whether more arguments may follow.
    is_variadic: bool
    # What it returns, in bytes, and its kind, such as STRUCT or SCALAR; 0 and empty: nothing.
    result_size: int
    result_kind: str
    # Whether that is an integer.
    is_result_integer: bool = False
    # What a pointer that it returns points to; None where it returns none, or ``void *``.
    result_pointee: Optional[Pointee] = None

    @property
    def words(self) -> Tuple[List[int], int]:
        """Each parameter's first word, and how many words there are."""
        by_pointer = self.result_kind == STRUCT and self.result_size > _WORD
        return placed([one.size for one in self.parameters], by_pointer)


class LocalVariable(NamedTuple):
    """A parameter or variable that has a place at an address."""

    name: str
    # The function that declares it; and its index among the functions there, where 0 is the innermost.
    function: str
    level: int
    # In bytes.
    size: int
    type_name: str
    is_pointer: bool
    is_parameter: bool
    # Of a pointer: what it points to; None for void, and for a type that is incomplete.
    pointee: Optional[Pointee]
    # Its pieces in order, mostly one.
    places: Sequence[Place]


def cplusplus_name(function: FunctionScope, symbol: str) -> str:
    """Write the name of a function of C++ about as GDB does.

    :param symbol: Its name in the symbol table, of which a part of a function has a suffix.
    """
    parameters = [one.type_name for one in function.parameters if one.name != "this" and not one.name.startswith("__")]
    clone = symbol.partition(".")[2]
    text = "%s(%s)" % (function.name, ", ".join(parameters + ["..."] * function.is_variadic))
    return text + (" [clone .%s]" % clone if clone else "")


class FrameVariables:
    """Functions and local variables of ELF files for 32-bit Arm.

    Where files fill the same memory, that of the earlier one counts.  What damaged debug information says is not known.

    :param files: The functions of each file.
    """

    def __init__(self, files: Sequence[_File]) -> None:
        self._files = files

    def functions(self, address: int) -> Sequence[FunctionScope]:
        """Give the functions at an instruction, the innermost first.

        :returns: Inlined ones, and last the one that has the code; empty where that is not known.
        """
        return next(filter(None, (file.functions(address) for file in self._files)), ())

    def inlined_before(self, address: int) -> Optional[FunctionScope]:
        """Give the nearest inlined function of which no instruction is left.

        It is one of the innermost scope.  Compilers leave a place where it was, and no range; the line table has its
        lines there.

        :param address: Of an instruction at that place, or behind it.
        """
        return next(filter(None, (file.inlined_before(address) for file in self._files)), None)

    def beginning(self, address: int) -> Optional[FunctionScope]:
        """Give the function whose first instruction is at an address.

        :returns: None for any other address, without debug information, and for a copy whose parameters the compiler
            may have changed.
        """
        return next(filter(None, (file.beginning(address) for file in self._files)), None)

    def variables(self, address: int) -> Sequence[LocalVariable]:
        """Give the local variables that have a place before an instruction runs.

        :returns: Those of the innermost block first.
        """
        found = next(filter(None, (file.variables(address) for file in self._files)), [])
        return [variable for variable, _ in found]

    def containers(self, address: int, bases: Mapping[str, int], place: int) -> Sequence[Container]:
        """Give what holds a frame's memory, from the outside in.

        :param address: The frame's instruction.
        :param bases: Values by base: that of CFA, and of registers that are known.
        :param place: The address of memory.
        :returns: The variable, its member, and so on to the innermost; empty where no variable is.
        """
        return [container for container, _ in self._held(address, bases, place)]

    def pointee(self, address: int, bases: Mapping[str, int], place: int) -> Optional[Pointee]:
        """Give what a pointer in a frame's memory points to.

        :param address: The frame's instruction.
        :param bases: Values by base, as for :meth:`containers`.
        :param place: The address of memory.
        :returns: None where no pointer is, for ``void *``, and where the type is incomplete.
        """
        held = self._held(address, bases, place)
        return known_pointee(held[-1][1]) if held else None

    def _held(self, address: int, bases: Mapping[str, int], place: int) -> Sequence[Tuple[Container, DataType]]:
        return next(filter(None, (file.held(address, bases, place) for file in self._files)), ())


class _File:
    def __init__(self, path: str, code: CodeEntries, copies: Sequence[int]) -> None:
        self._path, self._code = path, code
        self._copies = frozenset(copies)
        self._types = Types(code.tree)
        self._names: Dict[int, List[str]] = {}

    def functions(self, address: int) -> List[FunctionScope]:
        found: List[FunctionScope] = []
        try:
            with readable(self._path, _UNREADABLE):
                scopes = [one for one in self._scopes(address) if one.tag in _FUNCTIONS]
                found = [self._function(one) for one in reversed(scopes)]
        except ImageError:
            pass  # nothing is known
        return found

    def inlined_before(self, address: int) -> Optional[FunctionScope]:
        try:
            with readable(self._path, _UNREADABLE):
                scopes, tree = self._scopes(address), self._code.tree
                inside = tree.children_of_kind(scopes[-1], _FUNCTIONS[1], with_code=True) if scopes else ()
                gone = [(number_of(die, "DW_AT_low_pc"), die) for die in inside if not self._code.ranges(die)]
                before = [(low, die.offset, die) for low, die in gone if low is not None and low <= address]
                return self._function(max(before)[2]) if before else None
        except ImageError:
            return None

    def beginning(self, address: int) -> Optional[FunctionScope]:
        try:
            with readable(self._path, _UNREADABLE):
                die = self._code.function(address) if address not in self._copies else None
                ranges = self._code.ranges(die) if die is not None else []
                if not ranges or ranges[0][0] != address or not has_convention(die):
                    return None
                scope = self._function(die)
                return scope if self._is_called_so(scope, die, address) else None
        except ImageError:
            return None

    def _is_called_so(self, scope: FunctionScope, die: Any, address: int) -> bool:
        # What LLVM knows all callers of has registers that debug information tells.
        held = {
            one.name: one.places[0].base
            for one, _ in self._block(die, (scope.name, 0), None, address)
            if one.is_parameter and len(one.places) == 1 and not one.places[0].is_in_memory
        }
        return not refutes(scope.words[0], [held.get(one.name, "") for one in scope.parameters])

    def variables(self, address: int) -> List[Tuple[LocalVariable, DataType]]:
        found: List[Tuple[LocalVariable, DataType]] = []
        try:
            with readable(self._path, _UNREADABLE):
                scopes = self._scopes(address)
                base = self._frame_base(scopes[0], address) if scopes else None
                for index in reversed(range(len(scopes))):
                    *_, owner = (one for one in scopes[: index + 1] if one.tag in _FUNCTIONS)
                    level = sum(one.tag in _FUNCTIONS for one in scopes[index + 1 :])
                    function = qualified(self._code.tree, owner), level
                    found += self._block(scopes[index], function, base, address)
        except ImageError:
            pass  # what was found is right
        return found

    def held(self, address: int, bases: Mapping[str, int], place: int) -> List[Tuple[Container, DataType]]:
        for variable, kind in self.variables(address):
            if len(variable.places) != 1:
                continue
            (where,) = variable.places
            if where.offset is None or where.base not in bases:
                continue
            start = bases[where.base] + where.offset
            if not start <= place < start + variable.size:
                continue
            return known_containers(variable.name, kind, start, variable.size, place)
        return []

    def _scopes(self, address: int) -> List[Any]:
        function = self._code.function(address)
        return self._code.inside(function, address) if function is not None else []

    def _frame_base(self, function: Any, address: int) -> Optional[Tuple[str, Optional[int]]]:
        base = function.attributes.get("DW_AT_frame_base")
        expression = expression_at(base, function, address, self._code.tree.information) if base is not None else None
        return frame_base_of(expression) if expression is not None else None

    def _block(
        self, scope: Any, function: Tuple[str, int], base: Optional[Tuple[str, Optional[int]]], address: int
    ) -> Iterator[Tuple[LocalVariable, DataType]]:
        for die in self._declarations(scope, *_VARIABLES):
            location, kind = die.attributes.get("DW_AT_location"), self._types.of(die)
            expression = (
                expression_at(location, die, address, self._code.tree.information) if location is not None else None
            )
            if expression is None or kind is None:
                continue
            places = places_of(expression, base, kind.size)
            if places:
                is_parameter = die.tag == "DW_TAG_formal_parameter"
                yield LocalVariable(
                    name_of(die),
                    *function,
                    kind.size,
                    kind.name,
                    kind.kind == POINTER,
                    is_parameter,
                    pointee_of(kind),
                    places,
                ), kind

    def _function(self, die: Any) -> FunctionScope:
        tree = self._code.tree
        file, line = self._place(die, "decl")
        call = self._place(die, "call")
        parameters, is_variadic = self._parameters(die)
        result = self._types.of(die)
        size, kind = (result.size, result.kind) if result is not None else (0, "")
        is_integer = result is not None and result.is_integer
        ranges = self._code.ranges(die)
        start = ranges[0][0] if ranges else number_of(die, "DW_AT_low_pc") or 0
        is_inlined = die.tag == "DW_TAG_inlined_subroutine"
        scope = FunctionScope(
            qualified(tree, die), file, line, is_inlined, *call, start, parameters, is_variadic, size, kind
        )
        pointee = pointee_of(result) if result is not None else None
        return scope._replace(is_result_integer=is_integer, result_pointee=pointee)

    def _parameters(self, die: Any) -> Tuple[List[FormalParameter], bool]:
        # Copies leave parameters out; those of a declaration in a class have no names.
        declared = die
        for declared in origins(die):
            if "DW_AT_specification" in declared.attributes:
                break
        found = []
        for one in self._declarations(declared, "DW_TAG_formal_parameter"):
            kind = self._types.of(one)
            if kind is not None:
                found.append(FormalParameter(name_of(one), kind.size, kind.kind == POINTER, kind.name, kind.is_integer))
        more = self._code.tree.children_of_kind(declared, "DW_TAG_unspecified_parameters")
        return found, next(more, None) is not None

    def _declarations(self, die: Any, *tags: str) -> Iterator[Any]:
        # Those that a template makes of one are an entry's of their own.
        for one in self._code.tree.children_of_kind(die, *tags, _PACK):
            if one.tag == _PACK:
                yield from self._code.tree.children_of_kind(one, *tags)
            else:
                yield one

    def _place(self, die: Any, kind: str) -> Tuple[str, int]:
        # Where it is declared, or called.
        line, holder = number_of(die, "DW_AT_%s_line" % kind), holder_of(die, "DW_AT_%s_file" % kind)
        number = number_of(die, "DW_AT_%s_file" % kind)
        if line is None or holder is None or number is None:
            return "", 0
        unit = holder.cu
        if unit.cu_offset not in self._names:
            program = self._code.tree.information.line_program(unit)
            directory = attribute(unit.get_top_DIE(), "DW_AT_comp_dir")
            folder = directory.value if directory is not None else b""
            self._names[unit.cu_offset] = _file_names(program, folder) if program is not None else []
        names = self._names[unit.cu_offset]
        return (names[number] if 0 <= number < len(names) else ""), line


def load_frame_variables(paths: Sequence[str]) -> FrameVariables:
    """Find the functions of ELF files, and their variables.

    They are read when somebody asks.

    :raises ImageError: When a file cannot be read.  Damaged debug information is as none.
    """
    loaded = (_load(path) for path in paths)
    return FrameVariables([file for file in loaded if file is not None])


def _load(path: str) -> Optional[_File]:
    with open_elf(path) as elf:
        loaded, copies = LoadedElf(elf), changed_copies(elf)
        try:
            with readable(path, _UNREADABLE):
                if elf["e_machine"] == "EM_ARM" and elf.has_dwarf_info():
                    return _File(path, CodeEntries(DebugTree(elf), loaded, True), copies)
        except ImageError:
            pass  # nothing is known
        return None


def _file_names(program: LineProgram, directory: bytes) -> List[str]:
    # By number, as the line table names files: without the compilation's own folder.
    is_old = program.version < 5
    folders = ([directory] if is_old else []) + program.directories
    found = [""] if is_old else []
    for entry in program.files:
        folder = folders[entry.directory] if 0 <= entry.directory < len(folders) else b""
        is_plain = not folder or folder == directory or entry.name.startswith(b"/")
        found.append(name_text(entry.name if is_plain else folder + b"/" + entry.name))
    return found
