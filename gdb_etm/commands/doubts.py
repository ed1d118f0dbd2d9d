"""Notes on locations where the trace unit's comparators may miss an instruction."""

from __future__ import annotations

from typing import Iterable, Iterator

from gdb_etm.errors import EtmError
from gdb_etm.program.image import Program
from gdb_etm.program.points import doubt_of
from gdb_etm.session.session import DebugSession


def point_notes(session: DebugSession, addresses: Iterable[int]) -> Iterator[str]:
    """Say of which addresses an instruction may be missed; of a Cortex-M only, whose code is all T32."""
    trace = session.connection.trace if session.connection is not None else None
    if trace is None or not trace.core.type.startswith("Cortex-M"):
        return
    try:
        image = Program(session.images())
    except EtmError:
        return  # the program cannot be read, which is told where it is needed
    for address in dict.fromkeys(addresses):
        function = session.debugger.function_at(address)
        doubt = doubt_of(image.read, address, None if function is None else function.start)
        if doubt:
            yield "note: 0x%08x %s" % (address, doubt)
