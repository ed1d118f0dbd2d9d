"""Property tests: OpenCSD and our decoder read encoded random executions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import List, Optional, Tuple

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.program.accesses import Access, accesses
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import GapReason
from gdb_etm.protocols.etmv4.encode.config import EncoderConfig, View
from gdb_etm.protocols.etmv4.encode.encoder import DEBUG_HALT, Encoder
from gdb_etm.protocols.etmv4.encode.speculation import Setup
from gdb_etm.protocols.etmv4.encode.writer import exception_type
from gdb_etm.snapshot.writer import write_snapshot
from tests.execution import EXCEPTION_RETURN, Event, decoded
from tests.lister import ListedRange, list_execution
from tests.protocols.etmv4.walker import RandomProgram, Step, Walk

# A branch at the very end waits for its successor, and packets for more atoms.
_UNTOLD = 60


def record(
    seed: int, separate_address: bool, view: Optional[View] = None, setup: Optional[Setup] = None
) -> Tuple[RandomProgram, RawCapture, List[Event]]:
    """Trace a random walk; return program, capture and traced steps.

    :param setup: Of a unit that speculates.
    """
    dice = random.Random(seed)
    program = RandomProgram(seed)
    threshold = dice.choice((None, None, 4, 20))
    config = EncoderConfig(
        return_stack=dice.random() < 0.6,
        broadcast=(lambda address: bool(address & 0x40)) if dice.random() < 0.2 else None,
        timestamps=dice.random() < 0.3,
        threshold=threshold,
        sync_period=dice.choice((0, 256, 1024)),
        separate_address=separate_address,
        view=view,
        setup=setup,
    )
    if setup is not None:
        if setup.loads or setup.stores:
            wanted = Access.LOAD * setup.loads | Access.STORE * setup.stores
            config = config._replace(transfers=lambda at: bool(accesses(program.read(at), 0, Isa.T32) & wanted))
    out = bytearray()
    unit = Encoder(config, program.read, out.extend)
    unit.enable()
    walk = Walk(program, unit, seed)
    walk.run(2000, exceptions=dice.choice((0, 0.02, 0.2)), halts=dice.choice((0, 0.003)))
    unit.disable()
    registers = {
        "TRCCONFIGR": 1 | config.return_stack << 12 | config.timestamps << 11 | (threshold is not None) << 4,
        "TRCTRACEIDR": 0x10,
        "TRCIDR0": 0x280006E7,
        "TRCIDR1": 0x4100F421,
        "TRCIDR2": 4,
        "TRCIDR8": 0,
    }
    if setup is not None:
        registers["TRCIDR0"] = 0x080006E7 | setup.commit_mode << 29
        registers["TRCIDR8"] = setup.depth
        registers["TRCCONFIGR"] |= setup.loads << 1 | setup.stores << 2
    images = tuple(MemoryImage(base, code, "code") for base, code in program.pieces)
    source = TraceSource("ETM_0", "etmv4", registers, Core("cpu_0", "Cortex-M33", {}), images)
    capture = RawCapture(bytes(out), BufferFormat.RAW, (source,), BufferEnd.STARTED)
    return program, capture, seen(program, walk.steps, view or (lambda address: True))


def seen(program: RandomProgram, steps: List[Step], view: View) -> List[Event]:
    """Return what passes a filter, up to a block's end (4.1.3)."""
    found: List[Event] = []
    active = False
    block_begins = True
    for step in steps:
        if step.kind == "i":
            if view(step.address):
                active = True
            elif block_begins:
                active = False
            block_begins = program.decode(step.address).kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT)
        else:
            block_begins = True
        if active:
            found.append(truth(step))
        active = active and step.kind != "h"
    return found


def truth(step: Step) -> Event:
    if step.kind == "i":
        return step.address
    if step.kind == "r":
        return EXCEPTION_RETURN
    number = DEBUG_HALT if step.kind == "h" else exception_type(step.number)
    return ("exception", number, step.address)


def listed(program: RandomProgram, folder: str) -> List[Event]:
    """Return what OpenCSD tells, instruction by instruction."""
    found: List[Event] = []
    for item in list_execution(folder):
        if not isinstance(item, ListedRange):
            found.append(item)
            continue
        address = item.start
        while address < item.end:
            found.append(address)
            address += program.decode(address).size
    return found


def assert_told(found: List[Event], real: List[Event]) -> None:
    assert len(real) - _UNTOLD < len(found) <= len(real)
    assert found == real[: len(found)]


@pytest.mark.parametrize("seed", range(40))
def test_our_decoder_tells_what_ran(seed: int) -> None:
    _, capture, real = record(seed, separate_address=seed % 2 == 0)
    assert_told(decoded(capture), real)


@pytest.mark.parametrize("seed", range(100, 112))
def test_opencsd_tells_what_ran(seed: int, tmp_path: Path) -> None:
    program, capture, real = record(seed, separate_address=True)
    write_snapshot(capture, str(tmp_path / "snapshot"))
    assert_told(listed(program, str(tmp_path / "snapshot")), real)


@pytest.mark.parametrize("seed", range(300, 330))
def test_our_decoder_sees_through_speculation(seed: int) -> None:
    dice = random.Random(seed)
    depth = dice.choice((0, 1, 2, 5, 8, 20, 64))
    setup = Setup(depth, 32, dice.randrange(2), dice.random() < 0.4, dice.random() < 0.4)
    _, capture, real = record(seed, seed % 2 == 0, setup=setup)
    assert_told(decoded(capture, (GapReason.TRACE_ON, GapReason.UNCOMMITTED)), real)


def some_code(address: int) -> bool:
    """A filter that leaves many small holes."""
    return address >> 4 & 3 != 1


@pytest.mark.parametrize("seed", range(200, 220))
def test_what_passes_a_filter_is_told_and_nothing_else(seed: int, tmp_path: Path) -> None:
    program, capture, real = record(seed, True, some_code)
    assert_told(decoded(capture), real)
    if seed % 4 == 0:
        write_snapshot(capture, str(tmp_path / "snapshot"))
        assert_told(listed(program, str(tmp_path / "snapshot")), real)
