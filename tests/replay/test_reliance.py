"""Real GDB sessions: what reverse execution's values may rest on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import List, Sequence

import pytest

from gdb_etm.recovery.values import Tier
from gdb_etm.replay.reliance import Reliance, regions, reliance_of
from tests.firmware.recovery.build import elf
from tests.gdb_session import ROOT
from tests.replay.boards import ELF, REPLAY, run

R3 = "output/x $r3"
CALLBACK = "output/x station.table[0].handler"
UNKNOWN = "<unavailable>"


def parts(commands: Sequence[str], source: bool = True) -> List[str]:
    """Run commands; return GDB's output of each, in one line."""
    typed = [line for command in [*commands, "echo"] for line in ("echo >>>\\n", command)]
    return [" ".join(part.split()) for part in run(typed, source).split(">>>\n")[1:-1]]


@pytest.fixture(scope="module", name="snapshot")
def fixture_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's fault, saved."""
    folder = tmp_path_factory.mktemp("reliance") / "fault"
    run(["etm connect board:m33 --etb-size 1K --elf %s" % ELF, "etm start", "continue", "etm save %s" % folder])
    return folder


def test_a_setting_takes_effect_where_gdb_is() -> None:
    begin = ["etm connect board:m33 --etb-size 1K --elf %s" % ELF, "set etm recovery off", "etm start", "continue"]
    commands = ["reverse-stepi", R3, "set etm recovery exact", R3, CALLBACK, "monitor recovery"]
    commands += ["etm set volatile 0x200000bc,4", R3, CALLBACK, "monitor volatile", "reverse-stepi", CALLBACK]
    commands += ["set etm volatile none", CALLBACK, "set etm recovery off", R3, "continue", R3, "output $_siginfo"]
    found = parts(begin + commands)[len(begin) :]
    assert found[1] == UNKNOWN and found[3] == "0x163333" and found[4] == "0x163333"
    assert found[2] == found[6] == found[12] == found[14] == ""
    assert found[5] == "recovery is exact" and found[9] == "volatile is 0x200000bc,4"
    assert found[7] == "0x163333"
    assert found[8] == found[11] == "Cannot access memory at address 0x200000bc"
    assert found[13] == "0x163333" and found[15] == UNKNOWN
    assert found[17].startswith("0x")  # the live target's


def test_a_setting_reaches_a_replayed_snapshot(snapshot: Path) -> None:
    begin = ["set etm recovery off", "etm replay %s --elf %s" % (snapshot, ELF), "reverse-stepi"]
    commands = [R3, "set etm recovery assumed", R3, "set etm volatile 0x200000bc,4", CALLBACK, "detach"]
    found = parts(begin + commands + ["set etm recovery exact"])[len(begin) :]
    assert found[0] == UNKNOWN and found[2] == "0x163333"
    assert found[1] == found[3] == found[-1] == ""
    assert found[4] == "Cannot access memory at address 0x200000bc"


def test_without_the_plug_in(snapshot: Path) -> None:
    target = "%s %s --elf %s --recovery off --volatile 0x200000bc,4" % (REPLAY, snapshot, ELF)
    begin = ["file %s" % ELF, target, "reverse-stepi"]
    commands = [R3, "monitor recovery", "monitor recovery exact", "monitor volatile", "reverse-stepi", R3, CALLBACK]
    commands += ["monitor recovery some", "monitor volatile 4", "monitor help"]
    found = parts(begin + commands, source=False)[len(begin) :]
    assert found[:4] == [UNKNOWN, "recovery is off", "recovery is exact", "volatile is 0x200000bc,4"]
    assert found[5].startswith("0x") and found[6] == "Cannot access memory at address 0x200000bc"
    assert found[7] == 'recovery: "some" is none of: exact, assumed, off'
    assert found[8] == 'volatile: "4" is no region: ADDRESS,SIZE, such as 0x20000400,64'
    assert found[9].startswith("goto N|-N|end have the next step go to")


def test_the_ram_of_the_beginning_is_known_to_gdb_too() -> None:
    program = elf("algorithms-Os")
    begin = ["etm connect board:m33 --elf %s" % program, "break quick_sort", "continue", "delete", "etm start"]
    begin += ["output numbers[0]", "set etm anchor-memory on", "break base64", "continue", "delete"]
    found = parts([*begin, "reverse-continue", "output numbers[0]"])
    assert found[-1] == found[5] and found[-1].isdigit()


def test_wrong_words_are_told_before_gdb_connects(snapshot: Path) -> None:
    line = [sys.executable, "-m", "gdb_etm", "replay", str(snapshot), "--volatile", "0x20000000"]
    done = subprocess.run(line, stderr=subprocess.PIPE, universal_newlines=True, cwd=str(ROOT), check=False)
    told = 'argument --volatile: "0x20000000" is no region: ADDRESS,SIZE, such as 0x20000400,64'
    assert done.returncode == 2 and told in done.stderr


def test_words() -> None:
    assert reliance_of({}) == Reliance(Tier.ASSUMED, ())
    found = reliance_of({"recovery": "off", "volatile": "0x20000000,0x10 64,1"})
    assert found == Reliance(Tier.UNKNOWN, ((0x20000000, 0x20000010), (64, 65)))
    assert reliance_of(found.words) == found
    assert reliance_of(Reliance().words) == Reliance()


@pytest.mark.parametrize(
    "text",
    ["x", "1", "1,", ",1", "0x,1", "1,0", "-1,2", "0xFFFFFFFF,2", "1,%d" % 10**30, "0x1_0,1", "\u0661,1"]
    + [" ".join(["0,1"] * 65)],
)
def test_what_is_no_region_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        regions(text)
