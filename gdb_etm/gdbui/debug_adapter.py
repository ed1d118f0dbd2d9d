"""GDB as a debug adapter: its requests for reverse execution.

Ref: Debug Adapter Protocol, requests StepBack, ReverseContinue and Attach, events Stopped and Capabilities; the package
gdb.dap in the Python of GDB 14 to 18.  That package is internal to GDB: where it is not as expected, it stays as it is.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Optional

import gdb

_CAPABILITY = "supportsStepBack"
# GDB's own name for such a stop, and its words.
_NO_HISTORY = "no-history", "No more reverse-execution history"
# What GDB puts before the target of an attach request.
_TARGET = "target remote "
_MODULES = ("server", "events", "launch", "next")


def extend() -> None:
    """Add reverse execution to GDB's debug adapter, if GDB is one."""
    # "-i=dap" loads the package before any command file is read.
    if "gdb.dap" not in sys.modules:
        return
    try:
        server, events, launch, moves = (sys.modules["gdb.dap." + name] for name in _MODULES)
        _connect(launch)
        _speak(events)
        _offer(server, events, moves, _describe(events))
    except (KeyError, AttributeError, TypeError, ValueError, AssertionError) as error:
        words = "etm: the debug adapter of GDB %s is not as expected (%s: %s): no step back is offered\n"
        gdb.write(words % (gdb.VERSION, type(error).__name__, error), gdb.STDERR)


def _connect(launch: Any) -> None:
    # An attach request's target may be a command of ours that connects.
    execute = launch.exec_and_log

    def run(command: str, *rest: object) -> None:
        if command.startswith(_TARGET + "etm "):
            gdb.execute(command[len(_TARGET) :])
        else:
            execute(command, *rest)

    launch.exec_and_log = run


def _speak(events: Any) -> None:
    # GDB keeps back what is printed while the program moves: what we say of a halt, and why a history ends.
    def run(command: str, *rest: object) -> None:
        gdb.execute(command)

    events.exec_and_log = run


def _describe(events: Any) -> Callable[[bool], None]:
    # GDB does not tell Python that a history ends: the run stops for no reason.  So may one of the live target, at a
    # trap, and one at a watchpoint where it is not known whether the memory has changed; these are left as they are.
    goes_back = False

    def note(is_back: bool) -> None:
        nonlocal goes_back
        goes_back = is_back

    def described(send: Callable[..., None]) -> Callable[..., None]:
        def send_described(event: str, body: Optional[Dict[str, object]] = None) -> None:
            is_stop = event == "stopped" and body is not None and body["reason"] == "stopped"
            if body is not None and is_stop and goes_back and not _is_watching():
                body["reason"], body["description"] = _NO_HISTORY
            send(event, body)

        return send_described

    for name in ("send_event", "send_event_maybe_later"):
        if hasattr(events, name):
            setattr(events, name, described(getattr(events, name)))
    return note


def _is_watching() -> bool:
    kinds = gdb.BP_HARDWARE_WATCHPOINT, gdb.BP_READ_WATCHPOINT, gdb.BP_ACCESS_WATCHPOINT
    return any(point.type in kinds and point.enabled for point in gdb.breakpoints())


def _offer(server: Any, events: Any, moves: Any, note: Callable[[bool], None]) -> None:
    if _CAPABILITY in server._capabilities:
        return  # this GDB goes back by itself
    choose_threads, execute = moves._handle_thread_step, events.exec_and_expect_stop
    failures = gdb.error, getattr(server, "DAPException", gdb.error)
    # GDB 14 wants to know beforehand why the program will stop.
    kind = (events.StopKinds.STEP,) if hasattr(events, "StopKinds") else ()

    def run(command: str, thread: int, is_single: bool) -> None:
        note(True)
        try:
            choose_threads(thread, is_single)
            execute(command, *kind)
        except failures as error:
            # The response has gone already, and the client believes that the program runs.
            stopped = {"reason": "step", "description": str(error), "threadId": thread, "allThreadsStopped": True}
            server.send_event("output", {"category": "stderr", "output": "%s\n" % error})
            server.send_event("stopped", stopped)
        finally:
            note(False)

    def step_back(*, threadId: int, singleThread: bool = False, granularity: str = "statement", **rest: object) -> None:
        run("reverse-stepi" if granularity == "instruction" else "reverse-next", threadId, singleThread)

    def reverse_continue(*, threadId: int, singleThread: bool = False, **rest: object) -> None:
        run("reverse-continue", threadId, singleThread)

    server.request("stepBack", response=False)(step_back)
    server.request("reverseContinue", response=False)(reverse_continue)
    server.capability(_CAPABILITY)(step_back)
    if hasattr(server._server, "config"):
        # The client has asked already what GDB can do.
        server.send_event("capabilities", {"capabilities": {_CAPABILITY: True}})
