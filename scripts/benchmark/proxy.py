"""Measure the proxy's cost to a live session.

The board is the simulated m33.

Two processes beside GDB run at the same time, one with the proxy and one without; a client asks them in turn what GDB
asks: memory reads of 4 bytes, and single steps.  Each number is the median of the runs.
"""

import argparse
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIRMWARE = os.path.join(ROOT, "gdb_etm", "board", "firmware", "demo", "demo.elf")
MODULES = ("gdb_etm.access.server", "gdb_etm.beside.process")
PACKETS = (("memory reads", b"m20000000,4"), ("single steps", b"vCont;s:1"))


def begin(module):
    """Start a process and connect to it as GDB does."""
    from gdb_etm.access.client import start
    from gdb_etm.access.process import server_arguments
    from gdb_etm.replay.ends import ServerLink
    from gdb_etm.replay.wires import connect

    options = ("board.elf=%s" % FIRMWARE,)
    arguments = server_arguments(probe="board:m33", connect_mode="under-reset", options=options)
    client = start(sys.executable, [*arguments, "--gdb-port=0"], module=module)
    link = ServerLink(connect("localhost", int(client.hello.gdb_server.rpartition(":")[2])), module)
    link.stop_acknowledging()
    for packet in (b"qSupported:multiprocess+;vContSupported+", b"?", b"g"):
        link.ask(packet)
    return client, link


def timed(link, packet, count):
    """Give the seconds that so many packets take."""
    begun = time.perf_counter()
    for _ in range(count):
        link.ask(packet)
    return time.perf_counter() - begun


def main():
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(prog="bench proxy", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="packets in a run")
    arguments = parser.parse_args()
    begun = [begin(module) for module in MODULES]
    for what, packet in PACKETS:
        seconds = ([], [])
        for _ in range(max(arguments.runs, 1)):
            for found, (_, link) in zip(seconds, begun):
                found.append(timed(link, packet, arguments.count))
        without, through = map(statistics.median, seconds)
        words = what, arguments.count, without, through, through / without
        print("%s: %d in %.3f s, through the proxy in %.3f s: %.2f times as long" % words)
    for client, link in begun:
        link.wire.close()
        client.close()


if __name__ == "__main__":
    main()
