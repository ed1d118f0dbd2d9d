"""Dumps, written as their formats are described: of any memory and registers."""

from __future__ import annotations

import struct
from typing import Mapping, Sequence, Tuple

# Address and bytes.
Memory = Sequence[Tuple[int, bytes]]
ORDER = (*("r%d" % number for number in range(13)), "sp", "lr", "pc", "xpsr")


def elf_core(memory: Memory, registers: Mapping[str, int], threads: int = 1) -> bytes:
    """Write an ELF core file.

    System V ABI; elf_prstatus of 148 bytes with registers at 72.
    """
    words = [registers.get(name, 0) for name in ORDER]
    status = bytes(72) + struct.pack("<18I", *words, 0) + bytes(4)
    note = (struct.pack("<3I", 5, len(status), 1) + b"CORE\0\0\0\0" + status) * threads
    count = 1 + len(memory)
    at = 52 + 32 * count
    headers = struct.pack("<8I", 4, at, 0, 0, len(note), 0, 0, 4)
    body = note
    for address, data in memory:
        headers += struct.pack("<8I", 1, at + len(body), address, address, len(data), len(data), 6, 4)
        body += data
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    header = struct.pack("<HHIIIIIHHHHHH", 4, 40, 1, 0, 52, 0, 0x05000000, 52, 32, count, 0, 0, 0)
    return ident + header + headers + body


def zephyr(memory: Memory, registers: Mapping[str, int], version: int = 2) -> bytes:
    """Write a Zephyr coredump (Zephyr documentation, "Core Dump", File Format)."""
    names = ["r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr", "sp"]
    names += ["r%d" % number for number in range(4, 12)] if version >= 2 else []
    # Whether a thread keeps those, and where.
    names += ["", ""] if version == 3 else []
    block = struct.pack("<%dI" % len(names), *(registers.get(name, 0) for name in names))
    found = struct.pack("<2sHHBBI", b"ZE", min(version, 2), 3, 5, 0, 0)
    found += struct.pack("<cHH", b"A", version, len(block)) + block
    found += struct.pack("<cHH", b"T", 1, 6) + b"thread"
    for address, data in memory:
        found += struct.pack("<cHII", b"M", 1, address, address + len(data)) + data
    return found


def zephyr_log(dump: bytes) -> str:
    """Write a coredump as the backend for logs does."""
    lines = ["#CD:BEGIN#", *("#CD:" + dump[at : at + 32].hex() for at in range(0, len(dump), 32)), "#CD:END#"]
    return "\n".join("E: " + line for line in ["Current thread: 0x20000000", *lines, "Halting system"]) + "\n"


def crash_catcher(memory: Memory, registers: Mapping[str, int], version: int = 2, floats: bool = False) -> bytes:
    """Write CrashCatcher's dump (its README, "Dump Format")."""
    found = struct.pack("<2sBBI", b"cC", version, 0, int(floats))
    found += struct.pack("<17I", *(registers.get(name, 0) for name in ORDER))
    found += struct.pack("<2I", registers.get("msp", 0), registers.get("psp", 0)) if version == 3 else b""
    found += struct.pack("<I", 0x01000003) + bytes(4 * 33 * floats)
    for address, data in memory:
        found += struct.pack("<2I", address, address + len(data)) + data
    return found


def crash_catcher_text(dump: bytes) -> str:
    """Write it as the HexDump module does."""
    lines = [dump[:4].hex(), *(dump[at : at + 16].hex() for at in range(4, len(dump), 16))]
    again = "\n\nEnd of dump\n\n\nCRASH ENCOUNTERED\nEnable logging and then press any key to start dump.\n"
    return "\n\nCRASH ENCOUNTERED\nEnable logging and then press any key to start dump.\n\n%s%s" % (
        "\n".join(lines).upper(),
        again,
    )
