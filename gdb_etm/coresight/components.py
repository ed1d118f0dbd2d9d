"""Identification of CoreSight components: registers to kind and name.

Arm CoreSight Architecture Specification v3.0 (IHI 0029E), B2.2: designer and part come from PIDR, the
type from DEVTYPE, the architecture from DEVARCH.  Part numbers are from the products' reference manuals.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, NamedTuple, Optional, Tuple

from gdb_etm.access.port import AccessPort
from gdb_etm.errors import AccessError
from gdb_etm.registers import coresight, etmv3_id, tmc

# Arm's JEP106 code: continuation 4 in bits 11:8, identity in bits 6:0.
ARM = 0x43B
ARM_CHINA = 0xA75

CLASS_ROM_TABLE = 0x1
CLASS_CORESIGHT = 0x9
CLASS_GENERIC = 0xE
_ROM_TABLE_ARCHID = 0x0AF7
_DEVTYPE_ETM = 0x13


class ComponentKind(Enum):
    """Kind of a component in a trace path.

    The value is for people.
    """

    ROM_TABLE = "ROM table"
    ETMV4 = "ETMv4"
    ETE = "ETE"
    ETMV3 = "ETMv3"
    PTM = "PTM"
    ETM = "older ETM or PTM"
    ITM = "ITM"
    STM = "STM"
    MTB = "MTB"
    ETB = "ETB"
    TMC = "TMC"
    TPIU = "TPIU"
    FUNNEL = "funnel"
    REPLICATOR = "replicator"
    CTI = "CTI"
    SCS = "SCS"
    CPU_DEBUG = "processor debug"
    DWT = "DWT"
    BREAKPOINTS = "FPB"
    PMU = "PMU"
    OTHER = "other"


class Identity(NamedTuple):
    """A component's identification registers, taken apart."""

    component_class: int
    # JEP106: continuation code in bits 11:8, identity code in bits 6:0.
    designer: int
    part: int
    revision: int
    # DEVTYPE: sub type in bits 7:4, major type in bits 3:0; 0 outside class 0x9.
    devtype: int
    # DEVARCH.ARCHID; 0 where the component has none.
    archid: int
    devid: int


class Component(NamedTuple):
    """One component of the chip's debug system."""

    # The memory space it is in.
    port: AccessPort
    # Of its 4 KiB block.
    address: int
    identity: Identity
    kind: ComponentKind
    # For people, such as ``"ETMv4"`` or ``"ETF"``.
    name: str
    # Address of the ROM table that lists it; 0 for the first table.
    table: int
    # DEVAFF0: the MPIDR of the processor it belongs to; 0 where there is none.
    affinity: int

    def __str__(self) -> str:
        return "%s at 0x%08x on %s" % (self.name, self.address, self.port.name)


# Architecture (DEVARCH.ARCHID, architect Arm): the same whoever made the component.
_BY_ARCHITECTURE: Dict[int, Tuple[ComponentKind, str]] = {
    0x4A13: (ComponentKind.ETMV4, "ETMv4"),
    0x5A13: (ComponentKind.ETE, "ETE"),
    0x1A01: (ComponentKind.ITM, "ITM"),
    0x1A02: (ComponentKind.DWT, "DWT"),
    0x1A03: (ComponentKind.BREAKPOINTS, "FPB"),
    0x2A04: (ComponentKind.SCS, "SCS"),
    0x1A14: (ComponentKind.CTI, "CTI"),
    0x0A31: (ComponentKind.MTB, "MTB"),
    0x0A63: (ComponentKind.STM, "STM"),
    0x0A06: (ComponentKind.PMU, "PMU"),
    0x2A16: (ComponentKind.PMU, "PMU"),
    0x6A15: (ComponentKind.CPU_DEBUG, "processor debug"),
    0x7A15: (ComponentKind.CPU_DEBUG, "processor debug"),
    0x8A15: (ComponentKind.CPU_DEBUG, "processor debug"),
    0x9A15: (ComponentKind.CPU_DEBUG, "processor debug"),
    _ROM_TABLE_ARCHID: (ComponentKind.ROM_TABLE, "ROM table"),
}

