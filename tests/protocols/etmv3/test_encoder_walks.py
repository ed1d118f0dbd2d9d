"""Property tests: OpenCSD and our decoder read encoded random executions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.history.build import build
from gdb_etm.history.store import TracedInstruction
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.program.transfers import transfers as parts_of
from gdb_etm.protocols import elements
from gdb_etm.protocols.etmv3.encode.data import BusTransfer, DataConfig
from gdb_etm.protocols.etmv3.encode.encoder import NO_EXECUTION, Encoder, EncoderConfig, View, exception_type
from gdb_etm.snapshot.writer import write_snapshot
from tests.execution import EXCEPTION_RETURN, Event, decoded
from tests.lister import ListedRange, list_execution
from tests.protocols.etmv4.walker import RandomProgram, Step, Walk

# A direct branch at the very end waits for its successor.
_UNTOLD = 1


class Moved(NamedTuple):
    """A transfer as the trace tells it."""

    store: Optional[bool]
    address: Optional[int]
    size: Optional[int]
    value: Optional[int]


class Feeder:
    """Makes up failed conditions, transfers and cancelled instructions of a walk.

    :param encoder: Is told of it all.
    :param program: What runs.
    :param seed: Decides everything.
    """

    def __init__(self, encoder: Encoder, program: RandomProgram, seed: int, cancels: bool) -> None:
        self._encoder = encoder
        self._program = program
        self._random = random.Random(seed)
        self._cancels = cancels
        self.failed: List[bool] = []
        self.moved: List[Sequence[BusTransfer]] = []
        self.moved_by_exceptions: List[Sequence[BusTransfer]] = []

    def instructions(self, addresses: Sequence[int]) -> None:
        failed = []
        transfers: Dict[int, Sequence[BusTransfer]] = {}
        for index, address in enumerate(addresses):
            plain = self._program.decode(address).kind is InstructionKind.OTHER
            if plain and self._random.random() < 0.1:
                failed.append(index)
                self.moved.append(())
            else:
                transfers[index] = self._transfers(address)
                self.moved.append(transfers[index])
            self.failed.append(index in failed)
        self._encoder.instructions(addresses, failed, transfers)

    def _transfers(self, address: int) -> Sequence[BusTransfer]:
        base = 0x20000000 + self._random.choice((0, 4, 0x1000, 0x80, 0x3FC0, 0x1FFF0000))
        return [
            BusTransfer(base + (part.offset or 0), part.size, self._value(part.size), part.store)
            for part in parts_of(self._program.read(address) + bytes(4), 0, Isa.T32)
        ]

    def _value(self, size: int) -> int:
        return self._random.getrandbits(self._random.choice((0, 1, 8, 16, 32))) & (1 << 8 * size) - 1

    def exception(self, number: int, return_address: int) -> None:
        pushed = self._frame(True)
        cancelled = self._cancels and return_address != NO_EXECUTION and self._random.random() < 0.3
        cancelled = cancelled and self._program.decode(return_address).kind is InstructionKind.OTHER
        self._encoder.exception(number, return_address, pushed, cancelled)

    def exception_return(self, _handler: bool) -> None:
        self._encoder.exception_return(self._frame(False))

    def _frame(self, store: bool) -> Sequence[BusTransfer]:
        frame = [BusTransfer(0x20008000 - 0x20 + 4 * word, 4, self._value(4), store) for word in range(8)]
        self.moved_by_exceptions.append(frame)
        return frame

    def debug_halt(self, pc: int) -> None:
        self._encoder.debug_halt(pc)

    def resume(self, _handler: bool) -> None:
        self._encoder.resume()


def record(
    seed: int, view: Optional[View] = None, data: Optional[DataConfig] = None, cancels: bool = False
) -> Tuple[RandomProgram, RawCapture, List[Event], Feeder]:
    """Trace a random walk; return program, capture and traced steps."""
    dice = random.Random(seed)
    program = RandomProgram(seed)
    accurate = dice.random() < 0.4
    config = EncoderConfig(
        branch_output=dice.random() < 0.3,
        cost=(lambda insn, ran: insn.size if insn.kind is InstructionKind.OTHER else 5 * ran) if accurate else None,
        timestamps=dice.random() < 0.3,
        wide_timestamps=dice.random() < 0.5,
        alternative=dice.random() < 0.7,
        sync_period=dice.choice((0, 256, 1024)),
        view=view,
        data=data,
    )
    out = bytearray()
    unit = Encoder(config, program.read, out.extend)
    unit.enable()
    feeder = Feeder(unit, program, seed, cancels)
    encoder: Any = feeder
    walk = Walk(program, encoder, seed)
    walk.run(2000, exceptions=dice.choice((0, 0.02, 0.2)), halts=dice.choice((0, 0.003)))
    unit.disable()
    control = config.branch_output << 8 | accurate << 12 | config.timestamps << 28 | 0x800
    if data is not None:
        control |= data.values << 2 | data.addresses << 3
    registers = {
        "ETMCR": control,
        "ETMTRACEIDR": 0x10,
        "ETMIDR": 0x4104F250 | config.alternative << 20,
        "ETMCCER": 0x18541800 | config.wide_timestamps << 29,
    }
    images = tuple(MemoryImage(base, code, "code") for base, code in program.pieces)
    source = TraceSource("ETM_0", "etmv3", registers, Core("cpu_0", "Cortex-M4", {}), images)
    capture = RawCapture(bytes(out), BufferFormat.RAW, (source,), BufferEnd.STARTED)
    return program, capture, seen(walk.steps, view or (lambda address: True)), feeder


def seen(steps: List[Step], view: View) -> List[Event]:
    """Return what passes a filter; exceptions go with the instruction before."""
    found: List[Event] = []
    active = False
    for step in steps:
        if step.kind == "i":
            active = view(step.address)
        if active and step.kind != "h":
            found.append(truth(step))
        active = active and step.kind != "h"
    return found


def truth(step: Step) -> Event:
    if step.kind == "i":
        return step.address
    if step.kind == "r":
        return EXCEPTION_RETURN
    return ("exception", exception_type(step.number), None if step.address == NO_EXECUTION else step.address)


def listed(program: RandomProgram, folder: str) -> Tuple[List[Event], List[bool]]:
    """Return OpenCSD's instructions, and which conditions it says failed."""
    found: List[Event] = []
    failed: List[bool] = []
    for item in list_execution(folder):
        if not isinstance(item, ListedRange):
            found.append(item)
            continue
        assert item.instructions == 1
        found.append(item.start)
        branches = program.decode(item.start).kind in (InstructionKind.DIRECT, InstructionKind.INDIRECT)
        failed.append(not item.passed and not branches)
    return found, failed


