"""Differential runs against Capstone: written registers; real programs.

Capstone 5 reports flags for ADC, SBC and RSC that set none.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Set, Tuple

import capstone
import pytest
from capstone import arm
from elftools.elf.elffile import ELFFile

from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.isa import Isa
from gdb_etm.program.objects import load_objects
from gdb_etm.recovery.lift.instruction import lift
from gdb_etm.recovery.lift.operations import LR, S0, SP, Lifted, N, Slot, Z
from gdb_etm.recovery.lift.template import Template, Templates

TESTS = Path(__file__).resolve().parents[1]
DEMO = TESTS.parent / "gdb_etm/board/firmware/demo/demo.elf"
FIRMWARE = sorted((TESTS / "firmware").rglob("*.elf")) + [DEMO]
ADDRESS = 0x8000
SAMPLES = 6000
# What has no model: Armv7-A changes of mode.
EXPECTED = {"cps", "cpsie", "movs", "subs", "ldm", "srsdb", "rfeia"}


def disassembler(isa: Isa) -> capstone.Cs:
    mode = capstone.CS_MODE_ARM if isa is Isa.A32 else capstone.CS_MODE_THUMB
    found = capstone.Cs(capstone.CS_ARCH_ARM, mode | capstone.CS_MODE_V8)
    found.detail = True
    return found


def written(insn: capstone.CsInsn) -> Set[Slot]:
    # The registers and flags that Capstone says are written.
    found: Set[Slot] = set()
    for register in insn.regs_access()[1]:
        found.update(places(insn.reg_name(register)))
    plain = insn.id in (arm.ARM_INS_ADC, arm.ARM_INS_SBC, arm.ARM_INS_RSC) and "s" not in insn.mnemonic[3:]
    if insn.update_flags and not plain:
        found.update((N, Z))
    return found


def places(name: str) -> Tuple[Slot, ...]:
    names = {"sp": SP, "lr": LR, "sb": 9, "sl": 10, "fp": 11, "ip": 12}
    if name in names:
        return (names[name],)
    if name[:1] in "rsdq" and name[1:].isdigit():
        number = int(name[1:])
        words = {"r": 0, "s": 1, "d": 2, "q": 4}[name[0]]
        if not words:
            return (number,)
        return tuple([S0 + word for word in range(number * words, number * words + words) if word < 32])
    return ()


def outputs(lifted: Lifted) -> Set[Slot]:
    return {place for operation in lifted.operations for place in operation.outputs}


def samples(isa: Isa) -> Iterator[bytes]:
    chance = random.Random(int(isa))
    for _ in range(SAMPLES):
        word = chance.getrandbits(32)
        if isa is Isa.A32:
            yield (word & 0x0FFFFFFF | 0xE0000000).to_bytes(4, "little")
        else:
            yield (0xE800 + (word >> 16) % 0x1800).to_bytes(2, "little") + (word & 0xFFFF).to_bytes(2, "little")


@pytest.mark.parametrize("isa", [Isa.T32, Isa.A32], ids=["T32", "A32"])
def test_what_capstone_says_is_written_is_written(isa: Isa) -> None:
    judge, missing, checked = disassembler(isa), [], 0
    for code in samples(isa):
        insn = next(judge.disasm(code, ADDRESS, 1), None)
        if insn is None or insn.size != 4:
            continue
        checked += 1
        lifted = lift(code, ADDRESS, isa)
        lost = written(insn) - outputs(lifted)
        if lost and not excused(insn):
            missing.append("%s %s %s: %s" % (code.hex(), insn.mnemonic, insn.op_str, sorted(lost)))
    assert missing == []
    assert checked > SAMPLES // 10


def excused(insn: capstone.CsInsn) -> bool:
    # A base written back as it was; ORRS of PC and SP, where Armv8.1-M has other instructions; the banked LR of SVC;
    # and where Capstone takes what STRBT stores for what it writes, or Advanced SIMD stores for something else.
    operands = " " + insn.op_str
    if operands.endswith(("#0x0]!", "#0]!", "#-0x0]!", "lsr #32]!")) or " pc" in operands:
        return True
    return insn.mnemonic in ("svc", "strbt", "sha256h.32") or insn.mnemonic == "orrs.w" and " sp" in operands


def mapped_code(path: Path) -> Iterator[Tuple[Isa, int, bytes]]:
    # The pieces of the text section between the mapping symbols (AAELF32, 5.5.5).
    with open(path, "rb") as file:
        elf = ELFFile(file)
        text = elf.get_section_by_name(".text")
        number = elf.get_section_index(".text")
        symbols = elf.get_section_by_name(".symtab").iter_symbols()
        marks = sorted(
            (symbol["st_value"], symbol.name[1])
            for symbol in symbols
            if symbol["st_shndx"] == number and symbol.name[:2] in ("$a", "$t", "$d")
        )
        start, data = text["sh_addr"], text.data()
        for (address, mark), (end, _) in zip(marks, marks[1:] + [(start + len(data), "")]):
            if mark != "d":
                yield (Isa.T32 if mark == "t" else Isa.A32), address, data[address - start : end - start]


def unmodelled(path: Path) -> Tuple[int, List[str]]:
    # How many instructions a program has, and the mnemonics of those without a model.
    count, names = 0, []
    for isa, address, code in mapped_code(path):
        judge, index = disassembler(isa), 0
        while index + 2 <= len(code):
            lifted = lift(code[index : index + 4], address + index, isa, m_profile="cortex_a" not in str(path))
            if not lifted.modelled:
                insn: Optional[capstone.CsInsn] = next(judge.disasm(code[index : index + 4], address + index, 1), None)
                names.append(insn.mnemonic if insn else code[index : index + 4].hex())
            count += 1
            index += lifted.size
    return count, names


@pytest.mark.parametrize("path", FIRMWARE, ids=lambda path: "%s/%s" % (path.parent.name, path.name))
def test_what_compilers_make_is_modelled(path: Path) -> None:
    count, names = unmodelled(path)
    other: Dict[str, int] = Counter(name for name in names if name not in EXPECTED)
    assert other == {}
    assert count > 50


# Of a template, all but what is found out later.
PARTS = (
    "address",
    "size",
    "isa",
    "condition",
    "steps",
    "reads",
    "kills",
    "writes",
    "kind",
    "goes_to",
    "taken",
    "target",
)
PARTS += ("interworks", "aligned", "call", "rounds", "moves", "stack", "asks")


def test_equal_instructions() -> None:
    """Equal instructions are lifted once, except those of one address alone."""
    program, count = Program(load_elf(str(DEMO))), 0
    templates = Templates(program, True)
    kept: Dict[bytes, Template] = {}
    for start, end in load_objects([str(DEMO)]).functions:
        for at in range(start, end, 2):
            template = templates.at(at, Isa.T32)
            again = Templates(program, True).at(at, Isa.T32)
            assert (template is None) is (again is None)
            if template is not None:
                assert [getattr(template, name) for name in PARTS] == [getattr(again, name) for name in PARTS]
                same = kept.setdefault(program.read(at, template.size), template)
                count += same is not template and same.variants is template.variants
    assert count > 100
