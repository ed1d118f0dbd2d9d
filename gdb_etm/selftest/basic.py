"""The first steps: RAM, core, registers, buffer memory, and plain trace.

Whatever comes after them rests on these.
"""

from __future__ import annotations

from typing import Iterator, List, Tuple

from gdb_etm.coresight.components import ComponentKind
from gdb_etm.protocols.elements import ExceptionReturn
from gdb_etm.registers import dwt, etb, etmv3, etmv4, mtb, tmc
from gdb_etm.registers.etmv3_comparators import ETMACVR
from gdb_etm.registers.etmv4_comparators import TRCACVR
from gdb_etm.selftest.compare import check_gaps, check_whole
from gdb_etm.selftest.findings import StepFailure, StepSkipped
from gdb_etm.selftest.rig import Rig, TracedRun
from gdb_etm.traceunit.dwt_match import DwtComparators, comparators_of
from gdb_etm.traceunit.mtb.capabilities import MtbCapabilities
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.unit import TraceUnit
from gdb_etm.views.text import plural

# Steps of the core after which a program that has not ended never will.
_MOST_STEPS = 200
# Written to registers and memory, so that each bit is once 0 and once 1 beside one that differs.
PATTERNS = (0x00000000, 0xFFFFFFFF, 0x55555555, 0xAAAAAAAA)
_PASSES = 8
_ETR = 1


def ram(rig: Rig) -> str:
    """Put the program into RAM."""
    rig.write_program()
    return "%d bytes at 0x%08x keep what is written" % (len(rig.layout.image()), rig.layout.base)


def core(rig: Rig) -> str:
    """Step through the program, without trace."""
    wanted = rig.layout.path()
    rig.enter("start", 1)
    pc = rig.core.pc
    for number, address in enumerate(wanted, 1):
        if pc != address:
            raise StepFailure(
                "step %d: the core is at %s, and should be at %s; %s"
                % (number, rig.layout.name(pc), rig.layout.name(address), rig.stopped_at(pc))
            )
        pc = rig.core.step()
    if pc != rig.layout.at("done"):
        raise StepFailure("after %d steps the core is at %s" % (len(wanted), rig.layout.name(pc)))
    rig.execute(_PASSES)
    return "%s, step by step; then %d passes at once, and the right checksum" % (
        plural(len(wanted), "instruction"),
        _PASSES,
    )


def unit_registers(rig: Rig) -> str:
    """Write patterns to registers whose widths are known."""
    rig.program(TraceOptions())
    unit = rig.trace.unit
    port, base = unit.registers.port, unit.registers.base
    rows = list(_registers(unit))
    for name, offset, mask in rows:
        _try_patterns(rig, name, base + offset, mask, port.read32(base + offset))
    free, place = sorted(dwt_comparators(rig).free), rig.trace.path.dwt
    if place is not None:
        for register in [dwt.DWT_COMP[n] for n in free]:
            address = place.address + register.offset
            _try_patterns(rig, register.name, address, 0xFFFFFFFC, port.read32(address))
    rig.program(TraceOptions())
    of_dwt = "" if place is None else " and %s of the DWT" % plural(len(free), "comparator")
    words = "%s%s keep four patterns; the plan's read back as written"
    return words % (plural(len(rows), "register"), of_dwt)


def dwt_comparators(rig: Rig) -> DwtComparators:
    """Find free comparators of the DWT that drive the unit's inputs."""
    capabilities = rig.trace.unit.capabilities
    if isinstance(capabilities, MtbCapabilities):
        return comparators_of(rig.watchpoints.probe(), capabilities.inputs)
    name = "TRCIDR4.NUMPC" if rig.trace.unit.protocol == "etmv4" else "ETMCCER.WatchInputs"
    return comparators_of(rig.watchpoints.probe(), capabilities.field(name))


def _try_patterns(rig: Rig, name: str, address: int, mask: int, before: int) -> None:
    port = rig.trace.unit.registers.port
    try:
        for pattern in PATTERNS:
            port.write32(address, pattern & mask)
            found = port.read32(address)
            if (found ^ pattern) & mask:
                raise StepFailure(
                    "%s at 0x%08x was written 0x%08x and reads 0x%08x: bits 0x%08x are stuck"
                    % (name, address, pattern & mask, found, (found ^ pattern) & mask)
                )
    finally:
        port.write32(address, before)


