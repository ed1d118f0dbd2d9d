"""Worked by hand, and a differential run: exits of code."""

from __future__ import annotations

import capstone
import pytest

from gdb_etm.history.exits import Exit, exit_of
from gdb_etm.program.isa import InstructionKind, Isa, decode_t16, is_wide

T32 = [
    ("7047", Exit.RETURN),  # bx lr
    ("f746", Exit.RETURN),  # mov pc, lr
    ("10bd", Exit.RETURN),  # pop {r4, pc}
    ("bde8f08f", Exit.RETURN),  # pop {r4-r11, pc}
    ("5df804fb", Exit.RETURN),  # ldr pc, [sp], #4
    ("def304 8f".replace(" ", ""), Exit.RETURN),  # subs pc, lr, #4
    ("1847", Exit.INDIRECT),  # bx r3
    ("df f800f0".replace(" ", ""), Exit.INDIRECT),  # ldr pc, [pc]
    ("9847", Exit.CALL),  # blx r3
    ("00f000f8", Exit.CALL),  # bl
    ("00f000e8", Exit.CALL),  # blx
    ("dfe803f0", Exit.TABLE),  # tbb [pc, r3]
    ("dfe813f0", Exit.TABLE),  # tbh [pc, r3, lsl #1]
    ("52f821f0", Exit.TABLE),  # ldr pc, [r2, r1, lsl #2]
    ("9f44", Exit.TABLE),  # add pc, r3
    ("fee7", Exit.DIRECT),  # b .
    ("00d0", Exit.DIRECT),  # beq
    ("00f000b8", Exit.DIRECT),  # b.w
    ("00bf", Exit.DIRECT),  # nop
]
A32 = [
    ("1eff2fe1", Exit.RETURN),  # bx lr
    ("0ef0a0e1", Exit.RETURN),  # mov pc, lr
    ("1080bde8", Exit.RETURN),  # pop {r4, pc}
    ("04f09de4", Exit.RETURN),  # pop {pc}
    ("04f05ee2", Exit.RETURN),  # subs pc, lr, #4
    ("13ff2fe1", Exit.INDIRECT),  # bx r3
    ("00f09fe5", Exit.INDIRECT),  # ldr pc, [pc]
    ("000000eb", Exit.CALL),  # bl
    ("33ff2fe1", Exit.CALL),  # blx r3
    ("000000fa", Exit.CALL),  # blx
    ("03f19fe7", Exit.TABLE),  # ldr pc, [pc, r3, lsl #2]
    ("03f18fe0", Exit.TABLE),  # add pc, pc, r3, lsl #2
    ("000000ea", Exit.DIRECT),  # b
    ("00f020e3", Exit.DIRECT),  # nop
]
A64 = [
    ("c0035fd6", Exit.RETURN),  # ret
    ("e0039fd6", Exit.RETURN),  # eret
    ("ff0b5fd6", Exit.RETURN),  # retaa
    ("60001fd6", Exit.INDIRECT),  # br x3
    ("60003fd6", Exit.CALL),  # blr x3
    ("01000094", Exit.CALL),  # bl
    ("01000014", Exit.DIRECT),  # b
    ("40000054", Exit.DIRECT),  # b.eq
    ("1f2003d5", Exit.DIRECT),  # nop
]


@pytest.mark.parametrize(
    "isa, code, expected",
    [(isa, *row) for isa, rows in ((Isa.T32, T32), (Isa.A32, A32), (Isa.A64, A64)) for row in rows],
)
def test_exit(isa: Isa, code: str, expected: Exit) -> None:
    assert exit_of(bytes.fromhex(code), isa) is expected


def test_sixteen_bit_calls_agree_with_the_decoders_masks_and_capstone() -> None:
    engine = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8)
    engine.detail = True
    for half in range(0x10000):
        if is_wide(half):
            continue
        code = half.to_bytes(2, "little")
        found = exit_of(code, Isa.T32)
        classified = decode_t16(0, half)
        assert (found is Exit.CALL) == (classified.kind is not InstructionKind.OTHER and classified.link), hex(half)
        for instruction in engine.disasm(code, 0, 1):
            if found in (Exit.RETURN, Exit.INDIRECT, Exit.TABLE):
                assert "pc" in instruction.op_str or instruction.mnemonic.startswith("bx"), instruction
