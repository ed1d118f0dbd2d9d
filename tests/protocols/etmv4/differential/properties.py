"""Invariants for any bytes: nothing fails, is lost, or impossible."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Callable, Iterable, List, Optional, Sequence, Set, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa, is_wide
from gdb_etm.protocols.elements import Context, Exception_, ExceptionReturn, Gap, GapReason, Range
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.decoder import DataDecoding, decode_data
from gdb_etm.protocols.etmv4.data.listing import list_data_packets
from gdb_etm.protocols.etmv4.decoder import Decoder
from gdb_etm.protocols.etmv4.exceptions import may_go_on
from gdb_etm.protocols.etmv4.listing import list_packets
from gdb_etm.protocols.packet import Packet
from tests.protocols.etmv4.differential.accounts import elements_of, essence, ours
from tests.protocols.etmv4.differential.case import Case
from tests.protocols.etmv4.differential.code import (
    BARRIER,
    DIRECT,
    INDIRECT,
    PLAIN,
    WAIT,
    Instruction,
    RandomCode,
    Spot,
)
from tests.protocols.etmv4.differential.recording import record
from tests.protocols.etmv4.differential.soup import Stream
from tests.protocols.etmv4.streams import decode
from tests.protocols.histories import Element, decode_pieces, same

_BYTES = re.compile(r"(\d+) bytes")
_ADDRESS = re.compile(r"0x([0-9a-f]+) IS([01])")


def check_stream(stream: Stream, cuts: Sequence[int]) -> None:
    """Decode and list a stream in every way.

    :param cuts: Where to split it.
    :raises AssertionError: When something does not hold.
    """
    config, program, data = stream.config, stream.program(), stream.data
    found = decode(config, program, data)
    offsets = [offset for offset, _ in found]
    assert all(0 <= offset <= len(data) for offset in offsets)
    packets = list(list_packets(config, data, same))
    assert b"".join(packet.raw for packet in packets) == data
    told, skipped = _told(element for _, element in found), _skipped(packets)
    # After a reserved field packets are passed over up to the next Trace Info, but still listed.
    assert told == skipped or told > skipped and any("reserved" in packet.fields for packet in packets)
    assert decode_pieces(Decoder(config, program), _pieces(data, cuts)) == found
    assert decode_pieces(Decoder(config, program), _pieces(data, range(len(data)))) == found
    if config.futures or config.loads:
        check_code(found, program)
    else:
        check_possible(found, stream.code(), packets, config)


def check_data_stream(config: Etmv4Config, data: bytes, cuts: Sequence[int]) -> None:
    """Decode and list a data stream.

    :raises AssertionError: When something does not hold.
    """
    packets = list(list_data_packets(config, data, same))
    assert b"".join(packet.raw for packet in packets) == data
    found = decode_data(config, data, same)
    assert _told(found) == _skipped(packets)
    for split in (cuts, range(len(data))):
        decoding = DataDecoding(config, same)
        for piece in _pieces(data, split):
            decoding.feed(piece)
        assert decoding.finish() == found


def check_recovery(case: Case, flips: Sequence[Tuple[int, int]]) -> None:
    """Change bits of a stream; later trace must decode correctly.

    :param case: What is recorded; it has to synchronise.
    :param flips: Where, in thousandths of the stream, and which bits.
    :raises AssertionError: When something does not hold.
    """
    recording = record(case)
    config = Etmv4Config.from_source(recording.source(0x10))
    damaged = bytearray(recording.data)
    places = [len(damaged) * place // 1000 for place, _ in flips]
    for place, (_, bits) in zip(places, flips):
        damaged[place] ^= bits
    bad = recording._replace(data=bytes(damaged))
    found = elements_of(bad)
    check_possible(found, recording.code, list(list_packets(config, bad.data, same)), config)
    syncs = [packet.offset for packet in list_packets(config, recording.data, same) if packet.name == "A-Sync"]
    after = [offset for offset in syncs if offset > max(places)]
    if len(after) > 1:
        # The next A-Sync may be eaten by a packet that the damage made.
        expected = essence(ours(recording._replace(data=recording.data[after[1] :])).facts)
        facts = essence(ours(bad).facts)
        assert facts[len(facts) - len(expected) :] == expected, case


def _pieces(data: bytes, cuts: Iterable[int]) -> List[bytes]:
    ends = sorted(min(cut, len(data)) for cut in cuts)
    return [data[start:end] for start, end in zip([0] + ends, ends + [len(data)])]


def _told(elements: Iterable[object]) -> int:
    # How many bytes the gaps say were passed over.
    gaps = [element for element in elements if isinstance(element, Gap)]
    found = (_BYTES.search(gap.detail) for gap in gaps if gap.reason is GapReason.NOT_SYNCHRONISED)
    return sum(int(match[1]) for match in found if match is not None)


def _skipped(packets: Sequence[Packet]) -> int:
    # How many bytes were: all that is not synchronised, and packets before the one that opens.
    count, opened = 0, False
    for packet in packets:
        cut = packet.fields.startswith("cut")
        opened = (opened or packet.name == "Trace Info" and not cut) and packet.name != "reserved"
        if packet.name == "reserved":
            # Its first byte is told as a bad packet; the rest is looked through for an A-Sync.
            count += len(packet.raw) - 1
        elif not opened and (cut or packet.name != "A-Sync"):
            count += len(packet.raw)
    return count


def check_code(found: Sequence[Element], program: Program) -> None:
    """Check that claimed instructions are code."""
    for _, element in found:
        if not isinstance(element, Range):
            continue
        at, count = element.start, 0
        while at < element.end:
            code = program.read(at, 2 if element.isa is Isa.T32 else 4)
            assert len(code) == (2 if element.isa is Isa.T32 else 4)
            at += 4 if element.isa is not Isa.T32 or is_wide(int.from_bytes(code, "little")) else 2
            count += 1
        assert (at, count) == (element.end, element.instructions) and count


def check_possible(found: Sequence[Element], code: RandomCode, packets: Sequence[Packet], config: Etmv4Config) -> None:
    """Check that the program can have run so between gaps.

    Every range is code that begins where the one before it leads: behind it, at the target of its branch, or, where
    that is not in the program, at an address that a packet told or behind a call that ran.  Within it there is no
    branch.
    """
    known = _told_places(packets)
    blocks = Blocks(Program([MemoryImage(base, piece, "code") for base, piece in code.images]))
    places = [packet.offset for packet in packets if _ADDRESS.search(packet.fields)]
    expected: Optional[Set[Spot]] = None
    before, wide = 0, False
    for offset, element in found:
        if isinstance(element, Range):
            # Of several Addresses the last one holds, even if the first one agrees with the program (5.2.9).
            corrected = sum(before <= place < offset for place in places) > 1
            spot = (element.start, element.isa)
            assert spot in (known if expected is None or corrected else ()) or spot in (expected or ()), element
            before = offset
            expected = _ran(element, code, blocks, known, config.waits)
        elif isinstance(element, Exception_) and not may_go_on(element.number, config.m_profile):
            expected = None
        elif isinstance(element, Context):
            if element.sixty_four_bit != wide and expected is not None:
                # It says whether IS0 is A32 or A64, also where execution is; T32 code in AArch64 state is nowhere.
                expected = known | {(address, isa) for address, _ in expected for isa in Isa}
            wide = element.sixty_four_bit
        elif isinstance(element, (Gap, Exception_, ExceptionReturn)):
            # Execution may go on where it was; so it does after an exception return whose condition failed (5.2.8).
            expected = None if expected is None else expected | known


def _told_places(packets: Iterable[Packet]) -> Set[Spot]:
    found: Set[Spot] = set()
    for packet in packets:
        for digits, is1 in _ADDRESS.findall(packet.fields):
            address = int(digits, 16)
            isas = (Isa.T32,) if is1 == "1" else (Isa.A32, Isa.A64)
            found |= {(address & mask, isa) for isa in isas for mask in (0xFFFFFFFF, -1)}
    return found


def _instruction(code: RandomCode, blocks: Blocks, spot: Spot) -> Instruction:
    # What the program has at a place; in another instruction set than it was written for, what the decoder sees.
    if code.has(spot):
        return code.at(spot)
    insn = blocks.instruction(*spot)
    assert insn is not None, spot
    kind = {InstructionKind.DIRECT: DIRECT, InstructionKind.INDIRECT: INDIRECT, InstructionKind.WAIT: WAIT}.get(
        insn.kind, PLAIN
    )
    return Instruction(spot[0], insn.size, spot[1], kind, (insn.target, insn.isa), insn.link, False)


def _ran(element: Range, code: RandomCode, blocks: Blocks, known: Set[Spot], waits: bool) -> Optional[Set[Spot]]:
    # Goes through a range; returns where the execution can be after it, None for what only a packet tells.
    at = element.start
    for index in range(element.instructions):
        insn = _instruction(code, blocks, (at, element.isa))
        at += insn.size
        # A Q element tells nothing of what goes on with the next instruction, whatever its direction.
        inner = insn.is_branch(waits) and insn.kind not in (BARRIER, WAIT) and insn.target != (at, insn.isa)
        assert index == element.instructions - 1 or not inner, element
    assert at == element.end, element
    following = (at, element.isa)
    if insn.link:
        # Also where it was not taken in the end: it may have been taken at first (5.3.1).
        known.add(following)
    if not insn.is_branch(waits) or not element.taken or insn.kind in (BARRIER, WAIT):
        return {following}
    return {insn.target} if insn.kind == DIRECT else None


def count_calls(work: Callable[[], object]) -> int:
    """Count the Python function calls of some work."""
    count = 0

    def see(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
