"""Say for each faulty program whether its culprit is found.

Each build of tests/firmware/faulty runs on its board once; its capture is kept in build/faulty.  Then it is diagnosed
without a target.  A column is a level of optimisation on a board:

N  the verdict names the culprit
c  the culprit is a step of the chain
.  it is neither
W  the verdict accuses another line
-  the program is not built so
"""

import argparse
import os
import sys
from collections import Counter
from multiprocessing import Pool

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
LETTERS = {"named": "N", "chain": "c", "missed": ".", "wrong": "W"}


def judged(asked):
    """Run a build unless its capture is kept, and diagnose it."""
    from gdb_etm.errors import EtmError
    from tests.firmware.faulty.build import BUILT
    from tests.firmware.faulty.run import Way, outcome
    from tests.firmware.faulty.verdict import judge

    build, way = asked
    try:
        return build, judge(outcome(*build, folder=BUILT.with_name(BUILT.name + way), way=Way(way)))
    except (EtmError, ValueError) as error:
        return build, str(error)


def main():
    """Run, diagnose, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="default: all")
    parser.add_argument("-l", "--level", action="append", help="only this level, such as O2")
    parser.add_argument("-b", "--board", action="append", help="only this board")
    parser.add_argument("-n", "--every", type=int, default=1, metavar="N", help="only every Nth of these builds")
    parser.add_argument("-f", "--first", type=int, default=0, metavar="N", help="leave out the first N of these builds")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="processes")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--anchored",
        dest="way",
        action="store_const",
        const="-anchored",
        default="",
        help="with the RAM at the start: anchor-memory on",
    )
    ways.add_argument(
        "--data",
        dest="way",
        action="store_const",
        const="-data",
        help="with data trace and a buffer of 32 KiB, on boards m7 and m4",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print each verdict")
    arguments = parser.parse_args()
    from tests.firmware.faulty.build import missing
    from tests.firmware.faulty.programs import PROGRAMS, builds

    reason = missing()
    if reason is not None:
        sys.exit("scripts/bench: %s" % reason)
    lacking = {program: missing(program) for program in arguments.programs or PROGRAMS}
    for program in sorted(program for program, reason in lacking.items() if reason is not None):
        print("%s: left out: %s" % (program, lacking[program]))
    wanted = [
        build
        for build in builds()
        if lacking.get(build[0], "") is None
        and build[1] in (arguments.level or [build[1]])
        and build[2] in (arguments.board or [build[2]])
        and (arguments.way != "-data" or build[2] in ("m7", "m4"))
    ][arguments.first :: arguments.every]
    found = {}
    with Pool(arguments.jobs, maxtasksperchild=20) as pool:
        for build, one in pool.imap_unordered(judged, [(build, arguments.way) for build in wanted]):
            found[build] = one
            if isinstance(one, str):
                print("%s: %s" % ("-".join(build), one), flush=True)
            elif arguments.verbose:
                told = "-".join(build), one.mark, one.seconds, one.kind, one.text
                print("%-24s %-7s %5.2f s  %s: %s" % told, flush=True)
    print("\n".join(table(found)))


def table(found):
    """Yield the table's lines."""
    columns = sorted({(board, level) for _, level, board in found})
    yield "%-12s %s" % ("", "  ".join("%s %s" % column for column in columns))
    for program in sorted({build[0] for build in found}):
        cells = []
        for board, level in columns:
            one = found.get((program, level, board))
            cells.append("-" if one is None else "?" if isinstance(one, str) else LETTERS[one.mark])
        yield "%-12s %s" % (program, "  ".join("%-*s" % (len("%s %s" % c), x) for c, x in zip(columns, cells)))
    marks = [one for one in found.values() if not isinstance(one, str)]
    counts = Counter(one.mark for one in marks)
    total = max(len(marks), 1)
    yield ""
    for mark in ("named", "chain", "missed", "wrong"):
        yield "%-7s %4d  %5.1f %%" % (mark, counts[mark], 100 * counts[mark] / total)
    seconds = sorted(one.seconds for one in marks)
    if seconds:
        middle, worst = seconds[len(seconds) // 2], seconds[-1]
        yield "seconds of CPU from the decoded history to the verdict: median %.2f, most %.2f" % (middle, worst)


if __name__ == "__main__":
    main()
