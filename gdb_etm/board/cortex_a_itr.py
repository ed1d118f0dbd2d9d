"""Instructions that a debugger has a Cortex-A run in Debug state.

Ref: DDI 0406C, C5.3 and C8.  They are A32, whatever the state of the core.  Those that are about the PC, CPSR and the
transfer channel mean something of their own there; Unicorn runs the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from unicorn import arm_const

from gdb_etm.board.cortex_a_engine import CPSR_T, CortexAEngine
from gdb_etm.board.stops import RunEnd

_ALWAYS = 0xE
# Those of a transfer channel are of coprocessor 14: MRC, MCR, LDC, STC.
_MRC, _MCR, _DCC = 0x0E100E15, 0x0E000E15, 0x0FFF0FFF
_LDC, _STC, _BLOCK = 0x0C105E00, 0x0C005E00, 0x0E50FF00
# MRC of an identification register (CRn 0): that of the cache size Unicorn's instruction reads as 0.
_MRC_ID, _MRC_ID_MASK = 0x0E100F10, 0x0F1F0F10
_USER, _MODE = 0x10, 0x1F
_MRS, _MRS_MASK = 0x010F0000, 0x0FFF0FFF
_MSR, _MSR_MASK = 0x0120F000, 0x0FF0FFF0
_FROM_PC, _FROM_PC_MASK = 0x01A0000F, 0x0FFF0FFF
_TO_PC, _BX, _JUMP_MASK = 0x01A0F000, 0x012FFF10, 0x0FFFFFF0
_LDR, _STR = 0xE4100000, 0xE4000000
# R0 to R14, by Unicorn's numbers.
REGISTERS = [arm_const.UC_ARM_REG_R0 + n for n in range(13)] + [arm_const.UC_ARM_REG_SP, arm_const.UC_ARM_REG_LR]
_DFSR, _DFAR = (5, 0, 0, 0), (6, 0, 0, 0)
# DFSR: a synchronous external abort, and that it was a store.
_EXTERNAL, _WRITE = 0x008, 1 << 11
_PC = 15


@dataclass
class TransferChannel:
    """DBGDTRRX, from the debugger, and DBGDTRTX, to it."""

    input: int = 0
    output: int = 0
    is_input_full: bool = False
    is_output_full: bool = False


class DebugStateInstructions:
    """Runs instructions from DBGITR.

    :param engine: The core's registers and instructions.
    """

    def __init__(self, engine: CortexAEngine) -> None:
        self._engine = engine
        self.channel = TransferChannel()

    def run(self, opcode: int) -> str:
        """Run one.

        :returns: ``"abort"``, ``"undefined"``, or nothing.
        """
        if opcode >> 28 != _ALWAYS:
            return self._by_unicorn(opcode)
        if opcode & _DCC in (_MRC, _MCR):
            return self._transfer(opcode)
        if opcode & _BLOCK in (_LDC, _STC) and opcode >> 16 & 0xF != _PC:
            return self._transfer_memory(opcode)
        return self._about_state(opcode)

    def _about_state(self, opcode: int) -> str:
        engine = self._engine
        number, source = opcode >> 12 & 0xF, opcode & 0xF
        if opcode & _MRC_ID_MASK == _MRC_ID and number != _PC and engine.cpsr & _MODE != _USER:
            register = (0, source, opcode >> 21 & 7, opcode >> 5 & 7)
            engine.write(REGISTERS[number], engine.read_system(register, not engine.non_secure))
        elif opcode & _MRS_MASK == _MRS and number != _PC:
            engine.write(REGISTERS[number], engine.cpsr)
        elif opcode & _MSR_MASK == _MSR and source != _PC:
            mask = sum(0xFF << 8 * n for n in range(4) if opcode >> 16 + n & 1)
            pc, cpsr = engine.pc & ~1, engine.cpsr & ~mask | engine.read(REGISTERS[source]) & mask
            engine.change_mode(cpsr)
            engine.pc = pc | bool(cpsr & CPSR_T)
        elif opcode & _FROM_PC_MASK == _FROM_PC and number != _PC:
            engine.write(REGISTERS[number], (engine.pc & ~1) + (4 if engine.pc & 1 else 8) & 0xFFFFFFFF)
        elif opcode & _JUMP_MASK == _TO_PC and source != _PC:
            thumb = engine.pc & 1
            engine.pc = engine.read(REGISTERS[source]) & (~1 if thumb else ~3) | thumb
        elif opcode & _JUMP_MASK == _BX and source != _PC:
            engine.pc = engine.read(REGISTERS[source])
        else:
            return self._by_unicorn(opcode)
        return ""

    def _transfer(self, opcode: int) -> str:
        number = opcode >> 12 & 0xF
        if number == _PC:
            return "undefined"
        if opcode & _DCC == _MRC:
            self._engine.write(REGISTERS[number], self.channel.input)
            self.channel.is_input_full = False
        else:
            self.channel.output, self.channel.is_output_full = self._engine.read(REGISTERS[number]), True
        return ""

    def _transfer_memory(self, opcode: int) -> str:
        # As an LDR or STR of a register that is put back.
        engine, base = self._engine, opcode >> 16 & 0xF
        spare = 1 if base != 1 else 2
        kept = engine.read(REGISTERS[spare])
        is_before, is_up, changes = opcode >> 24 & 1, opcode >> 23 & 1, opcode >> 21 & 1
        opcode = (
            (_LDR if opcode & _BLOCK == _LDC else _STR)
            | is_before << 24
            | is_up << 23
            | (changes & is_before) << 21
            | base << 16
            | spare << 12
            | (opcode & 0xFF) << 2
        )
        if not is_before and not changes:
            # The form without an offset: the coprocessor's option.
            opcode = opcode & ~0xFFF | 1 << 24
        is_load = opcode >> 20 & 1
        if not is_load:
            engine.write(REGISTERS[spare], self.channel.input)
        result = self._by_unicorn(opcode)
        if not result and is_load:
            self.channel.output, self.channel.is_output_full = engine.read(REGISTERS[spare]), True
        elif not result:
            self.channel.is_input_full = False
        engine.write(REGISTERS[spare], kept)
        return result

    def _by_unicorn(self, opcode: int) -> str:
        found = self._engine.execute(opcode)
        if found.stop in (RunEnd.READ, RunEnd.WRITE, RunEnd.UNALIGNED):
            secure = not self._engine.non_secure
            self._engine.write_system(_DFSR, secure, _EXTERNAL | (_WRITE if found.stop is RunEnd.WRITE else 0))
            self._engine.write_system(_DFAR, secure, found.address)
            return "abort"
        return "" if found.stop is RunEnd.LIMIT else "undefined"
