"""Real GDB sessions: past values against the truth and live GDB."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Dict, List, Sequence

import pytest

from tests.firmware.build import compiler
from tests.firmware.build import elf as firmware
from tests.firmware.cortex_a.build import elf as cortex_a_elf
from tests.firmware.recovery.build import elf
from tests.gdb_session import ROOT, gdb_program, run_gdb
from tests.gdbui.test_recovering import truth
from tests.terminal import Terminal, are_gone, children

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_PUSHED = """python
from gdb_etm.api.inside import commands_session
from gdb_etm.commands.declare import Values
from gdb_etm.commands.values import moment_of
from gdb_etm.history.path import Path
from gdb_etm.recovery.values import Tier
from gdb_etm.replay.view import PastView
at = moment_of(commands_session(), Values())
past = PastView(at.recovery, Path(at.decoded.history))
stack = at.recovery.register(at.number, "sp").value
for tier in (Tier.EXACT, Tier.ASSUMED):
    for past.unwinds in (False, True):
        past.look(at.number, tier)
        words = [past.memory(at.number, stack + offset, 4) for offset in (0x18, 0x1C)]
        told = [None if word is None else hex(int.from_bytes(word, "little")) for word in words]
        print(tier.name, past.unwinds, *told)
end
"""
# The return address and the status word of the frame that an exception has pushed, as the second GDB sees them.
_MARK = re.compile(r" \(assumed\)$")


def session(commands: Sequence[str], board: str = "m33", program: str = str(DEMO), more: str = "") -> List[List[str]]:
    """Connect, start, and run commands; return the lines of each."""
    typed = [line for command in commands for line in ("echo >>>\\n", command)]
    text = run_gdb(["etm connect board:%s --elf %s %s" % (board, program, more), "etm start", *typed, "echo >>>\\n"])
    return [part.splitlines() for part in text.split(">>>\n")[1:-1]]


def fields(lines: Sequence[str]) -> Dict[str, str]:
    """Read a listing of registers or variables: names and what follows."""
    return {line.split()[0]: line.split(None, 1)[1] for line in lines}


@pytest.mark.parametrize("board, level", [("m33", "O0"), ("m4", "Os")])
def test_registers_at_positions_are_the_boards(board: str, level: str, tmp_path: Path) -> None:
    places = ("begin", "20%", "50%", "-2")
    commands = [line for place in places for line in ("etm goto %s" % place, "etm info registers")]
    convenience = "output/x $etm_sp"
    found = session(
        ["continue", *commands, convenience],
        board,
        elf("interrupts-" + level),
        "--truth %s --registers --etb-size 64K" % (tmp_path / "truth"),
    )
    real = truth(tmp_path)
    known = 0
    for went, lines in zip(found[1::2], found[2::2]):
        number, count = (int(word.replace(",", "")) for word in went[-1].split()[1::2])
        address, registers = real[len(real) - 1 - count + number - 1]
        shown = fields(lines)
        assert list(shown)[-3:] == ["lr", "pc", "xpsr"] and int(shown["pc"].split()[0], 16) == address
        for name in [*("r%d" % index for index in range(13)), "sp", "lr"]:
            if not shown[name].startswith("<unavailable>"):
                assert int(shown[name].split()[0], 16) == registers[name], (number, name)
                known += 1
            else:
                assert len(shown[name].split()) > 2, "no reason"
    assert known > 40
    assert int(found[-1][0], 16) == registers["sp"]


@pytest.mark.sweep
@pytest.mark.parametrize("level", ["O0", "Os"])
def test_variables_are_those_that_a_live_gdb_shows(level: str) -> None:
    program = elf("algorithms-" + level)
    looks = ["info locals", "info args", "backtrace"]
    ignored = 40
    live = session(["break swap", "ignore 1 %d" % ignored, "continue", *looks], program=program)
    past = session(
        ["tbreak find", "continue", "etm goto begin", "break swap"]
        + ["etm continue %d" % (ignored + 1), *("etm " + look for look in looks)],
        program=program,
        more="--etb-size 64K",
    )
    pairs = list(zip(live[-3:-1], past[-3:-1]))
    known = 0
    for alive, told in pairs:
        assert len(alive) == len(told)
        for one, other in zip(alive, told):
            if "<unavailable>" not in other:
                assert _MARK.sub("", other) == one
                known += "=" in one
    assert known >= 2
    names = [[re.sub(r"^#\d+ +(?:0x\w+ in )?", "", line) for line in lines] for lines in (live[-1], past[-1])]
    # The outermost may have been tail-called, which the history knows and GDB does not.
    assert [name.split()[0] for name in names[0][:3]] == [name.split()[0] for name in names[1][:3]]
    assert names[0][0] == names[1][0]


def test_the_demos_values() -> None:
    commands = [
        "continue",
        "etm goto 13594",
        "etm print values[count - 1]",
        "etm print/x $r0",
        "etm print *message",
        "etm info registers r4 lr n",
        "etm up",
        "etm info args",
        "etm print sentence",
        "etm why 13594 r4",
        "etm writes station.table[0].handler",
        "etm writes 0x200000bc,1",
        "etm print --at 18300 $r3",
        "etm why 18300 r3",
        "etm x/2xw &station.table",
        "etm x/s sentence",
        "output/x $etm_r0",
        "etm writes 0x2007ffa4",
    ]
    found = dict(zip(commands, session(commands)))
    assert found["etm print values[count - 1]"] == ["values[count - 1] = 1115"]
    assert found["etm print/x $r0"] == ["$r0 = 0x163333"] and found["output/x $etm_r0"] == ["0x163333"]
    assert found["etm print *message"] == ['No symbol "message" in current context']
    registers = found["etm info registers r4 lr n"]
    assert registers[0] == "r4  0x00000008  8                  stored at #13,537, loaded at #13,592"
    assert registers[1].startswith("lr  0x000001b3  <parse_values+26>  ")
    assert found["etm info args"] == ['sentence = 0x20000000 <sentence> "$TMP,"<unavailable>', "message = 0x2007ffe4"]
    assert found["etm print sentence"] == ['sentence = 0x20000000 <sentence> "$TMP,"<unavailable>']
    assert found["etm why 13594 r4"] == [
        "r4 = 0x00000008 before instruction 13,594, <parse_values+26>",
        "  #13,592  <parse_number+120>  pop {r4}  stored at #13,537, loaded",
    ]
    assert found["etm writes station.table[0].handler"] == [
        "4 bytes at 0x200000bc <station+32>:",
        "#13,594  <parse_values+26>  0x0000045b -> 0x00163333  rx.c:83",
        "[7 stores whose address is not known]",
        "[the buffer wrapped here: what ran before was overwritten]",
    ]
    assert found["etm writes 0x200000bc,1"][1].endswith("0x0000045b -> 0x00163333  rx.c:83  station.table[0].handler")
    assert found["etm print --at 18300 $r3"] == ["$r3 = <unavailable>"]
    assert found["etm why 18300 r3"][1].split() == "input/output at 0x40004004".split()
    assert found["etm x/2xw &station.table"] == ["0x200000bc <station+32>:\t0x0000045b\t<unavailable>"]
    assert found["etm x/s sentence"] == ['0x20000000 <sentence.0>:\t"$TMP,"<unavailable>']
    assert found["etm writes 0x2007ffa4"][1] == "#18,276  <IRQ0 (exception 16)>  0x000002a3 -> 0x000001b3"


def test_where_gdb_does_not_know_the_stack_the_history_does() -> None:
    *_, first, second = session(["continue", "set etm recovery off", "etm goto 18298", "etm up", "etm up"])
    assert first == ["#1  <signal handler called>"]
    assert second[0].endswith(': GDB does not know the stack there; "etm backtrace" goes on')


def test_past_a_handler() -> None:
    # Of the status word that the exception pushed the flags are not all known; where SP was, is.
    commands = ["continue", "etm goto 18298", "etm backtrace 3", "etm x/xw $sp+28", "etm up 2", "etm info locals"]
    commands += ["etm print $sp", "set etm recovery exact", "etm info locals", "etm down 2", "etm x/xw $sp+28"]
    found = session([*commands, "set etm recovery assumed", "etm up 3", "etm print values[0] / 65536"])
    assert found[2] == [
        "#0  UART_Handler () at rx.c:17",
        "#1  <IRQ0 (exception 16)>",
        "#2  0x0000013e in parse_number (text=0x2007ffb4) at rx.c:65 (assumed)",
        "(More stack frames follow...)",
    ]
    assert found[3] == found[10] == ["0x2007ffac:\t<unavailable>"]
    assert found[5] == ["whole = 1013 (assumed)", "part = 0 (assumed)", "scale = 1 (assumed)"]
    assert found[6] == ["$sp = (void *) 0x2007ffb0 (assumed)"]
    assert found[8] == ["whole = 1013", "part = 0", "scale = 1"]
    assert found[13] == ["values[0] / 65536 = 45 (assumed)"]


def test_behind_a_status_word_that_is_not_known_there_is_no_caller(tmp_path: Path) -> None:
    # GDB before 13 takes SP to have been aligned there, and shows a caller with what was elsewhere on the stack.
    script = tmp_path / "pushed.gdb"
    script.write_text(_PUSHED)
    told = session(["continue", "etm goto 18298", "source %s" % script])[2]
    assert told == [
        "EXACT False 0x13e None",
        "EXACT True None None",
        "ASSUMED False 0x13e None",
        "ASSUMED True 0x13e 0x21000000",
    ]


def test_frames_on_another_stack() -> None:
    # Tasks have stacks of their own, on which exceptions push.
    commands = ["continue", "etm last PendSV_Handler", "etm info registers sp psp", "etm up 2", "etm info locals"]
    commands += ["etm info registers sp pc", "etm print/x $sp", "etm writes 0x20000234", "etm info registers r5 r99"]
    commands += ["etm down 2", "etm info registers r12", "etm why 100 control", "etm why psp"]
    commands += ["set etm history-size unlimited", "etm why psp"]
    found = session(commands, program=firmware("tasks"))
    assert found[10] == ["r12  <unavailable>    left open by an exception"]
    assert found[11][-1].endswith("  read when the run began, not written until then")
    more = len(found[14]) - len(found[12]) + 1
    assert len(found[12]) == 12 and found[12][1].split()[:2] == found[14][1].split()[:2]
    assert found[12][-1] == '[%d more facts; "set etm history-size" sets how many are listed]' % more
    handler = fields(found[2])
    assert handler["sp"].split()[0] == "0x2007fff4" and handler["psp"].split()[0] == "0x20000218"
    assert found[4] == ["me = <optimized out>", "work = <optimized out>"]
    assert [line.split()[:2] for line in found[5]] == [["sp", "0x20000238"], ["pc", "0x100"]]
    assert found[6][0].startswith("$sp = 0x20000238")
    assert found[7][1] == "#1,716  <SVCall (exception 11)>  0x01000000"
    assert found[8][0].startswith('no register "r99"; there are r0 to r12,')


def test_while_gdb_itself_is_in_the_past() -> None:
    # The anchor is the halted core, not what GDB shows at the moment.
    commands = ["continue", "reverse-step", "reverse-step", "print station.table[0]", "etm print station.table[0]"]
    commands += ["etm live", "etm info registers r3", "etm goto 13594", "etm print station.table[0]"]
    commands += ["etm writes 0x200000bc"]
    found = session(commands)
    assert found[3] == ["$1 = {handler = 0x163333, delivered = 1461452}"]
    assert found[4] == ["station.table[0] = {handler = 0x163333, delivered = 1461452}"]
    assert found[6] == ["r3  0x00163333  1454899  read at the halt, not written since"]
    assert found[8] == ["station.table[0] = {handler = 0x45b <on_pressure>, delivered = <unavailable>}"]
    assert found[9][1:3] == [
        "#13,594  <parse_values+26>  0x0000045b -> 0x00163333  rx.c:83",
        "[7 stores whose address is not known]",
    ]


_HALT_ALONE = """python
from gdb_etm.api.inside import commands_session
decoded = commands_session().shown()
decoded.anchored = decoded.anchored._replace(begin=None, is_untouched=False)
end
"""


def test_what_is_not_exact_is_marked(tmp_path: Path) -> None:
    (tmp_path / "alone.gdb").write_text(_HALT_ALONE)
    begin = ["break walk", "ignore 1 60", "continue", "source %s" % (tmp_path / "alone.gdb"), "etm goto -131"]
    looks = ["etm info registers", "etm print $r0", "etm print $r1", "etm print $r3", "etm x/xw $sp"]
    tiers = [["set etm recovery " + tier, *looks] for tier in ("assumed", "exact")]
    found = session([*begin, *tiers[0], *tiers[1]], program=elf("corrupt-Os"))
    assumed, exact = (found[6 + 6 * index :][:5] for index in range(2))
    marks = [{name: mark_of(rest) for name, rest in fields(tier[0]).items()} for tier in (assumed, exact)]
    assert {"(assumed)", ""} <= set(marks[0].values())
    for name, mark in marks[0].items():
        assert marks[1][name] == ("<unavailable>" if mark else ""), name
    for tier, told in zip((assumed, exact), marks):
        for line, name in zip(tier[1:4], ("r0", "r1", "r3")):
            assert mark_of(line[0]) == told[name], (name, line)


def mark_of(text: str) -> str:
    """Return a line's mark, or the text for an unknown value."""
    found = re.search(r"<unavailable>|\(assumed\)", text)
    return found.group() if found is not None else ""


