"""``gdb-etm replay-bundle``: a bundle repeated without hardware."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from gdb_etm.errors import EtmError
from gdb_etm.views.schema import add_format, document_lines


def main(argv: Sequence[str]) -> int:
    """Repeat a bundle.

    :param argv: Arguments after the word ``replay-bundle``.
    :returns: The exit status: 0; 1 if something comes out otherwise than recorded, or after an error.
    """
    about = "Repeat what a bundle of etm doctor --bundle recorded, without hardware."
    parser = argparse.ArgumentParser(prog="gdb-etm replay-bundle", description=about)
    parser.add_argument("bundle", metavar="FILE", help="the bundle")
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    add_format(parser)
    arguments = parser.parse_args(argv)

    from gdb_etm.bundle.archive import read_bundle
    from gdb_etm.bundle.repeat import Repetition, repeated_object

    try:
        repetition = Repetition(read_bundle(arguments.bundle), arguments.elf)
        is_text = arguments.format == "text"
        for line in repetition.lines() if is_text else document_lines(repeated_object(repetition), arguments.format):
            print(line, flush=True)
    except EtmError as error:
        print("gdb-etm: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 1 if repetition.differences else 0
