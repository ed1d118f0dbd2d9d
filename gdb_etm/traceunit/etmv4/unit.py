"""An ETMv4 trace unit on the target: attach, program, enable, disable, release.

IHI 0064: power 3.3 and 7.3.52, OS Lock 3.4.2 and 7.3.50, claim tags 7.3.15, enabling and disabling 3.5 and 4.3.4.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Optional

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.borrowed import Borrowed, Restoration, Settled
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.registers import etmv4, etmv4_id
from gdb_etm.registers.page import Register, Version
from gdb_etm.traceunit.apply import differences
from gdb_etm.traceunit.by_hand import words_of
from gdb_etm.traceunit.etmv4.capabilities import Capabilities, read_capabilities
from gdb_etm.traceunit.etmv4.plan import plan_disable, plan_enable, plan_program
from gdb_etm.traceunit.management import Management
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.unit import TraceUnit

_DECODING = (
    "TRCIDR0",
    "TRCIDR1",
    "TRCIDR2",
    "TRCIDR8",
    "TRCIDR9",
    "TRCIDR10",
    "TRCIDR11",
    "TRCIDR12",
    "TRCIDR13",
    "TRCAUTHSTATUS",
    "TRCDEVARCH",
)
_BESIDE_PLANS = frozenset(
    (
        "TRCAUXCTLR",
        "TRCSYNCPR",
        "TRCPDCR",
        "TRCITCTRL",
        "TRCCLAIMSET",
        "TRCCLAIMCLR",
        *("TRCIMSPEC%d" % n for n in range(8)),
    )
)
_MANAGEMENT = Management(
    power_control=etmv4_id.TRCPDCR,
    power_request="PU",
    power_status=etmv4_id.TRCPDSR,
    power="POWER",
    power_loss="STICKYPD",
    lock_access=etmv4_id.TRCOSLAR,
    lock_key=etmv4_id.TRCOSLAR.encode(OSLK=1),
    lock_status=etmv4_id.TRCOSLSR,
    locked="OSLK",
    lock_models=("OSLM_1", "OSLM_0"),
    integration=etmv4_id.TRCITCTRL,
    claim_set=etmv4_id.TRCCLAIMSET,
    claim_clear=etmv4_id.TRCCLAIMCLR,
    authentication=etmv4_id.TRCAUTHSTATUS,
    held_by=frozenset(("TRCOSLAR", "TRCLAR", "TRCPDCR", "TRCCLAIMSET", "TRCCLAIMCLR")),
)


class EtmV4Unit(TraceUnit):
    """One ETMv4 trace unit.

    :param port: The memory space it is in.
    :param base: Address of its 4 KiB block.
    :param deadline: How long to wait for it.
    :param dwt: The processor's DWT, if that is a Cortex-M.
    """

    management = _MANAGEMENT
    protocol = "etmv4"
    capabilities: Capabilities

    def __init__(self, port: AccessPort, base: int, deadline: Deadline, dwt: Optional[Component] = None) -> None:
        super().__init__(Borrowed(port, base), deadline, dwt)
        self.capabilities = Capabilities({})

    @property
    def version(self) -> Version:
        """Architecture version."""
        return self.capabilities.version

    @property
    def beside_plans(self) -> FrozenSet[str]:
        """Names of the registers that can be written and no plan writes."""
        return _BESIDE_PLANS | (frozenset(("TRCPROCSELR",)) if self.capabilities.processors > 1 else frozenset())

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"ETMv4.2"``."""
        return "ETMv%d.%d" % self.capabilities.version

    @property
    def enabled(self) -> bool:
        """Whether it traces."""
        return bool(etmv4.TRCPRGCTLR.get(self._registers.read(etmv4.TRCPRGCTLR), "EN"))

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return plan_program(options, self.capabilities, buffer_bytes)

    def plan_enable(self) -> Plan:
        """Plan its start, when it is programmed."""
        return plan_enable()

    def plan_disable(self) -> Plan:
        """Plan its end: it stops, and all trace leaves it."""
        return plan_disable()

    def look(self, register: Register) -> int:
        """Read a register's whole value; what reading clears is kept in mind."""
        if register.name == "TRCPDSR":
            return self._power()
        words = self._registers.port.read_block(self._registers.base + register.offset, register.width // 32)
        return sum(word << 32 * n for n, word in enumerate(words))

    def program(self, plan: Plan) -> None:
        """Disable and program it.

        :raises CaptureError: It does not become idle, or does not take a value.
        """
        if self._lost_power:
            self._take_again()
        self._registers.remember(write.offset for write in plan.writes)
        self._watchpoints.take(plan)
        self._apply_all(plan)

    def capture_registers(self) -> Dict[str, int]:
        """Return the registers that decoding needs, by datasheet name."""
        registers = {name: self.capabilities.registers[name] for name in _DECODING}
        for register in (etmv4.TRCCONFIGR, etmv4.TRCTRACEIDR):
            registers[register.name] = self._registers.read(register)
        return registers

    def restoration(self) -> List[Restoration]:
        """List the writes that restore its registers, in order."""
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

    def _identify(self) -> None:
        self.capabilities = read_capabilities(self._registers.port, self._registers.base)
        if self.capabilities.version[0] != 4:
            raise UnsupportedError(
                "the trace unit at 0x%08x has major version %d, not 4 (TRCIDR1.TRCARCHMAJ)"
                % (self._registers.base, self.capabilities.version[0]),
                "TRCIDR1.TRCARCHMAJ",
            )

    def _probe(self) -> None:
        if self.capabilities.field("TRCIDR4.NUMPC") and not self.capabilities.field("TRCIDR4.NUMACPAIRS"):
            self.capabilities = Capabilities({**self.capabilities.registers, **self._watchpoints.probe()})

    def _is_idle(self) -> bool:
        return bool(etmv4.TRCSTATR.get(self._registers.read(etmv4.TRCSTATR), "IDLE"))

    def _write_by_hand(self, register: Register, value: int) -> None:
        idle = self._is_idle()
        if register.name != "TRCPRGCTLR" and (self.enabled or not idle):
            raise CaptureError(
                "%s: the trace unit is on (TRCPRGCTLR.EN is %d, TRCSTATR.IDLE is %d) and may drop"
                ' writes; "etm stop" first' % (register.name, self.enabled, idle)
            )
        for shift, word in words_of(register, value):
            self._registers.remember([register.offset + shift // 8])
            self._registers.port.write32(self._registers.base + register.offset + shift // 8, word)

    def _mend(self, plan: Plan) -> None:
        if self._watchpoints.differ(plan):
            self._watchpoints.program(plan)
        if differences(plan, self._registers.port, self._registers.base):
            self._apply(plan)

    def _is_locked(self, status: int) -> bool:
        lock = etmv4_id.TRCOSLSR.decode(status)
        return lock["OSLM_1"] << 1 | lock["OSLM_0"] == etmv4_id.OSLM_IMPLEMENTED and bool(lock["OSLK"])
