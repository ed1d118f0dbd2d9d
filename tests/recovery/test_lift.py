"""Vectors worked by hand from DDI 0553, C2, and A-profile F5.

They are of what is easily got wrong, and of what Unicorn does not run.
"""

from __future__ import annotations

from typing import Dict, Optional

import pytest

from gdb_etm.program.conditions import ALWAYS
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.lift.instruction import execution_condition, lift
from gdb_etm.recovery.lift.operations import (
    BASEPRI,
    CONTROL,
    FP_MODE,
    FPCA,
    FPSCR,
    GE,
    LR,
    MEANT,
    MSP,
    PRIMASK,
    PSP,
    S0,
    SLOTS,
    SP,
    C,
    Lifted,
    N,
    Op,
    Slot,
    V,
    Z,
)
from tests.recovery.interpreter import Result, Value, run

ADDRESS = 0x1000
R0, R1, R2, R3, R4, R5, R7, R12 = 0, 1, 2, 3, 4, 5, 7, 12


def narrow(*halves: int) -> bytes:
    return b"".join(half.to_bytes(2, "little") for half in halves)


def state(**places: int) -> Dict[Slot, int]:
    before = dict.fromkeys(range(64), 0)
    before.update({SLOTS[name]: value for name, value in places.items()})
    return before


def execute(code: bytes, isa: Isa = Isa.T32, in_it_block: bool = False, **places: int) -> Result:
    return run(lift(code, ADDRESS, isa, in_it_block), state(**places), lambda address, size: address & 0xFFFF)


def changed(code: bytes, in_it_block: bool = False, **places: int) -> Dict[Slot, Value]:
    before = state(**places)
    after = execute(code, Isa.T32, in_it_block, **places).places
    return {place: value for place, value in after.items() if value != before[place]}


def a32(word: int, **places: int) -> Dict[Slot, Value]:
    before = state(**places)
    after = execute(word.to_bytes(4, "little"), Isa.A32, **places).places
    return {place: value for place, value in after.items() if value != before[place]}


class TestFlagsOfImmediates:
    def test_one_that_is_not_rotated_leaves_the_carry(self) -> None:
        assert changed(narrow(0xF05F, 0x0000), r0=5, c=1) == {R0: 0, Z: 1}  # movs r0, #0
        assert changed(narrow(0xF05F, 0x30FF), c=1) == {R0: 0xFFFFFFFF, N: 1}  # movs r0, #0xffffffff

    def test_one_that_is_rotated_sets_it_to_its_top_bit(self) -> None:
        assert changed(narrow(0xF05F, 0x4000)) == {R0: 0x80000000, N: 1, C: 1}  # movs r0, #0x80000000
        assert changed(narrow(0xF05F, 0x7080), c=1) == {R0: 0x1000000, C: 0}  # movs r0, #0x1000000
        assert changed(narrow(0xF011, 0x4F00), r1=0x80000000) == {N: 1, C: 1}  # tst r1, #0x80000000

    def test_in_a32(self) -> None:
        assert a32(0xE3B000FF, c=1) == {R0: 0xFF}  # movs r0, #255
        assert a32(0xE3B00102) == {R0: 0x80000000, N: 1, C: 1}  # movs r0, #0x80000000
        assert a32(0xE3B00401, c=1) == {R0: 0x1000000, C: 0}  # movs r0, #0x1000000

    def test_the_16_bit_move_leaves_the_carry(self) -> None:
        assert changed(narrow(0x2000), r0=1, c=1, v=1) == {R0: 0, Z: 1}


