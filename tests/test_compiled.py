"""The source, read: what scripts/building/compiled.py lists can be compiled together."""

from __future__ import annotations

import ast
from pathlib import Path
from runpy import run_path
from typing import Dict, Iterator, List, Set, Tuple

from tests.test_derived import written
from tests.test_style import ROOT, parse

# Classes with such a base stay Python's own, and others may derive from them.
_NOT_NATIVE = {"NamedTuple", "Enum", "IntEnum", "Flag", "IntFlag", "Exception", "EtmError", "Protocol"}


def sources() -> List[str]:
    """Return the files that are compiled."""
    return list(run_path(str(ROOT / "scripts" / "building" / "compiled.py"))["sources"]())


def _base_names(node: ast.ClassDef) -> Set[str]:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return {base.id for base in bases if isinstance(base, ast.Name)}


def _classes() -> Iterator[Tuple[Path, str, Dict[str, str], ast.ClassDef]]:
    # The classes of the package, each with its file, its module, and where imported names are from.
    for path in sorted((ROOT / "gdb_etm").rglob("*.py")):
        tree = parse(str(path.relative_to(ROOT)))
        imported = {
            alias.asname or alias.name: "%s.%s" % (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                yield path, module, imported, node


def test_every_listed_file_is_there() -> None:
    listed = sources()
    assert len(listed) > 50
    assert len(set(listed)) == len(listed)
    assert all((ROOT / path).is_file() for path in listed)


def test_what_a_class_derives_from_is_compiled_with_it() -> None:
    listed = {ROOT / path for path in sources()}
    native = {
        "%s.%s" % (module, node.name)
        for path, module, _, node in _classes()
        if path in listed and not _base_names(node) & _NOT_NATIVE
    }
    assert "gdb_etm.protocols.stream.PacketStream" in native
    wrong = [
        "%s: %s" % (path.relative_to(ROOT), node.name)
        for path, _, imported, node in _classes()
        if path not in listed and any(imported.get(name) in native for name in _base_names(node))
    ]
    assert wrong == []


def test_what_is_compiled_derives_from_no_library() -> None:
    listed = {ROOT / path for path in sources()}
    ours = {(module, node.name) for _, module, _, node in _classes()}
    wrong = [
        "%s: %s" % (path.relative_to(ROOT), node.name)
        for path, module, imported, node in _classes()
        if path in listed
        for base in map(written, node.bases)
        if base not in _NOT_NATIVE | {"ABC", "Generic"}
        and (module, base) not in ours
        and not imported.get(base, "").startswith("gdb_etm.")
    ]
    assert wrong == []