def test_what_does_not_hold_is_told_once() -> None:
    commands = ["break leap", "continue", "etm info registers r4", "etm goto -5", "etm info registers r4"]
    told = session(commands, program=elf("clobber-O0"))
    assert re.match(r"etm: the call at 0x\w+ <\w+\+\d+> did not preserve r4 \(instruction [\d,]+\)$", told[2][0])
    assert not [line for lines in told[3:] for line in lines if line.startswith("etm:")]


@pytest.mark.parametrize(
    "command, said",
    [
        ("etm print", "EXPR is missing. Usage: etm print [/FMT] [--at N] [--id ID] EXPR"),
        ("etm print bogus", 'No symbol "bogus" in current context'),
        ("etm print /q 1", 'Undefined output format "q"'),
        ("etm print /Q 1", "/Q is no format. Usage: etm print [/FMT] [--at N] [--id ID] EXPR"),
        ("etm print parse(0, 0)", "Cannot call functions in the program: may-call-functions is off"),
        ("etm print ring_head = 1", "Writing to memory is not allowed (addr 0x20000050, len 4)"),
        ('etm print $_shell("true")', "$_shell does not work here"),
        ("etm print --at 99999 1", "--at 99999: the instructions are numbered 1 to 18364"),
        ("etm x", "ADDRESS is missing. Usage: etm x [/FMT] [--at N] [--id ID] ADDRESS"),
        ("etm info locals x", "etm info locals takes no names: etm print x"),
        (
            "etm info registers r16",
            'no register "r16"; there are r0 to r12, sp, lr, pc, xpsr, n, z, c, v, msp, psp, control,'
            " s0 to s31, fpscr",
        ),
        ("etm info things", 'TOPIC: "things" is none of: registers, locals, args'),
        ("etm why 30", "a register is missing: etm why 30 r3"),
        ("etm why x r3", '"x" is no number of an instruction: etm why N REG'),
        ("etm why 99999 r3", "99999 is outside the history: the instructions are numbered 1 to 18364"),
        ("etm writes $r3", "Attempt to take address of value not located in memory"),
        ("etm writes 0x20000000,0", "0x20000000,0: of 1 to 65536 bytes in 32 bits of address space"),
        ("set etm volatile 0x20000000", 'volatile: "0x20000000" is no region: ADDRESS,SIZE, such as 0x20000400,64'),
        ("set etm recovery some", 'Undefined item: "some".'),
    ],
)
def test_wrong_arguments(command: str, said: str, wrong: Dict[str, List[str]]) -> None:
    assert wrong[command] == [said]


