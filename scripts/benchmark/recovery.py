"""Measure how much of the registers' past is recovered, and whether right.

Programs run on a simulated board that writes every register after every instruction; recovery gets the executed
instructions, the program and the state at the halt, and its values are compared with the truth.  They are halted at
their end, in mid run (after 70,001 instructions), and deep: after 52,000, at the next call of a function that others
call, or at the next handler (DEEP in tests/firmware/recovery/build.py), as by a breakpoint or a fault.

A mean is taken over all that its name leaves open: levels of optimisation, halts, and the programs that keep the
calling convention.  "mean, frames" is of one program, "mean, smashing" of those that damage their stack or foreign
memory.

all, live, defs  percent known of r0-r12 before each instruction; of those that are read later; of values that
                 instructions write; exact / and assumed / and likely
wrong            values that are shown and not true, by tier; a register counts at each instruction
SP, LR           percent known, exact / and assumed
s/10k            seconds of processor time for 10,000 instructions, until everything is worked out
MiB              growth of the process
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import resource
import sys
import time
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.ram import load_writable
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.firmware.recovery.build import KEEPING, PROGRAMS, SMASHING, elf
from tests.recovery.score import Score, Uses, mean, score
from tests.recovery.truth import Run, prepare

_PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "guide" / "values.md"
_TABLES = re.compile(r"^\| instructions before the halt .*?^\| program [^\n]*\n(\|[^\n]*\n)*", re.MULTILINE | re.DOTALL)
_DEEP = 52000
_HALTS = ("end", "70001", "deep")
_WINDOWS = (1000, 10000, 50000)
_LIMITS = {tier.name.lower(): tier for tier in (Tier.EXACT, Tier.ASSUMED, Tier.LIKELY)}
COLUMNS = ("program", "all", "live", "defs", "wrong", "SP", "LR", "s/10k", "MiB")


class Job(NamedTuple):
    """One window of one run."""

    program: str
    # "end", "deep", or after how many instructions.
    halt: str
    window: int
    board: str
    limit: Tier
    folder: str

    @property
    def name(self) -> str:
        """What the table calls it."""
        return "%s.%s" % (self.program, self.where)

    @property
    def where(self) -> str:
        """Where it was halted, in a word."""
        return "mid" if self.halt.isdigit() else self.halt

    def run(self) -> Run:
        """Run the program, or read what it did."""
        count = int(self.halt) if self.halt.isdigit() else {"end": None, "deep": _DEEP}[self.halt]
        files = prepare(self.program, Path(self.folder), count, self.board, deep=self.halt == "deep")
        return Run(files, self.program, self.board)


class Measured(NamedTuple):
    """What was found."""

    job: Job
    score: Score
    # For 10,000 instructions.
    seconds: float
    mebibytes: float
    findings: Tuple[str, ...]


def measure(job: Job) -> Measured:
    """Recover one window, and hold it against the truth."""
    run = job.run()
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


def table(rows: Sequence[Sequence[str]]) -> List[str]:
    """Put rows in columns."""
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows)]
    return [
        "  ".join([cells[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])])
        for cells in (COLUMNS, *rows)
    ]


def means(measured: Sequence[Measured]) -> List[List[str]]:
    """Make rows of means: by program, by level, by halt.

    Levels and halts are of the programs that keep the calling convention; the others have one row.
    """
    programs: Dict[str, List[Measured]] = {}
    others: Dict[str, List[Measured]] = {}
    for one in measured:
        name, _, level = one.job.program.partition("-")
        programs.setdefault("mean, " + name, []).append(one)
        if name in KEEPING:
            others.setdefault("mean, " + level, []).append(one)
            others.setdefault("mean, " + one.job.where, []).append(one)
        others.setdefault("mean" if name in KEEPING else "mean, smashing", []).append(one)
    groups = [*programs.items(), *sorted(others.items(), reverse=True)]
    return [row(name, group) for name, group in groups]


def summary(by_window: Mapping[int, Sequence[Measured]]) -> List[str]:
    """Make the guide's tables: means of windows, and of each program.

    The programs' table is of the middle window.
    """
    kinds = {"": KEEPING, ", programs that smash memory": SMASHING}
    windows, programs = [], []
    for kind, names in kinds.items():
        for window, measured in by_window.items():
            found = [one for one in measured if one.job.program.startswith(names)]
            windows += [row("{:,}{}".format(window, kind), found)] if found else []
    middle = sorted(by_window)[len(by_window) // 2]
    for name in (*KEEPING, *SMASHING):
        found = [one for one in by_window[middle] if one.job.program.startswith(name)]
        programs += [row("`%s`" % name, found)] if found else []
    return [
        *_markdown("instructions before the halt", windows),
        *("", "Program by program, {:,} instructions before the halt:".format(middle), ""),
        *_markdown("program", programs),
    ]


def _markdown(first: str, rows: Sequence[Sequence[str]]) -> List[str]:
    # All but what the process grew by.
    lines = ["| %s |" % " | ".join((first, *COLUMNS[1:-1])), "|---|" + "---:|" * (len(COLUMNS) - 2)]
    return lines + ["| %s |" % " | ".join(cells[:-1]) for cells in rows]


def details(measured: Sequence[Measured], most: int) -> List[str]:
    """Say which values are wrong, and what recovery found to tell."""
    lines = []
    for one in measured:
        name = "%s, %d: " % (one.job.name, one.job.window)
        for wrong in one.score.wrong[:most]:
            form = "%sbefore %d %s is 0x%x, not 0x%x (%s)"
            lines.append(form % (name, wrong.number, wrong.name, wrong.true, wrong.shown, wrong.tier.name.lower()))
        lines += [name + text for text in one.findings[:most]]
    return lines


def reasons(measured: Sequence[Measured], most: int) -> List[str]:
    """List why live values are unknown, in percent of all live values."""
    lines = []
    for one in measured:
        for text, count in one.score.reasons[:most]:
            share = 100 * count / max(one.score.live.count, 1)
            lines.append("%s, %d: %4.1f %% %s" % (one.job.name, one.job.window, share, text))
    return lines


def halt(word: str) -> str:
    """Read where to halt."""
    if word not in _HALTS and not word.isdigit():
        raise argparse.ArgumentTypeError("not a number, end or deep: %r" % word)
    return word


def main(arguments: Sequence[str]) -> None:
    """Read the arguments, measure, print."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("scripts/bench recovery", description=__doc__, formatter_class=form)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="such as frames-Os, or part of it; all")
    parser.add_argument("--window", type=int, action="append", metavar="N", help="instructions; 1000, 10000 and 50000")
    halts = "end, deep, or after how many instructions; end, 70001 and deep"
    parser.add_argument("--halt", type=halt, action="append", metavar="WHERE", help=halts)
    parser.add_argument("--board", default="m33", choices=("m33", "m7", "m4"))
    parser.add_argument("--limit", default="likely", choices=sorted(_LIMITS), help="the worst tier to work out")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time")
    parser.add_argument("--details", type=int, default=0, metavar="N", help="list wrong values and findings")
    parser.add_argument("--reasons", type=int, default=0, metavar="N", help="list why values are unknown, N a window")
    parser.add_argument("--markdown", action="store_true", help="print means alone, as the guide has them")
    parser.add_argument("--guide", action="store_true", help="put these means into docs/guide/values.md")
    parser.add_argument("--kept", default=os.path.join("build", "bench", "recovery"), help="folder of the runs")
    options = parser.parse_args(arguments)
    os.makedirs(options.kept, exist_ok=True)
    programs = [one for one in PROGRAMS if not options.programs or any(part in one for part in options.programs)]
    by_window: Dict[int, List[Measured]] = {}
    for window in options.window or _WINDOWS:
        jobs = [
            Job(program, where, window, options.board, _LIMITS[options.limit], options.kept)
            for program in programs
            for where in options.halt or _HALTS
        ]
        # A process for each, so that none is measured with another's memory.
        with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
            measured = by_window[window] = pool.map(measure, jobs, chunksize=1)
        if not (options.markdown or options.guide):
            print("\nWindows of %d instructions, %s\n" % (window, options.board))
            print("\n".join(table([row(one.job.name, [one]) for one in measured] + means(measured))))
        more = details(measured, options.details) + reasons(measured, options.reasons)
        print("".join(line + "\n" for line in more), end="", flush=True)
    if options.markdown:
        print("\n".join(summary(by_window)))
    if options.guide:
        tables = "\n".join(summary(by_window)) + "\n"
        _PAGE.write_text(_TABLES.sub(lambda _: tables, _PAGE.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
