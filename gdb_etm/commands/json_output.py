"""JSON of the shell's commands: one document, or a line for each row."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, Iterator, Mapping

from gdb_etm.views.schema import document

FORMATS = ("text", "json", "jsonl")


def row_lines(command: str, rows: Iterable[Mapping[str, Any]], form: str) -> Iterator[str]:
    """Write rows that have kinds of their own.

    :param command: Whose they are; the document's kind.
    :param form: ``"json"`` or ``"jsonl"``.
    """
    if form == "jsonl":
        yield from map(json.dumps, rows)
    else:
        own = [{key: value for key, value in row.items() if key != "schema"} for row in rows]
        yield json.dumps(document(command, {"rows": own}))


def document_lines(found: Dict[str, Any], form: str) -> Iterator[str]:
    """Write a document; as JSON lines its rows come after the rest of it."""
    if form == "json" or "rows" not in found:
        yield json.dumps(found)
        return
    yield json.dumps({key: value for key, value in found.items() if key != "rows"})
    for row in found["rows"]:
        yield json.dumps(document("%s-row" % found["kind"], row) if "kind" not in row else document(row["kind"], row))