def untold(real: List[Event]) -> List[Event]:
    """Return events without return addresses, as OpenCSD has them."""
    return [(each[0], each[1], None) if isinstance(each, tuple) else each for each in real]


def assert_told(found: List[Event], real: List[Event]) -> None:
    assert len(real) - _UNTOLD <= len(found) <= len(real)
    assert found == real[: len(found)]


@pytest.mark.parametrize("seed", range(40))
def test_our_decoder_tells_what_ran(seed: int) -> None:
    _, capture, real, _ = record(seed, cancels=seed % 2 == 0)
    assert_told(decoded(capture), real)


@pytest.mark.parametrize("seed", range(100, 112))
def test_opencsd_tells_what_ran(seed: int, tmp_path: Path) -> None:
    # OpenCSD 1.3.3 takes only some cancelled instructions back: not always the last range waits for what cancels it.
    program, capture, real, feeder = record(seed)
    write_snapshot(capture, str(tmp_path / "snapshot"))
    found, failed = listed(program, str(tmp_path / "snapshot"))
    assert_told(found, untold(real))
    assert failed == feeder.failed[: len(failed)]


def some_code(address: int) -> bool:
    """A filter that leaves many small holes."""
    return address >> 4 & 3 != 1


@pytest.mark.parametrize("seed", range(200, 220))
def test_what_passes_a_filter_is_told_and_nothing_else(seed: int, tmp_path: Path) -> None:
    program, capture, real, _ = record(seed, some_code)
    assert_told(decoded(capture), real)
    if seed % 4 == 0:
        write_snapshot(capture, str(tmp_path / "snapshot"))
        assert_told(listed(program, str(tmp_path / "snapshot"))[0], untold(real))


def some_data(_instruction: int, transfer: BusTransfer) -> bool:
    """A filter that lets single words of lists through."""
    return bool(transfer.address & 4)


@pytest.mark.parametrize("seed", range(300, 330))
def test_what_is_loaded_and_stored_is_told(seed: int) -> None:
    dice = random.Random(seed)
    addresses, values = dice.choice(((True, True), (True, True), (True, False), (False, True)))
    config = DataConfig(addresses, values, some_data if dice.random() < 0.3 else None, late=dice.random() < 0.7)
    _, capture, real, feeder = record(seed, data=config)
    assert_told(decoded(capture), real)
    (history,) = build(capture).values()
    told = [history.transfers(number) for number in range(1, len(history) + 1)]
    # With a filter, what of a list is missing before trace was off may have been left out or lost.
    assert config.view is not None or all(each.certain for transfers in told for each in transfers)
    moved = [moves(transfers) for transfers in told]
    assert moved == [known(each, config) for each in feeder.moved][: len(moved)]
    events = [item for item in history.walk(1, len(history)) if not isinstance(item, TracedInstruction)]
    stacked = [each for each in events if isinstance(each, (elements.Exception_, elements.ExceptionReturn))]
    found = [moves(history.event_transfers(each)) for each in stacked]
    assert found == [known(each, config) for each in feeder.moved_by_exceptions][: len(found)]


def moves(transfers: Sequence[elements.Transfer]) -> Tuple[Moved, ...]:
    return tuple([Moved(each.store, each.address, each.size, each.value) for each in transfers])


def known(transfers: Sequence[BusTransfer], config: DataConfig) -> Tuple[Moved, ...]:
    """Return what is traced of transfers."""
    return tuple(
        [
            Moved(
                each.store, each.address if config.addresses else None, each.size, each.value if config.values else None
            )
            for each in transfers
            if config.view is None or config.view(0, each)
        ]
    )


@pytest.mark.parametrize("seed", range(20))
def test_failed_conditions_are_told(seed: int) -> None:
    program, capture, _, feeder = record(seed, cancels=seed % 2 == 0)
    (history,) = build(capture).values()
    blocks = Blocks(Program(capture.sources[0].images))
    failed: List[bool] = []
    for _, element in history.elements():
        if isinstance(element, elements.Range):
            addresses = blocks.addresses(element.start, element.end, element.isa)
            last = program.decode(addresses[-1]).kind
            failed += [False] * (len(addresses) - 1) + [not element.taken and last is InstructionKind.OTHER]
    assert failed == feeder.failed[: len(failed)] and True in failed
