"""Returns to where no call was: code that runs by chance."""

from __future__ import annotations

from typing import Iterator, Set

from gdb_etm.diagnosis.bad import Bad
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.lift.operations import LR, SP

# Instructions back from the fault, and returns that are looked at, at most.
_REACH, _MOST = 20000, 3
# Sizes of instructions, in bytes.
_SIZES = (4, 2)


def astray(scene: Scene, number: int) -> Iterator[Bad]:
    """Give the returns that went to code behind no call, newest first.

    A return address that is overwritten may be one of code by chance; what runs then tells nothing.

    :param number: The last instruction before the fault.
    """
    others: Set[int] = set()
    left = _MOST
    for one in range(min(number, len(scene.history) - 1), max(number - _REACH, 0), -1):
        address = scene.index.address(one)
        if address in others:
            continue
        if not returns(scene, one):
            others.add(address)
            continue
        maker = scene.target(one)
        if maker is None or len(maker.sources) != 1 or _is_behind_call(scene, one + 1):
            continue
        if scene.is_library(scene.function(one)):
            # What unwinds goes to where an exception is caught.
            continue
        value = scene.value(maker.sources[0]).value
        what = "the address that #%s returned to" % format(one, ",")
        yield Bad(what, scene.index.address(one + 1) if value is None else value, "no call is before it", maker.sources)
        left -= 1
        if not left:
            return


def returns(scene: Scene, number: int) -> bool:
    """Check whether an instruction returns from a function."""
    template = scene.template(number)
    is_indirect = template is not None and template.target is not None and template.target >= 0 and not template.call
    return template is not None and is_indirect and (template.target == LR or SP in template.writes)


def _is_behind_call(scene: Scene, number: int) -> bool:
    # A function's beginning is where a thread begins, and what a switch of threads goes to.
    address = scene.index.address(number)
    if scene.names.beginning(address):
        return True
    before = [(size, scene.template_at(address - size, number)) for size in _SIZES]
    return any(one is not None and one.size == size and one.call for size, one in before)
