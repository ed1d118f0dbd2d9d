"""Where other code enters a function behind its beginning.

Functions in assembly, such as a compiler's arithmetic (libgcc's ``__aeabi_i2f``), share their ends, and call frame
information may count several as one.  A compiler's own do not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Dict, Final, Iterator, List, Mapping, Sequence, Set, Tuple

from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa, decode_a32, decode_t16, decode_t32, is_wide
from gdb_etm.program.plain import skip_plain
from gdb_etm.recovery.rules import FrameInformation

# A literal such as 0xe000ed04, an address in the System Control Space, begins like a B by four bytes.
_SYSTEM: Final = 0xE000


@lru_cache(maxsize=2)
def entries(program: Program, information: FrameInformation, isa: Isa) -> Mapping[int, Set[int]]:
    """Find them, by the beginning of the function that is entered.

    Direct branches and calls tell; of the code, what has call frame information is looked at.
    """
    found: Dict[int, Set[int]] = {}
    for site, target in branches(program, information, isa):
        bounds = information.function(site)
        within = bounds is not None and bounds[0] <= target < bounds[1]
        entered = None if within else information.function(target)
        if entered is not None and entered[0] != target:
            found.setdefault(entered[0], set()).add(target)
    return found


@lru_cache(maxsize=2)
def branches(program: Program, information: FrameInformation, isa: Isa) -> Sequence[Tuple[int, int]]:
    """List direct branches and calls, with where they lead.

    Those of code that has call frame information.
    """
    found: List[Tuple[int, int]] = []
    for start, data in program.pieces:
        at = 0
        while at < len(data):
            bounds = information.function(start + at)
            if bounds is None:
                at += 2
                continue
            end = min(bounds[1] - start, len(data))
            found += _branches(data, start, at, end, isa)
            at = max(end, at + 2)
    return found


def _branches(data: bytes, start: int, at: int, end: int, isa: Isa) -> Iterator[Tuple[int, int]]:
    while True:
        at, _ = skip_plain(data, at, isa)
        if at + 2 > end:
            return
        first = data[at] | data[at + 1] << 8
        second = int.from_bytes(data[at + 2 : at + 4], "little")
        if isa is Isa.A32:
            insn = decode_a32(start + at, first | second << 16)
        else:
            insn = decode_t32(start + at, first, second) if is_wide(first) else decode_t16(start + at, first)
        if insn.kind is InstructionKind.DIRECT and (first != _SYSTEM or isa is Isa.A32):
            yield start + at, insn.target
        at += insn.size
