"""RAM that a program leaves free, for the buffer of an MTB.

The names that linker scripts give to the ends of heap and stack are those of CMSIS (``gcc_arm.ld``) and the like; those
of newlib (``end``, ``_end``) and of many vendors (``_estack``) are no limits.
"""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.coresight.sink import BufferPlace
from gdb_etm.errors import CommandError
from gdb_etm.program.ram import load_writable
from gdb_etm.session.anchor import STACK_POINTERS
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import bytes_text

# That of two packets would hold next to nothing.
SMALLEST = 64
# The largest that is taken without being asked for.
_USUAL = 4096
_STACK_LIMITS = ("__StackLimit", "__stack_limit", "__stack_limit__", "_sstack")
_HEAP_LIMITS = ("__HeapLimit", "__heap_limit", "__heap_end", "__heap_end__", "_heap_end")
# A program with one of these has a heap.
_HEAPS = ("_sbrk", "_sbrk_r", "malloc", "_malloc_r")
_NAME_AN_ARRAY = "; keep an array for the trace, and name it"


def free_place(session: DebugSession, wanted: Optional[int]) -> BufferPlace:
    """Find RAM between the program's variables and its stack.

    :param wanted: Its size in bytes; None: as suits, at most 4 KiB.
    :returns: The place nearest to the variables, farthest from the stack, with what is not known of it.
    :raises CommandError: There is none, or nothing tells what is free.
    """
    low, high, limit = _gap(session)
    if wanted is not None and (wanted & wanted - 1 or wanted < SMALLEST):
        raise CommandError("--buffer free: %d bytes are no buffer: a power of two, at least %d" % (wanted, SMALLEST))
    sizes = [1 << n for n in range(_USUAL.bit_length() - 1, SMALLEST.bit_length() - 2, -1)]
    for size in sizes if wanted is None else [wanted]:
        address = -(-low // size) * size
        # Without a limit the stack keeps at least as much.
        kept = 0 if limit else size
        if address + size + kept <= high:
            return BufferPlace(address, size, False, _note(high - address - size, limit))
    words = "--buffer free: %s are free between the variables and the stack (0x%08x-0x%08x), too little for %s"
    asked = bytes_text(SMALLEST if wanted is None else wanted)
    raise CommandError(words % (bytes_text(high - low), low, high - 1, asked) + _NAME_AN_ARRAY)


def _gap(session: DebugSession) -> Tuple[int, int, str]:
    # First free address, the address after the last, and the symbol that limits the stack if there is one.
    registers = session.debugger.registers()
    pointers = [registers[name] for name in STACK_POINTERS if registers.get(name)]
    files = dict.fromkeys(image.name for image in session.images())
    writable = sorted(piece for path in files for piece in load_writable(path))
    if not pointers or not writable:
        missing = "the stack pointer" if not pointers else "the program's variables"
        raise CommandError("--buffer free: %s cannot be told%s" % (missing, _NAME_AN_ARRAY))
    name, limit = _symbol(session, _STACK_LIMITS)
    stack = min(pointers) if limit is None else min(limit, *pointers)
    below = [end for start, end in writable if start < stack]
    above = [start for start, _ in writable if start >= stack]
    if not below or any(start < stack < end and limit is None for start, end in writable):
        where = "among the variables" if below else "below the variables, at 0x%08x" % min(above)
        raise CommandError(
            "--buffer free: the stack is %s, and where RAM ends is not known%s" % (where, _NAME_AN_ARRAY)
        )
    low = max(end for end in below if end <= stack) if any(end <= stack for end in below) else stack
    heap = _symbol(session, _HEAPS)[0]
    heap_limit = _symbol(session, _HEAP_LIMITS)[1]
    if heap and heap_limit is None:
        words = "--buffer free: the program has a heap (%s), and no symbol tells where it ends (such as %s)"
        raise CommandError(words % (heap, _HEAP_LIMITS[0]) + _NAME_AN_ARRAY)
    if heap_limit is not None and low <= heap_limit <= stack:
        low = heap_limit
    return low, stack, name


def _symbol(session: DebugSession, names: Tuple[str, ...]) -> Tuple[str, Optional[int]]:
    for name in names:
        found = session.debugger.constant("(unsigned long)&%s" % name)
        if found is not None:
            return name, found
    return "", None


def _note(left: int, limit: str) -> str:
    if limit:
        return "the buffer is below %s, where the stack ends by the linker script" % limit
    return "the stack may grow by %s more before it comes to the buffer; how deep it will be is not known" % bytes_text(
        left
    )
