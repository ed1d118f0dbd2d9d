"""Decode one snapshot in a process of its own, and measure it.

What it took is printed as JSON.

    measure.py SNAPSHOT [again] [history]

With "again" everything is decoded once more, with what the first time taught; with "history" the history is asked as a
user would: how many instructions there are, and a thousand of them here and there.
"""

import json
import os
import random
import sys
import time

# Of the processor: others may use it, too.
clock = time.process_time


def measure(path, again, history):
    """Decode a snapshot; return what it took."""
    begun = clock()
    from gdb_etm.history.build import DecoderCache, decode_parts, parts
    from gdb_etm.protocols.registry import PROTOCOLS
    from gdb_etm.snapshot.reader import read_snapshot

    captures = [one for one in read_snapshot(path) if any(source.protocol in PROTOCOLS for source in one.sources)]
    protocols = {source.protocol for capture in captures for source in capture.sources}
    for protocol in protocols:
        PROTOCOLS.get(protocol)  # is imported when it is asked for
    read = clock()
    split = [parts(capture) for capture in captures]
    found = [part for one in split for part in one]
    deframed = clock()
    # As for a user, the sources of a capture share what is learned.
    caches = [DecoderCache() for _ in split]
    recorders = [recorder for one, cache in zip(split, caches) for recorder in decode_parts(one, cache)]
    decoded = clock()
    result = {
        "bytes": sum(len(capture.buffer) for capture in captures),
        "start-up": read - begun,
        "deframe": deframed - read,
        "decode": decoded - deframed,
        "peak": peak(),
    }
    if again:
        begun = clock()
        for one, cache in zip(split, caches):
            decode_parts(one, cache)
        result["again"] = clock() - begun
    if history:
        result.update(ask(found, caches, recorders))
    return result


def peak():
    """Return this process's peak memory in MiB.

    getrusage would return that of its parent, if that is higher.
    """
    with open("/proc/self/status", encoding="ascii") as file:
        (line,) = [line for line in file if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def ask(found, caches, recorders):
    """Query the histories; return their size and the seconds taken."""
    from gdb_etm.capture import BufferEnd
    from gdb_etm.history.store import ExecutionHistory
    from gdb_etm.program.blocks import Blocks

    instructions = ranges = size = 0
    counting = finding = 0.0
    for part, recorder in zip(found, recorders):
        begun = clock()
        made = ExecutionHistory(recorder, part.stream.source, Blocks(part.program), BufferEnd.UNKNOWN)
        length = len(made)
        counting += clock() - begun
        instructions += length
        runs = recorder.table.runs
        used = set(recorder.order)
        counts = [sum(1 for _ in run.ranges()) if at in used else 0 for at, run in enumerate(runs)]
        ranges += sum(map(counts.__getitem__, recorder.order))
        columns = (recorder.order, recorder.marks, recorder.mark_positions, recorder.event_entries)
        size += sum(map(sys.getsizeof, columns))
        choose = random.Random(1)
        numbers = [choose.randrange(1, length + 1) for _ in range(1000)] if length else []
        begun = clock()
        for number in numbers:
            made.instruction(number)
        finding += clock() - begun
    return {"instructions": instructions, "ranges": ranges, "columns": size, "count": counting, "find": finding / 1000}


def main():
    """Measure and print; end without freeing the history object by object."""
    print(json.dumps(measure(sys.argv[1], "again" in sys.argv[2:], "history" in sys.argv[2:])), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
