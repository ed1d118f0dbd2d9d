"""The user's limits for values of the past: tier, depth, volatile memory."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.program.ram import Piece
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier

# How far to go, in the user's words; ``off`` works nothing out.
LIMITS: Mapping[str, Tier] = {"exact": Tier.EXACT, "assumed": Tier.ASSUMED, "off": Tier.UNKNOWN}
# The settings that say what values of the past rest on.
RELIED_ON = ("recovery", "recovery-limit", "volatile")
# Where nothing but the program writes memory.
NO_REGIONS = "none"
# Where values are worked out as far back as the history goes.
UNLIMITED = "unlimited"
# Instructions before the end whose values are worked out, where nobody has said how many.
MOST = 200_000
_SPACE = 1 << 32
_REGIONS = 64
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,16})\Z")


class Reliance(NamedTuple):
    """What values may rest on."""

    # The worst tier that is shown; UNKNOWN works nothing out.
    limit: Tier = Tier.ASSUMED
    # Memory that others write, too.
    volatile: Tuple[Piece, ...] = ()
    # How many instructions before the end are worked out at most; None is all of them.
    most: Optional[int] = MOST

    @property
    def words(self) -> Dict[str, str]:
        """The settings that say so."""
        found = ["%#x,%d" % (start, end - start) for start, end in self.volatile]
        names = {limit: name for name, limit in LIMITS.items()}
        most = UNLIMITED if self.most is None else str(self.most)
        return {"recovery": names[self.limit], "recovery-limit": most, "volatile": " ".join(found) or NO_REGIONS}

    def rules(self, rules: Rules) -> Rules:
        """Give recovery rules with these limits in place of theirs."""
        return rules._replace(limit=self.limit, volatile=self.volatile, most=self.most)


def reliance_of(settings: Mapping[str, str]) -> Reliance:
    """Read ``recovery``, ``recovery-limit`` and ``volatile``; absent ones have their defaults.

    :raises ValueError: They say nothing that is known; the message says what would be.
    """
    word = settings.get("recovery", "assumed")
    if word not in LIMITS:
        raise ValueError('"%s" is none of: %s' % (word, ", ".join(LIMITS)))
    most = most_of(settings.get("recovery-limit", str(MOST)))
    return Reliance(LIMITS[word], regions(settings.get("volatile", NO_REGIONS)), most)


def most_of(text: str) -> Optional[int]:
    """Read a number of instructions, or ``unlimited``, which 0 means too.

    :raises ValueError: It is neither.
    """
    if text == UNLIMITED:
        return None
    if _NUMBER.match(text) is None:
        raise ValueError('"%s" is no number of instructions: such as 50000, or %s' % (text[:40], UNLIMITED))
    return int(text, 0) or None


def regions(text: str) -> Tuple[Piece, ...]:
    """Read ``ADDRESS,SIZE ADDRESS,SIZE...``, or none.

    :returns: First addresses, and those after the last.
    :raises ValueError: It is neither.
    """
    pieces: List[Piece] = []
    for word in text.split() if text.strip() != NO_REGIONS else ():
        first, comma, size = word.partition(",")
        try:
            start = _number(first)
            end = start + _number(size)
        except ValueError:
            raise ValueError('"%s" is no region: ADDRESS,SIZE, such as 0x20000400,64' % word) from None
        if not start < end <= _SPACE:
            raise ValueError("%s: a region has at least 1 byte, and ends at 0x100000000 or before" % word)
        pieces.append((start, end))
    if len(pieces) > _REGIONS:
        raise ValueError("%d regions are more than %d" % (len(pieces), _REGIONS))
    return tuple(pieces)


def _number(text: str) -> int:
    if _NUMBER.match(text) is None:
        raise ValueError(text)
    return int(text, 0)
