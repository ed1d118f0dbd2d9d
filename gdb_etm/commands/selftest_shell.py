"""``gdb-etm selftest``: the self test from a shell, without GDB."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Optional, Sequence

from gdb_etm.commands.connect import CONNECT
from gdb_etm.commands.declare import Command, help_text
from gdb_etm.commands.parse import choice, parse
from gdb_etm.commands.selftest import SELFTEST, WORKS
from gdb_etm.commands.written_objects import selftest_object
from gdb_etm.errors import ConnectError, EtmError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.disconnecting import disconnect
from gdb_etm.session.session import DebugSession
from gdb_etm.views.schema import FORMATS, document_lines

if TYPE_CHECKING:
    from gdb_etm.access.client import Client

# A core halts in microseconds, unless it is held in reset or has no clock.
_HALT_SECONDS = 2.0


class HaltingDebugger(OfflineDebugger):
    """No debugger, and a core that is halted when reached."""

    def __init__(self) -> None:
        super().__init__()
        self._client: Optional[Client] = None

    def connect(self, client: Client) -> None:
        """Halt the core; the process resumes it in the end.

        :raises ConnectError: It does not halt.
        """
        self._client = client
        if not client.is_halted:
            client.halt()
            if not client.wait_for_halt(_HALT_SECONDS):
                raise ConnectError("the core does not halt; is it held in reset, or without a clock?")

    def is_running(self) -> bool:
        """Ask the process."""
        return self._client is not None and not self._client.is_halted


_FORMAT = choice("--format", FORMATS, "text (default); json; jsonl", "FORMAT")
# As it is typed in a shell: connected and tested at once.
_COMMAND = Command(
    "selftest",
    SELFTEST.summary,
    SELFTEST.run,
    details=SELFTEST.details,
    arguments=(*CONNECT.arguments, *SELFTEST.arguments, _FORMAT),
    examples=(("selftest board:m33", "a simulated board"), ("selftest --target stm32h743xx", "the board at a probe")),
)


def main(words: Sequence[str]) -> int:
    """Connect, test, disconnect.

    :param words: Those of ``etm connect``, and ``--ram``.
    :returns: The exit status: 0 if trace works.
    """
    if "-h" in words or "--help" in words:
        print(help_text(_COMMAND).replace("etm selftest", "gdb-etm selftest"))
        return 0
    session = DebugSession(HaltingDebugger())
    works = False
    try:
        values = parse(_COMMAND, list(words))
        form = values.get(_FORMAT) or "text"
        try:
            for line in CONNECT.run(session, values):
                if form == "text":
                    print(line, flush=True)
        except EtmError:
            # The first step says why the trace hardware is not ours, and the doctor goes on from there.
            if session.connection is None:
                raise
        if form != "text":
            found = selftest_object(session, values)
            works = found["works"]
            print("\n".join(document_lines(found, form)))
        for line in SELFTEST.run(session, values) if form == "text" else ():
            print(line, flush=True)
            works = works or line.startswith(WORKS)
    except EtmError as error:
        print("gdb-etm: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gdb-etm: interrupted", file=sys.stderr)
        return 130
    finally:
        _end(session)
    return 0 if works else 1


def _end(session: DebugSession) -> None:
    try:
        disconnect(session)
    except EtmError as error:
        print("gdb-etm: %s" % error, file=sys.stderr)
