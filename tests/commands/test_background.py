"""Worked by hand: work in the background, in turns with commands.

Nothing is timed.
"""

from __future__ import annotations

import gc
import threading
from typing import List

import pytest

from gdb_etm.errors import AccessError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.anchor import Anchor
from gdb_etm.session.background import Background
from gdb_etm.session.session import DebugSession

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


@pytest.fixture(name="background")
def fixture_background() -> Background:
    background = Background()
    background.is_attended = True
    return background


def test_it_takes_somebody_at_a_prompt(background: Background) -> None:
    assert background.is_possible
    for name in ("is_attended", "is_wanted"):
        setattr(background, name, False)
        assert not background.is_possible
        setattr(background, name, True)


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


def test_the_background_does_not_read_the_target(background: Background) -> None:
    target = Target()
    anchor = Anchor({"pc": 0}, target)
    assert anchor.read(0x100, 4) == bytes(4)
    found: List[object] = []

    def work() -> None:
        found.extend([anchor.read(0x104, 4), anchor.read(0x200, 4)])

    background.start(work, work)
    background.join()
    assert found == [bytes(4), None]
    # What it was not told is read later.
    assert anchor.read(0x200, 4) == bytes(4) and set(target.readers) == {threading.main_thread()}


def test_the_background_reads_what_it_was_given_to_read(background: Background) -> None:
    target = Target()
    anchor = Anchor({"pc": 0}, target)
    reading = anchor.reading([(0, 0x8000)])
    background.start(reading, lambda: next(reading))
    background.join()
    assert anchor.read(0x100, 4) == bytes(4) and threading.main_thread() not in target.readers
    # Written by the user in the midst of that: it may have been read after.
    anchor.change(0x100, 1)
    assert anchor.read(0x100, 4) is None and anchor.read(0x300, 4) == bytes(4)
    assert not list(reading)[1:]
    # After that, what was read before stays.
    anchor.change(0x300, 1)
    assert anchor.read(0x300, 4) == bytes(4)


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


def test_other_symbols_end_the_work() -> None:
    session = DebugSession(OfflineDebugger([]))
    counting = Counting(session.background)
    session.background.start(counting, counting.work)
    counting.wait()
    session.forget_program()
    assert counting.has_ended.is_set()


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
