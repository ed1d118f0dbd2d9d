"""Measure how much of the registers' past is recovered, and whether right.

Programs run on a simulated board that writes every register after every instruction; recovery gets the executed
instructions, the program and the state at the halt, and its values are compared with the truth.  They are halted at
their end, in mid run (after 70,001 instructions), and deep: after 52,000, at the next call of a function that others
call, or at the next handler (deep_of in tests/firmware/programs.py), as by a breakpoint or a fault.

The set "own" is tests/firmware/recovery, "field" tests/firmware/field, of which each program has a board of its own;
programs whose library is not installed are left out.  A PROGRAM with a "/" is the path of any ELF file for the memory
map of docs/guide/boards.md, with inputs as in tests/recovery/inputs.py; it is halted in mid run, and where BKPT ends
it, or else after 200,000 instructions.

A mean is taken over all that its name leaves open: levels of optimisation, halts, and the programs that keep the
calling convention.  "mean, frames" is of one program, "mean, smashing" of those that damage their stack or foreign
memory.

all, live, defs  percent known of r0-r12 before each instruction; of those that are read later; of values that
                 instructions write; exact / and assumed
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
from gdb_etm.program.objects import load_objects
from gdb_etm.program.ram import load_writable
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier
from tests.firmware.programs import FIELD, OWN, SMASHING, board_of, elf, missing
from tests.recovery.score import TIERS, Score, Uses, mean, score
from tests.recovery.truth import Run, prepare

_PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "guide" / "values.md"
# The guide's tables of a set: the first, and the last, after its heading.
_TABLES = r"(^### %s$.*?)^\| instructions before the halt .*?^\| program [^\n]*\n(?:\|[^\n]*\n)*"
_SETS = {"own": (OWN, "Programs of our own"), "field": (FIELD, "Programs like those of the field")}
_DEEP = 52000
# Where a program by path is halted that does not end before.
_LONG_RUN = 200000
_HALTS = ("end", "70001", "deep")
_WINDOWS = (1000, 10000, 50000)
_LIMITS = {tier.name.lower(): tier for tier in TIERS}
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
        return "%s.%s" % (Path(self.program).stem, self.where)

    @property
    def where(self) -> str:
        """Where it was halted, in a word."""
        return "mid" if self.halt.isdigit() else self.halt

    def run(self) -> Run:
        """Run the program, or read what it did."""
        end = _LONG_RUN if is_path(self.program) else None
        count = int(self.halt) if self.halt.isdigit() else {"end": end, "deep": _DEEP}[self.halt]
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


def is_path(program: str) -> bool:
    """Tell whether a program is given by its path."""
    return "/" in program


def name_of(program: str) -> str:
    """Return a program's name, for all its levels of optimisation."""
    return Path(program).stem if is_path(program) else program.partition("-")[0]


def measure(job: Job) -> Measured:
    """Recover one window, and hold it against the truth."""
    run = job.run()
    first = run.start(job.window)
    history = run.history(first)
    stacks = tuple(load_writable(elf(job.program)))
    rules = Rules(
        limit=job.limit,
        window=len(history),
        frames=load_frames([elf(job.program)]),
        objects=load_objects([elf(job.program)]),
        stacks=stacks,
    )
    before, begun = _peak(), time.process_time()
    recovery = Recovery(history, run.end(), rules=rules)
    recovery.solve()
    seconds, after = time.process_time() - begun, _peak()
    found = score(run, Uses(run), first, recovery)
    texts = tuple("%s: %s" % (one.tier.name.lower(), one.text) for one in recovery.findings)
    return Measured(job, found, seconds * 10000 / len(history), (after - before) / 1024, texts)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _both(scores: Sequence[Score], what: str) -> str:
    return " / ".join("%.1f" % mean(scores, what, tier) for tier in TIERS)


def row(name: str, measured: Sequence[Measured]) -> List[str]:
    """Put one measurement, or the mean of several, in cells."""
    scores = [one.score for one in measured]
    cells = [name] + [_both(scores, what) for what in ("instants", "live", "definitions")]
    cells.append(" / ".join(str(sum(one.wrong_instants[tier] for one in scores)) for tier in TIERS))
    cells += [_both(scores, "sp"), _both(scores, "lr")]
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
        name = name_of(one.job.program)
        programs.setdefault("mean, " + name, []).append(one)
        if name not in SMASHING:
            level = Path(one.job.program).stem.rpartition("-")[2]
            others.setdefault("mean, " + level, []).append(one)
            others.setdefault("mean, " + one.job.where, []).append(one)
        others.setdefault("mean, smashing" if name in SMASHING else "mean", []).append(one)
    groups = [*programs.items(), *sorted(others.items(), reverse=True)]
    return [row(name, group) for name, group in groups]


