"""The JSON that is written for programs: version, kinds, numbers.

Every document, and every line of JSON lines, has ``schema``, which grows when a reader has to change, and ``kind``.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

SCHEMA = 2

# Addresses are hexadecimal texts: 64-bit numbers are too large for many readers.
_ADDRESSES = frozenset(("address", "return_address", "block"))


def document(kind: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Make an object of a kind, with its addresses as texts."""
    return {"schema": SCHEMA, "kind": kind, **{key: _written(key, value) for key, value in fields.items()}}


def _written(key: str, value: Any) -> Any:
    if key in _ADDRESSES and isinstance(value, int):
        return hex(value)
    if isinstance(value, dict):
        return {inner: _written(inner, one) for inner, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(key, one) for one in value]
    return value
