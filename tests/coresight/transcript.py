"""Transcripts of register accesses, as a port that requires them."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from gdb_etm.access.recording import Replayer


def transcript(base: int, text: str) -> Replayer:
    """Make a port from lines of accesses.

    Such as ``r 304 = 1003``, ``w 020 = 1``, ``block fb8 = 1 2`` and ``fifo 010 = 5 6``.

    Offsets and values are hexadecimal; what follows ``;`` is a remark.

    :param base: Address of the component.
    """
    accesses: List[Dict[str, Any]] = [{"port": "AHB-AP 0"}]
    for line in text.splitlines():
        words = line.partition(";")[0].split()
        if not words:
            continue
        access: Dict[str, Any] = {"address": hex(base + int(words[1], 16))}
        values = [hex(int(word, 16)) for word in words[3:]]
        if words[0] in ("r", "w"):
            access.update(op={"r": "read32", "w": "write32"}[words[0]], value=values[0])
        else:
            access.update(op="read_" + words[0], words=len(values), values=values)
        accesses.append(access)
    return Replayer(json.dumps(access) for access in accesses)
