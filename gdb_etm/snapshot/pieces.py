"""``pieces.ini``: the parts of a buffer that was read at several halts.

Others pass over it: they decode the buffer as if it was of one halt::

    [registers]  names=PC,SP,...
    [piece1]     size=4096  oldest=started  begin=0x80000F4,0x20007FF8,...  end=...
                 omitted=nothing  changed=nothing  before=nothing  origin=halt in main  ran=  unseen=

``begin`` and ``end`` hold the core's registers in the order of the names; ``-`` is one that is not known, and ``=``
stands for those at the end of the piece before.  ``before=nothing`` says that the debugger changed nothing at the halt
before.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence, Tuple

from gdb_etm.capture import RecordedPiece
from gdb_etm.errors import plain
from gdb_etm.snapshot.ini import IniEntry, IniFile, Section
from gdb_etm.snapshot.trace import CHANGED_KEY, NOTHING, OMITTED_KEY, is_nothing, read_end

_REGISTERS, _NAMES, _PIECE = "registers", "names", "piece"
_BEFORE = "before"
_UNKNOWN, _SAME = "-", "="
# The most that a snapshot holds: its sections and lines are bounded.
MAX_PIECES = 1 << 12
# Of a text; what a person should read is shorter.
_LONGEST = 1 << 10
# What can stand in a value as it is.
_PLAIN = " !$&()*+,/:<>?@[]^{|}"


def pieces_lines(pieces: Sequence[RecordedPiece]) -> List[str]:
    """Write them."""
    from urllib.parse import quote

    names = list(dict.fromkeys(name for piece in pieces for state in (piece.begin, piece.registers) for name in state))
    lines = ["[%s]" % _REGISTERS, "%s=%s" % (_NAMES, ",".join(name.upper() for name in names))]
    before: Mapping[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        lines += ["", "[%s%d]" % (_PIECE, number), "size=%d" % piece.size, "oldest=%s" % piece.end.name.lower()]
        same = piece.begin and piece.begin == before
        lines.append("begin=%s" % (_SAME if same else _state(names, piece.begin)))
        lines.append("end=%s" % _state(names, piece.registers))
        told = ((OMITTED_KEY, piece.is_whole), (CHANGED_KEY, piece.is_untouched), (_BEFORE, piece.follows_untouched))
        lines += ["%s=%s" % (key, NOTHING) for key, holds in told if holds]
        texts = (("origin", piece.origin), ("ran", piece.ran), ("unseen", piece.unseen))
        lines += ["%s=%s" % (key, quote(text, safe=_PLAIN)) for key, text in texts if text]
        before = piece.registers
    return lines


def _state(names: Sequence[str], registers: Mapping[str, int]) -> str:
    return ",".join("0x%X" % registers[name] if name in registers else _UNKNOWN for name in names)


def read_pieces(ini: IniFile, size: int) -> Tuple[RecordedPiece, ...]:
    """Read them.

    :param size: Of the buffer, in bytes.
    :raises SnapshotError: A value makes no sense, or they are not what the buffer holds.
    """
    names = [name.lower() for name in ini.require(_REGISTERS).require(_NAMES).words()]
    pieces: List[RecordedPiece] = []
    before: Mapping[str, int] = {}
    for section in ini.sections:
        if section.name != "%s%d" % (_PIECE, len(pieces) + 1):
            continue
        begin = section.require("begin")
        registers = _read_state(section.require("end"), names)
        pieces.append(
            RecordedPiece(
                section.require("size").number(),
                read_end(section.require("oldest")),
                before if begin.value == _SAME else _read_state(begin, names),
                registers,
                is_nothing(section, OMITTED_KEY),
                is_nothing(section, CHANGED_KEY),
                _text(section, "ran"),
                _text(section, "origin"),
                _text(section, "unseen"),
                is_nothing(section, _BEFORE),
            )
        )
        before = registers
    held = sum(piece.size for piece in pieces)
    if held != size:
        raise ini.require(_REGISTERS).require(_NAMES).error("pieces of %d bytes, in a buffer of %d" % (held, size))
    return tuple(pieces)


def _read_state(entry: IniEntry, names: Sequence[str]) -> Dict[str, int]:
    words = entry.words()
    if len(words) != len(names):
        raise entry.error("%d values for %d registers" % (len(words), len(names)))
    values = [entry._replace(value=word).number() if word != _UNKNOWN else None for word in words]
    return {name: value for name, value in zip(names, values) if value is not None}


def _text(section: Section, key: str) -> str:
    entry = section.get(key)
    if entry is None:
        return ""
    # Few snapshots have any.
    from urllib.parse import unquote

    return plain(unquote(entry.value))[:_LONGEST]