class TestShifts:
    def test_an_amount_of_0_in_the_encoding(self) -> None:
        assert changed(narrow(0x0008), r1=0x80000000, c=1) == {R0: 0x80000000, N: 1}  # movs r0, r1
        assert changed(narrow(0x0808), r1=0x80000000) == {Z: 1, C: 1}  # lsrs r0, r1, #32
        assert changed(narrow(0x1008), r1=0x80000000) == {R0: 0xFFFFFFFF, N: 1, C: 1}  # asrs r0, r1, #32
        assert changed(narrow(0xEA5F, 0x0031), r1=3, c=1) == {R0: 0x80000001, N: 1}  # rrxs r0, r1

    @pytest.mark.parametrize(
        "amount, result, carry",
        [(0, 0x80000001, 1), (0x100, 0x80000001, 1), (1, 2, 1), (32, 0, 1), (33, 0, 0), (255, 0, 0)],
    )
    def test_lsl_by_a_register(self, amount: int, result: int, carry: int) -> None:
        after = execute(narrow(0x4088), r0=0x80000001, r1=amount, c=1).places  # lsls r0, r1
        assert (after[R0], after[C]) == (result, carry)

    @pytest.mark.parametrize(
        "half, amount, result, carry",
        [
            (0x40C8, 32, 0, 1),  # lsrs r0, r1
            (0x40C8, 33, 0, 0),
            (0x4108, 32, 0xFFFFFFFF, 1),  # asrs r0, r1
            (0x4108, 200, 0xFFFFFFFF, 1),
            (0x41C8, 32, 0x80000001, 1),  # rors r0, r1
            (0x41C8, 33, 0xC0000000, 1),
            (0x41C8, 0, 0x80000001, 0),
        ],
    )
    def test_right_by_a_register(self, half: int, amount: int, result: int, carry: int) -> None:
        after = execute(narrow(half), r0=0x80000001, r1=amount).places
        assert (after[R0], after[C]) == (result, carry)


class TestCarries:
    def test_plain_adc_and_sbc_set_no_flags(self) -> None:
        assert changed(narrow(0xEB41, 0x0002), r1=0xFFFFFFFF, r2=1, c=1) == {R0: 1}  # adc r0, r1, r2
        assert changed(narrow(0xEB61, 0x0002), r1=1, r2=2) == {R0: 0xFFFFFFFE}  # sbc r0, r1, r2

    def test_with_s_they_do(self) -> None:
        assert changed(narrow(0xEB51, 0x0002), r1=0x7FFFFFFF, c=1) == {R0: 0x80000000, N: 1, C: 0, V: 1}
        assert changed(narrow(0x4188), r0=5, r1=5) == {R0: 0xFFFFFFFF, N: 1}  # sbcs r0, r1
        assert changed(narrow(0x4148), r0=0xFFFFFFFF, c=1) == {R0: 0, Z: 1}  # adcs r0, r1: the carry stays 1

    def test_the_result_may_be_an_operand(self) -> None:
        assert changed(narrow(0x1800), r0=0x80000000) == {R0: 0, Z: 1, C: 1, V: 1}  # adds r0, r0, r0
        assert changed(narrow(0x4240), r0=0x80000000) == {N: 1, V: 1}  # negs r0, r0

    def test_a_long_accumulation_carries(self) -> None:
        after = execute(narrow(0xFBE2, 0x0103), r0=0xFFFFFFFF, r1=7, r2=1, r3=1).places  # umlal r0, r1, r2, r3
        assert (after[R0], after[R1]) == (0, 8)

    def test_a_long_flag_is_of_both_words(self) -> None:
        assert a32(0xE0910392, r2=0, r3=0) == {Z: 1}  # umulls r0, r1, r2, r3
        assert a32(0xE0910392, r2=0x10000, r3=0x10000) == {R1: 1}


