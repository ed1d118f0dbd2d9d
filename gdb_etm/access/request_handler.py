"""Request handler of one client: line in, line out, no I/O."""

from __future__ import annotations

import time
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Mapping, Optional, Protocol, Sequence, Tuple

from gdb_etm.access.logs import LogKeeper
from gdb_etm.access.port import AccessPort
from gdb_etm.access.versions import versions_of
from gdb_etm.access.wire import (
    MAX_AT_END,
    MAX_WORDS,
    ApInfo,
    Hello,
    Message,
    decode_line,
    encode_line,
    encode_words,
    error_message,
    hello_message,
)
from gdb_etm.errors import AccessError, EtmError

_WORD_MAX = 0xFFFFFFFF
_ID_MAX = 1 << 53
_WAIT_SECONDS = 1.0
# The least of words in a row that is a block of memory: MTB buffers have 64 bytes and more.
_BLOCK_WORDS = 16
_Step = Tuple[int, int, int, int]
_AP_MAX = (1 << 64) - 1


class Probe(Protocol):
    """What reaches the target, for one request at a time."""

    # Called with the reason when it is lost.
    mourners: List[Callable[[str], None]]

    def borrowed(self) -> ContextManager[object]:
        """Return a context in which nobody else has it."""


class Control(Protocol):
    """Run control of the core, for clients without GDB."""

    def run(self) -> None:
        """Resume the halted core."""

    def halt(self) -> None:
        """Ask the core to halt."""

    def reset(self) -> None:
        """Reset the chip, and halt the core."""

    def load(self, path: str) -> None:
        """Write a program to the chip, and halt at its first instruction."""

    def registers(self) -> Dict[str, int]:
        """Read the halted core's registers."""

    def set_breakpoint(self, address: int) -> None:
        """Set a breakpoint."""

    def clear_breakpoint(self, address: int) -> None:
        """Clear one."""

    def release(self) -> None:
        """Undo what is left."""


class Served(Protocol):
    """An open session with a target."""

    @property
    def probe(self) -> Probe:
        """What reaches the target."""

    @property
    def operations(self) -> Mapping[str, Callable[[Message], Message]]:
        """What else clients may ask, by name."""

    def hello(self) -> Hello:
        """Say what was opened."""

    def port(self, ap: int) -> AccessPort:
        """Give an access port."""

    def aps(self) -> Sequence[ApInfo]:
        """List the memory access ports."""

    def states(self) -> List[str]:
        """Say what each core does."""

    def debug_port(self, power_up: bool) -> int:
        """Read the debug port's CTRL/STAT register."""

    def core_control(self) -> Control:
        """Give run control to a client without GDB."""


