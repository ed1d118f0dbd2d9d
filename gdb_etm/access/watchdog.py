"""Watchdog that ends the process after its client or probe.

It does so whatever the other threads wait for.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from typing import BinaryIO, Callable, List, Optional, Protocol

LOOK_SECONDS = 0.5
# From the client's end: for a request in work, and for putting back what it changed.
_CLIENT_SECONDS = 10.0
# From the probe's loss: nothing can be put back.
_PROBE_SECONDS = 2.0


class Losable(Protocol):
    """A probe that knows when it is lost."""

    # Why it is lost; None while it is not.
    lost: Optional[str]
    # Called with the reason when it is lost.
    mourners: List[Callable[[str], None]]

    def look(self) -> None:
        """Find out whether it still answers; called every :data:`LOOK_SECONDS`."""


class Watchdog:
    """Thread that looks for client and probe twice a second.

    :param reader: The pipe from the client; None where clients come and go.
    """

    def __init__(self, reader: Optional[BinaryIO] = None) -> None:
        self._reader = reader
        # The probe, once it is open.
        self.probe: Optional[Losable] = None

    def start(self) -> None:
        """Start watching.

        A lost probe is reported, and the process ends after its client.
        """
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def _run(self) -> None:
        client = select.poll()
        if self._reader is not None:
            client.register(self._reader, 0)  # its end alone, not what it sends
        is_told = False
        while not client.poll(LOOK_SECONDS * 1000):
            # Requests that failed when it was lost have been answered by the next look.
            if self.lost is not None and not is_told:
                is_told = True
                self._tell(self.lost)
            if self.probe is not None:
                self.probe.look()
        end_within(_CLIENT_SECONDS if self.lost is None else _PROBE_SECONDS)
        if self.lost is not None:
            # The main thread closes the session, unless the probe has it for good.
            os.kill(os.getpid(), signal.SIGTERM)

    @property
    def lost(self) -> Optional[str]:
        """Why the probe is lost; None while it is not."""
        return self.probe.lost if self.probe is not None else None

    def _tell(self, reason: str) -> None:
        for report in list(self.probe.mourners) if self.probe is not None else ():
            report(reason)


def end_with(pipe: BinaryIO) -> None:
    """End the process when a pipe's other end is closed.

    It ends as by Ctrl-C.
    """

    def wait() -> None:
        holder = select.poll()
        holder.register(pipe, 0)
        holder.poll()
        end_within(_CLIENT_SECONDS)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def end_within(seconds: float) -> threading.Timer:
    """End the process after a while, unless what is returned is cancelled."""
    deadline = threading.Timer(seconds, os._exit, args=(1,))
    deadline.daemon = True
    deadline.start()
    return deadline