class TestItBlocks:
    def test_16_bit_data_processing_sets_no_flags(self) -> None:
        assert changed(narrow(0x2000), True, r0=1) == {R0: 0}
        assert changed(narrow(0x1888), True, r1=0x80000000, r2=0x80000000, r0=1) == {R0: 0}
        assert changed(narrow(0x4348), True, r0=0x80000000, r1=1) == {}

    def test_comparisons_do(self) -> None:
        assert changed(narrow(0x2800), True) == {Z: 1, C: 1}  # cmp r0, #0
        assert changed(narrow(0x4288), True) == {Z: 1, C: 1}  # cmp r0, r1
        assert changed(narrow(0x4208), True) == {Z: 1}  # tst r0, r1

    def test_32_bit_instructions_do_what_they_say(self) -> None:
        assert changed(narrow(0xF05F, 0x0000), True) == {Z: 1}

    def test_it_itself_computes_nothing(self) -> None:
        assert lift(narrow(0xBF08), ADDRESS, Isa.T32) == Lifted(2, ())

    @pytest.mark.parametrize("code", [0xBF00, 0xBF20, 0xBE00, 0xDF00, 0xBF40])
    def test_hints_and_calls_of_the_system_compute_nothing(self, code: int) -> None:
        assert lift(narrow(code), ADDRESS, Isa.T32) == Lifted(2, ())

    def test_conditions(self) -> None:
        assert execution_condition(narrow(0x2000), Isa.T32, 0x08) == 0
        assert execution_condition(narrow(0x2000), Isa.T32, 0x18) == 1
        assert execution_condition(narrow(0x2000), Isa.T32) == ALWAYS
        assert execution_condition(narrow(0xD0FE), Isa.T32) == ALWAYS
        assert execution_condition(narrow(0xEA51, 0x8002), Isa.T32) == ALWAYS  # csel
        assert execution_condition((0x03A00001).to_bytes(4, "little"), Isa.A32) == 0
        assert execution_condition((0xFA000000).to_bytes(4, "little"), Isa.A32) == ALWAYS


class TestBranches:
    def test_pop_loads_the_target_and_may_change_the_state(self) -> None:
        lifted = lift(narrow(0xBD10), ADDRESS, Isa.T32)  # pop {r4, pc}
        result = run(lifted, state(sp=0x2000), lambda address, size: address | 1)
        assert (result.target, lifted.interworks) == (0x2005, True)
        assert (result.places[R4], result.places[SP]) == (0x2001, 0x2008)
        assert result.aligned == (0x2000,)

    def test_mov_to_pc_ignores_bit_0(self) -> None:
        lifted = lift(narrow(0x46B7), ADDRESS, Isa.T32)  # mov pc, r6
        assert (lifted.target, lifted.interworks) == (6, False)

    def test_mov_to_pc_in_a32_interworks(self) -> None:
        lifted = lift((0xE1A0F00E).to_bytes(4, "little"), ADDRESS, Isa.A32)
        assert (lifted.target, lifted.interworks) == (LR, True)

    def test_add_to_pc_reads_it_4_further_on(self) -> None:
        result = execute(narrow(0x4487), r0=0x20)  # add pc, r0
        assert result.target == ADDRESS + 4 + 0x20

    def test_blx_to_lr_goes_where_it_pointed(self) -> None:
        result = execute(narrow(0x47F0), lr=0x3001)
        assert (result.target, result.places[LR]) == (0x3001, ADDRESS + 3)

    def test_bl(self) -> None:
        lifted = lift(narrow(0xF000, 0xF800), ADDRESS, Isa.T32)
        assert (lifted.call, lifted.target, lifted.taken) == (True, None, None)
        assert changed(narrow(0xF000, 0xF800)) == {LR: ADDRESS + 5}

    def test_table_branches(self) -> None:
        code = narrow(0xE8D1, 0xF012)  # tbh [r1, r2, lsl #1]
        result = run(lift(code, ADDRESS, Isa.T32), state(r1=0x4000, r2=3), lambda address, size: address - 0x4000)
        assert result.target == ADDRESS + 4 + 2 * 6
        code = narrow(0xE8DF, 0xF002)  # tbb [pc, r2]: the table begins behind it
        result = run(lift(code, ADDRESS, Isa.T32), state(r2=5), lambda address, size: address - ADDRESS)
        assert result.target == ADDRESS + 4 + 2 * 9

    def test_compare_and_branch(self) -> None:
        assert execute(narrow(0xB110), r0=0).taken == 1  # cbz r0
        assert execute(narrow(0xB910), r0=0).taken == 0  # cbnz r0

    def test_a_conditional_branch(self) -> None:
        assert execute(narrow(0xD801), c=1, z=0).taken == 1  # bhi
        assert execute(narrow(0xD801), c=1, z=1).taken == 0

    @pytest.mark.parametrize("code", [narrow(0xD0FF), narrow(0xF000, 0x8000)])
    def test_a_branch_to_where_it_falls_tells_nothing(self, code: bytes) -> None:
        assert lift(code, ADDRESS, Isa.T32).taken is None


