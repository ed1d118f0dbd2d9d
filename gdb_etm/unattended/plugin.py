"""pytest plug-in: the fixture ``etm_session``.

It connects as a script says, and gives what runs and checks::

    @pytest.mark.etm("receiver.toml")
    def test_receiver(etm_session):
        run = etm_session.run(to="report", seconds=10)
        etm_session.check(calls_of="dispatch", at_most=4)

The script needs no ``[run]`` and no ``[[check]]``; those that it has are made by ``etm_session.run_all()``.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, List, Optional

import pytest

_OPTION = "--etm-output"
_INI = "etm_script"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where reports go, and the script of tests that name none."""
    about = "folder for report and snapshot of each run in a test that fails"
    parser.getgroup("gdb_etm").addoption(_OPTION, metavar="DIR", help=about)
    parser.addini(_INI, "gdb_etm: script (TOML) of tests that use etm_session and have no mark etm")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", 'etm("SCRIPT.toml"): what the fixture etm_session connects to and traces')


class UnattendedSession:
    """A connection for one test, with the checks of scripts.

    :param script: What to connect to, and how to trace.
    :param session: The connection.
    """

    def __init__(self, script: Any, session: Any) -> None:
        self._script = script
        self._observed: List[Any] = []
        # The :class:`gdb_etm.Session`.
        self.session = session

    def run(
        self,
        to: str = "",
        seconds: Optional[float] = None,
        reset: bool = True,
        record: bool = False,
        sample: Optional[int] = None,
    ) -> Any:
        """Run the core once, traced.

        :param to: A place; empty for none.
        :param seconds: At most so long; None: without end.
        :param reset: Whether the chip is reset before.
        :param record: Whether more than the buffer holds is recorded.
        :param sample: In samples of so many cycles.
        :returns: The run's history, a :class:`gdb_etm.History`; its ``measures`` has calls and latencies.
        :raises AssertionError: It did not end at that place.
        """
        from gdb_etm.unattended.runs import run_once

        plan = self._script.plan._replace(
            to=to, seconds=seconds, reset=reset, record=record or sample is not None, sample=sample
        )
        number = len(self._observed) + 1
        done, observed = run_once(self.session, self._script._replace(plan=plan), number)
        if done.error or observed is None:
            raise AssertionError(done.error)
        self._observed.append((done, observed))
        return observed.history

    def run_all(self) -> None:
        """Run as often as the script says, and check it all.

        :raises AssertionError: One of them did not pass.
        """
        plan = self._script.plan
        for _ in range(plan.times):
            self.run(plan.to, plan.seconds, plan.reset, plan.record, plan.sample)
        self._decide(self._script.checks)

    def check(self, **keys: Any) -> Any:
        """Check all runs so far, with the keys of a script's check.

        :param keys: Such as ``calls_of="dispatch", at_most=4``.
        :returns: The result, with its figures.
        :raises AssertionError: It did not pass, or what was not seen may decide it.
        :raises ScriptError: The keys make no check, or nothing has run yet.
        """
        from gdb_etm.profiles.tables import TableReader
        from gdb_etm.unattended.checks import check_of
        from gdb_etm.unattended.figures import ScriptError

        table = {
            key.replace("_", "-"): list(value) if isinstance(value, tuple) else value for key, value in keys.items()
        }
        reader = TableReader("check", table, ScriptError)
        request = check_of(reader)
        reader.end()
        if not self._observed:
            raise ScriptError("check: nothing has run yet; etm_session.run() comes before")
        return self._decide([request])[0]

    def _decide(self, requests: Any) -> List[Any]:
        from gdb_etm.unattended.checks import RunningCheck
        from gdb_etm.unattended.figures import CheckOutcome
        from gdb_etm.unattended.text import figure_text

        found: List[Any] = []
        wrong: List[str] = []
        missing = ["run %d: %s" % (done.number, one) for done, _ in self._observed for one in done.missing]
        inexact = list(dict.fromkeys(one for done, _ in self._observed for one in done.inexact))
        for request in requests:
            check = RunningCheck(request)
            for _, observed in self._observed:
                check.take(observed)
            result = check.result(missing, inexact, self._script.plan.accepts)
            found.append(result)
            if result.outcome is not CheckOutcome.PASSED:
                wrong.append("%s: %s: %s" % (result.outcome.value, result.name, result.text))
                wrong += [figure_text(figure) for figure in result.figures if figure.samples]
                wrong += result.basis
        if wrong:
            raise AssertionError("\n".join(wrong))
        return found


@pytest.fixture
def etm_session(request: pytest.FixtureRequest) -> Iterator[UnattendedSession]:
    """Connect as the test's script says; restore the target afterwards."""
    from gdb_etm.api.connection import connect
    from gdb_etm.unattended.runs import prepare, write_run
    from gdb_etm.unattended.script import read_script

    mark = request.node.get_closest_marker("etm")
    name = str(mark.args[0]) if mark is not None and mark.args else str(request.config.getini(_INI) or "")
    if not name:
        pytest.fail('no script: @pytest.mark.etm("SCRIPT.toml"), or %s in the configuration' % _INI, pytrace=False)
    base = os.path.dirname(str(request.node.path)) if mark is not None else str(request.config.rootpath)
    script = read_script(os.path.join(base, name), needs_checks=False)
    with connect(**script.target.arguments) as session:
        session.halt()
        prepare(session, script)
        yield UnattendedSession(script, session)
        output: Optional[str] = request.config.getoption(_OPTION)
        reports: Dict[str, Any] = getattr(request.node, "_etm_reports", {})
        if output is not None and "call" in reports and reports["call"].failed and session.captures:
            folder = os.path.join(output, re.sub(r"[^\w.-]+", "_", request.node.name))
            written, notes = write_run(session, folder)
            request.node.add_report_section("teardown", "gdb_etm", "\n".join([*written, *notes]))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Keep a test's reports for the fixture."""
    outcome: Any = yield
    report = outcome.get_result()
    item.__dict__.setdefault("_etm_reports", {})[report.when] = report
