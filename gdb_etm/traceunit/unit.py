"""What every trace unit can do, and which of our drivers fits which unit."""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Optional, Protocol, Tuple

from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import Component, Kind
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import UnsupportedError
from gdb_etm.registers.page import Page, Register, Version
from gdb_etm.traceunit.capabilities import Identification
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.status import UnitStatus
from gdb_etm.traceunit.unit_etmv3 import EtmV3Unit
from gdb_etm.traceunit.unit_etmv4 import EtmV4Unit
from gdb_etm.traceunit.unit_ptm import PtmUnit


class TraceUnit(Protocol):
    """A trace unit of any protocol."""

    @property
    def protocol(self) -> str:
        """What its trace is decoded by, such as ``"etmv4"``."""

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"ETMv4.2"``."""

    @property
    def version(self) -> Version:
        """Architecture version, as its registers' pages give it."""

    @property
    def page(self) -> Page:
        """What its registers are."""

    @property
    def registers(self) -> Borrowed:
        """Its registers."""

    @property
    def beside_plans(self) -> FrozenSet[str]:
        """Names of the registers that can be written and no plan writes."""

    @property
    def identification(self) -> Identification:
        """What it has."""

    @property
    def abilities(self) -> Tuple[str, ...]:
        """What it can do, a few words each."""

    @property
    def notes(self) -> Tuple[str, ...]:
        """What the user should know about this unit, one line each."""

    @property
    def enabled(self) -> bool:
        """Whether it traces."""

    def attach(self) -> None:
        """Power it, unlock it, claim it and read what it has."""

    def recover(self) -> None:
        """Power it and open its locks."""

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it."""

    @property
    def power_loss(self) -> str:
        """The register field that tells of a loss of power."""

    def regain(self) -> bool:
        """Make it ours again if it lost its power since it was enabled.

        :returns: Whether it did: what it was programmed with is lost then, and what it traced afterwards.
        """

    def program(self, plan: Plan) -> None:
        """Disable and program it."""

    def ensure(self, plan: Plan) -> None:
        """Program it again if it lost what ``plan`` wrote."""

    def enable(self) -> None:
        """Start tracing."""

    def disable(self) -> None:
        """Stop tracing and wait until all trace has left it."""

    def plan_enable(self) -> Plan:
        """Plan its start, when it is programmed."""

    def look(self, register: Register) -> int:
        """Read a register's whole value; what reading clears is kept in mind."""

    def write_by_hand(self, register: Register, value: int) -> None:
        """Write a register that nobody planned; what it held is put back on release.

        :raises CaptureError: The unit must not be written at the moment, or the session holds it by that register.
        """

    def capture_registers(self) -> Dict[str, int]:
        """Return the registers that decoding needs, by datasheet name."""

    def status(self) -> UnitStatus:
        """Look, without changing anything."""

    def restoration(self) -> List[Restoration]:
        """List the writes that put its registers back as they were found, in order."""

    def release(self) -> None:
        """Disable it and put its registers back as they were found."""


def make_unit(component: Component, deadline: Deadline, dwt: Optional[Component] = None) -> TraceUnit:
    """Return the driver for a trace unit.

    :param dwt: The processor's DWT, if that is a Cortex-M.
    :raises UnsupportedError: There is none.
    """
    if component.kind is Kind.ETMV4:
        return EtmV4Unit(component.port, component.address, deadline, dwt)
    if component.kind is Kind.ETMV3:
        return EtmV3Unit(component, deadline, dwt)
    if component.kind is Kind.PTM:
        return PtmUnit(component, deadline, dwt)
    if component.kind is Kind.ETM:
        raise UnsupportedError("%s: which architecture it is cannot be read (ETMIDR.Major); is it powered?"
                               % (component,), "ETMIDR.Major")
    raise UnsupportedError("%s: only ETMv3, ETMv4 and PTM can be programmed (DEVARCH.ARCHID)"
                           % (component,), "DEVARCH.ARCHID")
