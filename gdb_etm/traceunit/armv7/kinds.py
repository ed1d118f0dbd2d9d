"""The two kinds of units with a programming bit, on the target: ETMv3 and PTM."""

from __future__ import annotations

from gdb_etm.registers import etmv3_id
from gdb_etm.traceunit.armv7 import etmv3, ptm
from gdb_etm.traceunit.armv7.capabilities import EtmV3Capabilities, PtmCapabilities
from gdb_etm.traceunit.armv7.unit import Armv7Unit
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan


class EtmV3Unit(Armv7Unit):
    """One ETMv3."""

    name = "ETMv3"
    capabilities_type = EtmV3Capabilities
    major = etmv3_id.MAJOR_ETMV3

    @property
    def protocol(self) -> str:
        """What its trace is decoded by."""
        return "etmv3"

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"ETMv3.5"``."""
        return "ETMv3.%d" % self.capabilities.minor

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return etmv3.plan_program(options, EtmV3Capabilities(self.capabilities.registers), buffer_bytes)


class PtmUnit(Armv7Unit):
    """One PTM."""

    name = "PTM"
    capabilities_type = PtmCapabilities
    major = etmv3_id.MAJOR_PFT

    @property
    def protocol(self) -> str:
        """What its trace is decoded by."""
        return "ptm"

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"PTM 1.0"``."""
        return "PTM 1.%d" % self.capabilities.minor

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return ptm.plan_program(options, PtmCapabilities(self.capabilities.registers), buffer_bytes)
