"""An ETMv3 on the target."""

from __future__ import annotations

from gdb_etm.registers import etmv3_id
from gdb_etm.traceunit.armv7.capabilities import EtmV3Capabilities
from gdb_etm.traceunit.armv7.etmv3 import plan_program
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
        return plan_program(options, EtmV3Capabilities(self.capabilities.registers), buffer_bytes)
