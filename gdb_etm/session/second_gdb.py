"""A second GDB with the same symbols, which prints past values.

The user's own GDB stays on the live target.

It is connected to nothing but this process, which answers it from a history.  It reads no start-up files and loads no
scripts; in it nothing runs and nothing can be written.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
import time
from contextlib import closing
from itertools import count
from typing import IO, Iterator, List, NamedTuple, Optional, Sequence

from gdb_etm.errors import CommandError, ConnectError
from gdb_etm.program.dropped import without_dropped
from gdb_etm.replay.ends import Host
from gdb_etm.replay.packets import InputKind, Item
from gdb_etm.replay.target import Reply
from gdb_etm.replay.view import View
from gdb_etm.replay.wires import Wire, over_socket, wait
from gdb_etm.session.places import SymbolFile
from gdb_etm.sockets.acceptor import Acceptor
from gdb_etm.sockets.listener import listen_privately

# More than any command takes: what is slow is done before.
_SECONDS = 20.0
_NAME = "the second GDB, which prints values of the past,"
# Bytes that are read of its standard error.
_LARGEST_ERROR = 1 << 16
_EMPTY = frozenset(("DEBUGINFOD_URLS", "GDBHISTFILE"))
_SETTINGS = (
    "set confirm off",
    "set width 0",
    "set height 0",
    "set pagination off",
    "set may-call-functions off",
    "set may-write-registers off",
    "set may-write-memory off",
    "set may-insert-breakpoints off",
    "set code-cache off",
    "set stack-cache off",
    "set backtrace past-main off",
    "set print entry-values no",
    "set python print-stack none",
    "set architecture arm",
    "set tcp connect-timeout 5",
)
_RESULT = re.compile(r"(\d+)\^(done|running|connected|error|exit)(?:,(.*))?\Z")
_MESSAGE = re.compile(r'msg="((?:[^"\\]|\\.)*)"')
_STRING = re.compile(r'[~@]"((?:[^"\\]|\\.)*)"\Z')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "e": "\x1b", "v": "\v"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# A convenience function of GDB 14's.
_RUNS_PROGRAMS = re.compile(r"\$_shell\b")


class Answer(NamedTuple):
    """What a command printed."""

    lines: List[str]
    # What went wrong, in GDB's words; None when nothing did.
    error: Optional[str] = None


class SecondGdb:
    """The second GDB.

    :param gdb: The words that start it.
    :param files: What it reads symbols from.
    :param view: What it sees.
    :raises ConnectError: It does not start.
    """

    def __init__(self, gdb: Sequence[str], files: Sequence[SymbolFile], view: View) -> None:
        self.view = view
        self._tokens = count(1)
        self._frames = count(0)
        self._output = bytearray()
        self._wire: Optional[Wire] = None
        self._host: Optional[Host] = None
        self._command = shlex.join(gdb)
        self._errors = tempfile.TemporaryFile()
        self._process = _start(gdb, self._errors)
        self._copies = tempfile.TemporaryDirectory(prefix="gdb-etm-")
        assert self._process.stdin is not None and self._process.stdout is not None
        self._pipe = Wire(self._process.stdout, self._process.stdin)
        try:
            with closing(Acceptor(listen_privately())) as acceptor:
                self._prepare(files, acceptor)
        except EOFError:
            raise ConnectError(self._ended()) from None
        finally:
            if self._host is None:
                self.close()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._host is not None and self._process.poll() is None

    def close(self) -> None:
        """End it."""
        self._host = None
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._errors.close()
        self._pipe.close()
        if self._wire is not None:
            self._wire.close()
        self._copies.cleanup()

    def show(self) -> None:
        """Make it forget what it read: the view has changed.

        :raises ConnectError: It has ended.
        """
        self._ask("-trace-find frame-number %d" % (next(self._frames) % (1 << 30)))

    def run(self, command: str) -> Answer:
        """Run one of its commands.

        :param command: One line.
        :raises CommandError: It holds what no line does, or would start a program.
        :raises ConnectError: It has ended.
        """
        if _CONTROL.search(command):
            raise CommandError("an expression is one line without control characters")
        if _RUNS_PROGRAMS.search(command):
            raise CommandError("$_shell does not work here")
        return self._ask("-interpreter-exec console %s" % _quoted(command))

    def _prepare(self, files: Sequence[SymbolFile], acceptor: Acceptor) -> None:
        for command in _SETTINGS:
            self.run(command)  # older ones do not have all of them
        for one in files:
            path = _quoted(self._readable(one.path))
            if one.is_main:
                self.run("file %s" % path)
            if one.offset or not one.is_main:
                verb = "symbol-file" if one.is_main else "add-symbol-file"
                self.run("%s -o %#x %s" % (verb, one.offset, path))
        token = self._send("-interpreter-exec console %s" % _quoted("target remote " + acceptor.where))
        self._wire = wire = self._admit(acceptor)
        self._host = Host(wire, self._reply, self.view.interrupted)
        answer = self._wait(token)
        if answer.error is not None:
            self._host = None
            raise ConnectError("the second GDB does not connect: %s" % answer.error)

    def _readable(self, path: str) -> str:
        # Functions that were dropped would hide those that are there, and name null pointers.
        copy = without_dropped(path)
        if copy is None:
            return path
        name = os.path.join(self._copies.name, "%d-%s" % (next(self._tokens), os.path.basename(path)))
        with open(name, "wb") as file:
            file.write(copy)
        return name

    def _admit(self, acceptor: Acceptor) -> Wire:
        # It may end before it comes.
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            connection = acceptor.admit()
            if connection is not None:
                return over_socket(connection)
            if self._pipe in wait([acceptor, self._pipe], _SECONDS if acceptor.seconds is None else acceptor.seconds):
                self._output += self._pipe.read()
        raise EOFError

    def _reply(self, item: Item) -> Iterator[Reply]:
        return self.view.answer(item.data) if item.kind is InputKind.PACKET else iter(())

    def _ask(self, command: str) -> Answer:
        try:
            return self._wait(self._send(command))
        except EOFError:
            ended = self._ended()
            self.close()
            raise ConnectError(ended) from None
        except BaseException:
            self.close()  # it may still be at work
            raise

    def _ended(self) -> str:
        # The last line of its standard error may give the reason.
        self._errors.seek(0)
        said = self._errors.read(_LARGEST_ERROR).decode("utf-8", "replace").split("\n")
        why = next((": " + line.strip() for line in reversed(said) if line.strip()), "")
        if self._host is not None:
            return "%s has ended%s; try again" % (_NAME, why)
        return '%s does not start%s; it is "%s", and "set etm gdb PATH" names another' % (_NAME, why, self._command)

    def _send(self, command: str) -> int:
        token = next(self._tokens)
        self._pipe.write(("%d%s\n" % (token, command)).encode("utf-8", "surrogateescape"))
        return token

    def _wait(self, token: int) -> Answer:
        # It asks while it answers.
        printed = ""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            ends: List[Wire] = [self._pipe]
            if self._host is not None:
                ends.append(self._host.wire)
            ready = wait(ends, _SECONDS)
            if self._host is not None and self._host.wire in ready:
                for _ in self._host.receive():
                    pass
            if self._pipe not in ready:
                continue
            for line in self._lines():
                text = _STRING.match(line)
                if text is not None:
                    printed += _plain(text.group(1))
                result = _RESULT.match(line)
                if result is not None and int(result.group(1)) == token:
                    return Answer(printed.splitlines(), _error(result.group(2), result.group(3) or ""))
        raise EOFError

    def _lines(self) -> List[str]:
        self._output += self._pipe.read()
        *whole, rest = bytes(self._output).split(b"\n")
        self._output[:] = rest
        return [line.rstrip(b"\r").decode("utf-8", "surrogateescape") for line in whole]


def _start(gdb: Sequence[str], errors: IO[bytes]) -> "subprocess.Popen[bytes]":
    words = [*gdb, "-q", "-nx", "--interpreter=mi2", "-iex", "set auto-load off"]
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            env={name: value for name, value in os.environ.items() if name not in _EMPTY},
            start_new_session=True,
        )
    except OSError as error:
        raise ConnectError("cannot start a second GDB, %s: %s" % (gdb[0], error.strerror)) from None


def _error(kind: str, rest: str) -> Optional[str]:
    if kind != "error":
        return None
    found = _MESSAGE.search(rest)
    return _plain(found.group(1)).strip() if found is not None else "error"


def _quoted(text: str) -> str:
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def _plain(text: str) -> str:
    # A C string's contents; GDB writes bytes that are not ASCII as octal numbers.
    def letter(found: "re.Match[str]") -> str:
        what = found.group(1)
        return chr(int(what, 8)) if len(what) == 3 else _LETTERS.get(what, what)

    plain = _ESCAPE.sub(letter, text)
    try:
        return plain.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return plain
