"""An ETMv3 or a PTM on the target: attach, program, enable, disable, release.

IHI 0014Q: programming bit 3.4.3, registers 3.5, OS Lock 3.8.3; IHI 0035B: the same in 3.16 and 3.17.
"""

from __future__ import annotations

from typing import ClassVar, Dict, FrozenSet, List, NoReturn, Optional, Tuple, Type

from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import AccessError, CaptureError, UnsupportedError
from gdb_etm.registers import etmv3, etmv3_id
from gdb_etm.registers.page import Page, Register, Version
from gdb_etm.traceunit.apply import apply, differences
from gdb_etm.traceunit.capabilities_armv7 import Armv7Capabilities
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.plan_armv7 import plan_disable, plan_enable
from gdb_etm.traceunit.probe_armv7 import probe_unit
from gdb_etm.traceunit.status import UnitStatus
from gdb_etm.traceunit.watchpoints import Watchpoints

_CLAIM_EXTERNAL = 0b01  # by which a debugger says that the unit is in use (CoreSight convention)
_ENABLED = 3  # of a field of ETMAUTHSTATUS
_IMPLEMENTED = 2
_WITH_POWER_STATUS = 3  # minor version of ETMv3 since which there is an ETMPDSR
_BESIDE_PLANS = frozenset((
    "ETMCR", "ETMSR", "ETMSYNCFR", "ETMAUXCR", "ETMPDCR", "ETMITCTRL", "ETMCLAIMSET", "ETMCLAIMCLR", "ETMOSSRR",
    *("ETMIMPSPEC%d" % n for n in range(8))))
_HELD_BY = ("ETMOSLAR", "ETMLAR", "ETMPDCR", "ETMCLAIMSET", "ETMCLAIMCLR", "ETMOSSRR")
_PROG = etmv3.ETMCR.encode(Prog=1)
_POWER_DOWN = etmv3.ETMCR.encode(PowerDown=1)
_STATE = etmv3.ETMSR.encode(StartStop=1, Triggered=1)


