"""Real GDB as a debug adapter, going back over stdio.

A step back by instruction is held against the board's truth, one by line against GDB's own reverse-next.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Dict, Iterator, List

import pytest

from tests.adapter_client import AdapterClient, Message, Refused, require_adapter
from tests.gdb_session import ROOT, SCRIPT
from tests.gdbui.test_board import CONNECT, ELF, run, truth

_BLOCKS = re.compile(r"^```\n(source /PATH/TO/gdb_etm\n.*?)^```\n\n```json\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def adapter() -> None:
    """Skip on a GDB that cannot be a debug adapter."""
    require_adapter()


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's fault, saved."""
    folder = tmp_path_factory.mktemp("adapter") / "fault"
    run([CONNECT + " --etb-size 1K", "etm start", "continue", "etm save %s" % folder])
    return folder


@pytest.fixture()
def replayed(snapshot: Path) -> Iterator[AdapterClient]:
    """A client of a GDB that replays it."""
    with AdapterClient() as client:
        assert client.start()["supportsStepBack"] is True
        assert client.attach("etm replay %s --elf %s" % (snapshot, ELF))["reason"] == "attach"
        yield client


def place(client: AdapterClient) -> List[object]:
    """Give function and line of the innermost frame."""
    frame = client.frames()[0]
    return [frame["name"], frame["line"]]


def is_end(stopped: Message) -> bool:
    """Tell whether a stop is told as the history's beginning."""
    return [stopped["reason"], stopped.get("description")] == ["no-history", "No more reverse-execution history"]


def check_pause(client: AdapterClient) -> None:
    """Check that a run through the past can be paused.

    Also one for which GDB steps by itself.
    """
    client.type("set can-use-hw-watchpoints 0")
    reasons = []
    while "pause" not in reasons and len(reasons) < 30:
        reasons.append(client.go("stepBack", granularity="instruction")["reason"])
        if reasons[-1] == "no-history":
            # It heard of the last pause at once: it is still at the beginning.
            reasons.append(client.go("continue")["reason"])
            continue
        assert reasons[-1] == "step", reasons
        client.type("watch *(int *) 0x20040000")  # nothing writes there
        client.request("reverseContinue", threadId=1)
        # A quick machine may be at the history's beginning before it hears of the pause.
        reasons.append(client.go("pause")["reason"])
        client.type("delete")
        # Then it hears of it on the way forward.
        reasons.append(client.go("continue")["reason"])
        if reasons[-1] == "pause":
            client.go("continue")
    assert "pause" in reasons, reasons


@pytest.mark.every_gdb
def test_back_and_forth_on_a_live_target(tmp_path: Path) -> None:
    # As editor.md says, on a simulated board.
    commands, sent = _BLOCKS.findall((ROOT / "docs" / "guide" / "editor.md").read_text())[0]
    (tmp_path / "etm.gdb").write_text(commands.replace("/PATH/TO/gdb_etm", str(SCRIPT)))
    target = json.loads(sent)["target"].replace("/PATH/TO/firmware.elf", "%s board:m33" % ELF)
    with AdapterClient(["-x", str(tmp_path / "etm.gdb")], with_plugin=False) as client:
        assert client.start()["supportsStepBack"] is True
        assert client.attach("%s --truth %s" % (target, tmp_path / "truth"))["reason"] == "attach"
        assert client.go("continue")["reason"] == "signal"
        assert place(client) == ["HardFault_Handler", 4]

        ran = truth(tmp_path / "truth")
        for address in ran[-1:-4:-1]:
            assert client.go("stepBack", granularity="instruction")["reason"] == "step"
            assert int(client.frames()[0]["instructionPointerReference"], 16) == address
        (breakpoint,) = client.request("setFunctionBreakpoints", breakpoints=[{"name": "crc16"}])["breakpoints"]
        stopped = client.go("reverseContinue")
        assert [stopped["reason"], stopped["hitBreakpointIds"]] == ["breakpoint", [breakpoint["id"]]]
        frames = client.frames()
        assert [frame["name"] for frame in frames] == ["crc16", "report", "main"]
        assert client.variables(frames[0]["id"], "Arguments")["length"] == "16"

        assert client.go("stepOut")["reason"] == "step"
        assert place(client) == ["report", 121]
        assert client.go("continue")["reason"] == "stopped"
        assert place(client) == ["HardFault_Handler", 4]
        check_pause(client)
        assert "etm: 18,364 instructions from UART_Handler to dispatch" in client.output()
        assert "etm: [the live end: here the target is halted; the next command runs it]" in client.output()
        assert client.end() == 0


