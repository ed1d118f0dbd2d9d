"""Registers and memory of the past, as a replay reports them."""

from __future__ import annotations

from typing import Dict, List, Optional, Protocol, Sequence, Tuple

from gdb_etm.history.path import Path
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.lift.operations import SP
from gdb_etm.recovery.neighbourhoods import REACHES, Answers
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, HaltedState, Tier, Touched, Value, no_memory
from gdb_etm.replay.flow import FOLLOWED, Flow
from gdb_etm.replay.reliance import Reliance
from gdb_etm.replay.stacked import Stacked
from gdb_etm.replay.watching import STORES

_THUMB_BIT = {"xpsr": 1 << 24, "cpsr": 1 << 5}
# Instructions whose values are all worked out at once; it takes up to a second for each ten thousand.
_AT_ONCE = 30_000
# More than these are begun with the neighbourhood of a stop.
_NEAR = 2 * REACHES[0]
# Where the status register has them (Armv8-M ARM, B3.5).
_FLAGS = (("n", 31), ("z", 30), ("c", 29), ("v", 28))


# How more can be had.
LIMIT_HINT = '"set etm recovery-limit", or "monitor recovery-limit"'


class Impatient(Exception):
    """Whoever waited for work that takes long has interrupted it."""


class Patience(Protocol):
    """Whoever waits for work that takes long."""

    def wait(self, what: str, share: float) -> None:
        """Take note of how far it is.

        :param what: What is being done.
        :param share: How much of it is done, 0 to 1.
        :raises Impatient: It is not waited for any more.
        """


class Past(Protocol):
    """Values before an instruction.

    The number after the history's last instruction is the end.
    """

    # Who waits; None while nobody does that could interrupt it.
    patience: Optional[Patience]

    def prepare(self, number: int) -> str:
        """Work out values ahead of GDB's reads.

        GDB waits for a stop as long as it takes, but for a register two seconds.

        :returns: What the user is to know of it; empty when nothing.
        :raises Impatient: It was interrupted.
        """

    def register(self, number: int, name: str) -> Optional[int]:
        """Give a register by its lower-case name; None when unknown."""

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give memory; None when one of the bytes is not known."""

    @property
    def reliance(self) -> Optional[Reliance]:
        """What values rest on; None where none are worked out."""

    def rely(self, reliance: Reliance) -> None:
        """Work values out anew, resting on something else."""

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Find which kinds of access touched memory near an instruction.

        2 for stores, 3 for loads, 4 for both.

        :raises Impatient: It was interrupted.
        """


class FlowPast:
    """The past as control flow alone gives it.

    :param path: The way that execution took.
    :param constants: Memory that does not change.
    :param begin: The state before the first instruction, if it is known.
    :param end: The state after the last one, if it is known.
    :param halts: What is known at halts in between.
    :param thread_code: See :class:`~gdb_etm.replay.flow.Flow`.
    """

    def __init__(
        self,
        path: Path,
        constants: Program,
        begin: Optional[CoreState] = None,
        end: Optional[CoreState] = None,
        thread_code: Optional[int] = None,
    ) -> None:
        self._path = path
        self._constants = constants
        self._begin = begin if begin is not None else CoreState({}, no_memory)
        self._end = end if end is not None else CoreState({}, no_memory)
        self._thread_code = thread_code
        self.patience: Optional[Patience] = None
        self._flow: Optional[Flow] = None
        self._saved: Tuple[int, Dict[int, int]] = (0, {})
        self._transfers: Optional[List[Tuple[int, int, int, bool]]] = None

    @property
    def reliance(self) -> Optional[Reliance]:
        """Nothing is worked out."""
        return None

    def rely(self, reliance: Reliance) -> None:
        """Do nothing."""

    def prepare(self, number: int) -> str:
        """Follow the flow of control."""
        self._follow()
        return ""

    def register(self, number: int, name: str) -> Optional[int]:
        """Give a register."""
        if number > self._path.length and name in self._end.registers:
            return self._end.registers[name]
        if name == "pc":
            return self._path.address(number)
        if name in FOLLOWED:
            return self._follow().register(number, FOLLOWED[name])
        if name in ("msp", "psp") and self._follow().is_plain:
            # GDB goes no way past a handler without both.
            return self._follow().register(number, SP) if name == "msp" else self._end.registers.get("psp")
        if name in _THUMB_BIT:
            # Of the status only the instruction set is known; GDB asks nothing else of it.
            return _THUMB_BIT[name] if self._isa(number) is Isa.T32 else 0
        return None

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give memory."""
        constant = self._constants.read(address, size)
        if len(constant) == size:
            return constant
        if number > self._path.length:
            return self._end.read(address, size)
        return self._words(number, address, size)

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Find what accessed memory, by the loads and stores that were traced."""
        history, last = self._path.history, self._path.length
        if not history.tells_transfers:
            return Touched(1, last, (), (), False)
        if self._transfers is None:
            self._transfers = []
            for number in range(1, self._path.length + 1):
                for one in history.transfers(number):
                    if one.address is not None and one.size is not None:
                        self._transfers.append((number, one.address, one.size, bool(one.store)))
        found = [
            number
            for number, at, length, store in self._transfers
            if at < address + size and address < at + length and (kind == 4 or store == (kind == 2))
        ]
        return Touched(1, last, tuple(sorted(set(found))), ())

    def _words(self, number: int, address: int, size: int) -> Optional[bytes]:
        if self._saved[0] != number:
            self._saved = number, self._follow().saved(number)
        first = address & ~3
        data = b""
        for at in range(first, address + size, 4):
            word = self._saved[1].get(at)
            if word is None:
                return None
            data += word.to_bytes(4, "little")
        return data[address - first : address - first + size]

    def _follow(self) -> Flow:
        if self._flow is None:
            self._flow = Flow(self._path.history, self._begin, self._end, self._thread_code)
        return self._flow

    def _isa(self, number: int) -> Isa:
        return next(self._path.back(min(number, self._path.length))).range.isa if self._path.length else Isa.T32


