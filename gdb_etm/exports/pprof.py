"""Profile as pprof's protocol buffer.

Ref: google/pprof, proto/profile.proto.  The document holds the same as plain data; ``encode.py`` makes bytes of it.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from gdb_etm.analysis.profile import CallNode, CallProfile
from gdb_etm.exports.sources import SourceOf


def pprof_document(profile: CallProfile, source_of: SourceOf) -> Dict[str, Any]:
    """Give all stacks with their calls and own costs.

    :param source_of: Finds a function's source.
    """
    numbers: Dict[Tuple[str, int], int] = {}
    functions: List[Dict[str, Any]] = []
    samples: List[Dict[str, Any]] = []
    for node, above in profile.root.walk():
        if node.own or node.calls:
            # Innermost first.
            stack = [_number(one, numbers, functions, source_of) for one in (node, *reversed(above[1:]))]
            samples.append({"stack": stack, "values": [node.calls, node.own]})
    return {"unit": profile.unit, "functions": functions, "samples": samples}


def _number(
    node: CallNode, numbers: Dict[Tuple[str, int], int], functions: List[Dict[str, Any]], source_of: SourceOf
) -> int:
    # From 1.
    key = node.name, node.function.start if node.function is not None else 0
    if key not in numbers:
        numbers[key] = len(functions) + 1
        file, line = (source_of(key[1]) if node.function is not None else None) or ("", 0)
        functions.append({"name": node.name, "address": key[1], "file": file, "line": line})
    return numbers[key]
