"""Real GDB session: each line of the doctor with its fault."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Sequence

import pytest

from tests.gdb_session import ROOT, run_gdb

ELF = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
FIX = "etm doctor --fix"
_LINE = re.compile(r" ?(\d+)  (ok|bad|unknown) +(\w.*?)  +(\S.*)")


class Chip(NamedTuple):
    """Where a board has what, and what its trace unit calls it."""

    name: str
    funnel: int
    buffer: int
    registers: Dict[str, str]
    os_lock: int


_V4 = {
    "power": "TRCPDSR",
    "lock": "TRCOSLSR",
    "auth": "TRCAUTHSTATUS 0x00000088",
    "claim": "TRCCLAIMCLR",
    "off": "TRCPRGCTLR 0x00000000",
    "id": "TRCTRACEIDR",
    "answers": "cannot read 0xe0041fbc",
}
_V3 = {
    "power": "ETMPDSR",
    "lock": "ETMOSLSR",
    "auth": "ETMAUTHSTATUS 0x00000080",
    "claim": "ETMCLAIMCLR",
    "off": "ETMCR 0x00000c10",
    "id": "ETMTRACEIDR",
    "answers": "cannot read 0xe0041fcc",
}
M33 = Chip("m33", 0xE0042000, 0xE0043000, _V4, 1)
M7 = M33._replace(name="m7")
M4 = Chip("m4", 0xE0043000, 0xE0042000, _V3, 0xC5ACCE55)
chips = pytest.mark.parametrize("chip", [M33, M7, M4], ids=lambda chip: str(chip.name))


def run(chip: Chip, commands: Sequence[str], faults: str = "", connect: str = "") -> List[str]:
    """Run a session on a board; give what each command printed."""
    line = "etm connect board:%s --elf %s %s" % (chip.name, ELF, connect)
    line += " --option board.faults=" + faults if faults else ""
    marked = [word for command in (line, *commands) for word in ("echo >>>\\n", command)]
    output = run_gdb(marked)
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.split(">>>\n")[2:]


def bad(text: str) -> Dict[str, str]:
    """The bad lines: subject to proof."""
    lines = [found for found in map(_LINE.match, text.splitlines()) if found]
    assert [int(found[1]) for found in lines] == list(range(1, len(lines) + 1))
    return {found[3]: found[4] for found in lines if found[2] == "bad"}


def assert_mended(text: str, subject: str) -> None:
    """Held: the mend was told, and nothing is bad any more."""
    assert any(line.split(": ")[0].split(", ").count(subject) for line in text.splitlines()), text
    assert not bad(text) and text.endswith("Nothing is wrong.\n"), text


def assert_traces(text: str) -> None:
    """Held: the halt gave instructions."""
    assert re.search(r"^etm: [\d,]{5,} instructions ", text, re.M), text


def write(address: int, value: int) -> str:
    """The command by which somebody else writes a register: pyOCD's own."""
    return "monitor write32 0x%08x 0x%x" % (address, value)


@pytest.mark.sweep
@chips
def test_nothing_is_wrong_while_tracing_and_the_plain_verdict_before(chip: Chip) -> None:
    before, _, after, _, again, stopped = run(
        chip, ["etm doctor", "etm start", "etm doctor", "continue", "etm doctor", "etm disconnect"]
    )
    found = bad(before)
    assert chip.registers["off"].split()[0] in found["unit enable"]
    assert "buffer capture" in found and "funnel 0x%08x" % chip.funnel in found
    assert "    -> etm start\n" in before and "-> etm doctor" not in before
    assert after.endswith("Nothing is wrong.\n") and not bad(after)
    assert re.search(r"last capture +capture 1: ID 0x10 9\d% of \d+ bytes\n", again), again
    assert again.endswith("Nothing is wrong.\n")
    assert stopped.startswith("disconnected")


@pytest.mark.sweep
@chips
def test_debug_power_and_trcena(chip: Chip) -> None:
    _, _, dem, _, power, fixed, ran = run(
        chip, ["etm start", write(0xE000EDFC, 0), "etm doctor", "monitor writedp 4 0", "etm doctor", FIX, "continue"]
    )
    assert bad(dem) == {
        "trace enable": "DEMCR 0x00000000: TRCENA is 0: DWT and ITM are off, and on Armv7-M the trace" " unit may be"
    }
    assert "    -> %s\n" % FIX in dem
    assert bad(power) == {"debug power": "DP CTRL/STAT 0x00000040: the debug domain has no power (CDBGPWRUPACK)"}
    assert_mended(fixed, "debug power")
    assert_mended(fixed, "trace enable")
    assert re.search(r"ok +trace enable +DEMCR 0x01000000", fixed)
    assert_traces(ran)


@pytest.mark.sweep
@chips
def test_trace_clock(chip: Chip) -> None:
    clock = 0xE0044004
    off, _, fixed, ran, _, gone, _, back = run(
        chip,
        ["etm doctor", write(clock, 0x20), FIX, "continue", write(clock, 0), "etm doctor", write(clock, 0x20), FIX],
        "clock-gate",
    )
    assert re.search(r"0xe0041000, 0xe0042000, 0xe0043000[^:]*: no answer; no trace unit found", bad(off)["components"])
    assert "DBGMCU_CR" in off
    assert_mended(fixed, "components")
    assert_traces(ran)
    found = bad(gone)
    assert chip.registers["answers"] in found["unit answers"] and "bus answered with a fault" in found["buffer answers"]
    assert not bad(back)


