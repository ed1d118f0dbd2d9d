"""Stack limits of Armv8-M: instructions that ran kept SP above them.

One that lowers SP below MSPLIM or PSPLIM faults.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), "Stack limit checks", RSPCheck and ViolatesSPLim.  At priorities
of HardFault and NMI the check may be off (CCR.STKOFHFNMIGN), so nothing is learned there.  Cores without the registers
(Armv6-M, Armv7-M) have no such fact: their SP may be anywhere.
"""

from __future__ import annotations

import re
from typing import Dict, Final, List, Mapping, Optional, Sequence, Tuple

from gdb_etm.program.image import Program
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.graph import START, UNMODELLED
from gdb_etm.recovery.lift.operations import CONTROL, HANDLER, MASK, SP, Op
from gdb_etm.recovery.lift.template import CHECKED, PROCESS_LIMIT, Template
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.values import CoreState

# The limits as registers of a state.
NAMES = ("msplim", "psplim")
# NMI and HardFault.
_UNCHECKED: Final = (2, 3)
_IPSR: Final = 0x1FF
_SPSEL: Final = 1
_NPRIV: Final = 0
_FIELD: Final = MASK & ~7
# CPSID with FAULTMASK; MSR to FAULTMASK and FAULTMASK_NS.
_RAISES = re.compile(b"(?=[\x71\x73]\xb6|[\x80-\x8f]\xf3[\x13\x93]\x88)", re.DOTALL)


def limits_of(registers: Mapping[str, int]) -> Dict[str, int]:
    """Read the stack limits that certainly hold, by :data:`NAMES`.

    With the Security Extension there are two of each; SP is not below the lower one, whichever state the core is in.
    """
    found: Dict[str, int] = {}
    for name in NAMES:
        values = [registers[each] for each in (name + "_s", name + "_ns") if each in registers]
        if name in registers:
            found[name] = registers[name] & _FIELD
        elif len(values) == 2:
            found[name] = min(values) & _FIELD
    return found


def _has(program: Program, what: "re.Pattern[bytes]") -> bool:
    return any(not match.start() & 1 for _, data in program.pieces for match in what.finditer(data))


class Limits:
    """Collects checked changes of SP, and learns at the end what follows.

    :param ssa: The variables of the segment that is being built.
    :param states: The states at the ends of the segment, if known.
    :param psp: Whether PSP may be in use.
    :param m_profile: Whether the core is of M-profile.
    """

    def __init__(self, ssa: TraceSsa, states: Sequence[Optional[CoreState]], psp: bool, m_profile: bool) -> None:
        self._ssa = ssa
        self._psp = psp
        has_limits = any(state is not None and limits_of(state.registers) for state in states)
        # Whether there is anything to be learned.
        self.used = m_profile and has_limits and not _has(ssa.program, _RAISES)
        self._now: List[int] = [ssa.new(START, 7), ssa.new(START, 7)] if self.used else []
        self._names = dict(zip(self._now, ("MSPLIM", "PSPLIM")))
        self._selected: Dict[Tuple[int, ...], int] = {}
        # The instruction, SP after it, and its limit.
        self._checks: List[Tuple[int, int, int]] = []
        # Of each exception whose handler runs, whether it is checked there.
        self._open: List[bool] = []

    def take(self, template: Template, current: List[int], executed: bool) -> None:
        """Take an instruction that lowers SP or sets a limit.

        :param current: The variable of each slot, after it.
        :param executed: Whether it is known to have run.
        """
        if not self.used or template.stack is None:
            return
        what, register = template.stack
        if what != CHECKED:
            which = int(what == PROCESS_LIMIT)
            self._now[which] = self._set(which, register, current) if executed else self._ssa.new(UNMODELLED, 7)
            self._names[self._now[which]] = ("MSPLIM", "PSPLIM")[which]
        elif executed and all(self._open):
            self._checks.append((self._ssa.number, current[SP], self._selected_limit(current)))

    def _set(self, which: int, register: int, current: List[int]) -> int:
        # Unprivileged code sets nothing.
        ssa = self._ssa
        value = self._op(Op.AND, current[register], ssa.constant(_FIELD))
        thread = ssa.invert(self._op(Op.BIT, current[CONTROL], detail=(_NPRIV,)))
        privileged = self._op(Op.OR, current[HANDLER], thread)
        return ssa.select(privileged, value, self._now[which])

    def limit(self, current: List[int]) -> Optional[int]:
        """Give the variable of the current stack's limit; None if unknown."""
        return self._selected_limit(current) if self.used else None

    def _selected_limit(self, current: List[int]) -> int:
        ssa = self._ssa
        main, process = self._now
        if not self._psp:
            return main
        key = (current[CONTROL], current[HANDLER], main, process)
        if key not in self._selected:
            selected = self._op(Op.BIT, current[CONTROL], detail=(_SPSEL,))
            thread = ssa.invert(current[HANDLER])
            self._selected[key] = ssa.select(self._op(Op.AND, selected, thread), process, main)
        return self._selected[key]

    def _op(self, op: int, *inputs: int, detail: Tuple[int, ...] = ()) -> int:
        slot = list(inputs) + [0]
        self._ssa.run(((int(op), (len(inputs),), tuple(range(len(inputs))), detail),), slot, self._ssa.one)
        return slot[-1]

    def enter(self, vector: Optional[int]) -> None:
        """Take an exception."""
        self._open.append(vector is not None and vector not in _UNCHECKED)

    def leave(self) -> None:
        """Take an exception return.

        If the handler's entry was not seen, what ran before was in a handler that nothing is known of.
        """
        if self._open:
            self._open.pop()
        else:
            self._checks.clear()

    def anchor(self, registers: Mapping[str, int], why: int) -> None:
        """Learn the limits of a state, at the current moment."""
        ssa = self._ssa
        found = limits_of(registers) if self.used else {}
        for name, variable in zip(NAMES, self._now):
            if name in registers:
                ssa.learn(variable, MASK, found[name], why)
            elif name in found:
                ssa.relate((ConstraintKind.LIMIT, ssa.one, variable, ssa.constant(found[name]), 0))

    def conclude(self, end: Optional[CoreState], one_state: bool) -> None:
        """Take it that no instruction left SP below its limit.

        :param end: The state at the end.
        :param one_state: Whether the core is in one security state all the time.
        """
        status = end.registers.get("xpsr") if end is not None else None
        if status is None or status & _IPSR in _UNCHECKED or not one_state:
            return
        ssa = self._ssa
        lowest: Dict[Tuple[int, int], int] = {}
        for number, pointer, limit in self._checks:
            base, distance = ssa.base_and_distance(pointer)
            if distance < lowest.get((base, limit), MASK):
                lowest[base, limit] = distance
                ssa.number = number
                ssa.relate((ConstraintKind.LIMIT, ssa.one, pointer, limit, 0))

    def name(self, variable: int) -> str:
        """Give the name of the limit that a variable is."""
        return self._names.get(variable, "the limit")
