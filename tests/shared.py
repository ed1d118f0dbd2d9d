"""What lies beside the checkout and is no part of it: real captures and the architecture's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.capture import RawCapture
from gdb_etm.snapshot.reader import read_snapshot

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> str:
    """Return the path of a file or folder in ``../shared``; skip the test by name where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip("no %s beside the checkout" % "/".join(("shared",) + parts))
    return str(path)


def capture_folder(name: str) -> str:
    """Return the snapshot folder of a real capture, such as ``"juno_r1_1"``; skip the test where it is absent."""
    return shared("captures", name)


def read_capture(name: str) -> RawCapture:
    """Read the first buffer of a real capture; skip the test where it is absent."""
    return read_snapshot(capture_folder(name))[0]
