"""Profile as collapsed stacks: one line for each stack.

Ref: FlameGraph, "stackcollapse": frames from the outermost on with semicolons between, a blank, the cost.
"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.analysis.profile import CallProfile


def collapsed_lines(profile: CallProfile) -> Iterator[str]:
    """Write every stack that has a cost of its own."""
    for node, above in profile.root.walk():
        if node.own:
            names = [one.name.replace(";", ":") for one in (*above[1:], node)]
            yield "%s %d" % (";".join(names), node.own)
