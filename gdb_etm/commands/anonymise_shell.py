"""``gdb-etm anonymise``: the same from a shell.

It takes a snapshot or a dump.
"""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from gdb_etm.commands.anonymise import ANONYMISE, run_anonymise
from gdb_etm.commands.parse import parse
from gdb_etm.commands.written_objects import anonymise_object
from gdb_etm.errors import CommandError, harmless
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.programs import named_files
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.saved import read_captures
from gdb_etm.session.session import DebugSession
from gdb_etm.views.schema import add_format, document_lines


def main(words: Sequence[str]) -> int:
    """Read what was saved, and write what may be passed on.

    :returns: The exit status.
    :raises EtmError: It cannot be done.
    """
    parser = argparse.ArgumentParser(prog="gdb-etm anonymise", description=ANONYMISE.details)
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="snapshot folder, or dump")
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    parser.add_argument("--buffer", metavar="NAME", help="only the trace buffer of this name")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the new snapshot's folder")
    parser.add_argument("-f", "--force", action="store_true", help="replace a snapshot that is in the folder")
    parser.add_argument("--ram", action="store_true", help="also RAM and registers")
    add_format(parser)
    arguments = parser.parse_args(words)
    files = named_files(arguments.elf)
    captures = read_captures(arguments.snapshot, files, arguments.buffer)
    if len(captures) > 1:
        names = ", ".join(capture.name.rpartition(" ")[2] for capture in captures)
        raise CommandError("anonymise is of one buffer: --buffer with one of %s" % names)
    session = DebugSession(OfflineDebugger(files), Meter(TerminalLine(sys.stderr)))
    session.add(captures[0], "loaded from " + arguments.snapshot, is_live=False)
    typed = [arguments.output, *["-f"] * arguments.force, *["--ram"] * arguments.ram]
    values = parse(ANONYMISE, typed)
    if arguments.format == "text":
        lines = run_anonymise(session, values)
    else:
        lines = document_lines(anonymise_object(session, values), arguments.format)
    for line in lines:
        print(harmless(line), flush=True)
    return 0