def _registers(unit: TraceUnit) -> Iterator[Tuple[str, int, int]]:
    # Those whose widths the architecture or an identification field says: name, offset, mask.
    field = unit.capabilities.field
    if unit.protocol == "mtb":
        # Bits of an address, as far as the RAM reaches, and sizes up to 512 KiB.
        reach = _reach(unit)
        yield mtb.POSITION.name, mtb.POSITION.offset, reach
        yield mtb.FLOW.name, mtb.FLOW.offset, reach
        yield mtb.MASTER.name, mtb.MASTER.offset, mtb.MASTER.encode(MASK=15)
        return
    if unit.protocol == "etmv4":
        yield etmv4.TRCTRACEIDR.name, etmv4.TRCTRACEIDR.offset, 0x7F
        if field("TRCIDR0.TRCCCI"):
            yield etmv4.TRCCCCTLR.name, etmv4.TRCCCCTLR.offset, 0xFFF
        for n in range(2 * field("TRCIDR4.NUMACPAIRS")):
            yield TRCACVR[n].name, TRCACVR[n].offset, 0xFFFFFFFF
        for n in range(field("TRCIDR5.NUMCNTR")):
            yield etmv4.TRCCNTRLDVR[n].name, etmv4.TRCCNTRLDVR[n].offset, 0xFFFF
            if n or not field("TRCIDR5.REDFUNCNTR"):
                yield etmv4.TRCCNTVR[n].name, etmv4.TRCCNTVR[n].offset, 0xFFFF
        return
    if not field("ETMCCER.Readable"):
        return
    yield etmv3.ETMTRACEIDR.name, etmv3.ETMTRACEIDR.offset, 0x7F
    yield etmv3.ETMTRIGGER.name, etmv3.ETMTRIGGER.offset, 0x1FFFF
    for n in range(1, 2 * field("ETMCCR.AddrPairs") + 1):
        yield ETMACVR[n].name, ETMACVR[n].offset, 0xFFFFFFFF
    reduced = field("ETMCCER.ReducedCounter")
    for n in range(1, field("ETMCCR.Counters") + 1):
        yield etmv3.ETMCNTRLDVR[n].name, etmv3.ETMCNTRLDVR[n].offset, 0xFFFF
        if n > 1 or not reduced:
            yield etmv3.ETMCNTVR[n].name, etmv3.ETMCNTVR[n].offset, 0xFFFF


def _reach(unit: TraceUnit) -> int:
    # The pointer's bits that count: from that of a packet up to the highest that keeps a 1.
    registers, pointer = unit.registers, mtb.POSITION.fields["POINTER"].mask
    before = registers.read(mtb.POSITION)
    registers.write(mtb.POSITION, pointer)
    found = registers.read(mtb.POSITION)
    registers.write(mtb.POSITION, before)
    return ((1 << found.bit_length()) - 1) & pointer


