"""What GDB says of variables, and programs to ask about."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, List, NamedTuple, Optional, Sequence

import pytest

# In GDB: of each expression its address, its size, and its type's name; null of what has none.
_SCRIPT = """
import json
def answer(expression):
    try:
        value = gdb.parse_and_eval(expression)
        name = gdb.execute("whatis " + expression, False, True).strip().partition(" = ")[2]
        address = None if value.address is None else int(value.address) & (1 << 64) - 1
        return [address, value.type.sizeof, name]
    except gdb.error as error:
        return None
with open(%r) as file:
    asked = json.load(file)
with open(%r, "w") as file:
    json.dump([answer(one) for one in asked], file)
"""


class Said(NamedTuple):
    """What GDB says of an expression."""

    address: Optional[int]
    size: int
    type_name: str


def run_gdb(path: str, script: str, folder: Path) -> None:
    """Run a script in Python in a GDB with a program.

    Skip without one."""
    gdb = shutil.which("gdb-multiarch")
    if gdb is None:
        pytest.skip("no gdb-multiarch")
    (folder / "asked.py").write_text(script)
    command = [gdb, "-nx", "-q", "-batch", path, "-ex", "source %s" % (folder / "asked.py")]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False
    )
    assert "Traceback" not in done.stdout and "Error" not in done.stdout, done.stdout[-2000:]


def ask_gdb(path: str, expressions: Sequence[str], folder: Path) -> List[Optional[Said]]:
    """Ask GDB about expressions of static variables."""
    asked, answered = folder / "asked.json", folder / "answered.json"
    asked.write_text(json.dumps(list(expressions)))
    run_gdb(path, _SCRIPT % (str(asked), str(answered)), folder)
    found: List[Any] = json.loads(answered.read_text())
    return [None if one is None else Said(*one) for one in found]


def compiled(source: str, folder: Path, *options: str, name: str = "declared.c") -> str:
    """Compile a program for the Cortex-M33; skip without a compiler.

    :param name: Its ending says in which language it is.
    """
    gcc = shutil.which("arm-none-eabi-g++" if name.endswith("cpp") else "arm-none-eabi-gcc")
    if gcc is None:
        pytest.skip("no arm-none-eabi-gcc")
    (folder / name).write_text(source)
    out = str(folder / (name + ".elf"))
    fixed = "-mcpu=cortex-m33 -mthumb -g -ffreestanding -nostdlib -nostartfiles -Wl,-Ttext=0x8000 -Wl,-Tdata=0x20000000"
    command = [gcc, *fixed.split(), "-Wl,-e,0x8000", *options, str(folder / name), "-lgcc", "-o", out]
    subprocess.run(command, check=True, cwd=folder, stderr=subprocess.DEVNULL)
    return out
