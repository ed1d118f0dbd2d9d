"""Profile as JSON of speedscope.

Ref: speedscope's file-format-schema.json: one sampled profile for each thread and exception.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Tuple

from gdb_etm.analysis.profile import CallNode, CallProfile
from gdb_etm.exports.sources import SourceOf

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope_lines(profile: CallProfile, name: str, source_of: SourceOf) -> Iterator[str]:
    """Write all stacks.

    :param name: Of the profile.
    :param source_of: Finds a function's source.
    """
    numbers: Dict[Tuple[str, int], int] = {}
    frames: List[Dict[str, Any]] = []
    profiles = []
    for root in profile.root.children.values():
        stacks: List[List[int]] = []
        weights: List[int] = []
        for node, above in root.walk():
            if node.own:
                stacks.append([_number(one, numbers, frames, source_of) for one in (*above[1:], node)])
                weights.append(node.own)
        profiles.append(
            {
                "type": "sampled",
                "name": "%s (%s)" % (root.name, profile.unit),
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": stacks,
                "weights": weights,
            }
        )
    yield json.dumps({"$schema": _SCHEMA, "name": name, "shared": {"frames": frames}, "profiles": profiles})


def _number(
    node: CallNode, numbers: Dict[Tuple[str, int], int], frames: List[Dict[str, Any]], source_of: SourceOf
) -> int:
    key = node.name, node.function.start if node.function is not None else -1
    found = numbers.get(key)
    if found is None:
        found = numbers[key] = len(frames)
        frame: Dict[str, Any] = {"name": node.name}
        source = source_of(key[1]) if node.function is not None else None
        if source is not None:
            frame.update(file=source[0], line=source[1])
        frames.append(frame)
    return found
