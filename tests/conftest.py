"""What every test relies on, however the suite was started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let Ctrl-C arrive: a shell starts what it runs in the background with SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
