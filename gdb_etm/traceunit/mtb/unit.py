"""Driver of a Micro Trace Buffer.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.4 and 3.2.  It has no power control, no OS Lock and no
claim tags, and is on whenever MASTER.EN is 1.
"""

from __future__ import annotations

from typing import ClassVar, Dict, FrozenSet, List, Optional, Tuple

from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError
from gdb_etm.registers import cortex_m, mtb
from gdb_etm.registers.page import Register, Version
from gdb_etm.traceunit.apply import differences
from gdb_etm.traceunit.mtb.capabilities import MtbCapabilities
from gdb_etm.traceunit.mtb.plan import plan_disable, plan_enable, plan_program
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.status import UnitStatus
from gdb_etm.traceunit.unit import TraceUnit

_EN = mtb.MASTER.encode(EN=1)
_WAITS = mtb.MASTER.encode(TSTARTEN=1)
# Of the MTB-M0+, which has no TSTART and TSTOP (DDI 0486, table 3-2).
_PART_M0P = 0x932


class MtbUnit(TraceUnit):
    """One Micro Trace Buffer, but for its memory.

    :param component: Where it is.
    :param deadline: How long to wait for it.
    :param dwt: The processor's DWT, if it has one.
    :param scs: The processor's System Control Space, which has its vector table's address.
    """

    protocol: ClassVar[str] = "mtb"
    stops_at_reset: ClassVar[bool] = True
    capabilities: MtbCapabilities

    def __init__(
        self, component: Component, deadline: Deadline, dwt: Optional[Component] = None, scs: Optional[Component] = None
    ) -> None:
        super().__init__(Borrowed(component.port, component.address), deadline, dwt)
        self.capabilities = MtbCapabilities({})
        self._scs = scs
        self._has_inputs = component.identity.part not in (0, _PART_M0P)
        # How it is programmed; None before the first time.
        self._plan: Optional[Plan] = None
        # What MASTER held when tracing was stopped the last time.
        self._master: Optional[int] = None
        # Whether somebody else traced with it when it was attached.
        self._was_on = False

    @property
    def title(self) -> str:
        """What it is."""
        return "MTB"

    @property
    def version(self) -> Version:
        """The only one."""
        return 1, 0

    @property
    def beside_plans(self) -> FrozenSet[str]:
        """Names of the registers that can be written and no plan writes."""
        return frozenset((mtb.POSITION.name, mtb.FLOW.name))

    @property
    def notes(self) -> Tuple[str, ...]:
        """What the user should know about this unit, one line each."""
        words = "the program traces with the MTB itself (MTB_MASTER.EN was 1): it loses its trace, and gets it back"
        return (words,) if self._was_on else ()

    @property
    def enabled(self) -> bool:
        """Whether it traces, or waits for a start point."""
        return bool(self._registers.read(mtb.MASTER) & (_EN | _WAITS))

    @property
    def power_loss(self) -> str:
        """Name of what shows that it lost its programming."""
        return "MTB_MASTER"

    def attach(self) -> None:
        """Read what it has."""
        self._was_on = self.enabled
        found = {mtb.BASE.name: self._registers.read(mtb.BASE)}
        if self._has_inputs:
            # Those that are there take a 1.
            before = self._registers.read(mtb.TSTART)
            self._registers.write(mtb.TSTART, mtb.TSTART.mask)
            found[mtb.TSTART.name] = self._registers.read(mtb.TSTART)
            self._registers.write(mtb.TSTART, before)
            found.update(self._watchpoints.probe())
        self.capabilities = MtbCapabilities(found)

    def recover(self) -> None:
        """Do nothing: it has no locks."""

    def regain(self) -> bool:
        """Tell that it lost no power, of which it knows nothing."""
        return False

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer; 0 where none is chosen yet.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return plan_program(options, self.capabilities, buffer_bytes)

    def plan_enable(self) -> Plan:
        """Plan its start, when it is programmed."""
        values = {} if self._plan is None else {step.name: step.value for step in self._plan.writes}
        return plan_enable(bool(values.get(mtb.TSTART.name)), bool(values.get(mtb.TSTOP.name)))

    def plan_disable(self) -> Plan:
        """Plan its end."""
        return plan_disable()

    def look(self, register: Register) -> int:
        """Read a register."""
        return self._registers.read(register)

    def write_by_hand(self, register: Register, value: int) -> None:
        """Write an unplanned register; its old value is restored on release."""
        self._write_by_hand(register, value)

    def program(self, plan: Plan) -> None:
        """Disable and program it.

        :raises CaptureError: It does not take a value.
        """
        self._registers.remember((mtb.POSITION.offset, mtb.FLOW.offset, *(step.offset for step in plan.writes)))
        self._watchpoints.take(plan)
        self._plan = plan
        self._apply_all(plan)

    def ensure(self, plan: Plan) -> None:
        """Program it again if it lost the plan, as by a reset.

        :raises CaptureError: It does not take a value.
        """
        self._watchpoints.check(plan)
        self._mend(plan)

    def enable(self) -> None:
        """Start tracing.

        :raises CaptureError: It does not start.
        """
        self._apply(self.plan_enable())
        if not self.enabled:
            raise CaptureError(
                "the MTB at 0x%08x does not start (MTB_MASTER.EN stays 0): has it a clock, and may the core be traced?"
                % self._registers.base
            )

    def disable(self) -> None:
        """Stop tracing, and keep in mind whether that was so already."""
        self._master = self._registers.read(mtb.MASTER)
        self._apply(self.plan_disable())

    def capture_registers(self) -> Dict[str, int]:
        """Return the registers that decoding needs, by datasheet name.

        MTB_MASTER is as it was before the trace was stopped.
        """
        registers = {mtb.BASE.name: self._registers.read(mtb.BASE), mtb.FLOW.name: self._registers.read(mtb.FLOW)}
        if self._master is not None:
            registers[mtb.MASTER.name] = self._master
        if self._scs is not None:
            for register in (cortex_m.ICTR, cortex_m.VTOR):
                registers[register.name] = self._scs.port.read32(self._scs.address + register.offset)
        return registers

    def status(self) -> UnitStatus:
        """Look, without changing anything."""
        return UnitStatus(enabled=self.enabled, idle=True, powered=True, os_locked=None, claimed=False)

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""
        return self._registers.restoration(mtb.MASTER) + self._watchpoints.restoration()

    def release(self) -> None:
        """Disable it and put its registers back as they were found."""
        self._registers.restore(mtb.MASTER)
        self._watchpoints.restore()

    def _identify(self) -> None:
        """Do nothing: it is what its component says."""

    def _probe(self) -> None:
        """Do nothing: all of it is read at once."""

    def _is_idle(self) -> bool:
        return True

    def _write_by_hand(self, register: Register, value: int) -> None:
        self._registers.write(register, value)

    def _mend(self, plan: Plan) -> None:
        if differences(plan, self._registers.port, self._registers.base) or self._watchpoints.differ(plan):
            self._apply_all(plan)
