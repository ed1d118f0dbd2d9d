"""Stores, or loads, side by side: those of one copy."""

from __future__ import annotations

from typing import Iterable, Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.recovery.makers import MakerKind
from gdb_etm.recovery.values import Write


class Run(NamedTuple):
    """Accesses side by side, of one copy; mostly a single one."""

    # Newest first.
    writes: Tuple[Write, ...]
    # What executed the newest; None where that is not known, and for what an exception has pushed.
    activation: Optional[ActivationSpan]
    # The call of the library that did it; None where the program's own code did.
    caller: Optional[int]
    is_pushed: bool

    @property
    def number(self) -> int:
        """The newest one's instruction."""
        return self.writes[0].number

    @property
    def oldest(self) -> int:
        """The oldest one's instruction."""
        return self.writes[-1].number

    @property
    def address(self) -> int:
        """Of the first byte."""
        return min(one.address for one in self.writes)

    @property
    def size(self) -> int:
        """In bytes."""
        return max(one.address + one.size for one in self.writes) - self.address

    @property
    def unknown_after(self) -> int:
        """How many of unknown address came before the next newer one."""
        return self.writes[0].unknown_after


def runs(scene: Scene, writes: Iterable[Write], are_loads: bool = False) -> Iterator[Run]:
    """Put together what a copy has stored, or loaded, side by side.

    What a library does for one call is one run; else so is what one instruction does byte by byte.

    :param writes: Newest first.
    :param are_loads: Whether they are loads.
    """
    run: Optional[Run] = None
    kept: List[Write] = []
    low = high = 0
    for write in writes:
        one = _single(scene, write, are_loads)
        is_beside = bool(kept) and (write.address + write.size == low or write.address == high)
        if run is not None and is_beside and _continues(scene, run, one):
            kept.append(write)
            low, high = min(low, write.address), max(high, write.address + write.size)
            continue
        if run is not None:
            yield run._replace(writes=tuple(kept))
        run, kept, low, high = one, [write], write.address, write.address + write.size
    if run is not None:
        yield run._replace(writes=tuple(kept))


def _single(scene: Scene, write: Write, are_loads: bool) -> Run:
    if write.number < 1 or not are_loads and _is_pushed(scene, write):
        return Run((write,), None, None, True)
    user = scene.user(write.number)
    return Run((write,), scene.activation(write.number), user if user != write.number else None, False)


def _is_pushed(scene: Scene, write: Write) -> bool:
    origins = scene.recovery.origins(write.number)
    stored = origins.stored(write.number, write.address) if origins is not None else None
    return stored is not None and stored[0].kind is MakerKind.PUSHED


def _continues(scene: Scene, run: Run, older: Run) -> bool:
    newest, write = run.writes[0], older.writes[0]
    if run.is_pushed or older.is_pushed or write.unknown_after or not (newest.certain and write.certain):
        return False
    if run.caller is not None:
        return run.caller == older.caller
    if newest.size > 1 or write.size > 1 or older.caller is not None:
        return False
    same = scene.index.address(newest.number) == scene.index.address(write.number)
    return same and run.activation is not None and run.activation is older.activation
