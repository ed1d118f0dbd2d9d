"""Property tests with real pyOCD on the board m33: hostile and damaged clients of all our servers, a short run of each.

``scripts/fuzz`` runs more of them.
"""

from __future__ import annotations

from typing import List

import pytest
from hypothesis import given, settings

from tests.replay import hostile

pytest.importorskip("unicorn")


@settings(max_examples=60, deadline=None)
@given(hostile.SPEECH)
def test_a_replay(pieces: List[str]) -> None:
    hostile.check_target(pieces)


@settings(max_examples=60, deadline=None)
@given(hostile.SPEECH, hostile.SPEECH)
def test_a_proxy_between_two(pieces: List[str], replies: List[str]) -> None:
    hostile.check_proxy(pieces, replies)


@settings(max_examples=60, deadline=None)
@given(hostile.SPEECH, hostile.SPEECH)
def test_who_stands_beside_pyocd(pieces: List[str], replies: List[str]) -> None:
    hostile.check_beside(pieces, replies)


@settings(max_examples=60, deadline=None)
@given(hostile.MESSAGES)
def test_the_control_port(lines: List[str]) -> None:
    hostile.check_desk(lines)


@settings(max_examples=10, deadline=None)
@given(hostile.SPEECH)
def test_pyocds_server_behind_our_door(pieces: List[str]) -> None:
    hostile.check_pyocd(pieces)
