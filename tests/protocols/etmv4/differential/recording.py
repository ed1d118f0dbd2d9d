"""What a case makes: program, stream and truth."""

from __future__ import annotations

import random
from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.program.isa import Isa
from tests.protocols.etmv4.differential.case import CORES, Case
from tests.protocols.etmv4.differential.code import RandomCode
from tests.protocols.etmv4.differential.known import Fact
from tests.protocols.etmv4.differential.unit import Unit
from tests.protocols.etmv4.differential.walk import Walk

_HIGH = 0xFFFFFFC000080000
_LENGTH = 80


class Recording(NamedTuple):
    """A case played."""

    case: Case
    code: RandomCode
    # The stream, its front cut off as the case says.
    data: bytes
    # The stream before that.
    whole: bytes
    truth: List[Fact]
    times: List[Tuple[int, Optional[int]]]
    counts: List[Optional[int]]

    def source(self, trace_id: int) -> TraceSource:
        """Give it as one source of a capture."""
        images = tuple(MemoryImage(base, code, "code") for base, code in self.code.images)
        core = Core("cpu_0", CORES[self.case.profile], {})
        return TraceSource("ETM_0", "etmv4", self.case.registers(trace_id), core, images)


def pieces(profile: str) -> List[Tuple[int, Isa, int]]:
    """Give address, instruction set and length of a profile's pieces of code."""
    if profile == "a64":
        return [(0x400000, Isa.A64, _LENGTH), (_HIGH, Isa.A64, _LENGTH), (_HIGH + 0x20000, Isa.A64, _LENGTH)]
    if profile == "a32":
        return [(0x8000, Isa.A32, _LENGTH), (0x9000, Isa.T32, _LENGTH), (0x80010000, Isa.T32, _LENGTH)]
    if profile == "mixed":
        return [(0x8000, Isa.A32, _LENGTH), (0x9000, Isa.T32, _LENGTH), (_HIGH, Isa.A64, _LENGTH)]
    return [(0x1000, Isa.T32, _LENGTH), (0x08010000, Isa.T32, _LENGTH)]


def record(case: Case) -> Recording:
    """Play a case."""
    dice = random.Random(case.seed)
    code = RandomCode(dice, pieces(case.profile), not case.m_profile, case.portable)
    unit = Unit(case, dice)
    Walk(case, code, unit, dice).run()
    whole = bytes(unit.out)
    data = whole[len(whole) * case.cut // 1000 :]
    return Recording(case, code, data, whole, unit.truth(), unit.times, unit.counts)


def capture(recording: Recording) -> RawCapture:
    """Give a recording as a capture of its own."""
    return RawCapture(recording.data, BufferFormat.RAW, (recording.source(0x10),), BufferEnd.UNKNOWN)
