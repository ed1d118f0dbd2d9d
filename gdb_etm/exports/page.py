"""Report's page: one file, which needs no network.

The document is compressed in the page, so nothing of it is markup; what is shown without a script goes through Jinja2,
which escapes it.  A policy allows the page's own script and style alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import sys
import zlib
from array import array
from typing import Any, Dict, List, Mapping

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
# In the order in which they need one another.
_SCRIPTS = ("data", "list", "history", "calls", "chart", "timeline", "profile", "coverage", "main")
# Columns that hardly fall: their differences are stored.
_RISING = ("eventAfter", "callFirst", "time")


def encode_report(document: Mapping[str, Any]) -> bytes:
    """Make the page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    script = "\n".join(_text("%s.js" % name) for name in _SCRIPTS)
    style = _text("style.css")
    page = environment.get_template("page.html").render(
        document=document,
        script=Markup(script),
        style=Markup(style),
        script_hash=_hash(script),
        style_hash=_hash(style),
        data=base64.b64encode(packed(document)).decode(),
    )
    return page.encode("utf-8", "replace")


def packed(document: Mapping[str, Any]) -> bytes:
    """Compress a document.

    It begins with the size of its JSON, then come the JSON and the columns, each padded to four bytes; numbers are of
    four bytes, the lowest first.
    """
    columns: Dict[str, List[int]] = {}
    plain: Dict[str, Any] = {}
    for name, part in document.items():
        if isinstance(part, dict) and "columns" in part:
            columns.update(part["columns"])
            part = {key: value for key, value in part.items() if key != "columns"}
        plain[name] = part
    plain["columns"] = [[name, len(column), name in _RISING] for name, column in columns.items()]
    text = json.dumps(plain, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    pieces = [struct.pack("<I", len(text)), text]
    for name, column in columns.items():
        pieces.append(_bytes(column, name in _RISING))
    return zlib.compress(b"".join(pieces), 6)


def _bytes(column: List[int], is_rising: bool) -> bytes:
    if is_rising:
        column = [(now - before) & 0xFFFFFFFF for before, now in zip([0, *column], column)]
    found = array("I", column)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def _text(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
