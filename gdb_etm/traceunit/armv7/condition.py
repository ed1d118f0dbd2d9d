"""Enabling event of TraceEnable in an ETMv3 or PTM.

IHI 0014Q, 3.5 (ETMTEEVR) and table 3-9 (resources).  An event has two resources, so two conditions are the most.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Sequence, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3
from gdb_etm.registers import etmv3_comparators as comparators
from gdb_etm.traceunit.armv7.capabilities import Armv7Capabilities
from gdb_etm.traceunit.armv7.plan import write
from gdb_etm.traceunit.options import AddressRange, ExceptionTrace, TraceOptions
from gdb_etm.traceunit.plan import RegisterWrite, Taken

_MOST_CONTEXTS = 3


class TraceCondition(NamedTuple):
    """When to trace."""

    event: int = etmv3.EVENT_TRUE
    when: str = "at any time"
    # Context IDs; the first has the first comparator.
    contexts: Tuple[int, ...] = ()

    @property
    def notes(self) -> Tuple[str, ...]:
        """What the user should know of it."""
        if self.event == etmv3.EVENT_TRUE:
            return ()
        return (
            "contexts and security states are told by an event: a few instructions more or less are traced where"
            " they change",
        )

    @property
    def taken(self) -> Tuple[Taken, ...]:
        """What the Context ID comparators are for."""
        return tuple(
            Taken("context", AddressRange(each, each), "Context ID comparator %d" % n)
            for n, each in enumerate(self.contexts, 1)
        )


def condition_of(options: TraceOptions, capabilities: Armv7Capabilities, others: Sequence[int] = ()) -> TraceCondition:
    """Find the event for what options say of security states and contexts.

    :param others: Context IDs that have a comparator for other reasons.
    :raises UnsupportedError: The unit lacks the condition, or resources for its event.
    """
    if options.exceptions is not ExceptionTrace.AS_OTHERS:
        raise UnsupportedError(
            "exceptions %s: an ETMv3 or a PTM does not distinguish handlers from other code (ETMIDR.Major);"
            " exclude their functions" % options.exceptions.value,
            "ETMIDR.Major",
        )
    filtered = not (options.secure and options.nonsecure)
    if filtered:
        capabilities.require("ETMIDR.Security", "Secure and Non-secure code")
    contexts = tuple(dict.fromkeys(options.contexts))
    compared = tuple(dict.fromkeys((*contexts, *others)))
    there = min(capabilities.field("ETMCCR.CIDComps"), _MOST_CONTEXTS)
    if len(compared) > there:
        raise capabilities.shortage("ETMCCR.CIDComps", "Context ID comparator", there, len(compared), "the filters")
    if len(contexts) + filtered > 2:
        raise UnsupportedError(
            "the filters of contexts and security states need %d resources (ETMTEEVR.A);"
            " an event has 2" % (len(contexts) + filtered),
            "ETMTEEVR.A",
        )
    return TraceCondition(_event(filtered, options.secure, len(contexts)), _words(options, contexts), compared)


def context_writes(condition: TraceCondition, capabilities: Armv7Capabilities) -> Iterator[RegisterWrite]:
    """Write the Context ID comparators that have a use."""
    for n, context in enumerate(condition.contexts, 1):
        yield write(comparators.ETMCIDCVR[n], context, "Context ID 0x%x" % context, capabilities)


def _event(filtered: bool, secure: bool, contexts: int) -> int:
    encode = etmv3.ETMTEEVR.encode
    first, second = etmv3.RESOURCE_CONTEXT, etmv3.RESOURCE_CONTEXT + 1
    if filtered and contexts:
        function = etmv3.FUNCTION_NOT_A_AND_B if secure else etmv3.FUNCTION_A_AND_B
        return encode(A=etmv3.RESOURCE_NONSECURE, B=first, Function=function)
    if filtered:
        return encode(A=etmv3.RESOURCE_NONSECURE, Function=etmv3.FUNCTION_NOT_A if secure else etmv3.FUNCTION_A)
    if contexts == 2:
        return encode(A=first, B=second, Function=etmv3.FUNCTION_A_OR_B)
    return encode(A=first, Function=etmv3.FUNCTION_A) if contexts else etmv3.EVENT_TRUE


def _words(options: TraceOptions, contexts: Tuple[int, ...]) -> str:
    words: List[str] = []
    if contexts:
        words.append("with Context ID " + " or ".join("0x%x" % context for context in contexts))
    if not options.secure:
        words.append("in Non-secure state")
    if not options.nonsecure:
        words.append("in Secure state")
    return " ".join(words) or "at any time"
