"""Real browser, and the board's truth: what a report shows is what ran.

Chromium draws the page, without a network; what is on it is compared with the execution that the board reports.
"""

from __future__ import annotations

import json
import shutil
import time
import zlib
from base64 import b64decode
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.commands.report import write_report
from gdb_etm.commands.report_shell import main
from gdb_etm.exports.encode import write
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.captures import CaptureRecord, Decoded
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.session.session import DebugSession
from tests.analysis.programs import Ran, ran

webdriver = pytest.importorskip("selenium.webdriver")
if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)