@pytest.mark.sweep
@chips
def test_power_of_the_unit(chip: Chip) -> None:
    _, _, off, fixed, ran = run(
        chip, ["etm start", write(0xE0041310, 0), "etm doctor", FIX, "continue"], "power-domain"
    )
    assert bad(off)["unit power"].startswith(chip.registers["power"] + " 0x00000002: off, and it was without")
    assert_mended(fixed, "unit power")
    # What was programmed was lost with the power.
    assert_mended(fixed, "programming")
    assert_traces(ran)


@pytest.mark.sweep
@chips
def test_os_lock(chip: Chip) -> None:
    _, _, locked, fixed, ran, end = run(
        chip, ["etm start", write(0xE0041300, chip.os_lock), "etm doctor", FIX, "continue", "etm disconnect"], "os-lock"
    )
    assert bad(locked)["OS Lock"].startswith(chip.registers["lock"] + " 0x0000000a: locked")
    assert_mended(fixed, "OS Lock")
    assert_traces(ran)
    assert end.startswith("disconnected")


@pytest.mark.sweep
@chips
def test_authentication(chip: Chip) -> None:
    verdict, fixed = run(chip, ["etm doctor", FIX], "no-authentication")
    assert list(bad(verdict)) == ["unit authentication", "session"]
    assert bad(verdict)["unit authentication"].startswith(chip.registers["auth"] + ": non-invasive debug is forbidden")
    assert "session: could not be mended: the chip's debug authentication forbids tracing" in fixed
    assert "Begin with line 6, unit authentication; 1 bad line more." in verdict


def test_software_lock() -> None:
    # Of an ETMv4 a debugger does not see it (IHI 0064, 7.3.46).
    _, _, locked, fixed, ran = run(M4, ["etm start", write(0xE0041FB0, 0), "etm doctor", FIX, "continue"])
    assert bad(locked) == {"unit software lock": "LSR 0x00000003: the software lock is locked: writes have no effect"}
    assert_mended(fixed, "unit software lock")
    assert_traces(ran)


@pytest.mark.sweep
@chips
def test_claim(chip: Chip) -> None:
    _, _, taken, again, _, free, ran = run(
        chip,
        [
            "etm start",
            write(0xE0041FA0, 2),
            "etm doctor",
            FIX,
            "set *(unsigned *)0xe0041fa4 = 0x2",
            "etm doctor",
            "continue",
        ],
    )
    words = chip.registers["claim"] + " 0x00000003: software on the target uses the unit (tag 0x02)"
    assert bad(taken) == {"claim": words} == bad(again)
    assert "if there is none: set *(unsigned *)0xe0041fa4 = 0x2\n" in taken
    assert not bad(free)
    assert_traces(ran)


@pytest.mark.sweep
@chips
def test_funnel_and_buffer(chip: Chip) -> None:
    _, _, _, found, fixed, ran, end = run(
        chip,
        [
            "etm start",
            write(chip.funnel, 0x302),
            write(chip.buffer + 0x20, 0),
            "etm doctor",
            FIX,
            "continue",
            "etm disconnect",
        ],
    )
    assert bad(found) == {
        "funnel 0x%08x" % chip.funnel: "FUNNELCONTROL 0x00000302: port 0 closed",
        "buffer capture": "CTL 0x00000000: not capturing (TraceCaptEn is 0)",
    }
    assert_mended(fixed, "buffer capture")
    assert_mended(fixed, "funnel 0x%08x" % chip.funnel)
    assert_traces(ran)
    assert end.startswith("disconnected")


def test_buffer_mode() -> None:
    _, _, _, _, found, fixed, ran = run(
        M33,
        ["etm start", write(0xE0043020, 0), write(0xE0043028, 2), write(0xE0043020, 1), "etm doctor", FIX, "continue"],
    )
    assert bad(found)["buffer mode"] == "MODE 0x00000002: hardware FIFO: trace does not stay in it"
    assert_mended(fixed, "buffer mode")
    assert_traces(ran)


@pytest.mark.sweep
@chips
def test_flush_that_does_not_end(chip: Chip) -> None:
    _, halt, found, fixed, _, ran = run(
        chip, ["etm start", "continue", "etm doctor", FIX, "monitor reset halt", "continue"], "stuck-flush:1"
    )
    assert "was awaited" in halt
    assert bad(found)["formatter"].startswith("FFSR 0x00000001: a flush does not end (FlInProg)")
    assert_mended(fixed, "formatter")
    assert_traces(ran)


