"""What a user chooses when starting a simulated board."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple


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
    hold: bool = False
