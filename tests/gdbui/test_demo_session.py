"""Real GDB session: scripts/demo, in batch and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time

import pytest

from tests.gdb_session import demo_script

SECONDS = 120


@pytest.mark.every_gdb
def test_the_transcript_explains_the_fault() -> None:
    done = subprocess.run([demo_script()], stdout=subprocess.PIPE, universal_newlines=True, timeout=SECONDS, check=True)
    lines = done.stdout.splitlines()
    typed = [line[len("(gdb) ") :].split()[:2] for line in lines if line.startswith("(gdb) ")]
    expected = ["source gdb_etm", "etm connect", "etm start", "continue", "etm functions", "etm history", "etm status"]
    expected += ["etm backtrace", "etm reverse-step", "etm print", "etm writes", "etm goto", "etm backtrace"]
    expected += ["etm info", "etm info", "etm print", "etm list", "etm fault"]
    assert [" ".join(words) for words in typed] == expected
    assert "dispatch (message=message@entry=0x2007ffe4) at rx.c:121" in lines[lines.index("(gdb) etm reverse-step") :]
    # The store that corrupted the callback: the ninth value of eight, and the registers at that moment.
    store = lines[lines.index("(gdb) etm writes station.table[message->kind].handler") + 2]
    assert store.split() == ["#13,594", "<parse_values+26>", "0x0000045b", "->", "0x00163333", "rx.c:83"]
    there = lines[lines.index("(gdb) etm goto 13594") :]
    assert there[4] == "83\t        values[count++] = parse_number(&text);"
    assert "count = 9" in there and "r0    0x00163333     1454899" in there
    assert "station.table[0] = {handler = 0x45b <on_pressure>, delivered = <unavailable>}" in there
    # The last command alone finds the same store.
    verdict = lines[lines.index("(gdb) etm fault") :]
    assert [line for line in verdict if line.startswith("==>")][0].startswith("==>    parse_values, rx.c:83: ")
    assert "#13,594" in "".join(verdict) and "next   etm goto 13594" in verdict
    assert any(line.endswith("<HardFault (exception 3), from 0x00163332: not in the program>") for line in lines)
    assert any("subscription->handler(message);" in line for line in lines)
    # GDB's own words for the rest of a string of which the beginning is known.
    told = [line.replace("<error: Cannot access memory", "") for line in lines]
    assert not [line for line in told if "Traceback" in line or "rror" in line]


@pytest.mark.every_gdb
def test_interactive_leaves_the_user_at_the_prompt() -> None:
    master, slave = pty.openpty()
    words, environment = [demo_script(), "--interactive"], dict(os.environ, TERM="dumb")
    with subprocess.Popen(
        words, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    ) as demo:
        os.close(slave)
        try:
            _read_until(master, b"capture 1 (halt in HardFault_Handler (SIGSEGV))")
            os.write(master, b"etm history -1\n")
            _read_until(master, b"<dispatch+20>   blx  r3")
            os.write(master, b"etm disconnect\nquit\n")
            demo.wait(SECONDS)
        finally:
            demo.kill()
            os.close(master)


def _read_until(master: int, text: bytes) -> None:
    # Until GDB has written ``text`` and waits at its prompt.
    seen = b""
    deadline = time.monotonic() + SECONDS
    while text not in seen or not seen.endswith(b"(gdb) "):
        ready, _, _ = select.select([master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, seen
        seen += os.read(master, 4096)


def test_other_arguments_are_refused() -> None:
    done = subprocess.run(
        [demo_script(), "--fast"], stderr=subprocess.PIPE, universal_newlines=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 2 and done.stderr == "usage: scripts/demo [--interactive]\n"
