"""Unused resources of an ETMv4: cleared, being unknown after reset.

IHI 0064, table 3-1 and 7.3; the neutral values are event FALSE, no member selected, state 0.
"""

from __future__ import annotations

from typing import Container, Iterator

from gdb_etm.registers import etmv4
from gdb_etm.registers import etmv4_comparators as comparators
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.plan import RegisterWrite


def unused_filters(capabilities: Capabilities) -> Iterator[RegisterWrite]:
    """Clear start and stop points by the processor's comparators."""
    if capabilities.field("TRCIDR4.NUMPC"):
        yield _clear(etmv4.TRCVIPCSSCTLR, "no start or stop by DWT comparators")


def unused_resources(capabilities: Capabilities) -> Iterator[RegisterWrite]:
    """Clear sequencer, external inputs, counters, resource selectors and single-shot controls."""
    if capabilities.field("TRCIDR5.NUMSEQSTATE"):
        for register in (*etmv4.TRCSEQEVR, etmv4.TRCSEQRSTEVR, etmv4.TRCSEQSTR):
            yield _clear(register, "sequencer unused")
    if capabilities.field("TRCIDR5.NUMEXTINSEL"):
        yield _clear(etmv4.TRCEXTINSELR, "external inputs unused")
    reduced = capabilities.field("TRCIDR5.REDFUNCNTR")
    for n in range(min(capabilities.field("TRCIDR5.NUMCNTR"), 4)):
        yield _clear(etmv4.TRCCNTRLDVR[n], "counter unused")
        if n or not reduced:  # the reduced-function counter has a reload value only (4.2.1)
            yield _clear(etmv4.TRCCNTCTLR[n], "counter unused")
            yield _clear(etmv4.TRCCNTVR[n], "counter unused")
    for n in range(2, 2 * capabilities.selector_pairs):
        yield _clear(etmv4.TRCRSCTLR[n], "resource selector unused")
    for n in range(min(capabilities.field("TRCIDR4.NUMSSCC"), 8)):
        yield _clear(etmv4.TRCSSCCR[n], "single-shot control unused")
        status = etmv4.TRCSSCSR[n]
        yield RegisterWrite(status.name, status.offset, 0, status.fields["STATUS"].mask, "not fired")
        if capabilities.field("%s.PC" % status.name):
            yield _clear(etmv4.TRCSSPCICR[n], "single-shot control unused")


def unused_comparators(
    capabilities: Capabilities, used: Container[int], used_contexts: int = 0
) -> Iterator[RegisterWrite]:
    """Clear the unused address, value, Context ID and VMID comparators.

    All masks are cleared too.

    :param used: Numbers of the single address comparators that have one.
    :param used_contexts: How many Context ID comparators have one; they are the first.
    """
    wide = capabilities.address_bits == 64
    for n in range(2 * min(capabilities.field("TRCIDR4.NUMACPAIRS"), 8)):
        if n not in used:
            yield from _clear_value(comparators.TRCACVR[n], wide)
            yield _clear(comparators.TRCACATR[n], "address comparator unused")
    for n in range(min(capabilities.field("TRCIDR4.NUMDVC"), 8)):
        for register in (comparators.TRCDVCVR[n], comparators.TRCDVCMR[n]):
            yield from _clear_value(register, capabilities.field("TRCIDR2.DVSIZE") == 8)
    contexts = capabilities.field("TRCIDR4.NUMCIDC") if capabilities.field("TRCIDR2.CIDSIZE") else 0
    machines = capabilities.field("TRCIDR4.NUMVMIDC") if capabilities.field("TRCIDR2.VMIDSIZE") else 0
    for n in range(used_contexts, min(contexts, 8)):
        yield from _clear_value(comparators.TRCCIDCVR[n], False)
    for n in range(min(machines, 8)):
        yield from _clear_value(comparators.TRCVMIDCVR[n], False)
    masked = machines if capabilities.field("TRCIDR2.VMIDSIZE") > 1 else 0
    for number, register in (
        (contexts, comparators.TRCCIDCCTLR0),
        (contexts - 4, comparators.TRCCIDCCTLR1),
        (masked, comparators.TRCVMIDCCTLR0),
        (masked - 4, comparators.TRCVMIDCCTLR1),
    ):
        if number > 0:
            yield _clear(register, "every byte of a context is compared")


def _clear(register: Register, why: str) -> RegisterWrite:
    return RegisterWrite(register.name, register.offset, 0, register.mask & 0xFFFFFFFF, why)


def _clear_value(register: Register, wide: bool) -> Iterator[RegisterWrite]:
    yield RegisterWrite(register.name, register.offset, 0, 0xFFFFFFFF, "comparator unused")
    if wide:
        yield RegisterWrite(register.name + "[63:32]", register.offset + 4, 0, 0xFFFFFFFF, "comparator unused")
