"""Worked by hand: whose stack a word is on."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple, cast

from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.patterns.stacks import Stacks
from gdb_etm.diagnosis.pointers import PointerRoots
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.history.frames import Frame, Function

# The stack of the handlers is below those of the threads.
HANDLERS, THREADS = Area("handlers", 0x20000400, 0x400, True), Area("threads", 0x20000800, 0x800, True)
TASK = ActivationSpan(1, 100, True, Frame(0, Function("task", 0x100, 0x200), None, None))
FAULT = ActivationSpan(101, 110, True, Frame(0, Function("fault", 0x200, 0x300), None, None))
# SP before instructions; the handler has pushed eight words.
POINTERS: Dict[int, int] = {1: 0x20001000, 2: 0x200007E0, 50: 0x200007E0, 100: 0x20000F80, 101: 0x20000800}
POINTERS.update({102: 0x200007E0, 105: 0x200007E0})


class Names:
    """The two pieces of memory."""

    def containers(self, address: int) -> List[Area]:
        return [area for area in (HANDLERS, THREADS) if area.start <= address < area.end]


class Crashed:
    """A handler that has interrupted a thread."""

    names = Names()
    history = range(110)

    def activation(self, number: int) -> ActivationSpan:
        return TASK if number <= TASK.last else FAULT

    def register(self, number: int, name: str) -> Optional[int]:
        return POINTERS.get(number)

    def callers(self, activation: ActivationSpan) -> Sequence[Tuple[ActivationSpan, int]]:
        return ()

    def interrupted_frames(self, activation: ActivationSpan) -> List[Tuple[ActivationSpan, int]]:
        return [(TASK, 100)] if activation is FAULT else []

    def sets(self, activation: ActivationSpan) -> Mapping[int, int]:
        return {}

    def cfa(self, activation: ActivationSpan, number: int) -> Optional[int]:
        return POINTERS[activation.first]

    def stack_from(self, address: int) -> Optional[int]:
        return None


STACKS = Stacks(cast(Scene, Crashed()), cast(PointerRoots, None))


def test_what_a_handler_has_on_its_own_stack_is_no_threads() -> None:
    assert STACKS.invaded(105, 0x200007E4) is None


def test_a_thread_that_has_grown_to_there_is_told() -> None:
    found = STACKS.invaded(50, 0x200007E4)
    assert found is not None and found.text.endswith("which grows over handlers")


def test_a_handler_whose_stack_is_far_above_has_not_grown_to_there() -> None:
    # It saves what a thread had, on that one's stack.
    class Apart(Crashed):
        def register(self, number: int, name: str) -> Optional[int]:
            return 0x20008000 - 8 * (number - FAULT.first) if number >= FAULT.first else POINTERS.get(number)

    assert Stacks(cast(Scene, Apart()), cast(PointerRoots, None)).invaded(102, 0x200007C0) is None


class Mutual(Crashed):
    """Two functions that call each other, from before what is known."""

    history = range(200)
    _functions = (Function("outer", 0x100, 0x200), Function("inner", 0x200, 0x300))

    def __init__(self) -> None:
        self._spans: List[ActivationSpan] = []
        for at in range(20):
            up = self._spans[-1].frame if self._spans else None
            frame = Frame(at, self._functions[at % 2], up, None)
            self._spans.append(ActivationSpan(10 * at + 1, 200, bool(at), frame))

    def activation(self, number: int) -> ActivationSpan:
        return self._spans[(number - 1) // 10]

    def register(self, number: int, name: str) -> Optional[int]:
        at, since = divmod(number - 1, 10)
        # Those of "inner" are the larger ones.
        return 0x20001000 - 64 * (at + at // 2) - (64 * (1 + at % 2) if since else 0)

    def callers(self, activation: ActivationSpan) -> Sequence[Tuple[ActivationSpan, int]]:
        at = self._spans.index(activation)
        return [(self._spans[one], 10 * (one + 1)) for one in range(at - 1, -1, -1)]

    def interrupted_frames(self, activation: ActivationSpan) -> List[Tuple[ActivationSpan, int]]:
        return []

    def cfa(self, activation: ActivationSpan, number: int) -> Optional[int]:
        return self.register(activation.first, "sp")


def test_of_functions_that_call_each_other_more_may_have_been_called_before() -> None:
    found = Stacks(cast(Scene, Mutual()), cast(PointerRoots, None)).invaded(200, 0x200007C0)
    assert found is not None and found.text == "calls itself at least 10 deep: the stack grows over handlers"
