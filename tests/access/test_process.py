"""Real pyOCD in the real process, seen by its client."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import venv
from itertools import takewhile
from pathlib import Path
from typing import Iterator, List

import pytest

from gdb_etm.access.client import Client, attach, start
from gdb_etm.access.port import AccessPort
from gdb_etm.access.process import SERVER, ServerProcess, server_arguments
from gdb_etm.access.wire import MAX_LINE, MAX_WORDS, NO_CORE, Message
from gdb_etm.errors import AccessError, ConnectError
from tests.access.processes import (
    CPUID,
    PATIENCE,
    ROOT,
    SPARE,
    ByHand,
    is_running,
    listening_ports,
    listening_sockets,
    run_server,
    serve_by_hand,
    start_board,
    wait_until,
)

LOCALHOST = "0100007F"


@pytest.fixture
def client(forever: Path) -> Iterator[Client]:
    """A client of a process of its own."""
    started = start_board(forever)
    yield started
    started.close()


@pytest.fixture
def by_hand() -> Iterator[ByHand]:
    """A process started by hand."""
    served = serve_by_hand()
    yield served
    served.process.kill()
    served.process.communicate()


def _pid(client: Client) -> int:
    assert client.process_id is not None
    return client.process_id


def test_the_hello_names_everything(client: Client) -> None:
    hello = client.hello
    assert hello.probe_uid == "board:m33" and "m33" in hello.probe
    assert hello.target == "cortex_m"
    (core,) = hello.cores
    assert core.name.startswith("Cortex-M33 r") and core.cpuid == client.port().read32(CPUID)
    assert os.path.isabs(hello.gdb_server) and hello.core == core.number == 0
    (ap,) = hello.aps
    assert ap.id == core.ap and ap.name.endswith("AP 0") and ap.rom == 0xE00FF000 and ap.has_rom
    assert client.port(ap.id).name == client.port().name == ap.name


def test_attaching_halts_nothing(client: Client) -> None:
    assert client.hello.running
    assert client.states() in (["running"], ["sleeping"])


def test_registers_through_the_process(client: Client) -> None:
    port: AccessPort = client.port()
    words = [0x9E3779B9 * i & 0xFFFFFFFF for i in range(40)]
    for i, word in enumerate(words):
        port.write32(SPARE + 4 * i, word)
    assert port.read_block(SPARE, 40) == words
    assert port.read32(SPARE + 4) == words[1]
    assert port.read_fifo(SPARE + 8, 3 * MAX_WORDS + 1) == [words[2]] * (3 * MAX_WORDS + 1)
    assert len(port.read_block(0x20000000, 2 * MAX_WORDS + 1)) == 2 * MAX_WORDS + 1


def test_a_fault_comes_back_with_kind_and_address(client: Client) -> None:
    with pytest.raises(AccessError, match="cannot read 0x60000000: the bus answered with a fault") as caught:
        client.port().read32(0x60000000)
    assert (caught.value.kind, caught.value.address) == ("fault", 0x60000000)
    assert client.port().read32(CPUID) == client.hello.cores[0].cpuid


def test_an_access_port_that_is_not_there(client: Client) -> None:
    with pytest.raises(AccessError, match="no memory access port 3; there are: .*AP 0"):
        client.port(3)


def test_it_listens_for_gdb_in_a_folder_of_the_users_and_nowhere_else(client: Client) -> None:
    assert listening_ports(_pid(client)) == {}
    assert listening_sockets(_pid(client)) == [client.hello.gdb_server]
    folder = Path(client.hello.gdb_server).parent
    assert folder.stat().st_mode & 0o7777 == 0o700 and folder.stat().st_uid == os.geteuid()
    client.close()
    assert not folder.exists()


def test_access_ports_alone_serve_no_gdb(forever: Path) -> None:
    options = server_arguments(probe="board:m33", options=("board.elf=%s" % forever,), dap_only=True)
    client = start(sys.executable, options)
    hello = client.hello
    assert (hello.core, hello.cores, hello.gdb_server, client.states()) == (NO_CORE, (), "", [])
    assert listening_ports(_pid(client)) == {}
    with pytest.raises(AccessError, match="no core was opened, only access ports"):
        client.port()
    assert client.port(hello.aps[0].id).read32(CPUID) & 0xFFF0 == 0xD210
    client.close()


@pytest.mark.parametrize("more", [["--core=0"], ["--gdb-port=3333"], ["--connect-mode=halt"]])
def test_access_ports_alone_go_without_what_is_for_cores(more: List[str]) -> None:
    command = [sys.executable, "-m", "gdb_etm.access.server", "--probe=board:m33", "--dap-only", *more]
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and "--dap-only leaves the core alone: it goes without --core" in done.stderr


def test_an_unplugged_probe_is_lost_and_told_of_once(forever: Path) -> None:
    served = serve_by_hand("-O", "board.elf=%s" % forever, "-O", "board.faults=unplug-after:6000")
    client = attach("localhost", served.control_port)
    with pytest.raises(AccessError, match="is it unplugged") as caught:
        client.port().read_fifo(SPARE, 20000)
    assert caught.value.kind == "lost"
    assert served.process.stderr is not None
    # pyOCD's threads fail a hundred times a second from now on.
    said = list(takewhile(lambda line: "the debug probe is lost: board:m33" not in line, served.process.stderr))
    for each in (client, attach("localhost", served.control_port)):
        with pytest.raises(AccessError, match="probe (is lost: .* not connected|no longer answers)") as caught:
            each.port().read32(CPUID)
        assert caught.value.kind == "lost"
        each.close()
    served.process.send_signal(signal.SIGINT)
    assert served.process.communicate(timeout=PATIENCE) == ("", "")
    assert served.process.returncode == 0 and len(said) < 20


def test_close_ends_the_process(client: Client) -> None:
    pid = _pid(client)
    client.close()
    assert not is_running(pid) and not client.alive
    with pytest.raises(AccessError, match="try etm connect") as caught:
        client.port().read32(CPUID)
    assert caught.value.kind == "lost"
    client.close()


def test_a_process_that_dies_is_lost_with_its_last_words(forever: Path) -> None:
    client = start_board(forever, "user_script=/nowhere/x.py")
    os.kill(_pid(client), signal.SIGKILL)
    with pytest.raises(AccessError, match="the process beside GDB ended: .*user script '/nowhere/x.py'") as caught:
        client.port().read32(CPUID)
    assert caught.value.kind == "lost"
    client.close()


def test_the_end_of_its_client_ends_the_process() -> None:
    """After its client was killed, only the end of stdin remains."""
    program = (
        "import os, sys; from tests.access.processes import DEMO, start_board; client = start_board(DEMO); "
        "print(client.process_id, flush=True); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    pid = int(killed.stdout)
    assert wait_until(lambda: not is_running(pid))


def test_ctrl_c_at_the_terminal_is_not_for_the_process(client: Client) -> None:
    os.kill(_pid(client), signal.SIGINT)
    assert client.port().read32(CPUID) == client.hello.cores[0].cpuid
    assert os.getsid(_pid(client)) != os.getsid(0)


def test_ctrl_c_in_a_long_drain_returns_at_once_and_the_next_access_is_right(client: Client) -> None:
    port = client.port()
    port.write32(SPARE, 0x600DF00D)
    for seconds in (0.05, 0.11, 0.2, 0.31):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                port.read_fifo(CPUID, 100000)
        timer.join()
        assert port.read32(SPARE) == 0x600DF00D


BAD_REQUESTS = [
    (b"words", "no request"),
    (b"[]", "not a JSON object"),
    (b"\xff\xfe", "no request"),
    (b"{}", "no operation None"),
    (b'{"op": "format"}', "no operation 'format'; there are hello, read32"),
    (b'{"op": {"a": 1}}', "no operation"),
    (b'{"op": "read32"}', '"ap" must be'),
    (b'{"op": "read32", "ap": 0, "address": -4}', '"address" must be'),
    (b'{"op": "read32", "ap": true, "address": 4}', '"ap" must be'),
    (b'{"op": "read32", "ap": 0, "address": 2}', "no address of a word"),
    (b'{"op": "read32", "ap": 9, "address": 4}', "no memory access port 9"),
    (b'{"op": "write32", "ap": 0, "address": 4, "value": 4294967296}', '"value" must be'),
    (b'{"op": "read_fifo", "ap": 0, "address": 4, "words": 1000000000}', '"words" must be'),
    (b'{"op": "at_end", "steps": [[0, 4]]}', "must be [ap, address, value, mask]"),
    (b'{"op": "at_end", "steps": 5}', "must be a list"),
    (b"[" * 100000, "nested too deep"),
]


def test_a_bad_request_gets_one_clear_answer_and_the_next_is_served() -> None:
    good = b'{"id": 5, "op": "read32", "ap": 0, "address": %d}\n' % CPUID
    hello, *replies = run_server(b"".join(bad + b"\n" + good for bad, _ in BAD_REQUESTS), "--probe=board:m33")
    assert "hello" in hello and len(replies) == 2 * len(BAD_REQUESTS)
    for (bad, why), reply, next_reply in zip(BAD_REQUESTS, replies[::2], replies[1::2]):
        assert why in reply["error"]["message"], bad
        assert next_reply == {"id": 5, "value": hello["hello"]["cores"][0]["cpuid"]}


def test_a_line_too_long_is_refused_and_ends_it() -> None:
    hello, reply = run_server(b"x" * (MAX_LINE + 100) + b"\n{}\n", "--probe=board:m33")
    assert "hello" in hello and reply["error"]["message"] == "no request: line too long"


def test_two_clients_by_hand_share_the_target(by_hand: ByHand) -> None:
    first, second = attach("localhost", by_hand.control_port), attach("127.0.0.1", by_hand.control_port)
    assert first.hello == second.hello and first.hello.gdb_server == "localhost:%d" % by_hand.gdb_port
    first.port().write32(SPARE, 1)
    assert second.port().read32(SPARE) == 1
    first.close()
    assert second.port().read32(SPARE) == 1
    second.close()
    again = attach("localhost", by_hand.control_port)
    assert again.port().read32(SPARE) == 1
    again.close()


def test_what_a_client_leaves_to_be_done_is_done_when_it_goes(by_hand: ByHand) -> None:
    watcher = attach("localhost", by_hand.control_port)
    for goodbye in (True, False):
        leaving = attach("localhost", by_hand.control_port)
        port = leaving.port()
        port.write32(SPARE, 0)
        # The second is nowhere; the others must be done all the same, and in order.
        ap = port.ap
        leaving.at_end([(ap, SPARE, 1, 0), (ap, 0x60000000, 1, 0), (ap, SPARE, 1, 0xFF), (ap, SPARE, 2, 0)])
        assert watcher.port().read32(SPARE) == 0
        if goodbye:
            leaving.close()
        else:
            del leaving, port  # its socket closes with it
        assert wait_until(lambda: watcher.port().read32(SPARE) == 2)
    # Lent RAM, of 64 KiB and of a few words; two blocks in a row, and a register.
    lent = attach("localhost", by_hand.control_port)
    wanted = [n * 0x10203 & 0xFFFFFFFF for n in range(1 << 14)]
    ap, port = lent.port().ap, watcher.port()
    steps = [(ap, SPARE + 4 * n, value, 0) for n, value in enumerate(wanted)]
    last = SPARE + 0x18000
    lent.at_end([*steps, (ap, last, 5, 0), (ap, last + 4, 6, 0), (ap, last + 8, 7, 0)])
    lent.close()
    assert wait_until(lambda: port.read32(last + 8) == 7)
    assert port.read_block(SPARE, 1 << 14) == wanted and port.read_block(last, 2) == [5, 6]
    port.write32(SPARE, 2)
    cancelled = attach("localhost", by_hand.control_port)
    cancelled.at_end([(0, SPARE, 3, 0)])
    cancelled.at_end([])
    cancelled.close()
    assert watcher.port().read32(SPARE) == 2
    watcher.close()


def test_by_hand_it_listens_on_localhost_and_nowhere_else(by_hand: ByHand) -> None:
    assert listening_ports(by_hand.process.pid) == {by_hand.gdb_port: LOCALHOST, by_hand.control_port: LOCALHOST}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_by_hand_a_signal_ends_it(by_hand: ByHand, number: int) -> None:
    by_hand.process.send_signal(number)
    output, errors = by_hand.process.communicate(timeout=PATIENCE)
    assert (by_hand.process.returncode, output, errors) == (0, "", "")


def test_a_web_page_cannot_talk_to_the_control_port(by_hand: ByHand) -> None:
    """A page can make a browser post any text to localhost."""
    body = b'{"op": "hello"}\n{"id": 1, "op": "write32", "ap": 0, "address": %d, "value": 7}\n' % SPARE
    with socket.create_connection(("localhost", by_hand.control_port), PATIENCE) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        try:
            assert connection.recv(100) == b""
        except ConnectionResetError:
            pass
    client = attach("localhost", by_hand.control_port)
    assert client.port().read32(SPARE) == 0
    client.close()


def test_nothing_of_ours_to_attach_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        threading.Thread(target=lambda: other.accept()[0].sendall(b"220 mail\r\n"), daemon=True).start()
        with pytest.raises(ConnectError, match="localhost:%d is no gdb-etm serve" % port):
            attach("localhost", port, seconds=1.0)
    with pytest.raises(ConnectError, match="no gdb-etm serve at localhost:%d" % port):
        attach("localhost", port)
    with pytest.raises(ConnectError, match="192.0.2.1:3344 is another machine; .*ssh -L"):
        attach("192.0.2.1", 3344)


def test_a_control_port_that_is_taken(by_hand: ByHand) -> None:
    command = [sys.executable, "-m", "gdb_etm.access.server", "--probe=board:m33"]
    for option, why in (("--control-port", "takes a free port"), ("--gdb-port", "another --gdb-port")):
        finished = subprocess.run(
            [*command, "--control-port=0", "%s=%d" % (option, by_hand.control_port)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert finished.returncode == 1
        assert finished.stderr.startswith("gdb-etm serve: cannot ") and why in finished.stderr
        assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, why",
    [
        (server_arguments(probe="board:m1"), 'no debug probe "board:m1"; connected: .*board:m33'),
        (server_arguments(probe="cmsisdap:12345"), 'no debug probe "cmsisdap:12345"'),
        (server_arguments(probe="nonsense:1"), "unknown debug probe type"),
        (server_arguments(), "no debug probe is connected; .*board:m33"),
        (server_arguments(probe="board:m33", options=["board.faults=busy"]), "^board:m33 is in use by another program"),
        (server_arguments(probe="board:m33", target="stm32f4"), 'unknown target "stm32f4"; .*pyocd pack find'),
        (server_arguments(probe="board:m33", target="nrf53"), "did you mean nrf5"),
        (server_arguments(probe="board:m33", core=3), r"no core 3; cores: 0 \(Cortex-M33\)"),
        (server_arguments(probe="board:m33", options=["board.elf=/nowhere/x.elf"]), "/nowhere/x.elf"),
        (server_arguments(probe="board:m33", options=["board.faults=hang:20"]), "the target is not: "),
        (server_arguments(probe="board:m33", options=["noise=1"]), 'pyOCD takes no session option "noise=1"'),
        (
            server_arguments(probe="board:m33", options=["board.etb_size=x"]),
            'option "board.etb_size=x": the value is wrong',
        ),
        (server_arguments(probe="board:m33", options=["vector_catch=z"]), "pyOCD failed: "),
        (server_arguments(probe="board:m33", options=["pack=/x.pack"]), "pyOCD cannot begin: .*/x.pack"),
        (server_arguments(frequency="fast"), "invalid _frequency value: 'fast'"),
    ],
)
def test_what_cannot_be_opened_says_why_in_one_line(arguments: List[str], why: str) -> None:
    with pytest.raises(ConnectError, match=why) as caught:
        start(sys.executable, arguments)
    assert "\n" not in str(caught.value)


def test_an_interpreter_without_pyocd_says_what_to_install(tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False)
    python = str(tmp_path / "bin" / "python")
    with pytest.raises(ConnectError, match="cannot import pyocd; try: .*/bin/python -m pip install pyocd"):
        start(python, server_arguments(probe="board:m33"))
    with pytest.raises(ConnectError, match="cannot start .*/bin/nopython: No such file"):
        start(python.replace("bin/python", "bin/nopython"), [])


def test_a_python_that_is_too_old_for_pyocd_says_so() -> None:
    # Debian's, and pyenv's.
    found = [Path("/usr/bin/python3.8"), *Path(os.environ.get("PYENV_ROOT", "/")).glob("versions/3.8.*/bin/python3.8")]
    python = next((str(path) for path in found if path.exists()), None)
    if python is None:
        pytest.skip("no Python 3.8")
    why = r"needs Python 3\.9 or newer, and .*/python\S* is 3\.8\.\d+: install"
    with pytest.raises(ConnectError, match=why) as caught:
        start(python, server_arguments(probe="board:m33"))
    assert "\n" not in str(caught.value)


def test_the_working_directory_is_no_place_to_import_from(
    forever: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gdb_etm", "pyocd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported from the working directory')\n")
    for name in ("json.py", "importlib.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the working directory')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    client = start_board(forever)
    assert client.port().read32(CPUID) == client.hello.cores[0].cpuid
    client.close()


def test_waiting_for_the_hello_is_bounded_and_tells_that_it_waits(tmp_path: Path) -> None:
    """An interpreter that never answers stands for a silent probe."""
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\necho slow probe >&2\nexec sleep 60\n")
    sleeper.chmod(0o755)
    waited: List[float] = []
    with pytest.raises(ConnectError, match="did not open the target in . s: slow probe"):
        start(str(sleeper), [], seconds=1.5, progress=waited.append)
    assert waited


def test_an_interrupt_does_not_end_a_process_that_begins(forever: Path) -> None:
    """Signals from its first instruction to its first line."""
    arguments = server_arguments(probe="board:m33", options=["board.elf=%s" % forever])
    process = ServerProcess(sys.executable, arguments, SERVER)
    stream = process.stream()
    sent = 0
    message: Message = {}
    while not message:
        os.kill(process.popen.pid, signal.SIGINT)
        sent += 1
        try:
            message = stream.receive(0.01)
        except TimeoutError:
            continue
    stream.close()
    process.end(PATIENCE)
    assert "hello" in message and sent > 1