@pytest.mark.every_gdb
def test_moves_of_ours_are_stops_to_an_editor() -> None:
    with AdapterClient(["-ex", "source %s" % SCRIPT], with_plugin=False) as client:
        client.start()
        client.attach("etm connect board:m33 --elf %s" % ELF)
        client.type("etm start")
        client.go("continue")
        for words, function in (("last crc16", "crc16"), ("reverse-finish", "report"), ("goto -1", "dispatch")):
            client.type("etm " + words)
            client.event("stopped")
            where = client.type("etm where")
            top = client.frames()[0]
            assert top["name"] == function and " %s (" % function in where
            assert "= %d\n" % int(top["instructionPointerReference"], 16) in client.type("print $etm_pc")
        assert client.go("stepBack")["reason"] == "step"
        assert client.type("etm where").splitlines()[-1] == client.type("monitor where").strip()
        client.type("etm live")
        client.event("stopped")
        assert place(client) == ["HardFault_Handler", 4]


def test_both_ends_of_a_snapshot_are_told(replayed: AdapterClient) -> None:
    assert is_end(replayed.go("reverseContinue"))
    assert is_end(replayed.go("stepBack"))
    assert replayed.go("stepIn")["reason"] == "step"
    # Forward GDB does not tell an end from a trap; a line of ours does.
    assert replayed.go("continue")["reason"] == "stopped"
    assert place(replayed) == ["HardFault_Handler", 4]
    assert replayed.type("monitor where").startswith("after instruction ")
    assert replayed.output().count("etm: [the buffer wrapped here: what ran before was overwritten]") == 2
    assert replayed.output().count("etm: [the capture ends here: nothing can be added to it]") == 1
    check_pause(replayed)
    assert replayed.end() == 0


def test_a_step_back_by_line_is_reverse_next(replayed: AdapterClient, snapshot: Path) -> None:
    own = run(["etm replay %s --elf %s" % (snapshot, ELF)] + ["reverse-next"] * 4 + ["monitor where"])
    every: List[Dict[str, object]] = [{}, {"granularity": "statement"}, {"granularity": "line", "singleThread": True}]
    for words in every:
        assert [replayed.go("stepBack", **words)["reason"] for _ in range(4)] == ["step"] * 4
        where = replayed.type("monitor where").strip()
        assert where.startswith("instruction ") and where in own.splitlines()
        assert replayed.go("continue")["reason"] == "stopped"


def test_a_plug_in_that_comes_late_is_announced(snapshot: Path) -> None:
    with AdapterClient(with_plugin=False) as client:
        assert "supportsStepBack" not in client.start()
        client.type("source %s" % SCRIPT)
        assert client.event("capabilities") == {"capabilities": {"supportsStepBack": True}}
        # Not our command, but what GDB itself makes of a target.
        client.request("evaluate", expression="file %s" % ELF, context="repl")
        client.attach("| %s -m gdb_etm replay %s --elf %s" % (sys.executable, snapshot, ELF))
        assert client.go("stepBack")["reason"] == "step"
        assert place(client) == ["dispatch", 121]


def test_a_stop_without_a_reason_is_no_end(replayed: AdapterClient) -> None:
    # GDB knows as little of this store's reason; its address is not known.
    replayed.type("watch *(int *) 0x2007ffe4")
    stopped = replayed.go("reverseContinue")
    assert stopped["reason"] in ("stopped", "data breakpoint") and "description" not in stopped


def test_what_fails_is_told() -> None:
    with AdapterClient() as client:
        client.start()
        # There is nothing to go back in; the client must not wait for a program that does not run.
        stopped = client.go("stepBack")
        assert stopped["reason"] == "step" and stopped["allThreadsStopped"] and stopped["description"]
        with pytest.raises(Refused, match='"nowhere" is none of: board:m33, '):
            client.attach("etm connect nowhere")
        assert stopped["description"] + "\n" in client.output()


@pytest.mark.parametrize(
    "change",
    [
        "del sys.modules['gdb.dap.launch']",
        "sys.modules['gdb.dap.server'].request = None",
        "del sys.modules['gdb.dap.next']._handle_thread_step",
    ],
)
def test_another_adapter_than_is_known_is_left_as_it_is(change: str) -> None:
    arguments = ["-ex", "python import sys; " + change, "-x", str(SCRIPT)]
    with AdapterClient(arguments, with_plugin=False) as client:
        assert "supportsStepBack" not in client.start()
        assert client.type("etm status").startswith("Not connected")
        assert client.output().count(": no step back is offered\n") == 1
