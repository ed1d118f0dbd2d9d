"""Real GDB, real pyOCD: recordings longer than the buffer, against truth."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import List, Tuple

import pytest

from tests.access.processes import write_forever
from tests.firmware.build import elf, symbol
from tests.firmware.cortex_m4.build import elf as elf_m4
from tests.gdb_session import ROOT, SCRIPT, gdb_program, run_gdb
from tests.lister import ListedRange, list_execution
from tests.terminal import Terminal

_LINE = re.compile(r"^(\d+) +0x([0-9a-f]{8}) ", re.MULTILINE)
_SEEN = re.compile(r"^recorded ([\d,]+) instructions? in (\d+) pieces?, .* of trace: (.*)$", re.MULTILINE)
_FUNCTIONS = (
    "insertion_sort",
    "fibonacci",
    "one_round",
    "next_random",
    "choose",
    "IRQ0_Handler",
)
_COUNTS = """from gdb_etm.api.inside import commands_session
from gdb_etm.session.counted import counts_shown, profile_shown
shown = commands_session().shown()
counts = counts_shown(commands_session(), shown)
with open(%r, 'w') as file:
    for address, times in sorted(counts.executed.items()):
        file.write('%%x %%d\\n' %% (address, times))
profile = profile_shown(commands_session(), shown, 'instructions')
print('calls', sorted((one.function.name, one.calls, one.own) for one in profile.functions()))
print('held', len(shown.history), 'of', counts.instructions, profile.instructions)
"""


def rounds(board: str) -> str:
    return elf_m4("rounds") if board == "m4" else elf("rounds")


def recorded(board: str, folder: Path, number: int, *commands: str, options: str = "") -> str:
    """Run commands where the program is halted before its rounds."""
    path = rounds(board)
    output = run_gdb(
        [
            "file " + path,
            "etm connect board:%s --elf %s --truth %s %s" % (board, path, folder / "truth", options),
            "tbreak run",
            "continue",
            "set var rounds = %d" % number,
            *commands,
            "etm disconnect",
        ]
    )
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


def ran(folder: Path, path: str) -> List[int]:
    """Return what really ran, from ``run`` to the end."""
    lines = (folder / "truth").read_text("ascii").splitlines()
    begin = lines.index("halt 0x%08x" % symbol(path, "run"))
    end = max(at for at, line in enumerate(lines) if line.startswith("halt"))
    finish = "halt 0x%08x" % symbol(path, "finished")
    end = lines.index(finish) if finish in lines else end
    return [int(line.split()[0], 16) for line in lines[begin:end] if line.startswith("0x")]


def told(output: str) -> Tuple[int, int, str]:
    found = _SEEN.search(output)
    assert found is not None, output
    return int(found[1].replace(",", "")), int(found[2]), found[3]


@pytest.mark.sweep
@pytest.mark.parametrize("board, number", [("m33", 130), ("m7", 8), ("m4", 8)])
def test_stitch_loses_no_instruction(board: str, number: int, tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    commands = ("etm start", "etm record --stitch", "python exec(%r)" % (_COUNTS % str(counts)))
    listing = () if board == "m33" else ("etm history 1,1000000",)
    output = recorded(board, tmp_path, number, *commands, *listing)
    expected = ran(tmp_path, rounds(board))
    seen, pieces, lost = told(output)
    assert (seen, lost) == (len(expected), "nothing that ran is missing") and pieces > 3
    assert seen > 300000 or board != "m33"
    if listing:
        assert [int(match[2], 16) for match in _LINE.finditer(output)] == expected
    # Each piece's halt is known, and that nothing was lost there.
    assert output.count("Program received signal") == 1
    executed = {int(row.split()[0], 16): int(row.split()[1]) for row in counts.read_text("ascii").splitlines()}
    assert executed == Counter(expected)
    entries = Counter(expected)
    calls = re.search(r"^calls (.*)$", output, re.MULTILINE)
    assert calls is not None
    for name in _FUNCTIONS:
        assert "('%s', %d, " % (name, entries[symbol(rounds(board), name)]) in calls[1]


def test_counts_of_what_is_beyond_the_limit_stay(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    commands = (
        "set etm history-limit 10,000 1MiB",
        "etm start",
        "etm record",
        "python exec(%r)" % (_COUNTS % str(counts)),
        "etm coverage",
    )
    output = recorded("m33", tmp_path, 30, *commands, options="--etb-size 1K")
    expected = ran(tmp_path, elf("rounds"))
    held = re.search(r"^held (\d+) of (\d+) (\d+)$", output, re.MULTILINE)
    assert held is not None and told(output)[0] == len(expected) == int(held[2]) == int(held[3])
    assert int(held[1]) <= 10000 < len(expected) // 4
    executed = {int(row.split()[0], 16): int(row.split()[1]) for row in counts.read_text("ascii").splitlines()}
    assert executed == Counter(expected)
    assert "seen in {:,} instructions".format(len(expected)) in output


def test_pieces_that_are_no_record_are_left_out_as_ever(tmp_path: Path) -> None:
    commands = ("set etm history-limit 1,000", "etm start", "break one_round", *["continue"] * 4, "etm coverage")
    output = recorded("m33", tmp_path, 9, *commands)
    found = re.search(r"^seen in ([\d,]+) instructions", output, re.MULTILINE)
    assert found is not None and int(found[1].replace(",", "")) < 5000


def test_samples_tell_how_long_ran_unseen(tmp_path: Path) -> None:
    commands = ("etm start", "etm record --sample 10k", "etm history 1,1000000")
    output = recorded("m33", tmp_path, 30, *commands, options="--etb-size 512")
    expected = ran(tmp_path, elf("rounds"))
    seen, pieces, lost = told(output)
    assert pieces > 1 and seen < len(expected)
    cycles = re.search(r"; ([\d,]+) cycles ran$", lost)
    assert cycles is not None and int(cycles[1].replace(",", "")) == len(expected)
    gaps = re.findall(
        r"\[gap: the buffer wrapped: .* overwritten: ([\d,]+) cycles? ran since the halt before\]", output
    )
    runs, length = set(), 0
    for line in (tmp_path / "truth").read_text("ascii").splitlines():
        length = 0 if line.startswith("resume") else length + line.startswith("0x")
        if line.startswith("halt"):
            runs.add(length)
    assert gaps and {int(each.replace(",", "")) for each in gaps} <= runs


def test_a_breakpoint_ends_it_and_a_condition_is_heeded(tmp_path: Path) -> None:
    commands = ("etm start", "break IRQ0_Handler if interrupts == 4", "etm record", "print interrupts")
    output = recorded("m33", tmp_path, 20, *commands)
    assert "\nended: breakpoint 2\n" in output and "\n$1 = 4\n" in output
    assert "Breakpoint 2, IRQ0_Handler ()" in output and output.count("Breakpoint 2, ") == 1
    handlers = Counter(ran(tmp_path, elf("rounds")))[symbol(elf("rounds"), "IRQ0_Handler")]
    assert handlers == 4


def test_a_watchpoint_takes_the_comparator_and_ends_it(tmp_path: Path) -> None:
    commands = ("etm start", "watch interrupts", "etm record", "print interrupts")
    output = recorded("m33", tmp_path, 3, *commands)
    assert "\nended: a watchpoint\n" in output and "\n$1 = 1\n" in output


def test_a_fault_ends_it(tmp_path: Path) -> None:
    demo = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
    output = run_gdb(
        [
            "etm connect board:m33 --elf %s --truth %s" % (demo, tmp_path / "truth"),
            "etm start",
            "etm record --for 60s",
            "etm history -1",
            "etm disconnect",
        ]
    )
    assert "Program received signal SIGSEGV" in output and "\nended: SIGSEGV\n" in output
    assert 'etm: HardFault (a jump to where no code is). "etm fault" says why\n' in output
    lines = (tmp_path / "truth").read_text("ascii").splitlines()
    # The program ran before it was connected, and may have come to the fault.
    first = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    fault = next(at for at, line in enumerate(lines) if at > first and line.startswith("exception 3 "))
    assert told(output)[0] == sum(line.startswith("0x") for line in lines[first:fault])


def test_numbers_and_time_end_it(tmp_path: Path) -> None:
    commands = ("etm start", "etm record --instructions 20k", "etm record --for 0.7s", "print rounds")
    output = recorded("m33", tmp_path, 1000000, *commands)
    first, second = (int(found.replace(",", "")) for found, _, _ in _SEEN.findall(output))
    assert 20000 <= first < 20100 and second > 1000
    assert "\nended: at least 20,000 instructions were seen\n" in output and "\nended: 0.7 s have passed\n" in output
    seconds = re.findall(r"^in (\d+\.\d+) s: the core was halted \d+ % of the time, ", output, re.MULTILINE)
    assert 0.7 <= float(seconds[1]) < 15
    assert "Program received signal" not in output and "\n$1 = 1000000\n" in output
    assert first + second == len(ran(tmp_path, elf("rounds")))


def test_the_dwt_is_left_as_it_was_found(tmp_path: Path) -> None:
    registers = "x/3xw 0xe0001020"
    commands = ("set mem inaccessible-by-default off", "etm start", registers, "x/xw 0xe0001000")
    output = recorded("m33", tmp_path, 20, *commands, "etm record --instructions 9k", registers, "x/xw 0xe0001000")
    found = re.findall(r"^0xe00010[02]0:.*$", output, re.MULTILINE)
    assert len(found) == 4 and found[:2] == found[2:]


def test_a_full_buffer_halts_the_core_where_a_cti_leads_there(tmp_path: Path) -> None:
    looks = ("set mem inaccessible-by-default off", "x/xw 0xe0046000", "x/xw 0xe00460a0", "x/xw 0xe0048028")
    output = recorded("m33", tmp_path, 60, "etm start", "etm info", "etm record", *looks, "etm info")
    told_before, told_after = re.findall(r"^What halts the core for \"etm record\": (.*)$", output, re.MULTILINE)
    assert told_before.startswith("the DWT's cycle counter, until ")
    assert told_after == (
        "the full buffer: input 2 of CTI at 0xe0048000 on AHB-AP 0 leads to CTI at 0xe0046000 on AHB-AP 0"
    )
    assert re.findall(r"^0xe004[68]0[0-9a-f]{2}:\s(\w+)$", output, re.MULTILINE) == ["0x00000000"] * 3
    seen, pieces, lost = told(output)
    # By cycles alone there are more pieces, which grow to three quarters of the buffer.
    assert (seen, lost) == (len(ran(tmp_path, elf("rounds"))), "nothing that ran is missing") and pieces < 12


def test_without_such_a_way_the_cycle_counter_does(tmp_path: Path) -> None:
    output = recorded("nrf5340", tmp_path, 3, "etm start", "etm record", "etm info", options="--profile nrf5340")
    assert '\nWhat halts the core for "etm record": the DWT\'s cycle counter: of the buffer no CTI hears' in output
    assert told(output)[::2] == (len(ran(tmp_path, elf("rounds"))), "nothing that ran is missing")


def test_lazy_drain_reads_each_piece_all_the_same(tmp_path: Path) -> None:
    output = recorded("m33", tmp_path, 20, "set etm drain lazy", "etm start", "etm record")
    assert told(output)[0] == len(ran(tmp_path, elf("rounds")))


def test_what_cannot_be_recorded_is_one_line(tmp_path: Path) -> None:
    output = run_gdb(["etm record", "etm record --for never", "etm record --instructions 1.2.3", "etm record --sample"])
    assert output.splitlines()[:2] == [
        'not connected to a trace unit. Try "etm connect"',
        '--for: "never" is no time: such as 10s, 500ms, 2min',
    ]
    assert '--instructions: "1.2.3" is no number: such as 20000, 500k, 5M\n' in output
    assert "--sample needs a value: --sample CYCLES\n" in output
    output = recorded("m33", tmp_path, 1, "etm record", "etm record --stitch --sample 5k")
    assert 'tracing is off. Try "etm start" first\n' in output and "--stitch and --sample: one of them\n" in output


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    path = write_forever(tmp_path / "forever.elf")
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    line = [gdb_program(), "-nx", "-q", "-ex", "set width 0"]
    truth = tmp_path / "truth"
    connect = "etm connect board:m33 --elf %s --truth %s" % (path, truth)
    for command in ("source %s" % SCRIPT, connect, "etm start", "echo ready\\n"):
        line += ["-ex", command]
    with Terminal(line, environment, ROOT) as terminal:
        at = terminal.wait("ready\n")
        for _ in range(3):
            terminal.type("etm record --for 10min\n")
            at = terminal.wait("Recording: ", at)
            terminal.type("\x03")
            at = terminal.wait("\nended: interrupted\n", at)
            at = terminal.wait("(gdb) ", at)
        terminal.type("show pagination\n")
        at = terminal.wait("State of pagination is on.", at)
        assert "Python Exception" not in terminal.seen and "nothing that ran is missing" in terminal.seen


def test_a_fault_in_a_test_suite_shows_which_tests_ran(tmp_path: Path) -> None:
    # Tests one after the other; what the third works on is not there.
    export = tmp_path / "run.info"
    suite = elf("sort")
    output = run_gdb(
        [
            "file " + suite,
            "etm connect board:m33 --elf %s --truth %s" % (suite, tmp_path / "truth"),
            "etm start",
            "tbreak heap_sort",
            "etm record",
            "tbreak swap",
            "etm record",
            "set $r0 = 0xf0000000",
            "etm record",
            "etm coverage --export %s" % export,
            "etm disconnect",
        ]
    )
    assert re.findall(r"^ended: (.*)$", output, re.MULTILINE) == ["breakpoint 1", "breakpoint 2", "SIGSEGV"]
    assert output.count("nothing that ran is missing") == 3
    # The compiler calls some of them NAME.constprop.0.
    rows = re.findall(r"^FNDA:(\d+),((\w+)[\w.]*)$", export.read_text(), re.MULTILINE)
    found = {name: int(times) for times, _, name in rows}
    starts = {name: symbol(suite, whole) for _, whole, name in rows}
    lines = (tmp_path / "truth").read_text("ascii").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    # Disconnected, it runs on in the fault's handler.
    executed = Counter(int(line.split()[0], 16) for line in lines[begin:] if line.startswith("0x"))
    tests = ("quick_sort", "insertion_sort", "heap_sort", "fibonacci", "ackermann", "is_even")
    assert {name: found[name] for name in tests} == {name: executed[starts[name]] for name in tests}
    assert [found[name] > 0 for name in tests] == [True, True, True, False, False, False]


@pytest.mark.sweep
@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_an_exception_taken_as_the_core_runs_on_is_counted(board: str, tmp_path: Path) -> None:
    # Nothing was traced before it, so no packet tells of it: the trace begins in the handler.
    path = elf_m4("ticks") if board == "m4" else elf("ticks")
    output = run_gdb(
        [
            "file " + path,
            "etm connect board:%s --elf %s --truth %s" % (board, path, tmp_path / "truth"),
            "etm start",
            "break *(collatz+22)",
            *["continue"] * 40,
            "etm profile",
            "etm disconnect",
        ]
    )
    lines = (tmp_path / "truth").read_text("ascii").splitlines()
    # What runs without the breakpoint afterwards was not traced.
    halt = "halt 0x%08x" % (symbol(path, "collatz") + 22)
    last = max(at for at, line in enumerate(lines) if line == halt)
    lines = lines[lines.index("resume 0x%08x" % symbol(path, "Reset_Handler")) : last]
    taken = [at for at, line in enumerate(lines) if line.startswith("exception ")]
    assert any(lines[at - 1].startswith("resume") for at in taken)
    found = re.search(r"^SysTick_Handler +(\d+) ", output, re.MULTILINE)
    assert found is not None and int(found[1]) == len(taken), output
    # The one gap is the beginning.
    assert "entry was not seen" not in output and re.search(r"seen in [\d,]+ instructions, 1 gap:", output), output


# How GDB tells of a move on a target, and without one.
_LIVE = re.compile(
    r"^(#0 .*|\nProgram stopped\.|0x\w+ in .*|The program has no registers now\.|\d+\t.*)\n", re.MULTILINE
)
_LOOKS = ("etm history 1,300", "etm profile", "etm backtrace", "etm goto 500", "etm info registers")


def test_a_recording_is_saved_and_loaded(tmp_path: Path) -> None:
    # What was recorded, and what comes back of it in GDB.
    path, folder = elf("ticks"), tmp_path / "saved"
    looks = [*_LOOKS, "etm history -10", "echo looked\\n"]
    output = run_gdb(
        [
            "file " + path,
            "etm connect board:m33 --elf %s --etb-size 1K" % path,
            *("etm start", "tbreak run", "continue", "etm record --instructions 9000", "echo begun\\n", *looks),
            *("etm save %s" % folder, "etm disconnect", "etm load %s" % folder, "echo begun\\n", *looks),
        ]
    )
    before, after = (_LIVE.sub("", part.partition("looked")[0]) for part in output.split("begun\n")[1:])
    assert before == after and len(before.splitlines()) > 330, output
    assert re.search(r"^captures 1 to \d+ saved in ", output, re.MULTILINE) and "etm history: " not in output
    # A shell sees the same halts; OpenCSD takes the pieces for one buffer, and the same instructions.
    shell = [str(ROOT / ".venv/bin/python"), "-m", "gdb_etm", "history", str(folder), "--elf", path]
    listed = subprocess.run(shell, stdout=subprocess.PIPE, check=True, text=True, cwd=str(ROOT)).stdout
    lines = [line for line in listed.splitlines() if line.startswith("[halt in")]
    assert len(lines) == int(output.split("captures 1 to ")[1].split()[0])
    ranges = [one for one in list_execution(str(folder)) if isinstance(one, ListedRange)]
    assert sum(one.instructions for one in ranges) == len(_LINE.findall(listed))