class Armv7Unit:
    """A trace unit with a programming bit.

    :param component: Where it is.
    :param deadline: How long to wait for it.
    :param dwt: The processor's DWT, if that is a Cortex-M.
    """

    name: ClassVar[str]
    """What it is called in messages."""
    capabilities_type: ClassVar[Type[Armv7Capabilities]]
    major: ClassVar[int]
    """ETMIDR.Major of its kind."""

    def __init__(self, component: Component, deadline: Deadline, dwt: Optional[Component] = None) -> None:
        self._registers = Borrowed(component.port, component.address)
        self._watchpoints = Watchpoints(dwt, deadline)
        self._deadline = deadline
        self._lost_power = False
        self._taken_over = False
        self._control: Optional[int] = None
        # What ETMCR holds by our doing; None while nothing of it was changed.
        self.capabilities = self.capabilities_type({})

    @property
    def version(self) -> Version:
        """Architecture version, as its registers' pages give it: 3 and more for an ETM, 1 and more for a PTM."""
        return (1 if self.major == etmv3_id.MAJOR_PFT else 3), self.capabilities.minor

    @property
    def page(self) -> Page:
        """What its registers are."""
        return self.capabilities.page

    @property
    def registers(self) -> Borrowed:
        """Its registers."""
        return self._registers

    @property
    def beside_plans(self) -> FrozenSet[str]:
        """Names of the registers that can be written and no plan writes."""
        return _BESIDE_PLANS

    @property
    def identification(self) -> Armv7Capabilities:
        """What it has."""
        return self.capabilities

    @property
    def abilities(self) -> Tuple[str, ...]:
        """What it can do, a few words each."""
        return self.capabilities.words

    @property
    def notes(self) -> Tuple[str, ...]:
        """What the user should know about this unit, one line each."""
        notes: Tuple[str, ...] = ()
        if self._taken_over:
            notes += ("another debugger had claimed the trace unit; if it is still there, it loses its trace",)
        if etmv3_id.ETMAUTHSTATUS.get(self.capabilities.registers.get("ETMAUTHSTATUS", 0), "SNID") == _IMPLEMENTED:
            notes += ("Secure code is not traced: the chip's debug authentication forbids it (ETMAUTHSTATUS.SNID)",)
        return notes

    @property
    def enabled(self) -> bool:
        """Whether it traces."""
        return not self._registers.read(etmv3.ETMCR) & (_PROG | _POWER_DOWN)

    def attach(self) -> None:
        """Power it, unlock it, claim it, stop it and read what it has.

        :raises CaptureError: It stays without power or locked, or somebody else uses it, or tracing is forbidden.
        :raises UnsupportedError: It is of another kind.
        """
        self.recover()
        self._check_identity()
        authentication = self._check_authentication()
        if etmv3_id.ETMITCTRL.get(self._registers.read(etmv3_id.ETMITCTRL), "IME"):
            raise CaptureError("the trace unit at 0x%08x is in integration mode (ETMITCTRL.IME): reset the chip"
                               % self._registers.base)
        self._claim()
        self._lost_power = False
        self._stop()
        found = probe_unit(self._registers, self.capabilities_type)
        found["ETMAUTHSTATUS"] = authentication
        if self.capabilities_type(found).field("ETMCCER.WatchInputs"):
            found.update(self._watchpoints.probe())
        self.capabilities = self.capabilities_type(found)

    def recover(self) -> None:
        """Power it and open its locks.

        :raises CaptureError: It stays without power or locked.
        """
        self._registers.unlock()
        self._power_up()
        self._open_os_lock()

    @property
    def power_loss(self) -> str:
        """The register field that tells of a loss of power."""
        return "ETMPDSR.Sticky"

    def regain(self) -> bool:
        """Make it ours again if it lost its power since it was enabled (3.5.60).

        :returns: Whether it did: what it was programmed with is lost then, and what it traced afterwards.
        :raises CaptureError: It stays without power or locked, or software on the target uses it now.
        """
        self._power()
        lost, self._lost_power = self._lost_power and self._tells_power(), False
        if lost:
            self._take_again()
        return lost

    def plan_enable(self) -> Plan:
        """Plan its start, when it is programmed."""
        return plan_enable()

    def look(self, register: Register) -> int:
        """Read a register; what reading clears is kept in mind."""
        return self._power() if register.name == "ETMPDSR" else self._registers.read(register)

    def write_by_hand(self, register: Register, value: int) -> None:
        """Write a register that nobody planned; what it held is put back on release.

        :raises CaptureError: The unit traces, or the session holds it by that register.
        """
        if register.name in _HELD_BY:
            raise CaptureError('%s: the session holds the trace unit by it; "etm disconnect" gives it back'
                               % register.name)
        control = self._registers.read(etmv3.ETMCR)
        if register.offset == etmv3.ETMCR.offset and not (control ^ value) & ~_PROG:
            # It may be set and cleared at any time, by itself alone (3.4.3).
            self._registers.command(register, value)
            return
        if not control & _PROG or not etmv3.ETMSR.get(self._registers.read(etmv3.ETMSR), "Prog"):
            raise CaptureError('%s: the trace unit is on (ETMCR.Prog is %d) and takes no writes; "etm stop" first'
                               % (register.name, bool(control & _PROG)))
        if register.offset == etmv3.ETMCR.offset:
            if not value & _PROG:
                raise CaptureError("ETMCR.Prog must be cleared by itself: write the other fields first")
            self._control = value
            self._registers.command(register, value)
            return
        self._registers.write(register, value)

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

    def ensure(self, plan: Plan) -> None:
        """Program it again if it lost what ``plan`` wrote, as by a reset of the chip.

        :raises CaptureError: It has no power, or does not take a value, or a watchpoint took a comparator of the DWT.
        """
        self._power_up()
        self._open_os_lock()
        if self._lost_power:
            self._take_again()
        self._watchpoints.check(plan)
        if differences(plan, self._registers.port, self._registers.base) or self._watchpoints.differ(plan):
            self._apply_all(plan)
        elif etmv3.ETMTECR1.get(plan.value(etmv3.ETMTECR1.name), "StartStop"):
            # Clearing the programming bit would put the start/stop block back to off, were it not written (3.4.4).
            self._registers.command(etmv3.ETMSR, self._registers.read(etmv3.ETMSR) & _STATE)

    def enable(self) -> None:
        """Start tracing.

        :raises CaptureError: It does not start, or lost its power meanwhile.
        """
        self._power()
        self._lost_power = False
        try:
            self._apply(plan_enable())
        except CaptureError:
            self._power()
            if not self._lost_power:
                raise
        self._power()
        if self._lost_power:
            raise CaptureError("the trace unit at 0x%08x lost power while it was programmed (ETMPDSR.Sticky):"
                               " keep the core awake and start again" % self._registers.base)

    def disable(self) -> None:
        """Stop tracing and wait until all trace has left it.

        :raises CaptureError: Its trace does not drain.
        """
        self._apply(plan_disable())

    def capture_registers(self) -> Dict[str, int]:
        """Return the registers that decoding needs, by datasheet name."""
        registers = {name: self.capabilities.registers[name] for name in ("ETMIDR", "ETMCCER", "ETMCCR")}
        for register in (etmv3.ETMCR, etmv3.ETMTRACEIDR):
            registers[register.name] = self._registers.read(register)
        return registers

    def status(self) -> UnitStatus:
        """Look, without changing anything."""
        lock = etmv3_id.ETMOSLSR.decode(self._registers.read(etmv3_id.ETMOSLSR))
        locked = bool(lock["Locked"]) if lock["Model0"] or lock["Model1"] else None
        powered = bool(etmv3_id.ETMPDSR.get(self._power(), "Power")) or not self._tells_power()
        if not powered or locked:
            return UnitStatus(enabled=False, idle=True, powered=powered, os_locked=locked, claimed=False)
        tags = etmv3_id.ETMCLAIMCLR.get(self._registers.read(etmv3_id.ETMCLAIMCLR), "CLR")
        idle = bool(etmv3.ETMSR.get(self._registers.read(etmv3.ETMSR), "Prog"))
        return UnitStatus(self.enabled, idle, powered, locked, bool(tags & _CLAIM_EXTERNAL))

    def restoration(self) -> List[Restoration]:
        """List the writes that put its registers back as they were found, in order."""
        steps: List[Restoration] = []
        if self._control is not None:
            port, base = self._registers.port, self._registers.base
            stopped = etmv3.ETMSR.encode(Prog=1)
            steps = [Restoration(port, base + etmv3.ETMCR.offset, self._control | _PROG),
                     Restoration(port, base + etmv3.ETMSR.offset, stopped, stopped)]
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

    def _take_again(self) -> None:
        # A loss of power locks it and clears the claim tags.
        self.recover()
        self._claim()
        self._registers.command(etmv3.ETMCR, self._registers.read(etmv3.ETMCR) & ~_POWER_DOWN | _PROG)

    def _apply(self, plan: Plan) -> None:
        apply(plan, self._registers.port, self._registers.base, self._deadline)

    def _apply_all(self, plan: Plan) -> None:
        self._watchpoints.program(plan)
        self._apply(plan)

    def _power(self) -> int:
        # Each read clears the sticky bit, so this is the only place that reads it.
        value = self._registers.read(etmv3_id.ETMPDSR)
        self._lost_power = self._lost_power or bool(etmv3_id.ETMPDSR.get(value, "Sticky"))
        return value

    def _power_up(self) -> None:
        register = etmv3_id.ETMPDCR
        control = self._registers.read(register)
        if not register.get(control, "PowerUp"):
            self._registers.undo_by(register, control)
            self._registers.command(register, control | register.encode(PowerUp=1))
        if etmv3_id.ETMPDSR.get(self._power(), "Power") or not self._tells_power():
            return

        def late(value: int) -> NoReturn:
            raise CaptureError("the trace unit at 0x%08x has no power (ETMPDSR is 0x%x):"
                               " keep the core awake, or connect under reset" % (self._registers.base, value))
        self._deadline.wait_until(self._power, lambda value: bool(etmv3_id.ETMPDSR.get(value, "Power")), late)

    def _tells_power(self) -> bool:
        """Tell whether ETMPDSR means anything: units before ETMv3.3 have none, and it reads as zero."""
        try:
            identity = etmv3_id.ETMIDR.decode(self._registers.read(etmv3_id.ETMIDR))
        except AccessError as error:
            if error.kind != "fault":
                raise
            return True
        return identity["Major"] != etmv3_id.MAJOR_ETMV3 or identity["Minor"] >= _WITH_POWER_STATUS

    def _open_os_lock(self) -> None:
        if not etmv3_id.ETMOSLSR.get(self._registers.read(etmv3_id.ETMOSLSR), "Locked"):
            return
        self._registers.undo_by(etmv3_id.ETMOSLAR, etmv3_id.OSLOCK_KEY)
        self._registers.command(etmv3_id.ETMOSLAR, 0)
        self._deadline.wait(self._registers.port, self._registers.base, etmv3_id.ETMOSLSR,
                            "software on the target holds the OS Lock; halt the core and try again", Locked=0)

    def _check_identity(self) -> None:
        major = etmv3_id.ETMIDR.get(self._registers.read(etmv3_id.ETMIDR), "Major")
        if major != self.major:
            raise UnsupportedError("the trace unit at 0x%08x is no %s: its major version is %d, not %d (ETMIDR.Major)"
                                   % (self._registers.base, self.name, major, self.major), "ETMIDR.Major")

    def _check_authentication(self) -> int:
        value = self._registers.read(etmv3_id.ETMAUTHSTATUS)
        fields = etmv3_id.ETMAUTHSTATUS.decode(value)
        allowed = (fields["SNID"], fields["NSNID"])
        if _IMPLEMENTED in allowed and _ENABLED not in allowed:
            raise CaptureError("the chip's debug authentication forbids tracing (ETMAUTHSTATUS is 0x%x):"
                               " unlock debug on the chip" % value)
        return value

    def _claim(self) -> None:
        implemented = etmv3_id.ETMCLAIMSET.get(self._registers.read(etmv3_id.ETMCLAIMSET), "SET")
        tags = etmv3_id.ETMCLAIMCLR.get(self._registers.read(etmv3_id.ETMCLAIMCLR), "CLR")
        if tags & ~_CLAIM_EXTERNAL:
            raise CaptureError("the trace unit at 0x%08x is in use by software on the target (claim tags 0x%02x):"
                               " stop that software, or reset the chip" % (self._registers.base, tags))
        if implemented & _CLAIM_EXTERNAL:
            # The tag may be that of a session that was killed.
            self._taken_over = bool(tags & _CLAIM_EXTERNAL)
            self._registers.undo_by(etmv3_id.ETMCLAIMCLR, _CLAIM_EXTERNAL)
            self._registers.command(etmv3_id.ETMCLAIMSET, _CLAIM_EXTERNAL)

    def _stop(self) -> None:
        """Stop the unit so that it takes writes, and see to it that the main control register is put back last."""
        found = self._registers.read(etmv3.ETMCR)
        self._registers.undo_by(etmv3.ETMCR, found)
        if found & _POWER_DOWN:
            # While this bit is set, or being set, the others may not take writes: so they come first.
            self._registers.undo_by(etmv3.ETMCR, (found | _PROG) & ~_POWER_DOWN)
            self._registers.command(etmv3.ETMCR, found & ~_POWER_DOWN)
        self._control = found & ~_POWER_DOWN
        self._apply(plan_disable())
