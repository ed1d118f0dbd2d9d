"""Capabilities of an ETMv4, by identification field names.

IHI 0064, 7.3, TRCIDR0 to TRCIDR13; quantities derived from them as 7.3.34 (TRCIDR4) defines.
"""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.registers import etmv4, etmv4_id
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.dwt_match import DwtComparators, comparators_of
from gdb_etm.traceunit.identification import Identification, read_registers

_IDENTIFICATION: Tuple[Register, ...] = (
    *(PAGE.by_name["TRCIDR%d" % n] for n in range(14)),
    etmv4_id.TRCAUTHSTATUS,
    etmv4_id.TRCDEVARCH,
)


class Capabilities(Identification):
    """What an ETMv4 has.

    :param registers: TRCIDR0 to TRCIDR5 at least.
    """

    _page = PAGE

    @property
    def version(self) -> Tuple[int, int]:
        """Architecture version, such as (4, 2)."""
        return self.field("TRCIDR1.TRCARCHMAJ"), self.field("TRCIDR1.TRCARCHMIN")

    @property
    def selector_pairs(self) -> int:
        """Number of resource selector pairs, with the fixed pair 0.

        A minimal unit has none (since v4.3).
        """
        number = self.field("TRCIDR4.NUMRSPAIR")
        return 0 if self.version >= (4, 3) and number == 0 else number + 1

    @property
    def events(self) -> int:
        """Number of events in TRCEVENTCTL0R."""
        return self.field("TRCIDR0.NUMEVENT") + 1 if self.selector_pairs else 0

    @property
    def processors(self) -> int:
        """Number of processors that the unit can be switched between."""
        return (self.field("TRCIDR3.NUMPROC_HIGH") << 3 | self.field("TRCIDR3.NUMPROC_LOW")) + 1

    @property
    def dwt(self) -> DwtComparators:
        """Free DWT comparators that drive an input of the unit."""
        return comparators_of(self.registers, self.field("TRCIDR4.NUMPC"))

    @property
    def address_bits(self) -> int:
        """Width of the address comparators in bits: 32 or 64."""
        return 8 * max(self.field("TRCIDR2.IASIZE"), self.field("TRCIDR2.DASIZE"), 4)

    @property
    def words(self) -> Tuple[str, ...]:
        """What the unit can do, a few words each."""
        bits = {6: "48-bit timestamps", 8: "64-bit timestamps"}.get(self.field("TRCIDR0.TSSIZE"), "")
        cycles = "cycle counts of %d and more" % self.field("TRCIDR3.CCITMIN") if self.field("TRCIDR0.TRCCCI") else ""
        found = (
            "return stack" if self.field("TRCIDR0.RETSTACK") else "",
            cycles,
            bits,
            "branch broadcast" if self.field("TRCIDR0.TRCBB") else "",
            "context IDs" if self.field("TRCIDR2.CIDSIZE") else "",
            "conditional instructions" if self.field("TRCIDR0.TRCCOND") else "",
            "data" if self.field("TRCIDR0.TRCDATA") else "",
            "%d address ranges" % self.field("TRCIDR4.NUMACPAIRS"),
        )
        return tuple(word for word in found if word)

    @property
    def fixed_sync_bytes(self) -> Optional[int]:
        """Fixed bytes between synchronisation points; None where TRCSYNCPR is writable.

        0: the unit never synchronises by itself.
        """
        if not self.field("TRCIDR3.SYNCPR"):
            return None
        period = self.field("TRCSYNCPR.PERIOD")
        return 1 << period if period else 0


def read_capabilities(port: AccessPort, base: int) -> Capabilities:
    """Read a unit's identification; it must be powered and unlocked.

    :raises AccessError: The unit does not answer.
    """
    values = read_registers(port, base, _IDENTIFICATION)
    first = Capabilities(values)
    more = [etmv4.TRCSSCSR[n] for n in range(min(8, first.field("TRCIDR4.NUMSSCC")))]
    if first.field("TRCIDR3.SYNCPR"):
        more.append(etmv4.TRCSYNCPR)
    values.update(read_registers(port, base, more))
    return Capabilities(values)
