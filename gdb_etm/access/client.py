"""GDB's side of the process beside it: connection and remote ports.

Loaded by GDB's own Python: standard library only, Python 3.8, no threads (a thread in GDB would take its signals).  But
it may be used by several, one request at a time.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from gdb_etm.access.process import SERVER, ServerProcess
from gdb_etm.access.stream import LineStream
from gdb_etm.access.wire import (
    MAX_WORDS,
    NO_CORE,
    Hello,
    Message,
    decode_words,
    error_from,
    parse_hello,
    reply_fields,
    reply_number,
    reply_texts,
)
from gdb_etm.errors import AccessError, ConnectError, EtmError, plain
from gdb_etm.sockets.peers import ipv4_of, is_local, is_strangers

# How long pyOCD may take to open probe and target.
HELLO_SECONDS = 30.0
# How long one request may take; a probe retries on WAIT for a few seconds.
REPLY_SECONDS = 10.0
# How long erasing and writing of flash may take.
_LOAD_SECONDS = 300.0
_CHUNK_WORDS = MAX_WORDS // 2
_CLOSING_SECONDS = 7.0
_STARTING_SECONDS = 2.0
_HALT_POLL_SECONDS = 0.01
# How long what was said unasked is read, however much it is.
_NOTICES_SECONDS = 1.0

# Called about every second while the process starts, with the seconds since the start.
Progress = Callable[[float], None]


class Client:
    """A connection to the process beside GDB.  Made by :func:`start` or :func:`attach`.

    Ctrl-C (KeyboardInterrupt) may leave any method at any time; the next request finds the stream in step.
    """

    def __init__(self, stream: LineStream, hello: Hello, process: Optional[ServerProcess] = None) -> None:
        self._stream = stream
        self._process = process
        self._number = 0
        self._turn = threading.RLock()
        # The loss is reported at every request: the first to hear of it may have to ignore it.
        self._loss: Optional[EtmError] = None
        # What the process said of itself.
        self.hello = hello

    @property
    def alive(self) -> bool:
        """Whether the connection is open, as far as is known without asking."""
        return self._loss is None and not self._stream.closed

    @property
    def process_id(self) -> Optional[int]:
        """The process's id, if this client started it."""
        return self._process.popen.pid if self._process is not None else None

    def port(self, ap: Optional[int] = None) -> RemotePort:
        """Return an access port.

        :param ap: Its ``id``; None takes the one that the core that GDB debugs is on.
        :raises AccessError: There is no such access port.
        """
        if ap is None:
            if self.hello.core == NO_CORE:
                raise AccessError("no core was opened, only access ports; choose one of them")
            ap = next(core.ap for core in self.hello.cores if core.number == self.hello.core)
        for info in self.hello.aps:
            if info.id == ap:
                return RemotePort(self, ap, info.name)
        raise AccessError("no memory access port %d; there are: %s" % (ap, ", ".join(i.name for i in self.hello.aps)))

    def states(self) -> List[str]:
        """Return what each core of ``hello.cores`` does: ``"running"``, ``"halted"``, ``"sleeping"``..."""
        return reply_texts(self.request({"op": "status"}), "states")

    def log(self) -> List[str]:
        """Return pyOCD's last warnings, oldest first."""
        return reply_texts(self.request({"op": "log"}), "lines")

    def versions(self) -> Dict[str, str]:
        """Return the versions there: of Python, pyOCD, the probe's firmware."""
        found = reply_fields(self.request({"op": "versions"}), {"versions": dict})["versions"]
        return {plain(name): plain(str(version)) for name, version in found.items()}

    def debug_port(self, power_up: bool = False) -> int:
        """Read the debug port's CTRL/STAT register.

        :param power_up: Whether to ask for power of the debug and system domains before.
        """
        return reply_number(self.request({"op": "debug_port", "power_up": power_up}), "value")

    def run(self) -> None:
        """Resume the core of ``hello.core``, past a breakpoint where it stands.

        :raises AccessError: The target does not answer, or no core was opened.
        :raises EtmError: GDB is attached to the core.
        """
        self.request({"op": "run"})

    def halt(self) -> None:
        """Ask that core to halt; :meth:`wait_for_halt` returns when it has.

        :raises AccessError: The target does not answer, or no core was opened.
        :raises EtmError: GDB is attached to the core.
        """
        self.request({"op": "halt"})

    def reset(self) -> None:
        """Reset the chip and halt the core at its first instruction.

        :raises AccessError: The target does not answer, or no core was opened.
        :raises EtmError: GDB is attached to the core.
        """
        self.request({"op": "reset"})

    def load(self, path: str) -> None:
        """Write a program to the chip, and halt at its first instruction.

        :param path: An ELF file, as the process finds it.
        :raises AccessError: The target does not answer, or there is no memory for it.
        :raises EtmError: GDB is attached to the core, or the file cannot be read.
        """
        self.request({"op": "load", "path": path}, _LOAD_SECONDS)

    def registers(self) -> Dict[str, int]:
        """Read the halted core's ``r0`` to ``r12``, ``sp``, ``lr``, ``pc`` and ``xpsr``.

        :raises AccessError: The target does not answer, or no core was opened.
        :raises EtmError: The core runs.
        """
        found = reply_fields(self.request({"op": "registers"}), {"registers": dict})["registers"]
        return {plain(name): reply_number(found, name) for name in found}

    def set_breakpoint(self, address: int) -> None:
        """Set a breakpoint on an instruction, until this client goes.

        :raises AccessError: The target does not answer, or no core was opened.
        :raises EtmError: GDB is attached to the core, or no breakpoint is left.
        """
        self.request({"op": "set_breakpoint", "address": address})

    def clear_breakpoint(self, address: int) -> None:
        """Clear a breakpoint of this client; an absent one is no error.

        :raises AccessError: The target does not answer, or no core was opened.
        :raises EtmError: GDB is attached to the core.
        """
        self.request({"op": "clear_breakpoint", "address": address})

    @property
    def is_halted(self) -> bool:
        """Whether the core of ``hello.core`` is halted.

        :raises AccessError: The target does not answer, or no core was opened.
        """
        states = dict(zip((core.number for core in self.hello.cores), self.states()))
        if self.hello.core not in states:
            raise AccessError("no core was opened, only access ports")
        return states[self.hello.core] == "halted"

    def wait_for_halt(self, seconds: Optional[float] = None) -> bool:
        """Wait until the core halts.

        Ctrl-C ends the wait at any time, and the core runs on.

        :param seconds: How long at most; None: without end.
        :returns: Whether it halted.
        :raises AccessError: The target does not answer, or no core was opened.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self.is_halted:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(_HALT_POLL_SECONDS)
        return True

    def at_end(self, steps: Sequence[Tuple[int, int, int, int]]) -> None:
        """Leave steps that restore the target when this client is gone.

        They are done in order, however the client goes.

        :param steps: ``(ap, address, value, mask)`` each: a write when the mask is 0, otherwise a wait until the word's
            bits under the mask are those of the value, for a second at most.  They replace what was left before, so
            ``()`` cancels it.
        """
        self.request({"op": "at_end", "steps": [list(step) for step in steps]})

    def request(self, request: Message, seconds: float = REPLY_SECONDS) -> Message:
        """Send one request and return its reply.

        :raises AccessError: The access failed, or the process is gone (kind ``"lost"``).
        """
        with self._turn:
            return self._answer(request, seconds)

    def _answer(self, request: Message, seconds: float) -> Message:
        if self._loss is not None:
            raise self._loss
        if self._stream.closed:
            raise AccessError("the process beside GDB is gone; try etm connect", kind="lost")
        self._number += 1
        address = request.get("address")
        try:
            reply = self._stream.exchange(dict(request, id=self._number), self._number, seconds)
        except EOFError:
            raise self._ended() from None
        except TimeoutError:
            message = "the process beside GDB has not answered for %.0f s" % seconds
            raise AccessError(message, address, "lost") from None
        self._heed(reply)
        if "error" in reply:
            raise error_from(reply["error"])
        return reply

    def check(self, seconds: float = 0.001) -> None:
        """Take note of what was said unasked.

        :param seconds: How long to wait for it.
        :raises AccessError: The probe or the process is gone (kind ``"lost"``).
        """
        if self._loss is not None and not self._stream.closed:
            raise self._loss
        end = time.monotonic() + seconds + _NOTICES_SECONDS
        try:
            while not self._stream.closed and time.monotonic() < end:
                with self._turn:
                    self._heed(self._stream.receive(seconds))
        except TimeoutError:
            pass
        except EOFError:
            raise self._ended() from None

    def close(self) -> None:
        """Close the connection, and end the process if this client started it.

        The target runs on as it was.
        """
        if not self._stream.closed:
            try:
                self.request({"op": "close"}, seconds=2.0)
            except AccessError:
                pass  # it is gone, or stuck; either way its stdin is closed
        self._stream.close()
        if self._process is not None:
            self._process.end(_CLOSING_SECONDS)

    def _heed(self, message: Message) -> None:
        if "farewell" in message:
            self._loss = error_from(message["farewell"])
            raise self._loss

    def _ended(self) -> EtmError:
        words = self._process.last_words() if self._process is not None else ""
        self._loss = AccessError("the process beside GDB ended%s" % words, kind="lost")
        return self._loss


class RemotePort:
    """An :class:`~gdb_etm.access.port.AccessPort` through the process beside GDB."""

    def __init__(self, client: Client, ap: int, name: str) -> None:
        self._client = client
        self._ap = ap
        self._name = name

    @property
    def ap(self) -> int:
        """The access port's ``id``, for :meth:`Client.at_end`."""
        return self._ap

    @property
    def name(self) -> str:
        """Short description, such as ``"AHB-AP 0"``."""
        return self._name

    def read32(self, address: int) -> int:
        """Read one word."""
        return reply_number(self._client.request({"op": "read32", "ap": self._ap, "address": address}), "value")

    def write32(self, address: int, value: int) -> None:
        """Write one word; it has reached the bus on return."""
        self._client.request({"op": "write32", "ap": self._ap, "address": address, "value": value})

    def read_block(self, address: int, words: int) -> List[int]:
        """Read ``words`` consecutive words."""
        result: List[int] = []
        while len(result) < words:
            result += self._read("read_block", address + 4 * len(result), min(_CHUNK_WORDS, words - len(result)))
        return result

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word ``words`` times, in pipelined transfers."""
        result: List[int] = []
        while len(result) < words:
            result += self._read("read_fifo", address, min(_CHUNK_WORDS, words - len(result)))
        return result

    def _read(self, operation: str, address: int, words: int) -> List[int]:
        reply = self._client.request({"op": operation, "ap": self._ap, "address": address, "words": words})
        try:
            return decode_words(reply["words"], words)
        except (KeyError, ValueError) as error:
            raise AccessError("%s for 0x%08x" % (error, address), address) from None


def start(
    python: str,
    arguments: Sequence[str],
    seconds: float = HELLO_SECONDS,
    progress: Optional[Progress] = None,
    module: str = SERVER,
) -> Client:
    """Start the process and wait until probe and target are open.

    :param python: The interpreter that pyOCD is installed in.
    :param arguments: From :func:`~gdb_etm.access.process.server_arguments`.
    :param module: Whose ``main`` takes them: of this package, and one that ends in that of :data:`SERVER`.
    :raises ConnectError: It did not open them; the message says why.
    """
    process = ServerProcess(python, arguments, module)
    stream = process.stream()
    started = time.monotonic()
    try:
        while True:
            try:
                message = stream.receive(min(1.0, seconds))
                return Client(stream, parse_hello(message), process)
            except TimeoutError:
                elapsed = time.monotonic() - started
                if elapsed >= seconds:
                    raise ConnectError("pyOCD did not open the target in %.0f s%s" % (elapsed, process.last_words()))
                if progress is not None:
                    progress(elapsed)
    except EOFError:
        words = process.last_words()
        stream.close()
        process.end(_STARTING_SECONDS)
        raise ConnectError("%s ended before pyOCD was ready%s" % (python, words)) from None
    except BaseException:
        stream.close()
        process.popen.terminate()
        process.end(_STARTING_SECONDS)
        raise


def attach(host: str, port: int, seconds: float = 5.0) -> Client:
    """Attach to a process that ``gdb-etm serve`` started by hand.

    :param host: This machine's name for itself, such as ``"localhost"``.
    :raises ConnectError: Nothing of ours listens there.
    """
    where = "%s:%d" % (host, port)
    if not is_local(host):
        raise ConnectError(
            "%s is another machine; forward its two ports to this one (ssh -L), then etm connect localhost:%d"
            % (where, port)
        )
    try:
        # gdb-etm serve listens at IPv4 addresses alone: at the others anybody may.
        connection = socket.create_connection((ipv4_of(host), port), seconds)
    except OSError as error:
        raise ConnectError("no gdb-etm serve at %s (%s)" % (where, error)) from None
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader, writer = connection.makefile("rb", buffering=0), connection.makefile("wb", buffering=0)
    connection.close()  # the two files keep it
    stream = LineStream(reader, writer)
    try:
        stream.send({"op": "hello"})
        hello = parse_hello(stream.receive(seconds))
        if is_strangers(connection):
            raise ConnectError("what listens at %s is another user's" % where)
        return Client(stream, hello)
    except (EOFError, TimeoutError):
        stream.close()
        raise ConnectError(
            "what listens at %s is no gdb-etm serve of yours; a GDB server is reached from GDB" % where
        ) from None
    except BaseException:
        stream.close()
        raise
