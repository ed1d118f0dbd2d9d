"""Measure the analysis of many captures: one worker, two workers, and many names.

Captures of 64 KiB are cut from looping firmware, no two alike, and analysed on a local cluster of one process and of
two; then the same ones under --names names, of which the scheduler must not grow.

wall      seconds from the first task to the last; it tells something on a quiet machine alone
CPU       seconds of CPU of the workers together, and of the busiest: no run is quicker, however quiet the machine
rest      seconds of CPU of the process that gives out the tasks
speed-up  CPU and rest of one worker, divided by those of the busiest of two

The tables of both must be the same.  For the scheduler: how many tasks it knows at most, and the memory of its process
(which also keeps a hash for each name) after a tenth of the names and at the end.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
FIRMWARE = os.path.join(ROOT, "gdb_etm", "board", "firmware", "demo", "demo.elf")
SIZE = 64 << 10
FRAME = 16


def cut(looping, folder, count):
    """Write captures that overlap; return their paths."""
    from gdb_etm.snapshot.reader import read_snapshot
    from gdb_etm.snapshot.writer import write_snapshot

    (capture,) = [one for one in read_snapshot(looping) if one.sources]
    paths = []
    step = (len(capture.buffer) - SIZE) // count // FRAME * FRAME
    assert step, "the firmware's capture is too short for so many"
    for number in range(count):
        at = number * step
        paths.append(os.path.join(folder, "%05d" % number))
        write_snapshot(capture._replace(buffer=capture.buffer[at : at + SIZE]), paths[-1])
    return paths


class Watch:
    """Looks at the scheduler whenever progress is noted."""

    def __init__(self, scheduler):
        self.scheduler, self.tasks, self.memory = scheduler, 0, []

    def task(self, what, total):
        """Stand in for a meter's task."""
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def advance(self, size):
        """Look."""
        self.tasks = max(self.tasks, len(self.scheduler.tasks))
        with open("/proc/self/statm", encoding="ascii") as file:
            self.memory.append(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)


def run(paths, out, workers):
    """Analyse captures; return seconds, CPU by worker, the rest's CPU, and what was seen of the scheduler."""
    from gdb_etm.farm.cluster import cluster
    from gdb_etm.farm.run import FarmRequest, run_on

    with cluster(None, workers) as client:
        # What a worker imports at first is no part of the measurement.
        client.run(__import__, "gdb_etm.farm.work")
        watch = Watch(client.cluster.scheduler)
        before = client.run(time.process_time)
        own, wall = time.process_time(), time.monotonic()
        run_on(client, FarmRequest(paths, [FIRMWARE], out), paths, watch)
        wall, own = time.monotonic() - wall, time.process_time() - own
        after = client.run(time.process_time)
    return wall, [after[one] - before[one] for one in before], own, watch


def rows_of(out):
    """Return all rows of the tables that workers write."""
    import duckdb

    from gdb_etm.farm.tables import CONTENT_TABLES

    return [duckdb.sql("FROM '%s/%s/*.parquet' ORDER BY ALL" % (out, one.name)).fetchall() for one in CONTENT_TABLES]


def main():
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="scripts/bench farm", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("looping", help=argparse.SUPPRESS)
    parser.add_argument("--captures", type=int, default=1000, metavar="N")
    parser.add_argument("--names", type=int, default=20000, metavar="N")
    arguments = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="gdb-etm-bench-")
    try:
        paths = cut(arguments.looping, scratch, arguments.captures)
        print("%d captures of 64 KiB" % len(paths), flush=True)
        spent, tables = [], []
        for workers in (1, 2):
            out = os.path.join(scratch, "out-%d" % workers)
            wall, cpu, rest, _ = run(paths, out, workers)
            spent.append(max(cpu) + rest)
            tables.append(rows_of(out))
            words = "%d workers: wall %.1f s, CPU %.1f s, of the busiest %.1f s, rest %.1f s"
            print(words % (workers, wall, sum(cpu), max(cpu), rest), flush=True)
        print("speed-up by CPU: %.2f; tables %s" % (spent[0] / spent[1], "=" if tables[0] == tables[1] else "DIFFER"))
        names = []
        for number in range(arguments.names):
            names.append(os.path.join(scratch, "name-%05d" % number))
            os.symlink(paths[number % len(paths)], names[-1])
        wall, cpu, rest, watch = run(names, os.path.join(scratch, "out-2"), 2)
        tenth = watch.memory[: max(len(watch.memory) // 10, 1)]
        words = "%d names: wall %.1f s, CPU %.1f s, rest %.1f s; "
        words += "at most %d tasks; %.0f MB after a tenth, %.0f MB at the end"
        print(words % (len(names), wall, sum(cpu), rest, watch.tasks, tenth[-1], watch.memory[-1]))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
