"""A random execution past a trace unit, with speculative wrong paths."""

from __future__ import annotations

import random
from copy import copy
from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.program.isa import Isa
from tests.protocols.etmv4.differential.case import Case, Setting
from tests.protocols.etmv4.differential.code import (
    BARRIER,
    DIRECT,
    INDIRECT,
    RETURN,
    WAIT,
    Instruction,
    RandomCode,
    Spot,
)
from tests.protocols.etmv4.differential.known import NO_EXECUTION, Fact
from tests.protocols.etmv4.differential.unit import Unit

_A_EXCEPTIONS = (0x01, 0x02, 0x03, 0x04, 0x06, 0x07, 0x0A, 0x0B, 0x0C, 0x0E, 0x0F)
_M_EXCEPTIONS = (0x02, 0x03, 0x06, 0x0B, 0x0E, 0x0F, 0x10, 0x17, 0x18, 0x208, 0x3EF)
_MOST_NESTED = 4


class _Place(NamedTuple):
    spot: Spot
    setting: Setting


class _Core:
    # The processor's state; a copy of it runs on a wrong path.
    def __init__(self, place: _Place) -> None:
        self.spot = place.spot
        self.setting = place.setting
        self.calls: List[Spot] = []
        self.interrupted: List[_Place] = []

    def fork(self) -> "_Core":
        other = copy(self)
        other.calls = list(self.calls)
        other.interrupted = list(self.interrupted)
        return other