def summary(by_window: Mapping[int, Sequence[Measured]]) -> List[str]:
    """Make the guide's tables: means of windows, and of each program.

    The programs' table is of the middle window.
    """
    windows, programs = [], []
    for kind, smashing in (("", False), (", programs that smash memory", True)):
        for window, measured in by_window.items():
            found = [one for one in measured if (name_of(one.job.program) in SMASHING) is smashing]
            windows += [row("{:,}{}".format(window, kind), found)] if found else []
    middle = sorted(by_window)[len(by_window) // 2]
    for name in dict.fromkeys(name_of(one.job.program) for one in by_window[middle]):
        found = [one for one in by_window[middle] if name_of(one.job.program) == name]
        programs.append(row("`%s`" % name, found))
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


def chosen(which: str, words: Sequence[str]) -> List[str]:
    """List the programs to measure; say which are left out, and why.

    :param which: The set.
    :param words: Parts of names, or paths; none is the whole set.
    """
    paths = [word for word in words if is_path(word)]
    parts = [word for word in words if not is_path(word)]
    names = [name for one in (_SETS if which == "all" else (which,)) for name in _SETS[one][0]]
    wanted = [name for name in names if any(part in name for part in parts) or not words]
    reasons = {name: missing(name) for name in wanted}
    for name, reason in reasons.items():
        if reason is not None:
            print("%s is left out: %s" % (name, reason), file=sys.stderr)
        else:
            # Built here if need be, and not by several processes at a time.
            elf(name)
    return [name for name in wanted if reasons[name] is None] + paths


def main(arguments: Sequence[str]) -> None:
    """Read the arguments, measure, print."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("scripts/bench recovery", description=__doc__, formatter_class=form)
    what = "such as frames-Os, or part of it, or a path; all of the set"
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=what)
    parser.add_argument("--set", default="own", choices=(*_SETS, "all"), help="the programs to choose from")
    parser.add_argument("--window", type=int, action="append", metavar="N", help="instructions; 1000, 10000 and 50000")
    halts = "end, deep, or after how many instructions; end, 70001 and deep"
    parser.add_argument("--halt", type=halt, action="append", metavar="WHERE", help=halts)
    parser.add_argument("--board", default="m33", choices=("m33", "m7", "m4"), help="for programs that have none")
    parser.add_argument("--limit", default="assumed", choices=sorted(_LIMITS), help="the worst tier to work out")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time")
    parser.add_argument("--details", type=int, default=0, metavar="N", help="list wrong values and findings")
    parser.add_argument("--reasons", type=int, default=0, metavar="N", help="list why values are unknown, N a window")
    parser.add_argument("--markdown", action="store_true", help="print means alone, as the guide has them")
    parser.add_argument("--guide", action="store_true", help="put the set's means into docs/guide/values.md")
    parser.add_argument("--kept", default=os.path.join("build", "bench", "recovery"), help="folder of the runs")
    options = parser.parse_args(arguments)
    os.makedirs(options.kept, exist_ok=True)
    if options.guide and (options.set == "all" or options.programs):
        parser.error("--guide takes one whole set")
    programs = chosen(options.set, options.programs)
    by_window: Dict[int, List[Measured]] = {}
    for window in options.window or _WINDOWS:
        jobs = [
            Job(program, where, window, board_of(program) or options.board, _LIMITS[options.limit], options.kept)
            for program in programs
            for where in options.halt or _HALTS
            if where != "deep" or not is_path(program)
        ]
        # A process for each, so that none is measured with another's memory.
        with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
            measured = by_window[window] = pool.map(measure, jobs, chunksize=1)
        if not (options.markdown or options.guide):
            print("\nWindows of %d instructions\n" % window)
            print("\n".join(table([row(one.job.name, [one]) for one in measured] + means(measured))))
        more = details(measured, options.details) + reasons(measured, options.reasons)
        print("".join(line + "\n" for line in more), end="", flush=True)
    if options.markdown:
        print("\n".join(summary(by_window)))
    if options.guide:
        tables = "\n".join(summary(by_window)) + "\n"
        place = re.compile(_TABLES % _SETS[options.set][1], re.MULTILINE | re.DOTALL)
        _PAGE.write_text(place.sub(lambda found: found.group(1) + tables, _PAGE.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
