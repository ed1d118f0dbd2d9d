"""Blocks that allocators gave and took back.

Which argument is a block, or its size, debug information says, as far as there is some.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple, Optional, Sequence

from gdb_etm.diagnosis.library import is_allocator, is_release
from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.history.frames import Function

# Names of parameters that are a size; and a part of others, or of their types.
_SIZES, _SIZE = ("n", "len", "length", "bytes", "nbytes", "sz"), "size"
# Those of a size before, and of an alignment.
_OTHERS = re.compile(r"o_?size|old|prev|align|boundary", re.IGNORECASE)


class Freed(NamedTuple):
    """What a function took that frees memory."""

    address: int
    # Whether it may only free what an object of a type has, and not the object.
    is_object: bool


def freed(scene: Scene, one: ActivationSpan) -> Optional[Freed]:
    """Give the block that a call took to free; None where unknown."""
    if one.function is None or not one.is_whole or not is_release(one.function.name):
        return None
    if scene.names.is_copy(one.function.start):
        return None
    name, is_object = one.function.name, False
    arguments = scene.names.arguments(one.function.start)
    register = "r1" if _is_reentrant(name) else "r0"
    if arguments is not None and not _is_reentrant(name):
        pointers = [(kind.type_name, place) for kind, place in arguments if kind.is_pointer and kind.name != "this"]
        # What is freed may be anything, and comes last.
        plain = [place for kind, place in pointers if kind.endswith("void *")]
        if not plain and len(pointers) != 1:
            return None
        register, is_object = plain[-1] if plain else pointers[0][1], not plain
    address = scene.register(one.first, register)
    return Freed(address, is_object) if address else None


def gives(scene: Scene, one: ActivationSpan) -> bool:
    """Check whether a function returns a block to who calls it."""
    function = one.function
    return function is not None and is_allocator(function.name) and scene.names.gives_pointer(function.start)


def _is_reentrant(name: str) -> bool:
    # Newlib's have their state as the first argument.
    return name.startswith("_") and name.endswith("_r")


def _size(scene: Scene, one: ActivationSpan, function: Function) -> Optional[int]:
    # How many bytes an allocator was asked for.
    places = _sizes(scene, function)[: 2 if "calloc" in function.name else 1]
    size: Optional[int] = 1 if places else None
    for place in places:
        factor = scene.register(one.first, place)
        size = None if size is None or factor is None else size * factor
    return size


def _sizes(scene: Scene, function: Function) -> Sequence[str]:
    # The registers that may have it, the likeliest first.
    own = _is_reentrant(function.name)
    arguments = None if own else scene.names.arguments(function.start)
    if arguments is None:
        return ("r0", "r1", "r2", "r3")[own + ("realloc" in function.name) :]
    whole = [(kind, place) for kind, place in arguments if kind.is_integer]
    if "calloc" in function.name:
        return [place for _, place in whole]
    found = [one for one in whole if one[0].name.lower() in _SIZES or _SIZE in (one[0].name + one[0].type_name).lower()]
    if len(found) > 1:
        found = [one for one in found if not _OTHERS.match(one[0].name)]
    # Of several, such as a count and a size, which make the size together nobody says.
    return [place for _, place in found] if len(found) == 1 else ()


def asked(scene: Scene, allocation: ActivationSpan) -> Optional[int]:
    """Give how many bytes a call of an allocator was to give."""
    function = allocation.function
    if function is None or not scene.names.gives_bytes(function.start):
        return None
    return _size(scene, allocation, function)


def block_of(scene: Scene, allocation: Optional[ActivationSpan]) -> Optional[Area]:
    """Give the block that a call of an allocator returned.

    :returns: None where its place or size is not known.
    """
    if allocation is None or not allocation.is_whole or allocation.function is None:
        return None
    if not gives(scene, allocation) or scene.names.is_copy(allocation.function.start):
        return None
    if not scene.names.gives_bytes(allocation.function.start):
        # It counts in objects, or makes one of which only a part has the size that it is told.
        return block_of(scene, _inner(scene, allocation))
    start, size = scene.result(allocation), _size(scene, allocation, allocation.function)
    if start is None or size is None or not (scene.is_ram(start) and scene.is_ram(start + max(size, 1) - 1)):
        return None
    return Area("the block of %d bytes from %s" % (size, allocation.function.name), start, size, True)


def _inner(scene: Scene, allocation: ActivationSpan) -> Optional[ActivationSpan]:
    # The allocation that an allocator has made for what it returned, if it is one of its own calls.
    start, all_of = scene.result(allocation), scene.activations()
    for one in all_of[bisect_right(all_of, allocation) :] if start is not None else ():
        if one.first > allocation.last:
            break
        up = one.frame.up
        if up is allocation.frame and gives(scene, one) and scene.result(one) == start:
            return one
    return None


def block_at(scene: Scene, number: int, address: int) -> Optional[Area]:
    """Give the newest block that holds an address before an instruction."""
    for one in reversed(scene.activations()):
        block = block_of(scene, one) if one.last < number else None
        if block is not None and block.start <= address < block.end:
            return block
    return None
