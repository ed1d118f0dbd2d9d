"""Measure how much of the registers' past is recovered, and whether it is right, window by window.

Programs run on a simulated board that writes every register after every instruction; recovery gets the executed
instructions, the program and the state at the halt, and what it tells is held against the truth.

all, live, defs  percent of r0-r12 known before each instruction; where it is read later; of what instructions write;
                 exact / assumed too / likely too
wrong            register-instants that are told and not true, by tier
SP, LR           percent known, exact / assumed too
s/10k            seconds of processor time for 10,000 instructions, until everything is worked out
MiB              what the process grew by
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.ram import load_writable
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.firmware.recovery.build import KEEPING, PROGRAMS, elf
from tests.recovery.score import Score, Uses, mean, score
from tests.recovery.truth import Run, prepare

_HALTS = (None, 70001)
_WINDOWS = (1000, 10000, 50000)
_LIMITS = {tier.name.lower(): tier for tier in (Tier.EXACT, Tier.ASSUMED, Tier.LIKELY)}
COLUMNS = ("program", "all", "live", "defs", "wrong", "SP", "LR", "s/10k", "MiB")


class Job(NamedTuple):
    """One window of one run."""

    program: str
    halt: Optional[int]
    window: int
    board: str
    limit: Tier
    folder: str

    @property
    def name(self) -> str:
        """What the table calls it."""
        return "%s.%s" % (self.program, "end" if self.halt is None else "mid")


class Measured(NamedTuple):
    """What was found."""

    job: Job
    score: Score
    seconds: float
    """For 10,000 instructions."""
    mebibytes: float
    findings: Tuple[str, ...]


def measure(job: Job) -> Measured:
    """Recover one window, and hold it against the truth."""
    run = Run(prepare(job.program, Path(job.folder), job.halt, job.board), job.program, job.board)
    first = run.start(job.window)
    history = run.history(first)
    stacks = tuple(load_writable(elf(job.program)))
    rules = Rules(limit=job.limit, window=len(history), frames=load_frames([elf(job.program)]), stacks=stacks)
    before, begun = _peak(), time.process_time()
    recovery = Recovery(history, run.end(), rules=rules)
    recovery.solve()
    seconds, after = time.process_time() - begun, _peak()
    found = score(run, Uses(run), first, recovery)
    texts = tuple("%s: %s" % (one.tier.name.lower(), one.text) for one in recovery.findings)
    return Measured(job, found, seconds * 10000 / len(history), (after - before) / 1024, texts)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _three(scores: Sequence[Score], what: str, tiers: int = 3) -> str:
    return " / ".join("%.1f" % mean(scores, what, tier) for tier in (Tier.EXACT, Tier.ASSUMED, Tier.LIKELY)[:tiers])


def row(name: str, measured: Sequence[Measured]) -> List[str]:
    """Put one measurement, or the mean of several, in cells."""
    scores = [one.score for one in measured]
    cells = [name] + [_three(scores, what) for what in ("instants", "live", "definitions")]
    cells.append(" / ".join(str(sum(one.wrong_instants[tier] for one in scores)) for tier in range(3)))
    cells += [_three(scores, "sp", 2), _three(scores, "lr", 2)]
    cells.append("%.2f" % (sum(one.seconds for one in measured) / len(measured)))
    return cells + ["%.0f" % (sum(one.mebibytes for one in measured) / len(measured))]


def table(rows: Sequence[Sequence[str]], markdown: bool) -> List[str]:
    """Put rows in columns."""
    if markdown:
        lines = ["| %s |" % " | ".join(COLUMNS), "|---|" + "---:|" * (len(COLUMNS) - 1)]
        return lines + ["| %s |" % " | ".join(cells) for cells in rows]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows)]
    return [
        "  ".join([cells[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])])
        for cells in (COLUMNS, *rows)
    ]


def means(measured: Sequence[Measured]) -> List[List[str]]:
    """Make rows of the means: of programs that keep the calling convention, by level, and of the others."""
    groups: Dict[str, List[Measured]] = {}
    for one in measured:
        name, _, level = one.job.program.partition("-")
        if name in KEEPING:
            groups.setdefault("mean, " + level, []).append(one)
        groups.setdefault("mean" if name in KEEPING else "mean, smashing", []).append(one)
    return [row(name, groups[name]) for name in sorted(groups)]


def details(measured: Sequence[Measured], most: int) -> List[str]:
    """Say which values are wrong, and what recovery found to tell."""
    lines = []
    for one in measured:
        name = "%s, %d: " % (one.job.name, one.job.window)
        for wrong in one.score.wrong[:most]:
            form = "%sbefore %d %s is 0x%x, not 0x%x (%s)"
            lines.append(form % (name, wrong.number, wrong.name, wrong.true, wrong.told, wrong.tier.name.lower()))
        lines += [name + text for text in one.findings[:most]]
    return lines


def reasons(measured: Sequence[Measured], most: int) -> List[str]:
    """Say why values that are read later are unknown, in percent of all that are read later."""
    lines = []
    for one in measured:
        for text, count in one.score.reasons[:most]:
            share = 100 * count / max(one.score.live.count, 1)
            lines.append("%s, %d: %4.1f %% %s" % (one.job.name, one.job.window, share, text))
    return lines


def main(arguments: Sequence[str]) -> None:
    """Read the arguments, measure, print."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("scripts/bench recovery", description=__doc__, formatter_class=form)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="such as frames-Os, or part of it; all")
    parser.add_argument("--window", type=int, action="append", metavar="N", help="instructions; 1000, 10000 and 50000")
    parser.add_argument("--halt", type=int, action="append", metavar="N", help="instructions; at the end, and 70001")
    parser.add_argument("--board", default="m33", choices=("m33", "m7", "m4"))
    parser.add_argument("--limit", default="likely", choices=sorted(_LIMITS), help="the worst tier to work out")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time")
    parser.add_argument("--details", type=int, default=0, metavar="N", help="list wrong values and findings")
    parser.add_argument("--reasons", type=int, default=0, metavar="N", help="list why values are unknown, N a window")
    parser.add_argument("--markdown", action="store_true", help="print the table for the README")
    parser.add_argument("--kept", default=os.path.join("build", "bench", "recovery"), help="folder of the runs")
    options = parser.parse_args(arguments)
    os.makedirs(options.kept, exist_ok=True)
    programs = [one for one in PROGRAMS if not options.programs or any(part in one for part in options.programs)]
    limit = _LIMITS[options.limit]
    for window in options.window or _WINDOWS:
        jobs = [
            Job(program, halt, window, options.board, limit, options.kept)
            for program in programs
            for halt in options.halt or _HALTS
        ]
        # A process for each, so that none is measured with another's memory.
        with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
            measured = pool.map(measure, jobs, chunksize=1)
        print("\nWindows of %d instructions, %s\n" % (window, options.board))
        rows = [row(one.job.name, [one]) for one in measured] + means(measured)
        print("\n".join(table(rows, options.markdown)))
        print("\n".join(details(measured, options.details) + reasons(measured, options.reasons)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
