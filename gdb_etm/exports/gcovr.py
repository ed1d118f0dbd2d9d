"""Coverage as JSON of gcovr.

Ref: gcovr 8, "JSON Format Reference".
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List

from gdb_etm.analysis.coverage import Coverage, FileCoverage, LineCoverage

# Of gcovr 8.8, which reads no other.
FORMAT_VERSION = "0.15"


def gcovr_lines(coverage: Coverage) -> Iterator[str]:
    """Write all files' coverage."""
    yield json.dumps({"gcovr/format_version": FORMAT_VERSION, "files": [_file(file) for file in coverage.files]})


def _file(file: FileCoverage) -> Dict[str, Any]:
    functions = [
        {
            "name": function.name,
            "lineno": function.line,
            "execution_count": function.times,
            "blocks_percent": 100.0 if function.times else 0.0,
        }
        for function in file.functions
    ]
    return {"file": file.file, "lines": [_line(line) for line in file.lines], "functions": functions}


def _line(line: LineCoverage) -> Dict[str, Any]:
    branches: List[Dict[str, Any]] = []
    for branch in line.branches:
        for way, is_next in ((branch.taken, False), (branch.not_taken, True)):
            branches.append({"branchno": len(branches), "count": way, "fallthrough": is_next, "throw": False})
    return {"line_number": line.line, "count": line.times, "branches": branches}