class RecoveredPast(FlowPast):
    """What control flow gives, and what was worked out besides.

    :param path: The way that execution took.
    :param constants: Memory that does not change.
    :param ends: The state before the first instruction, and after the last, as far as they are known.
    :param rules: What may be relied on; pieces are as long as GDB can be made to wait for.
    :param thread_code: See :class:`~gdb_etm.replay.flow.Flow`.
    """

    def __init__(
        self,
        path: Path,
        constants: Program,
        ends: Tuple[Optional[CoreState], Optional[CoreState]],
        rules: Rules = Rules(),
        thread_code: Optional[int] = None,
        halts: Sequence[HaltedState] = (),
    ) -> None:
        begin, end = ends
        self._halts = tuple(halts)
        super().__init__(path, constants, begin, end, thread_code)
        self._ends = ends
        self._rules = rules._replace(window=_AT_ONCE)
        self._reliance = Reliance(rules.limit, rules.volatile, rules.most)
        self._recovery = self._recover()
        self._stacked = Stacked(path, self.register, self._bytes) if is_m_profile(path.history.source.core) else None
        self._length = path.length
        # What is being worked out.
        self._what = ""
        # Whether the user knows that older values are provisional.
        self._has_reported = False

    @property
    def reliance(self) -> Optional[Reliance]:
        """What values rest on."""
        return self._reliance

    def rely(self, reliance: Reliance) -> None:
        """Work values out anew when they are next asked for."""
        if reliance != self._reliance:
            self._reliance, self._has_reported = reliance, False
            self._recovery = self._recover()

    def _recover(self) -> Recovery:
        begin, end = self._ends
        return Recovery(self._path.history, end, begin, self._reliance.rules(self._rules), (), self._halts, self._tell)

    def _tell(self, share: float) -> None:
        if self.patience is not None:
            self.patience.wait(self._what, share)

    def prepare(self, number: int) -> str:
        """Work everything out that is worked out of a moment."""
        super().prepare(number)
        if self._reliance.limit is Tier.UNKNOWN or number > self._length:
            return ""
        first = self._recovery.first(number)
        if number < first or self._recovery.pending(number) > _NEAR:
            # What is known at once, and stays known if nobody waits for the rest.
            self._what = "working out the values around instruction {:,}".format(number)
            self._recovery.near(number)
        if number >= first:
            self._expect(number)
            self._recovery.register(number, "r0")
        if self._has_reported or number >= first:
            return ""
        self._has_reported = True
        what = "registers and memory before instruction {:,} are provisional: worked out from what ran around the place"
        return "%s (%s)" % (what.format(first), LIMIT_HINT)

    def _expect(self, number: int) -> None:
        what = "working out the values of {:,} instructions"
        self._what = what.format(self._recovery.pending(number))

    def register(self, number: int, name: str) -> Optional[int]:
        """Give a register."""
        known = super().register(number, name)
        answers = self._answers(number)
        if answers is None:
            return known
        if name in _THUMB_BIT and known is not None:
            return self._status(answers, number, known)
        if known is None:
            value = answers.register(number, name)
            known = value.value if value.tier <= self._reliance.limit else None
        return known

    def memory(self, number: int, address: int, size: int) -> Optional[bytes]:
        """Give memory."""
        answers = self._answers(number)
        if size == 4 and self._stacked is not None and answers is not None:
            word = self._stacked.word(number, address)
            if word is not None:
                return word.to_bytes(4, "little")
        known = super().memory(number, address, size)
        if known is None and answers is not None:
            values = answers.memory(number, address, size)
            found = [value.value for value in values if value.tier <= self._reliance.limit]
            numbers = [value for value in found if value is not None]
            known = bytes(numbers) if len(numbers) == size else None
        return known

    def _bytes(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        answers = self._answers(number)
        return () if answers is None else answers.memory(number, address, size)

    def touched(self, number: int, kind: int, address: int, size: int) -> Touched:
        """Find what accessed memory; what is loaded from constants nobody follows."""
        traced = super().touched(number, kind, address, size)
        is_constant = kind != STORES and bool(self._constants.read(address, 1))
        if traced.is_known or is_constant or self._reliance.limit is Tier.UNKNOWN:
            return traced
        self._expect(number)
        return self._recovery.touched(number, kind, address, size)

    def _answers(self, number: int) -> Optional[Answers]:
        # What nobody has waited for is not worked out while GDB asks for a register.
        if self._reliance.limit is Tier.UNKNOWN or number > self._length:
            return None
        return self._recovery.known(number)

    def _status(self, answers: Answers, number: int, known: int) -> int:
        # The instruction set, with the flags that are known.
        for flag, bit in _FLAGS:
            value = answers.register(number, flag)
            if value.value is not None and value.tier <= self._reliance.limit:
                known |= (value.value & 1) << bit
        return known
