"""Worked by hand: work in the background, in turns with commands.

Nothing is timed.
"""

from __future__ import annotations

import gc
import threading
from queue import Queue
from typing import Callable, List

import pytest

from gdb_etm.errors import AccessError
from gdb_etm.session.background import Background, RelayedMemory

SECONDS = 60


class Counting:
    """Work that counts until it is ended.

    :param background: Where it is done.
    """

    def __init__(self, background: Background) -> None:
        self.count = 0
        self.has_ended = threading.Event()
        self._background = background
        self._moved = threading.Condition()

    def work(self) -> None:
        """Count."""
        try:
            while True:
                with self._moved:
                    self.count += 1
                    self._moved.notify_all()
                self._background.tick()
        finally:
            self.has_ended.set()

    def wait(self) -> None:
        """Wait until it has counted on."""
        with self._moved:
            before = self.count
            assert self._moved.wait_for(lambda: self.count > before, SECONDS)


class Target:
    """Memory that one thread alone may read."""

    def __init__(self) -> None:
        self.readers: List[threading.Thread] = []

    def read_memory(self, address: int, size: int) -> bytes:
        """Read zeros, below an address."""
        self.readers.append(threading.current_thread())
        if address > 0x1000:
            raise AccessError("nothing there", address)
        return bytes(size)


@pytest.fixture(name="queue")
def fixture_queue() -> "Queue[Callable[[], None]]":
    return Queue()


@pytest.fixture(name="background")
def fixture_background(queue: "Queue[Callable[[], None]]") -> Background:
    background = Background()
    background.defer = queue.put
    background.is_attended = True
    return background


def test_it_takes_somebody_at_a_prompt(background: Background) -> None:
    assert background.is_possible
    for name in ("is_attended", "is_wanted"):
        setattr(background, name, False)
        assert not background.is_possible
        setattr(background, name, True)
    assert not Background().is_possible


def test_work_stands_still_while_a_command_runs(background: Background) -> None:
    counting = Counting(background)
    background.start(counting, counting.work)
    counting.wait()
    with background.held():
        with background.held():
            before = counting.count
        assert background.works_for(counting) and not background.tick()
        assert not counting.has_ended.wait(0.3) and counting.count == before
    counting.wait()
    background.stop()
    assert counting.has_ended.is_set() and not background.works_for(counting)


def test_new_work_takes_the_place_of_the_old(background: Background) -> None:
    old, new = Counting(background), Counting(background)
    background.start(old, old.work)
    old.wait()
    background.start(new, new.work)
    new.wait()
    assert old.has_ended.wait(SECONDS) and background.works_for(new) and not background.works_for(old)
    background.stop()
    assert new.has_ended.wait(SECONDS)


def test_work_that_is_done_leaves_the_turn(background: Background) -> None:
    done = threading.Event()
    background.start(done, done.set)
    assert done.wait(SECONDS)
    with background.held():
        assert not background.works_for(done)


def test_the_target_is_read_on_the_debuggers_own_thread(
    background: Background, queue: "Queue[Callable[[], None]]"
) -> None:
    target, found, failed = Target(), [], []
    memory = RelayedMemory(target, background)

    def work() -> None:
        found.append(memory.read_memory(0, 4))
        with pytest.raises(AccessError):
            memory.read_memory(0x2000, 4)
        failed.append(True)

    background.start(work, work)
    queue.get(timeout=SECONDS)()
    # A command can run while the thread waits for the target.
    call = queue.get(timeout=SECONDS)
    with background.held():
        assert memory.read_memory(8, 1) == b"\0" and found == [bytes(4)]
    call()
    background.start(target, lambda: failed.append(False))
    assert set(target.readers) == {threading.main_thread()} and len(target.readers) == 3


def test_who_waits_for_the_target_can_be_ended(background: Background, queue: "Queue[Callable[[], None]]") -> None:
    target, has_ended = Target(), threading.Event()
    memory = RelayedMemory(target, background)

    def work() -> None:
        try:
            memory.read_memory(0, 4)
        finally:
            has_ended.set()

    background.start(work, work)
    call = queue.get(timeout=SECONDS)
    background.stop()
    assert has_ended.wait(SECONDS)
    call()
    assert not target.readers


def test_ctrl_c_in_a_read_ends_the_work(background: Background, queue: "Queue[Callable[[], None]]") -> None:
    reached: List[str] = []

    def interrupted() -> None:
        raise KeyboardInterrupt

    def work() -> None:
        background.on_own_thread(interrupted)
        reached.append("after it")

    background.start(work, work)
    queue.get(timeout=SECONDS)()
    background.stop()
    assert not reached and not background.works_for(work)


def test_what_the_work_failed_by_is_told_once(background: Background) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    done = threading.Event()
    background.start(done, fail)
    while background.works_for(done):
        background.join()
    with pytest.raises(ZeroDivisionError):
        background.start(done, done.set)
    background.start(done, done.set)
    assert done.wait(SECONDS)


def test_no_garbage_is_collected_in_the_thread(background: Background) -> None:
    # What one thread ends comes before what the next begins, or nobody would turn it on again.
    assert gc.isenabled()
    one, two = Counting(background), Counting(background)
    background.start(one, one.work)
    one.wait()
    assert not gc.isenabled()
    background.start(two, two.work)
    assert one.has_ended.is_set()
    two.wait()
    assert not gc.isenabled()
    background.stop()
    assert gc.isenabled()
