"""Differential run: the decoder against itself, one packet at a time.

How much work decoding is, is counted: what comes again is looked up, and a history takes few bytes.
"""

from __future__ import annotations

import sys
from typing import Callable, List, Tuple

import pytest

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.build import parts
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder, Decoding
from gdb_etm.protocols.etmv4.encode.config import EncoderConfig
from gdb_etm.protocols.etmv4.encode.encoder import Encoder
from gdb_etm.protocols.etmv4.packets import (
    ATOMS,
    Address,
    next_address,
    pack_address,
    read_packed_address,
    unpack_address,
)
from gdb_etm.protocols.etmv4.program_points import LOST, UNFOLLOWED
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.stream import NEED_MORE
from gdb_etm.snapshot.reader import read_snapshot
from tests.protocols.etmv4.streams import M_PROFILE, Code, program
from tests.protocols.etmv4.walker import RandomProgram, Walk
from tests.protocols.histories import Element, same
from tests.shared import capture_folder

CAPTURES = ["armv8_1m_branches", "a57_single_step", "juno_r1_1", "rp2350-m33-0", "v7m-svc", "v8m-svc"]
UNIT = M_PROFILE._replace(return_stack=True)
# b.eq 8 bytes on | b 4 bytes back | ret
A64_LOOP = "40000054 ffffff17 c0035fd6"


class Plain(Decoding):
    """A decoding that remembers nothing: every packet is handled, atom by atom."""

    def _may_follow(self) -> bool:
        return False


class Case:
    """A stream and what decodes it."""

    def __init__(
        self, config: Etmv4Config, memory: Program, data: bytes, offset_of: Callable[[int], int] = same
    ) -> None:
        self.config = config
        self.memory = memory
        self.data = data
        self.offset_of = offset_of

    def plain(self) -> List[Element]:
        """Decode one packet at a time."""
        decoder = Decoder(self.config, self.memory)
        decoding = Plain(decoder, self.offset_of)
        decoding.feed(self.data)
        return self.elements(decoder, decoding.finish())

    def decode(self, decoder: Decoder) -> Recorder:
        """Decode with what the decoder knows."""
        return decoder.decode(self.data, self.offset_of)

    def elements(self, decoder: Decoder, recorder: Recorder) -> List[Element]:
        """List everything that was found."""
        return list(self.history(decoder, recorder).elements())

    def history(self, decoder: Decoder, recorder: Recorder) -> ExecutionHistory:
        """Make a history."""
        source = TraceSource("ETM_0", "etmv4", {}, None, self.memory.images)
        return ExecutionHistory(recorder, source, decoder.automaton.blocks, BufferEnd.UNKNOWN)


def cases(name: str) -> List[Case]:
    """Give the ETMv4 streams of a capture."""
    found = []
    for capture in read_snapshot(capture_folder(name)):
        if any(source.protocol == "etmv4" for source in capture.sources):
            for part in parts(capture):
                assert isinstance(part.config, Etmv4Config)
                found.append(Case(part.config, part.program, part.stream.data, part.stream.offset_of))
    return found


def walked(seed: int, times: int = 1, exceptions: float = 0.02) -> Case:
    """Make the trace of a random walk, so many times over."""
    code = RandomProgram(seed)
    made = bytearray()
    unit = Encoder(EncoderConfig(return_stack=True, sync_period=256), code.read, made.extend)
    unit.enable()
    Walk(code, unit, seed).run(1500, exceptions)
    unit.disable()
    memory = program(*(Code(start, data.hex()) for start, data in code.pieces))
    return Case(UNIT, memory, bytes(made) * times)


@pytest.mark.pure
@pytest.mark.parametrize("name", CAPTURES)
def test_captures_decode_the_same_without_memory(name: str) -> None:
    for case in cases(name):
        plain = case.plain()
        decoder = Decoder(case.config, case.memory)
        for _ in range(4):
            assert case.elements(decoder, case.decode(decoder)) == plain


@pytest.mark.pure
def test_a_large_capture_decodes_the_same_without_memory() -> None:
    # 687,705 packets; the first 200 KB of them.
    (whole,) = cases("bugfix-exact-match")
    case = Case(whole.config, whole.memory, whole.data[:200_000], whole.offset_of)
    plain = case.plain()
    decoder = Decoder(case.config, case.memory)
    for _ in range(3):
        assert case.elements(decoder, case.decode(decoder)) == plain


@pytest.mark.pure
@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("exceptions", [0, 0.02, 0.2])
def test_walks_decode_the_same_without_memory(seed: int, exceptions: float) -> None:
    case = walked(seed, 5, exceptions)
    plain = case.plain()
    decoder = Decoder(case.config, case.memory)
    for _ in range(3):
        recorder = case.decode(decoder)
        assert case.elements(decoder, recorder) == plain
    made = case.history(decoder, recorder)
    assert [event.offset for event in made.events] == sorted(event.offset for event in made.events)


def work(case: Case, decoder: Decoder) -> Tuple[int, int]:
    """Decode; return the numbers of new transitions and history entries."""
    made = decoder.transitions.made
    recorder = case.decode(decoder)
    return decoder.transitions.made - made, len(recorder.order)


def test_what_comes_again_is_not_worked_out_again() -> None:
    (case,) = cases("bugfix-exact-match")
    decoder = Decoder(case.config, case.memory)
    first = work(case, decoder)
    # New trace makes long transitions, and fewer: some 50 bytes each.
    assert 10_000 < first[0] < 18_000
    assert work(case, decoder)[0] == 0
    third = work(case, decoder)
    assert third[0] == 0
    # Some hundred bytes a look-up by now, not some ten.
    assert third[1] < len(case.data) / 200
    assert third[1] < first[1] / 10


