"""The threads of a history as text."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

from gdb_etm.history.threads import HistoryThread


class ThreadRow(NamedTuple):
    """A thread with what is known of it."""

    thread: HistoryThread
    name: str
    # The kernel's block of it; None when that is not known.
    block: Optional[int]
    # The function of its last instruction.
    where: str
    # Whether it runs at the position, or is interrupted there.
    is_here: bool
    # Names of the kernel's other threads that may have run some of it.
    rivals: Sequence[str] = ()


def thread_lines(rows: Sequence[ThreadRow], kernel: str) -> List[str]:
    """Write threads in columns.

    :param kernel: The name of the kernel whose blocks are meant; may be empty.
    """
    cells = [["Id", "Thread", "Instructions", "Last run"]]
    for row in rows:
        last = "at {:,}, in {}".format(row.thread.last, row.where) + _notes(row, kernel)
        cells.append([str(row.thread.number), row.name, "{:,}".format(row.thread.instructions), last])
    widths = [max(len(line[at]) for line in cells) for at in range(3)]
    marks = ["  "] + ["* " if row.is_here else "  " for row in rows]
    lines = []
    for mark, (number, name, count, last) in zip(marks, cells):
        lines.append(mark + "  ".join((number.ljust(widths[0]), name.ljust(widths[1]), count.rjust(widths[2]), last)))
    return lines


def _notes(row: ThreadRow, kernel: str) -> str:
    notes = []
    if row.block is not None:
        notes.append("%s block 0x%08x" % (kernel, row.block))
    if row.thread.alike:
        notes.append("not told apart from %s everywhere" % ", ".join(map(str, row.thread.alike)))
    if row.rivals:
        notes.append("some of it may be of %s" % ", ".join(row.rivals))
    return "   [%s]" % "; ".join(notes) if notes else ""
