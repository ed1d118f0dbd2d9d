"""The board's truth: stores are where the points-to analysis says."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

import pytest
from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs, CsInsn
from capstone.arm import ARM_OP_MEM

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.objects import NO_OBJECT, load_objects
from gdb_etm.program.ram import SRAM
from gdb_etm.recovery.pointers.points_to import PointsTo
from tests.firmware.recovery.build import board_of
from tests.recovery.truth import Run, prepare

HALT = 70001
# What capstone calls otherwise.
NAMES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}
# Bytes by mnemonic; of others of these beginnings 4.
SIZES = {"strb": 1, "strexb": 1, "strh": 2, "strexh": 2, "strd": 8}
MNEMONICS = ("str", "stm", "push", "vst", "vpush")


class Stores:
    """The store instructions of a program, and where they went.

    :param run: Of the program.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._program = Program(load_elf(run.elf))
        self._disassembler = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8)
        self._disassembler.detail = True
        self._known: Dict[int, Optional[CsInsn]] = {}

    def after(self, points_to: PointsTo) -> Iterator[Tuple[int, int]]:
        """Give each store's address and its first and last byte.

        Those since the last code that clears memory."""
        run = self._run
        addresses = [run.items[place] for place in run.places]
        ran = [index for index, address in enumerate(addresses) if points_to.is_initialiser(_number(address))]
        for index in range(max(ran, default=-1) + 1, len(addresses)):
            address = _number(addresses[index])
            store = self._at(address)
            if store is not None and not run.failed[index]:
                for byte in self._bytes(store, index):
                    yield address, byte

    def _at(self, address: int) -> Optional[CsInsn]:
        if address not in self._known:
            found = list(self._disassembler.disasm(self._program.read(address, 4), address, 1))
            self._known[address] = found[0] if found and found[0].mnemonic.startswith(MNEMONICS) else None
        return self._known[address]

    def _bytes(self, store: CsInsn, index: int) -> Tuple[int, int]:
        # Its first byte and its last.
        name = store.mnemonic.split(".")[0]
        memory = [operand for operand in store.operands if operand.type == ARM_OP_MEM]
        if memory:
            start = self._register(store, memory[0].mem.base, index)
            if "]," not in store.op_str:
                start += memory[0].mem.disp
            if memory[0].mem.index:
                start += self._register(store, memory[0].mem.index, index) << memory[0].shift.value
            size = SIZES.get(name, 8 if name == "vstr" and store.op_str.startswith("d") else 4)
        else:
            pushed = "push" in name
            words = store.operands[0 if pushed else 1 :]
            size = len(words) * (8 if store.reg_name(words[0].reg).startswith("d") else 4)
            start = self._run.value("sp", index) if pushed else self._register(store, store.operands[0].reg, index)
            start -= size if pushed or name.endswith("db") else 0
        return start & 0xFFFFFFFF, (start + size - 1) & 0xFFFFFFFF

    def _register(self, store: CsInsn, number: int, index: int) -> int:
        name = store.reg_name(number)
        return self._run.value(NAMES.get(name, name), index)


def _number(item: object) -> int:
    assert isinstance(item, int)
    return item


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the runs."""
    return tmp_path_factory.mktemp("stores")


@pytest.mark.parametrize("program", ["state-O2", "requests-Os", "algorithms-O2", "twins-O0", "text-Os", "floats-O2"])
def test_stores(program: str, folder: Path) -> None:
    """Each is in an object to which its address may lead."""
    run = Run(prepare(program, folder, HALT, board_of(program)), program, board_of(program))
    path = [run.elf]
    points_to = PointsTo(Program(load_elf(run.elf)), load_objects(path), load_frames(path), [SRAM])
    objects, escaped = points_to.objects, points_to.escaped
    wrong: List[Tuple[str, str]] = []
    inside = 0
    for address, byte in Stores(run).after(points_to):
        site, found = points_to.site(address), objects.at(byte)
        inside += found != NO_OBJECT
        if found not in site.objects and not (site.other and (found == NO_OBJECT or found in escaped)):
            wrong.append((hex(address), hex(byte)))
    assert not wrong
    # Enough to be wrong about: stores into objects, and objects that are out of reach.
    assert inside > 500 and len(escaped) < len(objects)