def test_a_repeated_buffer_makes_no_further_transitions() -> None:
    (case,) = cases("bugfix-exact-match")
    once, decoder = Decoder(case.config, case.memory), Decoder(case.config, case.memory)
    made, entries = work(case, once)
    more, all_entries = work(Case(case.config, case.memory, case.data * 8), decoder)
    # Where two copies meet, the packets that are cut are others.
    assert more < made * 1.05
    assert all_entries < entries * 3


def test_work_grows_no_faster_than_the_trace() -> None:
    # Stretches and entries stand for look-ups: each is found, or made, by one.
    counts = []
    for times in (1, 4, 16):
        case = walked(3, times)
        made, entries = work(case, Decoder(case.config, case.memory))
        counts.append((made + entries) / times)
    assert counts == sorted(counts, reverse=True)


def column_bytes(recorder: Recorder) -> int:
    """Count the bytes that grow with the execution."""
    columns = (recorder.order, recorder.marks, recorder.mark_positions, recorder.event_entries)
    return sum(sys.getsizeof(column) for column in columns)


@pytest.mark.parametrize("name", ["bugfix-exact-match", "juno_r1_1"])
def test_a_history_takes_few_bytes(name: str) -> None:
    case = cases(name)[0]
    decoder = Decoder(case.config, case.memory)
    recorder = case.decode(decoder)
    made = case.history(decoder, recorder)
    runs = recorder.table.runs
    lengths = {number: sum(1 for _ in runs[number].ranges()) for number in set(recorder.order)}
    ranges = sum(map(lengths.__getitem__, recorder.order))
    size = column_bytes(recorder)
    assert len(made) > 0
    size += sys.getsizeof(made._sums)
    # Where there is a gap after nearly every branch, events take more than what ran.
    assert size <= 16 * (ranges + len(recorder.events))
    if name == "bugfix-exact-match":
        assert size < ranges


@pytest.mark.pure
def test_every_atom_by_itself_takes_few_bytes() -> None:
    # As for a unit that speculates, whose every P0 element is an entry.
    case = walked(1, 8)
    decoder = Decoder(case.config, case.memory)
    decoding = Plain(decoder, same)
    decoding.feed(case.data)
    recorder = decoding.finish()
    assert len(recorder.order) > 5000
    assert column_bytes(recorder) - 4 * len(recorder.event_entries) <= 16 * len(recorder.order)


@pytest.mark.parametrize("header", [0x95, 0x96, 0x9A, 0x9B, 0x9D, 0x9E])
@pytest.mark.parametrize("payload", ["00" * 8, "ff" * 8, "7f8001fe80aa5512", "8001020304050607"])
def test_a_cut_address_is_not_read(header: int, payload: str) -> None:
    data = bytes.fromhex(payload)
    base = pack_address(Address(0x123456789ABCDEF0 & ~3, False))
    whole, after = read_packed_address(header, data, 0, len(data), base)
    assert 1 <= after <= 8
    assert unpack_address(whole).is1 == (header in (0x96, 0x9B, 0x9E))
    for limit in range(after):
        assert read_packed_address(header, data, 0, limit, base)[1] == 0
    assert read_packed_address(header, data, 0, after, base) == (whole, after)


def test_only_an_address_is_an_address() -> None:
    registers = (0x123456789ABCDEF0, 0x2001, 0x40)
    addresses = (0x95, 0x96, 0x9A, 0x9B, 0x9D, 0x9E)
    for header in range(0x100):
        data = bytes([header]) + bytes.fromhex("7f8001fe80aa5512")
        address, after = next_address(data, 0, len(data), registers)
        if header in addresses:
            assert (address, after) == read_packed_address(header, data, 1, len(data), registers[0])
            assert next_address(data, 0, after - 1, registers)[1] == NEED_MORE
        elif 0x90 <= header <= 0x92:
            assert (address, after) == (registers[header - 0x90], 1)
        else:
            assert after == NEED_MORE


def test_every_byte_from_c0_is_an_atom_packet() -> None:
    # The hot loop tells Atom packets by this.
    assert [header for header, atoms in enumerate(ATOMS) if atoms] == list(range(0xC0, 0x100))


# The other: 1000 bne 1000 | 1002 b 1000.
@pytest.mark.parametrize("code, isa", [(Code(0x1000, "fed1 fde7"), Isa.T32), (Code(0x2000, A64_LOOP), Isa.A64)])
def test_steps_lead_where_successors_do(code: Code, isa: Isa) -> None:
    automaton = Automaton(Blocks(program(code)), False)
    point = automaton.point(code.address, isa)
    for header in [*range(0xC0, 0x100), *range(0xC0, 0x100)]:
        ran, after = automaton.step(point, header)
        successor = automaton.successor(point, ATOMS[header])
        if successor is None:
            # An N where a branch is always taken.
            assert after is LOST
        elif successor.atoms == len(ATOMS[header]):
            assert (ran, after) == (successor.leg.instructions, successor.point)
        else:
            # More atoms than there are without the return stack.
            assert after is UNFOLLOWED


@pytest.mark.pure
def test_each_block_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: List[int] = []
    outline = Blocks.outline

    def counted(self: Blocks, packed: int, wide: bool) -> Tuple[int, int, int]:
        looked.append(packed)
        return outline(self, packed, wide)

    monkeypatch.setattr(Blocks, "outline", counted)
    blocks = Blocks(program(Code(0x1000, "fed1 fde7")))
    automaton = Automaton(blocks, False)
    point = automaton.point(0x1000, Isa.T32)
    for header in range(0xC0, 0x100):
        automaton.step(point, header)
    assert sorted(looked) == [0x1001, 0x1003]
