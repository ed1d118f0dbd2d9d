"""Micro Trace Buffer decoder: packets and program to an execution."""

from __future__ import annotations

from typing import Callable, Iterable, Optional

from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Event, Gap, GapReason
from gdb_etm.protocols.mtb.automaton import MtbAutomaton
from gdb_etm.protocols.mtb.config import BufferEnds, MtbConfig
from gdb_etm.protocols.mtb.exceptions import read_table
from gdb_etm.protocols.mtb.execution import MtbExecution
from gdb_etm.protocols.mtb.packets import SIZE, read_packets
from gdb_etm.protocols.recorder import Recorder


class Decoder:
    """Decodes the buffers of one program.

    :param config: The unit's configuration.
    :param program: The program that the core ran.
    """

    def __init__(self, config: MtbConfig, program: Program) -> None:
        self.automaton = MtbAutomaton(program)
        self._vectors = read_table(program, config.vtor, config.vectors, config.table)

    def decode(
        self,
        data: bytes,
        offset_of: Callable[[int], int],
        progress: Optional[Callable[[int], None]] = None,
        before: Iterable[Event] = (),
        ends: BufferEnds = BufferEnds(),
    ) -> Recorder:
        """Decode a whole buffer.

        :param data: Its packets, the oldest first.
        :param offset_of: Maps a position in it to an offset in the capture's buffer.
        :param progress: Called with the number of bytes that were decoded; what it raises ends the work.
        :param before: Events to record first.
        :param ends: What is known of its two ends.
        """
        recorder = Recorder(self.automaton.runs, offset_of)
        for event in before:
            recorder.event(event)
        execution = MtbExecution(self.automaton, self._vectors, recorder, ends)
        for at, packet in read_packets(data):
            execution.packet(packet, at)
        rest = data[len(data) - len(data) % SIZE :]
        if rest:
            recorder.event(Gap(offset_of(len(data) - len(rest)), GapReason.CUT, rest.hex(" ")))
        execution.finish(len(data))
        if progress is not None:
            progress(len(data))
        return recorder
