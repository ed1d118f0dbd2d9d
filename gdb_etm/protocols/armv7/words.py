"""Fields that ETMv3 and PTM packets share, in words."""

from __future__ import annotations

from typing import List, Optional

from gdb_etm.protocols.armv7.fields import Information, Reference

NOT_KNOWN_YET = "address not known before an I-sync"


def reference_text(reference: Reference) -> str:
    """Write an address with its instruction set state."""
    return "0x%08x %s" % (reference.address, reference.state.value)


def context_words(non_secure: Optional[bool], hyp: Optional[bool]) -> List[str]:
    """Write the security state, and Hyp mode."""
    words = [] if non_secure is None else ["NS" if non_secure else "S"]
    return words + (["Hyp"] if hyp else [])


def information_words(information: Optional[Information], name: str) -> List[str]:
    """Write exception information.

    :param name: The exception's name; not used when there is none.
    """
    if information is None:
        return []
    words = context_words(information.non_secure, information.hyp)
    words += [name] if information.number else []
    words += ["cancels the last instruction"] if information.cancel else []
    return words + (["resume 0x%x" % information.resume] if information.resume is not None else [])


def timestamp_text(value: Optional[int], changed: bool) -> str:
    """Write a timestamp.

    :param value: None when its upper bits are not known.
    :param changed: Whether a clock's speed changed since the last one.
    """
    words = "upper bits not known" if value is None else "0x%x" % value
    return words + (", clock changed" if changed else "")
