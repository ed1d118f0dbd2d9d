"""Status registers and modes of A-profile (A-profile ARM, G1.9 and F5.1)."""

from __future__ import annotations

from gdb_etm.recovery.lift.builder import FLAGS, Builder
from gdb_etm.recovery.lift.operations import GE, LR, SP, Operand


def change_mode(build: Builder) -> None:
    """Forget the registers that other modes of A-profile have their own of."""
    build.lose((*range(8, 13), SP, LR))


def return_from_exception(build: Builder) -> None:
    """Forget what an A-profile exception return changes."""
    change_mode(build)
    build.lose((*FLAGS, GE))


def read_status(build: Builder, register: int) -> None:
    """Lift A-profile MRS of CPSR or SPSR: a value from outside."""
    build.forget((register,))


def write_status(build: Builder, value: Operand, mask: int) -> None:
    """Do A-profile MSR to the CPSR.

    :param mask: Bytes of it: 8 for the flags, 4 for GE, 1 for the mode.
    """
    if mask & 8:
        for bit, flag in zip((31, 30, 29, 28), FLAGS):
            build.set(flag, build.bit(value, bit))
    if mask & 4:
        build.set(GE, build.field(value, 16, 4))
    if mask & 1:
        change_mode(build)
