"""Parallel decoding of a big capture's parts.

One part is decoded here, each of the others in a process of its own.

Inside GDB neither fork nor a thread would be safe, and its Python may have no interpreter beside it; so the processes
are started from the one that gdb_etm was installed in.  What they do not do is done here.
"""

from __future__ import annotations

import gc
import os
import selectors
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from gdb_etm.history.build import DecoderCache, Progress, StreamPart, decode_part
from gdb_etm.history.columns import ColumnError
from gdb_etm.history.errand import read_result, write_errand
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.session.decode_worker import MESSAGE, PROGRESS, RESULT

# Neither the working directory nor the environment decides what the process imports.
_BOOT = "import sys; sys.path.append(sys.argv[1]); from gdb_etm.session.decode_worker import main; sys.exit(main())"
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
_PIECE = 1 << 20
# Bytes of a result for each byte of trace: 24 atoms may be in one, each an entry of 16 bytes, with transfers.
_LARGEST_RESULT = 1 << 10
_SMALL_RESULT = 1 << 24


def processors() -> int:
    """Count the usable processors; 1 where pipes cannot be waited for."""
    if os.name != "posix":
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def decode_together(
    todo: Sequence[StreamPart], cache: DecoderCache, python: str, most: int, progress: Optional[Progress] = None
) -> List[Recorder]:
    """Decode parts in parallel, here and in other processes.

    :param cache: Decoders of earlier captures.
    :param python: The interpreter to run.
    :param most: How many parts may be decoded at the same time.
    :returns: The recordings in the order of the parts.
    """
    pool = _Pool(todo, cache, python, most, progress if progress is not None else lambda size: None)
    collecting = gc.isenabled()
    gc.disable()  # a recording is many objects, none of which becomes garbage here
    try:
        return pool.run()
    finally:
        pool.end()
        if collecting:
            gc.enable()


class _Worker:
    # A process, and what was received from it.

    def __init__(self, python: str, part: StreamPart) -> None:
        self.recorder: Optional[Recorder] = None
        self._part = part
        self._left = part.size
        self._received = bytearray()
        self._size = -1
        # In a session of its own: Ctrl-C in our terminal is not for it.
        self._popen = subprocess.Popen(
            [python, "-I", "-S", "-c", _BOOT, _PACKAGE_ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def fileno(self) -> int:
        assert self._popen.stdout is not None
        return self._popen.stdout.fileno()

    def send(self) -> None:
        # It reads everything before it writes anything, so neither waits for the other.
        pipe = self._popen.stdin
        assert pipe is not None
        errand = memoryview(write_errand(self._part))
        while errand:
            errand = errand[os.write(pipe.fileno(), errand[:_PIECE]) :]
        pipe.close()

    def receive(self) -> int:
        # Reads what has come; gives the number of bytes that were decoded meanwhile.
        came = os.read(self.fileno(), _PIECE)
        if not came:
            raise ColumnError("the process ended early")
        self._received += came
        decoded = 0
        while self._size < 0 and len(self._received) >= MESSAGE.size:
            kind, size = MESSAGE.unpack_from(self._received)
            del self._received[: MESSAGE.size]
            if kind == PROGRESS and decoded + size <= self._left:
                decoded += size
            elif kind == RESULT and size <= _SMALL_RESULT + _LARGEST_RESULT * self._part.size:
                self._size = size
            else:
                raise ColumnError("the process writes nonsense")
        self._left -= decoded
        if 0 <= self._size <= len(self._received):
            self.recorder = read_result(self._part, bytes(self._received))
            self._received.clear()
        return decoded

    def end(self) -> None:
        self._popen.kill()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                pipe.close()
        self._popen.wait()


class _Pool:
    # Assigns the parts, the biggest first, to this process and to the workers; so all end at about the same time.

    def __init__(
        self, todo: Sequence[StreamPart], cache: DecoderCache, python: str, most: int, progress: Progress
    ) -> None:
        self._todo = todo
        self._cache = cache
        self._python = python
        self._most = most - 1
        self._progress = progress
        self._selector = selectors.DefaultSelector()
        self._workers: Dict[int, _Worker] = {}
        self._waiting = sorted(range(len(todo)), key=lambda number: todo[number].size)
        self._done: Dict[int, Recorder] = {}

    def run(self) -> List[Recorder]:
        while self._waiting or self._workers:
            if self._waiting:
                number = self._waiting.pop()
                self._look(0)
                self._done[number] = decode_part(self._todo[number], self._cache, self._advance)
            else:
                self._look(None)
        return [self._done[number] for number in range(len(self._todo))]

    def end(self) -> None:
        for worker in self._workers.values():
            worker.end()
        self._selector.close()

    def _advance(self, size: int) -> None:
        self._progress(size)
        self._look(0)

    def _look(self, seconds: Optional[float]) -> None:
        # Starts workers while parts are left, and collects their results.
        while self._waiting and len(self._workers) < self._most:
            self._start(self._waiting.pop())
        for key, _ in self._selector.select(seconds) if self._workers else ():
            number: int = key.data
            worker = self._workers[number]
            try:
                decoded = worker.receive()
            except (OSError, ColumnError):
                self._give_up(number)
                continue
            if worker.recorder is not None:
                self._done[number] = worker.recorder
                self._dismiss(number)
            self._progress(decoded)

    def _start(self, number: int) -> None:
        try:
            worker = self._workers[number] = _Worker(self._python, self._todo[number])
            self._selector.register(worker, selectors.EVENT_READ, number)
            worker.send()
        except OSError:
            self._give_up(number)

    def _give_up(self, number: int) -> None:
        # What one process cannot do the next one cannot do either.
        self._most = 0
        self._waiting.append(number)
        if number in self._workers:
            self._dismiss(number)

    def _dismiss(self, number: int) -> None:
        worker = self._workers.pop(number)
        self._selector.unregister(worker)
        worker.end()
