"""CrashCatcher's dump, as bytes or as hexadecimal text.

Ref: CrashCatcher's README, "Dump Format" (version 2.0); version 3.0 has MSP and PSP before the handler's xPSR.
"""

from __future__ import annotations

import re

from gdb_etm.dumps.dump import Bytes, Dump

MAGIC = b"cC"
# The first line of a dump in text.
TEXT = re.compile(rb"^\s*6343(02|03)00\s*$", re.MULTILINE)
_DIGITS = re.compile(rb"\s*((?:[0-9A-Fa-f]{2})+)\s*\Z")
_FLOATS = 1 << 0
_FLOAT_WORDS = 33
_FAULTS = 0xE000ED28
_FAULT_NAMES = ("cfsr", "hfsr", "dfsr", "mmfar", "bfar")
_OVERFLOW = bytes.fromhex("ACCE55ED")


def from_text(text: bytes) -> bytes:
    """Take the bytes of the first dump out of a log.

    Lines that hold anything else end it.
    """
    start = TEXT.search(text)
    found = bytearray()
    for line in text[start.start() if start is not None else 0 :].strip().splitlines():
        digits = _DIGITS.match(line)
        if line.strip() and digits is None:
            break
        found += bytes.fromhex(digits.group(1).decode()) if digits is not None else b""
    return bytes(found)


def read_crash_catcher(path: str, data: bytes) -> Dump:
    """Read a dump.

    :param path: For messages.
    :raises ImageError: It is cut, or of a version that is not known.
    """
    rest = Bytes(path, data)
    _, major, minor = rest.unpack("2sBB", "the signature")
    if major not in (2, 3):
        rest.refuse("is a CrashCatcher dump of version %d.%d; 2.0 and 3.0 are known" % (major, minor))
    (flags,) = rest.words(1, "the flags")
    names = [*("r%d" % number for number in range(13)), "sp", "lr", "pc", "xpsr"]
    registers = dict(zip(names, rest.words(len(names), "the registers")))
    if major == 3:
        registers.update(zip(("msp", "psp"), rest.words(2, "the stack pointers")))
    rest.words(1, "the handler's xPSR")
    if flags & _FLOATS:
        rest.words(_FLOAT_WORDS, "the floating-point registers")
    notes = []
    while rest.left:
        if rest.left == len(_OVERFLOW) and rest.peek(len(_OVERFLOW)) == _OVERFLOW:
            notes.append("%s: CrashCatcher's own stack overflowed while it dumped" % path)
            break
        rest.memory(*rest.words(2, "the addresses of memory"))
    for image in rest.pieces:
        if image.address == _FAULTS:
            words = (image.data[at : at + 4] for at in range(0, len(image.data) - 3, 4))
            registers.update(zip(_FAULT_NAMES, (int.from_bytes(word, "little") for word in words)))
    return Dump("a CrashCatcher dump", rest.pieces, registers, tuple(notes))
