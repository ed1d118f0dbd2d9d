"""Which format a dump has."""

from __future__ import annotations

from gdb_etm.dumps import crash_catcher, zephyr
from gdb_etm.dumps.dump import MOST_BYTES, Dump
from gdb_etm.dumps.elf_core import read_elf_core
from gdb_etm.errors import ImageError
from gdb_etm.files import read_regular

_ELF = b"\x7fELF"


def read_dump(path: str) -> Dump:
    """Read a dump of any format that is known.

    :raises ImageError: It cannot be read, is none, or is cut.
    """
    try:
        data = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise ImageError("cannot read %s: %s" % (path, error.strerror or error)) from error
    if data.startswith(_ELF):
        return read_elf_core(path)
    if data.startswith(zephyr.MAGIC):
        return zephyr.read_zephyr(path, data)
    if data.startswith(crash_catcher.MAGIC):
        return crash_catcher.read_crash_catcher(path, data)
    if zephyr.MARK in data:
        return zephyr.read_zephyr(path, zephyr.from_log(path, data))
    if crash_catcher.TEXT.search(data) is not None:
        return crash_catcher.read_crash_catcher(path, crash_catcher.from_text(data))
    raise ImageError(
        "%s is no dump that is known: neither an ELF core file, nor Zephyr's, nor CrashCatcher's.  A trace buffer "
        "alone is loaded by --raw" % path
    )
