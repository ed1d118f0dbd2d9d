"""Budget of a trace buffer: bytes by purpose, effects of options.

Packets are counted by their kinds.  What an option would cost or save that is not in the buffer is estimated from the
path that was decoded.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.history.build import SourceStream
from gdb_etm.history.store import ExecutionHistory, Span
from gdb_etm.program.blocks import BlockEnd, Blocks
from gdb_etm.program.isa import Insn, InstructionKind, Isa
from gdb_etm.protocols.elements import Exception_, ExceptionReturn, Gap, Range

# Return addresses that a unit's return stack is taken to hold, by protocol; an ETMv3 has none.
STACK_DEPTHS = {"etmv4": 3, "ptm": 4}

_SYNC = ("A-Sync", "Trace Info", "A-sync", "I-sync", "I-sync with cycle count")
_ADDRESSES = ("Exact Match Address", "Short Address", "Long Address", "Address with Context", "Branch address")
# Bytes that an address costs besides: it ends a packet of atoms, which would have held more.
_CUT = 1
_CYCLES = ("Cycle Count format 1", "Cycle Count format 2", "Cycle Count format 3", "Cycle count")
_TIMES = ("Timestamp", "Timestamp Marker")
_CONTEXTS = ("Context", "Context ID", "VMID")

# Told now and then of bytes or instructions done since the last call.
Advance = Callable[[int], None]


class Share(NamedTuple):
    """Packets of one kind."""

    # The specification's name.
    name: str
    packets: int
    # In bytes, of all of them.
    size: int


class StreamBudget(NamedTuple):
    """What one trace ID's bytes are spent on."""

    trace_id: int
    # Which unit's, and whether instructions or data.
    title: str
    # In bytes.
    size: int
    # Most bytes first; empty where its packets are not known.
    shares: Tuple[Share, ...]

    def of(self, names: Sequence[str]) -> Share:
        """Add up some kinds of packets."""
        found = [share for share in self.shares if share.name in names]
        return Share("", sum(share.packets for share in found), sum(share.size for share in found))


class TakenBranches(NamedTuple):
    """The branches on a path that were taken."""

    direct: int
    indirect: int
    # Indirect branches to the address on top of a return stack.
    matched: int


class Worth(NamedTuple):
    """What an option is worth."""

    option: str
    # None where the trace unit's registers do not say.
    is_on: Optional[bool]
    # Bytes it takes or saves, in this buffer; None where they cannot be distinguished from others.
    size: Optional[int]
    # Whether it saves them, and does not take them.
    saves: bool
    # How that was found out.
    how: str


def spend(streams: Sequence[SourceStream], advance: Advance) -> List[StreamBudget]:
    """Count the packets of each trace ID by kinds."""
    found: Dict[int, List[SourceStream]] = {}
    for stream in streams:
        found.setdefault(stream.trace_id, []).append(stream)
    return [_budget(pieces, advance) for pieces in found.values()]


def _budget(pieces: Sequence[SourceStream], advance: Advance) -> StreamBudget:
    first, size = pieces[0], sum(len(piece.data) for piece in pieces)
    words = "data" if first.is_data else "instructions"
    title = "%s %s" % (first.source.protocol, words) if first.reader is not None else "not decoded"
    reader = first.reader
    if reader is None:
        return StreamBudget(first.trace_id, title, size, ())
    of = reader.data.packets if first.is_data and reader.data is not None else reader.packets
    packets: Dict[str, int] = Counter()
    sizes: Dict[str, int] = Counter()
    for piece in pieces:
        for packet in of(reader.config(piece.source), piece.data, piece.offset_of):
            packets[packet.name] += 1
            sizes[packet.name] += len(packet.raw)
            advance(len(packet.raw))
    shares = [Share(name, count, sizes[name]) for name, count in packets.items()]
    shares.sort(key=lambda share: (-share.size, share.name))
    return StreamBudget(first.trace_id, title, size, tuple(shares))


