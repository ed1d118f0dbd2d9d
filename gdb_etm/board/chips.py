"""Chips by their public documents: addresses, IDs, vendors' registers.

The facts here come from other documents than those of the chip's profile in ``gdb_etm/profiles``, wherever there are
such: so an error in one of them shows.  What no document says is the same as on the board with that core: flash, RAM,
sizes, and where no other address is named, those of the trace components.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

from gdb_etm.board.variants import CORTEX_A, DWT, FPB, M4, M7, PLAIN_M33, SCS, VARIANTS, Table, Variant

ST = 0x020


class VendorWord(NamedTuple):
    """One register of the chip's vendor."""

    address: int
    # After power-up.
    reset: int
    # The bits that can be written.
    writable: int = 0


class Gate(NamedTuple):
    """What the vendor's register has to say before there is trace."""

    address: int
    mask: int
    value: int
    # Whether the trace components answer nothing before; otherwise only no trace reaches the buffer.
    is_silent: bool = True


class Chip(NamedTuple):
    """One chip."""

    # Its core, and what is not said here.
    base: Variant
    # Designer (JEP106) and part number in its first ROM table; None: Arm's.
    rom_id: Optional[Tuple[int, int]] = None
    words: Tuple[VendorWord, ...] = ()
    gate: Optional[Gate] = None
    has_buffer: bool = True
    # Where the trace port is; None where it has none that a debugger sees.
    tpiu: Optional[int] = None
    # The access port that the funnels and the buffer are on, and its ROM table; None: the core's.
    trace_port: Optional[int] = None
    trace_table: int = 0
    # Another address of some vendor registers, on that access port: theirs, and the core's.
    alias: Optional[Tuple[int, int]] = None
    # Another funnel on that access port, which leads elsewhere.
    other_funnel: Optional[int] = None
    # The access port of a second core, which sleeps, and its CPUID.
    second_core: Optional[Tuple[int, int]] = None


