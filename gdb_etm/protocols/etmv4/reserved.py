"""Reserved values in packets of certain length.

Such a packet does not cost packet synchronisation, but its meaning is unknown.  The listing shows the reason beside
the fields.  The decoder records a gap, and ignores the stream up to the next Trace Info, which resets the compression
state.  A conditional packet costs only the results of conditional instructions, and of a Trace Info the other fields
count.  Where a reserved value leaves the length in doubt, as the E bits of an Exception packet and the upper PLCTL
bits do, the header table calls the packet malformed.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.4.
"""

from __future__ import annotations

from typing import Callable, Dict, Final

from gdb_etm.protocols.etmv4.conditional import SELECTIONS, read_results, read_token, read_tokens
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.packets import Kind, read_continued, read_exception, read_trace_info
from gdb_etm.protocols.etmv4.resolution import read_cancel, read_commit, read_cycle_commit


def reserved_field(kind: Kind, data: bytes, at: int, config: Etmv4Config) -> str:
    """Give the reserved field of a whole packet; empty for none.

    :param at: Index of the packet's header.
    """
    find = _FINDERS.get(kind)
    return find(data, at, config) if find is not None else ""


def _trace_info(data: bytes, at: int, config: Etmv4Config) -> str:
    info = read_trace_info(data, at)[0].info
    return "INFO=0x%02x" % info if info > 0x3F or info >> 1 & 7 not in SELECTIONS else ""


def _commit(data: bytes, at: int, config: Etmv4Config) -> str:
    return "" if read_commit(data, at) else "COMMIT=0"


def _cancel(data: bytes, at: int, config: Etmv4Config) -> str:
    return "" if read_cancel(data, at).elements else "CANCEL=0"


def _cycle_count(data: bytes, at: int, config: Etmv4Config) -> str:
    # A unit that does not speculate has nothing to commit, whatever the field says.
    commits = read_cycle_commit(data, at, config)
    return "commits %d" % commits if commits < 0 and config.max_speculation else ""


def _conditional(data: bytes, at: int, config: Etmv4Config) -> str:
    return "" if data[at + 1] & 0x7F else "NUM=0, Z=0"


def _result_1(data: bytes, at: int, config: Etmv4Config) -> str:
    for fill, key, _ in read_results(data, at):
        if fill and key >= config.condition_keys:
            return "special key %d with CI=1" % key
    return ""


def _result_token(data: bytes, at: int, config: Etmv4Config) -> str:
    return "T=%d" % (data[at] & 3) if read_token(data[at] & 3, config.condition_flags) is None else ""


def _result_tokens(data: bytes, at: int, config: Etmv4Config) -> str:
    field = (data[at] & 0xF) << 8 | data[at + 1]
    return "TOKEN=0x%03x" % field if read_tokens(field, config.condition_flags) is None else ""


def _t32_in_64_bit(data: bytes, at: int, config: Etmv4Config) -> str:
    # Instruction set and SF come in one packet here; where they come in two, in either order, they are compared when
    # code is to run (Table 6-19).
    is1 = data[at] in (0x83, 0x86)
    return "IS1 with SF=1" if is1 and data[at + (5 if data[at] == 0x83 else 9)] & 0x10 else ""


def _exception(data: bytes, at: int, config: Etmv4Config) -> str:
    _, after = read_exception(data, at)
    return _t32_in_64_bit(data, after, config)


def _q(data: bytes, at: int, config: Etmv4Config) -> str:
    form = data[at] & 0xF
    if form == 0xF:
        return ""
    after = at + 1
    if form in (0x5, 0x6):
        after += 2 if data[after] & 0x80 else 1
    elif form in (0xA, 0xB):
        after += 4
    return "" if read_continued(data, after)[0] else "COUNT=0"


_FINDERS: Final[Dict[Kind, Callable[[bytes, int, Etmv4Config], str]]] = {
    Kind.TRACE_INFO: _trace_info,
    Kind.COMMIT: _commit,
    Kind.CANCEL_1: _cancel,
    Kind.CYCLE_COUNT_2: _cycle_count,
    Kind.CONDITIONAL_3: _conditional,
    Kind.RESULT_1: _result_1,
    Kind.RESULT_2: _result_token,
    Kind.RESULT_3: _result_tokens,
    Kind.RESULT_4: _result_token,
    Kind.ADDRESS_CONTEXT: _t32_in_64_bit,
    Kind.EXCEPTION: _exception,
    Kind.Q: _q,
}
