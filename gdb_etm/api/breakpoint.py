"""Breakpoints of scripts."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type

from gdb_etm.api.target import Runner


class Breakpoint:
    """A breakpoint that :meth:`Session.breakpoint` set.

    :param runner: Sets it.
    :param address: Where, in bytes.
    """

    def __init__(self, runner: Runner, address: int) -> None:
        # Where it is, in bytes.
        self.address = address
        self._runner = runner
        self._number = runner.set_breakpoint(address)

    def __enter__(self) -> Breakpoint:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        self.delete()

    def __repr__(self) -> str:
        return "<Breakpoint at 0x%08x>" % self.address

    def delete(self) -> None:
        """Take it out; twice is no error.

        :raises EtmError: It cannot be taken out.
        """
        self._runner.clear_breakpoint(self._number)
