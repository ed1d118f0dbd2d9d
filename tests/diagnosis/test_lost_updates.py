"""Worked by hand: updates that another context's store interrupted."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple, cast

from gdb_etm.diagnosis.index import Touch
from gdb_etm.diagnosis.lost_updates import lost_updates
from gdb_etm.diagnosis.scene import Scene


class Run(NamedTuple):
    """One run of a function, in a context."""

    first: int
    context: str


class Contexts:
    """A scene that knows who ran when."""

    def __init__(self, runs: Dict[int, Run]) -> None:
        self._runs = runs

    def activation(self, number: int) -> Optional[Run]:
        """Give the run of a function."""
        return self._runs.get(number)

    def context(self, number: int) -> object:
        """Give the thread or handler."""
        return self._runs[number].context


MAIN, TICK, OTHER = Run(1, "main"), Run(4, "SysTick"), Run(1, "another thread")


def found(*accesses: Tuple[int, str, Run]) -> List[List[int]]:
    """Find the lost updates of a word.

    :param accesses: Number, ``"load"`` or ``"store"``, and who did it.
    """
    scene = cast(Scene, Contexts({number: run for number, _, run in accesses}))
    touches = [Touch(number, what == "store", 0x20000000, 4) for number, what, _ in accesses]
    rows = lost_updates(scene, touches)
    return [[one.load.number, *(other.number for other in one.others), one.store.number] for one in rows]


def test_a_handler_and_a_thread_between_a_load_and_its_store() -> None:
    assert found((2, "load", MAIN), (4, "load", TICK), (5, "store", TICK), (8, "store", MAIN)) == [[2, 5, 8]]
    assert found((2, "load", MAIN), (5, "store", OTHER), (6, "store", TICK), (8, "store", MAIN)) == [[2, 5, 6, 8]]


def test_the_newest_comes_first() -> None:
    both = [(2, "load", MAIN), (5, "store", TICK), (8, "store", MAIN)]
    again = [(12, "load", MAIN), (15, "store", TICK), (18, "store", MAIN)]
    assert found(*both, *again) == [[12, 15, 18], [2, 5, 8]]


def test_what_is_no_lost_update() -> None:
    # A handler that only reads; a second look after the handler; a store without a load; an update of its own.
    assert not found((2, "load", MAIN), (5, "load", TICK), (8, "store", MAIN))
    assert not found((2, "load", MAIN), (5, "store", TICK), (7, "load", MAIN), (8, "store", MAIN))
    assert not found((5, "store", TICK), (8, "store", MAIN))
    assert not found((2, "load", MAIN), (5, "store", TICK), (7, "store", MAIN), (8, "store", MAIN))[1:]


def test_another_word_does_not_count() -> None:
    scene = cast(Scene, Contexts({2: MAIN, 5: TICK, 8: MAIN}))
    touches = [Touch(2, False, 0x20000000, 4), Touch(5, True, 0x20000004, 4), Touch(8, True, 0x20000000, 4)]
    assert not lost_updates(scene, touches)
