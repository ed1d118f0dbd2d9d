"""Real GDB session: etm connect gives GDB reverse execution by itself, unless it is told not to."""

from __future__ import annotations

from tests.replay.boards import ELF, run

CONNECT = "etm connect board:m33 --elf %s" % ELF


def test_it_can_be_left_out() -> None:
    output = run(["set etm reverse off", CONNECT, "etm start", "continue", "reverse-step", "show etm reverse"])
    assert "Target extended-remote does not support this command." in output


def test_a_halt_is_drained_once_and_what_is_missing_is_told() -> None:
    output = run(
        [CONNECT, "reverse-step", "set etm drain lazy", "etm start", "continue", "reverse-step", "etm history -1"]
        + ["reverse-stepi", "etm captures", "continue", "etm captures"]
    )
    assert output.count("etm: nothing was captured for this halt") == 2
    assert "0x00000304 in dispatch (" in output
    assert output.count("halt in HardFault_Handler") == 2 and "* 1  4,096 bytes" in output and "2  " not in output[-80:]
