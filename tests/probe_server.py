"""A simulated board at pyOCD's own probe server.

``python -m tests.probe_server m33 board.elf=app.elf`` starts one.

The board lives as long as this process does, whoever connects to it and is killed: as a board on a desk.
"""

from __future__ import annotations

import sys
import time
from typing import Sequence

from pyocd.core.helpers import ConnectHelper
from pyocd.probe.tcp_probe_server import DebugProbeServer


def serve(name: str, options: Sequence[str]) -> None:
    """Power up a board, print its probe's port, and serve it."""
    wanted = dict(option.split("=", 1) for option in options)
    session = ConnectHelper.session_with_chosen_probe(
        blocking=False, unique_id="board:" + name, target_override="cortex_m", options=wanted
    )
    assert session is not None and session.probe is not None
    # One use more than its clients have, so that it stays open when they are gone.
    session.probe.open()
    server = DebugProbeServer(session, session.probe, 0, True)
    server.start()
    while not server.port:
        time.sleep(0.01)
    print(server.port, flush=True)
    while server.is_running:
        time.sleep(0.05)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
