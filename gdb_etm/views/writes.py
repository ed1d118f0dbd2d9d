"""Stores to an object, and its loads, as lines."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.runs import Run
from gdb_etm.recovery.values import Tier
from gdb_etm.views.text import plural
from gdb_etm.views.values import mark

# Characters of a text that are shown, bytes of other data, and bytes that are shown as a number.
_TEXT = 24
_BYTES = 8
_WORD = 4
_PRINTABLE = range(0x20, 0x7F)


class AccessWords(NamedTuple):
    """What is said of an access beside its number and its value."""

    # "<parse_values+26>", or the exception that pushed.
    place: str
    # "rx.c:83"; empty where unknown.
    line: str
    # Of what was accessed, if that is one object: "station.table[1].delivered".
    name: str
    # Of a handler, or of a thread where there are several.
    context: str
    # The call of the library that did it: "#5,100 <load+12> rx.c:44".
    caller: str
    # Why the value is not known.
    reason: str


def data_text(known: Sequence[Optional[int]], is_word: bool = True) -> str:
    """Write bytes: as a number, as text, or one by one.

    :param known: The bytes, None where unknown.
    :param is_word: Whether up to four are a number.
    :returns: Such as ``"0x0000001f"``, ``'"$TMP,21"'``, ``"0x24 54 4d .."``; ``"<unavailable>"`` where nothing is
        known.
    """
    values = [one for one in known if one is not None]
    if not values or len(known) <= _WORD and len(values) < len(known):
        return "<unavailable>"
    if len(known) <= _WORD and is_word:
        return "0x%0*x" % (2 * len(known), int.from_bytes(bytes(values), "little"))
    text = bytes(values).rstrip(b"\0")
    if len(values) == len(known) and text and all(one in _PRINTABLE for one in text):
        shown = text[:_TEXT].decode("ascii").replace("\\", "\\\\").replace('"', '\\"')
        return '"%s"%s' % (shown, "..." if len(text) > _TEXT else "")
    digits = ["??" if one is None else "%02x" % one for one in known[:_BYTES]]
    return "0x" + " ".join(digits) + (" .." if len(known) > _BYTES else "")


def access_cells(
    run: Run, whole: Tuple[int, int], before: Optional[str], new: Tuple[str, Tier], words: AccessWords
) -> List[str]:
    """Write an access as cells: number, place, values, line, and more.

    :param whole: The object's address and size.
    :param before: What was there before a store; None where it is not known, and of loads.
    :param new: The value, and what it rests on.
    """
    text, tier = new
    more = [mark(tier)]
    if (run.address, run.size) != whole:
        more.append(words.name or "%s at 0x%08x" % (plural(run.size, "byte"), run.address))
    if run.oldest != run.number:
        more.append("since #{:,}".format(run.oldest))
    more += [words.context, "called at %s" % words.caller if words.caller else ""]
    more += ["" if run.writes[0].certain else "if its condition held", words.reason]
    values = text if before is None else "%s -> %s" % (before, text)
    return ["#{:,}".format(run.number), words.place, values, words.line, ", ".join([one for one in more if one])]


def run_value(run: Run) -> Tuple[List[Optional[int]], Tier, str]:
    """Give the bytes that a run stored or loaded.

    :returns: Also what they rest on, and why they are not known.
    """
    found: List[Optional[int]] = [None] * run.size
    tier, reason = Tier.EXACT, ""
    for one in reversed(run.writes):
        value = one.value.value
        if value is None:
            reason = one.value.reason
            continue
        tier = max(tier, one.value.tier)
        start = one.address - run.address
        found[start : start + one.size] = value.to_bytes(max(one.size, _WORD), "little")[: one.size]
    return found, tier, reason
