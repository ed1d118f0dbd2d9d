"""Worked by hand: operands of instructions, and names of libraries' functions."""

from __future__ import annotations

from typing import Dict, List, Tuple

import pytest

from gdb_etm.capture import MemoryImage
from gdb_etm.diagnosis.library import is_allocator, is_library, is_release
from gdb_etm.diagnosis.operands import Operand, operands
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.lift.template import Templates

AT = 0x1000
# Armv8-M ARM (DDI 0553), C2.4: the encodings of LDR (register), STRD, LDRB, UDIV and POP.
CASES: Tuple[Tuple[str, Dict[str, int], List[Operand]], ...] = (
    # ldr.w r3, [r2, r1, lsl #2]
    ("52f82130", {"r1": 3, "r2": 0x20000000}, [Operand("load", 0x2000000C, 4, ("r1", "r2"))]),
    # strd r0, r1, [r4, #8]
    (
        "c4e90201",
        {"r4": 0x30000000},
        [Operand("store", 0x30000008, 4, ("r4",)), Operand("store", 0x3000000C, 4, ("r4",))],
    ),
    # ldrb r2, [r5, #1]
    ("6a78", {"r5": 0xFFFFFFFF}, [Operand("load", 0, 1, ("r5",))]),
    # udiv r0, r1, r2
    ("b1fbf2f0", {"r1": 7, "r2": 0}, [Operand("divide", 0, 0, ("r2",))]),
    # pop {r4, pc}
    ("10bd", {"sp": 0x20001000}, [Operand("load", 0x20001000, 4, ("sp",)), Operand("load", 0x20001004, 4, ("sp",))]),
    # str r0, [r3], where r3 is not known
    ("1860", {}, [Operand("store", None, 4, ("r3",))]),
)


@pytest.mark.parametrize("code, registers, wanted", CASES)
def test_what_an_instruction_accesses(code: str, registers: Dict[str, int], wanted: List[Operand]) -> None:
    data = bytes.fromhex(code) + bytes(4)
    template = Templates(Program([MemoryImage(AT, data, "")]), True).at(AT, Isa.T32)
    assert template is not None
    assert operands(template, registers.get) == wanted


def test_which_functions_are_a_librarys() -> None:
    for name in ("memcpy", "__aeabi_memset4", "strncpy", "_vsnprintf_r", "_ZSt9terminatev", "_malloc_r", "siprintf"):
        assert is_library(name, ""), name
    for name in ("copy_frame", "strategy", "memory_test", "printer", "stream_put"):
        assert not is_library(name, "main.c"), name
    assert is_library("__ssprint_r", "../newlib/libc/stdio/vfprintf.c")


def test_which_functions_give_memory_and_take_it_back() -> None:
    assert all(map(is_allocator, ("malloc", "_calloc_r", "pvPortMalloc", "_Znwj", "k_heap_alloc")))
    assert all(map(is_release, ("free", "_free_r", "vPortFree", "_ZdlPvj", "mem_dealloc")))
    assert not any(map(is_allocator, ("free", "dealloc", "allow", "main")))
    # Of containers, what takes memory for itself; and what is only of an allocator.
    assert is_allocator("std::__new_allocator<Job>::allocate(unsigned int, void const*)")
    grows = "void std::vector<Job, std::allocator<Job> >::_M_realloc_insert<Job>(Job&&)"
    assert not any(map(is_allocator, (grows, "std::allocator<Job>::~allocator()", "Allocator::reset()")))
    assert not any(map(is_release, ("malloc", "freeze", "is_free_slot")))