class Walk:
    """The execution.

    :param case: Configuration and length.
    :param code: The program.
    :param unit: The trace unit that watches.
    :param dice: Decides where it goes.
    """

    def __init__(self, case: Case, code: RandomCode, unit: Unit, dice: random.Random) -> None:
        self._case = case
        self._code = code
        self._unit = unit
        self._dice = dice
        self._core = _Core(self._anywhere(0))
        self._wrong = 0
        self._since_sync = 0

    def run(self) -> None:
        """Walk from a synchronisation point to the end of the stream."""
        unit, case = self._unit, self._case
        unit.synchronise()
        unit.trace_on()
        for _ in range(case.blocks):
            self._between()
            self._step()
        if not case.unfinished:
            unit.commit(unit.uncommitted)
        unit.finish()

    def _anywhere(self, level: int) -> _Place:
        # Some instruction, and a context in which it can run.
        dice, case = self._dice, self._case
        starts = self._code.starts
        if case.profile == "mixed":
            starts = [spot for spot in starts if (spot[1] is Isa.A64) == (level > 0)]
        spot = dice.choice(starts)
        if case.m_profile:
            return _Place(spot, Setting(level, False, False, 0, 0))
        vmid = dice.randrange(1 << 8 * case.vmid_bytes)
        context_id = dice.choice((0, 1, 0x1234, 0xFFFFFFFF)) if case.context_id else 0
        return _Place(spot, Setting(level, dice.random() < 0.5, spot[1] is Isa.A64, context_id, vmid))

    def _between(self) -> None:
        # What a unit may do between two P0 elements.
        dice, unit, case = self._dice, self._unit, self._case
        self._since_sync += 1
        if case.max_speculation and dice.random() < 0.3:
            unit.commit(dice.randint(0, unit.committable()))
        if unit.bare:
            return
        if case.threshold is not None and dice.random() < 0.2:
            unit.account(dice.randint(0, unit.committable()))
        if case.timestamps and dice.random() < 0.1:
            unit.timestamp()
        if case.sync_period and self._since_sync > case.sync_period:
            self._synchronise()
        if self._wrong:
            return
        if case.gaps and dice.random() < 0.05:
            # Instructions that are not traced, and then others that are.
            self._core.spot, self._core.setting = self._anywhere(self._core.setting.level)
            unit.trace_on()
        if case.losses and dice.random() < 0.03 and not (case.portable and unit.returned):
            # OpenCSD tells an exception return only with what comes after it.
            unit.lose(dice.random() < 0.5)
            self._core.spot, self._core.setting = self._anywhere(self._core.setting.level)

    def _synchronise(self) -> None:
        unit, case = self._unit, self._case
        if case.portable and (case.return_stack or case.cut):
            # OpenCSD empties its return stack at a Trace Info before it follows what is uncommitted (5.3.1: never), and
            # where it begins with uncommitted elements from before it may lose itself or die.
            unit.commit(unit.committable())
            if unit.uncommitted:
                return
        self._since_sync = 0
        unit.synchronise(self._dice.random() < 0.3)

    def _block(self) -> List[Instruction]:
        found = [self._code.at(self._core.spot)]
        while not found[-1].is_branch(self._case.waits):
            found.append(self._code.at((found[-1].address + found[-1].size, found[-1].isa)))
        return found

    def _facts(self, block: List[Instruction]) -> List[Fact]:
        return [((insn.address, insn.isa), self._core.setting) for insn in block]

    def _step(self, only_atoms: bool = False) -> None:
        block = self._block()
        if self._case.exceptions and not only_atoms and self._dice.random() < 0.07:
            self._exception(block)
        elif self._case.max_speculation and self._dice.random() < 0.3 and self._may_be_wrong():
            self._speculate(block)
        else:
            taken, target = self._outcome(block[-1])
            self._trace(block, taken)
            self._go(block[-1], taken, target, only_atoms)

    def _may_be_wrong(self) -> bool:
        return self._unit.room() > 0 and self._wrong < 2

    def _outcome(self, branch: Instruction) -> Tuple[bool, Spot]:
        # Which way a branch goes.
        following = (branch.address + branch.size, branch.isa)
        if branch.conditional and self._dice.random() < 0.5:
            return False, following
        if branch.kind == DIRECT:
            return True, branch.target
        if branch.kind in (INDIRECT, RETURN):
            calls = self._core.calls
            if calls and self._dice.random() < 0.7 and branch.kind == INDIRECT and self._fits(calls[-1]):
                return True, calls[-1]
            return True, self._anywhere(self._core.setting.level).spot
        return branch.kind != WAIT or self._dice.random() < 0.5, following

    def _fits(self, spot: Spot) -> bool:
        return (spot[1] is Isa.A64) == self._core.setting.wide

    def _trace(self, block: List[Instruction], taken: bool) -> None:
        self._unit.arrive(self._core.spot, self._core.setting)
        self._unit.atom(block[-1], taken, self._facts(block))

    def _go(self, branch: Instruction, taken: bool, target: Spot, only_atoms: bool) -> None:
        # The processor after a branch that is traced.
        core = self._core
        if taken and branch.kind == INDIRECT and core.calls and core.calls[-1] == target:
            core.calls.pop()
        if taken and branch.link:
            core.calls.append((branch.address + branch.size, branch.isa))
        core.spot = target
        if branch.kind == BARRIER and self._dice.random() < 0.3:
            core.setting = core.setting._replace(context_id=self._anywhere(0).setting.context_id)
        if taken and branch.kind == RETURN:
            self._unit.exception_return(False)
            self._return(False)
        elif taken and self._case.m_profile and branch.kind == INDIRECT and not branch.link and core.interrupted:
            if not only_atoms and self._dice.random() < 0.4:
                self._unit.exception_return(True)
                self._return(True)

    def _return(self, m_profile: bool) -> None:
        core = self._core
        if m_profile and self._dice.random() < 0.3:
            self._take(core.spot, [], NO_EXECUTION)
        elif core.interrupted:
            core.spot, core.setting = core.interrupted.pop()
        else:
            core.spot, core.setting = self._anywhere(0)

    def _exception(self, block: List[Instruction]) -> None:
        # Some instructions of the block run, then an exception comes; perhaps the whole of it and more was traced.
        ran = self._dice.randrange(len(block))
        if self._case.max_speculation and self._dice.random() < 0.5 and self._may_be_wrong():
            self._overrun(block)
        address = block[ran].address
        self._take(self._core.spot, self._facts(block[:ran]), address)

    def _take(self, spot: Spot, facts: List[Fact], return_address: int) -> None:
        core, m_profile = self._core, self._case.m_profile
        self._unit.exception(
            self._dice.choice(_M_EXCEPTIONS if m_profile else _A_EXCEPTIONS), spot, core.setting, facts, return_address
        )
        if return_address != NO_EXECUTION:
            core.interrupted.append(_Place((return_address, spot[1]), core.setting))
            del core.interrupted[:-_MOST_NESTED]
        core.spot, core.setting = self._anywhere(3 if m_profile else self._dice.randint(1, 3))

    # Wrong paths.

    def _overrun(self, block: List[Instruction]) -> None:
        # The block and what seemed to follow it is traced, and then cancelled: it never happened.
        unit, right = self._unit, self._core
        start = len(unit.elements)
        unit.arrive(right.spot, right.setting)
        unit.limits.append(start)
        self._core = right.fork()
        taken, target = self._outcome(block[-1])
        self._trace(block, taken)
        if block[-1].kind != RETURN:
            self._core.spot = target
            self._wrong_path()
        unit.cancel(len(unit.elements) - start, False)
        unit.limits.pop()
        self._core = right

    def _speculate(self, block: List[Instruction]) -> None:
        # The branch at the block's end is predicted wrong: its direction, or where it goes.
        unit, branch = self._unit, block[-1]
        taken, target = self._outcome(branch)
        following = (branch.address + branch.size, branch.isa)
        unit.arrive(self._core.spot, self._core.setting)
        unit.limits.append(len(unit.elements))
        right = self._core
        self._core = right.fork()
        wrong: Optional[Spot] = None
        direction = taken
        if branch.kind == INDIRECT and taken and self._dice.random() < 0.5:
            wrong = self._outcome(branch._replace(conditional=False))[1]
        elif not self._case.portable or branch.conditional and not branch.link:
            # A call counts for the return stack as it was traced first (5.3); OpenCSD takes its final direction.
            direction = not taken
            wrong = following if taken else self._outcome(branch._replace(conditional=False))[1]
        self._trace(block, direction)
        # It may be committed before its direction is final (5.2.18), but OpenCSD does not wait for that.
        if not self._case.portable:
            unit.limits[-1] += 1
        start = len(unit.elements)
        bare = self._case.portable and direction != taken
        unit.bare += bare
        if wrong is not None and branch.kind in (DIRECT, INDIRECT) and self._code.has(wrong):
            self._core.spot = wrong
            if self._dice.random() < 0.3:
                unit.arrive(wrong, self._core.setting)
            self._wrong_path()
        if len(unit.elements) > start or direction != taken:
            unit.cancel(len(unit.elements) - start, direction != taken)
        unit.bare -= bare
        unit.limits.pop()
        self._core = right
        self._go(branch, taken, target, self._wrong > 0)

    def _wrong_path(self) -> None:
        unit = self._unit
        self._wrong += 1
        for _ in range(self._dice.choice((0, 1, 1, 2, 3, 8))):
            if unit.room() < 1:
                break
            self._between()
            self._step(only_atoms=unit.room() < 3)
        self._wrong -= 1
