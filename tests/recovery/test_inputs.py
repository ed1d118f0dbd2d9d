"""Worked by hand: what is read of the program's files, and when."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gdb_etm.session.recovery_inputs import frames_and_objects
from tests.firmware.build import elf


def test_files_are_read_again_when_they_have_changed(tmp_path: Path) -> None:
    path = str(shutil.copy(elf("sort"), tmp_path / "program.elf"))
    frames, objects = frames_and_objects([path])
    assert frames is not None and objects is not None
    assert frames_and_objects([path])[0] is frames
    assert frames_and_objects([path])[1] is objects
    os.utime(path, ns=(1, 1))
    assert frames_and_objects([path])[0] is not frames
    os.remove(path)
    assert frames_and_objects([path]) == (None, None)