# (designer, part, DEVTYPE); DEVTYPE None: any.  One part may be several components (0xD21 is all of a Cortex-M33).
_BY_PART: Dict[Tuple[int, int, Optional[int]], Tuple[ComponentKind, str]] = {
    (ARM, 0x906, None): (ComponentKind.CTI, "CTI"),
    (ARM, 0x907, None): (ComponentKind.ETB, "ETB"),
    (ARM, 0x908, None): (ComponentKind.FUNNEL, "funnel"),
    (ARM, 0x909, None): (ComponentKind.REPLICATOR, "replicator"),
    (ARM, 0x912, None): (ComponentKind.TPIU, "TPIU"),
    (ARM, 0x913, None): (ComponentKind.ITM, "ITM"),
    (ARM, 0x914, None): (ComponentKind.TPIU, "SWO"),
    (ARM, 0x921, None): (ComponentKind.ETMV3, "ETM"),
    (ARM, 0x922, None): (ComponentKind.CTI, "CTI"),  # Cortex-A8
    (ARM, 0x923, None): (ComponentKind.TPIU, "TPIU"),  # Cortex-M3
    (ARM, 0x924, None): (ComponentKind.ETMV3, "ETM"),
    (ARM, 0x925, None): (ComponentKind.ETMV3, "ETM"),
    (ARM, 0x930, None): (ComponentKind.ETMV3, "ETM"),
    (ARM, 0x932, None): (ComponentKind.MTB, "MTB"),  # M0+
    (ARM, 0x931, None): (ComponentKind.ETMV3, "ETM"),
    (ARM, 0x950, None): (ComponentKind.PTM, "PTM"),
    (ARM, 0x955, None): (ComponentKind.ETMV3, "ETM"),
    (ARM, 0x956, None): (ComponentKind.ETMV3, "ETM"),
    (ARM, 0x95F, None): (ComponentKind.PTM, "PTM"),
    (ARM, 0x961, None): (ComponentKind.TMC, "TMC"),  # SoC-400: ETB, ETR or ETF, as DEVID says
    (ARM, 0x962, None): (ComponentKind.STM, "STM"),
    (ARM, 0x963, None): (ComponentKind.STM, "STM"),
    (ARM, 0x9A1, None): (ComponentKind.TPIU, "TPIU"),  # Cortex-M4
    (ARM, 0x9A9, None): (ComponentKind.TPIU, "TPIU"),  # Cortex-M7
    (ARM, 0x9E7, None): (ComponentKind.TPIU, "TPIU"),  # SoC-600 from here
    (ARM, 0x9E8, None): (ComponentKind.TMC, "TMC"),
    (ARM, 0x9E9, None): (ComponentKind.TMC, "TMC"),
    (ARM, 0x9EA, None): (ComponentKind.TMC, "TMC"),
    (ARM, 0x9EB, None): (ComponentKind.FUNNEL, "funnel"),
    (ARM, 0x9EC, None): (ComponentKind.REPLICATOR, "replicator"),
}

# Arm's parts that belong to one kind of processor: its trace unit, and the debug registers of an A or R profile one.
PRODUCTS: Dict[int, str] = {
    0x921: "Cortex-A8",
    0x924: "Cortex-M3",
    0x925: "Cortex-M4",
    0x930: "Cortex-R4",
    0x931: "Cortex-R5",
    0x950: "Cortex-A9",
    0x955: "Cortex-A5",
    0x956: "Cortex-A7",
    0x95F: "Cortex-A15",
    0xC05: "Cortex-A5",
    0xC07: "Cortex-A7",
    0xC08: "Cortex-A8",
    0xC09: "Cortex-A9",
    0xC0D: "Cortex-A12",
    0xC0E: "Cortex-A17",
    0xC0F: "Cortex-A15",
    0xC14: "Cortex-R4",
    0xC15: "Cortex-R5",
}

# Armv6-M and Armv7-M private peripherals are of class 0xE, without DEVTYPE and DEVARCH.
_GENERIC: Dict[int, Tuple[ComponentKind, str]] = {
    0x000: (ComponentKind.SCS, "SCS"),  # Cortex-M3
    0x008: (ComponentKind.SCS, "SCS"),  # Cortex-M0, M0+
    0x00C: (ComponentKind.SCS, "SCS"),  # Cortex-M4, M7
    0x001: (ComponentKind.ITM, "ITM"),
    0x002: (ComponentKind.DWT, "DWT"),
    0x00A: (ComponentKind.DWT, "DWT"),
    0x003: (ComponentKind.BREAKPOINTS, "FPB"),
    0x00B: (ComponentKind.BREAKPOINTS, "FPB"),
    0x00E: (ComponentKind.BREAKPOINTS, "FPB"),
}

# DEVTYPE, when nothing above knows the component (B2.3.4).
_BY_DEVTYPE: Dict[int, Tuple[ComponentKind, str]] = {
    0x11: (ComponentKind.TPIU, "TPIU"),
    0x12: (ComponentKind.FUNNEL, "funnel"),
    _DEVTYPE_ETM: (ComponentKind.ETM, "older ETM or PTM"),
    0x14: (ComponentKind.CTI, "CTI"),
    0x15: (ComponentKind.CPU_DEBUG, "processor debug"),
    0x16: (ComponentKind.PMU, "PMU"),
    0x21: (ComponentKind.ETB, "ETB"),
    0x22: (ComponentKind.REPLICATOR, "replicator"),
    0x31: (ComponentKind.MTB, "MTB"),
    0x32: (ComponentKind.TMC, "TMC"),
    0x43: (ComponentKind.ITM, "ITM"),
    0x63: (ComponentKind.STM, "STM"),
}

_TMC_NAMES = {tmc.CONFIG_ETB: "ETB", tmc.CONFIG_ETR: "ETR", tmc.CONFIG_ETF: "ETF"}

