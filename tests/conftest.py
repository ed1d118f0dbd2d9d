"""What every test relies on, however the suite was started."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any, Iterator, List

import pytest
from hypothesis import settings

from tests import gdb_marker, gdb_session, sweeps
from tests.access.processes import ByHand, serve_by_hand, write_forever


class _NoPyocd:
    # Finds pyOCD where it cannot be: tests that import what needs it are skipped.

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "pyocd":
            pytest.skip("pyOCD needs Python 3.9 or newer", allow_module_level=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take which part of the sweeps runs, and of the core."""
    parser.addoption(sweeps.OPTION, default="1/1", help="of tests marked sweep every third case, from the second: 2/3")
    parser.addoption(sweeps.CORE, default="1/1", help="of tests marked every_gdb every third, from the second: 2/3")


def pytest_configure() -> None:
    """Prepare for where the tests run.

    Ctrl-C is to arrive: a shell starts what it runs in the background with SIGINT ignored, and that is inherited.
    Where pyOCD cannot be, what needs it is skipped.  No example of a property has to be quick: others use the machine.
    """
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.version_info < (3, 9):
        sys.meta_path.append(_NoPyocd())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    """Mark what drives GDB; leave the other parts out."""
    for item in items:
        gdb_marker.mark(item)
    left = sweeps.choose(items, config.getoption(sweeps.OPTION), config.getoption(sweeps.CORE))
    config.hook.pytest_deselected(items=left)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let what starts a GDB know which test it is for."""
    gdb_session.running = item
    yield
    gdb_session.running = None


@pytest.fixture
def forever(tmp_path: Path) -> Path:
    """A program that runs for ever."""
    return write_forever(tmp_path / "forever.elf")


@pytest.fixture
def by_hand(forever: Path) -> Iterator[ByHand]:
    """A ``gdb-etm serve`` with that program in the board's flash."""
    served = serve_by_hand("-Oboard.elf=%s" % forever)
    yield served
    served.process.kill()
    served.process.communicate()