def buffer_memory(rig: Rig) -> str:
    """Write and read the first and last words of the buffer."""
    if rig.is_mtb:
        return _buffer_in_ram(rig)
    sink = rig.trace.sink
    registers, page = sink.registers, sink.page
    is_tmc = rig.trace.path.sink.kind is not ComponentKind.ETB
    if is_tmc and tmc.DEVID.get(registers.read(tmc.DEVID), "CONFIGTYPE") == _ETR:
        raise StepSkipped("the buffer of an ETR is in the chip's memory (DEVID.CONFIGTYPE is 1)")
    of = tmc if is_tmc else etb
    unit = 4 if is_tmc else 1
    sink.abandon()
    registers.command(of.CTL, 0)
    size = sink.size * unit // 4
    for place in (0, size - 4 * unit):
        words = [
            place ^ (pattern << n & 0xFFFFFFFF) for n, pattern in enumerate(PATTERNS[2:] + (0x12345678, 0x9ABCDEF0))
        ]
        registers.write(page.by_name["RWP"], place)
        for word in words:
            registers.command(of.RWD, word)
        _pointer(rig, "RWP", (place + 4 * unit) % size)
        registers.write(page.by_name["RRP"], place)
        _pointer(rig, "RRP", place)
        found = [registers.read(of.RRD) for _ in words]
        for n, (one, other) in enumerate(zip(words, found)):
            if one != other:
                raise StepFailure(
                    "word 0x%x of the buffer was written 0x%08x (RWD) and reads 0x%08x (RRD)"
                    % (place // unit + n, one, other)
                )
        _pointer(rig, "RRP", (place + 4 * unit) % size)
    for name in ("RWP", "RRP"):
        # Each bit above those of a frame, and none in the end.
        for place in [1 << bit for bit in range((4 * unit).bit_length(), (size - 1).bit_length())] + [0]:
            registers.write(page.by_name[name], place)
            _pointer(rig, name, place)
    return "its first and last words keep patterns; RWP and RRP count and wrap at %d bytes" % sink.size


def _buffer_in_ram(rig: Rig) -> str:
    # Of a Micro Trace Buffer: what the debugger writes is RAM, and the pointer is not at it before it traces.
    rig.program(plain(rig))
    rig.trace.resume()
    rig.trace.stop()
    sink, port = rig.trace.sink, rig.core.port
    place = rig.buffer
    for address in (place.address, place.address + place.size - 16):
        for n, pattern in enumerate(PATTERNS):
            port.write32(address + 4 * n, pattern ^ address)
        found = port.read_block(address, len(PATTERNS))
        for n, (one, pattern) in enumerate(zip(found, PATTERNS)):
            if one != pattern ^ address:
                words = "RAM at 0x%08x was written 0x%08x and reads 0x%08x"
                raise StepFailure(words % (address + 4 * n, pattern ^ address, one))
    if sink.status().filled:
        raise StepFailure("MTB_POSITION is at byte %d of an empty buffer" % sink.status().filled)
    return "its first and last words at %s keep patterns; MTB_POSITION is at its begin" % (place,)


def _pointer(rig: Rig, name: str, wanted: int) -> None:
    register = rig.trace.sink.page.by_name[name]
    found = rig.trace.sink.registers.read(register)
    if found != wanted:
        raise StepFailure("%s reads 0x%08x, 0x%08x was awaited" % (name, found, wanted))


def instructions(rig: Rig) -> str:
    """Trace the program, everything that runs, with no option."""
    run = rig.run(plain(rig))
    _check_short(rig, run)
    check_whole(run.executed, rig.layout.path(), rig.layout)
    passes = rig.passes(_PASSES)
    more = rig.run(plain(rig), 1 + passes)
    check_whole(more.executed, rig.layout.path(1 + passes), rig.layout)
    rig.pass_bytes = max((more.size - run.size) / passes, 1.0)
    return "%s as the core ran them, in %d bytes%s" % (
        plural(len(run.decoded()), "instruction"),
        run.size,
        "" if rig.is_mtb else " with ID 0x%02x" % run.options.trace_id,
    )


def plain(rig: Rig) -> TraceOptions:
    """Ask for nothing that a unit may lack."""
    return TraceOptions(return_stack=False if rig.trace.unit.protocol != "etmv3" else None)


def _check_short(rig: Rig, run: TracedRun) -> None:
    run.decoded()
    if run.sink.wrapped:
        raise StepFailure("%s is 1 after %d bytes of trace: the buffer has not wrapped" % (rig.full, run.size))
    size = len(run.capture.buffer)
    if size != run.sink.filled:
        raise StepFailure("%s says %d bytes, and %d were read" % (rig.pointer, run.sink.filled, size))


def exception(rig: Rig) -> str:
    """Trace an exception that no masking holds back."""
    rig.core.check_exception()
    run = rig.interrupted(plain(rig))
    found = run.executed
    check_gaps(found)
    before, handler = rig.layout.interruption()
    name = rig.core.exception_name
    taken = [number for number, one in found.exceptions if one.name == name]
    if len(taken) != 1:
        raise StepFailure("the %s is %d times in the trace of %s" % (name, len(taken), _listed(found.addresses, rig)))
    at = taken[0]
    wanted = before[:at] + handler + before[at:]
    check = found.addresses[: len(wanted)]
    if check != wanted:
        raise StepFailure("the trace of an %s says %s" % (name, _listed(found.addresses, rig)))
    if not any(isinstance(event, ExceptionReturn) for event in run.decoded().events) and rig.trace.unit.protocol in (
        "etmv4",
        "mtb",
    ):
        raise StepFailure("there is no return from the %s in the trace" % name)
    return "%s after instruction %d, its handler, and the return" % (name, at)


def _listed(addresses: List[int], rig: Rig) -> str:
    return ", ".join(map(rig.layout.name, addresses[-6:])) or "nothing"
