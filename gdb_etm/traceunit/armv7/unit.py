"""Drivers of ETMv3 and PTM: attach, program, enable, disable, release.

IHI 0014Q: programming bit 3.4.3, registers 3.5, OS Lock 3.8.3; IHI 0035B: the same in 3.16 and 3.17.
"""

from __future__ import annotations

from typing import ClassVar, Dict, FrozenSet, List, Optional, Type

from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.registers import etmv3, etmv3_id
from gdb_etm.registers.page import Register, Version
from gdb_etm.traceunit.apply import differences
from gdb_etm.traceunit.armv7 import etmv3 as etmv3_plan
from gdb_etm.traceunit.armv7 import ptm as ptm_plan
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities, EtmV3Capabilities, PtmCapabilities
from gdb_etm.traceunit.armv7.plan import plan_disable, plan_enable
from gdb_etm.traceunit.armv7.probe import probe_unit, tells_power
from gdb_etm.traceunit.management import Management
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.unit import TraceUnit

_BESIDE_PLANS = frozenset(
    (
        "ETMCR",
        "ETMSR",
        "ETMSYNCFR",
        "ETMAUXCR",
        "ETMPDCR",
        "ETMITCTRL",
        "ETMCLAIMSET",
        "ETMCLAIMCLR",
        "ETMOSSRR",
        *("ETMIMPSPEC%d" % n for n in range(8)),
    )
)
_MANAGEMENT = Management(
    power_control=etmv3_id.ETMPDCR,
    power_request="PowerUp",
    power_status=etmv3_id.ETMPDSR,
    power="Power",
    power_loss="Sticky",
    lock_access=etmv3_id.ETMOSLAR,
    lock_key=etmv3_id.OSLOCK_KEY,
    lock_status=etmv3_id.ETMOSLSR,
    locked="Locked",
    lock_models=("Model0", "Model1"),
    integration=etmv3_id.ETMITCTRL,
    claim_set=etmv3_id.ETMCLAIMSET,
    claim_clear=etmv3_id.ETMCLAIMCLR,
    authentication=etmv3_id.ETMAUTHSTATUS,
    held_by=frozenset(("ETMOSLAR", "ETMLAR", "ETMPDCR", "ETMCLAIMSET", "ETMCLAIMCLR", "ETMOSSRR")),
)
_PROG = etmv3.ETMCR.encode(Prog=1)
_POWER_DOWN = etmv3.ETMCR.encode(PowerDown=1)
_STATE = etmv3.ETMSR.encode(StartStop=1, Triggered=1)


