"""Elements of ETMv3 and PTM streams as readable lines."""

from __future__ import annotations

from typing import Union

from gdb_etm.protocols.elements import Context, DataGap, Event, Gap, Range
from tests.protocols.etmv4.streams import line as common_line


def line(element: Union[Range, Event]) -> str:
    """Write an element in a few words."""
    if isinstance(element, Context):
        words = ["NS" if element.non_secure else "S"]
        words += [] if element.exception_level is None else ["EL%d" % element.exception_level]
        words += [] if element.context_id is None else ["CID %x" % element.context_id]
        words += [] if element.vmid is None else ["VMID %x" % element.vmid]
        return " ".join(words)
    if isinstance(element, (Gap, DataGap)):
        where = "" if not isinstance(element, Gap) or element.address is None else " %x" % element.address
        detail = ": " + element.detail if element.detail else ""
        kind = "gap" if isinstance(element, Gap) else "data gap"
        return "%s %s%s%s" % (kind, element.reason.name, where, detail)
    return common_line(element)