# The kinds that trace a processor's instructions over the trace bus.
TRACE_UNITS = (ComponentKind.ETMV4, ComponentKind.ETE, ComponentKind.ETMV3, ComponentKind.PTM, ComponentKind.ETM)


def read_identity(port: AccessPort, address: int) -> Optional[Identity]:
    """Read a component's identification registers.

    :returns: None where there is no component: the preamble in CIDR is wrong.
    :raises AccessError: The block does not answer.
    """
    words = port.read_block(address + coresight.PIDR4.offset, 12)
    ids = {
        name: words[n] & 0xFF
        for n, name in enumerate(
            ("PIDR4", "PIDR5", "PIDR6", "PIDR7", "PIDR0", "PIDR1", "PIDR2", "PIDR3", "CIDR0", "CIDR1", "CIDR2", "CIDR3")
        )
    }
    if (ids["CIDR0"], ids["CIDR1"] & 0xF, ids["CIDR2"], ids["CIDR3"]) != (0x0D, 0x00, 0x05, 0xB1):
        return None
    pidr1, pidr2 = coresight.PIDR1.decode(ids["PIDR1"]), coresight.PIDR2.decode(ids["PIDR2"])
    identity = Identity(
        component_class=coresight.CIDR1.get(ids["CIDR1"], "CLASS"),
        designer=coresight.PIDR4.get(ids["PIDR4"], "DES_2") << 8 | pidr2["DES_1"] << 4 | pidr1["DES_0"],
        part=pidr1["PART_1"] << 8 | ids["PIDR0"],
        revision=pidr2["REVISION"],
        devtype=0,
        archid=0,
        devid=0,
    )
    if identity.component_class != CLASS_CORESIGHT:
        return identity
    # AUTHSTATUS, DEVARCH, DEVID2, DEVID1, DEVID, DEVTYPE are neighbours.
    devarch, _, _, devid, devtype = port.read_block(address + coresight.DEVARCH.offset, 5)
    arch = coresight.DEVARCH.decode(devarch)
    return identity._replace(devtype=devtype & 0xFF, devid=devid, archid=arch["ARCHID"] if arch["PRESENT"] else 0)


def classify(identity: Identity) -> Tuple[ComponentKind, str]:
    """Identify a component by its registers."""
    if identity.component_class == CLASS_ROM_TABLE:
        return ComponentKind.ROM_TABLE, "ROM table"
    if identity.component_class == CLASS_GENERIC:
        known = _GENERIC.get(identity.part) if identity.designer in (ARM, ARM_CHINA) else None
        return known or (ComponentKind.OTHER, "part 0x%03x" % identity.part)
    found = (
        _BY_ARCHITECTURE.get(identity.archid)
        or _BY_PART.get((identity.designer, identity.part, identity.devtype))
        or _BY_PART.get((identity.designer, identity.part, None))
        or _BY_DEVTYPE.get(identity.devtype)
        or (ComponentKind.OTHER, "part 0x%03x" % identity.part)
    )
    if found[0] is ComponentKind.TMC:
        return ComponentKind.TMC, _TMC_NAMES.get(tmc.DEVID.get(identity.devid, "CONFIGTYPE"), "TMC")
    return found


def _older_unit(port: AccessPort, address: int) -> Tuple[ComponentKind, str]:
    """Distinguish an ETMv3 from a PTM by ETMIDR.

    Both have the same DEVTYPE and no DEVARCH (IHI 0014Q, 3.5).
    """
    try:
        major = etmv3_id.ETMIDR.get(port.read32(address + etmv3_id.ETMIDR.offset), "Major")
    except AccessError as error:
        if error.kind != "fault":
            raise
        major = 0  # no power, or the OS Lock is set: it may be readable another time
    return {etmv3_id.MAJOR_ETMV3: (ComponentKind.ETMV3, "ETM"), etmv3_id.MAJOR_PFT: (ComponentKind.PTM, "PTM")}.get(
        major, _BY_DEVTYPE[_DEVTYPE_ETM]
    )


def product(component: Component) -> Optional[str]:
    """Return the processor of a component, such as ``"Cortex-A9"``, or None.

    None where its part number is of no known processor.
    """
    return PRODUCTS.get(component.identity.part) if component.identity.designer == ARM else None


def read_component(port: AccessPort, address: int, table: int) -> Optional[Component]:
    """Read and name the component at an address.

    :param table: Address of the ROM table that lists it.
    :returns: None where there is no component.
    :raises AccessError: The block does not answer.
    """
    identity = read_identity(port, address)
    if identity is None:
        return None
    kind, name = classify(identity)
    if kind is ComponentKind.ETM:
        kind, name = _older_unit(port, address)
    affinity = port.read32(address + coresight.DEVAFF0.offset) if kind in (*TRACE_UNITS, ComponentKind.CPU_DEBUG) else 0
    return Component(port, address, identity, kind, name, table, affinity)
