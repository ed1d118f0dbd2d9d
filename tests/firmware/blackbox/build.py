"""A program with the black box, built on demand into ``build/blackbox``."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple

import gdb_etm
from tests.firmware.build import FOLDER as COMMON
from tests.firmware.build import compiler

FOLDER = Path(__file__).resolve().parent
BUILT = FOLDER.parents[2] / "build" / "blackbox"
BLACK_BOX = Path(gdb_etm.__file__).resolve().parent / "firmware"
LEVELS = ("O0", "Og", "O1", "O2", "O3", "Os")
# Board: the compiler's name of its core, and the black box's configuration.
BOARDS: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "m33": ("cortex-m33", ()),
    "m7": ("cortex-m7", ()),
    "m4": ("cortex-m4", ("-DETM_BLACKBOX_BYTES=2048",)),
    "m0": ("cortex-m0plus", ("-DETM_BLACKBOX_BYTES=1024",)),
    "m23": ("cortex-m23", ("-DETM_BLACKBOX_BYTES=1024",)),
    "a9": ("cortex-a9", ("-DETM_BLACKBOX_ROM=0xf8800000", "-DETM_BLACKBOX_BYTES=2048", "-mfloat-abi=soft")),
    "m33,mtb": ("cortex-m33", ("-DETM_BLACKBOX_MTB=0xe0047000", "-DETM_BLACKBOX_BYTES=1024")),
}
# Of a Cortex-A the others are in A32 code.
_IN_T32 = ("Og", "O2", "Os")
# What the vectors of cortex_a/start.S are called.
_VECTORS = [
    "-D%s_Handler=%s_Handler" % pair for pair in (("Undefined", "Undef"), ("Prefetch", "PAbt"), ("Data", "DAbt"))
]
_FLAGS = (
    "-std=c99 -g -Wall -Wextra -Werror -Wno-infinite-recursion -ffreestanding "
    "-fno-tree-loop-distribute-patterns -fno-aggressive-loop-optimizations -nostdlib -nostartfiles "
    "-ffunction-sections -Wl,--gc-sections -Wl,--build-id=none -Wl,--no-warn-rwx-segments "
    "-T crashes/link.ld -DETM_BLACKBOX_HANDLERS"
).split()


def elf(level: str, board: str, *more: str) -> str:
    """Return the path of a build; make it if needed.

    :param level: One of LEVELS.
    :param board: One of BOARDS.
    :param more: More options of the compiler.
    """
    cpu, options = BOARDS[board]
    is_a = cpu.startswith("cortex-a")
    start = "cortex_a/start.S" if is_a else "start.c"
    sources = [start, "blackbox/crash.c", str(BLACK_BOX / "etm_blackbox.c")]
    command: List[str] = [compiler() or "arm-none-eabi-gcc", "-mcpu=" + cpu, "-" + level, *_FLAGS, *options, *more]
    command += ["-marm" if is_a and level not in _IN_T32 else "-mthumb", *(_VECTORS if is_a else ())]
    command += ["-I", str(BLACK_BOX), *sources, "-lgcc"]
    found = hashlib.sha256(repr(command).encode())
    for path in (COMMON / start, COMMON / "crashes/link.ld", FOLDER / "crash.c", *sorted(BLACK_BOX.glob("*.[ch]"))):
        found.update(path.read_bytes())
    out = BUILT / ("%s-%s-%s.elf" % (board.replace(",", "-"), level, found.hexdigest()[:12]))
    if not out.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, "-o", str(out)], cwd=str(COMMON), check=True)
    return str(out)