class TestTransfers:
    def test_push_stores_what_sp_was_above(self) -> None:
        result = execute(narrow(0xB500 | 0x02), sp=0x2000, r1=7, lr=9)  # push {r1, lr}
        assert [(write.address, write.value) for write in result.writes] == [(0x1FF8, 7), (0x1FFC, 9)]
        assert result.places[SP] == 0x1FF8

    def test_a_base_in_the_list_of_a_load_is_loaded(self) -> None:
        assert execute(narrow(0xC903), r1=0x2000).places[R1] == 0x2004  # ldmia r1, {r0, r1}

    def test_a_base_in_the_list_of_a_store(self) -> None:
        result = execute(narrow(0xC103), r1=0x2000)  # stmia r1!, {r0, r1}: what it stores of r1 is not known
        assert [write.value for write in result.writes] == [0, None]
        result = execute(narrow(0xC006), r0=0x2000)
        assert result.places[R0] == 0x2008

    def test_writeback_before_and_after(self) -> None:
        result = execute(narrow(0xF841, 0x0D04), r1=0x2000)  # str r0, [r1, #-4]!
        assert (result.writes[0].address, result.places[R1]) == (0x1FFC, 0x1FFC)
        result = execute(narrow(0xF841, 0x0B04), r1=0x2000)  # str r0, [r1], #4
        assert (result.writes[0].address, result.places[R1]) == (0x2000, 0x2004)

    def test_a_store_exclusive_stores_or_does_not(self) -> None:
        lifted = lift(narrow(0xE841, 0x2300), ADDRESS, Isa.T32)  # strex r3, r2, [r1]
        assert [operation.op for operation in lifted.operations] == [Op.UNKNOWN, Op.BIT, Op.LOAD, Op.SELECT, Op.STORE]
        assert lifted.operations[1].outputs == (R3,)

    def test_a_literal_is_at_an_aligned_address(self) -> None:
        lifted = lift(narrow(0x4800), 0x1002, Isa.T32)  # ldr r0, [pc, #0]
        assert lifted.operations[0].inputs[0] == (0x1004,)

    def test_sp_loses_bits_1_and_0_on_m_profile_alone(self) -> None:
        assert changed(narrow(0x46B5), r6=0x2003)[SP] == 0x2000  # mov sp, r6
        lifted = lift(narrow(0x46B5), ADDRESS, Isa.T32, m_profile=False)
        assert lifted.operations[0].op == Op.COPY

    def test_a_lowered_sp_is_plain_addition(self) -> None:
        lifted = lift(narrow(0xB082), ADDRESS, Isa.T32)  # sub sp, #8
        assert [operation.op for operation in lifted.operations] == [Op.ADD]

    def test_a32_takes_pc_8_further_on(self) -> None:
        assert a32(0xE28F0004) == {R0: ADDRESS + 12}  # add r0, pc, #4


