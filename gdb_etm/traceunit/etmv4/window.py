"""What can remember whether an ETMv4 traces, and the start and stop points by the processor's comparators.

IHI 0064, 4.1.3 and 7.3.
"""

from __future__ import annotations

from typing import Iterator, Sequence

from gdb_etm.registers import etmv4
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.resources import counter_to_spare
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite
from gdb_etm.traceunit.window import Window, WindowMemory, plan_window


def window_of(options: TraceOptions, capabilities: Capabilities) -> Window:
    """Find out what starts and stops the trace.

    :raises UnsupportedError: Nothing is left that can remember whether it is on.
    """
    missing = "TRCIDR5.NUMCNTR" if capabilities.field("TRCIDR5.NUMSEQSTATE") else "TRCIDR5.NUMSEQSTATE"
    memory = WindowMemory(
        bool(capabilities.field("TRCIDR5.NUMSEQSTATE")),
        counter_to_spare(options.counters, capabilities),
        "%s is %d" % (missing, capabilities.field(missing)),
    )
    return plan_window(options, memory)


def watched_writes(window: Window) -> Iterator[RegisterWrite]:
    """Write the start and stop points by the processor's comparators, if there are any."""
    if window.watched_start + window.watched_stop:
        register = etmv4.TRCVIPCSSCTLR
        fields = {"START": _mask(window.watched_start), "STOP": _mask(window.watched_stop)}
        why = "start and stop by the processor's comparators"
        yield RegisterWrite(register.name, register.offset, register.encode(**fields), register.mask, why)


def _mask(numbers: Sequence[int]) -> int:
    return sum(1 << n for n in set(numbers))