class RequestHandler:
    """Serve one client over one session; several desks may share it.

    :param session: The open session.
    :param log: Where the session's warnings are kept.
    """

    def __init__(self, session: Served, log: LogKeeper) -> None:
        self._session = session
        self._log = log
        self._at_end: List[_Step] = []
        self._control: Optional[Control] = None
        # Whether the client has said that it is done.
        self.closed = False
        self._operations: Dict[str, Callable[[Message], Message]] = {
            "hello": self._hello,
            "read32": self._read32,
            "write32": self._write32,
            "read_block": self._read_block,
            "read_fifo": self._read_fifo,
            "aps": self._aps,
            "cores": self._cores,
            "status": self._status,
            "debug_port": self._debug_port,
            "log": self._lines,
            "versions": self._versions,
            "run": self._run,
            "halt": self._halt,
            "reset": self._reset,
            "load": self._load,
            "registers": self._registers,
            "set_breakpoint": self._set_breakpoint,
            "clear_breakpoint": self._clear_breakpoint,
            "at_end": self._set_at_end,
            "close": self._close,
            **session.operations,
        }

    def answer(self, line: bytes) -> bytes:
        """Carry out one request and return its reply; errors reply too."""
        number: Any = None
        try:
            try:
                request = decode_line(line)
            except ValueError as error:
                raise EtmError("no request: %s" % error) from None
            number = _id(request)
            operation = self._operations.get(str(request.get("op")))
            if operation is None:
                raise EtmError("no operation %r; there are %s" % (request.get("op"), ", ".join(self._operations)))
            with self._session.probe.borrowed():
                reply = operation(request)
        except EtmError as error:
            reply = {"error": error_message(error)}
        except Exception as error:  # whatever a request brings about, its client gets a reply and the next is served
            reply = {"error": error_message(EtmError("no request: %s: %s" % (type(error).__name__, error)))}
        return encode_line(dict(reply, id=number))

    def finish(self) -> None:
        """Undo what the client changed, when it is gone."""
        with self._session.probe.borrowed():
            self._put_back()

    def _put_back(self) -> None:
        pending, self._at_end = self._at_end, []
        for run in _runs(pending):
            ap, address, value, mask = run[0]
            port = self._session.port(ap)
            write_block = getattr(port, "write_block", None)
            try:
                if mask:
                    _wait(port, address, value, mask)
                elif len(run) > 1 and write_block is not None:
                    write_block(address, [step[2] for step in run])
                else:
                    for _, address, value, _ in run:
                        port.write32(address, value)
            except AccessError:
                pass  # one register out of reach must not keep the others from being put back
        if self._control is not None:
            try:
                self._control.release()
            except AccessError:
                pass  # the target is gone, and the client too

    def _hello(self, request: Message) -> Message:
        return hello_message(self._session.hello())

    def _read32(self, request: Message) -> Message:
        return {"value": self._session.port(_ap(request)).read32(_address(request))}

    def _write32(self, request: Message) -> Message:
        value = _integer(request, "value", _WORD_MAX)
        self._session.port(_ap(request)).write32(_address(request), value)
        return {}

    def _read_block(self, request: Message) -> Message:
        words = _integer(request, "words", MAX_WORDS)
        return {"words": encode_words(self._session.port(_ap(request)).read_block(_address(request), words))}

    def _read_fifo(self, request: Message) -> Message:
        words = _integer(request, "words", MAX_WORDS)
        return {"words": encode_words(self._session.port(_ap(request)).read_fifo(_address(request), words))}

    def _aps(self, request: Message) -> Message:
        return {"aps": [ap._asdict() for ap in self._session.aps()]}

    def _cores(self, request: Message) -> Message:
        return {"cores": [core._asdict() for core in self._session.hello().cores]}

    def _status(self, request: Message) -> Message:
        return {"states": self._session.states()}

    def _debug_port(self, request: Message) -> Message:
        return {"value": self._session.debug_port(request.get("power_up") is True)}

    def _lines(self, request: Message) -> Message:
        return {"lines": self._log.lines()}

    def _versions(self, request: Message) -> Message:
        return {"versions": versions_of(self._session.probe)}

    @property
    def _core(self) -> Control:
        if self._control is None:
            self._control = self._session.core_control()
        return self._control

    def _run(self, request: Message) -> Message:
        self._core.run()
        return {}

    def _halt(self, request: Message) -> Message:
        self._core.halt()
        return {}

    def _reset(self, request: Message) -> Message:
        self._core.reset()
        return {}

    def _load(self, request: Message) -> Message:
        path = request.get("path")
        if not isinstance(path, str):
            raise EtmError('"path" must be a text')
        self._core.load(path)
        return {}

    def _registers(self, request: Message) -> Message:
        return {"registers": self._core.registers()}

    def _set_breakpoint(self, request: Message) -> Message:
        self._core.set_breakpoint(_address(request))
        return {}

    def _clear_breakpoint(self, request: Message) -> Message:
        self._core.clear_breakpoint(_address(request))
        return {}

    def _set_at_end(self, request: Message) -> Message:
        steps = request.get("steps")
        if not isinstance(steps, list) or len(steps) > MAX_AT_END:
            raise EtmError('"steps" must be a list of at most %d' % MAX_AT_END)
        checked = []
        for step in steps:
            if not isinstance(step, list) or len(step) != 4:
                raise EtmError('each of "steps" must be [ap, address, value, mask]')
            fields = dict(zip(("ap", "address", "value", "mask"), step))
            value, mask = _integer(fields, "value", _WORD_MAX), _integer(fields, "mask", _WORD_MAX)
            checked.append((_ap(fields), _address(fields), value, mask))
        self._at_end = checked
        return {}

    def _close(self, request: Message) -> Message:
        self.closed = True
        return {}


def _runs(steps: Sequence[_Step]) -> Iterator[List[_Step]]:
    # Many writes to words in a row are memory, and one access; a few are registers.
    run: List[_Step] = []
    for step in [*steps, None]:
        if step is not None and run and not step[3] | run[-1][3] and step[:2] == (run[-1][0], run[-1][1] + 4):
            run.append(step)
            continue
        if len(run) >= _BLOCK_WORDS:
            yield run
        else:
            yield from ([one] for one in run)
        run = [] if step is None else [step]


def _wait(port: AccessPort, address: int, value: int, mask: int) -> None:
    end = time.monotonic() + _WAIT_SECONDS
    while port.read32(address) & mask != value and time.monotonic() < end:
        pass


def _id(request: Message) -> Optional[int]:
    number = request.get("id")
    if number is not None and (not isinstance(number, int) or abs(number) > _ID_MAX):
        raise EtmError('"id" must be a whole number')
    return number


def _ap(request: Message) -> int:
    return _integer(request, "ap", _AP_MAX)


def _address(request: Message) -> int:
    return _integer(request, "address", _WORD_MAX)


def _integer(request: Message, field: str, most: int) -> int:
    value = request.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise EtmError('"%s" must be a whole number from 0 to %d' % (field, most))
    return value
