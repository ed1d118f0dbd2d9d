"""Differential run against QEMU's Cortex-A9, and a compiler run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.board import hand_a9
from tests.firmware.build import FOLDER, compiler, symbol
from tests.firmware.cortex_a.build import PROGRAMS, build, elf
from tests.firmware.test_firmware import loaded, version
from tests.qemu import CORTEX_A9, executed

# Where nothing depends on time, on what is at other addresses, or on a security state: this machine of QEMU's has one.
ALIKE = [name for name in PROGRAMS if name not in ("modes", "worlds")]


@pytest.mark.sweep
@pytest.mark.parametrize("name", ALIKE)
def test_the_board_runs_what_qemu_runs(name: str, tmp_path: Path) -> None:
    path, truth = elf(name), tmp_path / "truth"
    with hand_a9.board(elf=path, truth=str(truth), hold=False) as script:
        script.run_to_halt()
        lines = hand_a9.read_truth(truth)
    end = symbol(path, "finished")
    assert lines.pop() == "halt 0x%08x" % end
    # QEMU begins at the entry point, and the board at the vector that leads there.
    assert executed(path, end, machine=CORTEX_A9) == [int(line, 16) for line in lines[1:]] + [end]


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_built_file_is_what_the_source_says(name: str, tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no arm-none-eabi-gcc")
    out = str(tmp_path / "out.elf")
    build(name, out)
    if version(elf(name)) == version(out):
        assert loaded(out) == loaded(elf(name))


def test_no_built_file_names_where_it_was_built() -> None:
    for path in map(elf, PROGRAMS):
        assert str(FOLDER.parent.parent).encode() not in Path(path).read_bytes()
