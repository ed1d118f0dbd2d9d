"""A recovery's score against the truth: known and right."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from capstone import CS_ARCH_ARM, CS_MODE_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.image import load_elf
from gdb_etm.program.isa import Isa
from gdb_etm.program.objects import load_objects
from gdb_etm.program.ram import load_writable
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Tier
from tests.history.executed import Taken
from tests.recovery.truth import Run, prepare

GENERAL = tuple("r%d" % number for number in range(13))
NAMES = (*GENERAL, "sp", "lr")
TIERS = (Tier.EXACT, Tier.ASSUMED)
_STACKED: FrozenSet[str] = frozenset(("r0", "r1", "r2", "r3", "r12", "lr", "sp"))
_NUMBER = re.compile(r"#?\b(0x[0-9a-f]+|\d[\d,]*)")
# What capstone calls otherwise.
_NAMES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}


class Wrong(NamedTuple):
    """A value that is shown and not true."""

    number: int
    name: str
    shown: int
    true: int
    tier: Tier


class Share(NamedTuple):
    """A count of items, and how many are known at each tier.

    Each tier counts with the better ones.
    """

    count: int
    known: Tuple[int, ...]

    def percent(self, tier: Tier) -> float:
        """Return the percentage known at a tier or better."""
        return 100 * self.known[tier] / self.count if self.count else 100.0


class Score(NamedTuple):
    """What a recovery is worth over a window."""

    # Of r0 to r12 before each instruction.
    instants: Share
    # Those of them that are read later in the window before they are written.
    live: Share
    # What instructions wrote to r0 to r12.
    definitions: Share
    sp: Share
    lr: Share
    # One for each segment in which a register is wrong without a change.
    wrong: Tuple[Wrong, ...]
    # How many register-instants are wrong, by tier, better ones not included.
    wrong_instants: Tuple[int, ...]
    # Why live instants of r0 to r12 are unknown, numbers left out, and how many; the most frequent first.
    reasons: Tuple[Tuple[str, int], ...]


class Uses:
    """Which registers each instruction of a program reads and writes, by capstone.

    :param run: Of the program.
    """

    def __init__(self, run: Run) -> None:
        self._images = load_elf(run.elf)
        mode = CS_MODE_ARM if run.isa is Isa.A32 else CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8
        self._disassembler = Cs(CS_ARCH_ARM, mode)
        self._disassembler.detail = True
        self._known: Dict[int, Tuple[FrozenSet[str], FrozenSet[str]]] = {}

    def at(self, address: int) -> Tuple[FrozenSet[str], FrozenSet[str]]:
        """Return the names that an instruction reads and writes."""
        if address not in self._known:
            self._known[address] = self._find(address)
        return self._known[address]

    def _find(self, address: int) -> Tuple[FrozenSet[str], FrozenSet[str]]:
        for image in self._images:
            if image.address <= address < image.address + len(image.data):
                code = image.data[address - image.address :][:4]
                for insn in self._disassembler.disasm(code, address, 1):
                    read, written = ([insn.reg_name(each) for each in found] for found in insn.regs_access())
                    return self._wanted(read), self._wanted(written)
        return frozenset(), frozenset()

    @staticmethod
    def _wanted(names: Sequence[str]) -> FrozenSet[str]:
        return frozenset(_NAMES.get(name, name) for name in names) & frozenset(NAMES)


class Segment(NamedTuple):
    """A register between two changes: the value is the same."""

    # Index of the instruction before which it holds for the first time.
    first: int
    # Index after the last.
    end: int
    # Index of the last instruction that reads it, or -1.
    last_read: int
    # Whether an instruction wrote it.
    defined: bool


def recover(run: Run, window: int, end: Optional[CoreState] = None) -> Tuple[int, Recovery]:
    """Recover a run's last instructions; give the first one's index, too.

    :param end: The state after them, if not the true one.
    """
    first = run.start(window)
    frames, objects, stacks = load_frames([run.elf]), load_objects([run.elf]), tuple(load_writable(run.elf))
    rules = Rules(window=window + 4, frames=frames, objects=objects, stacks=stacks)
    return first, Recovery(run.history(first), end or run.end(), rules=rules)


def in_mid_run(program: str, folder: Path) -> Score:
    """Recover a program's last 5,000 instructions, halted in mid run.

    :param folder: Where its run is kept.
    """
    run = Run(prepare(program, folder, 40001), program)
    return score(run, Uses(run), *recover(run, 5000))


def segments(run: Run, uses: Uses, first: int) -> Iterator[Tuple[str, Segment]]:
    """Cut each register's time in a window at its writes.

    :param first: Index of the window's first instruction.
    """
    begun = {name: first for name in NAMES}
    last_read = {name: -1 for name in NAMES}
    defined = {name: False for name in NAMES}
    changed = run.changes(NAMES)
    for index in range(first, len(run)):
        place = run.places[index]
        address = run.items[place]
        assert isinstance(address, int)
        read, written = uses.at(address)
        if run.failed[index]:
            read, written = read | written, frozenset()
        for name in read:
            last_read[name] = index
        following = run.items[place + 1] if place + 1 < len(run.items) else None
        interrupted = following is not None and not isinstance(following, int)
        if isinstance(following, Taken):
            last_read.update((name, index) for name in _STACKED - written)
        closing = written | changed.get(index + 1, frozenset())
        for name in NAMES if interrupted else closing:
            yield name, Segment(begun[name], index + 1, last_read[name], defined[name])
            begun[name], last_read[name], defined[name] = index + 1, -1, name in written and not interrupted
    for name in NAMES:
        yield name, Segment(begun[name], len(run), last_read[name], defined[name])


class _Count:
    def __init__(self) -> None:
        self.count = 0
        self.known = [0, 0, 0]

    def add(self, count: int, tier: Tier) -> None:
        self.count += count
        for better in TIERS:
            if tier <= better:
                self.known[better] += count

    def share(self) -> Share:
        return Share(self.count, tuple(self.known))


def score(run: Run, uses: Uses, first: int, recovery: Recovery) -> Score:
    """Hold a recovery against the truth.

    :param first: Index of the instruction that is number 1 of the recovery's history.
    """
    counts = {what: _Count() for what in ("instants", "live", "definitions", "sp", "lr")}
    wrong: List[Wrong] = []
    instants = [0, 0, 0]
    reasons: Counter[str] = Counter()
    for name, one in segments(run, uses, first):
        number = one.first - first + 1
        value = recovery.register(number, name)
        tier = value.tier if value.value is not None else Tier.UNKNOWN
        length = one.end - one.first
        true = run.value(name, one.first)
        if value.value is not None and value.value != true:
            wrong.append(Wrong(number, name, value.value, true, tier))
            instants[tier] += max(length, 1)
        if name not in GENERAL:
            counts[name].add(length, tier)
            continue
        counts["instants"].add(length, tier)
        live = max(0, one.last_read + 1 - one.first)
        counts["live"].add(live, tier)
        if tier is Tier.UNKNOWN and live:
            reasons[_NUMBER.sub("N", value.reason)] += live
        counts["definitions"].add(int(one.defined), tier)
    shares = {what: count.share() for what, count in counts.items()}
    causes = tuple(reasons.most_common())
    return Score(**shares, wrong=tuple(wrong), wrong_instants=tuple(instants), reasons=causes)


def mean(scores: Sequence[Score], what: str, tier: Tier) -> float:
    """Return the mean of a share over scores, in percent."""
    return sum(getattr(one, what).percent(tier) for one in scores) / len(scores)