def count_branches(history: ExecutionHistory, depth: int, advance: Advance) -> TakenBranches:
    """Count what a return stack would match along a path.

    :param depth: Return addresses that the stack holds; 0: there is none.
    """
    ends = _Ends(Blocks(history.program))
    direct = indirect = matched = 0
    stack: List[int] = []
    # The indirect branch whose target is the next range, and whether the stack may predict it.
    pending = False
    for item in history.spans(1, len(history)):
        if not isinstance(item, Span):
            pending = pending and not isinstance(item, (Exception_, ExceptionReturn, Gap))
            if isinstance(item, Gap):
                stack.clear()
            continue
        executed = item.range
        if pending and stack and stack[-1] == executed.start:
            stack.pop()
            matched += 1
        pending = False
        last = ends.of(executed) if executed.taken else None
        advance(executed.instructions)
        if last is None:
            continue
        direct += last.kind is InstructionKind.DIRECT
        indirect += last.kind is InstructionKind.INDIRECT
        pending = last.kind is InstructionKind.INDIRECT
        if last.link and depth:
            stack.append(executed.end)
            del stack[:-depth]
    return TakenBranches(direct, indirect, matched)


class _Ends:
    # The branches at the end of executed ranges, each place looked at once.

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._known: Dict[Tuple[int, int, Isa], Optional[Insn]] = {}

    def of(self, executed: Range) -> Optional[Insn]:
        key = (executed.start, executed.end, executed.isa)
        if key not in self._known:
            self._known[key] = self._find(executed)
        return self._known[key]

    def _find(self, executed: Range) -> Optional[Insn]:
        at = executed.start
        while at < executed.end:
            block = self._blocks.at(at, executed.isa)
            if block.stop is not BlockEnd.BRANCH:
                return None
            if block.end == executed.end:
                return block.last
            at = block.end
        return None


def worths(
    stream: StreamBudget, history: ExecutionHistory, branches: TakenBranches, data: Optional[StreamBudget] = None
) -> List[Worth]:
    """Estimate what options take or save.

    :param stream: The history's instruction stream.
    :param branches: Those on its path.
    :param data: The data stream that belongs to it, where there is one.
    """
    protocol, registers = history.source.protocol, history.source.registers
    result = []
    depth = STACK_DEPTHS.get(protocol)
    if depth:
        # A return seldom goes where one of the last addresses was, which is what an exact match reports.
        each = _average(stream.of(_ADDRESSES[1:])) + _CUT
        how = "estimated: %d returns fit a stack of %d, %s" % (branches.matched, depth, _each(each))
        is_on = _option(protocol, registers, 12, 29)
        result.append(Worth("return stack", is_on, round(branches.matched * each), True, how))
    each = _average(stream.of(_ADDRESSES)) + _CUT
    how = "estimated: %d direct branches were taken, %s" % (branches.direct, _each(each))
    broadcast = _option(protocol, registers, 3, 8)
    result.append(Worth("branch broadcast", broadcast, round(branches.direct * each), False, how))
    counted = (
        ("cycle counts", _CYCLES, _option(protocol, registers, 4, 12)),
        ("timestamps", _TIMES, _option(protocol, registers, 11, 28)),
        ("contexts", _CONTEXTS, None),
        ("synchronisation", _SYNC, None),
    )
    for option, names, is_on in counted:
        found = stream.of(names)
        how = "counted: %d packet%s" % (found.packets, "" if found.packets == 1 else "s")
        inside = option == "cycle counts" and protocol != "etmv4" and is_on
        if inside:
            how = "inside atoms and addresses, whose packets are other ones without it"
        if option == "synchronisation":
            how += "; twice the period halves that, and may lose twice as much at the wrap"
        if found.packets or is_on:
            result.append(Worth(option, is_on, None if inside else found.size, False, how))
    if data is not None:
        how = "counted: all of ID 0x%02x, of loads and stores" % data.trace_id
        result.append(Worth("data trace", True, data.size, False, how))
    return result


def _average(share: Share) -> float:
    return share.size / share.packets if share.packets else 0.0


def _each(size: float) -> str:
    return "%.1f bytes each (an address as here on average, and a cut atom packet)" % size


def _option(protocol: str, registers: Mapping[str, int], etmv4: int, armv7: int) -> Optional[bool]:
    # A bit of the unit's main control register.
    name, bit = ("TRCCONFIGR", etmv4) if protocol == "etmv4" else ("ETMCR", armv7)
    return bool(registers[name] >> bit & 1) if name in registers else None
