"""A script's result as a JSON document."""

from __future__ import annotations

from typing import Any, Dict, Optional

from gdb_etm.unattended.figures import CheckResult, Figure, Sample
from gdb_etm.unattended.runs import RunRecord, ScriptResult
from gdb_etm.views.schema import document


def result_document(result: ScriptResult) -> Dict[str, Any]:
    """Make the document."""
    return document(
        "run",
        {
            "script": result.script.path,
            "title": result.script.title,
            "target": result.target,
            "outcome": result.outcome.value,
            "error": result.error or None,
            "seconds": round(result.seconds, 3),
            "runs": [run_object(run) for run in result.runs],
            "checks": [_check(check) for check in result.checks],
            "written": list(result.written),
            "notes": list(result.notes),
        },
    )


def run_object(run: RunRecord) -> Dict[str, Any]:
    """Make the object of one run."""
    return {
        "run": run.number,
        "instructions": run.instructions,
        "ended": run.ended,
        "line": run.line or None,
        "error": run.error or None,
        "missing": list(run.missing),
        "inexact": list(run.inexact),
        "seconds": round(run.seconds, 3),
    }


def _check(check: CheckResult) -> Dict[str, Any]:
    return {
        "name": check.name,
        "check": check.kind,
        "outcome": check.outcome.value,
        "text": check.text,
        "figures": [_figure(figure) for figure in check.figures],
        "basis": list(check.basis),
    }


def _figure(figure: Figure) -> Dict[str, Any]:
    return {
        "what": figure.what,
        "unit": figure.unit,
        "count": len(figure.samples),
        "minimum": _sample(figure.minimum),
        "median": _sample(figure.median),
        "maximum": _sample(figure.maximum),
    }


def _sample(sample: Optional[Sample]) -> Optional[Dict[str, Any]]:
    if sample is None:
        return None
    return {"value": sample.value, "run": sample.run, "number": sample.number or None, "line": sample.line or None}
