"""What a self test borrows of the target."""

from __future__ import annotations

from typing import Iterable, Iterator, List, Optional

from gdb_etm.coresight.mtb import MtbBuffer
from gdb_etm.coresight.sink import BufferPlace
from gdb_etm.errors import CaptureError
from gdb_etm.selftest.core import is_memory
from gdb_etm.selftest.findings import StepFinding, StepOutcome
from gdb_etm.selftest.program import ALIGNMENT, Layout
from gdb_etm.selftest.rig import Rig
from gdb_etm.selftest.steps import MOST_RUNS, findings
from gdb_etm.selftest.tested import TestedCore
from gdb_etm.traceunit.by_hand import ByHand
from gdb_etm.traceunit.session import TraceSession

# Where the memory map of a Cortex-M has RAM, whatever the chip.
_SRAM = 0x20000000
# Sizes of a Micro Trace Buffer, the best first.
_BUFFERS = (4096, 2048, 1024)
_TYPE_RAM = 'type "etm selftest --ram ADDRESS" with the address of RAM that holds code'


class SelfTestBench:
    """The target of a self test, put back in the end.

    :param core: The core.
    :param trace: Unit and buffer, which are ours and do not trace.
    """

    def __init__(self, core: TestedCore, trace: TraceSession) -> None:
        self._port = core.port
        self._trace = trace
        self._core = core
        self._size = Layout(0, core.program).size
        self._base = _SRAM
        self._buffer: Optional[BufferPlace] = None

    def check(self, places: Iterable[int] = ()) -> None:
        """Check that core and RAM can be borrowed and put back.

        :param places: Addresses where the user says that there is RAM, the likeliest first; empty: below the stack.
        :raises CaptureError: They cannot; nothing was changed.
        :raises AccessError: The core does not answer.
        """
        if not self._core.is_halted:
            raise CaptureError("the core runs; halt it first (Ctrl-C)")
        try:
            self._core.check_state()
            self._base = self._place(places)
            if isinstance(self._trace.sink, MtbBuffer):
                self._buffer = self._trace_place()
        finally:
            self._core.put_word_back()

    def findings(self, most: int = MOST_RUNS) -> Iterator[StepFinding]:
        """Make all steps, put everything back, and say so; :meth:`check` comes first.

        :param most: Runs of the program after which no other step begins.
        :raises AccessError: The connection is lost.
        """
        core, base = self._core, self._base
        registers = core.save()
        memory = self._port.read_block(base, self._size // 4)
        by_hand, self._trace.by_hand = self._trace.by_hand, ByHand()
        try:
            core.prepare()
            yield from findings(Rig(self._trace, core, Layout(base, core.program), self._buffer), most)
        finally:
            self._trace.by_hand = by_hand
            wrong = self._put_back(base, memory)
            core.forget_code(base, self._size)
            wrong += core.restore()
        yield _restored(wrong, self._size, registers)

    def _place(self, places: Iterable[int]) -> int:
        # The first place that is RAM; of a stack what is below it, which nobody uses.
        given = [-(-place // ALIGNMENT) * ALIGNMENT for place in places]
        stacks = [(stack - self._size) // ALIGNMENT * ALIGNMENT for stack in self._core.stack_pointers()]
        tried = []
        for base in given or [*stacks, *([] if self._core.program.is_a_profile else [_SRAM])]:
            if not self._core.is_code(base, base + self._size):
                tried.append("0x%08x holds no code" % (base & 0xFFFFFFFF))
            elif is_memory(self._port, base, self._size // 4):
                return base
            else:
                tried.append("0x%08x is no RAM" % base)
        raise CaptureError("no RAM is known (%s): %s" % (", ".join(dict.fromkeys(tried)), _TYPE_RAM))

    def _trace_place(self) -> BufferPlace:
        # For a Micro Trace Buffer: next to the program, below it first; what is there is put back by its driver.
        tried = []
        for size in _BUFFERS:
            for address in ((self._base // size - 1) * size, -(-(self._base + self._size) // size) * size):
                if address >= 0 and is_memory(self._port, address, size // 4):
                    return BufferPlace(address, size, False)
                tried.append("0x%08x" % address)
        words = "no RAM of %d bytes for the trace beside the program at 0x%08x (tried: %s): %s"
        raise CaptureError(words % (_BUFFERS[-1], self._base, ", ".join(tried), _TYPE_RAM))

    def _put_back(self, base: int, memory: List[int]) -> List[str]:
        for n, word in enumerate(memory):
            self._port.write32(base + 4 * n, word)
        return [
            "0x%08x was 0x%08x and is 0x%08x" % (base + 4 * n, word, found)
            for n, (word, found) in enumerate(zip(memory, self._port.read_block(base, len(memory))))
            if word != found
        ]


def _restored(wrong: List[str], size: int, registers: int) -> StepFinding:
    subject = "put back"
    if wrong:
        more = "; %d more" % (len(wrong) - 1) if len(wrong) > 1 else ""
        return StepFinding(subject, StepOutcome.FAILED, "%s%s: reset the chip" % (wrong[0], more))
    return StepFinding(
        subject, StepOutcome.OK, "%d bytes of RAM and %d core registers read as before" % (size, registers)
    )


def taken_anew(trace: TraceSession) -> TraceSession:
    """Restore unit and buffer as they were found, and retake them.

    :raises EtmError: They cannot be taken.
    """
    trace.close()
    again = TraceSession(trace.path, trace.core)
    again.by_hand = trace.by_hand
    again.attach()
    return again
