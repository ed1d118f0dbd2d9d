"""Measure the listings of long histories, without GDB, in seconds of CPU.

The history is that of looping firmware, see looping.py.  Each line is the time of a command or of what it does, once
the capture is decoded; "again" is the same a second time.

The halts are captures of a trace buffer of 4 KiB, one after the other, as one history.
"""

import argparse
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIRMWARE = os.path.join(ROOT, "gdb_etm", "board", "firmware", "demo", "demo.elf")
PIECE = 4096


def measured(name, function):
    """Run a function and print how long it takes; give what it gives."""
    begun = time.process_time()
    found = function()
    print("%-40s %9.3f s" % (name, time.process_time() - begun), flush=True)
    return found


def command(session, line):
    """Run a command; give the number of its lines."""
    from gdb_etm.commands.parse import parse, words_of

    name, _, rest = line.partition(" ")
    found = next(one for one in import_commands() if one.name == name)
    return sum(1 for _ in found.run(session, parse(found, words_of(found, rest))))


def opened(capture):
    """Give a session with a capture."""
    from gdb_etm.offline.debugger import OfflineDebugger
    from gdb_etm.session.session import DebugSession

    session = DebugSession(OfflineDebugger([FIRMWARE]))
    session.settings["history-limit"] = "unlimited"
    if capture is not None:
        session.add(capture, "bench", is_live=False)
    return session


def measure_listings(capture, title, lines):
    """Measure commands on a capture's history."""
    session = opened(capture)
    decoded = session.shown()
    print("\n%s: %s instructions" % (title, format(len(decoded.history), ",")))
    for line in lines:
        measured(line, lambda line=line: command(session, line))
        if "-3" in line:
            measured(line + ", again", lambda line=line: command(session, line))
    calls, last = decoded.calls(session.debugger.function_at), len(decoded.history)
    measured("stack at the end", lambda: calls.innermost(last + 1))
    measured("stack in its middle", lambda: calls.innermost(last // 2))


def measure_halts(capture, instructions):
    """Measure a halt after many others."""
    session = opened(None)
    count = 0

    def halt():
        nonlocal count
        at = PIECE * count % (len(capture.buffer) - PIECE)
        record = session.add(capture._replace(buffer=capture.buffer[at : at + PIECE]), "halt %d" % count, False)
        session.join(record, "", True)
        count += 1
        return session.shown()

    while len(halt().history) < instructions:
        pass
    command(session, "history -3")
    command(session, "functions -3")
    print("\n%d halts: %s instructions; one halt more" % (count, format(len(session.shown().history), ",")))
    measured("reading and joining", halt)
    measured("history -3", lambda: command(session, "history -3"))
    measured("functions -3", lambda: command(session, "functions -3"))


def import_commands():
    """Import what a debugger has imported when it takes a command."""
    from gdb_etm.commands import registry

    return registry.COMMANDS


def main():
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(prog="bench listings", description=__doc__)
    parser.add_argument("looping", metavar="SNAPSHOT", help="of looping firmware")
    parser.add_argument("--joined", type=int, default=10000000, metavar="N", help="instructions over all halts")
    arguments = parser.parse_args()
    from gdb_etm.snapshot.reader import read_snapshot

    import_commands()
    (capture,) = [one for one in read_snapshot(arguments.looping) if one.sources]
    ends = ("history -3", "functions -3")
    measure_listings(capture, "one stream", ends)
    short = capture._replace(buffer=capture.buffer[: len(capture.buffer) // 50])
    measure_listings(short, "its beginning", (*ends, "history 1,500000", "functions 1,1000000"))
    measure_halts(capture, arguments.joined)


if __name__ == "__main__":
    sys.exit(main())
