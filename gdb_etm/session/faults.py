"""Why a program went wrong, and the ways of values, typed."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.recovery.values import Tier
from gdb_etm.session.asked import asked_for
from gdb_etm.session.chains import Chain, ChainStep, chain_step, origin, uses
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.diagnosed import diagnosed_of
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.past import recovered
from gdb_etm.session.scenes import words_for
from gdb_etm.session.session import DebugSession
from gdb_etm.views.fault import fault_lines, place_words


class BadValue(NamedTuple):
    """A value with which an instruction could not go on."""

    # Such as ``"the load's address"``.
    what: str
    # None where it is not known.
    value: Optional[int]
    # What is wrong with it, such as ``"no memory is there"``; empty where that is not known.
    why: str


class FaultVerdict(NamedTuple):
    """The first step of a bad value that looks wrong."""

    # Such as ``"overrun"``, ``"unset"``, ``"race"``; ``"origin"``: nothing is wrong where the value was first.
    kind: str
    # Of the instruction that did it; None of the one that faulted, which is no part of the history.
    number: Optional[int]
    # "<parse_values+26>" and "rx.c:83"; empty where unknown.
    place: str
    line: str
    # What it did, in words.
    text: str
    # What that rests on.
    tier: Tier
    # Of another instruction that has part in it.
    other: Optional[int]
    # The handler or thread that executed it, such as ``"in SysTick"``; empty where there is but one thread.
    context: str


class Fault(NamedTuple):
    """Why a program went wrong."""

    # The fault's, such as ``"HardFault"``; empty where the program has stopped itself and nothing faulted.
    exception: str
    # What the fault status registers say.
    status: Tuple[str, ...]
    # The last instruction before.
    number: int
    # Of the instruction that faulted, or where execution could not go on; None where that is not known.
    address: Optional[int]
    # What was bad, the worst first.
    bad: Tuple[BadValue, ...]
    # The way of the worst back, nearest first.
    chain: Tuple[ChainStep, ...]
    # None where nothing on the way is known to be wrong.
    verdict: Optional[FaultVerdict]
    # The lines of "etm fault".
    text: Tuple[str, ...]


def fault_of_history(session: DebugSession, decoded: Decoded) -> Fault:
    """Find out why the program went wrong that a history is of.

    :raises NothingWrong: It did not.
    :raises CommandError: No value of it is worked out.
    """
    found = diagnosed_of(session, decoded)
    diagnosis, scene = found.diagnosis, found.scene
    site, words = diagnosis.site, words_for(session, decoded, scene)
    with found.known.solved(len(decoded.history) + 1, session.meter):
        lines = fault_lines(diagnosis, found.status, scene, words)
        chain: List[ChainStep] = []
        for at, node in enumerate(diagnosis.chain):
            chain.append(chain_step(node, scene, words)._replace(parent=at - 1 if at else None))
    verdict: Optional[FaultVerdict] = None
    if diagnosis.verdict is not None:
        wrong = diagnosis.verdict
        number = wrong.number if wrong.address is None else None
        address = scene.index.address(wrong.number) if wrong.address is None else wrong.address & ~1
        place, line = place_words(words, address)
        verdict = FaultVerdict(
            wrong.kind.name.lower(),
            number,
            place,
            line,
            wrong.text,
            wrong.tier,
            wrong.other,
            words.context(wrong.number),
        )
    exception = site.event.name if site.event is not None else ""
    bad = tuple([BadValue(one.what, one.value, one.why) for one in site.bad])
    status = tuple(found.status.lines)
    return Fault(exception, status, site.number, site.address, bad, tuple(chain), verdict, tuple(lines))


def origin_in(session: DebugSession, decoded: Decoded, what: str, number: int, addresses: bool) -> Chain:
    """Find the way of a value back.

    :param what: A register, ADDRESS[,SIZE], or a variable.
    :param number: The instruction before which it is asked about; one more than there are is the end, or its fault.
    :raises CommandError: It has no place there, or no value of the history is worked out.
    """
    at = _moment(session, decoded, number)
    with at.known.solved(number, session.meter):
        asked = asked_for(at, what)
        return origin(asked, words_for(session, at.decoded, asked.scene), addresses)


def uses_in(session: DebugSession, decoded: Decoded, what: str, number: int) -> Chain:
    """Find what was made of a value.

    :param what: A register, ADDRESS[,SIZE], or a variable.
    :param number: The instruction before which it is asked about.
    :raises CommandError: It has no place there, or no value of the history is worked out.
    """
    at = _moment(session, decoded, number)
    with at.known.solved(number, session.meter):
        asked = asked_for(at, what)
        return uses(asked, words_for(session, at.decoded, asked.scene))


def _moment(session: DebugSession, decoded: Decoded, number: int) -> Moment:
    if not 1 <= number <= len(decoded.history) + 1:
        raise CommandError("no instruction %d; there are %d" % (number, len(decoded.history)))
    return Moment(session, decoded, recovered(session, decoded), number)
