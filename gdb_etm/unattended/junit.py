"""A script's result as JUnit's XML, as test servers read it.

Each check is a test case; so is each run that did not end where it should, and what kept the script from its end.  A
check that is uncertain is an error, not a failure.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple
from xml.etree import ElementTree

from gdb_etm.unattended.figures import CheckOutcome, CheckResult
from gdb_etm.unattended.runs import ScriptResult
from gdb_etm.unattended.text import figure_text, run_line

# What XML 1.0 has no character for (2.2).
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(result: ScriptResult) -> str:
    """Write the whole file."""
    suite = ElementTree.Element("testsuite", name=_clean(result.script.title), time="%.3f" % result.seconds)
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(result):
        ElementTree.SubElement(properties, "property", name=name, value=_clean(value))
    for check in result.checks:
        _case(suite, result, check)
    failures = sum(check.outcome is CheckOutcome.FAILED for check in result.checks)
    errors = sum(check.outcome is CheckOutcome.UNCERTAIN for check in result.checks)
    for name, words in _ends(result):
        case = ElementTree.SubElement(suite, "testcase", classname=_clean(result.script.title), name=name, time="0")
        ElementTree.SubElement(case, "error", message=_clean(words), type="run").text = _clean(words)
        errors += 1
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    suite.set("skipped", "0")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _properties(result: ScriptResult) -> Iterator[Tuple[str, str]]:
    yield "target", result.target
    for run in result.runs:
        yield "run-%d" % run.number, run_line(run)
        for words in (*run.missing, *run.inexact):
            yield "run-%d-basis" % run.number, words


def _case(suite: ElementTree.Element, result: ScriptResult, check: CheckResult) -> None:
    title = _clean(result.script.title)
    case = ElementTree.SubElement(suite, "testcase", classname=title, name=_clean(check.name), time="0")
    if check.outcome is not CheckOutcome.PASSED:
        name = "failure" if check.outcome is CheckOutcome.FAILED else "error"
        words = check.text if name == "failure" else "uncertain: " + check.text
        found = ElementTree.SubElement(case, name, message=_clean(words), type=check.kind)
        found.text = _clean("\n".join([words, *check.basis]))
    lines: List[str] = [check.text, *(figure_text(one) for one in check.figures if one.samples), *check.basis]
    ElementTree.SubElement(case, "system-out").text = _clean("\n".join(lines))


def _ends(result: ScriptResult) -> Iterator[Tuple[str, str]]:
    for run in result.runs:
        if run.error:
            yield "run %d" % run.number, run.error
    if result.error:
        yield "script", result.error


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
