"""Worked by hand, run on Unicorn; and newlib as compiled."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Dict, Optional, Tuple

import pytest

from gdb_etm.history.calls import call_history
from gdb_etm.history.exits import Exits
from gdb_etm.history.frames import Function
from gdb_etm.program.far_jumps import FarJumps
from gdb_etm.program.image import Program, load_elf
from gdb_etm.recovery.rules import Rules
from tests.firmware.build import symbol
from tests.recovery.small import CODE, built, run, wrong

# What the BL at "site" leads to, "there", and whether it is a far jump.
CASES: Dict[str, Tuple[str, bool]] = {
    "a jump within a function": ("push {r4, lr}\nsite: bl there\nnop\nthere: adds r4, #1\npop {r4, pc}", True),
    "behind the first one, another": (
        "push {r4, lr}\nsite: bl there\nnop\nfurther: pop {r4, pc}\nthere: adds r4, #1\nbl further",
        True,
    ),
    "calls on the way": (
        "push {r4, lr}\nsite: bl there\nnop\nthere: bl leaf\nmov lr, r3\nbl leaf\npop {r4, pc}\nleaf: bx lr",
        True,
    ),
    "a frame pointer": ("push {r7, lr}\nsite: bl there\nnop\nthere: mov sp, r7\nadd sp, #8\npop {r7, pc}", True),
    "of Armv8-M's baseline": (
        "push {r4, lr}\nsite: bl there\nnop\nthere: movw r0, #0x1234\nudiv r0, r0, r4\ncbz r0, 1f\n1: pop {r4, pc}",
        True,
    ),
    "a function that saves LR": (
        "site: bl there\nb end\nthere: cmp r0, #0\nbeq 1f\npush {r4, lr}\n1: pop {r4, pc}",
        False,
    ),
    "a function that keeps LR": ("site: bl there\nb end\nthere: movs r0, #1\nbx lr", False),
    "one that moves it": ("site: bl there\nb end\nthere: mov r3, lr\npop {r0, pc}", False),
    "one that does not return": ("site: bl there\nthere: bl leaf\nb there\nleaf: bx lr", False),
    # What follows the last call is no part of the function.
    "one that ends with a call that does not return": (
        "site: bl there\nthere: bl hang\n.short 0xbd00\nhang: b hang",
        False,
    ),
    # As libgcc's __gnu_thumb1_case_uqi: it returns behind the table, which looks like POP here.
    "a table behind a call": (
        "site: bl there\nthere: bl case\n.short 0xbd00\ncase: mov r1, lr\nadds r1, #2\nmov lr, r1\nbx lr",
        False,
    ),
    # As libgcc's __restore_core_regs.
    "another stack": ("site: bl there\nthere: mov ip, r3\nmov sp, ip\npop {pc}", False),
    "a thread's stack": ("site: bl there\nthere: msr psp, r0\npop {r4, pc}", False),
    # Mainline cores have a B that reaches far.
    "of a mainline core": ("site: bl there\nthere: strd r0, r1, [r2]\npop {r4, pc}", False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bl_to_code_that_returns_by_what_it_has_not_pushed(name: str) -> None:
    source, is_far = CASES[name]
    path = built(source)
    assert FarJumps(Program(load_elf(path))).has(symbol(path, "site")) is is_far


def test_other_instructions_are_none() -> None:
    jumps = FarJumps(Program(load_elf(built("push {r4, lr}\nb there\nnop\nthere: pop {r4, pc}"))))
    assert not any(jumps.has(address) for address in range(CODE - 2, CODE + 12, 2))


@pytest.mark.parametrize("cpu", ["cortex-m0plus", "cortex-m23", "cortex-m33"])
def test_newlib(cpu: str, tmp_path: Path) -> None:
    # A far jump leads to no symbol, a call to a function's.
    source, elf = tmp_path / "main.c", tmp_path / "main.elf"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        'int main(int count, char **words) { return printf("%g", strtod(words[0], 0)) + scanf("%d", &count); }\n'
    )
    gcc = ["arm-none-eabi-gcc", "-mcpu=" + cpu, "-mthumb", "--specs=nosys.specs", "-w", "-o", elf, source]
    subprocess.run(gcc, check=True, stderr=subprocess.DEVNULL)
    shown = subprocess.run(["arm-none-eabi-objdump", "-d", elf], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^ +([0-9a-f]+):\t\w{4} \w{4} +\tbl\t[0-9a-f]+ <([^>]*)>", shown, re.MULTILINE)
    jumps = FarJumps(Program(load_elf(str(elf))))
    assert len(found) > 500
    assert [name for site, name in found if jumps.has(int(site, 16)) is not ("+" in name)] == []
    assert (sum("+" in name for _, name in found) > 20) is (cpu != "cortex-m33")


LOOP = """
    bl long
    b end
long:
    push {r4, lr}
    movs r4, #0
1:  adds r4, #1
    cmp r4, #4
    beq 2f
    bl far
    nop
2:  pop {r4, pc}
far:
    adds r0, #2
    bl leaf
    bl 1b
leaf:
    bx lr
"""


def test_it_is_no_call_in_the_call_history() -> None:
    ran, path = run(LOOP), built(LOOP)
    ends = [symbol(path, name) for name in ("start", "long", "leaf", "end")]
    functions = [Function(name, *bounds) for name, bounds in zip(("start", "long", "leaf"), zip(ends, ends[1:]))]

    def resolve(address: int) -> Optional[Function]:
        return next((one for one in functions if one.start <= address < one.end), None)

    calls = call_history(ran.history, resolve, Exits(ran.history.program))
    shown = [(one.level, one.function.name) for one in calls.entries(1, len(calls)) if hasattr(one, "function")]
    assert max(level for level, _ in shown) == 2
    assert [name for _, name in shown].count("leaf") == 3


@pytest.mark.parametrize("seed", range(4))
def test_it_leaves_its_address_in_lr(seed: int) -> None:
    ran = run(LOOP, seed=seed)
    recovery = ran.recovery(Rules())
    assert wrong(ran, recovery) == []
    site = symbol(built(LOOP), "far")
    assert recovery.register(ran.number(site), "lr").value == ran.before[ran.number(site) - 1]["lr"]
