"""Real GDB sessions: how a program came to its crash."""

from __future__ import annotations

import re

import pytest

from tests.firmware.crashes.build import elf, ways
from tests.gdb_session import run_gdb

PATH = ["<HardFault", "call", "fail", "deeper", "deeper", "deeper", "deeper", "thread"]


def crash(board: str, way: str, *commands: str) -> str:
    """Crash a program in an unprivileged thread; return the output."""
    order = ["way = %d" % ways()[way], "enabled = 0", "control = 3"]
    prepare = ["set var order.%s" % each for each in order]
    connect = "etm connect board:%s --elf %s" % (board, elf("integers"))
    output = run_gdb([connect, *prepare, "etm start", "continue", "echo >>>\\n", *commands])
    assert "Traceback" not in output and "contradict" not in output, output
    return output.split(">>>\n")[1]


@pytest.mark.parametrize("board", ["m33", "m4"])
def test_a_call_through_a_null_pointer(board: str) -> None:
    output = crash(
        board, "call_null", "etm history -1", "etm backtrace", "etm goto end", "reverse-stepi", "etm info registers"
    )
    assert re.search(
        r"^\d+ +0x\w+ <call\+\d+> +blx +r3\n<HardFault \(exception 3\), return address 0x00000000>$",
        output,
        re.MULTILINE,
    ), output
    # An ETMv3 does not say that the core was halted in the handler.
    names = re.findall(r"^#\d+ +(?:0x\w+ in )?(<?\w+)", output, re.MULTILINE)
    first = names.index("<HardFault")
    assert names[first : first + len(PATH)] == PATH
    assert re.search(r"^r3 +0x00000000 ", output, re.MULTILINE), output
    assert re.search(r"^sp +0x\w{8}", output, re.MULTILINE)
