"""The board's truth, and a differential run: traced results of conditions.

The other side is OpenCSD's packets.

Which instructions are conditional is Capstone's word.  OpenCSD refuses to decode execution where conditional
instructions are traced (1.3.3: "Trace on conditional non-branch elements not supported"), and lists packets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

import pytest
from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, CS_MODE_V8, Cs
from capstone.arm import ARM_CC_AL, ARM_CC_INVALID, ARM_GRP_CALL, ARM_GRP_JUMP, ARM_REG_PC
from elftools.elf.elffile import ELFFile

from gdb_etm.capture import RawCapture
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import build
from gdb_etm.history.store import TracedInstruction
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.listing import list_packets
from tests.board import hand
from tests.board.test_etm_unit import FULL, PROGRAMS, run_with_truth, told
from tests.protocols.opencsd import opencsd_packets

LOADS, STORES, BOTH, ALL = 1 << 8, 2 << 8, 3 << 8, 7 << 8
SELECTION = 8
_LOAD, _STORE = ("ldr", "ldm", "pop", "vldr", "vpop", "vldm"), ("str", "stm", "push", "vstr", "vpush", "vstm")


def conditional(program: str) -> Dict[int, int]:
    """Find conditional instructions other than branches, with a number.

    4 for most, 1 for a load, 2 for a store, 8 for VSEL.
    """
    disassembler = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS | CS_MODE_V8)
    disassembler.detail = True
    found: Dict[int, int] = {}
    for start, code in stretches(program):
        for each in disassembler.disasm(code, start):
            if each.mnemonic.startswith("it"):
                continue
            selects = each.mnemonic.startswith("vsel")
            writes = each.regs_access()[1]
            is_branch = ARM_REG_PC in writes or each.group(ARM_GRP_JUMP) or each.group(ARM_GRP_CALL)
            if selects or each.cc not in (ARM_CC_AL, ARM_CC_INVALID) and not is_branch:
                found[each.address] = each.mnemonic.startswith(_LOAD) | each.mnemonic.startswith(_STORE) << 1 | 4
                found[each.address] |= SELECTION * selects
    return found


def stretches(program: str) -> Iterator[Tuple[int, bytes]]:
    """Return the program's code without data, by its mapping symbols."""
    with open(hand.FIRMWARE / (program + ".elf"), "rb") as stream:
        file = ELFFile(stream)
        symbols = [
            (each["st_value"], each.name, each["st_shndx"])
            for each in file.get_section_by_name(".symtab").iter_symbols()
            if each.name[:2] in ("$t", "$d")
        ]
        for index in {place for _, _, place in symbols}:
            section = file.get_section(index)
            if section["sh_type"] != "SHT_PROGBITS":
                continue
            base, data = section["sh_addr"], section.data()
            marks = sorted((value, name) for value, name, place in symbols if place == index)
            ends = [value for value, _ in marks[1:]] + [base + len(data)]
            for (start, name), end in zip(marks, ends):
                if name.startswith("$t"):
                    yield start, data[start - base : end - base]


def expected(lines: List[str], program: str, selection: int) -> List[Tuple[int, Optional[bool]]]:
    """Read the truth's instructions, and whether they passed if traced."""
    of = conditional(program)
    wanted = 4 if selection == ALL else selection >> 8
    words = [line.split() for line in lines if line.startswith("0x")]
    return [
        (int(each[0], 16), each[1:] != ["failed"] if of.get(int(each[0], 16), 0) & wanted else None) for each in words
    ]


def outcomes(capture: RawCapture) -> List[Tuple[int, Optional[bool]]]:
    """Decode; return each instruction's address and outcome, if known."""
    (history,) = build(capture).values()
    return [
        (item.address, history.outcome(item.number))
        for item in history.walk(1, len(history))
        if isinstance(item, TracedInstruction)
    ]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "program, configuration",
    [
        *((program, ALL) for program in (*PROGRAMS, "transfers")),
        *((program, ALL | FULL | hand.BROADCAST) for program in ("sort", "interrupts", "tasks")),
        *((program, which) for program in ("branches", "transfers") for which in (LOADS, STORES, BOTH)),
    ],
)
def test_outcomes_are_the_truth(program: str, configuration: int, tmp_path: Path) -> None:
    run, lines = run_with_truth(program, tmp_path, configuration)
    assert not run.wrapped
    assert told(run.capture) == run.truth
    assert outcomes(run.capture) == expected(lines, program, configuration & ALL)


def test_programs_have_both_outcomes(tmp_path: Path) -> None:
    """Of IT blocks, and of VSEL, which Unicorn runs whatever its condition."""
    for program, kind in (("branches", "it"), ("transfers", "it"), ("fpu", "vsel")):
        (tmp_path / program).mkdir()
        _, lines = run_with_truth(program, tmp_path / program, ALL)
        selects = kind == "vsel"
        selections = {each for each, what in conditional(program).items() if bool(what & SELECTION) == selects}
        found = {passed for address, passed in expected(lines, program, ALL) if address in selections}
        assert found == {True, False}, program


def test_a_buffer_that_wrapped_has_the_last_outcomes(tmp_path: Path) -> None:
    """From a synchronisation point's Conditional Flush on, results are matched."""
    run, lines = run_with_truth("ticks", tmp_path, ALL | hand.BROADCAST, 2048, sync=8)
    assert run.wrapped
    found = outcomes(run.capture)
    assert sum(passed is not None for _, passed in found) > 20
    assert found == expected(lines, "ticks", ALL)[-len(found) :]


def test_outcomes_after_an_overflow(tmp_path: Path) -> None:
    run, lines = run_with_truth("sort", tmp_path, ALL, faults="overflow:500")
    (history,) = build(run.capture).values()
    assert [item.reason for item in history.events if isinstance(item, Gap)].count(GapReason.OVERFLOW) == 1
    found, real = outcomes(run.capture), expected(lines, "sort", ALL)
    assert len(found) < len(real)
    before = next(n for n, (left, right) in enumerate(zip(found, real)) if left != right)
    assert before > 100 and len(found) - before > 100
    assert found[before:] == real[before - len(found) :]


@pytest.mark.parametrize("configuration", [ALL, BOTH | FULL])
def test_opencsd_lists_the_same_packets(configuration: int, tmp_path: Path) -> None:
    run, _ = run_with_truth("transfers", tmp_path, configuration)
    (source,) = run.capture.sources
    data = bytes(deframe(run.capture.buffer).streams[hand.TRACE_ID].data)
    listed = opencsd_packets(tmp_path / "packets", source, data)
    # It lists the address in an Exception packet by itself.
    theirs = [one for before, one in zip([None, *listed], listed) if before is None or before.name != "I_EXCEPT"]
    ours = list(list_packets(Etmv4Config.from_source(source), data, lambda position: position))
    assert [packet.offset for packet in ours] == [packet.offset for packet in theirs]
    results = [packet for packet in theirs if packet.name == "I_COND_RES_F2"]
    assert len(results) == sum(passed is not None for _, passed in outcomes(run.capture)) > 20
    assert "I_COND_FLUSH" in {packet.name for packet in theirs}
