"""Real Dask: who may speak to it, and how much it holds."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator, List, Set, Tuple

import pytest

from gdb_etm.errors import CommandError
from gdb_etm.farm.cluster import EndedTask, cluster, run_all
from gdb_etm.farm.libraries import library
from gdb_etm.farm.work import Assignment, identify
from tests.farm.made import ELF, analyse
from tests.terminal import children

distributed = pytest.importorskip("distributed")
for _needed in ("cryptography", "pyarrow"):
    pytest.importorskip(_needed)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Start one worker."""
    with cluster(None, 1) as found:
        yield found


def listening(pids: List[int]) -> Set[Tuple[str, int]]:
    """Find the addresses at which processes listen, as the kernel says (proc(5))."""
    sockets = set()
    for pid in pids:
        for entry in os.listdir("/proc/%d/fd" % pid):
            try:
                sockets.add(os.readlink("/proc/%d/fd/%s" % (pid, entry)))
            except OSError:
                pass  # closed meanwhile
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net/%s" % table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and "socket:[%s]" % words[9] in sockets:
                address, port = words[1].split(":")
                found.add((address, int(port, 16)))
    return found


def test_nobody_else_can_join(client: Any) -> None:
    ports = listening([os.getpid(), *children(os.getpid())])
    # The scheduler, the nanny and the worker.
    assert len(ports) >= 3
    assert {address for address, _ in ports} == {"0100007F"}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    stranger = distributed.Security.temporary().get_connection_args("worker")["ssl_context"]
    # In the clear, without a certificate, with another cluster's; all at once, since each waits for nothing to come.
    tries = [(port, one) for _, port in ports for one in (None, context, stranger)]
    with ThreadPoolExecutor(len(tries)) as pool:
        assert not any(pool.map(lambda one: answers(*one), tries))


def answers(port: int, context: Any) -> bool:
    """Whether a connection gets so far that a message of Dask comes."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=3) as plain:
            with plain if context is None else context.wrap_socket(plain) as talk:
                # A server of Dask begins with its handshake.
                return bool(talk.recv(16))
    except (OSError, ssl.SSLError):
        return False


def test_the_owner_is_answered(client: Any) -> None:
    # The counterpart of the test above: it fails where nobody is answered.
    address = client.scheduler.address
    port = int(address.rpartition(":")[2])
    assert address.startswith("tls://127.0.0.1:")
    assert answers(port, client.security.get_connection_args("client")["ssl_context"])


def test_no_key_is_in_sight(client: Any) -> None:
    for pid in children(os.getpid()):
        for name in ("cmdline", "environ"):
            assert b"PRIVATE KEY" not in Path("/proc/%d/%s" % (pid, name)).read_bytes()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 there is no safe path")
def test_workers_import_nothing_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "multiprocessing.py").write_text("open('imported', 'w')\nraise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    with cluster(None, 1) as found:
        assert found.submit(abs, -1, pure=False).result() == 1
    assert not (tmp_path / "imported").exists()


def test_the_scheduler_holds_few_tasks(client: Any) -> None:
    def tasks(dask_scheduler: Any = None) -> int:
        return len(dask_scheduler.tasks)

    most, ended = 0, []
    for one in run_all(client, abs, ((-number,) for number in range(200))):
        assert isinstance(one, EndedTask)
        ended.append((one.arguments[0], one.result))
        most = max(most, client.run_on_scheduler(tasks)) if len(ended) % 10 == 0 else most
    assert sorted(ended) == [(-number, number) for number in range(199, -1, -1)]
    # Two for the worker's one thread, and those whose end the scheduler has not heard of yet.
    assert 0 < most <= 6


def test_another_version_on_a_worker_is_refused(client: Any) -> None:
    other = Assignment("nowhere", (str(ELF),), "", "0.0.1")
    with pytest.raises(CommandError, match="has gdb_etm 0.1.0 .* the analysis began with 0.0.1; install the same"):
        list(run_all(client, identify, iter([(other, ("a",))])))


def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdb_etm.farm.cluster._WAIT", 1)
    with pytest.raises(CommandError, match="no use of the scheduler tcp://127.0.0.1:1: "):
        with cluster("tcp://127.0.0.1:1"):
            pass


def test_a_missing_library_is_one_line() -> None:
    with pytest.raises(CommandError, match=r'nowhere_etm is missing: pip install "gdb_etm\[farm\]"'):
        library("nowhere_etm")


@pytest.mark.parametrize(
    "words, message",
    [
        (["nowhere", "--elf", str(ELF), "--out", "out"], "no file or folder nowhere"),
        ([".", "--elf", str(ELF), "--out", "out"], ". holds no snapshot: no folder with a file snapshot.ini"),
        ([".", "--out", "out"], "--elf is missing: the program says what the functions and the lines are"),
        ([".", "--elf", "none.elf", "--out", "out"], "--elf: no file "),
        ([".", "--elf", str(ELF), "--out", "o", "--dask", "x", "--workers", "2"], "--workers: a scheduler of your own"),
    ],
)
def test_wrong_words(words: List[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = analyse(*words)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("gdb-etm: " + message)
