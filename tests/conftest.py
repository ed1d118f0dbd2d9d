"""What every test relies on, however the suite was started."""

from __future__ import annotations

import signal
from typing import Iterator, List

import pytest

from tests import gdb_marker, gdb_session


def pytest_configure() -> None:
    """Let Ctrl-C arrive: a shell starts what it runs in the background with SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    """Mark what drives GDB, before markers choose."""
    for item in items:
        gdb_marker.mark(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let what starts a GDB know which test it is for."""
    gdb_session.running = item
    yield
    gdb_session.running = None
