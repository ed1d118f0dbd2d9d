"""Real GDB, real pyOCD: whole sessions and the board's truth."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Dict, List, Sequence

import pytest

from tests.gdb_session import ROOT, SCRIPT, gdb_program, run_gdb
from tests.terminal import Terminal

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
ELF = DEMO / "demo.elf"
CONNECT = "etm connect board:m33 --elf %s" % ELF
_LINE = re.compile(r"(\d+) ( |!) +0x([0-9a-f]{8}) ")


def run(commands: Sequence[str], cwd: Path = DEMO) -> str:
    output = run_gdb(commands, cwd=cwd)
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


def addresses(output: str) -> Dict[int, int]:
    return {int(m.group(1)): int(m.group(3), 16) for m in map(_LINE.match, output.splitlines()) if m}


def truth(path: Path) -> List[int]:
    return [int(line, 16) for line in path.read_text().splitlines() if line.startswith("0x")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """One session of the demo, cut at its commands."""
    folder = tmp_path_factory.mktemp("demo")
    commands = [
        CONNECT + " --truth %s" % (folder / "truth"),
        "etm info",
        "etm start",
        "continue",
        "etm functions /c -3",
        "etm functions /il -3",
        "etm history /s -3",
        "etm history /rf -1",
        "etm history 1,1000000",
        "etm packets -1",
        "etm captures",
        "etm save %s" % (folder / "saved"),
        "etm status",
        "etm stop",
        "etm start",
        "etm disconnect",
        "etm history -1",
        "etm status",
    ]
    marked = [word for number, command in enumerate(commands) for word in ("echo >>>%d\\n" % number, command)]
    output = run(marked)
    parts = re.split(r">>>\d+\n", output)[1:]
    result = {}
    for command, text in zip(["etm connect"] + commands[1:], parts):
        result.setdefault(command, text)
    result["folder"] = str(folder)
    return result


@pytest.mark.every_gdb
def test_connect_says_what_was_found(demo: Dict[str, str]) -> None:
    lines = demo["etm connect"].splitlines()
    assert lines[0] == "Reset_Handler () at startup.c:13"
    assert re.match(r"pyOCD [\d.]+, .*board m33: Cortex-M33 r0p4, GDB server on /.*/gdb_etm-\w+/gdb$", lines[2])
    assert lines[3] == "Trace: ETMv4.2 at 0xe0041000 -> funnel 0xe0042000 ports 0, 1 -> ETF at 0xe0043000, 4 KiB"
    assert "0xe000e000  SCS" in demo["etm info"]
    has = "return stack, cycle counts of 4 and more, 64-bit timestamps, branch broadcast, conditional instructions, "
    assert "\nThe trace unit has: %s0 address ranges\n" % has in demo["etm info"]


@pytest.mark.every_gdb
def test_halt_gives_a_line(demo: Dict[str, str]) -> None:
    assert demo["etm start"].startswith("Tracing everything: return stack on, ")
    lines = demo["continue"].splitlines()
    assert lines[-2].startswith("etm: ") and lines[-2].endswith(
        " exceptions in 4,096 bytes; before them the buffer wrapped"
    )
    assert lines[-1] == 'etm: HardFault (a jump to where no code is). "etm fault" says why'
    assert "HardFault_Handler () at faults.c:4" in lines


@pytest.mark.every_gdb
def test_history_ends_in_the_wild_call(demo: Dict[str, str]) -> None:
    lines = demo["etm history /s -3"].splitlines()
    assert [line.split() for line in lines if " <dispatch+" in line][-1][2:] == ["<dispatch+20>", "blx", "r3"]
    assert any(line.startswith("rx.c:121") and line.endswith("subscription->handler(message);") for line in lines)
    assert lines[-2:] == [
        "<HardFault (exception 3), return address 0x00163332>",
        "[halt in HardFault_Handler (SIGSEGV)]",
    ]
    assert demo["etm history /rf -1"].splitlines()[0].split()[1:] == ["0x00000304", "98", "47", "blx", "r3"]


@pytest.mark.every_gdb
def test_functions_end_in_the_fault(demo: Dict[str, str]) -> None:
    lines = demo["etm functions /c -3"].splitlines()
    assert [line.split(None, 1)[1] for line in lines] == [
        "main",
        "dispatch",
        "<HardFault (exception 3), from 0x00163332: not in the program>",
    ]
    indents = [len(line) - len(line.lstrip("0123456789 ")) for line in lines]
    assert indents[1] - indents[0] == 2 and indents[2] - indents[1] == 2
    assert re.search(r"dispatch +inst \d+,\d+ +at rx\.c:117,121", demo["etm functions /il -3"])


@pytest.mark.every_gdb
def test_executed_is_decoded(demo: Dict[str, str]) -> None:
    decoded = addresses(demo["etm history 1,1000000"])
    assert sorted(decoded) == list(range(1, len(decoded) + 1)) and len(decoded) > 10000
    ran = truth(Path(demo["folder"]) / "truth")
    halt = ran.index(0x304) if ran.count(0x304) == 1 else None
    path = [decoded[number] for number in sorted(decoded)]
    ends = [at + 1 for at, address in enumerate(ran) if address == 0x304] if halt is None else [halt + 1]
    assert any(ran[end - len(path) : end] == path for end in ends)
    assert "!" not in {m.group(2) for m in map(_LINE.match, demo["etm history 1,1000000"].splitlines()) if m}


@pytest.mark.every_gdb
def test_captures_and_status(demo: Dict[str, str]) -> None:
    line = r"\* 1  4,096 bytes  [\d,]+ instructions  .* halt in HardFault_Handler \(SIGSEGV\)\n"
    assert re.match(line, demo["etm captures"])
    assert demo["etm status"].startswith("Connected to Cortex-M33 r0p4, tracing is on; 1 capture at hand.")
    assert "Debug halt" in demo["etm packets -1"]


@pytest.mark.every_gdb
def test_stop_disconnect_and_the_captures_that_stay(demo: Dict[str, str]) -> None:
    assert demo["etm stop"] == "Tracing is off.\n"
    assert demo["etm disconnect"] == "disconnected from Cortex-M33 r0p4; the captures stay at hand\n"
    assert "blx" in demo["etm history -1"]


@pytest.mark.every_gdb
def test_saved_capture_loads_without_target_and_in_the_shell(demo: Dict[str, str]) -> None:
    folder = Path(demo["folder"]) / "saved"
    live = addresses(demo["etm history 1,1000000"])
    again = run(["etm load %s" % folder, "etm history 1,1000000"])
    assert addresses(again) == live
    shell = [str(ROOT / ".venv" / "bin" / "python"), "-m", "gdb_etm", "history", str(folder), "--elf", str(ELF)]
    done = subprocess.run(shell, cwd=str(ROOT), stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=True)
    assert addresses(done.stdout) == live


@pytest.mark.every_gdb
def test_continue_resumes_with_an_empty_buffer() -> None:
    output = run(
        [
            CONNECT,
            "etm start",
            "break dispatch",
            "continue",
            "etm history -1",
            "continue",
            "etm history 1,+2",
            "etm functions 1,+2",
            "stepi",
            "etm history",
            "etm captures",
        ]
    )
    assert output.count("\netm: ") == 3
    assert "etm: 1 instruction in dispatch, 0 calls, 0 exceptions in" in output
    assert len(re.findall(r"^[ *] \d  ", output, re.M)) == 3


def test_lazy_draining_waits_for_a_look() -> None:
    output = run(
        [CONNECT, "set etm drain lazy", "etm start", "break dispatch", "continue", "stepi", "stepi", "etm captures"]
        + ["etm history -3", "etm captures"]
    )
    assert "\netm: " not in output
    assert "no captures yet" in output
    assert re.search(r"^\* 1  ", output, re.M)
    steps = [line.split() for line in output.splitlines() if re.match(r"\d+ +0x[0-9a-f]+ <", line)]
    assert [step[2] for step in steps][-2:] == ["<dispatch>", "<dispatch+2>"]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "fault, message",
    [("no-etm", "no trace unit found"), ("no-sink", "no trace buffer"), ("busy", "in use")],
)
def test_hardware_that_is_not_there(fault: str, message: str) -> None:
    output = run([CONNECT + " --option board.faults=" + fault, "etm start", "info registers pc", "echo alive\\n"])
    assert [line for line in output.splitlines() if message in line], output
    assert "\nalive\n" in output


def test_probe_unplugged_while_draining() -> None:
    unplugged = CONNECT + " --option board.faults=unplug-after:100,in-drain"
    looks = ["etm start", "continue", "etm history", "etm status"]
    output = run([unplugged, *looks, CONNECT, "etm start", "continue", "echo alive\\n"])
    lines = [line for line in output.splitlines() if "unplugged" in line]
    assert len(lines) == 1 and lines[0].startswith("etm: ") and lines[0].endswith('Try "etm connect"'), output
    assert "Not connected; no captures." in output
    assert (
        'before them the buffer wrapped\netm: HardFault (a jump to where no code is). "etm fault" says why\nalive\n'
        in output
    )


def test_code_that_is_not_the_targets_is_marked(tmp_path: Path) -> None:
    # GDB's program differs from the target's in one instruction, "adds r2, #1" in dispatch.
    image = ELF.read_bytes()
    at = image.index(bytes.fromhex("0132 1a65 db6c 9847".replace(" ", "")))
    patched = tmp_path / "patched.elf"
    patched.write_bytes(image[:at] + b"\x02" + image[at + 1 :])
    board = "etm connect board:m33 --option board.elf=%s" % ELF
    output = run(["file %s" % patched, board, "etm start", "continue", "etm history -4"])
    assert "the program and the target's memory differ" in output
    marks = {m.group(3): m.group(2) for m in map(_LINE.match, output.splitlines()) if m}
    assert marks == {"000002fe": "!", "00000300": " ", "00000302": " ", "00000304": " "}


_INTERRUPT = """python
import sys, gdb_etm.gdbui.start as start
session = start.session()
def interrupt_after(steps):
    left = [steps]
    def tracer(frame, event, argument):
        left[0] -= 1
        if left[0] == 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return tracer
    sys.settrace(tracer)
