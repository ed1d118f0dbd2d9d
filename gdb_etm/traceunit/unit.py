"""Base driver of a trace unit, for all architectures.

Power, OS Lock, claim tags and authentication work alike in all of them: IHI 0014Q, 3.5 and 3.8.3; IHI 0035B, 3.16 and
3.17; IHI 0064, 3.3, 3.4.2, 7.3.15, 7.3.50 and 7.3.52.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Dict, FrozenSet, List, NoReturn, Optional, Tuple

from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError
from gdb_etm.registers.coresight import CLAIM_EXTERNAL
from gdb_etm.registers.page import Page, Register, Version
from gdb_etm.traceunit.apply import apply
from gdb_etm.traceunit.identification import Identification
from gdb_etm.traceunit.management import Management
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.status import UnitStatus
from gdb_etm.traceunit.watchpoints import Watchpoints

_ENABLED = 3  # of a field of the authentication status
_IMPLEMENTED = 2


class TraceUnit(ABC):
    """A trace unit of any protocol.

    :param registers: Its registers.
    :param deadline: How long to wait for it.
    :param dwt: The processor's DWT, if that is a Cortex-M.
    """

    # The registers that all architectures have, by this one's names.
    management: ClassVar[Management]
    # What its trace is decoded by, such as ``"etmv4"``.
    protocol: ClassVar[str]
    # Whether a reset of the processor stops it.
    stops_at_reset: ClassVar[bool] = False
    # What it has, by its identification registers.
    capabilities: Identification

    def __init__(self, registers: Borrowed, deadline: Deadline, dwt: Optional[Component]) -> None:
        self._registers = registers
        self._watchpoints = Watchpoints(dwt, deadline)
        self._deadline = deadline
        self._lost_power = False
        self._taken_over = False

    @property
    @abstractmethod
    def title(self) -> str:
        """Architecture and version, such as ``"ETMv4.2"``."""

    @property
    @abstractmethod
    def version(self) -> Version:
        """Architecture version, as its registers' pages give it."""

    @property
    def page(self) -> Page:
        """What its registers are."""
        return self.capabilities.page

    @property
    def registers(self) -> Borrowed:
        """Its registers."""
        return self._registers

    @property
    @abstractmethod
    def beside_plans(self) -> FrozenSet[str]:
        """Names of the registers that can be written and no plan writes."""

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
        register = self.management.authentication
        if register.get(self.capabilities.registers.get(register.name, 0), "SNID") == _IMPLEMENTED:
            notes += (
                "Secure code is not traced: the chip's debug authentication forbids it (%s.SNID)" % register.name,
            )
        return notes

    @property
    @abstractmethod
    def enabled(self) -> bool:
        """Whether it traces."""

    def attach(self) -> None:
        """Power it, unlock it, claim it and read what it has.

        :raises CaptureError: It stays without power or locked, or somebody else uses it, or tracing is forbidden.
        :raises UnsupportedError: It is of another kind.
        """
        self.recover()
        self._identify()
        self._check_authentication()
        integration = self.management.integration
        if integration.get(self._registers.read(integration), "IME"):
            raise CaptureError(
                "the trace unit at 0x%08x is in integration mode (%s.IME): reset the chip"
                % (self._registers.base, integration.name)
            )
        self._claim()
        self._lost_power = False
        self._probe()

    @abstractmethod
    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """

    def recover(self) -> None:
        """Power it and open its locks.

        :raises CaptureError: It stays without power or locked.
        """
        self._registers.unlock()
        self._power_up()
        self._open_os_lock()

    @property
    def power_loss(self) -> str:
        """Name of the register field that shows a loss of power."""
        return "%s.%s" % (self.management.power_status.name, self.management.power_loss)

    def regain(self) -> bool:
        """Retake the unit if it lost power after it was enabled.

        IHI 0014Q, 3.5.60; IHI 0064, 3.3, 7.3.52.

        :returns: Whether it did: what it was programmed with is lost then, and what it traced afterwards.
        :raises CaptureError: It stays without power or locked, or software on the target uses it now.
        """
        self._power()
        lost, self._lost_power = self._lost_power and self._tells_power(), False
        if lost:
            self._take_again()
        return lost

    @abstractmethod
    def plan_enable(self) -> Plan:
        """Plan its start, when it is programmed."""

    @abstractmethod
    def plan_disable(self) -> Plan:
        """Plan its end: it stops, and all trace leaves it."""

    @abstractmethod
    def look(self, register: Register) -> int:
        """Read a register's whole value; what reading clears is kept in mind."""

    def write_by_hand(self, register: Register, value: int) -> None:
        """Write an unplanned register; its old value is restored on release.

        :raises CaptureError: The unit must not be written at the moment, or the session holds it by that register.
        """
        if register.name in self.management.held_by:
            raise CaptureError(
                '%s: the session holds the trace unit by it; "etm disconnect" gives it back' % register.name
            )
        self._write_by_hand(register, value)

    @abstractmethod
    def program(self, plan: Plan) -> None:
        """Disable and program it.

        :raises CaptureError: It does not stop, or does not take a value.
        """

    def ensure(self, plan: Plan) -> None:
        """Program it again if it lost the plan, as by a reset.

        :raises CaptureError: It has no power, or does not take a value, or a watchpoint took a comparator of the DWT.
        """
        self._power_up()
        self._open_os_lock()
        if self._lost_power:
            self._take_again()
        self._watchpoints.check(plan)
        self._mend(plan)

    def enable(self) -> None:
        """Start tracing.

        :raises CaptureError: It does not start, or lost its power meanwhile.
        """
        self._power()
        self._lost_power = False
        try:
            self._apply(self.plan_enable())
        except CaptureError:
            self._power()
            if not self._lost_power:
                raise
        self._power()
        if self._lost_power:
            raise CaptureError(
                "the trace unit at 0x%08x lost power while it was programmed (%s):"
                " keep the core awake and start again" % (self._registers.base, self.power_loss)
            )

    def disable(self) -> None:
        """Stop tracing and wait until all trace has left it.

        :raises CaptureError: Its trace does not drain.
        """
        self._apply(self.plan_disable())

    @abstractmethod
    def capture_registers(self) -> Dict[str, int]:
        """Return the registers that decoding needs, by datasheet name."""

    def status(self) -> UnitStatus:
        """Look, without changing anything."""
        names = self.management
        lock = names.lock_status.decode(self._registers.read(names.lock_status))
        locked = bool(lock[names.locked]) if any(lock[model] for model in names.lock_models) else None
        powered = bool(names.power_status.get(self._power(), names.power)) or not self._tells_power()
        if not powered or locked:
            return UnitStatus(enabled=False, idle=True, powered=powered, os_locked=locked, claimed=False)
        tags = names.claim_clear.get(self._registers.read(names.claim_clear), "CLR")
        idle = self._is_idle()
        return UnitStatus(self.enabled, idle, powered, locked, bool(tags & CLAIM_EXTERNAL))

    @abstractmethod
    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""

    @abstractmethod
    def release(self) -> None:
        """Disable it and put its registers back as they were found.

        :raises CaptureError: Its trace does not drain; the registers were put back all the same.
        """

    # What an architecture does in its own way.

    @abstractmethod
    def _identify(self) -> None:
        """Check its kind and read at least its authentication status."""

    @abstractmethod
    def _probe(self) -> None:
        """Read what it has, now that it is ours."""

    @abstractmethod
    def _is_idle(self) -> bool:
        """Whether all trace has left it, so that it takes writes."""

    @abstractmethod
    def _write_by_hand(self, register: Register, value: int) -> None:
        """Write a register by which the session does not hold it."""

    @abstractmethod
    def _mend(self, plan: Plan) -> None:
        """Program the differences from a plan; it is powered and unlocked."""

    def _tells_power(self) -> bool:
        """Whether its power status means anything."""
        return True

    def _is_locked(self, status: int) -> bool:
        """Whether the OS Lock is closed."""
        return bool(self.management.lock_status.get(status, self.management.locked))

    def _take_again(self) -> None:
        # A loss of power locks it and clears the claim tags.
        self.recover()
        self._claim()

    def _apply(self, plan: Plan) -> None:
        apply(plan, self._registers.port, self._registers.base, self._deadline)

    def _apply_all(self, plan: Plan) -> None:
        self._watchpoints.program(plan)
        self._apply(plan)

    def _power(self) -> int:
        # Each read clears the sticky bit, so this is the only place that reads it.
        register = self.management.power_status
        value = self._registers.read(register)
        self._lost_power = self._lost_power or bool(register.get(value, self.management.power_loss))
        return value

    def _power_up(self) -> None:
        register, request = self.management.power_control, self.management.power_request
        control = self._registers.read(register)
        if not register.get(control, request):
            self._registers.undo_by(register, control)
            self._registers.command(register, control | register.encode(**{request: 1}))
        self._await_power()

    def _await_power(self) -> None:
        register, power = self.management.power_status, self.management.power

        def late(value: int) -> NoReturn:
            raise CaptureError(
                "the trace unit at 0x%08x has no power (%s is 0x%x):"
                " keep the core awake, or connect under reset" % (self._registers.base, register.name, value)
            )

        self._deadline.wait_until(self._power, lambda value: bool(register.get(value, power)), late)

    def _open_os_lock(self) -> None:
        names = self.management
        if not self._is_locked(self._registers.read(names.lock_status)):
            return
        self._registers.undo_by(names.lock_access, names.lock_key)
        self._registers.command(names.lock_access, 0)
        self._deadline.wait(
            self._registers.port,
            self._registers.base,
            names.lock_status,
            "software on the target holds the OS Lock; halt the core and try again",
            **{names.locked: 0},
        )

    def _check_authentication(self) -> None:
        register = self.management.authentication
        value = self.capabilities.registers[register.name]
        fields = register.decode(value)
        allowed = (fields["SNID"], fields["NSNID"])
        if _IMPLEMENTED in allowed and _ENABLED not in allowed:
            raise CaptureError(
                "the chip's debug authentication forbids tracing (%s is 0x%x):"
                " unlock debug on the chip" % (register.name, value)
            )

    def _claim(self) -> None:
        names = self.management
        implemented = names.claim_set.get(self._registers.read(names.claim_set), "SET")
        tags = names.claim_clear.get(self._registers.read(names.claim_clear), "CLR")
        if tags & ~CLAIM_EXTERNAL:
            raise CaptureError(
                "the trace unit at 0x%08x is in use by software on the target (claim tags 0x%02x):"
                " stop that software, or reset the chip" % (self._registers.base, tags)
            )
        if implemented & CLAIM_EXTERNAL:
            # The tag may be that of a session that was killed.
            self._taken_over = bool(tags & CLAIM_EXTERNAL)
            self._registers.undo_by(names.claim_clear, CLAIM_EXTERNAL)
            self._registers.command(names.claim_set, CLAIM_EXTERNAL)
