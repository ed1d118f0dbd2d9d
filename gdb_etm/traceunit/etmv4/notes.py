"""What a user should know of what was asked of an ETMv4, where nothing is refused.

IHI 0064, 4.1.2 and 4.1.3 (start and stop points), 4.2 (comparators, external outputs), 7.3.
"""

from __future__ import annotations

from typing import Iterator, Sequence, Tuple

from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.events import Output
from gdb_etm.traceunit.options import TraceOptions

_NEAR = 64  # bytes: a block of instructions is rarely longer
_TOP = 12  # of the bits of an address: no processor has wider ones than 52 bits


def notes_of(options: TraceOptions, capabilities: Capabilities, stack: bool, sync: int) -> Iterator[str]:
    """Say what is not as one might think.

    :param stack: Whether the return stack is on.
    :param sync: Bytes of trace between two synchronisation points.
    """
    if options.branch_broadcast and stack:
        yield "branch broadcast overrides the return stack"
    if capabilities.processors > 1:
        yield (
            "this unit is shared by %d processors; it traces the one that TRCPROCSELR selects" % capabilities.processors
        )
    if not sync:
        yield (
            "this unit does not synchronise by itself (TRCSYNCPR.PERIOD is 0): of a buffer that has wrapped, all may"
            " be undecodable"
        )
    if options.stall and (options.timestamps or options.cycle_count is not None) and options.stall_level != 0:
        yield "while it is stalling, the unit may leave out timestamps and cycle counts (TRCSTALLCTLR.LEVEL)"
    if any(isinstance(rule.do, Output) for rule in options.rules):
        yield "an external output comes before its place in the trace, which only a mark has"
    yield from _points(options.start_at, options.stop_at, capabilities)
    if capabilities.address_bits == 64:
        ends = [end for pair in options.include + options.exclude for end in pair]
        for address in (*ends, *options.start_at, *options.stop_at):
            if address >> 64 - _TOP not in (0, (1 << _TOP) - 1):
                yield (
                    "0x%x: the top bits of an address are all 0 or all 1, or it never matches (TRCACVRn.ADDRESS)"
                    % address
                )


def _points(starts: Sequence[int], stops: Sequence[int], capabilities: Capabilities) -> Iterator[str]:
    close: Tuple[Tuple[int, int], ...] = tuple(
        (stop, start) for stop in stops for start in starts if 0 < start - stop < _NEAR
    )
    for stop, start in close:
        yield (
            "0x%08x stops and 0x%08x, close after it, starts: if no branch lies between, the unit may take the start"
            " first, or not at all" % (stop, start)
        )
    for address in (*starts, *stops):
        if address & 1:
            yield "0x%08x is not where an instruction begins: it may never match" % address
    if (starts or stops) and capabilities.field("TRCIDR0.BF") == 1:
        yield (
            "in a low-overhead loop or at a branch future a start or a stop may be missed (TRCIDR0.BF): take the"
            " instruction before LE, or before where a BF branches"
        )