@pytest.fixture(scope="module", name="wrong")
def fixture_wrong() -> Dict[str, List[str]]:
    """Type all wrong arguments in one session."""
    (mark,) = [one for one in test_wrong_arguments.pytestmark if one.name == "parametrize"]
    commands = [command for command, _ in mark.args[1]]
    return dict(zip(commands, session(["continue", "etm goto -1", *commands])[2:]))


def test_recovery_can_be_off_and_memory_volatile() -> None:
    commands = ["continue", "set etm recovery off", "etm goto -2", "output $etm_r3", "etm info registers"]
    commands += ["etm backtrace", "etm set recovery assumed", "etm goto -1", "output/x $etm_r3"]
    commands += ["set etm volatile 0x200000bc,4", "etm print station.table[0].handler"]
    found = dict(zip(commands, session(commands)))
    assert found["output $etm_r3"] == ["void"]
    off = 'the past\'s registers and memory are not worked out; "set etm recovery assumed" turns that on'
    assert found["etm info registers"] == [off]
    assert found["etm backtrace"][0] == "#0  dispatch (...) at rx.c:121"
    assert found["output/x $etm_r3"] == ["0x163333"]
    assert found["etm print station.table[0].handler"] == ["station.table[0].handler = <unavailable>"]


def test_where_stores_were_not_looked_for() -> None:
    commands = ["break swap", "continue", "set etm drain lazy", "continue", "set var copy[0] = 3", "continue"]
    found = session(
        [*commands, "etm writes numbers[4]", "etm goto -30", "etm info registers xpsr"], program=elf("algorithms-O0")
    )
    why = "which follows a halt at which something may have been changed"
    assert re.match(r"\[not looked at: what ran before instruction [\d,]+, %s\]$" % why, found[6][-1])
    assert re.search(r" N=[01] Z=[01] C=[01] V=[01] ", found[8][0])


