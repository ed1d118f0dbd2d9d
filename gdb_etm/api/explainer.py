"""Why a program went wrong, and where values came from."""

from __future__ import annotations

from gdb_etm.session.chains import Chain
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.faults import Fault, fault_of_history, origin_in, uses_in
from gdb_etm.session.session import DebugSession


class Explainer:
    """Answers of a session about one history.

    :param session: Its settings say how far to go.
    :param decoded: The history.
    """

    def __init__(self, session: DebugSession, decoded: Decoded) -> None:
        self._session = session
        self._decoded = decoded

    def fault(self) -> Fault:
        """Say why the program went wrong at the end."""
        return fault_of_history(self._session, self._decoded)

    def origin(self, what: str, number: int, addresses: bool) -> Chain:
        """Follow a value back."""
        return origin_in(self._session, self._decoded, what, number, addresses)

    def uses(self, what: str, number: int) -> Chain:
        """Follow a value forward."""
        return uses_in(self._session, self._decoded, what, number)
