"""Real captures with OpenCSD's result: the instructions that ran.

Ranges, unknown addresses, exceptions, exception returns, discontinuities and timestamps have to be the same and in the
same order.  Three things that OpenCSD does otherwise are put right first:

- Where code is missing it tells an unknown address twice when an exception follows: once for the branch that could not
  be followed, and again for the instructions up to the return address.
- A branch that Capstone says is always taken, and of which an atom says that it was not, it passes over, and goes on
  behind it to the next Address packet.  Such code cannot have run (IHI 0064 H.a, L6879), so here is a gap that names
  the branch, and nothing up to that packet.  So it is in juno_r1_1 alone, whose dump is not the code that ran.
- Its offset is too low by one or two where an ID byte lies earlier in the frame (see tests/framing), so offsets are
  compared in the capture that has no frames.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import capstone
import pytest

from gdb_etm.history.build import build
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.protocols.elements import (
    Context,
    Event,
    Exception_,
    ExceptionReturn,
    Gap,
    GapReason,
    Range,
    Timestamp,
)
from gdb_etm.snapshot.reader import read_snapshot
from tests.protocols.etmv4.streams import context_line
from tests.shared import capture_folder, shared

ROOT = Path(__file__).resolve().parents[3]
CAPTURES = [
    "a55-test-tpiu",
    "a57_single_step",
    "armv8_1m_branches",
    "init-short-addr",
    "juno_r1_1",
    "rp2350-m33-0",
    "v7m-svc",
    "v8m-svc",
]
BIG = "bugfix-exact-match"

Fact = Tuple[object, ...]
Json = Dict[str, Any]


def ours(element: Union[Range, Event]) -> Optional[Fact]:
    """Return what OpenCSD tells too; None for the rest."""
    if isinstance(element, Range):
        name = element.isa.name
        return "range", hex(element.start), hex(element.end), element.instructions, name, element.taken
    if isinstance(element, Exception_):
        address = None if element.return_address is None else hex(element.return_address)
        return "exception", element.number, address
    if isinstance(element, ExceptionReturn):
        return ("exception_return",)
    if isinstance(element, Timestamp):
        return "timestamp", hex(element.value)
    if isinstance(element, Gap) and element.reason is GapReason.NO_CODE:
        assert element.address is not None
        return "unknown_address", hex(element.address)
    if isinstance(element, Gap) and element.reason is GapReason.TRACE_ON:
        return ("trace on",)
    if isinstance(element, Gap) and "is always taken" in element.detail:
        return "impossible", hex(element.address or 0)
    return None


def theirs(element: Json) -> Optional[Fact]:
    """Convert an OpenCSD element, or a line of ``elements --format jsonl``."""
    kind = element["kind"]
    if kind == "range":
        fields = ("start", "end", "instructions", "isa", "taken")
        return (kind,) + tuple(element[field] for field in fields)
    if kind == "exception":
        return kind, element["type"] if "type" in element else element["number"], element["return_address"]
    if kind == "exception_return":
        return (kind,)
    if kind == "timestamp":
        return kind, element["value"]
    if kind in ("unknown_address", "impossible"):
        return kind, element["address"]
    if kind == "gap" and "is always taken" in element.get("detail", ""):
        return "impossible", hex(int(element["detail"].split()[3], 16))
    if kind == "gap" and element["reason"] in ("begin or filter", GapReason.TRACE_ON.value):
        return ("trace on",)
    return None


def without_repetition(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Drop an unknown address that repeats the fact before it."""
    before: Optional[Fact] = None
    for fact in facts:
        if fact != before or fact[0] != "unknown_address":
            yield fact
        before = fact