class Armv7Unit(TraceUnit):
    """A trace unit with a programming bit.

    :param component: Where it is.
    :param deadline: How long to wait for it.
    :param dwt: The processor's DWT, if that is a Cortex-M.
    """

    management = _MANAGEMENT
    capabilities: Armv7Capabilities
    # What it is called in messages.
    name: ClassVar[str]
    capabilities_type: ClassVar[Type[Armv7Capabilities]]
    # ETMIDR.Major of its kind.
    major: ClassVar[int]

    def __init__(self, component: Component, deadline: Deadline, dwt: Optional[Component] = None) -> None:
        super().__init__(Borrowed(component.port, component.address), deadline, dwt)
        # What ETMCR holds by our doing; None while nothing of it was changed.
        self._control: Optional[int] = None
        self.capabilities = self.capabilities_type({})

    @property
    def version(self) -> Version:
        """Architecture version: major 3 for an ETM, 1 for a PTM."""
        return (1 if self.major == etmv3_id.MAJOR_PFT else 3), self.capabilities.minor

    @property
    def beside_plans(self) -> FrozenSet[str]:
        """Names of the registers that can be written and no plan writes."""
        return _BESIDE_PLANS

    @property
    def enabled(self) -> bool:
        """Whether it traces."""
        return not self._registers.read(etmv3.ETMCR) & (_PROG | _POWER_DOWN)

    def plan_enable(self) -> Plan:
        """Plan its start, when it is programmed."""
        return plan_enable()

    def plan_disable(self) -> Plan:
        """Plan its end: it stops, and all trace leaves it."""
        return plan_disable()

    def look(self, register: Register) -> int:
        """Read a register; what reading clears is kept in mind."""
        return self._power() if register.name == "ETMPDSR" else self._registers.read(register)

    def program(self, plan: Plan) -> None:
        """Disable and program it.

        :raises CaptureError: It does not stop, or does not take a value.
        """
        if self._lost_power:
            self._take_again()
        self._registers.remember(write.offset for write in plan.writes if write.offset != etmv3.ETMCR.offset)
        self._watchpoints.take(plan)
        self._control = plan.value(etmv3.ETMCR.name)
        self._apply_all(plan)

    def capture_registers(self) -> Dict[str, int]:
        """Return the registers that decoding needs, by datasheet name."""
        registers = {name: self.capabilities.registers[name] for name in ("ETMIDR", "ETMCCER", "ETMCCR")}
        for register in (etmv3.ETMCR, etmv3.ETMTRACEIDR):
            registers[register.name] = self._registers.read(register)
        return registers

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""
        steps: List[Restoration] = []
        if self._control is not None:
            port, base = self._registers.port, self._registers.base
            stopped = etmv3.ETMSR.encode(Prog=1)
            steps = [
                Restoration(port, base + etmv3.ETMCR.offset, self._control | _PROG),
                Restoration(port, base + etmv3.ETMSR.offset, stopped, stopped),
            ]
        steps += self._registers.restoration()
        return steps + self._watchpoints.restoration()

    def release(self) -> None:
        """Disable it and put its registers back as they were found.

        :raises CaptureError: Its trace does not drain; the registers were put back all the same.
        """
        try:
            if self._control is not None:
                self.disable()
        finally:
            self._control = None
            self._registers.restore()
            self._watchpoints.restore()

    def _identify(self) -> None:
        major = etmv3_id.ETMIDR.get(self._registers.read(etmv3_id.ETMIDR), "Major")
        if major != self.major:
            raise UnsupportedError(
                "the trace unit at 0x%08x is no %s: its major version is %d, not %d (ETMIDR.Major)"
                % (self._registers.base, self.name, major, self.major),
                "ETMIDR.Major",
            )
        register = etmv3_id.ETMAUTHSTATUS
        self.capabilities = self.capabilities_type({register.name: self._registers.read(register)})

    def _probe(self) -> None:
        self._stop()
        found = probe_unit(self._registers, self.capabilities_type)
        found.update(self.capabilities.registers)
        if self.capabilities_type(found).field("ETMCCER.WatchInputs"):
            found.update(self._watchpoints.probe())
        self.capabilities = self.capabilities_type(found)

    def _is_idle(self) -> bool:
        return bool(etmv3.ETMSR.get(self._registers.read(etmv3.ETMSR), "Prog"))

    def _write_by_hand(self, register: Register, value: int) -> None:
        control = self._registers.read(etmv3.ETMCR)
        if register.offset == etmv3.ETMCR.offset and not (control ^ value) & ~_PROG:
            # It may be set and cleared at any time, by itself alone (3.4.3).
            self._registers.command(register, value)
            return
        if not control & _PROG or not self._is_idle():
            raise CaptureError(
                '%s: the trace unit is on (ETMCR.Prog is %d) and takes no writes; "etm stop" first'
                % (register.name, bool(control & _PROG))
            )
        if register.offset == etmv3.ETMCR.offset:
            if not value & _PROG:
                raise CaptureError("ETMCR.Prog must be cleared by itself: write the other fields first")
            self._control = value
            self._registers.command(register, value)
            return
        self._registers.write(register, value)

    def _mend(self, plan: Plan) -> None:
        if differences(plan, self._registers.port, self._registers.base) or self._watchpoints.differ(plan):
            self._apply_all(plan)
        elif etmv3.ETMTECR1.get(plan.value(etmv3.ETMTECR1.name), "StartStop"):
            # Clearing the programming bit would put the start/stop block back to off, were it not written (3.4.4).
            self._registers.command(etmv3.ETMSR, self._registers.read(etmv3.ETMSR) & _STATE)

    def _take_again(self) -> None:
        super()._take_again()
        self._registers.command(etmv3.ETMCR, self._registers.read(etmv3.ETMCR) & ~_POWER_DOWN | _PROG)

    def _await_power(self) -> None:
        if not etmv3_id.ETMPDSR.get(self._power(), "Power") and self._tells_power():
            super()._await_power()

    def _tells_power(self) -> bool:
        return tells_power(self._registers.read)

    def _stop(self) -> None:
        """Stop the unit so that it takes writes.

        The main control register is put back last.
        """
        found = self._registers.read(etmv3.ETMCR)
        self._registers.undo_by(etmv3.ETMCR, found)
        if found & _POWER_DOWN:
            # While this bit is set, or being set, the others may not take writes: so they come first.
            self._registers.undo_by(etmv3.ETMCR, (found | _PROG) & ~_POWER_DOWN)
            self._registers.command(etmv3.ETMCR, found & ~_POWER_DOWN)
        self._control = found & ~_POWER_DOWN
        self._apply(plan_disable())


class EtmV3Unit(Armv7Unit):
    """One ETMv3."""

    name = "ETMv3"
    protocol = "etmv3"
    capabilities_type = EtmV3Capabilities
    major = etmv3_id.MAJOR_ETMV3

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"ETMv3.5"``."""
        return "ETMv3.%d" % self.capabilities.minor

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return etmv3_plan.plan_program(options, EtmV3Capabilities(self.capabilities.registers), buffer_bytes)


class PtmUnit(Armv7Unit):
    """One PTM."""

    name = "PTM"
    protocol = "ptm"
    capabilities_type = PtmCapabilities
    major = etmv3_id.MAJOR_PFT

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"PTM 1.0"``."""
        return "PTM 1.%d" % self.capabilities.minor

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return ptm_plan.plan_program(options, PtmCapabilities(self.capabilities.registers), buffer_bytes)