CHIPS: Dict[str, Chip] = {
    # OpenOCD 0.12, target/stm32h7x.cfg: access port 2 is the system debug bus, TPIU at 0xE00F5000, DBGMCU at 0xE00E1000
    # there and at 0x5C001000 from the core.  psdb, targets/stm32h7.py: its ROM table at 0xE00E0000, and nothing behind
    # it answers before DBGMCU_CR has 0x00700000.  probe-rs, vendor/st/sequences/stm32h7.rs: SWTF at
    # 0xE00E4000, CSTF at 0xE00F3000.  probe-rs' stm32h7 capture example: an ETF of 4 KiB.  pyOCD asserts IDC 0x450.
    # RM0433, 60.5: the ETF is between CSTF and TPIU.
    "stm32h743": Chip(
        M7._replace(name="stm32h743", funnel=0xE00F3000, buffer=0xE00F4000),
        (ST, 0x450),
        (VendorWord(0x5C001000, 0x20036450), VendorWord(0x5C001004, 0, 0x307001BF)),
        Gate(0x5C001004, 0x00700000, 0x00700000),
        tpiu=0xE00F5000,
        trace_port=2,
        trace_table=0xE00E0000,
        alias=(0xE00E1000, 0x5C001000),
        other_funnel=0xE00E4000,
    ),
    # pyOCD 0.46, target_LPC4330.py and OpenOCD, target/lpc4350.cfg: a Cortex-M4 with the CREG block at 0x40043000.
    # NuttX, lpc43_creg.h: ETBCFG at 0x128 and CHIPID at 0x200 of it.  In the SRAM that the ETB takes, 16 KiB, nothing
    # can be stored while it belongs to the AHB.
    "lpc4330": Chip(
        M4._replace(name="lpc4330", buffer_size=16384),
        words=(VendorWord(0x40043128, 1, 1), VendorWord(0x40043200, 0x5906002B)),
        gate=Gate(0x40043128, 1, 0, is_silent=False),
    ),
    # nrfx, mdk/nrf5340_application.svd: FICR at 0x00FF0000 with INFO.PART at 0x20C, TAD_S at 0xE0080000 with ENABLE at
    # 0x500.  Its trace components have no clock before.  Nordic, nRF5340 Product Specification, CTI: the core's is at
    # 0xE0042000; CTITRIGINSTATUS there and in nrf5340-app-pac has the core's halt, three comparators, two events of the
    # trace unit, and two inputs that are not used: none is of a buffer.  sdk-nrf, ETB trace: on an nRF91 the ETB is at
    # 0xE0051000 and the funnel at 0xE005A000.
    "nrf5340": Chip(
        PLAIN_M33._replace(
            name="nrf5340",
            funnel=0xE005A000,
            buffer=0xE0051000,
            core_cti=0xE0042000,
            tables=(Table(0xE00FF000, 0x4C9, (SCS, DWT, FPB, 0xE0041000, 0xE0042000, 0xE0051000, 0xE005A000)),),
        ),
        words=(VendorWord(0x00FF020C, 0x5340), VendorWord(0xE0080500, 0, 1)),
        gate=Gate(0xE0080500, 1, 1),
    ),
    # pyOCD 0.46, target_MIMXRT1176xxxxx.py: access port 0 has the Cortex-M7, 1 the Cortex-M4, which waits for the other
    # to let it run.  CPUID 0x410FC241 is a Cortex-M4 r0p1 (DDI 0439, table 4-1).
    "imxrt1176": Chip(M7._replace(name="imxrt1176"), second_core=(1, 0x410FC241)),
    # pico-sdk, hardware_regs/sysinfo.h: CHIP_ID at 0x40000000 with REVISION, PART, MANUFACTURER and a stop bit; that
    # manufacturer is 0x493 by JEP106.  coresight_trace.h: what the TPIU puts out goes to pins, and to a FIFO for DMA.
    "rp2350": Chip(
        PLAIN_M33._replace(name="rp2350"),
        words=(VendorWord(0x40000000, 0x20000000 | 0x4 << 12 | 0x493 << 1 | 1),),
        has_buffer=False,
        tpiu=0xE0040000,
    ),
    # stm32f4xx.h of ST: DBGMCU at 0xE0042000, and IDCODE 0x413 in its lower bits.  Black Magic Debug prints the ROM
    # table's ID of ST's chips as 0xA0 followed by that number.
    "stm32f407": Chip(
        M4._replace(name="stm32f407"),
        (ST, 0x413),
        (VendorWord(0xE0042000, 0x10076413), VendorWord(0xE0042004, 0, 0xE7)),
        has_buffer=False,
        tpiu=0xE0040000,
    ),
    # OpenOCD, flash/nor/atsamv.c: CHIPID_CIDR at 0x400E0940.  Atmel's softpack, chipid_samx7.c: 0xA1220E00 is a SAM
    # V71Q21.  Microchip DS60001527, debug and test features: ETM and ITM lead to the TPIU and its pins.
    "samv71": Chip(
        M7._replace(name="samv71"),
        words=(VendorWord(0x400E0940, 0xA1220E00),),
        has_buffer=False,
        tpiu=0xE0040000,
    ),
    # The SVD file of the STM32H563: DBGMCU at 0xE0044000, CR at 4 of it with TRACE_EN in bit 5, "trace port and clock
    # enable".  OpenOCD, flash/nor/stm32l4x.h: DEV_ID 0x484.  An access to the trace unit before that is not answered.
    "stm32h563": Chip(
        PLAIN_M33._replace(name="stm32h563"),
        (ST, 0x484),
        (VendorWord(0xE0044000, 0x10016484), VendorWord(0xE0044004, 0, 0x100F6)),
        Gate(0xE0044004, 0x20, 0x20),
    ),
    # renesas/ra-fsp-examples, common_util.h: TRCKCR is the byte at 0x4001E03F, and its bit 7 TRCKEN.
    "ra6m4": Chip(PLAIN_M33._replace(name="ra6m4"), words=(VendorWord(0x4001E03C, 0, 0x87000000),)),
}

# The chip with Cortex-A9, whose parts are in ``cortex_a_board.py``.
ZYNQ = "zynq7000"

# All boards.
NAMES: Tuple[str, ...] = (*VARIANTS, CORTEX_A, *CHIPS, ZYNQ)


def chip_of(name: str) -> Chip:
    """Give the chip on a board with a Cortex-M."""
    return CHIPS[name] if name in CHIPS else Chip(VARIANTS[name])


def tables_of(chip: Chip) -> Tuple[Table, ...]:
    """Give the ROM tables of the core's access port.

    They list only what the chip has there.
    """
    absent = {chip.base.funnel, chip.base.buffer, M7.funnel, M7.buffer, M4.funnel, M4.buffer}
    elsewhere = chip.trace_port is not None or not chip.has_buffer
    found = []
    for table in chip.base.tables:
        listed = [each for each in table.components if not (elsewhere and each in absent)]
        if chip.tpiu is not None and chip.trace_port is None and chip.base.etm in listed:
            listed.append(chip.tpiu)
        found.append(table._replace(components=tuple(listed)))
    return tuple(found)
