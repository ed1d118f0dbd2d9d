"""The border to Dask: a cluster, and few tasks at a time.

Dask's processes unpickle what they receive, so only the user's own may speak to them.  The processes of this computer
listen on its loopback interface and speak TLS; each side shows a certificate that is made for this one cluster, is
never stored, and is passed on by the pipes to the processes.  Another account has none, so it cannot join.
"""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Protocol, Tuple, Union

from gdb_etm.errors import CommandError
from gdb_etm.farm.libraries import library

# Tasks that are known to the scheduler, for each of its workers' threads.
_AHEAD = 2
# Seconds to wait for a scheduler, and for its first worker.
_WAIT = 30
_LOOPBACK = "127.0.0.1"
_SAFE_PATH = "PYTHONSAFEPATH"


class DaskTask(Protocol):
    """A task of Dask, which is forgotten when nobody holds it."""

    key: str
    status: str

    def result(self) -> Any:
        """Give what the task returned, or raise what it raised."""


class DaskClient(Protocol):
    """What is used of Dask's client."""

    def submit(self, function: Callable[..., Any], *arguments: Any, pure: bool) -> DaskTask:
        """Begin a task."""

    def nthreads(self) -> Dict[str, int]:
        """Count the threads of each worker."""

    def wait_for_workers(self, n_workers: int, timeout: float) -> None:
        """Wait until there are so many."""


class EndedTask(NamedTuple):
    """A task that has ended."""

    arguments: Tuple[Any, ...]
    result: Any


class LostTask(NamedTuple):
    """A task whose worker died each time that it was begun."""

    arguments: Tuple[Any, ...]


@contextmanager
def cluster(address: Optional[str], workers: Optional[int] = None) -> Iterator[DaskClient]:
    """Connect to a scheduler.

    :param address: The user's own; None starts processes on this computer.
    :param workers: How many processes; None: one for each processor.
    :raises CommandError: It does not answer, or has no workers.
    """
    distributed = library("distributed")
    with ExitStack() as stack:
        if address is None:
            where: Any = stack.enter_context(_local(distributed, workers or processors()))
        else:
            where = address
        try:
            client: Any = stack.enter_context(distributed.Client(where, timeout=_WAIT, set_as_default=False))
            client.wait_for_workers(1, timeout=_WAIT)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            words = " ".join(str(error).split())
            raise CommandError("no use of the scheduler %s: %s" % (address or "of this computer", words)) from error
        yield client


def local_security() -> Any:
    """Make certificates for one cluster.

    :raises CommandError: A library is missing.
    """
    library("cryptography")
    return library("distributed").Security.temporary()


@contextmanager
def _local(distributed: Any, workers: int) -> Iterator[Any]:
    # Of a worker that dies its nanny starts another; that it died is seen by what comes of its tasks.
    security = local_security()
    with tempfile.TemporaryDirectory(prefix="gdb-etm-") as scratch, _safe_path():
        with distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=_LOOPBACK,
            protocol="tls",
            security=security,
            dashboard_address=None,
            worker_dashboard_address=None,
            local_directory=scratch,
            silence_logs=logging.CRITICAL,
        ) as made:
            yield made


@contextmanager
def _safe_path() -> Iterator[None]:
    # Workers import their first modules before they are told the search path, which begins with the working directory
    # unless the environment forbids it (Python 3.11; ignored before).
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def processors() -> int:
    """Count the usable processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    client: DaskClient, function: Callable[..., Any], tasks: Iterator[Tuple[Any, ...]]
) -> Iterator[Union[EndedTask, LostTask]]:
    """Run tasks; the scheduler knows few of them at a time.

    :param function: A function of a module that the workers have, too.
    :param tasks: Its arguments.
    :returns: What becomes of each, in the order in which they end.
    """
    distributed = library("distributed")
    waiting: Any = distributed.as_completed(loop=getattr(client, "loop", None))
    known: Dict[str, Tuple[Any, ...]] = {}

    def begin() -> None:
        most = max(sum(client.nthreads().values()), 1) * _AHEAD
        while len(known) < most:
            arguments = next(tasks, None)
            if arguments is None:
                return
            future = client.submit(function, *arguments, pure=False)
            known[future.key] = arguments
            waiting.add(future)

    begin()
    while known:
        future: DaskTask = next(waiting)
        arguments = known.pop(future.key)
        try:
            result = future.result()
        except distributed.KilledWorker:
            yield LostTask(arguments)
        else:
            yield EndedTask(arguments, result)
        del future
        begin()
