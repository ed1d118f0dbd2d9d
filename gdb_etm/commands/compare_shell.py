"""``gdb-etm compare``: two snapshots or dumps."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Optional, Sequence

from gdb_etm.commands.compare import part_of, snapshot_side
from gdb_etm.errors import harmless
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.compared import compared
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.session import DebugSession
from gdb_etm.session.sides import Side
from gdb_etm.views.compare import compare_lines, compare_object
from gdb_etm.views.schema import add_format, document_lines

_PART = re.compile(r"(.+)@([0-9]+)-([0-9]+)")


def main(words: Sequence[str]) -> int:
    """Compare two snapshots.

    :returns: The exit status.
    :raises EtmError: It cannot be done.
    """
    arguments = _parser().parse_args(words)
    left = _side(arguments.left, arguments.elf, arguments.id)
    right = _side(arguments.right, arguments.elf_b or arguments.elf, arguments.id)
    found = compared(left, right)
    is_text = arguments.format == "text"
    lines = compare_lines(found) if is_text else document_lines(compare_object(found), arguments.format)
    print(harmless("\n".join(lines)))
    return 0


def _side(text: str, elf: Sequence[str], trace_id: Optional[int]) -> Side:
    part = _PART.fullmatch(text)
    like = DebugSession(OfflineDebugger(), Meter(TerminalLine(sys.stderr)))
    side = snapshot_side(part.group(1) if part is not None else text, elf, trace_id, like)
    return side if part is None else part_of(side, int(part.group(2)), int(part.group(3)))


def _parser() -> argparse.ArgumentParser:
    about = "compare two executions: the first branch that went another way, with what decided it, and what ran more"
    parser = argparse.ArgumentParser(prog="gdb-etm compare", description=about)
    for name in ("left", "right"):
        about = "snapshot folder or dump; A@FIRST-LAST: a part of it"
        parser.add_argument(name, metavar="A" if name == "left" else "B", help=about)
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    about = "program of B, where that is another build; may be repeated"
    parser.add_argument("--elf-b", metavar="FILE", action="append", default=[], help=about)
    parser.add_argument("--id", metavar="N", type=lambda text: int(text, 0), help="only this trace ID")
    add_format(parser)
    return parser
