"""An ETMv4 trace unit on the target: attach, program, enable, disable, release.

IHI 0064: power 3.3 and 7.3.52, OS Lock 3.4.2 and 7.3.50, claim tags 7.3.15, enabling and disabling 3.5 and 4.3.4.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, NoReturn, Optional, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.borrowed import Borrowed, Restoration, Settled
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.registers import etmv4, etmv4_id
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.registers.page import Page, Register, Version
from gdb_etm.traceunit.apply import apply, differences
from gdb_etm.traceunit.by_hand import words_of
from gdb_etm.traceunit.capabilities import Capabilities, read_capabilities
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.plan_etmv4 import plan_disable, plan_enable, plan_program
from gdb_etm.traceunit.status import UnitStatus
from gdb_etm.traceunit.watchpoints import Watchpoints

_DECODING = ("TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCIDR9", "TRCIDR10", "TRCIDR11", "TRCIDR12", "TRCIDR13",
             "TRCAUTHSTATUS", "TRCDEVARCH")
_ENABLED = 3  # of a field of TRCAUTHSTATUS
_IMPLEMENTED = 2
_BESIDE_PLANS = frozenset((
    "TRCAUXCTLR", "TRCSYNCPR", "TRCPDCR", "TRCITCTRL", "TRCCLAIMSET", "TRCCLAIMCLR",
    *("TRCIMSPEC%d" % n for n in range(8))))
_HELD_BY = ("TRCOSLAR", "TRCLAR", "TRCPDCR", "TRCCLAIMSET", "TRCCLAIMCLR")


class EtmV4Unit:
    """One ETMv4 trace unit.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    :param deadline: How long to wait for it.
    :param dwt: The processor's DWT, if that is a Cortex-M.
    """

    def __init__(self, port: AccessPort, base: int, deadline: Deadline, dwt: Optional[Component] = None) -> None:
        self._registers = Borrowed(port, base)
        self._watchpoints = Watchpoints(dwt, deadline)
        self._deadline = deadline
        self._lost_power = False
        self._taken_over = False
        self.capabilities = Capabilities({})

    @property
    def version(self) -> Version:
        """Architecture version."""
        return self.capabilities.version

    @property
    def page(self) -> Page:
        """What its registers are."""
        return PAGE

    @property
    def registers(self) -> Borrowed:
        """Its registers."""
        return self._registers

    @property
    def beside_plans(self) -> FrozenSet[str]:
        """Names of the registers that can be written and no plan writes."""
        return _BESIDE_PLANS | (frozenset(("TRCPROCSELR",)) if self.capabilities.processors > 1 else frozenset())

    @property
    def identification(self) -> Capabilities:
        """What it has."""
        return self.capabilities

    @property
    def protocol(self) -> str:
        """What its trace is decoded by."""
        return "etmv4"

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"ETMv4.2"``."""
        return "ETMv%d.%d" % self.capabilities.version

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
        if self.capabilities.field("TRCAUTHSTATUS.SNID") == _IMPLEMENTED:
            notes += ("Secure code is not traced: the chip's debug authentication forbids it (TRCAUTHSTATUS.SNID)",)
        return notes

    @property
    def enabled(self) -> bool:
        """Whether it traces."""
        return bool(etmv4.TRCPRGCTLR.get(self._registers.read(etmv4.TRCPRGCTLR), "EN"))

    def attach(self) -> None:
        """Power it, unlock it, claim it and read what it has.

        :raises CaptureError: It stays without power or locked, or somebody else uses it, or tracing is forbidden.
        :raises UnsupportedError: It is no ETMv4.
        """
        self.recover()
        self.capabilities = read_capabilities(self._registers.port, self._registers.base)
        if self.capabilities.version[0] != 4:
            raise UnsupportedError("the trace unit at 0x%08x has major version %d, not 4 (TRCIDR1.TRCARCHMAJ)"
                                   % (self._registers.base, self.capabilities.version[0]), "TRCIDR1.TRCARCHMAJ")
        self._check_authentication()
        if etmv4_id.TRCITCTRL.get(self._registers.read(etmv4_id.TRCITCTRL), "IME"):
            raise CaptureError("the trace unit at 0x%08x is in integration mode (TRCITCTRL.IME): reset the chip"
                               % self._registers.base)
        self._claim()
        self._lost_power = False
        if self.capabilities.field("TRCIDR4.NUMPC") and not self.capabilities.field("TRCIDR4.NUMACPAIRS"):
            self.capabilities = Capabilities({**self.capabilities.registers, **self._watchpoints.probe()})

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return plan_program(options, self.capabilities, buffer_bytes)

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
        return "TRCPDSR.STICKYPD"

    def regain(self) -> bool:
        """Make it ours again if it lost its power since it was enabled (3.3, 7.3.52).

        :returns: Whether it did: what it was programmed with is lost then, and what it traced afterwards.
        :raises CaptureError: It stays without power or locked, or software on the target uses it now.
        """
        self._power()
        lost, self._lost_power = self._lost_power, False
        if lost:
            self._take_again()
        return lost

    def plan_enable(self) -> Plan:
        """Plan its start, when it is programmed."""
        return plan_enable()

    def look(self, register: Register) -> int:
        """Read a register's whole value; what reading clears is kept in mind."""
        if register.name == "TRCPDSR":
            return self._power()
        words = self._registers.port.read_block(self._registers.base + register.offset, register.width // 32)
        return sum(word << 32 * n for n, word in enumerate(words))

    def write_by_hand(self, register: Register, value: int) -> None:
        """Write a register that nobody planned; what it held is put back on release.

        :raises CaptureError: The unit traces, or the session holds it by that register.
        """
        if register.name in _HELD_BY:
            raise CaptureError('%s: the session holds the trace unit by it; "etm disconnect" gives it back'
                               % register.name)
        state = etmv4.TRCSTATR.decode(self._registers.read(etmv4.TRCSTATR))
        if register.name != "TRCPRGCTLR" and (self.enabled or not state["IDLE"]):
            raise CaptureError('%s: the trace unit is on (TRCPRGCTLR.EN is %d, TRCSTATR.IDLE is %d) and may drop'
                               ' writes; "etm stop" first' % (register.name, self.enabled, state["IDLE"]))
        for shift, word in words_of(register, value):
            self._registers.remember([register.offset + shift // 8])
            self._registers.port.write32(self._registers.base + register.offset + shift // 8, word)

    def program(self, plan: Plan) -> None:
        """Disable and program it.

        :raises CaptureError: It does not become idle, or does not take a value.
        """
        if self._lost_power:
            self._take_again()
        self._registers.remember(write.offset for write in plan.writes)
        self._watchpoints.take(plan)
        self._watchpoints.program(plan)
        self._apply(plan)

    def ensure(self, plan: Plan) -> None:
        """Program it again if it lost what ``plan`` wrote, as by a reset of the chip.

        :raises CaptureError: It has no power, or does not take a value.
        """
        self._power_up()
        self._open_os_lock()
        if self._lost_power:
            self._take_again()
        self._watchpoints.check(plan)
        if self._watchpoints.differ(plan):
            self._watchpoints.program(plan)
        if differences(plan, self._registers.port, self._registers.base):
            self._apply(plan)

    def enable(self) -> None:
        """Start tracing.

        :raises CaptureError: It does not leave the idle state, or lost its power meanwhile.
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
            raise CaptureError("the trace unit at 0x%08x lost power while it was programmed (TRCPDSR.STICKYPD):"
                               " keep the core awake and start again" % self._registers.base)

    def disable(self) -> None:
        """Stop tracing and wait until all trace has left it.

        :raises CaptureError: Its trace does not drain.
        """
        self._apply(plan_disable())

    def capture_registers(self) -> Dict[str, int]:
        """Return the registers that decoding needs, by datasheet name."""
        registers = {name: self.capabilities.registers[name] for name in _DECODING}
        for register in (etmv4.TRCCONFIGR, etmv4.TRCTRACEIDR):
            registers[register.name] = self._registers.read(register)
        return registers

    def status(self) -> UnitStatus:
        """Look, without changing anything."""
        lock = etmv4_id.TRCOSLSR.decode(self._registers.read(etmv4_id.TRCOSLSR))
        powered = bool(etmv4_id.TRCPDSR.get(self._power(), "POWER"))
        locked = bool(lock["OSLK"]) if lock["OSLM_1"] or lock["OSLM_0"] else None
        if not powered or locked:
            return UnitStatus(enabled=False, idle=True, powered=powered, os_locked=locked, claimed=False)
        tags = etmv4_id.TRCCLAIMCLR.get(self._registers.read(etmv4_id.TRCCLAIMCLR), "CLR")
        idle = bool(etmv4.TRCSTATR.get(self._registers.read(etmv4.TRCSTATR), "IDLE"))
        return UnitStatus(self.enabled, idle, powered, locked, bool(tags & etmv4_id.CLAIM_EXTERNAL))

    def restoration(self) -> List[Restoration]:
        """List the writes that put its registers back as they were found, in order."""
        idle = Settled(etmv4.TRCSTATR, etmv4.TRCSTATR.encode(IDLE=1))
        return self._registers.restoration(etmv4.TRCPRGCTLR, idle) + self._watchpoints.restoration()

    def release(self) -> None:
        """Disable it and put its registers back as they were found.

        :raises CaptureError: Its trace does not drain; the registers were put back all the same.
        """
        try:
            self.disable()
        finally:
            self._registers.restore(etmv4.TRCPRGCTLR)
            self._watchpoints.restore()

    def _take_again(self) -> None:
        # A loss of power locks it and clears the claim tags.
        self.recover()
        self._claim()

    def _apply(self, plan: Plan) -> None:
        apply(plan, self._registers.port, self._registers.base, self._deadline)

    def _power(self) -> int:
        # Each read clears STICKYPD, so this is the only place that reads it.
        value = self._registers.read(etmv4_id.TRCPDSR)
        self._lost_power = self._lost_power or bool(etmv4_id.TRCPDSR.get(value, "STICKYPD"))
        return value

    def _power_up(self) -> None:
        register = etmv4_id.TRCPDCR
        control = self._registers.read(register)
        if not register.get(control, "PU"):
            self._registers.undo_by(register, control)
            self._registers.command(register, control | register.encode(PU=1))

        def late(value: int) -> NoReturn:
            raise CaptureError("the trace unit at 0x%08x has no power (TRCPDSR is 0x%x):"
                               " keep the core awake, or connect under reset" % (self._registers.base, value))
        self._deadline.wait_until(self._power, lambda value: bool(etmv4_id.TRCPDSR.get(value, "POWER")), late)

    def _open_os_lock(self) -> None:
        status = self._registers.read(etmv4_id.TRCOSLSR)
        lock = etmv4_id.TRCOSLSR.decode(status)
        if lock["OSLM_1"] << 1 | lock["OSLM_0"] != etmv4_id.OSLM_IMPLEMENTED or not lock["OSLK"]:
            return
        self._registers.undo_by(etmv4_id.TRCOSLAR, etmv4_id.TRCOSLAR.encode(OSLK=1))
        self._registers.command(etmv4_id.TRCOSLAR, etmv4_id.TRCOSLAR.encode(OSLK=0))
        self._deadline.wait(self._registers.port, self._registers.base, etmv4_id.TRCOSLSR,
                            "software on the target holds the OS Lock; halt the core and try again", OSLK=0)

    def _check_authentication(self) -> None:
        fields = etmv4_id.TRCAUTHSTATUS.decode(self.capabilities.registers["TRCAUTHSTATUS"])
        allowed = (fields["SNID"], fields["NSNID"])
        if _IMPLEMENTED in allowed and _ENABLED not in allowed:
            raise CaptureError("the chip's debug authentication forbids tracing (TRCAUTHSTATUS is 0x%x):"
                               " unlock debug on the chip" % self.capabilities.registers["TRCAUTHSTATUS"])

    def _claim(self) -> None:
        implemented = etmv4_id.TRCCLAIMSET.get(self._registers.read(etmv4_id.TRCCLAIMSET), "SET")
        tags = etmv4_id.TRCCLAIMCLR.get(self._registers.read(etmv4_id.TRCCLAIMCLR), "CLR")
        if tags & ~etmv4_id.CLAIM_EXTERNAL:
            raise CaptureError("the trace unit at 0x%08x is in use by software on the target (claim tags 0x%02x):"
                               " stop that software, or reset the chip" % (self._registers.base, tags))
        if implemented & etmv4_id.CLAIM_EXTERNAL:
            # The tag may be that of a session that was killed.
            self._taken_over = bool(tags & etmv4_id.CLAIM_EXTERNAL)
            self._registers.undo_by(etmv4_id.TRCCLAIMCLR, etmv4_id.CLAIM_EXTERNAL)
            self._registers.command(etmv4_id.TRCCLAIMSET, etmv4_id.CLAIM_EXTERNAL)
