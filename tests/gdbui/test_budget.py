"""Real GDB session: ``etm budget`` adds up and predicts right."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Dict, List

import pytest

from tests.gdb_session import ROOT, run_gdb

ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"


def budget(board: str, start: str = "etm start", more: str = "") -> str:
    connect = "etm connect board:%s --elf %s %s" % (board, ELF, more)
    output = run_gdb([connect, start, "continue", "echo >>>\\n", "etm budget"])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.split(">>>\n")[1]


def rate(text: str) -> float:
    """Bytes of trace for each instruction."""
    found = re.match(r"capture 1: ([\d,]+) instructions in ([\d,]+) bytes", text)
    assert found, text
    return number(found[2]) / number(found[1])


def number(text: str) -> int:
    return int(text.replace(",", ""))


def worth(text: str, option: str) -> int:
    found = re.search(r"^%s +(?:on|off)? +(?:would )?(?:saves?|takes?) +([\d,]+) " % option, text, re.M)
    assert found, text
    return number(found[1])


def sizes(text: str) -> Dict[str, List[int]]:
    """Return the bytes by trace ID, by packets, and of frames."""
    result: Dict[str, List[int]] = {"ID": [], "packets": [], "frames": []}
    for line in text.split("\n\n")[1].splitlines()[1:]:
        kind = "ID" if line.startswith("ID ") else "frames" if line.startswith("frames") else "packets"
        found = re.search(r"([\d,]+) +[\d.]+%$", line)
        assert found, line
        result[kind].append(number(found[1]))
    return result


@pytest.mark.sweep
@pytest.mark.parametrize("board, start", [("m33", "etm start"), ("m7", "etm start --data both"), ("m4", "etm start")])
def test_every_byte_is_accounted_for(board: str, start: str) -> None:
    text = budget(board, start)
    found = sizes(text)
    total = number(text.split(" bytes")[0].rpartition(" ")[2])
    assert sum(found["ID"]) + sum(found["frames"]) == total
    assert sum(found["packets"]) == sum(found["ID"])
    assert len(found["ID"]) == (2 if board == "m7" else 1)
    assert board != "m7" or worth(text, "data trace") == found["ID"][1]


def test_return_stack_and_branch_broadcast_are_worth_what_is_said() -> None:
    plain, without = budget("m33"), budget("m33", "etm start --no-return-stack")
    broadcast = budget("m33", "etm start --no-return-stack --branch-broadcast")
    assert "return stack      on   saves " in plain and "return stack      off  would save " in without

    def of(text: str) -> float:
        found = re.match(r"capture 1: ([\d,]+) ", text)
        assert found
        return 1.0 / number(found[1])

    # Within a fifth of what a run with the other choice took.
    assert rate(plain) + worth(plain, "return stack") * of(plain) == pytest.approx(rate(without), rel=0.2)
    assert rate(without) - worth(without, "return stack") * of(without) == pytest.approx(rate(plain), rel=0.2)
    assert rate(without) + worth(without, "branch broadcast") * of(without) == pytest.approx(rate(broadcast), rel=0.3)
    off = rate(broadcast) - worth(broadcast, "branch broadcast") * of(broadcast)
    assert off == pytest.approx(rate(without), rel=0.2)


def test_cycle_counts_and_timestamps() -> None:
    text = budget("m33", "etm start --cycles 4 --timestamps")
    counted = sum(number(size) for size in re.findall(r"^  Cycle Count format \d +\d+ +(\d+)", text, re.M))
    assert worth(text, "cycle counts") == counted > 500
    assert worth(text, "timestamps") > 100


def test_other_sources_have_a_line_of_their_own() -> None:
    text = budget("m33", more="--option board.faults=noise:3")
    assert re.search(r"^ID 0x01, not decoded +2,[89]\d\d ", text, re.M), text


def test_offline(tmp_path: Path) -> None:
    output = run_gdb(
        [
            "etm connect board:m33 --elf %s" % ELF,
            "etm start",
            "continue",
            "etm save %s" % (tmp_path / "s"),
            "echo >>>\\n",
            "etm budget",
        ]
    )
    shell = [str(ROOT / ".venv" / "bin" / "python"), "-m", "gdb_etm", "budget", str(tmp_path / "s"), "--elf", str(ELF)]
    done = subprocess.run(shell, cwd=str(ROOT), stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=True)
    assert output.split(">>>\n")[1].startswith(done.stdout)
    assert "return stack      on   saves" in done.stdout


def test_nothing_captured() -> None:
    assert run_gdb(["etm budget"]).startswith('nothing captured: not connected. Try "etm connect"')


def test_a_trace_id_that_is_not_there() -> None:
    output = run_gdb(["etm connect board:m33 --elf %s" % ELF, "etm start", "continue", "etm budget --id 0x77"])
    assert "no trace ID 0x77 in capture 1; it has: 0x10" in output and "frames:" not in output


def test_one_trace_id_is_measured_by_its_own_bytes() -> None:
    connect = "etm connect board:m33 --elf %s --option board.faults=noise:3" % ELF
    output = run_gdb(
        [connect, "etm start", "continue", "echo >>>\\n", "etm budget", "echo >>>\\n", "etm budget --id 0x10"]
    )
    whole, one = output.split(">>>\n")[1:]
    found = re.match(r"capture 1, ID 0x10: ([\d,]+) instructions in ([\d,]+) bytes: [\d.]+ bytes each\n", one)
    assert found, one
    assert whole.startswith("capture 1: %s instructions in 4,096 bytes: " % found[1])
    own = number(found[2])
    (listed,) = sizes(one)["ID"]
    assert listed == own < 2000
    (others,) = re.findall(r"^other trace IDs +([\d,]+) ", one, re.M)
    (frames,) = sizes(one)["frames"]
    assert own + number(others) + frames == 4096 and frames == sizes(whole)["frames"][0]