@pytest.mark.sweep
@chips
def test_another_source_eats_the_buffer(chip: Chip) -> None:
    _, _, found, _, _, ran, after = run(
        chip,
        [
            "etm start",
            "continue",
            "etm doctor",
            "set *(unsigned *)0xe0000e80 = 0",
            "monitor reset halt",
            "continue",
            "etm doctor",
        ],
        "noise:3",
    )
    shares = r"capture 1: ID 0x01 [67]\d%, ID 0x10 [23]\d% of \d+ bytes; other sources"
    assert re.match(shares, bad(found)["last capture"])
    assert "    -> switch the other source off (the ITM by ITM_TCR: set *(unsigned *)0xe0000e80 = 0)\n" in found
    assert_traces(ran)
    assert not bad(after)


@pytest.mark.sweep
@chips
def test_unit_switched_off_and_programmed_by_somebody_else(chip: Chip) -> None:
    enable, off = (0xE0041000, 0xC10) if chip is M4 else (0xE0041004, 0)
    filtered = (0xE0041020, 0x406F) if chip is M4 else (0xE0041080, 0x200)
    identity = 0xE0041200 if chip is M4 else 0xE0041040
    # It takes other writes when its status has become idle.
    settled = 2 * ["monitor read32 0x%08x" % (0xE0041010 if chip is M4 else 0xE004100C)]
    written = [write(enable, off), *settled, write(*filtered), write(identity, 0x70)]
    found, fixed, ran = run(chip, ["etm start", *written, "etm doctor", FIX, "continue"])[6:]
    verdict = bad(found)
    assert verdict["unit enable"].startswith(chip.registers["off"])
    assert verdict["trace ID"] == chip.registers["id"] + " 0x00000070: 0x70 is reserved: no trace is kept under it"
    assert verdict["filter"].endswith(": its event is FALSE, which excludes everything")
    assert " was written 0x" in verdict["programming"] and verdict["programming"].endswith(", and 1 registers more")
    assert_mended(fixed, "filter")
    assert_traces(ran)


def test_filter_of_which_nothing_ran() -> None:
    _, _, found, _, _, ran = run(
        M33,
        [
            "etm start --include 0x80000-0x80fff",
            "continue",
            "etm doctor",
            "etm start",
            "monitor reset halt",
            "continue",
        ],
        connect="--option board.comparators=1",
    )
    assert bad(found) == {"filter": "TRCVIIECTLR 0x00000001: nothing of it ran: only 0x00080000-0x00080fff"}
    assert "    -> etm start with another filter\n" in found
    assert_traces(ran)


def test_start_point_that_never_ran() -> None:
    _, _, found = run(
        M33, ["etm start --start-at 0x80000", "continue", "etm doctor"], connect="--option board.comparators=1"
    )
    assert bad(found)["filter"].endswith("the start/stop block is off (SSSTATUS): its start point never ran")


@pytest.mark.sweep
@chips
def test_start_point_that_ran(chip: Chip) -> None:
    *_, waits, _, ran = run(chip, ["etm filter start dispatch", "etm start", "etm doctor", "continue", "etm doctor"])
    assert "tracing waits for its start point\n" in waits and "the start/stop block is on: a start point ran" in ran


@pytest.mark.sweep
@chips
def test_core_asleep_is_seen_while_it_runs(chip: Chip) -> None:
    wfi = ["set *(unsigned *)0x20060000 = 0xe7fdbf30", "set $pc = 0x20060000"]
    texts = run(
        chip, ["etm start", *wfi, "maint set target-async on", "continue &", "shell sleep 0.3", "etm doctor", FIX]
    )
    assert bad(texts[6])["core state"].startswith("DHCSR 0x00040001: asleep (S_SLEEP)")
    assert texts[7].startswith("the target runs; halt it first (Ctrl-C)")


@pytest.mark.parametrize("fault, message", [("hang:5000", "no answer in time"), ("unplug-after:6000", "unplugged?")])
def test_a_target_that_answers_no_longer(fault: str, message: str) -> None:
    # Accesses are counted, so one of the verdicts meets the fault half-way.
    texts = run(M33, ["etm start", "continue"] + 40 * ["etm doctor"], fault)
    first = next(text for text in texts[2:] if "Nothing is wrong" not in text)
    found = bad(first)
    assert list(found) == ["answers"] and message in found["answers"]
    assert "check the target's power and the cable; nothing more was read" in first


def test_a_filter_of_exception_levels_is_told() -> None:
    before, *_, found = run(M33, ["etm doctor", "etm filter exceptions off", "etm start", "etm doctor"])
    assert "filter" not in before and "trace ID" not in before, "what they hold before a start means nothing"
    assert re.search(r"ok +filter +TRCVICTLR 0x00080201: all but exception levels: Secure 3\n", found)


def test_nothing_without_a_connection() -> None:
    assert run_gdb(["etm doctor"]).startswith('not connected to a trace unit. Try "etm connect"')


def test_a_cortex_a9() -> None:
    program = ROOT / "tests" / "firmware" / "cortex_a" / "sort-a32.elf"
    output = run_gdb(
        ["etm connect board:a9 --dap-only --elf %s" % program, "echo >>>\\n", "etm doctor", "echo >>>\\n", FIX]
    )
    before, fixed = output.split(">>>\n")[1:]
    assert bad(before)["unit enable"].startswith("ETMCR 0x") and "core state" not in before
    assert_mended(fixed, "unit enable")
