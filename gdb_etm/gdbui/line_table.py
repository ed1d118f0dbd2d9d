"""Line-table entries as ``maint info line-table`` prints them: GDB's Python does not tell which are statements."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

import gdb

# GDB 13 and older have one column; from GDB 14 on the relocated address stands before the file's own.
_ADDRESSES = ("ADDRESS", "REL-ADDRESS")


class LineTableRow(NamedTuple):
    """One entry."""

    address: int
    line: int
    is_statement: bool


def line_table(base: str) -> List[LineTableRow]:
    """List the entries of all source files of a name.

    :param base: The file's name, without folders.
    """
    try:
        text = gdb.execute("maint info line-table %s$" % re.escape(base), False, True)
    except gdb.error:
        return []
    return list(_rows(text))


def _rows(text: str) -> Iterator[LineTableRow]:
    # A cell may be empty, so what belongs to which column is known by where it begins.
    columns: Optional[Dict[str, Tuple[int, Optional[int]]]] = None
    for line in text.splitlines():
        if line.startswith("INDEX"):
            columns = _columns(line)
        elif columns is not None and line[:1].isdigit():
            row = _row({name: line[slice(*place)].strip() for name, place in columns.items()})
            if row is not None:
                yield row


def _columns(header: str) -> Dict[str, Tuple[int, Optional[int]]]:
    found = list(re.finditer(r"\S+", header))
    ends = [after.start() for after in found[1:]] + [None]
    return {name.group(): (name.start(), end) for name, end in zip(found, ends)}


def _row(cells: Dict[str, str]) -> Optional[LineTableRow]:
    address = next((cells[name] for name in _ADDRESSES if name in cells), "")
    if not cells.get("LINE", "").isdigit() or not address.startswith("0x"):
        return None  # the end of a sequence has no line
    # GDB 9 and older have no column for it; there every entry is a statement.
    return LineTableRow(int(address, 16), int(cells["LINE"]), cells.get("IS-STMT", "Y") == "Y")
