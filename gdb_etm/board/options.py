"""What a user chooses when starting a simulated board."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Tuple


class BoardOptions(NamedTuple):
    """The choices for one simulated board.

    :param board: Which board, by its name in ``variants.py``.
    :param elf: Path of the program put into flash and RAM at power-up, or None for blank flash.
    :param etb_size: Size of the trace buffer in bytes; None for the board's own.
    :param truth: Path of the file that receives what really ran, or None.
    :param truth_data: Whether that file also has every load and store, which takes time.
    :param truth_registers: Whether that file also has the registers after every instruction, which takes time.
    :param faults: Names of the faults that the probe side injects on demand.
    :param comparators: Address comparator pairs of the trace unit; the real ones have none.
    :param resources: Which resources an ETMv4 has: ``"own"`` for those of the real one, or ``"full"``.
    :param speculation: How many P0 elements the trace unit may leave uncommitted (TRCIDR8.MAXSPEC), where that can be
        chosen; None for the board's own choice.
    :param data_trace: Whether a fuller trace unit, which traces loads and stores, is in place of the board's own, where
        there is one.
    :param write_buffer: Whether a Cortex-M has a write buffer, so that a store that the bus refuses fails late; without
        one every fault is precise.
    :param hold: Whether a core that no debugger controls waits in reset until the trace unit is switched on.
    """

    board: str = "m33"
    elf: Optional[str] = None
    etb_size: Optional[int] = None
    truth: Optional[str] = None
    truth_data: bool = False
    truth_registers: bool = False
    faults: Tuple[str, ...] = ()
    comparators: int = 0
    resources: str = "own"
    speculation: Optional[int] = None
    data_trace: bool = False
    write_buffer: bool = False
    hold: bool = False


def board_options(board: str, get: Callable[[str], Any]) -> BoardOptions:
    """Make the choices from session options.

    :param board: Which board.
    :param get: Gives the value of an option by its name, such as ``"board.elf"``; None where nothing was chosen.
    :raises ValueError: A number is none.
    """
    faults = str(get("board.faults") or "")
    size = get("board.etb_size")
    speculation = get("board.speculation")
    return BoardOptions(
        board=board,
        elf=get("board.elf"),
        etb_size=None if size is None else int(size),
        truth=get("board.truth"),
        faults=tuple(name for name in faults.split(",") if name),
        comparators=int(get("board.comparators") or 0),
        resources=str(get("board.resources") or "own"),
        speculation=None if speculation is None else int(speculation),
        truth_data=bool(get("board.truth_data")),
        truth_registers=bool(get("board.truth_registers")),
        data_trace=bool(get("board.data_trace")),
        write_buffer=bool(get("board.write_buffer")),
        hold=bool(get("board.hold")),
    )