class TestSpecialRegisters:
    def test_cpsid_i(self) -> None:
        assert changed(narrow(0xB672)) == {PRIMASK: 1}
        assert changed(narrow(0xB672), control=1) == {}
        assert changed(narrow(0xB672), control=1, handler=1) == {PRIMASK: 1}

    def test_reading_stack_pointers(self) -> None:
        msp, psp = narrow(0xF3EF, 0x8008), narrow(0xF3EF, 0x8009)
        assert execute(msp, sp=0x100, msp=1, psp=0x200).places[R0] == 0x100
        assert execute(psp, sp=0x100, msp=1, psp=0x200).places[R0] == 0x200
        assert execute(msp, sp=0x100, msp=0x300, psp=1, control=2).places[R0] == 0x300
        assert execute(psp, sp=0x100, msp=0x300, psp=1, control=2).places[R0] == 0x100
        assert execute(psp, sp=0x100, msp=1, psp=0x200, control=2, handler=1).places[R0] == 0x200

    def test_writing_stack_pointers(self) -> None:
        psp = narrow(0xF380, 0x8809)  # msr psp, r0
        assert changed(psp, r0=0x2004, sp=0x100) == {PSP: 0x2004}
        assert changed(psp, r0=0x2007, sp=0x100, control=2) == {SP: 0x2004}
        assert changed(psp, r0=0x2004, sp=0x100, control=3) == {}
        assert changed(narrow(0xF380, 0x8808), r0=0x2004, sp=0x100) == {SP: 0x2004}  # msr msp, r0

    def test_switching_stacks(self) -> None:
        control = narrow(0xF380, 0x8814)  # msr control, r0
        assert changed(control, r0=2, sp=0x100, psp=0x200) == {CONTROL: 2, SP: 0x200, MSP: 0x100}
        assert changed(control, r0=0, control=2, sp=0x200, msp=0x100) == {CONTROL: 0, SP: 0x100, PSP: 0x200}
        # What becomes of SPSEL there depends on the architecture; SP is MSP all the same.
        assert changed(control, r0=2, handler=1, sp=0x100, psp=0x200) == {CONTROL: None, MSP: 0x100}
        assert changed(control, r0=2, control=1, sp=0x100, psp=0x200) == {MSP: 0x100}

    def test_flags(self) -> None:
        assert changed(narrow(0xF380, 0x8800), r0=0xA0000000) == {N: 1, C: 1}  # msr apsr_nzcvq, r0
        assert changed(narrow(0xF380, 0x8400), r0=0xA00F0000) == {GE: 15}  # msr apsr_g, r0

    def test_basepri_has_three_bits_at_least(self) -> None:
        lifted = lift(narrow(0xF380, 0x8811), ADDRESS, Isa.T32)  # msr basepri, r0
        assert lifted.operations[-1].outputs == (BASEPRI,)
        assert lifted.modelled

    def test_every_one_that_is_not_whole_has_its_bits_told(self) -> None:
        assert {CONTROL, BASEPRI, PRIMASK, GE} <= set(MEANT)


class TestArmv81M:
    def test_le_counts_down(self) -> None:
        code = narrow(0xF00F, 0xC001)
        assert (execute(code, lr=2).taken, changed(code, lr=2)) == (1, {LR: 1})
        assert (execute(code, lr=1).taken, changed(code, lr=1)) == (0, {})
        assert (execute(code, lr=0x80000000).taken, changed(code, lr=0x80000000)) == (1, {LR: 0x7FFFFFFF})

    def test_le_without_a_count(self) -> None:
        assert lift(narrow(0xF02F, 0xC001), ADDRESS, Isa.T32) == Lifted(4, ())

    def test_wls_and_dls_begin_a_loop(self) -> None:
        assert (execute(narrow(0xF041, 0xC001), r1=5).taken, changed(narrow(0xF041, 0xC001), r1=5)) == (0, {LR: 5})
        assert (execute(narrow(0xF041, 0xC001), lr=7).taken, changed(narrow(0xF041, 0xC001), lr=7)) == (1, {})
        assert changed(narrow(0xF041, 0xE001), r1=5) == {LR: 5}

    @pytest.mark.parametrize("second, no", [(0x8002, 9), (0x9002, 10), (0xA002, 0xFFFFFFF6), (0xB002, 0xFFFFFFF7)])
    def test_conditional_selects(self, second: int, no: int) -> None:
        code = narrow(0xEA51, second)  # csel and its like r0, r1, r2, eq
        assert execute(code, r1=5, r2=9, z=1).places[R0] == 5
        assert execute(code, r1=5, r2=9, z=0).places[R0] == no

    @pytest.mark.parametrize("second", [0x210D, 0x010F, 0xC12D], ids=["lsll by r2", "lsll by 0", "asrl by r12"])
    def test_long_shifts_are_unknown(self, second: int) -> None:
        lifted = lift(narrow(0xEA50, second), ADDRESS, Isa.T32)
        assert {place for operation in lifted.operations for place in operation.outputs} == {0, 1}
        assert not lifted.modelled

    def test_cset(self) -> None:
        assert execute(narrow(0xEA5F, 0x900F), z=0).places[R0] == 1  # csinc r0, zr, zr, eq

    def test_clrm(self) -> None:
        assert changed(narrow(0xE89F, 0x8003), r0=1, r1=2, r2=3, z=1) == {R0: 0, R1: 0, Z: 0}

    def test_the_other_vector_instructions_may_change_anything(self) -> None:
        lifted = lift(narrow(0xEF00, 0x0840), ADDRESS, Isa.T32)  # vadd.i8 q0, q0, q0
        outputs = {place for operation in lifted.operations for place in operation.outputs}
        assert not lifted.modelled
        assert set(range(15)) | {N, Z, C, V} | set(range(S0, S0 + 32)) <= outputs
        assert any(operation.op == Op.CLOBBER for operation in lifted.operations)


