"""Probe of a stopped ETMv3 or PTM by writing registers.

It finds what the identification registers do not show.

IHI 0014Q, A.2 and 3.5 (ETMFFLR, ETMSYNCFR).  What is written is put back at once.
"""

from __future__ import annotations

from typing import Callable, Dict, Type

from gdb_etm.coresight.borrowed import Borrowed
from gdb_etm.errors import AccessError
from gdb_etm.registers import etmv3, etmv3_id
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.armv7.capabilities import SYNC_PROBE, Armv7Capabilities
from gdb_etm.traceunit.identification import read_registers

_IDENTIFICATION = ("ETMCCR", "ETMSCR", "ETMIDR", "ETMCCER")
_LARGEST_FIFO = 0xFF
# Minor version of ETMv3 since which there is an ETMPDSR.
_WITH_POWER_STATUS = 3


def tells_power(read: Callable[[Register], int]) -> bool:
    """Whether ETMPDSR is valid: it reads zero before ETMv3.3.

    :param read: Reads a register of the unit.
    :raises AccessError: It does not answer, though nothing says that it has no power.
    """
    try:
        identity = etmv3_id.ETMIDR.decode(read(etmv3_id.ETMIDR))
    except AccessError as error:
        if error.kind != "fault":
            raise
        return True
    return identity["Major"] != etmv3_id.MAJOR_ETMV3 or identity["Minor"] >= _WITH_POWER_STATUS


def probe_unit(registers: Borrowed, kind: Type[Armv7Capabilities]) -> Dict[str, int]:
    """Probe a unit that is stopped by its programming bit.

    :param kind: Which unit it is.
    :returns: The registers that capabilities are made of, by name.
    """
    page = kind({}).page
    values = read_registers(registers.port, registers.base, [page.by_name[name] for name in _IDENTIFICATION])
    known = kind(values)
    found = registers.read(known.control)
    # The unit's driver sees to it that this one is put back.
    registers.command(known.control, found | known.probe_bits)
    values["ETMCR"] = registers.read(known.control)
    registers.command(known.control, found)
    # Where registers cannot be read, it is taken for granted that this one can be written.
    values["ETMSYNCFR"] = _written(registers, etmv3.ETMSYNCFR, SYNC_PROBE) if known.are_readable else SYNC_PROBE
    if known.field("ETMCCR.FIFOFULL"):
        values["ETMFFLR"] = _written(registers, etmv3.ETMFFLR, _LARGEST_FIFO)
    return values


def _written(registers: Borrowed, register: Register, value: int) -> int:
    found = registers.read(register)
    registers.write(register, value)
    stays = registers.read(register)
    registers.command(register, found)
    return stays
