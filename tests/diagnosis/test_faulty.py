"""The board's truth: verdicts on faulty programs name their culprits."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

import gdb_etm
from gdb_etm.__main__ import main
from gdb_etm.capture import BufferEnd
from gdb_etm.diagnosis.suspicion import SuspicionKind
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.recovery.rules import Rules
from gdb_etm.session.diagnosed import NothingWrong, diagnosed
from gdb_etm.session.session import DebugSession
from gdb_etm.session.snapshots import load
from gdb_etm.snapshot.reader import read_snapshot
from gdb_etm.snapshot.writer import write_snapshot
from tests.access.processes import DEMO, PATIENCE
from tests.firmware.build import symbol
from tests.firmware.cortex_m0.build import elf as m0_elf
from tests.firmware.faulty.build import BUILT, missing
from tests.firmware.faulty.run import Outcome, Way, outcome
from tests.firmware.faulty.verdict import judge

# One or two of each pattern; the rest is for "scripts/bench fault".
NAMED: Tuple[Tuple[str, str, str, str], ...] = (
    ("keypad", "O2", "m7", "origin"),
    ("contacts", "Os", "m4", "overrun"),
    ("weather", "Og", "m33", "saved_register"),
    ("kernel", "O0", "m33", "overrun"),
    ("mailbox", "O2", "m33", "freed"),
    ("slots", "Og", "m33", "race"),
    ("rooms", "O2", "m33", "stack_overflow"),
    ("thermostat", "Og", "m33", "unset"),
    ("units", "Og", "m7", "stale_frame"),
    ("packets", "Og", "m33", "unaligned"),
    ("imu", "O2", "m4", "fpu_off"),
    ("valves", "Og", "m33", "overrun"),
    ("mixer", "Os", "m33", "wrapped"),
    ("camera", "Os", "m33", "transfer"),
    ("recorder", "Og", "m33", "transfer"),
    ("radio", "Os", "m7", "stale_frame"),
    ("scenes", "O2", "m4", "freed"),
    ("ripples", "O2", "m33", "race"),
    ("survey", "Og", "m33", "overrun"),
    ("keypad", "O2", "m0", "origin"),
    ("frames", "Os", "m0", "saved_register"),
    ("intake", "O2", "m33", "uncaught"),
    ("pilot", "O0", "m7", "unset"),
    ("flash", "O0", "m7", "origin"),
    ("rooms", "Os", "m7", "stack_overflow"),
    ("weather", "O2", "m4", "saved_register"),
    ("shapes", "O2", "m7", "pure_virtual"),
    ("shapes", "O0", "m4", "pure_virtual"),
    ("slots", "Os", "m7", "origin"),
    ("tuner", "Os", "m7", "origin"),
    ("ledger", "Os", "m33", "origin"),
    ("sandbox", "O2", "m33", "overrun"),
    ("watch", "O0", "m33", "origin"),
    # Its allocator is a copy for one size, which is no argument then.
    ("couriers", "O2", "m33", "overrun"),
    # Its first thread has another stack than what called it, or has jumped to it.
    ("relay", "O0", "m33", "origin"),
    ("relay", "Og", "m33", "origin"),
    # What frees a block has what it is of as its first argument.
    ("parking", "O2", "m4", "origin"),
    # The stack pointer itself is stored.
    ("diary", "O2", "m33", "stale_frame"),
    # The startup wrote what was read last: the pointer that led there is told.
    ("buoys", "O0", "m7", "origin"),
)
LONGEST = 25
# The line that says which instruction a verdict is of.
_OWN = re.compile(r" +#[0-9,]+(?=;)")


def run(program: str, level: str, board: str) -> Outcome:
    """Give a build's capture."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    return outcome(program, level, board, BUILT)


@pytest.mark.sweep
@pytest.mark.parametrize("program, level, board, kind", NAMED)
def test_the_verdict_names_the_culprit(program: str, level: str, board: str, kind: str) -> None:
    judged = judge(run(program, level, board))
    assert (judged.mark, judged.kind) == ("named", kind), judged