steps, lost = 3, 0
while True:
    interrupt_after(steps)
    try:
        session.drain()
        sys.settrace(None)
        break
    except KeyboardInterrupt:
        sys.settrace(None)
    try:
        session.drain()
    except gdb_etm.errors.CaptureError as error:
        lost += "lost by the interruption" not in str(error)
    steps = steps * 5 // 4 + 1
print("INTERRUPTED", steps, lost)
end
"""


def test_ctrl_c_at_any_step_of_a_drain_leaves_tracing_in_order(tmp_path: Path) -> None:
    script = tmp_path / "interrupt.gdb"
    script.write_text(_INTERRUPT)
    output = run(
        [CONNECT, "etm start", "break dispatch", "continue", "source %s" % script, "continue", "etm history -1"]
    )
    found = re.search(r"^INTERRUPTED (\d+) 0$", output, re.M)
    assert found and int(found.group(1)) > 1000, output
    assert "<main+78>" in output.splitlines()[-3], output


def test_ctrl_c_ends_a_listing(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    command = [gdb_program(), "-nx", "-q", "-ex", "set pagination off", "-ex", "source %s" % SCRIPT]
    with Terminal(command, environment, DEMO) as gdb:
        gdb.type("%s\netm start\ncontinue\nset etm history-size unlimited\n" % CONNECT)
        at = gdb.wait("before them the buffer wrapped")
        # The terminal takes a few pages, and nobody reads on before Ctrl-C is pressed.
        gdb.type("etm history 1,100000\n")
        at = gdb.wait("\n1 ", at)
        gdb.type("\x03")
        at = gdb.wait("Quit\n(gdb) ", at)
        gdb.type("etm history -1\n")
        gdb.wait("<dispatch+20>", at)
        gdb.type("etm disconnect\nquit\n")
        assert gdb.end() == 0
    assert len(addresses(gdb.seen)) < 10000


def test_a_process_started_by_hand_serves_too() -> None:
    command = [str(ROOT / ".venv" / "bin" / "python"), "-m", "gdb_etm", "serve", "--probe", "board:m33"]
    command += ["--connect-mode", "under-reset", "-O", "board.elf=%s" % ELF, "--control-port", "0"]
    with subprocess.Popen(command, cwd=str(ROOT), stdout=subprocess.PIPE, universal_newlines=True) as server:
        try:
            assert server.stdout is not None
            found = None
            while found is None:
                line = server.stdout.readline()
                assert line
                found = re.search(r"etm connect (\S+:\d+)", line)
            output = run(["file %s" % ELF, "etm connect " + found.group(1), "etm start", "continue", "etm disconnect"])
            assert "before them the buffer wrapped" in output
            assert "disconnected from Cortex-M33 r0p4" in output
        finally:
            server.terminate()


def test_loads_and_stores_of_a_cortex_m7(tmp_path: Path) -> None:
    program, told = ROOT / "tests" / "firmware" / "transfers.elf", tmp_path / "truth"
    connect = "etm connect board:m7 --elf %s --truth %s --option board.truth_data=True" % (program, told)
    output = run([connect + " --etb-size 1M", "set etm data both", "etm start", "continue", "etm history /d 1,1000000"])
    assert "Cortex-M7" in output
    assert "Trace: ETMv4.0 at 0xe0041000 -> funnel 0xe0042000 ports 0, 1 -> ETF at 0xe0043000, 1 MiB" in output
    assert "Tracing everything: return stack on, data addresses and values, " in output
    lines = told.read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    lines = lines[start + 1 : next(at for at, line in enumerate(lines) if at > start and line.startswith("halt"))]
    assert list(addresses(output).values()) == [int(line, 16) for line in lines if line.startswith("0x")]
    form = r"\n +(load|store) +(\d) bytes? +at 0x([0-9a-f]{8}) .*= 0x([0-9a-f]+)"
    moved = [(m[1], int(m[3], 16), int(m[2]), int(m[4], 16)) for m in re.finditer(form, output)]
    words = [line.split() for line in lines if line.startswith(("load", "store"))]
    real = [(kind, int(address, 16), int(size), int(value, 16)) for kind, address, size, value in words]
    # A store-exclusive has a second line in the truth, for its success.
    assert output.count("store  took place\n") == 36
    real = [item for at, item in enumerate(real) if not (item[3] == 0 and at and item[:3] == real[at - 1][:3])]
    # The last few may have come too late for their instruction to be found.
    assert len(moved) > 900 and moved[:-50] == real[: len(moved) - 50]


def test_a_cortex_m33_has_no_data_trace() -> None:
    output = run([CONNECT, "etm start --data both"])
    assert "data trace: not in this trace unit (TRCIDR0.TRCDATA is 0)" in output
