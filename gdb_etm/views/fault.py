"""A diagnosis as text: what, where, why, how sure, what next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.capture import BufferEnd
from gdb_etm.diagnosis.bad import FAR_AWAY
from gdb_etm.diagnosis.diagnose import Diagnosis
from gdb_etm.diagnosis.late import LateStore, StoreDoubt
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import FaultSite, handled_fault
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind, MemoryPlace, RegisterPlace
from gdb_etm.recovery.values import Tier
from gdb_etm.views.steps import place_name, step_text
from gdb_etm.views.text import align_names, exception_text, short_names

if TYPE_CHECKING:
    from gdb_etm.diagnosis.status import FaultStatus  # with pages of registers, which take a while to import

# Lines of a chain and of what decided a branch, late stores, and lines of what the status registers say, at most.
_CHAIN, _DECIDING, _LATE = 9, 3, 4
# Pieces of memory in a command, at most.
_PIECES = 8
_STATUS = 4
_INDENT = " " * 7
_LATE_WORDS = {
    StoreDoubt.NO_MEMORY: "no memory is there",
    StoreDoubt.NOT_WRITABLE: "not writable",
    StoreDoubt.FAR: FAR_AWAY,
    StoreDoubt.NOT_KNOWN: "its address is not known",
    StoreDoubt.DEVICE: "a device, which may have no clock or power",
}
_TIERS = {Tier.EXACT: "exact", Tier.ASSUMED: "assumed", Tier.UNKNOWN: "not known"}
# Types by size, for watchpoints.
_WATCHED = {1: "char *", 2: "short *", 4: "int *"}


class Words(NamedTuple):
    """How a debugger writes what is in a program."""

    # An instruction's text, by its number.
    instruction: Callable[[int], str]
    # The same by its address.
    at: Callable[[int], str]
    # "dispatch+34", by an address; empty where unknown.
    symbol: Callable[[int], str]
    # "rx.c:121", by an address; empty where unknown.
    line: Callable[[int], str]
    # The source's text, by an address; empty where unknown.
    source: Callable[[int], str]
    # "std::vector::push_back, stl_vector.h:1278", by an address: a library's function that is inlined in its line.
    inlined: Callable[[int], str]
    # "in SysTick", by an instruction's number; empty where there is but one thread.
    context: Callable[[int], str]


def fault_lines(diagnosis: Diagnosis, status: FaultStatus, scene: Scene, words: Words) -> List[str]:
    """Write a diagnosis, in at most 25 lines."""
    found = _what(diagnosis, status)
    found += _where(diagnosis, scene, words)
    found += _why(diagnosis, scene, words)
    found += _verdict(diagnosis, scene, words)
    return found + _next(diagnosis, scene)


def _titled(title: str, lines: Sequence[str]) -> List[str]:
    return ["%-7s%s" % (title if not at else "", line) for at, line in enumerate(lines)]


def _what(diagnosis: Diagnosis, status: FaultStatus) -> List[str]:
    site = diagnosis.site
    if site.failure is not None or site.event is None:
        if site.is_uncaught:
            return _titled("what", ["an exception of C++ ended the program"])
        name = site.failure.function.name if site.failure is not None and site.failure.function is not None else ""
        lines = ["the program stopped itself%s" % (" in %s" % name if name else "")]
        if site.event is not None:
            lines += ["what was to report that has faulted: %s" % exception_text(site.event), *status.lines[:_STATUS]]
        return _titled("what", lines)
    return _titled("what", [exception_text(site.event), *status.lines[:_STATUS]])


def _where(diagnosis: Diagnosis, scene: Scene, words: Words) -> List[str]:
    site = diagnosis.site
    if site.late:
        rows = _late_rows(site, scene, words)
    elif site.address is not None and not site.is_branch and site.event is not None and site.failure is None:
        rows = [["after #{:,}".format(site.number), *place_words(words, site.address), words.at(site.address)]]
    else:
        rows = [
            [
                _number(site.number),
                *place_words(words, scene.index.address(site.number)),
                words.instruction(site.number),
            ]
        ]
    lines = align_names(rows)
    for bad in site.bad[:2]:
        registers = [(one.name, scene.value(one).value) for one in bad.places if isinstance(one, RegisterPlace)]
        made = [(name, part) for name, part in registers if part is not None and part != bad.value]
        # A distance from text is no text.
        parts = ["%s = 0x%08x%s" % (name, part, _as_text(part) if bad.why else "") for name, part in made]
        text = _as_text(bad.value) if bad.value is not None and bad.why and not made else ""
        value = "" if bad.value is None else " 0x%08x%s" % (bad.value, text)
        why = ": %s" % bad.why if bad.why else ""
        if value or why or parts:
            lines.append("%s%s%s%s" % (bad.what, value, why, " (%s)" % ", ".join(parts) if parts else ""))
    return _titled("where", lines + _within(site, scene, words))


def _within(site: FaultSite, scene: Scene, words: Words) -> List[str]:
    # Of a fault in the handler of another one: that one is where it began.
    first = handled_fault(scene, site.number) if site.failure is None else None
    if first is None:
        return []
    number, event = first
    address = scene.index.address(number) if event.return_address is None else event.return_address
    where = " ".join(filter(None, [*place_words(words, address), words.at(address)]))
    return ["within the handler of %s, which was taken after #%s: %s" % (event.name, format(number, ","), where)]


def _late_rows(site: FaultSite, scene: Scene, words: Words) -> List[List[str]]:
    # The store that failed late, or those of which one did.
    stores = site.late[:1] if site.address is not None else site.late[:_LATE]
    rows: List[List[str]] = []
    for one in stores:
        rows.append(
            [
                _number(one.number),
                *place_words(words, scene.index.address(one.number)),
                words.instruction(one.number),
                "" if len(stores) == 1 else _late_text(one),
            ]
        )
    left = len(site.late) - len(stores)
    if len(stores) > 1:
        rows.insert(0, ["one of these stores failed late%s:" % (", or of %d older ones" % left if left else "")])
    return rows


def _late_text(one: LateStore) -> str:
    return "%s%s" % ("" if one.address is None else "0x%08x: " % one.address, _LATE_WORDS[one.doubt])


def _as_text(value: int) -> str:
    # What a pointer is where text was written over it; that may end there.
    text = value.to_bytes(4, "little").rstrip(b"\0").decode("latin-1")
    return ', text "%s"' % text if len(text) > 2 and text.isascii() and text.isprintable() else ""


def _why(diagnosis: Diagnosis, scene: Scene, words: Words) -> List[str]:
    chain = [node for node in diagnosis.chain if not _is_silent(node)]
    branch = next((node.branch for node in chain if node.branch is not None), None)
    most = _CHAIN if branch is None else _CHAIN - _DECIDING - 1
    own = _number(diagnosis.verdict.number) if diagnosis.verdict is not None else ""
    rows = _folded([_step(node, scene, words) for node in chain if node.branch is None], most, own)
    if branch is not None:
        rows.append([*_at(branch, scene, words), "the branch that led there: %s" % words.instruction(branch)])
        deciding = [_step(node, scene, words) for node in chain if node.branch is not None]
        rows += _folded(deciding, _CHAIN, own)[:_DECIDING]
    return _titled("why", align_names(rows)) if rows else []


def _is_silent(node: Node) -> bool:
    # Its parts say who stored them.
    return node.maker.kind is MakerKind.MERGED


def _folded(rows: List[List[str]], most: int, own: str) -> List[List[str]]:
    # What a loop repeats is told once; of a long chain both ends, and the verdict's own step.
    kept: List[List[str]] = []
    seen: Set[Tuple[str, ...]] = set()
    for row in rows:
        key = tuple(row[1:3])
        if key not in seen or row[0] == own:
            kept.append(row)
        seen.add(key)
    left = len(rows) - len(kept)
    if len(kept) > most:
        half = most // 2
        first, last = kept[:half], kept[half - most + 1 :]
        between = [row for row in kept[half : half - most + 1] if row[0] == own][:1]
        last = between + last[1:] if between else last
        return first + [["[%d more like these]" % (len(rows) - len(first) - len(last))]] + last
    return kept + ([["[%d more like these]" % left]] if left else [])


def _step(node: Node, scene: Scene, words: Words) -> List[str]:
    maker = node.maker
    if not 1 <= maker.number <= len(scene.history):
        return ["", "", "", step_text(node, scene)]
    return [*_at(maker.number, scene, words), step_text(node, scene)]


def _at(number: int, scene: Scene, words: Words) -> List[str]:
    return [_number(number), *place_words(words, scene.index.address(number))]


def _verdict(diagnosis: Diagnosis, scene: Scene, words: Words) -> List[str]:
    verdict = diagnosis.verdict
    if verdict is None:
        return _titled("==>", ["where it comes from is not known"] + _ends(diagnosis, scene))
    address = verdict.address & ~1 if verdict.address is not None else scene.index.address(verdict.number)
    line, source = words.line(address), words.source(address)
    function = scene.names.function(address)
    where = "%s%s" % (function or "0x%08x" % address, ", %s" % line if line else "")
    inlined, context = words.inlined(address), words.context(verdict.number)
    lines = [short_names("%s: %s" % (where, verdict.text))]
    if source:
        lines.append("    %s" % source)
    if inlined:
        lines.append("    inlined there: %s" % short_names(inlined))
    what = "faulted itself" if verdict.address is not None else _number(verdict.number)
    parts = [" ".join([what, context]).rstrip(), _how_sure(verdict)]
    other = words.context(verdict.other) if verdict.other is not None else ""
    if verdict.other is not None and other != context and other:
        parts.insert(1, "%s %s" % (_number(verdict.other), other))
    lines.append("; ".join(parts))
    if verdict.kind is SuspicionKind.ORIGIN:
        lines += _ends(diagnosis, scene)
    return _titled("==>", lines)


def _how_sure(verdict: Suspicion) -> str:
    if verdict.kind is SuspicionKind.ORIGIN:
        return "nothing on the way from there is known to be wrong; the way is %s" % _TIERS[verdict.tier]
    return "this is %s" % _TIERS[verdict.tier]


def _ends(diagnosis: Diagnosis, scene: Scene) -> List[str]:
    return [text for text in [says_more(end.node, scene) for end in diagnosis.ends] if text][:1]


def says_more(node: Node, scene: Scene) -> str:
    """Say why a way back ends, and what would tell more.

    :returns: Nothing where it ends in what is known, or where tracing started.
    """
    kind, place = node.maker.kind, node.place
    started = scene.history.end_reason is BufferEnd.STARTED
    if kind is MakerKind.BEFORE and not (started and node.maker.number <= 1):
        return 'what ran before is not known: a filter ("help etm filter") makes room for more'
    if kind is MakerKind.HIDDEN:
        text = "a store whose address is not known may be newer"
        if started and not _is_anchored(scene):
            return text + ': "set etm anchor-memory on" says more next time'
        if isinstance(place, MemoryPlace):
            pointer = _WATCHED.get(place.size, "char (*)[%d]" % place.size)
            return text + ': "watch *(%s) 0x%08x" halts there next time' % (pointer, place.address)
        return text
    if kind is MakerKind.OUTSIDE:
        more = ': data trace ("help etm start") says more next time' if _can_trace_data(scene) else ""
        return "what made it is not followed" + more
    return ""


def _is_anchored(scene: Scene) -> bool:
    # Whether memory is known as it was when tracing started.
    core = scene.history.source.core
    return core is not None and core.begin is not None and bool(core.begin.memory)


def _can_trace_data(scene: Scene) -> bool:
    # Whether the unit has data trace (TRCIDR0.TRCDATA), and it is off (TRCCONFIGR.DA and DV).
    registers = scene.history.source.registers
    return registers.get("TRCIDR0", 0) >> 3 & 3 == 3 and not registers.get("TRCCONFIGR", 0) >> 16 & 3


def _next(diagnosis: Diagnosis, scene: Scene) -> List[str]:
    verdict, lines = diagnosis.verdict, []
    if verdict is not None and verdict.address is None and verdict.number:
        lines.append("etm goto %d" % verdict.number)
    if verdict is not None and verdict.other is not None:
        lines.append("etm goto %d" % verdict.other)
    stored = [
        node.place
        for node in diagnosis.chain
        if node.branch is None and isinstance(node.place, MemoryPlace) and scene.is_ram(node.place.address)
    ]
    # What a function saved for its caller is not what anybody looks for.
    stored = [one for one in stored if scene.saved_at(one.number, one.address, one.size) is None]
    if stored:
        lines.append("etm writes 0x%08x,%d" % (stored[-1].address, stored[-1].size))
    written = scene.recovery.volatile
    if verdict is not None and verdict.kind is SuspicionKind.TRANSFER and len(written) <= _PIECES:
        pieces = ["0x%08x,%d" % (start, end - start) for start, end in written]
        lines.insert(1, "set etm volatile %s" % " ".join(pieces))
    if not lines and diagnosis.site.number:
        lines.append("etm goto %d" % diagnosis.site.number)
    return _titled("next", lines[:3])


def _number(number: int) -> str:
    return "#{:,}".format(number)


def place_words(words: Words, address: int) -> Tuple[str, str]:
    """Write where an instruction is: ``"<dispatch+34>"`` and ``"rx.c:121"``."""
    symbol = words.symbol(address)
    return "<%s>" % symbol if symbol else "0x%08x" % address, words.line(address)


def fault_object(diagnosis: Diagnosis, status: FaultStatus, scene: Scene, words: Words) -> Dict[str, Any]:
    """Give a diagnosis as a JSON object; addresses and values are numbers."""
    site, verdict = diagnosis.site, diagnosis.verdict

    def step(node: Node) -> Dict[str, Any]:
        number = node.maker.number
        found: Dict[str, Any] = {"number": number, "made": node.maker.kind.value, "tier": _TIERS[node.maker.tier]}
        found["what"] = place_name(node.place, scene)
        found["value"] = scene.value(node.place).value
        return {
            **found,
            **(_object_place(scene.index.address(number), words) if 1 <= number <= len(scene.history) else {}),
        }

    return {
        "exception": None if site.event is None else {"name": site.event.name, "vector": site.event.vector},
        "status": status.lines,
        "site": {
            "number": site.number,
            **_object_place(site.address if site.address is not None else scene.index.address(site.number), words),
            "bad": [{"what": bad.what, "value": bad.value, "why": bad.why} for bad in site.bad],
        },
        "chain": [step(node) for node in diagnosis.chain],
        "verdict": None if verdict is None else _object_verdict(verdict, scene, words),
    }


def _object_verdict(verdict: Suspicion, scene: Scene, words: Words) -> Dict[str, Any]:
    address = verdict.address if verdict.address is not None else scene.index.address(verdict.number)
    return {
        "kind": verdict.kind.name.lower(),
        "number": verdict.number if verdict.address is None else None,
        **_object_place(address & ~1, words),
        "text": verdict.text,
        "tier": _TIERS[verdict.tier],
        "other": verdict.other,
        "inlined": words.inlined(address) or None,
        "context": words.context(verdict.number) or None,
    }


def _object_place(address: int, words: Words) -> Dict[str, Optional[Any]]:
    return {"address": address, "symbol": words.symbol(address) or None, "line": words.line(address) or None}