def test_a_program_without_debug_information(tmp_path: Path) -> None:
    gcc = compiler()
    if gcc is None:
        pytest.skip("no arm-none-eabi-gcc, whose objcopy this needs")
    bare = str(tmp_path / "bare.elf")
    subprocess.run([gcc[: -len("gcc")] + "objcopy", "--strip-debug", str(DEMO), bare], check=True)
    commands = ["continue", "etm goto 13594", "etm info registers r0", "etm info locals", "etm print/x $r0"]
    commands += ["etm print station", "etm x/xw &station", "etm backtrace"]
    commands += ["etm writes 0x200000bc", "etm writes *0x200000bc"]
    found = dict(zip(commands, session(commands, program=bare)))
    assert found["etm info registers r0"] == ["r0  0x00163333  1454899  stored at #13,594, loaded at #18,363"]
    assert found["etm info locals"] == ["No symbol table info available."]
    assert found["etm print/x $r0"] == ["$r0 = 0x163333"]
    assert found["etm print station"] == ["'station' has unknown type; cast it to its declared type"]
    assert found["etm x/xw &station"] == ["0x2000009c <station>:\t0x00156666"]
    assert found["etm backtrace"][0] == "#0  0x000001b2 in parse_values ()"
    assert found["etm writes 0x200000bc"] == found["etm writes *0x200000bc"]
    assert found["etm writes 0x200000bc"][1] == "#13,594  <parse_values+26>  0x0000045b -> 0x00163333"


