"""The record as JSON lines, and back.

Numbers are hex text.  ``{"port": NAME}`` for each port, then ``{"step": NAME, ...}`` and its accesses, such as
``{"op": "read32", "port": 0, "address": "0xe0041fbc", "value": "0x47704a13"}``.
"""

from __future__ import annotations

import json
from array import array
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.access.recording import BLOCK, DEBUG_PORT, FIFO, READ, WRITE, PortAccess, RecordedStep
from gdb_etm.access.wire import error_message
from gdb_etm.bundle.contents import BundleError
from gdb_etm.bundle.values import from_json, to_json
from gdb_etm.coresight.topology import Choice
from gdb_etm.errors import AccessError, CaptureError, plain
from gdb_etm.profiles.profile import Profile
from gdb_etm.traceunit.options import TraceOptions

# What each step was asked for.
_ASKED: Dict[str, Tuple[Any, ...]] = {
    "connect": (Choice, Optional[Profile]),
    "start": (TraceOptions,),
    "program": (TraceOptions,),
    "drain": (str,),
    "stop": (str,),
    "mend": (str,),
}
_WORD = 1 << 32
_MOST_DIGITS, _LONGEST = 20, 1000
_MOST_PORTS, _MOST_STEPS, _MOST_WORDS = 64, 1 << 14, 1 << 20
_OPERATIONS = (READ, WRITE, BLOCK, FIFO, DEBUG_PORT)
_KINDS = ("fault", "timeout", "lost", "busy")


class Record(NamedTuple):
    """Ports and steps, as they were read."""

    ports: Tuple[str, ...]
    steps: Tuple[RecordedStep, ...]


def record_lines(ports: Sequence[str], steps: Iterable[RecordedStep], scrub: Callable[[Any], Any]) -> Iterator[str]:
    """Write a record.

    :param scrub: Makes texts fit for others.
    """
    for name in ports:
        yield json.dumps({"port": scrub(name)})
    for step in steps:
        asked = [to_json(each) for each in step.asked]
        yield json.dumps(scrub({"step": step.name, "asked": asked, "error": step.error, "cut": step.is_cut}))
        for access in step.accesses:
            yield json.dumps(_access_object(access, scrub))


def _access_object(access: PortAccess, scrub: Callable[[Any], Any]) -> Dict[str, Any]:
    made: Dict[str, Any] = {"op": access.operation, "port": access.port, "address": hex(access.address)}
    if access.operation in (BLOCK, FIFO):
        made["words"] = access.words
    if access.error is not None:
        made["error"] = scrub(error_message(access.error))
    if isinstance(access.value, int):
        made["value"] = hex(access.value)
    elif access.value is not None:
        made["values"] = [hex(value) for value in access.value]
    return made


def parse_line(text: str) -> Dict[str, Any]:
    """Read a line of JSON with bounded numbers.

    :raises BundleError: It is no object, or a number is too long.
    """
    try:
        found = json.loads(text, parse_int=_bounded, parse_float=_refused, parse_constant=_refused)
    except RecursionError:
        raise BundleError("nested too deep") from None
    except ValueError as error:
        raise BundleError(str(error)) from None
    if not isinstance(found, dict):
        raise BundleError("no JSON object")
    return found


def _bounded(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("a number of %d digits" % len(text))
    return int(text)


def _refused(text: str) -> None:
    raise ValueError("%s is no whole number" % text[:_MOST_DIGITS])


def read_record(lines: Iterable[str]) -> Record:
    """Read a record.

    :raises BundleError: A line makes no sense; with its number.
    """
    ports: List[str] = []
    steps: List[RecordedStep] = []
    words = 0
    for number, line in enumerate(lines, 1):
        try:
            found = parse_line(line)
            if "port" in found and "op" not in found:
                ports.append(from_json(str, found["port"]))
            elif "step" in found:
                steps.append(_step(found))
            elif not steps:
                raise BundleError("an access before the first step")
            else:
                access = _access(found, len(ports))
                words += access.words
                steps[-1].accesses.append(access)
            if len(ports) > _MOST_PORTS or len(steps) > _MOST_STEPS or words > _MOST_WORDS * 4:
                raise BundleError("more ports, steps or words than a record has")
        except (BundleError, CaptureError) as error:
            raise BundleError("record, line %d: %s" % (number, error)) from None
    if not ports:
        raise BundleError("record: it names no port")
    return Record(tuple(ports), tuple(steps))


def _step(found: Dict[str, Any]) -> RecordedStep:
    name = from_json(str, found["step"])
    kinds = _ASKED.get(name, ())
    asked = found.get("asked")
    least = 1 if name == "connect" else len(kinds)
    if not isinstance(asked, list) or not least <= len(asked) <= len(kinds):
        raise BundleError("a step %s with other requests" % name[:_MOST_DIGITS])
    step = RecordedStep(name, tuple(from_json(kind, each) for kind, each in zip(kinds, asked)))
    error = found.get("error")
    step.error = None if error is None else from_json(str, error)
    step.is_cut = found.get("cut") is True
    return step


def _access(found: Dict[str, Any], ports: int) -> PortAccess:
    operation, port = found.get("op"), found.get("port")
    if operation not in _OPERATIONS:
        raise BundleError("%r is no operation" % str(operation)[:_MOST_DIGITS])
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < ports:
        raise BundleError("a port that is not there")
    is_many = operation in (BLOCK, FIFO)
    words = found.get("words") if is_many else 1
    if not isinstance(words, int) or isinstance(words, bool) or not 0 <= words <= _MOST_WORDS:
        raise BundleError("a number of words that no access has")
    error = _error(found["error"]) if "error" in found else None
    value: Any = None
    if is_many and error is None:
        values = found.get("values")
        if not isinstance(values, list) or len(values) != words:
            raise BundleError("another number of values than words")
        value = array("I", [_hex(each) for each in values])
    elif not is_many and (error is None or "value" in found):
        value = _hex(found.get("value"))
    return PortAccess(operation, port, _hex(found.get("address")), value, words, error)


def _hex(text: Any) -> int:
    if not isinstance(text, str) or len(text) > _MOST_DIGITS:
        raise BundleError("a number is no hex text")
    try:
        value = int(text, 16)
    except ValueError:
        raise BundleError("%r is no hex number" % text) from None
    if not 0 <= value < _WORD:
        raise BundleError("%s has more than 32 bits" % text)
    return value


def _error(found: Any) -> AccessError:
    if not isinstance(found, dict):
        raise BundleError("an error is no object")
    kind, address = found.get("kind"), found.get("address")
    is_address = isinstance(address, int) and not isinstance(address, bool) and 0 <= address < _WORD
    message = plain(str(found.get("message"))[:_LONGEST])
    return AccessError(message, address if is_address else None, kind if kind in _KINDS else "fault")
