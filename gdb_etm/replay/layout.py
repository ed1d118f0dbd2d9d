"""A core's registers as GDB numbers them, and their description in XML.

Ref: Debugging with GDB, appendix G, "Target Descriptions", G.5.3 "ARM Features"; E.2, packets "g" and "p".
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence

# GDB's number of the status register: xPSR on M-profile, CPSR on others.
STATUS = 25
SP, LR, PC = 13, 14, 15
_MAX_REGISTERS = 512
_MAX_BITS = 4096

_CORE = tuple("r%d" % number for number in range(13)) + ("sp", "lr", "pc")
_TYPES = {"sp": "data_ptr", "pc": "code_ptr"}
_SYSTEM = ("msp", "psp", "primask", "basepri", "faultmask", "control")
_HEAD = '<?xml version="1.0"?>\n<!DOCTYPE target SYSTEM "gdb-target.dtd">\n<target version="1.0">\n'
_TAG = re.compile(r"<reg\s+([^<>]{1,400}?)/?>")
_ATTRIBUTE = re.compile(r"""([a-z_]+)\s*=\s*["']([^"'<>]*)["']""")
_INCLUDE = re.compile(r"""<xi:include\s+href\s*=\s*["']([A-Za-z0-9_./-]{1,100})["']""")


class GdbRegister(NamedTuple):
    """One register."""

    name: str
    bits: int
    # In packets.
    number: int


class RegisterLayout:
    """A core's registers in the order of a ``g`` packet.

    :param registers: In any order.
    :param xml: The description that GDB reads.
    """

    def __init__(self, registers: Sequence[GdbRegister], xml: str) -> None:
        self.registers: List[GdbRegister] = sorted(registers, key=lambda register: register.number)
        # Those that a ``g`` packet holds: a server may leave later ones to ``p`` packets.
        self.together = self.registers
        self.xml = xml
        self._by_number: Dict[int, GdbRegister] = {register.number: register for register in self.registers}

    def measure(self, packet: str) -> None:
        """Take note of how many registers a ``g`` packet's reply holds."""
        left = len(packet)
        for count, register in enumerate(self.registers):
            left -= register.bits // 4
            if left < 0:
                self.together = self.registers[:count]
                return

    def at(self, number: int) -> Optional[GdbRegister]:
        """Give the register with a number in packets; None without one."""
        return self._by_number.get(number)

    def values(self, packet: str) -> Dict[str, int]:
        """Read the values in a ``g`` packet's reply, by name."""
        found = {}
        at = 0
        for register in self.registers:
            digits = packet[at : at + register.bits // 4]
            at += register.bits // 4
            try:
                found[register.name] = int.from_bytes(bytes.fromhex(digits), "little")
            except ValueError:
                pass  # "xx": the server does not have it
            if at > len(packet):
                found.pop(register.name, None)
        return found


def m_profile(has_system: bool = False, has_floats: bool = False) -> RegisterLayout:
    """Describe a Cortex-M.

    :param has_system: With the stack pointers and masks of the system.
    :param has_floats: With the floating-point registers.
    """
    registers = [GdbRegister(name, 32, number) for number, name in enumerate(_CORE)] + [GdbRegister("xpsr", 32, STATUS)]
    parts = [_feature("m-profile", registers)]
    if has_system:
        more = [GdbRegister(name, 32, 26 + index) for index, name in enumerate(_SYSTEM)]
        parts.append(_feature("m-system", more))
        registers += more
    if has_floats:
        floats = [GdbRegister("d%d" % index, 64, 32 + index) for index in range(16)] + [GdbRegister("fpscr", 32, 48)]
        parts.append(_feature("vfp", floats))
        registers += floats
    return RegisterLayout(registers, _HEAD + "<architecture>arm</architecture>\n" + "".join(parts) + "</target>\n")


def a_profile() -> RegisterLayout:
    """Describe an Armv7-A or Armv7-R core, without its floating-point registers."""
    registers = [GdbRegister(name, 32, number) for number, name in enumerate(_CORE)] + [GdbRegister("cpsr", 32, STATUS)]
    feature = _feature("core", registers)
    return RegisterLayout(registers, _HEAD + "<architecture>arm</architecture>\n" + feature + "</target>\n")


def old_layout() -> RegisterLayout:
    """Give the registers that GDB assumes where a server describes none."""
    registers = [GdbRegister(name, 32, number) for number, name in enumerate(_CORE)]
    registers += [GdbRegister("f%d" % index, 96, 16 + index) for index in range(8)]
    return RegisterLayout(registers + [GdbRegister("fps", 32, 24), GdbRegister("cpsr", 32, STATUS)], "")


def _feature(name: str, registers: Sequence[GdbRegister]) -> str:
    lines = ['<feature name="org.gnu.gdb.arm.%s">' % name]
    for register in registers:
        kind = "ieee_double" if register.bits == 64 else _TYPES.get(register.name, "int")
        words = register.name, register.bits, register.number, kind
        lines.append('<reg name="%s" bitsize="%d" regnum="%d" type="%s"/>' % words)
    return "\n".join(lines) + "\n</feature>\n"


def included(xml: str) -> List[str]:
    """List the documents that a description includes."""
    return _INCLUDE.findall(xml)[:16]


def described(xml: str) -> Optional[RegisterLayout]:
    """Read the registers of a server's own description.

    :returns: None when it describes none that can be numbered.
    """
    registers: List[GdbRegister] = []
    number = 0
    for tag in _TAG.finditer(xml):
        attributes = dict(_ATTRIBUTE.findall(tag.group(1)))
        try:
            # A register without a number has the one after that before it.
            number = int(attributes.get("regnum", number))
            bits = int(attributes["bitsize"])
        except (KeyError, ValueError):
            return None
        if len(registers) == _MAX_REGISTERS or not 0 < bits <= _MAX_BITS or number < 0:
            return None
        # OpenOCD's PRIMASK has one bit; in packets it takes a byte.
        registers.append(GdbRegister(attributes.get("name", ""), (bits + 7) // 8 * 8, number))
        number += 1
    return RegisterLayout(registers, xml) if registers else None
