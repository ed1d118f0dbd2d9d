"""Data beside the checkout: real captures and the architecture's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.capture import RawCapture
from gdb_etm.snapshot.reader import read_snapshot

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> str:
    """Return a path in ``../shared``; skip the test where it is absent.

    The test's report names the path.
    """
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip("no %s beside the checkout" % "/".join(("shared",) + parts))
    return str(path)


def capture_folder(name: str) -> str:
    """Return a real capture's snapshot folder; skip the test where absent.

    A name is such as ``"juno_r1_1"``.
    """
    return shared("captures", name)


def read_capture(name: str) -> RawCapture:
    """Read a real capture's first buffer; skip the test where absent."""
    return read_snapshot(capture_folder(name))[0]
