"""Measure the memory of long sessions, in GDB and beside it.

The board is the simulated m33.

A cycle is: continue to a breakpoint, show the history, step back, and come back to the halt.  The resident memory
of both processes is printed every few cycles, in MiB.  With "--history-limit 1" one capture is kept, and after the
first time it should no longer grow; without, it grows by what is kept of each halt, until there is no more to be kept.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r" *\d+ +\d+\.\d\d +\d+\.\d\d$")
PROGRAM = """
import gdb
from gdb_etm.api.inside import commands_session

def held(pid):
    with open("/proc/%%s/status" %% pid) as file:
        (line,) = [line for line in file if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024

def cycle():
    for command in ("continue", "etm history -1", "reverse-stepi", "stepi"):
        gdb.execute(command, False, True)

for number in range(1, %d + 1):
    cycle()
    if number %% %d == 0:
        beside = commands_session().connection._client.process_id
        print("%%6d %%9.2f %%9.2f" %% (number, held("self"), held(beside)), flush=True)
"""


def main():
    """Read the arguments and measure."""
    sys.path.insert(0, ROOT)
    from tests.access.processes import FOREVER_TICK, write_forever
    from tests.gdb_session import SCRIPT

    parser = argparse.ArgumentParser(prog="bench cycles", description=__doc__)
    parser.add_argument("--cycles", type=int, default=500, metavar="N")
    parser.add_argument("--every", type=int, default=50, metavar="N", help="cycles between two rows")
    parser.add_argument("--history-limit", metavar="LIMIT", help='as in "set etm history-limit"')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        elf = write_forever(Path(folder) / "forever.elf")
        program = Path(folder) / "cycles.py"
        program.write_text(PROGRAM % (arguments.cycles, arguments.every), encoding="utf-8")
        line = ["gdb-multiarch", "-nx", "-q", "-batch"]
        for command in (
            "source %s" % SCRIPT,
            "etm connect board:m33 --elf %s" % elf,
            "etm start",
            "break *%#x" % FOREVER_TICK,
            *(["set etm history-limit %s" % arguments.history_limit] if arguments.history_limit else []),
            "source %s" % program,
        ):
            line += ["-ex", command]
        print("%6s %9s %9s" % ("cycles", "GDB", "beside"), flush=True)
        gdb = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, universal_newlines=True)
        for text in gdb.stdout:
            # GDB also prints its stops.
            if ROW.match(text):
                print(text, end="", flush=True)
        sys.exit(gdb.wait())


if __name__ == "__main__":
    main()
