"""Real GDB sessions under attack, as property tests."""

from __future__ import annotations

import pytest

from tests.gdbui.attacks import check_probe_fault, check_signal
from tests.gdbui.command_lines import check_command_lines


@pytest.mark.parametrize(
    "board, fault, after, in_drain",
    [
        ("m33", "unplug-after", 2024, False),
        ("m33", "stuck", 40, True),
        # GDB asks what the target does.
        ("m33", "stuck", 311, False),
        ("m7", "short-read", 300, True),
        ("m4", "usb-error", 2500, False),
        ("a9", "unplug-after", 30, True),
    ],
)
def test_a_probe_that_fails(board: str, fault: str, after: int, in_drain: bool) -> None:
    check_probe_fault(board, fault, after, in_drain)


@pytest.mark.parametrize(
    "phase, name, beside, delay",
    [
        ("connect", "kill", False, 0.5),
        ("drain", "interrupt", False, 0.1),
        ("reverse", "kill", True, 0.05),
        ("save", "interrupt", True, 0.0),
    ],
)
def test_a_signal(phase: str, name: str, beside: bool, delay: float) -> None:
    check_signal(phase, name, beside, delay)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_command_lines(seed: int) -> None:
    check_command_lines(seed)