def test_a_core_that_is_not_halted() -> None:
    # A Cortex-A9 behind its debug port: nothing is known of its end.
    program = cortex_a_elf("sort-t32")
    looks = ["etm info registers cpsr pc", "etm info args", "etm print/x $cpsr", "etm up", "etm info args"]
    commands = ["python import time; time.sleep(0.3)", "etm stop", "etm last is_even", *looks]
    found = session([*commands, "etm goto end", "etm print $r0"], "a9 --dap-only --option board.hold=1", program)
    cpsr, pc = found[3]
    assert cpsr.split()[:2] == ["cpsr", "<unavailable>"] and pc.split()[:3] == ["pc", "0x00000234", "<is_even>"]
    assert re.match(r"n = \d+$", found[4][0]) and found[5] == ["$cpsr = <unavailable>"]
    assert found[7] == ["the registers of frame 1 are not known here"]
    assert found[9] == ['where the capture ends is not known; "etm goto -1" is the last instruction before']


def test_completion() -> None:
    lines = ["complete etm info reg", "complete etm print station.ta", "complete etm why s", "complete etm x sentence"]
    found = session(["continue", *lines, "complete etm set recovery ", "complete set etm recovery a"])
    assert found[1:5] == [["etm info registers"], ["etm print station.table"], ["etm why sp"], ["etm x sentence"]]
    assert found[6] == ["set etm recovery assumed"]


