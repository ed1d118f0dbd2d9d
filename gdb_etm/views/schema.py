"""The JSON that is written for programs: version, kinds, numbers.

Every document, and every line of JSON lines, has ``schema``, which grows when a reader has to change, and ``kind``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping

if TYPE_CHECKING:
    import argparse

SCHEMA = 2
# What the shell's commands write.
FORMATS = ("text", "json", "jsonl")

# Addresses are hexadecimal texts: 64-bit numbers are too large for many readers.
_ADDRESSES = frozenset(("address", "return_address", "block"))


def add_format(parser: argparse.ArgumentParser) -> None:
    """Let a command of the shell have ``--format``."""
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="text (default); json; jsonl")


def document(kind: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Make an object of a kind, with its addresses as texts."""
    return {"schema": SCHEMA, "kind": kind, **{key: _written(key, value) for key, value in fields.items()}}


def _written(key: str, value: Any) -> Any:
    if key in _ADDRESSES and isinstance(value, int):
        return hex(value)
    if isinstance(value, dict):
        return {inner: _written(inner, one) for inner, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(key, one) for one in value]
    return value


def row_lines(command: str, rows: Iterable[Mapping[str, Any]], form: str) -> Iterator[str]:
    """Write rows that have kinds of their own.

    :param command: Whose they are; the document's kind.
    :param form: ``"json"`` or ``"jsonl"``.
    """
    # Text is written without it.
    import json

    if form == "jsonl":
        yield from map(json.dumps, rows)
    else:
        yield json.dumps(document(command, {"rows": inner(rows)}))


def inner(rows: Iterable[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Take from rows what their document says."""
    return [{key: value for key, value in row.items() if key != "schema"} for row in rows]


def document_lines(found: Dict[str, Any], form: str) -> Iterator[str]:
    """Write a document; as JSON lines its rows come last."""
    import json

    if form == "json" or "rows" not in found:
        yield json.dumps(found)
        return
    yield json.dumps({key: value for key, value in found.items() if key != "rows"})
    for row in found["rows"]:
        yield json.dumps(document("%s-row" % found["kind"], row) if "kind" not in row else document(row["kind"], row))