@pytest.mark.sweep
def test_a_pointer_that_is_older_than_the_history_is_one_to_what_was_freed_since() -> None:
    reason = missing("agenda")
    if reason is not None:
        pytest.skip(reason)
    # With data trace the buffer holds less of what ran.
    judged = judge(outcome("agenda", "O2", "m4", BUILT.with_name(BUILT.name + Way.DATA.value), way=Way.DATA))
    assert (judged.mark, judged.kind) == ("named", "freed"), judged


def test_what_ran_long_ago_is_worked_out_only_where_a_step_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # An address is looked at as that of a stack, of a frame, and of what others store.
    found = run("thermostat", "Og", "m33")
    monkeypatch.setattr("gdb_etm.session.recovery_inputs.Rules", partial(Rules, window=8000))
    session = DebugSession(OfflineDebugger([str(found.elf)]))
    load(session, str(found.snapshot), [str(found.elf)], None)
    got = diagnosed(session)
    assert got.diagnosis.verdict is not None and got.diagnosis.verdict.kind is SuspicionKind.UNSET
    assert len(got.decoded.history) - 8000 < got.known.recovery.since


def test_where_nothing_is_wrong_no_value_is_worked_out(tmp_path: Path) -> None:
    with gdb_etm.connect("board:m33", elf=DEMO) as live:
        live.start()
        live.run_to("report", PATIENCE)
        live.command("save %s" % (tmp_path / "halted"))
    session = DebugSession(OfflineDebugger([str(DEMO)]))
    load(session, str(tmp_path / "halted"), [str(DEMO)], None)
    with pytest.raises(NothingWrong):
        diagnosed(session)
    decoded = session.shown()
    length = len(decoded.history)
    assert decoded.recovered is not None and decoded.recovered.recovery.pending(length) >= length > 0


@pytest.mark.parametrize(
    "program, level, board", [("matrix", "O2", "m33"), ("watch", "Og", "m33"), ("nested", "O2", "m33")]
)
def test_nobody_is_accused_where_no_step_is_wrong(program: str, level: str, board: str) -> None:
    judged = judge(run(program, level, board))
    assert judged.mark in ("named", "chain", "missed") and judged.kind == "origin", judged


class _Debugger(OfflineDebugger):
    # Knows what GDB would of the kernel in a program.

    def constant(self, expression: str) -> Optional[int]:
        member = "(unsigned long)&((__typeof__(pxCurrentTCB)) 0)->"
        known = {member + "pxTopOfStack": 0, member + "pxStack": 4, member + "pcTaskName": 8}
        known["(unsigned long)&pxCurrentTCB"] = symbol(self.program_files()[0], "pxCurrentTCB")
        return known.get(expression)


@pytest.mark.parametrize("level, board", [("O2", "m33"), ("Og", "m4")])
def test_a_stack_in_a_kernels_heap_ends_where_the_kernel_says(level: str, board: str) -> None:
    found = run("nested", level, board)
    session = DebugSession(_Debugger([str(found.elf)]))
    load(session, str(found.snapshot), [str(found.elf)], None)
    verdict = diagnosed(session).diagnosis.verdict
    lowest = symbol(str(found.elf), "heap") + 1024 + 16 * 8
    text = "calls itself 10 deep: the stack grows below its lowest address, 0x%08x" % lowest
    assert verdict is not None and verdict.text == text


def test_a_distance_in_a_register_is_no_index(tmp_path: Path) -> None:
    # Armv6-M has the distance of a far member in a register, which calls save.  Its script ends at a device that is
    # not there, and no access before that leaves its object.
    with gdb_etm.connect("board:m0", elf=m0_elf("script")) as session:
        session.configure(buffer="0x20060000,4096")
        session.start()
        session.run(20)
        fault = session.capture().history().fault()
    assert fault.verdict is not None and fault.verdict.kind == "origin"
    assert fault.verdict.line.startswith("script.c:")


