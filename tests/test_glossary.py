"""The source, read: docs/glossary.md has each term once, in order.

Classes and files that it names exist.

A term that a module's docstring sets in *asterisks* is in the glossary.
"""

from __future__ import annotations

import ast
import re
from typing import Dict, List, Set

from tests.test_style import NAMES, PACKAGE, ROOT, parse

GLOSSARY = ROOT / "docs" / "glossary.md"
_ENTRY = re.compile(r"- \*\*(.+?)\*\*: ([A-Z].*\.)")
_SET_APART = re.compile(r"(?<![*\w`])\*([A-Za-z][A-Za-z -]*)\*(?![*\w`])")
_CLASS = re.compile(r"[Cc]lass `(\w+)`")
_PATH = re.compile(r"`([a-z0-9_/]+(?:\.py|/))`")
# Characters of what is said of a term: two sentences, and where to read on.
_LONGEST = 260


def parts() -> Dict[str, List[str]]:
    """Read the glossary: its entries by their part's heading."""
    found: Dict[str, List[str]] = {}
    for line in GLOSSARY.read_text("utf-8").splitlines():
        if line.startswith("## "):
            entries = found[line[3:]] = []
        elif line.startswith("- "):
            entries.append(line)
    return found


def terms() -> List[str]:
    """List the terms of all parts."""
    return [match.group(1) for entries in parts().values() for match in map(_ENTRY.fullmatch, entries) if match]


def singular(word: str) -> str:
    """Return a term without capitals and plural."""
    return word.lower().rstrip("s")


def test_each_term_is_there_once_and_in_order() -> None:
    assert len(parts()) == 7
    for heading, entries in parts().items():
        matches = [_ENTRY.fullmatch(entry) for entry in entries]
        assert None not in matches, heading
        assert all(match and len(match.group(2)) <= _LONGEST for match in matches), heading
        words = [match.group(1).lower() for match in matches if match]
        assert words == sorted(words), heading
    assert len(set(map(singular, terms()))) == len(terms()) > 80


def test_terms_of_the_modules_are_in_it() -> None:
    known: Set[str] = set(map(singular, terms()))
    used = [
        (name, word)
        for name in NAMES
        if name.startswith("gdb_etm/")
        for word in _SET_APART.findall(" ".join((ast.get_docstring(parse(name)) or "").split()))
    ]
    assert used
    assert [(name, word) for name, word in used if singular(word) not in known] == []


def test_classes_and_files_that_it_names_are_there() -> None:
    text = GLOSSARY.read_text("utf-8")
    files = (str(path.relative_to(ROOT)) for path in PACKAGE)
    classes = {node.name for name in files for node in ast.walk(parse(name)) if isinstance(node, ast.ClassDef)}
    assert set(_CLASS.findall(text)) - classes == set()
    paths = _PATH.findall(text)
    assert paths and [path for path in paths if not (ROOT / "gdb_etm" / path).exists()] == []
