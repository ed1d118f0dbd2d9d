"""``gdb-etm analyse``: many captures at once."""

from __future__ import annotations

import argparse
import sys
from typing import Iterator, Sequence

from gdb_etm.errors import CommandError, harmless, plain
from gdb_etm.farm.run import FarmRequest, FarmResult, run_farm
from gdb_etm.farm.samples import SAMPLE_FORMATS
from gdb_etm.session.programs import named_files
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.views.text import plural

# Bad captures that are named; the table has them all.
_NAMED = 5


def main(words: Sequence[str]) -> int:
    """Analyse captures.

    :returns: The exit status.
    :raises EtmError: It cannot be done; a capture alone is a row with its reason.
    """
    arguments = _parser().parse_args(words)
    files = named_files(arguments.elf)
    if not files:
        raise CommandError("--elf is missing: the program says what the functions and the lines are")
    if arguments.dask is not None and arguments.workers is not None:
        raise CommandError("--workers: a scheduler of your own has its workers already")
    request = FarmRequest(arguments.captures, files, arguments.out, arguments.dask, arguments.workers)
    request = request._replace(samples=arguments.sample_profile)
    result = run_farm(request, Meter(TerminalLine(sys.stderr)))
    for line in _lines(result, arguments.out, arguments.sample_profile):
        print(harmless(line))
    return 0


def _lines(result: FarmResult, folder: str, samples: str) -> Iterator[str]:
    parts = [plural(result.analysed, "content") + " analysed"]
    parts += ["{:,} known before".format(result.before)] if result.before else []
    parts += ["{:,} bad".format(len(result.bad))] if result.bad else []
    yield "%s: %s; the tables are in %s" % (plural(result.captures, "capture"), ", ".join(parts), folder)
    for path, reason in result.bad[:_NAMED]:
        yield "  %s: %s" % (plain(path), plain(reason))
    if len(result.bad) > _NAMED:
        yield "  {:,} more: SELECT path, reason FROM captures WHERE reason <> ''".format(len(result.bad) - _NAMED)
    if result.samples:
        yield "written to %s (%s)" % (samples, result.samples)


def _workers(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError('"%s": from 1 to 1024' % text)
    return int(text)


def _parser() -> argparse.ArgumentParser:
    about = "analyse many captures of a program, on all processors or on a cluster; what is done already is left out"
    parser = argparse.ArgumentParser(prog="gdb-etm analyse", description=about)
    about = "snapshot folder, a folder with some in it, or a dump"
    parser.add_argument("captures", metavar="CAPTURE", nargs="+", help=about)
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    about = "folder of the tables, as Parquet files; it may have some of other captures and other programs"
    parser.add_argument("--out", metavar="DIR", required=True, help=about)
    parser.add_argument("--dask", metavar="ADDRESS", help="a scheduler of Dask, such as tls://farm:8786")
    about = "processes on this computer; default: one for each processor"
    parser.add_argument("--workers", metavar="N", type=_workers, help=about)
    formats = "; ".join("%s: %s" % (end, words) for end, (words, _) in SAMPLE_FORMATS.items())
    about = "a profile for compilers, of these captures; the name's end says how: " + formats
    parser.add_argument("--sample-profile", metavar="FILE", help=about)
    return parser
