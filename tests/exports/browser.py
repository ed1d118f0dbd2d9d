"""A browser for tests, and what reports hold."""

from __future__ import annotations

import base64
import json
import re
import shutil
import time
import zlib
from array import array
from pathlib import Path
from typing import Any, Dict, List

import pytest


class Browser:
    """Chromium, in which nothing can be looked up."""

    def __init__(self) -> None:
        webdriver = pytest.importorskip("selenium.webdriver")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        words = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1400,1000")
        for word in (*words, "host-resolver-rules=MAP * ~NOTFOUND"):
            options.add_argument("--" + word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(
            options=options, service=webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
        )

    def open(self, page: Path) -> None:
        """Open a page and wait until it shows what it has.

        Nothing may have gone wrong.
        """
        self.driver.get(page.as_uri())
        for _ in range(600):
            if not self.text("status"):
                break
            time.sleep(0.05)
        assert self.text("status") == ""
        assert self.driver.get_log("browser") == []

    def run(self, script: str, *values: Any) -> Any:
        """Run a script of the page's."""
        return self.driver.execute_script(script, *values)

    def one(self, name: str) -> Any:
        """Find an element by its ID."""
        return self.driver.find_element("id", name)

    def text(self, name: str) -> str:
        """Read an element's text."""
        return str(self.one(name).get_attribute("textContent")).strip()

    def rows(self, name: str) -> List[str]:
        """Read the rows of a list that are elements, in order."""
        return [
            " ".join(one.split())
            for one in self.run(
                "return [...document.querySelectorAll('#' + arguments[0] + ' .row')].map((one) => one.textContent)",
                name,
            )
        ]

    def selected(self, name: str) -> str:
        """Read the selected row of a list; it must be in sight."""
        row = self.one(name).find_element("css selector", ".row.selected")
        inside = self.run(
            "const [row, box] = arguments; const at = row.getBoundingClientRect(), all = box.getBoundingClientRect();"
            "return at.top >= all.top - 1 && at.bottom <= all.bottom + 1",
            row,
            self.one(name),
        )
        assert inside
        return " ".join(row.text.split())

    def table(self, name: str) -> List[List[str]]:
        """Read a table's cells."""
        found: List[List[str]] = self.run(
            "return [...document.querySelectorAll('#' + arguments[0] + ' tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))",
            name,
        )
        return found


def document_of(page: Path) -> Dict[str, Any]:
    """Read the document of a page, without its columns."""
    found = re.search(r'<script id="data"[^>]*>([^<]*)</script>', page.read_text("utf-8"))
    assert found is not None
    data = zlib.decompress(base64.b64decode(found[1]))
    size = int.from_bytes(data[:4], "little")
    document: Dict[str, Any] = json.loads(data[4 : 4 + size])
    return document


def columns_of(page: Path) -> Dict[str, List[int]]:
    """Read a page's columns, as the browser does."""
    found = re.search(r'<script id="data"[^>]*>([^<]*)</script>', page.read_text("utf-8"))
    assert found is not None
    data = zlib.decompress(base64.b64decode(found[1]))
    at = 4 + int.from_bytes(data[:4], "little")
    columns: Dict[str, List[int]] = {}
    for name, count, rises in document_of(page)["columns"]:
        numbers = list(array("I", data[at : at + 4 * count]))
        at += 4 * count
        if rises:
            total = 0
            numbers = [total := total + one for one in numbers]
        columns[name] = numbers
    assert at == len(data)
    return columns
