"""Zephyr's coredump, as bytes or as lines of a log.

Ref: Zephyr documentation, "Core Dump", File Format; of the block with registers of a Cortex-M, version 1 has those
that the exception pushed and SP, version 2 also R4 to R11; version 3 also tells where a thread keeps these, and whether
it does (Zephyr, scripts/coredump/gdbstubs/arch/arm_aarch32.py).
"""

from __future__ import annotations

import re

from gdb_etm.dumps.dump import Bytes, Dump
from gdb_etm.errors import ImageError

MAGIC = b"ZE"
MARK = b"#CD:"
_VERSIONS = (1, 2)
_CORTEX_M = 3
_WORD_BITS = 5
_ORDER = ("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr", "sp", *("r%d" % number for number in range(4, 12)))
# Words of the block, by its version.
_COUNTS = {1: 9, 2: 17, 3: 19}
_REASONS = ("CPU exception", "spurious interrupt", "stack check failed", "kernel oops", "kernel panic")
# Colours of a log, which end behind the digits (Zephyr, CONFIG_LOG_BACKEND_SHOW_COLOR).
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_LINE = re.compile(rb"#CD:([0-9A-Fa-f]*)\s*\Z")


def from_log(path: str, text: bytes) -> bytes:
    """Take the bytes of a dump out of a log.

    Its lines have ``#CD:`` and hexadecimal digits.

    :raises ImageError: A line is no such line, or the end is missing.
    """
    found, is_on = bytearray(), False
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        _, mark, rest = line.partition(MARK)
        word = _COLOUR.sub(b"", rest).strip()
        if not mark:
            continue
        if word == b"BEGIN#":
            found, is_on = bytearray(), True
        elif word == b"END#":
            return bytes(found)
        elif word.startswith(b"ERROR"):
            raise ImageError("%s:%d: the dump says that it failed on the target" % (path, number))
        elif is_on:
            digits = _LINE.match(MARK + word)
            if number == len(lines):
                # It may end within this one.
                break
            if digits is None or len(digits.group(1)) % 2:
                raise ImageError("%s:%d: no bytes in hexadecimal after #CD:" % (path, number))
            found += bytes.fromhex(digits.group(1).decode())
    raise ImageError("%s: a Zephyr coredump without its %s" % (path, "#CD:END#" if is_on else "#CD:BEGIN#"))


def read_zephyr(path: str, data: bytes) -> Dump:
    """Read a coredump.

    :param path: For messages.
    :raises ImageError: It is cut, or of a version or processor that is not known.
    """
    rest = Bytes(path, data)
    _, version, target, pointer, _, reason = rest.unpack("2sHHBBI", "the header")
    if version not in _VERSIONS:
        rest.refuse("is a Zephyr coredump of version %d; 1 and 2 are known" % version)
    if target != _CORTEX_M or pointer != _WORD_BITS:
        rest.refuse("is a Zephyr coredump of target %d with 2**%d bits; a Cortex-M is 3, 2**5" % (target, pointer))
    registers = {}
    while rest.left:
        kind = rest.take(1, "a block")
        (version,) = rest.unpack("H", "a block's version")
        if kind == b"M":
            rest.memory(*rest.words(2, "the addresses of memory"))
            continue
        (size,) = rest.unpack("H", "a block's size")
        if kind == b"A":
            count = _COUNTS.get(version, 0)
            if size != 4 * count:
                rest.refuse(
                    "has registers of version %d in %d bytes; 1 has 36, 2 has 68, and 3 has 76" % (version, size)
                )
            registers = dict(zip(_ORDER, rest.words(count, "the registers")))
        elif kind == b"T":
            rest.take(size, "the threads")
        else:
            rest.refuse("has a block %r, %d bytes before its end; A, T and M are known" % (kind, rest.left + 5))
    why = _REASONS[reason] if reason < len(_REASONS) else "reason %d" % reason
    return Dump("a Zephyr coredump (%s)" % why, rest.pieces, registers)
