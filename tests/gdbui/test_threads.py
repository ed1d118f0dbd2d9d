"""Real GDB sessions: the threads of a history."""

from __future__ import annotations

from tests.firmware.build import elf
from tests.gdb_session import run_gdb

TASKS = elf("tasks")
START = ["set etm history-size 5", "etm connect board:m33 --elf %s" % TASKS, "etm start", "continue"]


def test_threads_of_a_kernel() -> None:
    asked = ["etm functions /c -12", "echo :\\n", "etm threads", "echo :\\n", "etm goto --thread 2 last"]
    asked += ["etm threads", "etm backtrace --thread 3", "echo :\\n", "etm functions --thread 2 -2"]
    asked += ["python import gdb_etm", "python found = gdb_etm.current().capture().history()"]
    asked += ["python print([one.name for one in found.threads()], found.thread_at(-1).number)"]
    output = run_gdb([*START, *asked])
    listed, threads, moved, alone = output[output.index("in 528 bytes") :].split("\n:\n")
    # Two tasks that run the same function; the last one returns to the stack on which main began.
    assert listed.splitlines()[1:] == [
        "83     PendSV_Handler",
        "84       switch_task",
        "85     PendSV_Handler",
        "     [switch task (thread 2) -> task (thread 3)]",
        "86   task",
        "87     <SVCall (exception 11)>",
        "88     SVC_Handler",
        "89     <PendSV (exception 14), tail-chained>",
        "90     PendSV_Handler",
        "91       switch_task",
        "92     PendSV_Handler",
        "     [switch task (thread 3) -> Reset_Handler]",
        "93     run",
        "94   Reset_Handler",
    ]
    assert threads.splitlines() == [
        "  Id  Thread         Instructions  Last run",
        "* 1   Reset_Handler           961  at 1,893, in Reset_Handler",
        "  2   task                    268  at 1,619, in task   [not told apart from 3 everywhere]",
        "  3   task                    304  at 1,716, in task   [not told apart from 2 everywhere]",
    ]
    assert "instruction 1,619 of 1,893" in moved and "\n* 2   task" in moved
    assert moved.endswith("[task (thread 3) does not run here]\n#0  task () at tasks.c:53")
    switch = "     [switch task (thread 3) -> task (thread 2)]"
    assert alone.splitlines()[:4] == [switch, "65   task", switch, "79   task"]
    assert "['Reset_Handler', 'task', 'task'] 1" in alone, alone


def test_a_thread_that_is_not_there() -> None:
    output = run_gdb([*START, "etm goto --thread idle last", "etm functions --thread task"])
    words = '"idle" is no thread of this history; there are: 1 Reset_Handler, 2 task, 3 task'
    assert words in output and "several threads are called task: give the number of one, of 2, 3" in output


def test_threads_of_the_past_in_gdb() -> None:
    asked = ["etm goto --thread 2 last", "info threads", "thread 2", "backtrace", "print $sp", "thread 1"]
    output = run_gdb([*START, *asked, "reverse-stepi", "etm live", "info threads"])
    there, live = output.split("[Switching to thread 1 (Thread 1)]")
    rows = [" ".join(line.split()) for line in there.splitlines() if " Thread 1" in line and "(" in line[:40]]
    assert rows[:3] == [
        "* 1 Thread 1 (task (thread 2), what ran then) yield () at tasks.c:17",
        "2 Thread 1048577 (Reset_Handler, waits) 0x00000220 in run () at tasks.c:85",
        "3 Thread 1048579 (task (thread 3), waits) task () at tasks.c:53",
    ], there
    assert "is not available" not in output and "#1  0x000000a0 in Reset_Handler ()" in there
    assert "Id   Target Id" in live and "waits" not in live and "after instruction 1,893, the last" in live
