"""The source, read: derived classes do not shadow a library's names.

A class that derives from a library's gives itself no name that the library might use.

Python 3.13 gave threads an attribute that a class of another project had as its method.  So such a class overrides what
its library offers for that; names of its own begin with two underscores, to which Python adds the name of the class,
or with ``etm_``.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Set

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [path for room in ("gdb_etm", "scripts", "tests") for path in sorted((ROOT / room).rglob("*.py"))]
PREFIXES = ("__", "etm_")
LANGUAGE = {
    "abc.ABC",
    "enum.Enum",
    "enum.IntEnum",
    "enum.IntFlag",
    "typing.Generic",
    "typing.NamedTuple",
    "typing.Protocol",
}
# What is overridden of each library's class, besides Python's special methods.
OVERRIDES: Dict[str, Set[str]] = {
    "gdb.Command": {"invoke", "complete"},
    "gdb.Function": {"invoke"},
    "gdb.MICommand": {"invoke"},
    "gdb.Parameter": {"get_set_string", "get_show_string", "set_doc", "show_doc", "value"},
    "gdb.disassembler.Disassembler": set(),
    "gdb.unwinder.Unwinder": set(),
    "io.BufferedReader": {"read"},
    "io.BytesIO": {"read"},
    "logging.Handler": {"emit"},
    "pyocd.commands.execution_context.CommandExecutionContext": {
        "execute_command",
        "handle_python",
        "handle_system",
        "selected_core",
    },
    "pyocd.core.exceptions.ProbeError": set(),
    "pyocd.core.plugin.Plugin": {"description", "load", "name", "options", "should_load", "version"},
    "pyocd.probe.cmsis_dap_probe.CMSISDAPProbe": {
        "associated_board_info",
        "close",
        "get_all_connected_probes",
        "open",
    },
    "pyocd.probe.debug_probe.DebugProbe": {
        "assert_reset",
        "capabilities",
        "close",
        "connect",
        "disconnect",
        "get_all_connected_probes",
        "get_probe_with_id",
        "is_open",
        "is_reset_asserted",
        "open",
        "product_name",
        "read_ap",
        "read_ap_multiple",
        "read_dp",
        "reset",
        "set_clock",
        "supported_wire_protocols",
        "unique_id",
        "vendor_name",
        "wire_protocol",
        "write_ap",
        "write_ap_multiple",
        "write_dp",
    },
    "pyocd.probe.pydapaccess.interface.interface.Interface": {
        "close",
        "is_bulk",
        "open",
        "packet_size",
        "product_name",
        "read",
        "serial_number",
        "vendor_name",
        "write",
    },
    "pyocd.utility.sockets.ListenerSocket": {"accept"},
    "setuptools.command.build_ext.build_ext": {"run"},
    "typing.ContextManager": set(),
    "typing.Dict": set(),
    "typing.Mapping": set(),
}


class Derived(NamedTuple):
    """A class of ours."""

    name: str
    bases: List[str]
    # What it defines, and what it gives to ``self``.
    names: Set[str]


def module_of(path: Path) -> str:
    """Name a file as an import does."""
    words = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(words[1:] if words[0] == "scripts" else words)


def imported(tree: ast.Module, module: str) -> Dict[str, str]:
    """Give what names stand for that a file imports."""
    found: Dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.split(".")[0]] = one.name if one.asname else one.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            for one in node.names:
                found[one.asname or one.name] = ".".join([*above, *filter(None, [node.module]), one.name])
    return found


def names_of(node: ast.ClassDef) -> Set[str]:
    """List what a class defines."""
    found: Set[str] = set()
    for member in node.body:
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(member.name)
        elif isinstance(member, (ast.Assign, ast.AnnAssign)):
            targets = member.targets if isinstance(member, ast.Assign) else [member.target]
            found.update(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
            if isinstance(one.value, ast.Name) and one.value.id == "self":
                found.add(one.attr)
    return found


def written(node: ast.expr) -> str:
    """Write a dotted name, without the types in brackets after it."""
    if isinstance(node, ast.Subscript):
        return written(node.value)
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (written(node.value), node.attr)
    return node.id if isinstance(node, ast.Name) else ast.dump(node)


def classes(text: str, module: str) -> Iterator[Derived]:
    """Yield a file's classes with the full names of their bases."""
    tree = ast.parse(text)
    known = imported(tree, module)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    known.update({node.name: "%s.%s" % (module, node.name) for node in nodes})
    for node in nodes:
        bases = []
        for base in node.bases:
            first, dot, rest = written(base).partition(".")
            bases.append(known.get(first, "builtins.%s" % first) + dot + rest)
        yield Derived("%s.%s" % (module, node.name), bases, names_of(node))


def library_bases(one: Derived, ours: Dict[str, Derived]) -> Set[str]:
    """List a class's bases in libraries, also through our own classes."""
    found: Set[str] = set()
    for base in one.bases:
        if base in ours:
            found |= library_bases(ours[base], ours)
        elif base not in LANGUAGE and not is_exception(base):
            found.add(base)
    return found


def is_exception(base: str) -> bool:
    """Tell whether a class is one of Python's own exceptions."""
    kind = getattr(builtins, base.rpartition(".")[2], None) if base.startswith("builtins.") else None
    return isinstance(kind, type) and issubclass(kind, BaseException)


def wrong(one: Derived, ours: Dict[str, Derived]) -> List[str]:
    """List what a class should not define."""
    bases = library_bases(one, ours)
    if not bases:
        return []
    offered = {name for base in bases for name in OVERRIDES.get(base, set())}
    return [
        "%s.%s (from %s)" % (one.name, name, ", ".join(sorted(bases)))
        for name in sorted(one.names - offered)
        if not name.startswith(PREFIXES)
    ]


def test_no_name_is_one_that_a_library_might_use() -> None:
    ours = {one.name: one for path in FILES for one in classes(path.read_text("utf-8"), module_of(path))}
    assert [line for one in ours.values() for line in wrong(one, ours)] == []
    assert {base for one in ours.values() for base in library_bases(one, ours)} == OVERRIDES.keys()


@pytest.mark.parametrize("base", [base for base in OVERRIDES if not base.startswith("gdb.")])
def test_what_is_overridden_is_there(base: str) -> None:
    module, _, name = base.rpartition(".")
    library = getattr(importlib.import_module(module), name)
    # What it gives to its objects alone is seen in its source.
    given = set(library.__init__.__code__.co_names) if hasattr(library.__init__, "__code__") else set()
    assert [each for each in OVERRIDES[base] if not hasattr(library, each) and each not in given] == []


def test_what_would_collide_is_seen() -> None:
    text = """
import threading
from pyocd.gdbserver import GDBServer as Base
class Worker(threading.Thread):
    etm_name = __own = 1
    def __init__(self):
        self._context = self.__mine = 2
    def _handle(self): pass
class Server(Base):
    def serve(self): pass
class Later(Worker):
    def work(self): pass
class Plain:
    def work(self): self.answer = 42
"""
    ours = {one.name: one for one in classes(text, "x")}
    assert [line for one in ours.values() for line in wrong(one, ours)] == [
        "x.Worker._context (from threading.Thread)",
        "x.Worker._handle (from threading.Thread)",
        "x.Server.serve (from pyocd.gdbserver.GDBServer)",
        "x.Later.work (from threading.Thread)",
    ]
