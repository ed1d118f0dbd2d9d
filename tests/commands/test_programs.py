"""Vectors worked by hand, and a real GDB: wrong programs.

They are not those of the snapshot or of GDB.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import List, Tuple

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.errors import ImageError
from gdb_etm.program.image import load_elf
from gdb_etm.session.programs import differences_of, with_programs
from tests.firmware.build import elf
from tests.gdb_session import run_gdb
from tests.test_main import refused, run, well

PROGRAM, OTHER = elf("sort"), elf("faults")


def holding(*images: MemoryImage, changed: Tuple[MemoryImage, ...] = ()) -> RawCapture:
    """Make a capture that holds some memory."""
    core = Core("cpu_0", "Cortex-M33", {}, changed)
    source = TraceSource("ETM_0", "etmv4", {}, core, changed + images)
    return RawCapture(b"", BufferFormat.FRAMES, (source,), BufferEnd.WRAPPED, notes=("noted",))


def images_of(capture: RawCapture) -> List[str]:
    return [image.name for image in capture.sources[0].images]


def test_the_same_program_comes_first() -> None:
    held = holding(*(image._replace(name="dump") for image in load_elf(PROGRAM)))
    (found,) = with_programs([held], [PROGRAM])
    assert images_of(found)[0] == PROGRAM and images_of(found)[-1] == "dump" and found.notes == ("noted",)


def test_another_program_is_refused() -> None:
    held = holding(*(image._replace(name="snap/code.bin") for image in load_elf(PROGRAM)))
    with pytest.raises(ImageError) as caught:
        with_programs([held], [OTHER])
    assert str(caught.value).startswith(
        "%s is another program than the snapshot's: at 0x00000008 it has c5000000, code.bin has c1000000; " % OTHER
    )
    assert str(caught.value).endswith(" bytes of code are the same.  Try the file that ran")


def test_a_breakpoint_in_the_dump_is_told_and_decoded() -> None:
    """0xBE00, BKPT #0, put by a debugger into RAM or flash."""
    code, *rest = load_elf(PROGRAM)
    patched = code._replace(data=code.data[:0x100] + b"\x00\xbe" + code.data[0x102:], name="snap/code.bin")
    (found,) = with_programs([holding(patched)], [PROGRAM])
    assert images_of(found)[0] == "snap/code.bin"
    (_, note) = found.notes
    assert note.startswith("%s differs from the snapshot's code: at 0x00000100 it has " % PROGRAM)
    assert "code.bin has 00be" in note and note.endswith("The snapshot's is decoded; names and lines may be wrong")


def test_what_the_program_changes_is_not_compared() -> None:
    """Nor data, nor what the snapshot does not hold."""
    code, data = load_elf(PROGRAM)[:2]
    assert code.address == 0 and data.address == 0x20000000
    ram = data._replace(data=bytes(len(data.data)))
    over_code = code._replace(data=bytes(len(code.data)))
    for held in (holding(ram), holding(changed=(over_code,)), holding(MemoryImage(0x1000, b"\x55" * 8, ""))):
        assert differences_of(held, [PROGRAM]) == []
    assert differences_of(holding(over_code), [PROGRAM]) != []


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a snapshot of the board, which holds its program."""
    path = str(tmp_path_factory.mktemp("programs") / "saved")
    run_gdb(["etm connect board:m33 --elf %s" % PROGRAM, "etm start", "continue", "etm save %s" % path])
    return path


@pytest.mark.parametrize("command", ["history", "functions", "elements", "packets", "budget", "replay"])
def test_the_shell_refuses_another_program(command: str, snapshot: str) -> None:
    told = refused(command, snapshot, "--elf", OTHER)
    assert told.startswith("gdb-etm: %s is another program than the snapshot's: at 0x00000008 " % OTHER)


def test_the_shell_takes_the_right_one(snapshot: str) -> None:
    assert "<Reset_Handler+80>" in well("history", snapshot, "--elf", PROGRAM, "-2").out


def test_replay_refuses_another_program(snapshot: str) -> None:
    """Whether named or loaded by GDB; GDB does not change."""
    output = run_gdb(
        [
            "etm replay %s --elf %s" % (snapshot, OTHER),
            "info files",
            "file %s" % OTHER,
            "etm replay %s" % snapshot,
            "etm replay %s --elf %s" % (snapshot, PROGRAM),
            "reverse-stepi",
        ]
    )
    assert output.count("%s is another program than the snapshot's: at 0x00000008 " % OTHER) == 2
    assert "Symbols from" not in output
    assert "%s is the program now, in the place of %s\n" % (PROGRAM, OTHER) in output
    assert "replaying %s from its end" % snapshot in output and "Reset_Handler () at start.c:" in output


def test_load_tells_of_gdbs_own_program(snapshot: str) -> None:
    output = run_gdb(
        [
            "file %s" % OTHER,
            "etm load %s" % snapshot,
            "etm load %s --elf %s" % (snapshot, OTHER),
            "etm captures",
            "etm load %s --elf %s" % (snapshot, PROGRAM),
            "etm history -2",
        ]
    )
    assert output.count("note: %s is another program than the snapshot's: at 0x00000008 " % OTHER) == 1
    assert output.count("%s is another program than the snapshot's: at 0x00000008 " % OTHER) == 2
    assert "%s is the program now, in the place of %s\ncapture 2: " % (PROGRAM, OTHER) in output
    assert output.count("<Reset_Handler+") == 3


def test_connect_takes_the_named_program() -> None:
    """Other programs, and those of other processors, are removed."""
    for other in (OTHER, elf("tables")):
        output = run_gdb(
            [
                "file %s" % other,
                "etm connect board:m33 --elf %s" % PROGRAM,
                "info files",
                "etm start",
                "continue",
                "etm history -2",
            ]
        )
        assert "%s is the program now, in the place of %s\n" % (PROGRAM, other) in output
        assert 'Symbols from "%s"' % PROGRAM in output and 'Symbols from "%s"' % other not in output
        assert "the program and the target's memory differ" not in output and "internal-error" not in output
        assert "<Reset_Handler+80>   bl   0x50 <finished>" in output


def test_a_program_with_a_target_does_not_give_way(snapshot: str) -> None:
    output = run_gdb(
        ["etm connect board:m33 --elf %s" % OTHER, "etm load %s --elf %s" % (snapshot, PROGRAM), "info symbol failed"]
    )
    assert "%s is not the program that GDB has for extended-remote " % PROGRAM in output
    assert 'which is %s: "file %s" first, if it runs there\n' % (OTHER, PROGRAM) in output
    assert "failed in section .text" in output


def test_a_fifo_is_no_program(tmp_path: Path, snapshot: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    told = "cannot read %s: it is a FIFO, not a file" % (tmp_path / "fifo")
    assert refused("history", snapshot, "--elf", str(tmp_path / "fifo")) == "gdb-etm: %s\n" % told
    output = run_gdb(
        [
            line % (tmp_path / "fifo")
            for line in (
                "etm connect board:m33 --elf %s",
                "etm load " + snapshot + " --elf %s",
                "etm replay " + snapshot + " --elf %s",
            )
        ]
        + ["etm connect board:m33 --profile %s" % (tmp_path / "fifo.toml")]
    )
    assert output.count(told + "\n") == 3
    assert run("history", str(tmp_path / "fifo")).err == "gdb-etm: %s: it is a FIFO, not a file\n" % (tmp_path / "fifo")
