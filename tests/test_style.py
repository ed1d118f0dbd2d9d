"""The source, read: rules of the house that no other tool checks."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple, Union

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = sorted((ROOT / "gdb_etm").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file())
NAMES = [str(path.relative_to(ROOT)) for path in PACKAGE + TESTS]

# Of the package, and of tests.
MAX_FILE_LINES = {"gdb_etm": 400, "tests": 600}
# Of a docstring's first paragraph.
MAX_WORDS = 12
MAX_FUNCTION_LINES = 60
# Files of a folder whose __init__ need not say what each is.
MOST_WITHOUT_A_MAP = 12
# Pages of register declarations are as long as the datasheet.
TABLES = {"gdb_etm/registers"}

# Classes of pyOCD and GDB; their own pages say what a method does that a class derived from them overrides.
FOREIGN = {"DebugProbe", "Plugin", "Command", "Parameter"}

# Where an unforeseen exception meets the user, and must become a message instead of the end of the process.
BROAD_EXCEPT: Dict[str, str] = {
    "gdb_etm/access/request_handler.py": "whatever a request brings about is answered, and others are served on",
    "gdb_etm/program/elf.py": "what pyelftools may raise is nowhere told",
    "gdb_etm/session/background.py": "what its thread fails by is raised on the debugger's",
    "gdb_etm/farm/measure.py": "a fault of ours in one capture is a row, and the others are analysed",
    "gdb_etm/access/watched_probe.py": "what comes out of USB libraries has no common base",
}
# Commands of the shell; everybody else returns lines.
PRINTS = {
    "gdb_etm/__main__.py",
    "gdb_etm/access/server.py",
    "gdb_etm/beside/shell.py",
    "gdb_etm/board/openocd.py",
    "gdb_etm/bundle/shell.py",
    "gdb_etm/commands/anonymise_shell.py",
    "gdb_etm/commands/blackbox_shell.py",
    "gdb_etm/commands/compare_shell.py",
    "gdb_etm/commands/merged.py",
    "gdb_etm/commands/report_shell.py",
    "gdb_etm/commands/selftest_shell.py",
    "gdb_etm/farm/shell.py",
    "gdb_etm/unattended/shell.py",
}

# One of these says what kind of evidence a test file brings.
EVIDENCE = (
    "worked by hand",
    "real captures",
    "differential run",
    "the board's truth",
    "property test",
    "real gdb",
    "real pyocd",
    "real dask",
    "real duckdb",
    "the source",
)

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Named = Union[Function, ast.ClassDef]


@lru_cache(maxsize=None)
def parse(name: str) -> ast.Module:
    """Parse a source file by its path from the root."""
    return ast.parse((ROOT / name).read_text("utf-8"), name)


def functions(name: str) -> Iterator[Function]:
    """Yield every function of a file, nested ones too."""
    return (node for node in ast.walk(parse(name)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def public(name: str) -> Iterator[Tuple[str, Named, List[str]]]:
    """Yield a file's public names: dotted name, node, the class's bases.

    No part of a public name begins with an underscore.
    """
    for node in parse(name).body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        yield node.name, node, []
        if isinstance(node, ast.ClassDef):
            bases = [getattr(base, "id", getattr(base, "attr", "")) for base in node.bases]
            for member in node.body:
                if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and not member.name.startswith("_"):
                    yield "%s.%s" % (node.name, member.name), member, bases


def length(function: Function) -> int:
    """Count a function's lines, without its docstring."""
    first = function.body[0]
    text = first if ast.get_docstring(function) is not None else None
    documentation = (text.end_lineno or 0) - text.lineno + 1 if text else 0
    return (function.end_lineno or 0) - function.lineno + 1 - documentation


def faults_of_module(name: str) -> Iterator[str]:
    """Yield what is wrong with a file as a whole."""
    text = (ROOT / name).read_text("utf-8")
    if not text:
        if not name.endswith("__init__.py"):
            yield "is empty"
        return
    if not ast.get_docstring(parse(name)):
        yield "no docstring"
    if not name.endswith("__init__.py") and "\nfrom __future__ import annotations\n" not in text:
        yield "no future annotations"
    if name.rpartition("/")[0] not in TABLES and text.count("\n") > MAX_FILE_LINES[name.split("/")[0]]:
        yield "more than %d lines" % MAX_FILE_LINES[name.split("/")[0]]
    lines = text.splitlines()
    inline = [number for number, line in enumerate(lines, 1) if "# noqa" in line or "# type: ignore" in line]
    if name != "tests/test_style.py" and inline:
        yield "%s: exceptions to rules stand in setup.cfg, with a reason" % inline


def test_modules() -> None:
    assert [(name, fault) for name in NAMES for fault in faults_of_module(name)] == []