def test_names_of_cplusplus_are_those_of_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(lines_of(run("signals", "Og", "m33"), capsys=capsys))
    assert "(anonymous namespace)::" in text and "_ZN" not in text


def test_a_store_that_may_have_been_the_last_is_a_step_and_accused_of_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = run("agenda", "O0", "m7")
    judged, lines = judge(found), lines_of(found, capsys=capsys)
    assert (judged.mark, judged.kind) == ("chain", "origin")
    assert [line for line in lines if "a store whose address is not known may be newer" in line]
    assert any("<memcpy+" in line for line in lines)
    assert "the way is not known" in "".join(lines)


def lines_of(found: Outcome, *more: str, capsys: pytest.CaptureFixture[str]) -> List[str]:
    """Give what the shell prints."""
    assert main(["fault", str(found.snapshot), "--elf", str(found.elf), *more]) == 0
    return capsys.readouterr().out.splitlines()


def test_it_says_what_where_why_how_sure_and_what_next(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("weather", "Og", "m33"), capsys=capsys)
    assert len(lines) <= LONGEST
    assert [line[:7].strip() for line in lines if line[:7].strip()] == ["what", "where", "==>", "next"]
    text = "\n".join(lines)
    assert "HardFault (exception 3)" in text and "CFSR.INVSTATE" in text
    assert 'the address that it returns to 0x322e3232, text "22.2": in RAM, where no code is' in text
    assert "take_sentence, weather.c:" in text
    assert "writes past the end of line (40 bytes), over the return address of take_sentence" in text
    assert "this is exact" in text
    assert any(line.startswith("next   etm goto ") for line in lines)


def test_a_pointer_that_text_was_written_over_is_told_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    # What is added to it makes an address that is no text, or another one; a text may end in it.
    places = {
        program: "\n".join(lines_of(run(program, "Og", "m33"), capsys=capsys)) for program in ("labels", "contacts")
    }
    assert '0x20303948: no memory is there (r2 = 0x20303944, text "D90 ")' in places["labels"]
    assert '0x00656e73: no memory is there (r4 = 0x00656e6f, text "one")' in places["contacts"]


def test_a_loop_that_ended_long_before_decides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    # That of a caller, which a program without end has behind it.
    assert not [line for line in lines_of(run("relay", "Og", "m33"), capsys=capsys) if "branch" in line]


def test_what_a_frame_keeps_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("radio", "O2", "m33"), capsys=capsys)
    assert any("return address of spread: read from outside of the program's memory" in line for line in lines)


def test_a_word_of_a_kernels_heap_is_of_a_block(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("couriers", "O0", "m4"), capsys=capsys)
    assert any(line.endswith("loaded from offset 24 of the block of 28 bytes from pvPortMalloc") for line in lines)
    assert not any("ucHeap" in line for line in lines)


@pytest.mark.parametrize(
    "level, place", [("O0", "offset 12 of the block of 16 bytes from arena_alloc"), ("Os", "arena[12]")]
)
def test_an_allocator_that_has_not_returned_gave_no_block(
    level: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(run("parking", level, "m33"), capsys=capsys)
    assert any(line.endswith("r3 = 0x00000000: loaded from " + place) for line in lines)


def test_a_number_that_no_declaration_calls_a_size_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("parking", "Os", "m33")
    assert main(["origin", str(found.snapshot), "--elf", str(found.elf), "1895", "r3"]) == 0
    assert "r2 = 0x00000011: loaded from arena[24]" in capsys.readouterr().out


def test_a_return_that_went_astray_is_where_it_began(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("weather", "O2", "m4"), capsys=capsys)
    assert any(re.search(r"the address that #[0-9,]+ returned to 0x\w+: no call is before it$", line) for line in lines)
    assert any("over the return address of take_sentence" in line for line in lines if line.startswith("==>"))


def test_a_chain_has_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("keypad", "O2", "m7"), capsys=capsys)
    assert len(lines) <= LONGEST
    why = next(index for index, line in enumerate(lines) if line.startswith("why "))
    assert "loaded from settings.on_key" in lines[why] and "settings.on_key = 0x00000000: stored" in lines[why + 1]


