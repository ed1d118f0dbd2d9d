"""Real GDB session: etm connect enables reverse execution."""

from __future__ import annotations

import pytest

from tests.gdb_texts import no_reverse
from tests.replay.boards import ELF, run

CONNECT = "etm connect board:m33 --elf %s" % ELF


@pytest.mark.every_gdb
def test_it_can_be_left_out() -> None:
    output = run(["set etm reverse off", CONNECT, "etm start", "continue", "reverse-step", "show etm reverse"])
    assert no_reverse() in output


@pytest.mark.every_gdb
def test_a_halt_is_drained_once_and_what_is_missing_is_told() -> None:
    output = run(
        [CONNECT, "reverse-step", "set etm drain lazy", "etm start", "continue", "reverse-step", "etm history -1"]
        + ["reverse-stepi", "etm captures", "continue", "etm captures"]
    )
    assert output.count("etm: nothing was captured for this halt") == 2
    assert "0x00000304 in dispatch (" in output
    assert output.count("  halt in HardFault_Handler") == 2
    assert "* 1  4,096 bytes" in output and "2  " not in output[-80:]


def test_tracing_does_not_start_in_the_past() -> None:
    output = run(
        [CONNECT, "etm start", "tbreak crc16", "continue", "etm stop", "reverse-stepi", "etm start", "continue"]
        + ["etm captures", "etm start", "continue", "etm captures"]
    )
    refused = output.index('GDB looks at the past; "continue" to the live end first')
    assert output.count("Tracing everything") == 2 and "the live end" in output[refused:]
    listed = output[refused:].partition("Tracing everything")[0]
    assert "* 1  " in listed and "  2  " not in listed
    assert "* 2  4,096 bytes" in output and " 0 instructions" not in output
