"""A history's scene, made once, and how its places are written."""

from __future__ import annotations

import os
from functools import lru_cache, partial
from typing import Optional, Sequence, Tuple

from gdb_etm.diagnosis.library import is_library_file
from gdb_etm.diagnosis.names import DebugNames
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.errors import ImageError
from gdb_etm.history.frames import exception_of
from gdb_etm.program.frame_variables import FrameVariables, load_frame_variables
from gdb_etm.program.isa import Isa
from gdb_etm.program.variables import StaticVariables, load_variables
from gdb_etm.session.debugger import Debugger, SourceLine
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.programs import holds
from gdb_etm.session.recovered import Recovered
from gdb_etm.session.recovery_inputs import version_of
from gdb_etm.session.session import DebugSession
from gdb_etm.views.fault import Words


def scene_for(session: DebugSession, decoded: Decoded, known: Recovered) -> Scene:
    """Give a history's scene; it is kept with its recovery."""
    if known.scene is None:
        known.scene = _scene(session, decoded, known)
    return known.scene


def _scene(session: DebugSession, decoded: Decoded, known: Recovered) -> Scene:
    debugger, recovery = session.debugger, known.recovery

    def file_of(address: int) -> str:
        line = debugger.line_at(address)
        return line.path if line is not None else ""

    variables, frames = variables_of(session, decoded)
    objects = recovery.rules.objects
    markers = objects.markers if objects is not None else frozenset()
    names = DebugNames(variables, frames, markers, file_of, debugger.function_at)
    stacks = decoded.threads(debugger).stacks
    return Scene(recovery, decoded.calls(debugger.function_at), recovery.rules.frames, names, stacks)


def variables_of(session: DebugSession, decoded: Decoded) -> Tuple[StaticVariables, FrameVariables]:
    """Give the variables of a history's program.

    A file that was built again since says nothing of them.
    """
    return debug_information([path for path in session.debugger.program_files() if holds(path, decoded.program)])


def debug_information(paths: Sequence[str]) -> Tuple[StaticVariables, FrameVariables]:
    """Give the variables of ELF files that can be read.

    What is known of a file is kept until it changes.
    """
    return _debug_information(tuple(paths), tuple([version_of(path) for path in paths]))


@lru_cache(maxsize=1)
def _debug_information(
    paths: Tuple[str, ...], versions: Tuple[Tuple[int, ...], ...]
) -> Tuple[StaticVariables, FrameVariables]:
    try:
        return load_variables(paths), load_frame_variables(paths)
    except ImageError:
        readable = [path for path in paths if _is_readable(path)]
        return load_variables(readable), load_frame_variables(readable)


def _is_readable(path: str) -> bool:
    try:
        load_variables([path])
    except ImageError:
        return False
    return True


def words_for(session: DebugSession, decoded: Decoded, scene: Scene) -> Words:
    """Make the debugger's way to write what is in a program."""
    debugger, history = session.debugger, scene.history

    def text(address: int, size: int, isa: Isa) -> str:
        code = history.program.read(address, size)
        return " ".join(debugger.disassemble(address, code, isa).partition("@")[0].split())

    def at(address: int) -> str:
        template = scene.template_at(address & ~1, len(history))
        return "" if template is None else text(template.address, template.size, template.isa)

    def instruction(number: int) -> str:
        one = history.instruction(number)
        return text(one.address, one.size, one.isa)

    def there(address: int) -> Optional[SourceLine]:
        # A library's code that was inlined is of the line that calls it.
        found, call = debugger.line_at(address & ~1), scene.names.inlined_call(address & ~1)
        if call is None:
            return _own(debugger, scene, address & ~1) or found
        caller = debugger.line_at(call.caller)
        is_there = caller is not None and os.path.basename(caller.path) == os.path.basename(call.file)
        return caller._replace(line=call.line) if caller is not None and is_there else None

    def line(address: int) -> str:
        return _line_text(there(address))

    def source(address: int) -> str:
        found = there(address)
        return (debugger.source_text(found) or "").strip() if found is not None else ""

    def symbol(address: int) -> str:
        return debugger.symbol_at(address & ~1)

    def inlined(address: int) -> str:
        call = scene.names.inlined_call(address & ~1)
        return "%s, %s" % (call.name, _line_text(debugger.line_at(address & ~1))) if call is not None else ""

    context = partial(_context, session, decoded, scene)
    return Words(instruction, at, symbol, line, source, inlined, context)


def _own(debugger: Debugger, scene: Scene, address: int) -> Optional[SourceLine]:
    # Of the program's own code that has a library's line: the line of its own just before, in the same function.
    line, function = debugger.line_at(address), debugger.function_at(address)
    if line is None or function is None or not is_library_file(line.path) or scene.names.is_library_code(address):
        return None
    before = (debugger.line_at(one) for one in range(address - 2, function.start - 1, -2))
    return next((one for one in before if one is not None and not is_library_file(one.path)), None)


def _line_text(line: Optional[SourceLine]) -> str:
    return "%s:%d" % (os.path.basename(line.path), line.line) if line is not None else ""


def _context(session: DebugSession, decoded: Decoded, scene: Scene, number: int) -> str:
    activation = scene.activation(number)
    exception = exception_of(activation.frame) if activation is not None else None
    if exception is not None and exception.event is not None:
        return "in %s" % exception.event.name
    threads = decoded.threads(session.debugger)
    own = threads.at(number) if len(threads.threads) > 1 else None
    return "" if own is None else "in thread %s" % threads.label(own.thread.number)
