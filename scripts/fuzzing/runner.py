"""Runs a check on random arguments in a process of its own.

The process has bounds on memory and time.

A case that takes more memory than it may ends in MemoryError.  One that takes more time ends the process, by SIGXCPU or
SIGALRM.  The arguments of the case under way lie in a file, so they are known however it ended.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import signal
import sys
import time
from multiprocessing.sharedctypes import Synchronized
from typing import NamedTuple

from fuzzing.check import Check
from hypothesis import HealthCheck, Phase, given, seed, settings

BATCH = 1000


class Result(NamedTuple):
    """What became of a check."""

    name: str
    cases: int
    failures: int


def hunt(name: str, check: Check, count: int, number: int, folder: str) -> Result:
    """Run a check batch by batch, until a case fails.

    :param count: How many cases.
    :param number: The seed.
    :param folder: Where the arguments of a case that fails are written.
    """
    done = 0
    for first in range(0, count, BATCH):
        path = os.path.join(folder, "fuzz-%s-%d.json" % (name.replace(" ", "-"), number + first))
        tried, status = _batch(name, check, min(BATCH, count - first), number + first, path)
        done += tried
        if status:
            ended = " (%s)" % signal.Signals(-status).name if status < 0 else ""
            print("%s: FAILED%s; scripts/fuzz --replay %s" % (name, ended, path), flush=True)
            return Result(name, done, 1)
        print("%s: %d of %d" % (name, done, count), flush=True)
        if tried < min(BATCH, count - first):
            # There are no more cases than that.
            break
    return Result(name, done, 0)


def replay(check: Check, arguments: dict) -> None:
    """Run one case within the check's bounds."""
    _bound_memory(check)
    _bound_time(check)
    check.run(**arguments)


def _batch(name: str, check: Check, count: int, number: int, path: str) -> tuple[int, int]:
    # Returns how many cases were tried, and 0 or how the process ended.
    context = multiprocessing.get_context("fork")
    tried = context.Value("L", 0)
    process = context.Process(target=_work, args=(name, check, count, number, path, tried))
    process.start()
    process.join()
    if process.exitcode == 0 and os.path.exists(path):
        os.remove(path)
    return min(tried.value, count), process.exitcode


def _work(name: str, check: Check, count: int, number: int, path: str, tried: Synchronized) -> None:
    # Tries random arguments; of what fails, Hypothesis runs the simplest last, so that is what stays in the file.
    _bound_memory(check)

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(**check.arguments)
    def attempt(**arguments: object) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"check": name, "arguments": arguments}, file, indent=1)
        tried.value += 1
        _bound_time(check)
        check.run(**arguments)

    try:
        attempt()
    except BaseException as error:  # whatever it is, it is what was looked for
        signal.alarm(0)
        # Of a case that fails only now and then Hypothesis raises a group, with what was raised inside.
        for one in (error, *getattr(error, "exceptions", ())):
            print("%s: %s: %s" % (name, type(one).__name__, one), flush=True)
        sys.exit(1)


def _bound_memory(check: Check) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (check.memory, check.memory))


def _bound_time(check: Check) -> None:
    # The limit of processor time is of the whole process, so it moves with every case.
    used = math.ceil(time.process_time())
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (used + check.processor, hard))
    signal.alarm(check.seconds)
