"""Micro Trace Buffer that halts the core before it is full.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.4 and 3.2.3: MTB_FLOW.AUTOHALT.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from gdb_etm.registers import mtb
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.options import TraceOptions

# As what servers tell a halt that an external request has caused (pyOCD, OpenOCD).
REQUEST_SIGNALS = ("SIGTRAP", "SIGSTOP", "SIGINT")


class WatermarkHalt:
    """What halts the core when the buffer is nearly full.

    :param session: It traces, with a Micro Trace Buffer.
    """

    # Nobody else may take the watermark.
    is_ours = True
    # As what servers tell its halts.
    signals = REQUEST_SIGNALS

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        # How tracing was started; None where it was left so.
        self._options: Optional[TraceOptions] = None

    def take(self) -> Optional[str]:
        """Trace anew, with the watermark.

        :returns: Why that cannot be, which is never so: None.
        :raises EtmError: The hardware does not do as it should.
        """
        self._options = self._session.connected().session().options
        if self._options is not None:
            self._start(replace(self._options, halts_when_full=True))
        return None

    def arm(self, cycles: int) -> int:
        """Do nothing: each start of the trace arms it."""
        return 0

    def count(self) -> int:
        """Give nothing: cycles are not counted."""
        return 0

    def is_over(self, count: int) -> bool:
        """Tell whether it has asked for the last halt."""
        record = self._session.current
        if record is None:
            return False
        return bool(mtb.MASTER.get(record.capture.sources[0].registers.get(mtb.MASTER.name, 0), "HALTREQ"))

    def release(self) -> None:
        """Trace anew, without the watermark."""
        options, self._options = self._options, None
        if options is not None and self._session.connected().is_tracing:
            self._start(options)

    def _start(self, options: TraceOptions) -> None:
        self._session.connected().start(options)
        self._session.on_trace_start()