def test_a_recursion_is_seen_without_the_stack_pointer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run("forest", "Og", "m33")
    (capture,) = read_snapshot(str(found.snapshot))
    # From where it began the stack pointer would be known.
    cut = capture._replace(buffer=capture.buffer[-1024:], end=BufferEnd.WRAPPED)
    write_snapshot(cut, str(tmp_path / "cut"))
    texts = ["\n".join(lines_of(one, capsys=capsys)) for one in (found, found._replace(snapshot=tmp_path / "cut"))]
    assert all("height, forest.c:41: calls itself 63 deep: the stack grows beyond its limit" in one for one in texts)
    assert "store's address 0x" in texts[0] and "store's address" not in texts[1]


def test_calls_from_before_the_history_are_not_counted() -> None:
    found = run("forest", "Og", "m33")

    def verdict(hits: int) -> Tuple[int, str]:
        # What becomes of it if tracing begins where a function runs for the n-th time.
        with gdb_etm.connect("board:m33", elf=found.elf) as session:
            seen = 0
            with session.breakpoint("height"):
                while seen < hits and session.run(20).function == "height":
                    seen += 1
            if seen < hits:
                return seen, ""
            session.start()
            session.run(20)
            told = session.capture().history().fault().verdict
            return seen, "" if told is None else told.text

    calls, _ = verdict(5000)
    assert re.match(r"calls itself at least 1\d deep: the stack grows ", verdict(calls - 30)[1])


def test_nobody_is_accused_of_a_store_through_a_pointer_to_a_frame_from_before_the_history() -> None:
    # Tracing begins after the function has returned that gave out its frame.
    found = run("diary", "Og", "m33")
    with gdb_etm.connect("board:m33", elf=found.elf) as session:
        with session.breakpoint("note"):
            assert session.run(20).function == "note"
        session.start()
        session.run(20)
        verdict = session.capture().history().fault().verdict
    assert verdict is not None and verdict.kind == "origin" and verdict.place.startswith("<append+")
    assert verdict.text.startswith("has a pointer first, made before append is called, to below its frame, where copy ")


def test_what_only_the_startup_has_written_is_not_where_a_value_came_from(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("buoys", "Og", "m33"), capsys=capsys)
    assert not any("Reset_Handler" in line for line in lines)
    assert any(
        line.endswith("stores a pointer, which leads to where nobody has written but the startup") for line in lines
    )


def test_where_no_step_is_wrong_the_branch_that_led_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    # A message is taken for one of another kind: the value is right, and what reads it should not have run.
    found = run("messages", "Os", "m33")
    judged, lines = judge(found), lines_of(found, capsys=capsys)
    assert (judged.mark, judged.kind) == ("chain", "origin") and len(lines) <= LONGEST
    at = next(index for index, line in enumerate(lines) if "the branch that led there: " in line)
    assert "messages.cpp:35" in lines[at]
    assert any("messages.cpp:60" in line and "= 0x02: stored from" in line for line in lines[at + 1 :])


def test_the_verdicts_own_step_is_told_in_a_chain_that_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("encoder", "O0", "m33"), capsys=capsys)
    (number,) = [match.group() for match in map(_OWN.match, lines) if match is not None]
    assert any("more like these" in line for line in lines) and len(lines) <= LONGEST
    assert sum(number.strip() + " " in line and "<edge_at+" in line for line in lines) == 1


def test_a_verdict_says_which_thread_ran_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("rooms", "O2", "m33")
    lines = lines_of(found, capsys=capsys)
    assert any(re.match(r" +#[0-9,]+ in thread reporting; this is assumed", line) for line in lines)
    (line,) = lines_of(found, "--format", "json", capsys=capsys)
    assert json.loads(line)["verdict"]["context"] == "in thread reporting"


