"""Names worked by hand, and a trap marked as LLVM does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.diagnosis.library import is_library, is_report
from gdb_etm.diagnosis.names import DebugNames
from gdb_etm.program.frame_variables import load_frame_variables
from gdb_etm.program.image import load_elf
from gdb_etm.program.objects import load_objects
from gdb_etm.program.variables import load_variables
from tests.program.declared import compiled

# LLVM's inlined function at a trap has the kind and the reason in its name, between these signs (Clang's manual,
# __builtin_verbose_trap).
TRAPS = """
static inline __attribute__((always_inline)) void __clang_trap_msg$Pump$above_the_limit(void) { __builtin_trap(); }
void check(int level) { if (level > 40) __clang_trap_msg$Pump$above_the_limit(); }
void plain(int level) { if (level > 40) __builtin_trap(); }
"""
TRAP = b"\xff\xde"


@pytest.mark.parametrize(
    "name",
    [
        "abort",
        "__assert_func",
        "std::terminate()",
        "rust_begin_unwind",
        # As GDB writes what the compiler mangled in its first way, in its second way, and by debug information.
        "core::panicking::panic_bounds_check::h0a644426c76fc7a6",
        "core[232079858c45ac0c]::panicking::panic_bounds_check",
        "core::panicking::panic_fmt",
        "core::option::expect_failed",
        "core::result::unwrap_failed::h0123456789abcdef",
        "core::slice::index::slice_end_index_len_fail",
        "alloc::raw_vec::capacity_overflow",
        # Symbols (Rust's RFC 2603).
        "_ZN4core9panicking18panic_bounds_check17h0a644426c76fc7a6E",
        "_RNvNtCs30YITssOn10_4core9panicking18panic_bounds_check",
        "_RNvNtCs30YITssOn10_4core6option13expect_failed",
        "_ZN4core5slice5index24slice_end_index_len_fail17h0a644426c76fc7a6E",
        # What panics in Zig call.
        "debug.FullPanic((function 'onPanic')).outOfBounds",
        "debug.defaultPanic",
        "debug.panicExtra__func_1",
    ],
)
def test_what_tells_of_mistakes(name: str) -> None:
    assert is_report(name)


@pytest.mark.parametrize(
    "name",
    [
        "assert_valid",
        "abort_transfer",
        "app::panicking::count",
        "core::fmt::write::h3c7ff4c3b622dfd4",
        "core::slice::index::index",
        "_RNvCshhMbnpSDQo5_3app4poll",
        "_ZN3app5failed17h0a644426c76fc7a6E",
        "panic_led",
    ],
)
def test_what_does_not(name: str) -> None:
    assert not is_report(name)


def test_rusts_libraries_are_libraries() -> None:
    assert is_library("core::fmt::write", "/rustc/59807616e/library/core/src/fmt/mod.rs")
    assert not is_library("app::poll", "src/library/poll.rs")


def test_the_reason_of_a_trap(tmp_path: Path) -> None:
    path = compiled(TRAPS, tmp_path, "-O1")
    names = DebugNames(
        load_variables([path]), load_frame_variables([path]), load_objects([path]).markers, str, lambda address: None
    )
    image = load_elf(path)[0]
    at = [image.address + where for where in range(0, len(image.data), 2) if image.data[where : where + 2] == TRAP]
    assert [names.trap_reason(address) for address in at] == ["Pump: above_the_limit", ""]
