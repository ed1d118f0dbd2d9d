"""The JSON that is written for programs: version, kinds, objects.

Every document and every line has ``schema``, which grows when a reader has to change, and ``kind``.  Addresses are
hexadecimal texts (``"0x2f0"``), everything else that counts is a number; ``number`` is an instruction's, from 1.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

SCHEMA = 2


def document(kind: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Make an object of a kind."""
    return {"schema": SCHEMA, "kind": kind, **fields}
