"""Accounts of an execution, ours and OpenCSD's, in common words."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols import elements
from gdb_etm.protocols.elements import Context, Cycles, Gap, GapReason, Range, Timestamp
from gdb_etm.protocols.etmv4.config import Etmv4Config
from tests.protocols.etmv4.differential.case import Setting
from tests.protocols.etmv4.differential.code import RandomCode
from tests.protocols.etmv4.differential.known import EXCEPTION_RETURN, ON, Fact
from tests.protocols.etmv4.differential.recording import Recording
from tests.protocols.etmv4.streams import decode
from tests.protocols.histories import Element

_UNKNOWN = Setting(-1, False, False, 0, 0)


class Account(NamedTuple):
    """An execution as it was told."""

    facts: List[Fact]
    times: List[Tuple[int, Optional[int]]]
    counts: List[Optional[int]]
    # What was told not to be known, but for tracing that was off.
    gaps: List[str]


def essence(facts: Sequence[Fact]) -> List[Fact]:
    """Leave out optional facts.

    These are a gap right after a gap, and what is only known from later trace.
    """
    found: List[Fact] = []
    for fact in facts:
        if fact != ON or found[-1:] != [ON]:
            found.append(fact)
    while found and found[-1] in (ON, EXCEPTION_RETURN):
        found.pop()
    return found


class _Teller:
    # Collects what one of the two says.
    def __init__(self, code: RandomCode) -> None:
        self.account = Account([], [], [], [])
        self.setting = _UNKNOWN
        self._code = code

    def ran(self, start: int, end: int, isa: Isa, count: int) -> None:
        """Take a range of instructions."""
        address = start
        for _ in range(count):
            self.account.facts.append(((address, isa), self.setting))
            address += self._code.size((address, isa))
        if address != end:
            self.account.facts.append("%d instructions from %x do not end at %x" % (count, start, end))


def elements_of(recording: Recording) -> List[Element]:
    """Decode a recording."""
    source = recording.source(0x10)
    return decode(Etmv4Config.from_source(source), Program(source.images), recording.data)


def ours(recording: Recording) -> Account:
    """Decode a recording and write down what it tells."""
    teller = _Teller(recording.code)
    account = teller.account
    for _, element in elements_of(recording):
        if isinstance(element, Range):
            teller.ran(element.start, element.end, element.isa, element.instructions)
        elif isinstance(element, Context):
            level, ids = element.exception_level or 0, (element.context_id or 0, element.vmid or 0)
            teller.setting = Setting(level, element.non_secure, element.sixty_four_bit, *ids)
        elif isinstance(element, elements.Exception_):
            account.facts.append(("exception", element.number, element.return_address or 0))
        elif isinstance(element, elements.ExceptionReturn):
            account.facts.append(EXCEPTION_RETURN)
        elif isinstance(element, Timestamp):
            account.times.append((element.value, element.cycles))
        elif isinstance(element, Cycles):
            account.counts.append(element.cycles)
        elif isinstance(element, Gap) and element.reason is GapReason.TRACE_ON:
            account.facts.append(ON)
        elif isinstance(element, Gap):
            account.gaps.append("%s %s" % (element.reason.name, element.detail))
    return account


_ISAS = {"A64": Isa.A64, "A32": Isa.A32, "T32": Isa.T32}
_ELEMENT = re.compile(r"OCSD_GEN_TRC_ELEM_(\w+)\((.*)\)$")
_RANGE = re.compile(r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\).*\(ISA=(\w+)\)")
_EXCEPTION = re.compile(r"pref ret addr:0x([0-9a-f]+).*excep num \(0x([0-9a-f]+)\)")
_CONTEXT = re.compile(r"EL(\d)(\w)")
_NUMBERS = re.compile(r"(VMID|CTXTID|TS|CC)=(0x[0-9A-Fa-f]+|\d+)")


def theirs(lines: Iterable[str], code: RandomCode) -> Account:
    """Write down what OpenCSD lists."""
    teller = _Teller(code)
    for line in lines:
        found = _ELEMENT.search(line)
        if found is not None:
            _hear(teller, found[1], found[2])
    return teller.account


def _hear(teller: _Teller, kind: str, text: str) -> None:
    account = teller.account
    values: Dict[str, int] = {name: int(value, 0) for name, value in _NUMBERS.findall(text)}
    if kind == "INSTR_RANGE":
        match = _RANGE.search(text)
        assert match is not None, text
        teller.ran(int(match[1], 16), int(match[2], 16), _ISAS[match[4]], int(match[3]))
    elif kind == "PE_CONTEXT":
        match = _CONTEXT.search(text)
        assert match is not None, text
        # What it does not tell has not changed.
        ids = values.get("CTXTID", teller.setting.context_id), values.get("VMID", teller.setting.vmid)
        teller.setting = Setting(int(match[1]), match[2] == "N", "64-bit" in text, *ids)
    elif kind == "EXCEPTION":
        match = _EXCEPTION.search(text)
        assert match is not None, text
        account.facts.append(("exception", int(match[2], 16), int(match[1], 16)))
    elif kind == "EXCEPTION_RET":
        account.facts.append(EXCEPTION_RETURN)
    elif kind == "TIMESTAMP":
        account.times.append((values["TS"], values.get("CC")))
    elif kind == "CYCLE_COUNT":
        account.counts.append(values.get("CC"))
    elif kind == "TRACE_ON":
        account.facts.append(ON)
    elif kind not in ("NO_SYNC", "EO_TRACE", "EVENT"):
        account.gaps.append("%s %s" % (kind, text))