def expected_elements(name: str) -> Dict[int, List[Json]]:
    """Return OpenCSD's elements by trace ID."""
    found: Dict[int, List[Json]] = {}
    with gzip.open(shared("captures", "expected", name + ".elements.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            element = json.loads(line)
            found.setdefault(element["id"], []).append(element)
    return found


def facts_of(elements: Iterable[Json]) -> List[Fact]:
    return [fact for fact in map(theirs, elements) if fact is not None]


def told_addresses(name: str, trace_id: int) -> List[int]:
    """List where OpenCSD's packets give an address, except exceptions' returns."""
    found = []
    before = ""
    with gzip.open(shared("captures", "expected", name + ".packets.tsv.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            index, number, _, text = line.split("\t")
            if int(number, 16) == trace_id:
                if text.startswith("I_ADDR_") and not before.startswith("I_EXCEPT :"):
                    found.append(int(index))
                before = text
    return found


def possible(elements: List[Json], told: List[int], always: Callable[[int], bool]) -> Iterator[Json]:
    """Replace what follows an impossible branch by a gap.

    :param told: Where packets tell an address.
    :param always: Tells whether the branch at an address is always taken.
    """
    until = 0
    for element in elements:
        if element["index"] < until and element["kind"] in ("range", "unknown_address"):
            continue
        if element["kind"] == "range" and not element["taken"]:
            branch = int(element["end"], 16) - 4
            if always(branch):
                until = next((place for place in told if place > element["index"]), 1 << 64)
                element = {"kind": "impossible", "address": hex(branch)}
        yield element


def always_taken(history: ExecutionHistory) -> Callable[[int], bool]:
    """Make what tells by Capstone whether an A64 branch is always taken."""
    engine = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)

    def ask(address: int) -> bool:
        code = history.program.read(address, 4)
        return any(name in ("b", "bl", "br", "blr", "ret") for _, _, name, _ in engine.disasm_lite(code, address))

    return ask


def histories(name: str) -> Dict[int, ExecutionHistory]:
    return build(read_snapshot(capture_folder(name))[0])


def wanted_facts(name: str, trace_id: int, elements: List[Json], history: ExecutionHistory) -> List[Fact]:
    """Give what OpenCSD tells and can have been."""
    if name != "juno_r1_1":
        return facts_of(elements)
    return facts_of(possible(elements, told_addresses(name, trace_id), always_taken(history)))


@pytest.mark.parametrize("name", CAPTURES)
def test_same_execution(name: str) -> None:
    expected = expected_elements(name)
    found = histories(name)
    assert found
    for trace_id, history in found.items():
        facts = [fact for fact in (ours(element) for _, element in history.elements()) if fact is not None]
        wanted = list(without_repetition(wanted_facts(name, trace_id, expected.pop(trace_id), history)))
        # OpenCSD repeats only what it has just told, so leaving our repetitions out as well hides nothing else.
        assert list(without_repetition(facts)) == wanted
    # What is left is a stream with no source or no bytes of its own.
    assert not [fact for elements in expected.values() for fact in facts_of(elements)]


def test_same_offsets() -> None:
    # The one capture without frames.
    expected = expected_elements("armv8_1m_branches")[0]
    (history,) = histories("armv8_1m_branches").values()
    found = [(offset, ours(element)) for offset, element in history.elements()]
    assert [pair for pair in found if pair[1]] == [(one["index"], theirs(one)) for one in expected if theirs(one)]


def context_text(text: str) -> str:
    """Write OpenCSD's text of a context as ours.

    Such as ``(ISA=A64) EL1N; 64-bit; VMID=0x0; CTXTID=0x0;``.
    """
    level, width, *rest = [word.strip() for word in text.partition(")")[2].split(";") if word.strip()]
    values = dict(word.split("=") for word in rest)
    words = [level[:3], "NS" if level[3] == "N" else "S"] + (["64"] if width == "64-bit" else [])
    words += ["CID %x" % int(values["CTXTID"], 16)] if "CTXTID" in values else []
    words += ["VMID %x" % int(values["VMID"], 16)] if "VMID" in values else []
    return " ".join(words)


@pytest.mark.parametrize("name", CAPTURES)
def test_same_contexts(name: str) -> None:
    expected = expected_elements(name)
    for trace_id, history in histories(name).items():
        lines = [context_line(event) for event in history.events if isinstance(event, Context)]
        # We tell it again after synchronisation was lost.
        found = [line for at, line in enumerate(lines) if lines[at - 1 : at] != [line]]
        wanted: List[str] = []
        for element in expected[trace_id]:
            # We tell a context when it changes, OpenCSD whenever a packet tells it.
            if element["kind"] == "context" and wanted[-1:] != [context_text(element["text"])]:
                wanted.append(context_text(element["text"]))
        assert found == wanted


def test_the_big_one() -> None:
    # 1,740,344 ranges by their digest, and the first 20,000 elements one by one.
    with open(shared("captures", "expected", BIG + ".digest.json"), encoding="utf-8") as file:
        expected = json.load(file)
    (history,) = histories(BIG).values()
    digest = hashlib.sha256()
    ranges = 0
    first: List[Fact] = []
    for _, element in history.elements():
        if len(first) < 20000:
            fact = ours(element)
            first += [fact] if fact is not None else []
        if isinstance(element, Range):
            ranges += 1
            start, end, count, isa, taken = element
            digest.update(b"0x%x 0x%x %d %s %s\n" % (start, end, count, isa.name.encode(), b"E" if taken else b"N"))
    assert ranges == expected["ranges"]
    assert len(history) == expected["instructions"]
    assert digest.hexdigest() == expected["sha256_of_ranges"]
    wanted = [fact for elements in expected_elements(BIG + ".first20000").values() for fact in facts_of(elements)]
    assert len(wanted) > 19000
    assert first[: len(wanted)] == wanted


@pytest.mark.parametrize("name", CAPTURES)
def test_the_same_through_the_shell(name: str) -> None:
    command = [sys.executable, "-m", "gdb_etm", "elements", capture_folder(name), "--format", "jsonl"]
    result = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=True, timeout=120)
    found: Dict[int, List[Json]] = {}
    for line in result.stdout.decode().splitlines():
        element = json.loads(line)
        found.setdefault(element["id"], []).append(element)
    expected, made = expected_elements(name), histories(name)
    for trace_id, elements in found.items():
        assert elements[-1]["kind"] == "end"
        wanted = wanted_facts(name, trace_id, expected[trace_id], made[trace_id])
        assert list(without_repetition(facts_of(elements))) == list(without_repetition(wanted))
    offsets = [element["index"] for elements in found.values() for element in elements]
    assert max(offsets) == len(read_snapshot(capture_folder(name))[0].buffer)
