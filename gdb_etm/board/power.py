"""Power for a board, with a pyOCD session's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from pyocd.core import exceptions

from gdb_etm.board.faults import parse_faults
from gdb_etm.board.options import board_options
from gdb_etm.errors import EtmError

if TYPE_CHECKING:
    from gdb_etm.board.board import AnyBoard


def power_up(unique_id: str, name: str, get: Callable[[str], Any]) -> AnyBoard:
    """Give a board power.

    :param unique_id: What its probe is called in messages.
    :param name: Which board.
    :param get: Gives the session's options.
    :raises ProbeError: an option is wrong, the ELF file cannot be loaded, or the fault `busy` was asked for.
    """
    # pyOCD imports this file for every command; Unicorn is only needed now.
    from gdb_etm.board.board import make_board

    try:
        options = board_options(name, get)
        if parse_faults(options.faults).busy:
            raise exceptions.ProbeError("%s is in use by another program" % unique_id)
        return make_board(options)
    except (EtmError, OSError, ValueError) as error:
        raise exceptions.ProbeError("%s: %s" % (unique_id, error)) from error