_KILL = """python
import os, signal
from gdb_etm.api.inside import commands_session
os.kill(commands_session().second_gdb._process.pid, signal.SIGKILL)
end
"""


def test_the_second_gdb_is_started_again_when_it_was_killed(tmp_path: Path) -> None:
    (tmp_path / "kill.gdb").write_text(_KILL)
    commands = ["continue", "etm goto 13594", "etm print $r0", "source %s" % (tmp_path / "kill.gdb")]
    found = session([*commands, "etm print $r0", "etm print $r0"])
    ended = ["the second GDB, which prints values of the past, has ended; try again"]
    assert found[2] == found[-1] == ["$r0 = 1454899"] and found[-2] in (ended, found[-1])


_LOADER = Path("/lib64/ld-linux-x86-64.so.2")


def _wrapper(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = folder / "gdb-multiarch"
    wrapper.write_text('#!/bin/sh\nexec %s "$@"\n' % command)
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (folder, os.environ["PATH"]))


def _real_gdb() -> str:
    found = shutil.which(gdb_program())
    assert found is not None
    return os.path.realpath(found)


@pytest.mark.skipif(not _LOADER.exists(), reason="no loader of that name here")
def test_a_gdb_that_a_wrapper_has_the_loader_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(_real_gdb(), "rb") as stream:
        if stream.read(4) != b"\x7fELF":
            pytest.skip("this gdb-multiarch is a wrapper already")
    _wrapper(tmp_path, "%s %s" % (_LOADER, _real_gdb()), monkeypatch)
    assert session(["continue", "etm goto 13594", "etm print $r0"])[-1] == ["$r0 = 1454899"]


def test_a_second_gdb_that_does_not_start_is_named_with_its_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho broken: no such library >&2\nexit 1\n")
    broken.chmod(0o755)
    settings = ["set etm gdb %s" % broken, "set etm gdb /no/such/gdb", "set etm gdb %s" % _real_gdb()]
    found = session(["continue", settings[0], "etm print $r0", *settings[1:], "etm print $r0"])
    name = "the second GDB, which prints values of the past,"
    hint = 'it is "%s", and "set etm gdb PATH" names another' % broken
    assert found[2] == ["%s does not start: broken: no such library; %s" % (name, hint)]
    assert found[3] == ['gdb: "/no/such/gdb" is no program; a path such as /usr/bin/gdb-multiarch is, or auto']
    assert found[5][0].startswith("$r0 = ")


def test_ctrl_c_ends_the_work_and_it_can_be_done_again() -> None:
    script = str(ROOT / "scripts" / "gdb_etm")
    connect = "etm connect board:m33 --elf %s --etb-size 64K" % elf("algorithms-O0")
    begin = ["source %s" % script, connect, "etm start", "set pagination off", "set style enabled off"]
    arguments = [word for line in begin for word in ("-ex", line)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    with Terminal([gdb_program(), "-nx", "-q", *arguments], dict(environment, HOME="/nonexistent"), ROOT) as gdb:
        gdb.type("continue\n")
        begun = gdb.wait(" exceptions in ")
        gdb.type("set etm recovery-background off\netm info registers r0\n")
        begun = gdb.wait("% (Ctrl-C ends it)", begun)
        gdb.type("\x03")
        begun = gdb.wait("Quit while working out the values of ", begun)
        gdb.type("etm print $r0\n")
        begun = gdb.wait("$r0 = ", begun)
        processes = children(gdb.pid)
        assert len(processes) >= 2
        gdb.type("etm disconnect\nquit\n")
        gdb.end()
        assert are_gone(processes)
