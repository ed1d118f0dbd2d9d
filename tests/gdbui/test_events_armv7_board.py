"""Real GDB, real pyOCD: events of ETMv3 and PTM.

The history is the board's truth, cut where the events say.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple, Sequence

import pytest

from tests.firmware.build import symbol
from tests.firmware.cortex_a.build import elf as elf_a
from tests.firmware.cortex_m4.build import elf as elf_m4
from tests.gdbui.traced import functions, history, instructions, ran_on_a9, traced


class Seen(NamedTuple):
    """What a session shows, and what ran."""

    output: str
    history: List[int]
    ran: List[int]
    path: str

    def within(self, name: str) -> List[int]:
        """List what ran in a function."""
        first, end = functions(self.path)[name]
        return [address for address in self.ran if first <= address < end]

    def calls(self, name: str) -> List[int]:
        """List when a function began to run."""
        entry = functions(self.path)[name][0]
        return [at for at, address in enumerate(self.ran) if address == entry]


def m4(folder: Path, lines: Sequence[str], options: str = "--data-trace --etb-size 1M", program: str = "sort") -> Seen:
    path = elf_m4(program)
    output = traced("m4", path, folder, ["etm " + line for line in lines], options)
    return Seen(output, history(output), [each.address for each in instructions(folder)], path)


def a9(folder: Path, lines: Sequence[str], program: str = "sort-t32") -> Seen:
    path = elf_a(program)
    output = traced("a9", path, folder, ["etm " + line for line in lines])
    return Seen(output, history(output), ran_on_a9(folder), path)


def test_trace_while_in_a_function(tmp_path: Path) -> None:
    seen = m4(tmp_path, ["on in is_even do trace"])
    assert seen.history == seen.within("is_even") != []
    assert "note: an event switches the trace" in seen.output


def test_a_counter_starts_the_trace(tmp_path: Path) -> None:
    """After three calls; the states of the sequencer remember it."""
    seen = m4(tmp_path, ["counter 0 3", "on exec is_even do count 0", "on counter 0 do start"])
    third = seen.calls("is_even")[2]
    began = len(seen.ran) - len(seen.history)
    assert seen.history == seen.ran[began:] and abs(began - third) < 8


def test_the_sequencer_opens_a_window(tmp_path: Path) -> None:
    seen = m4(
        tmp_path, ["on exec is_even do next-state 0-1", "on exec is_odd do next-state 1-0", "on state 1 do trace"]
    )
    first, last = functions(seen.path)["is_even"][0], functions(seen.path)["is_odd"][0]
    opened, wanted = False, []
    for address in seen.ran:
        opened = address == first or opened and address != last
        wanted += [address] if opened else []
    # An instruction more or less at either end of each window.
    assert abs(len(seen.history) - len(wanted)) <= 2 * len(seen.calls("is_even")) and seen.history != []


@pytest.mark.parametrize(
    "options, percent, after", [("--data-trace --etb-size 2K", 0, 0), ("--data-trace --etb-size 2K", 50, 1024)]
)
def test_a_trigger_stops_the_buffer(options: str, percent: int, after: int, tmp_path: Path) -> None:
    seen = m4(tmp_path, ["on exec fill do trigger", "trigger position %d" % percent], options)
    assert "note: a trigger has stopped the buffer with {:,} bytes after it".format(after) in seen.output
    assert seen.history and len(seen.history) < len(seen.ran)


def test_own_unit_of_the_m4_has_the_dwt(tmp_path: Path) -> None:
    seen = m4(tmp_path, ["on exec IRQ1_Handler do trigger"], "--etb-size 1M", "interrupts")
    assert seen.history == seen.ran != [] and "<event 0: trigger at exec IRQ1_Handler>" in seen.output
    refused = m4(tmp_path, ["connect", "on exec pend do next-state 0-1"], "--etb-size 1M", "interrupts")
    assert "sequencer: not in this trace unit (ETMCCR.Sequencer is 0)" in refused.output


def test_a_ptm_traces_while_in_a_function(tmp_path: Path) -> None:
    seen = a9(tmp_path, ["on in run do trace"])
    inside = seen.within("run")
    assert inside and set(inside) <= set(seen.history) and len(seen.history) <= len(inside) + len(inside) // 2


def test_a_ptm_starts_after_so_many_calls(tmp_path: Path) -> None:
    seen = a9(tmp_path, ["counter 0 2", "on exec is_even do count 0", "on counter 0 do start"])
    second = seen.calls("is_even")[1]
    began = len(seen.ran) - len(seen.history)
    assert seen.history == seen.ran[began:] and abs(began - second) < 8


def test_a_ptm_starts_with_a_context(tmp_path: Path) -> None:
    """From about the write of CONTEXTIDR; another write follows."""
    seen = a9(tmp_path, ["on context 0x1234 do start"], "modes")
    first = seen.ran.index(symbol(seen.path, "set_context_id"))
    began = len(seen.ran) - len(seen.history)
    assert seen.history == seen.ran[began:] and abs(began - first) < 10


def test_a_ptm_traces_what_is_of_no_context(tmp_path: Path) -> None:
    seen = a9(tmp_path, ["on not context 0x1234 do trace"], "modes")
    first, second = (at for at, address in enumerate(seen.ran) if address == symbol(seen.path, "set_context_id"))
    assert abs(len(seen.history) - (len(seen.ran) - (second - first))) < 20
    assert seen.history[: first - 10] == seen.ran[: first - 10] and seen.history[-10:] == seen.ran[-10:]


def test_an_output_of_a_ptm_is_an_input(tmp_path: Path) -> None:
    seen = a9(tmp_path, ["on exec is_even do output 1", "on input 1 do start"])
    began = len(seen.ran) - len(seen.history)
    assert seen.history == seen.ran[began:] and abs(began - seen.calls("is_even")[0]) < 8
