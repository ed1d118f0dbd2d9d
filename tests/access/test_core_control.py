"""Real pyOCD in the real process, controlled by a client without GDB."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Iterator

import pytest

from gdb_etm.access.client import Client, attach, start
from gdb_etm.access.process import server_arguments
from gdb_etm.errors import AccessError, EtmError
from tests.access.processes import FOREVER_TICK, PATIENCE, ByHand, start_board, wait_until

# Address of the loop in :func:`write_forever`'s program: adds r3, #1; b back.
LOOP = 0x4C
HARDWARE_BREAKPOINTS = 8


@pytest.fixture
def client(forever: Path) -> Iterator[Client]:
    """A client of a process of its own."""
    started = start_board(forever)
    yield started
    started.close()


def _pc(client: Client) -> int:
    return client.registers()["pc"]


def test_halt_and_run(client: Client) -> None:
    with pytest.raises(EtmError, match="the core runs; halt it first"):
        client.registers()
    assert not client.wait_for_halt(0)
    client.halt()
    assert client.wait_for_halt(PATIENCE) and client.is_halted
    first = client.registers()
    assert set(first) >= {"r0", "r12", "sp", "lr", "pc", "xpsr"} and first["r0"] == 0xE000E010
    assert client.registers() == first
    client.run()
    client.run()
    client.halt()
    assert client.wait_for_halt(PATIENCE) and client.registers()["r3"] > first["r3"]


def test_a_breakpoint_is_reached_again_and_again_until_it_is_cleared(client: Client) -> None:
    client.set_breakpoint(FOREVER_TICK | 1)
    client.set_breakpoint(FOREVER_TICK)
    ticks = []
    for _ in range(3):
        assert client.wait_for_halt(PATIENCE) and _pc(client) == FOREVER_TICK
        ticks.append(client.registers()["r4"])
        client.run()
    assert client.wait_for_halt(PATIENCE)
    assert ticks == sorted(set(ticks))
    client.clear_breakpoint(FOREVER_TICK)
    client.clear_breakpoint(FOREVER_TICK)
    client.run()
    assert not client.wait_for_halt(0.2)


def test_a_reset_halts_at_the_first_instruction_and_keeps_breakpoints(client: Client) -> None:
    client.set_breakpoint(LOOP)
    client.reset()
    assert client.wait_for_halt(PATIENCE) and _pc(client) == 0x40
    client.run()
    assert client.wait_for_halt(PATIENCE) and _pc(client) == LOOP and client.registers()["r3"] == 0


def test_breakpoints_run_out_with_a_clear_line(client: Client) -> None:
    client.halt()
    assert client.wait_for_halt(PATIENCE)
    with pytest.raises(EtmError, match="no hardware breakpoint is left for 0x00000[0-9a-f]{3}; set so far: ") as caught:
        for number in range(HARDWARE_BREAKPOINTS + 1):
            client.set_breakpoint(0x100 + 2 * number)
    assert not isinstance(caught.value, AccessError)
    client.set_breakpoint(0x100)
    client.run()
    assert not client.is_halted


def test_access_ports_alone_run_nothing(forever: Path) -> None:
    options = server_arguments(probe="board:m33", options=("board.elf=%s" % forever,), dap_only=True)
    client = start(sys.executable, options)
    for refused in (client.run, client.halt, client.reset, client.registers, client.wait_for_halt):
        with pytest.raises(AccessError, match="no core was opened, only access ports"):
            refused()
    client.close()


@pytest.mark.parametrize("goodbye", [True, False])
def test_what_a_client_halted_runs_on_without_its_breakpoints(by_hand: ByHand, goodbye: bool) -> None:
    watcher, leaving = attach("localhost", by_hand.control_port), attach("localhost", by_hand.control_port)
    leaving.set_breakpoint(FOREVER_TICK)
    leaving.halt()
    assert leaving.wait_for_halt(PATIENCE)
    leaving.run()
    assert leaving.wait_for_halt(PATIENCE) and watcher.is_halted
    if goodbye:
        leaving.close()
    else:
        del leaving  # its socket closes with it
    assert wait_until(lambda: not watcher.is_halted)
    assert not watcher.wait_for_halt(0.2)
    watcher.close()


def _say(gdb: socket.socket, packet: str) -> bytes:
    gdb.sendall(("$%s#%02x" % (packet, sum(packet.encode()) & 0xFF)).encode())
    answer = b""
    while b"#" not in answer:
        answer += gdb.recv(4096)
    gdb.sendall(b"+")
    return answer


def test_a_core_that_gdb_has_is_left_to_gdb(by_hand: ByHand) -> None:
    client = attach("localhost", by_hand.control_port)
    with socket.create_connection(("localhost", by_hand.gdb_port), PATIENCE) as gdb:
        gdb.settimeout(PATIENCE)
        assert b"PacketSize" in _say(gdb, "qSupported:swbreak+;hwbreak+")
        assert b"T05" in _say(gdb, "?") or client.is_halted
        with pytest.raises(EtmError, match="cannot run the core: GDB is attached to it; do so in GDB"):
            client.run()
        with pytest.raises(EtmError, match="cannot set a breakpoint on the core: GDB is attached"):
            client.set_breakpoint(FOREVER_TICK)
        assert _pc(client) >= 0x40
    client.close()
