"""Real captures: each is alike with itself."""

from __future__ import annotations

import pytest

from gdb_etm.__main__ import main
from tests.shared import capture_folder


# The Juno's cores ran a kernel, at addresses whose highest bit is one.
@pytest.mark.sweep
@pytest.mark.parametrize("name", ["juno_r1_1", "bugfix-exact-match", "Snowball", "TC2", "armv8_1m_branches"])
def test_a_capture_is_alike_with_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = capture_folder(name)
    assert main(["compare", folder, folder]) == 0
    alike = capsys.readouterr().out.splitlines()[1]
    assert alike.startswith("alike for ") and alike.endswith("; no branch went another way")
