"""Features of a trace unit, with the identification fields that prove them."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Tuple

from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.identification import Identification


class Feature(NamedTuple):
    """One kind of resource or option."""

    topic: str
    words: str
    # The identification fields that it comes from, such as ``"TRCIDR4.NUMACPAIRS"``.
    fields: Tuple[str, ...]


def features(identification: Identification) -> Iterator[Feature]:
    """List what a unit has, comparators first."""
    if isinstance(identification, Capabilities):
        yield from _etmv4(identification)
    elif isinstance(identification, Armv7Capabilities):
        yield from _armv7(identification)


def _etmv4(unit: Capabilities) -> Iterator[Feature]:
    field = unit.field
    pairs, inputs = field("TRCIDR4.NUMACPAIRS"), field("TRCIDR4.NUMPC")
    contexts = field("TRCIDR4.NUMCIDC") if field("TRCIDR2.CIDSIZE") else 0
    yield Feature(
        "comparators",
        _listed(
            _several(2 * pairs, "address comparator", " (%s)" % _several(pairs, "range")),
            "not of loads and stores" if pairs and not field("TRCIDR4.SUPPDAC") else "",
            _several(field("TRCIDR4.NUMDVC"), "data value comparator"),
            _several(contexts, "Context ID comparator"),
            _several(field("TRCIDR4.NUMVMIDC"), "VMID comparator"),
            _several(inputs, "processor comparator input"),
        ),
        (
            "TRCIDR4.NUMACPAIRS",
            "TRCIDR4.SUPPDAC",
            "TRCIDR4.NUMDVC",
            "TRCIDR4.NUMCIDC",
            "TRCIDR4.NUMVMIDC",
            "TRCIDR4.NUMPC",
        ),
    )
    yield Feature(
        "filters",
        _listed(
            "include and exclude ranges, start and stop at addresses" if pairs else "",
            "start and stop by the processor's comparators" if inputs else "",
            _levels(unit),
            "system errors always" if field("TRCIDR3.TRCERR") else "",
        ),
        ("TRCIDR4.NUMACPAIRS", "TRCIDR4.NUMPC", "TRCIDR3.EXLEVEL_S", "TRCIDR3.EXLEVEL_NS", "TRCIDR3.TRCERR"),
    )
    yield from _etmv4_resources(unit)
    yield Feature(
        "options",
        ", ".join(unit.words[:-1]) or "none",
        (
            "TRCIDR0.RETSTACK",
            "TRCIDR0.TRCCCI",
            "TRCIDR3.CCITMIN",
            "TRCIDR0.TSSIZE",
            "TRCIDR0.TRCBB",
            "TRCIDR2.CIDSIZE",
            "TRCIDR0.TRCCOND",
            "TRCIDR0.TRCDATA",
        ),
    )
    stalls = field("TRCIDR3.STALLCTL") and field("TRCIDR3.SYSSTALL")
    yield Feature(
        "overflow",
        _listed(
            "can stall the processor" if stalls else "cannot stall the processor",
            "can prevent it" if field("TRCIDR3.NOOVERFLOW") else "",
        ),
        ("TRCIDR3.STALLCTL", "TRCIDR3.SYSSTALL", "TRCIDR3.NOOVERFLOW"),
    )
    fixed = unit.fixed_sync_bytes
    words = "every %d bytes, fixed" % fixed if fixed else "never by itself"
    yield Feature("synchronisation", "every 256 bytes to 1 MiB" if fixed is None else words, ("TRCIDR3.SYNCPR",))


def _etmv4_resources(unit: Capabilities) -> Iterator[Feature]:
    field = unit.field
    counters = _several(field("TRCIDR5.NUMCNTR"), "counter of 16 bits", "", "counters of 16 bits")
    if counters and field("TRCIDR5.REDFUNCNTR"):
        counters += "; counter 0 only counts cycles"
    yield Feature("counters", counters or "none", ("TRCIDR5.NUMCNTR", "TRCIDR5.REDFUNCNTR"))
    yield Feature("sequencer", _several(field("TRCIDR5.NUMSEQSTATE"), "state") or "none", ("TRCIDR5.NUMSEQSTATE",))
    shots = [_abilities(unit, n) for n in range(min(field("TRCIDR4.NUMSSCC"), 8))]
    words = _several(len(shots), "control") + (": " + "; ".join(dict.fromkeys(shots)) if shots else "none")
    yield Feature("single-shot", words, ("TRCIDR4.NUMSSCC", *("TRCSSCSR%d.PC" % n for n in range(len(shots)))))
    selected = field("TRCIDR5.NUMEXTINSEL")
    external = _several(field("TRCIDR5.NUMEXTIN"), "input")
    if external and selected:
        external += ", of which %d can be selected at a time" % selected
    yield Feature("external inputs", external or "none", ("TRCIDR5.NUMEXTIN", "TRCIDR5.NUMEXTINSEL"))
    selectors = max(2 * unit.selector_pairs - 2, 0)
    yield Feature(
        "resource selectors",
        "%d, beside those for never and always" % selectors if unit.selector_pairs else "none",
        ("TRCIDR4.NUMRSPAIR", "TRCIDR1.TRCARCHMIN"),
    )
    events = _several(unit.events, "event")
    if events and field("TRCIDR5.ATBTRIG"):
        events += "; event 0 can trigger on the trace bus"
    yield Feature("events", events or "none", ("TRCIDR0.NUMEVENT", "TRCIDR5.ATBTRIG"))


def _abilities(unit: Capabilities, n: int) -> str:
    known = (
        ("INST", "instruction addresses"),
        ("DA", "data addresses"),
        ("DV", "data values"),
        ("PC", "the processor's comparators"),
    )
    found = [words for name, words in known if unit.field("TRCSSCSR%d.%s" % (n, name))]
    return "by " + (" and ".join(found) or "nothing")


def _levels(unit: Capabilities) -> str:
    names = []
    for security, name in (("TRCIDR3.EXLEVEL_S", "Secure"), ("TRCIDR3.EXLEVEL_NS", "Non-secure")):
        mask = unit.field(security)
        numbers = [str(n) for n in range(4) if mask >> n & 1]
        if numbers:
            names.append("%s %s" % (name, ", ".join(numbers)))
    return "exception levels " + " and ".join(names) if names else ""


def _armv7(unit: Armv7Capabilities) -> Iterator[Feature]:
    field = unit.field
    has_data = "DataComps" in unit.page.by_name["ETMCCR"].fields
    yield Feature(
        "comparators",
        _listed(
            _several(2 * unit.pairs, "address comparator", " (%s)" % _several(unit.pairs, "range")),
            _several(field("ETMCCR.DataComps"), "data value comparator") if has_data else "",
            _several(field("ETMCCR.CIDComps"), "Context ID comparator"),
            "1 VMID comparator" if field("ETMCCER.Virtualization") else "",
            _several(
                field("ETMCCER.WatchInputs"),
                "watchpoint input",
                (
                    " from the DWT's comparators (%d free)" % len(unit.watchpoints)
                    if unit.registers.get("DWT_CTRL")
                    else ""
                ),
            ),
        ),
        (
            "ETMCCR.AddrPairs",
            *(("ETMCCR.DataComps",) if has_data else ()),
            "ETMCCR.CIDComps",
            "ETMCCER.Virtualization",
            "ETMCCER.WatchInputs",
        ),
    )
    yield Feature(
        "filters",
        _listed(
            "include or exclude ranges" if unit.pairs else "",
            "blocks of addresses by the DWT" if not unit.pairs and unit.watchpoints else "",
            "start and stop" if field("ETMCCR.StartStop") else "",
            "start and stop by watchpoints" if field("ETMCCER.WatchStartStop") else "",
            "Context IDs by an event" if field("ETMCCR.CIDComps") else "",
            "security states by an event" if field("ETMIDR.Security") else "",
        ),
        ("ETMCCR.AddrPairs", "ETMCCR.StartStop", "ETMCCER.WatchStartStop", "ETMCCR.CIDComps", "ETMIDR.Security"),
    )
    yield from _armv7_resources(unit)
    own = ("ETMCR.DataAddress", "ETMCR.DataValue") if has_data else ("ETMCCER.ReturnStack",)
    yield Feature(
        "options",
        ", ".join(unit.words[:-1]) or "none",
        (*own, "ETMCR.CycleAccurate", "ETMCCER.Timestamp", "ETMCR.BranchBroadcast", "ETMCR.ContextIDSize"),
    )
    stalls = field("ETMCCR.FIFOFULL") and field("ETMSCR.FIFOFULL")
    yield Feature(
        "overflow",
        "can stall the processor" if stalls else "cannot stall the processor",
        ("ETMCCR.FIFOFULL", "ETMSCR.FIFOFULL"),
    )
    fixed = unit.fixed_sync_bytes
    yield Feature(
        "synchronisation", "as wanted" if fixed is None else "every %d bytes, fixed" % fixed, ("ETMSYNCFR.Frequency",)
    )


def _armv7_resources(unit: Armv7Capabilities) -> Iterator[Feature]:
    field = unit.field
    counters = _several(min(field("ETMCCR.Counters"), 4), "counter of 16 bits", "", "counters of 16 bits")
    if counters and field("ETMCCER.ReducedCounter"):
        counters += "; counter 0 only counts cycles"
    yield Feature("counters", counters or "none", ("ETMCCR.Counters", "ETMCCER.ReducedCounter"))
    yield Feature("sequencer", "3 states" if field("ETMCCR.Sequencer") else "none", ("ETMCCR.Sequencer",))
    external = _listed(
        _several(field("ETMCCR.ExtIn"), "input"),
        _several(field("ETMCCR.ExtOut"), "output"),
        _several(field("ETMCCER.ExtInSel"), "selected input", " of a bus of %d" % field("ETMCCER.ExtInBus")),
    )
    yield Feature("external", external, ("ETMCCR.ExtIn", "ETMCCR.ExtOut", "ETMCCER.ExtInSel", "ETMCCER.ExtInBus"))


def _several(count: int, noun: str, more: str = "", nouns: str = "") -> str:
    if not count:
        return ""
    return "%d %s%s" % (count, noun if count == 1 else nouns or noun + "s", more)


def _listed(*words: str) -> str:
    return "; ".join(word for word in words if word) or "none"
