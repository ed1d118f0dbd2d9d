"""Commands of GDB's machine interface: ``-etm-fault`` and the like.

They take the words of the ``etm`` command of that name and give its object, as ``--format json`` does in a shell.  GDB
has them from version 12 on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Sequence

import gdb

if TYPE_CHECKING:
    from gdb_etm.gdbui.dispatch import Dispatch


def register_mi(names: Sequence[str], dispatch: Callable[[], Dispatch]) -> None:
    """Register them, where GDB can.

    :param names: Commands after ``etm`` that have an object.
    """
    if hasattr(gdb, "MICommand"):
        for name in names:
            _made(name, dispatch)


def _made(name: str, dispatch: Callable[[], Dispatch]) -> Any:
    class EtmCommand(gdb.MICommand):
        """One of them."""

        def invoke(self, argv: List[str]) -> Any:
            """Run the command, and give its object."""
            return plain_object(dispatch().object_of(name, argv))

    return EtmCommand("-etm-" + name)


def plain_object(value: Any) -> Any:
    """Make what MI can write: without null, and with "-" in names.

    :param value: An object for JSON.
    """
    if isinstance(value, dict):
        return {key.replace("_", "-"): plain_object(one) for key, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [plain_object(one) if one is not None else "null" for one in value]
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value
