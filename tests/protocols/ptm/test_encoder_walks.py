"""Property tests: OpenCSD and our decoder read encoded random executions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import List, Tuple

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.protocols.ptm.encode.encoder import DEBUG_HALT, Encoder, EncoderConfig, View
from gdb_etm.protocols.ptm.encode.packets import Regime
from gdb_etm.snapshot.writer import write_snapshot
from tests.board.test_etm_unit import assert_ranges
from tests.execution import EXCEPTION_RETURN, Event, decoded
from tests.lister import ListedRange, list_execution
from tests.protocols.ptm.walker import Program, Step, Walk

SECURE = (Regime(),)
WORLDS = (Regime(), Regime(True), Regime(True, True))


class Recorded:
    """A walk that was traced.

    :param seed: Decides everything, how the unit is configured too.
    :param regimes: The states that the processor can be in.
    :param view: What is traced.
    """

    def __init__(self, seed: int, regimes: Tuple[Regime, ...] = SECURE, view: View = lambda address: True) -> None:
        dice = random.Random(seed)
        self.program = Program(seed)
        version = dice.randrange(2)
        self.config = EncoderConfig(
            version=version,
            cycle_accurate=dice.random() < 0.4,
            return_stack=dice.random() < 0.5,
            broadcast=(lambda address: True) if dice.random() < 0.2 else None,
            timestamps=dice.random() < 0.3,
            wide_timestamps=version > 0 and dice.random() < 0.5,
            gray_timestamps=dice.random() < 0.5,
            barriers=version > 0 and dice.random() < 0.5,
            context_id_bytes=dice.choice((0, 0, 1, 2, 4)),
            vmid=version > 0 and dice.random() < 0.3,
            sync_period=dice.choice((0, 128, 1024)),
            view=view,
        )
        out = bytearray()
        unit = Encoder(self.config, self.program.read, out.extend)
        unit.enable()
        walk = Walk(self.program, unit, seed, regimes)
        walk.run(2000, dice.choice((0, 0.02, 0.2)), dice.choice((0, 0.003)))
        unit.disable()
        self.real = self._seen(walk.steps, view)
        self.untold = self._untold(walk.steps)
        self.capture = self._capture(bytes(out))

    def _capture(self, data: bytes) -> RawCapture:
        config = self.config
        control = config.cycle_accurate << 12 | (0, 1, 2, 0, 3)[config.context_id_bytes] << 14
        control |= (config.broadcast is not None) << 8 | config.timestamps << 28
        control |= config.return_stack << 29 | config.vmid << 30
        extension = 0x00C008EA | config.barriers << 24 | config.vmid << 26
        extension |= (not config.gray_timestamps) << 28 | config.wide_timestamps << 29
        identity = 0x411CF302 | config.version << 4
        registers = {"ETMCR": control, "ETMIDR": identity, "ETMCCER": extension, "ETMTRACEIDR": 0x10}
        # Some decoders read four bytes for the last instruction too.
        images = tuple(MemoryImage(base, code + bytes(4), "code") for base, code in self.program.pieces)
        source = TraceSource("PTM_0", "ptm", registers, Core("cpu_0", "Cortex-A9", {}), images)
        return RawCapture(data, BufferFormat.RAW, (source,), BufferEnd.STARTED)

    def _seen(self, steps: List[Step], view: View) -> List[Event]:
        # What is traced goes on to the next waypoint or exception.
        found: List[Event] = []
        active, between = False, True
        for step in steps:
            if step.kind == "i":
                traced = view(step.place & ~1)
                active = traced if between else active or traced
                between = self.program.is_waypoint(step.place, self.config.barriers)
                found += [step.place & ~1] if active else []
            elif step.kind == "x":
                found += [("exception", step.number, step.place & ~1)] if active else []
                between, active = True, active and step.number != DEBUG_HALT
            elif self.config.version and active:
                found.append(EXCEPTION_RETURN)
        return found

    def _untold(self, steps: List[Step]) -> int:
        # A waypoint at the very end waits for its successor, and what ran before it waits with it.
        count = 0
        for step in reversed(steps):
            ends = step.kind == "x" or step.kind == "i" and self.program.is_waypoint(step.place, self.config.barriers)
            if ends and count > (steps[-1].kind == "r"):
                break
            count += 1
        return count

    def assert_told(self, found: List[Event]) -> None:
        """Compare events with what ran."""
        assert len(self.real) - self.untold <= len(found) <= len(self.real)
        assert found == self.real[: len(found)]


def opencsd(recorded: Recorded, folder: Path) -> None:
    """Let OpenCSD tell it too."""
    write_snapshot(recorded.capture, str(folder))
    found = list_execution(str(folder))
    told = sum(item.instructions if isinstance(item, ListedRange) else 1 for item in found)
    assert len(recorded.real) - recorded.untold <= told
    assert_ranges(found, recorded.real[:told])


@pytest.mark.parametrize("seed", range(60))
def test_our_decoder_tells_what_ran(seed: int) -> None:
    recorded = Recorded(seed, WORLDS if seed % 2 else SECURE)
    recorded.assert_told(decoded(recorded.capture))


@pytest.mark.parametrize("seed", range(100, 130))
def test_opencsd_tells_what_ran(seed: int, tmp_path: Path) -> None:
    opencsd(Recorded(seed), tmp_path)


def some_code(address: int) -> bool:
    """A filter that leaves many small holes."""
    return address >> 4 & 3 != 1


@pytest.mark.parametrize("seed", range(200, 220))
def test_what_passes_a_filter_is_told(seed: int, tmp_path: Path) -> None:
    recorded = Recorded(seed, view=some_code)
    recorded.assert_told(decoded(recorded.capture))
    if seed % 4 == 0:
        opencsd(recorded, tmp_path)
