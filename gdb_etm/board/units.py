"""Models of the ETMv4 trace units: their registers (IHI 0064, 7.3)."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple

from gdb_etm.board.comparators import ACATR, ACVR, DVCMR, DVCVR
from gdb_etm.board.identity import PART_CORTEX_M33, identification
from gdb_etm.board.resources import (
    CNTCTLR,
    CNTRLDVR,
    CNTVR,
    EVENTCTL0R,
    EXTINSELR,
    RSCTLR,
    SEQEVR,
    SEQRSTEVR,
    SEQSTR,
    SSCCR,
    SSCSR,
    SSPCICR,
)
from gdb_etm.board.viewdata import VDARCCTLR, VDSACCTLR
from gdb_etm.board.viewinst import VIIECTLR, VISSCTLR

_BBCTLR, _IDR0, _IDR4, _IDR5 = 0x03C, 0x1E0, 0x1F0, 0x1F4
# The resources that a unit can have: those of the real one, or more.
OWN, FULL = "own", "full"
_FULL_PAIRS, _FULL_SHOTS, _FULL_VALUES = 4, 2, 2


class UnitModel(NamedTuple):
    """One kind of ETMv4 trace unit."""

    # Read-only registers by offset.
    fixed: Mapping[int, int]
    # Implemented bits of the other trace registers, whose contents are UNKNOWN after a reset (table 3-1).
    masks: Mapping[int, int]
    # Bits that read as one.
    ones: Mapping[int, int]
    # TRCIDR8.MAXSPEC unless another is chosen; 0 where it cannot be.
    speculation: int
    # Whether it can trace loads and stores.
    has_data: bool
    # What the PC shows in lockup.
    lockup_address: int = 0xEFFFFFFE
    # Whether Lockup exceptions report that rather than the instruction that caused them (Armv7-M; table 5-5).
    reports_lockup_address: bool = False


# Both units have the resources of the one in the Cortex-M33: four DWT inputs, two selector pairs, one reduced counter.
_RESOURCES = {
    0x190: 1,
    0x194: 0,
    0x1C0: 0,  # TRCIMSPEC0
    0x1F0: 0x00114000,  # TRCIDR4: four DWT inputs, two selector pairs, one single-shot control, no comparators
    0x1F4: 0x90C70004,  # TRCIDR5: one reduced counter, no sequencer, 7-bit trace ID, four external inputs
    0xFB8: 0xCC,  # TRCAUTHSTATUS: non-invasive debug is on
}
_MASKS = {
    0x010: 0x00001818,  # TRCCONFIGR: RS, TS, CCI, BB
    0x020: 0x00008F8F,  # TRCEVENTCTL0R
    0x024: 0x00001803,  # TRCEVENTCTL1R
    0x02C: 0x0000010C,  # TRCSTALLCTLR
    0x030: 0x0000008F,  # TRCTSCTLR
    0x038: 0x00000FFF,  # TRCCCCTLR
    0x040: 0x0000007F,  # TRCTRACEIDR
    0x080: 0x00090E8F,  # TRCVICTLR
    0x08C: 0x000F000F,  # TRCVIPCSSCTLR
    0x140: 0x0000FFFF,  # TRCCNTRLDVR0
    0x208: 0x003700FF,  # TRCRSCTLR2
    0x20C: 0x001700FF,  # TRCRSCTLR3
    0x280: 0x01000000,  # TRCSSCCR0
    0x2A0: 0x80000000,  # TRCSSCSR0
    0x2C0: 0x0000000F,  # TRCSSPCICR0
}
_ONES = {0x010: 1, 0x2A0: 1 << 3}

# The unit in the Cortex-M33 r0p4.  It traces conditional instructions: with one key, whether they passed (TRCIDR0).
ETM_M33 = UnitModel(
    fixed={
        **_RESOURCES,
        0x034: 0xA,  # TRCSYNCPR
        0x180: 0,  # TRCIDR8: no speculation
        0x184: 0,
        0x188: 0,
        0x18C: 0,
        0x1E0: 0x280006E1,  # TRCIDR0: return stack, cycle counts, branch broadcast, 64-bit timestamps, commit mode 1
        0x1E4: 0x4100F421,  # TRCIDR1: Arm, ETMv4.2
        0x1E8: 0x00000004,  # TRCIDR2: 32-bit addresses, no Context ID, 12-bit cycle counter
        0x1EC: 0x0F090004,  # TRCIDR3: Thread and Handler, read-only TRCSYNCPR, least threshold 4
        **identification(PART_CORTEX_M33, devtype=0x13, devarch=0x47724A13),
    },
    masks={**_MASKS, 0x010: 0x00001F18},  # TRCCONFIGR: COND besides
    ones=_ONES,
    speculation=0,
    has_data=False,
)

# A unit for a Cortex-M7 with all that an ETMv4.0 can have there but conditional instructions: data trace, exception
# data, and speculation.  The core on the board does not speculate: the depth and what is predicted are made up, so that
# there is trace of it.
ETM_M7 = UnitModel(
    fixed={
        **_RESOURCES,
        0x184: 32,  # TRCIDR9: P0 keys
        0x188: 36,  # TRCIDR10: P1 keys
        0x18C: 4,  # TRCIDR11: of them special
        0x190: 0,
        # TRCIDR0: INSTP0, data trace of loads and stores and of exceptions; the rest as the M33's but conditional trace
        0x1E0: 0x280206BF,
        0x1E4: 0x4100F401,  # TRCIDR1: Arm, ETMv4.0
        0x1E8: 0x00420004,  # TRCIDR2: 32-bit instruction and data addresses and data values
        0x1EC: 0x0D090004,  # TRCIDR3: as the M33's, but TRCSYNCPR can be written
        **identification(0x975, devtype=0x13, devarch=0x47704A13),
    },
    masks={
        **_MASKS,
        0x010: 0x0003181E,  # TRCCONFIGR: DV, DA, RS, TS, CCI, BB, INSTP0
        0x024: 0x00001813,  # TRCEVENTCTL1R
        0x02C: 0x00001F0C,  # TRCSTALLCTLR
        0x034: 0x0000001F,  # TRCSYNCPR
        0x0A0: 0x0000108F,  # TRCVDCTLR; PCREL and SPREL read as zero
    },
    ones=_ONES,
    speculation=8,
    has_data=True,
    lockup_address=0xFFFFFFFE,
    reports_lockup_address=True,
)


def equipped(model: UnitModel, comparators: int, resources: str) -> UnitModel:
    """Return a unit with more resources than the real one has.

    :param model: The unit.
    :param comparators: Pairs of address comparators.
    :param resources: :data:`OWN`; or :data:`FULL`: four pairs of address comparators unless another number is given,
        of loads and stores too where the unit traces these, 16 resource selectors, four counters, the sequencer, two
        single-shot controls, four events, and four selectors of eight external inputs.
    :raises ValueError: there is no such choice.
    """
    if not 0 <= comparators <= 8:
        raise ValueError("%d address comparator pairs: an ETMv4 has 0 to 8" % comparators)
    if resources not in (OWN, FULL):
        raise ValueError("no resources are called '%s': there are %s and %s" % (resources, OWN, FULL))
    if resources == FULL:
        model = _with_resources(model)
        comparators = comparators or _FULL_PAIRS
    return _with_comparators(model, comparators, resources == FULL) if comparators else model


def _with_resources(model: UnitModel) -> UnitModel:
    fixed = {
        **model.fixed,
        _IDR0: model.fixed[_IDR0] | 0xC00,  # four events
        _IDR4: 0x00274000,  # two single-shot controls, eight selector pairs, four DWT inputs
        _IDR5: 0x48C70808,  # four counters, the sequencer, four selectors of eight external inputs; the rest as it was
    }
    masks: Dict[int, int] = {
        **model.masks,
        EVENTCTL0R: 0x8F8F8F8F,
        0x024: model.masks[0x024] | 0xF,
        SEQRSTEVR: 0x8F,
        SEQSTR: 3,
        EXTINSELR: 0x07070707,
    }
    masks.update({SEQEVR + 4 * n: 0x8F8F for n in range(3)})
    masks.update({RSCTLR + 4 * n: 0x1FFFFF if n % 2 else 0x3FFFFF for n in range(2, 16)})
    for n in range(4):
        masks.update({CNTRLDVR + 4 * n: 0xFFFF, CNTVR + 4 * n: 0xFFFF, CNTCTLR + 4 * n: 0x18F8F | n % 2 << 17})
    for n in range(_FULL_SHOTS):
        masks.update({SSCCR + 4 * n: 0x01000000, SSCSR + 4 * n: 1 << 31, SSPCICR + 4 * n: 0xF})
    ones = {**model.ones, **{SSCSR + 4 * n: 1 << 3 for n in range(_FULL_SHOTS)}}
    return model._replace(fixed=fixed, masks=masks, ones=ones)


def _with_comparators(model: UnitModel, pairs: int, is_full: bool) -> UnitModel:
    # The registers that a unit with address comparators has besides (7.2).
    ranges, singles = (1 << pairs) - 1, (1 << 2 * pairs) - 1
    has_data = is_full and model.has_data
    values = min(pairs, _FULL_VALUES) if has_data else 0
    masks = {**model.masks, _BBCTLR: 0x100 | ranges, VIIECTLR: ranges << 16 | ranges}
    masks[VISSCTLR] = singles << 16 | singles
    for n in range(2 * pairs):
        masks[ACVR + 8 * n] = 0xFFFFFFFF
        # EXLEVEL_S of Thread and Handler mode, TYPE, and what there is for values.
        masks[ACATR + 8 * n] = 0x900 | 3 * has_data | 0x1F0000 * (n // 2 < values)
    if model.has_data:
        masks.update({VDSACCTLR: singles << 16 | singles if has_data else 0, VDARCCTLR: ranges << 16 | ranges})
    for n in range(values):
        masks.update({DVCVR + 0x10 * n: 0xFFFFFFFF, DVCMR + 0x10 * n: 0xFFFFFFFF})
    shots = [offset for offset in masks if SSCCR <= offset < SSCSR]
    masks.update({offset: 0x01000000 | ranges << 16 | singles for offset in shots})
    selectors = [offset for offset in masks if RSCTLR <= offset < SSCCR]
    masks.update({offset: masks[offset] | singles for offset in selectors})
    # TRCSSCSRn: of which kinds the comparators may be.
    kinds = 1 | 2 * has_data | 4 * bool(values)
    ones = {**model.ones, **{offset - SSCCR + SSCSR: 8 | kinds for offset in shots}}
    idr4 = model.fixed[_IDR4] | pairs | values << 4 | has_data << 8
    return model._replace(fixed={**model.fixed, _IDR4: idr4}, masks=masks, ones=ones)