def test_a_large_room_has_a_map_of_all_its_files() -> None:
    wrong = []
    for map_ in (path for path in PACKAGE if path.name == "__init__.py"):
        files = {path.name for path in map_.parent.glob("*.py")} - {"__init__.py"}
        named = set(re.findall(r"``(\w+\.py)``", ast.get_docstring(parse(str(map_.relative_to(ROOT)))) or ""))
        if len(files) > MOST_WITHOUT_A_MAP or named:
            wrong += ["%s: %s" % (map_.parent.name, name) for name in sorted(files ^ named)]
    assert not wrong


def test_no_public_class_name_stands_in_two_rooms() -> None:
    found: Dict[str, List[str]] = {}
    for path in PACKAGE:
        name = str(path.relative_to(ROOT))
        # The protocols' folders are alike by name.
        if not name.startswith("gdb_etm/protocols/"):
            for node in parse(name).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(name)
    assert not {name: where for name, where in found.items() if len(where) > 1}


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_docstrings_begin_with_a_short_paragraph() -> None:
    wrong = []
    for name in NAMES:
        for node in ast.walk(parse(name)):
            words = (ast.get_docstring(node) or "").split("\n\n")[0].split() if isinstance(node, DOCUMENTED) else []
            if len(words) > MAX_WORDS:
                wrong.append("%s:%d %s" % (name, getattr(node, "lineno", 1), " ".join(words)))
    assert not wrong


def is_string(node: ast.stmt) -> bool:
    """Say whether a statement is a string and no more."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_no_string_explains_the_line_above_it() -> None:
    """A comment stands above what it explains."""
    wrong = []
    for name in NAMES:
        for node in ast.walk(parse(name)):
            body = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
            below = body[1:] if isinstance(node, DOCUMENTED) else body
            wrong += ["%s:%d" % (name, each.lineno) for each in below if is_string(each)]
    assert not wrong


def test_functions_are_short_and_say_what_they_return() -> None:
    wrong = []
    for name in NAMES:
        for function in functions(name):
            if length(function) > MAX_FUNCTION_LINES or function.returns is None:
                wrong.append("%s:%d %s" % (name, function.lineno, function.name))
    assert not wrong


def documented_methods() -> Set[str]:
    """Return the names of methods documented in any class."""
    return {
        dotted.rpartition(".")[2]
        for path in PACKAGE
        for dotted, node, _ in public(str(path.relative_to(ROOT)))
        if "." in dotted and ast.get_docstring(node)
    }


def test_public_names_are_documented() -> None:
    known = documented_methods()
    missing = []
    for path in PACKAGE:
        name = str(path.relative_to(ROOT))
        for dotted, node, bases in public(name):
            # A method that another class declares, here or in the library of a base class, is documented there.
            inherited = "." in dotted and (node.name in known or bool(FOREIGN & set(bases)))
            if not ast.get_docstring(node) and not inherited:
                missing.append("%s:%d %s" % (name, node.lineno, dotted))
    assert not missing


def swallows(handler: ast.ExceptHandler) -> bool:
    """Check whether a handler swallows every exception.

    One that cleans up and raises again does not.
    """
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {kind.id if isinstance(kind, ast.Name) else "" for kind in kinds if kind is not None}
    last = handler.body[-1]
    again = isinstance(last, ast.Raise) and last.exc is None
    return (handler.type is None or bool(names & {"Exception", "BaseException"})) and not again


def prints(node: ast.AST) -> bool:
    """Tell whether a node is a call that prints to standard output."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    return isinstance(node, ast.Call) and named and all(keyword.arg != "file" for keyword in node.keywords)


def test_package_neither_prints_nor_swallows() -> None:
    wrong = []
    for name in (str(path.relative_to(ROOT)) for path in PACKAGE):
        for node in ast.walk(parse(name)):
            if name not in PRINTS and prints(node):
                wrong.append("%s:%d prints" % (name, getattr(node, "lineno", 0)))
            if isinstance(node, ast.ExceptHandler) and name not in BROAD_EXCEPT and swallows(node):
                wrong.append("%s:%d catches everything" % (name, node.lineno))
    assert not wrong


def test_allowed_broad_excepts_exist() -> None:
    assert all((ROOT / name).exists() for name in BROAD_EXCEPT)


def test_test_files_name_their_evidence() -> None:
    said = {
        name: " ".join((ast.get_docstring(parse(name)) or "").lower().split()) for name in NAMES if "/test_" in name
    }
    assert len(said) > 300
    wrong = [name for name, docstring in said.items() if not any(kind in docstring for kind in EVIDENCE)]
    assert not wrong, "say which kind of evidence: " + ", ".join(EVIDENCE)


def test_nothing_names_a_place_on_one_machine() -> None:
    private = ("/work" + "/", "/root" + "/", "/home" + "/")
    for path in PACKAGE + TESTS + SCRIPTS:
        text = path.read_text("utf-8")
        assert not [place for place in private if place in text], path