def test_a_verdict_in_a_librarys_header_is_of_the_line_that_calls_it(capsys: pytest.CaptureFixture[str]) -> None:
    reason = missing("signs")
    if reason is not None:
        pytest.skip(reason)
    found = run("signs", "O2", "m7")
    lines = lines_of(found, capsys=capsys)
    at = next(index for index, line in enumerate(lines) if line.startswith("==>"))
    ((name, culprit),) = found.facts["culprit_lines"]
    assert ", %s:%d: writes outside of the block" % (name, culprit) in lines[at]
    assert any("inlined there: std::" in line and "operator[], basic_string.h:" in line for line in lines[at:])


def test_a_fault_of_what_reports_an_assertion_is_told_as_the_assertion(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("intercom", "Og", "m33")
    lines = lines_of(found, capsys=capsys)
    assert lines[:2] == [
        "what   the program stopped itself in __assert_func",
        "       what was to report that has faulted: HardFault (exception 3)",
    ]
    ((name, culprit),) = found.facts["culprit_lines"]
    assert any(line.startswith("==>    hang_up, %s:%d: makes the value" % (name, culprit)) for line in lines)


def test_what_is_told_to_try_can_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    # The buffer has wrapped, so that the memory of the beginning would not help.
    text = "\n".join(lines_of(run("agenda", "O0", "m7"), capsys=capsys))
    assert 'a store whose address is not known may be newer: "watch *(int *) 0x2' in text
    assert "anchor-memory" not in text


def test_an_imprecise_error_has_its_store(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(run("valves", "Og", "m33"), capsys=capsys)
    text = "\n".join(lines)
    assert "CFSR.IMPRECISERR" in text and "BFAR 0x" not in text
    where = next(index for index, line in enumerate(lines) if line.startswith("where  #"))
    assert "valves.c:38" in lines[where] and "str" in lines[where]
    assert lines[where + 1].endswith(": no memory is there")


def test_what_a_handler_has_changed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    # The fault is the second of the same kind, and the first handler cleared CFSR: what it was is known.
    text = "\n".join(lines_of(run("survey", "Og", "m33"), capsys=capsys))
    assert re.search("CFSR: the handler has written it at #[0-9,]+: it was 0x00008200 before", text)
    assert "CFSR.PRECISERR: load or store: the bus answered with an error" in text
    assert "stacked PC 0x" in text and "by the trace: #" in text


def test_a_transfer_is_told_with_what_recovers_the_past(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(lines_of(run("camera", "Os", "m33"), capsys=capsys))
    assert "lets a device (0x40020000) write 32 bytes to picture.look, which has 4" in text
    assert "this is assumed" in text and "set etm volatile 0x20000000,192" in text


def test_the_object_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("keypad", "O2", "m7")
    (line,) = lines_of(found, "--format", "json", capsys=capsys)
    got: Dict[str, Any] = json.loads(line)
    ((name, culprit),) = found.facts["culprit_lines"]
    assert got["schema"] == 2 and got["exception"] == {"name": "HardFault", "vector": 3}
    assert got["verdict"]["line"] == "%s:%d" % (name, culprit)
    assert got["verdict"]["kind"] == "origin" and got["verdict"]["tier"] == "exact"
    assert [step["made"] for step in got["chain"]][:2] == ["loaded", "stored"]
    assert got["site"]["bad"][0]["why"] == "NULL"


def test_without_a_fault_there_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("keypad", "O2", "m7")
    assert main(["fault", str(found.snapshot), "--elf", str(found.elf), "--id", "77"]) == 1
    assert "no trace" in capsys.readouterr().err


def test_why_alone_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("keypad", "O2", "m7")
    wanted = lines_of(found, capsys=capsys)
    assert main(["why", str(found.snapshot), "--elf", str(found.elf)]) == 0
    assert capsys.readouterr().out.splitlines() == wanted
