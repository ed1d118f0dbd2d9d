"""The registers of a trace unit, in a file.

Its lines are ``NAME=VALUE``, as in the devices of a snapshot.
"""

from __future__ import annotations

import re
from typing import Dict, Mapping

from gdb_etm.errors import ImageError, plain
from gdb_etm.files import read_regular

_MOST = 1 << 16
_LINE = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\([^)]*\))?\s*=\s*(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\s*(?:[;#].*)?\Z")
_UNIT = re.compile(r"(TRC|ETM|MTB_)", re.IGNORECASE)
# ETMIDR.Major: 2 is ETMv3, 3 is PTM (IHI 0035B, 3.15.49).
_MAJOR_PTM = 3


def read_unit(path: str) -> Dict[str, int]:
    """Read the registers of a trace unit.

    :returns: By datasheet name; other lines are passed over.
    :raises ImageError: It cannot be read, or holds none.
    """
    try:
        text = read_regular(path, _MOST).decode("utf-8", "replace")
    except OSError as error:
        raise ImageError("cannot read %s: %s" % (path, error.strerror or error)) from error
    found: Dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = _LINE.match(line)
        if entry is None or not _UNIT.match(entry.group(1)):
            continue
        name = entry.group(1).upper()
        if name in found:
            raise ImageError("%s:%d: %s is there twice" % (path, number, plain(name)))
        found[name] = int(entry.group(2), 16 if entry.group(2)[:2].lower() == "0x" else 10)
    if not found:
        raise ImageError("%s: no register of a trace unit; lines such as TRCCONFIGR=0x1001" % path)
    return found


def protocol_of(registers: Mapping[str, int]) -> str:
    """Tell the protocol of the unit with these registers; empty for none."""
    if any(name.startswith("TRC") for name in registers):
        return "etmv4"
    if any(name.startswith("ETM") for name in registers):
        return "ptm" if registers.get("ETMIDR", 0) >> 8 & 0xF == _MAJOR_PTM else "etmv3"
    return "mtb" if any(name.startswith("MTB_") for name in registers) else ""