class TestUnpredictable:
    @pytest.mark.parametrize(
        "code",
        [
            narrow(0xEB0F, 0x0001),  # add.w r0, pc, r1
            narrow(0xE9F1, 0x1004),  # ldrd r1, r0, [r1, #16]!
            narrow(0xF84F, 0x0010),  # a store to a literal
            narrow(0xFB01, 0xFF02),  # mul with PC
        ],
    )
    def test_everything_may_change(self, code: bytes) -> None:
        lifted = lift(code, ADDRESS, Isa.T32)
        assert not lifted.modelled and lifted.target is None

    def test_a64_is_refused(self) -> None:
        with pytest.raises(ValueError):
            lift(bytes(4), ADDRESS, Isa.A64)

    @pytest.mark.parametrize("code, isa", [(b"", Isa.T32), (b"\x00\xf0", Isa.T32), (bytes(3), Isa.A32)])
    def test_half_an_instruction_is_refused(self, code: bytes, isa: Isa) -> None:
        with pytest.raises(ValueError):
            lift(code, ADDRESS, isa)


def value_of(lifted: Lifted, place: Slot) -> Optional[int]:
    return next((operation.op for operation in lifted.operations if place in operation.outputs), None)


class TestFloatingPoint:
    def test_flags_come_from_fpscr(self) -> None:
        after = execute(narrow(0xEEF1, 0xFA10), fpscr=0x60000000, fpca=1).places  # vmrs apsr_nzcv, fpscr
        assert (after[N], after[Z], after[C], after[V]) == (0, 1, 1, 0)

    def test_each_instruction_sets_fpca(self) -> None:
        assert changed(narrow(0xEEB0, 0x0A60), s1=3) == {S0: 3, FPCA: 1, FPSCR: None}  # vmov.f32 s0, s1

    def test_without_aspen_it_stays_or_was_set_before_aspen_was_cleared(self) -> None:
        add = lift(narrow(0xEE30, 0x0A81), ADDRESS, Isa.T32, aspen=False)  # vadd.f32 s0, s1, s2
        kept = run(add, state(fpca=1, fp_mode=2, fp_default=1), lambda address, size: 0).places
        assert (kept[FPCA], kept[FP_MODE]) == (1, 2)
        lost = run(add, state(fp_mode=2, fp_default=1), lambda address, size: 0).places
        assert (lost[FPCA], lost[FP_MODE]) == (None, None)

    def test_constants(self) -> None:
        assert execute(narrow(0xEEF7, 0x0A00)).places[S0 + 1] == 0x3F800000  # vmov.f32 s1, #1.0
        after = execute(narrow(0xEEB9, 0x1B04)).places  # vmov.f64 d1, #-5.0
        assert (after[S0 + 2], after[S0 + 3]) == (0, 0xC0140000)

    def test_sign(self) -> None:
        assert execute(narrow(0xEEB0, 0x0AE0), s1=0x80000001).places[S0] == 1  # vabs.f32 s0, s1
        assert execute(narrow(0xEEB1, 0x0B41), s3=1).places[S0 + 1] == 0x80000001  # vneg.f64 d0, d1

    def test_selection(self) -> None:
        code = narrow(0xFE00, 0x0A81)  # vseleq.f32 s0, s1, s2
        assert execute(code, s1=5, s2=6, z=1).places[S0] == 5
        assert execute(code, s1=5, s2=6).places[S0] == 6

    def test_the_first_one_takes_the_mode_from_fpdscr(self) -> None:
        code = narrow(0xEE71, 0x0AA0)  # vadd.f32 s1, s3, s1: two numbers and what the rounding makes of them
        numbers = {"s3": 0x3F800000, "s1": 0x30000000}
        assert execute(code, fp_mode=1, fp_default=0, **numbers).places[S0 + 1] == 0x3F800000
        after = execute(code, fp_mode=0, fp_default=1, **numbers).places
        assert (after[S0 + 1], after[FP_MODE]) == (0x3F800001, 1)
        assert execute(code, fp_mode=1, fpca=1, **numbers).places[S0 + 1] == 0x3F800001

    def test_a_product_is_rounded_before_it_is_added_and_a_fused_one_is_not(self) -> None:
        numbers = {"s0": 0xBF800000, "s1": 0x3F800001, "s2": 0x3F7FFFFE}  # -1, 1 + 2**-23, 1 - 2**-23
        assert execute(narrow(0xEE00, 0x0A81), **numbers).places[S0] == 0  # vmla.f32 s0, s1, s2
        assert execute(narrow(0xEEA0, 0x0A81), **numbers).places[S0] == 0xA8800000  # vfma.f32: -2**-46

    def test_a_comparison_gives_flags(self) -> None:
        code = narrow(0xEEB4, 0x0A60)  # vcmp.f32 s0, s1
        lifted = lift(code, ADDRESS, Isa.T32)
        assert value_of(lifted, FPSCR) == Op.BITS and lifted.modelled
        assert [operation.op for operation in lifted.operations if operation.op == Op.FCOMPARE]

    def test_conversions_round_towards_zero_or_as_the_mode_says(self) -> None:
        cut, rounded = narrow(0xEEBD, 0x0AE0), narrow(0xEEBD, 0x0A60)  # vcvt, vcvtr.s32.f32 s0, s1
        assert execute(cut, s1=0xC0200000).places[S0] == 0xFFFFFFFE  # -2.5
        assert execute(rounded, s1=0xC0200000, fp_default=2).places[S0] == 0xFFFFFFFD

    def test_fixed_point(self) -> None:
        from_fixed, to_fixed = narrow(0xEEBA, 0x0AE8), narrow(0xEEBE, 0x0AE8)  # 32 - 17 bits of fraction
        assert execute(from_fixed, s0=0x4000).places[S0] == 0x3F000000  # 0.5
        assert execute(to_fixed, s0=0xBF000000).places[S0] == 0xFFFFC000
        assert execute(from_fixed, s0=0x7FFFFFFF, fp_default=3).places[S0] == 0x47800000  # to nearest in any mode

    def test_double_precision_is_unknown(self) -> None:
        lifted = lift(narrow(0xEE31, 0x0B02), ADDRESS, Isa.T32)  # vadd.f64 d0, d1, d2
        assert value_of(lifted, S0) is value_of(lifted, S0 + 1) == Op.UNKNOWN and not lifted.modelled

    def test_lists(self) -> None:
        result = execute(narrow(0xED2D, 0x8B04), sp=0x2000, s16=1, s19=4)  # vpush {d8, d9}
        assert [(write.address, write.value) for write in result.writes] == [
            (0x1FF0, 1),
            (0x1FF4, 0),
            (0x1FF8, 0),
            (0x1FFC, 4),
        ]
        assert result.places[SP] == 0x1FF0
