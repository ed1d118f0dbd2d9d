"""Control blocks of threads, as known kernels keep them.

Only members are named here; where they are in a block, debug information says.
"""

from __future__ import annotations

from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

# Gives what an expression of addresses and sizes is worth; None when it means nothing in this program.
Constant = Callable[[str], Optional[int]]
# Reads memory; None where that is unknown.
Read = Callable[[int, int], Optional[bytes]]

# Threads of one program, and bytes of a name, at most.
_MOST = 256
_LONGEST = 64


class ControlBlock(NamedTuple):
    """A kernel's block of a thread."""

    address: int
    name: str
    # SP, saved when the thread was left.
    saved: int
    # The lowest address of its stack.
    stack: int


class KernelBlocks(NamedTuple):
    """All that a kernel keeps."""

    kernel: str
    # Address of the block of the thread that runs; None when that is not known.
    current: Optional[int]
    blocks: Tuple[ControlBlock, ...]


class _Kernel(NamedTuple):
    title: str
    # The pointer to the block of the thread that runs, as an expression.
    current: str
    # Members: the saved SP, the stack's lowest address, the name.
    saved: str
    stack: str
    name: str
    # Whether the block has but a pointer to the name.
    names_elsewhere: bool
    # Pointers to a first block, and the member with the next one.
    chains: Tuple[Tuple[str, str], ...] = ()
    # Lists of blocks, with a ring of items each.
    rings: Tuple[str, ...] = ()
    # Heads of rings whose items are members of the blocks, and the members; each begins with the next item's address.
    links: Tuple[Tuple[str, str], ...] = ()


_RTX = "osRtxInfo.thread."
_KERNELS = (
    _Kernel(
        "FreeRTOS",
        "pxCurrentTCB",
        "pxTopOfStack",
        "pxStack",
        "pcTaskName",
        False,
        rings=(
            "pxReadyTasksLists",
            "xDelayedTaskList1",
            "xDelayedTaskList2",
            "xPendingReadyList",
            "xSuspendedTaskList",
        ),
    ),
    _Kernel(
        "ThreadX",
        "_tx_thread_current_ptr",
        "tx_thread_stack_ptr",
        "tx_thread_stack_start",
        "tx_thread_name",
        True,
        (("_tx_thread_created_ptr", "tx_thread_created_next"),),
    ),
    _Kernel(
        "RTX",
        _RTX + "run.curr",
        "sp",
        "stack_mem",
        "name",
        True,
        tuple(
            (_RTX + head, member)
            for head, member in (
                ("run.curr", "thread_next"),
                ("ready.thread_list", "thread_next"),
                ("delay_list", "delay_next"),
                ("wait_list", "delay_next"),
            )
        ),
    ),
    _Kernel(
        "Zephyr",
        "_kernel.cpus[0].current",
        "callee_saved.psp",
        "stack_info.start",
        "name",
        False,
        (("_kernel.threads", "next_thread"),),
    ),
    _Kernel(
        "uC/OS-III",
        "OSTCBCurPtr",
        "StkPtr",
        "StkBasePtr",
        "NamePtr",
        True,
        # All of them with OS_CFG_DBG_EN, else those that wait for a time.
        (("OSTaskDbgListPtr", "DbgNextPtr"), ("OSTickList.TCB_Ptr", "TickNextPtr")),
    ),
    _Kernel(
        *("ChibiOS", "ch0.rlist.current", "ctx.sp", "wabase", "name", True),
        links=(("ch0.reglist.queue", "rqueue"),),
    ),
)


def find_blocks(constant: Constant, read: Read) -> Optional[KernelBlocks]:
    """Read the control blocks of the kernel in the program.

    :returns: None without a kernel that is known, or without its memory.
    """
    for kernel in _KERNELS:
        pointer = constant("(unsigned long)&%s" % kernel.current)
        if pointer is not None:
            return _Reader(kernel, constant, read).blocks(pointer)
    return None


def kernel_constants(constant: Constant) -> Dict[str, int]:
    """List what :func:`find_blocks` asks for, by expression; nothing without a kernel."""
    found: Dict[str, int] = {}

    def ask(expression: str) -> Optional[int]:
        value = constant(expression)
        if value is not None:
            found[expression] = value
        return value

    find_blocks(ask, lambda address, size: bytes(size))
    return found


class _Reader:
    def __init__(self, kernel: _Kernel, constant: Constant, read: Read) -> None:
        self._kernel = kernel
        self._constant = constant
        self._read = read

    def blocks(self, pointer: int) -> Optional[KernelBlocks]:
        kernel = self._kernel
        members = [self._member(name) for name in (kernel.saved, kernel.stack, kernel.name)]
        current = self._word(pointer)
        if current is None or members[0] is None:
            return None
        found: Dict[int, ControlBlock] = {}
        for address in self._addresses(current):
            saved, stack, name = [None if offset is None else address + offset for offset in members]
            found[address] = ControlBlock(address, self._name(name), self._word(saved) or 0, self._word(stack) or 0)
        return KernelBlocks(kernel.title, current or None, tuple(found.values()))

    def _addresses(self, current: int) -> Iterator[int]:
        if current:
            yield current
        for head, member in self._kernel.chains:
            yield from self._chain(self._word(self._constant("(unsigned long)&%s" % head)), self._member(member))
        for ring in self._kernel.rings:
            yield from self._ring(ring)
        for head, member in self._kernel.links:
            yield from self._linked(self._constant("(unsigned long)&%s" % head), self._member(member))

    def _chain(self, first: Optional[int], member: Optional[int]) -> Iterator[int]:
        seen: List[int] = []
        at = first
        while at and at not in seen and len(seen) < _MOST and member is not None:
            seen.append(at)
            at = self._word(at + member)
        return iter(seen)

    def _linked(self, head: Optional[int], member: Optional[int]) -> Iterator[int]:
        items = self._chain(self._word(head), 0) if member is not None else ()
        return (item - (member or 0) for item in items if item != head)

    def _ring(self, name: str) -> Iterator[int]:
        # A list, or an array of them: each has an item that is its end, and items with an owner.
        ring = "((__typeof__(&xPendingReadyList)) 0)->xListEnd"
        item = "((__typeof__(%s.pxNext)) 0)->" % ring
        members = (ring, ring + ".pxNext", item + "pxNext", item + "pvOwner")
        end, begin, following, owner = [self._constant("(unsigned long)&" + member) for member in members]
        start = self._constant("(unsigned long)&" + name)
        size, one = self._constant("sizeof(%s)" % name), self._constant("sizeof(xPendingReadyList)")
        if start is None or end is None or begin is None or owner is None or not size or not one:
            return
        for at in range(start, start + size, one):
            for each in self._chain(self._word(at + begin), following):
                block = self._word(each + owner) if each != at + end else None
                if block:
                    yield block

    def _member(self, name: str) -> Optional[int]:
        return self._constant("(unsigned long)&((__typeof__(%s)) 0)->%s" % (self._kernel.current, name))

    def _word(self, address: Optional[int]) -> Optional[int]:
        found = None if address is None else self._read(address, 4)
        return None if found is None else int.from_bytes(found, "little")

    def _name(self, address: Optional[int]) -> str:
        if self._kernel.names_elsewhere:
            address = self._word(address)
        found = b""
        while address and len(found) < _LONGEST and b"\0" not in found:
            more = self._read(address + len(found), 4)
            if more is None:
                break
            found += more
        letters = found.partition(b"\0")[0]
        return letters.decode("ascii") if all(32 <= letter < 127 for letter in letters) else ""
