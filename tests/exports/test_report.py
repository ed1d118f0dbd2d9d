"""Real browser, and the board's truth: reports show what histories hold.

Chromium draws the page of firmware that ran on the board, without a network; what is on it is compared with the
history, and with what the other commands say of it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

import pytest

from gdb_etm.__main__ import main
from gdb_etm.errors import CommandError
from gdb_etm.exports.encode import write
from gdb_etm.exports.page import packed
from gdb_etm.exports.report import grouped_gaps
from gdb_etm.history.build import DecoderCache
from gdb_etm.history.store import TracedInstruction
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.program_sources import ProgramSources
from gdb_etm.session.analysed import INSTRUCTIONS, count_all, profile_of
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.progress import Meter, TerminalLine
from gdb_etm.snapshot.reader import read_snapshot
from tests.exports.browser import Browser, columns_of, document_of
from tests.gdb_session import run_gdb
from tests.test_style import ROOT

webdriver = pytest.importorskip("selenium.webdriver")
if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

By, Keys = pytest.importorskip("selenium.webdriver.common.by").By, webdriver.Keys
_FIRMWARE = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
_LOOPING = ROOT / "scripts" / "benchmark" / "looping.py"
_BYTES = 1 << 15
_HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


class Reported(NamedTuple):
    """A report, and the history that it is of."""

    snapshot: Path
    page: Path
    decoded: Decoded
    debugger: OfflineDebugger

    @property
    def length(self) -> int:
        """The number of instructions."""
        return len(self.decoded.history)


@pytest.fixture(scope="module", name="reported")
def fixture_reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Looping firmware on the board, and its report."""
    folder = tmp_path_factory.mktemp("report")
    snapshot = folder / "looping"
    command = [sys.executable, str(_LOOPING), str(snapshot), str(_FIRMWARE), str(_BYTES), str(_BYTES)]
    subprocess.run(command, check=True, timeout=120)
    assert main(["report", str(snapshot), "--elf", str(_FIRMWARE), "-o", str(folder / "out")]) == 0
    (capture,) = read_snapshot(str(snapshot))
    record = CaptureRecord(1, capture, "", False, Meter(TerminalLine(sys.stderr)))
    (decoded,) = record.decoded((), DecoderCache(), None).values()
    return Reported(snapshot, folder / "out" / "index.html", decoded, OfflineDebugger([str(_FIRMWARE)]))


@pytest.fixture(scope="module", name="browser")
def fixture_browser() -> Iterator[Browser]:
    """One browser for all tests."""
    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture(name="shown")
def fixture_shown(browser: Browser, reported: Reported) -> Browser:
    """The report, opened."""
    browser.open(reported.page)
    return browser


def test_every_instruction_is_there(shown: Browser, reported: Reported) -> None:
    history = reported.decoded.history
    expected = [one.address for one in history.walk(1, reported.length) if isinstance(one, TracedInstruction)]
    script = "return Array.from({length: arguments[0]}, (none, at) => report.history.code(at + 1)[0])"
    assert len(expected) == reported.length > 100_000
    assert shown.run(script, reported.length) == expected


def test_rows_are_those_of_the_history_listing(shown: Browser, reported: Reported) -> None:
    command = [sys.executable, "-m", "gdb_etm", "history", str(reported.snapshot), "--elf", str(_FIRMWARE)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert shown.run("return report.history.list.count") == len(lines)
    for first in (0, len(lines) // 2, len(lines) - 2000):
        script = (
            "return Array.from({length: 2000}, (none, at) => report.history.element(arguments[0] + at).textContent)"
        )
        for line, row in zip(lines[first:], shown.run(script, first)):
            words = row.split()
            words[0] = words[0].replace(",", "")
            assert " ".join(words[: len(line.split())]) == line


def test_the_list_shows_the_end_and_goes_where_it_is_told(shown: Browser, reported: Reported) -> None:
    last = "{:,} ".format(reported.length)
    assert any(row.startswith(last) for row in shown.rows("history-list"))
    # Only what is in sight is there.
    assert len(shown.rows("history-list")) < 60
    one = shown.one("history-number")
    one.send_keys("12345", Keys.ENTER)
    address = reported.decoded.history.instruction(12345).address
    assert shown.selected("history-list").startswith("12,345 0x%08x " % address)
    box = shown.one("history-list")
    box.send_keys(Keys.ARROW_DOWN)
    assert shown.selected("history-list").split()[0] in ("12,346", "<return", "<IRQ0", "<SysTick")
    box.send_keys(Keys.HOME)
    assert shown.selected("history-list") == "tracing started here".join("[]")
    box.send_keys(Keys.END)
    assert shown.selected("history-list").startswith("[gap: ") or last in shown.selected("history-list") + " "


def test_calls_add_up_and_are_found(shown: Browser, reported: Reported) -> None:
    calls = reported.decoded.calls(reported.debugger.function_at)
    frames = {one.frame for one in calls.activations()}
    wanted = sum(frame.function is not None and frame.function.name == "crc16" for frame in frames)
    shown.one("call-search").send_keys("CRC16")
    assert shown.text("call-found") == "%d found" % wanted
    assert wanted > 3
    shown.one("call-search").send_keys(Keys.HOME)
    shown.one("call-list").send_keys(Keys.HOME)
    for number in (1, 2, 3):
        shown.one("call-search").send_keys(Keys.ENTER)
        assert shown.text("call-found") == "%d of %d" % (number, wanted)
        assert shown.selected("call-list").endswith(" crc16")
    shown.one("call-search").send_keys(Keys.SHIFT, Keys.ENTER)
    assert shown.text("call-found") == "2 of %d" % wanted
    # A handler is no part of what it interrupted.
    parts = (
        "return [...report.calls.depth].reduce((sum, depth, call) => sum + (depth === 0 ||"
        " report.calls.part.names[report.calls.name[call]].startsWith('<') ? report.calls.total[call] : 0), 0)"
    )
    assert shown.run(parts) == reported.length


def test_folding_hides_what_was_called(shown: Browser, reported: Reported) -> None:
    count = "return report.calls.list.count"
    everything = shown.run("return report.calls.depth.length")
    shown.one("call-unfold").click()
    assert shown.run(count) == everything
    shown.one("call-fold").click()
    roots = shown.run(count)
    assert roots == shown.run("return report.calls.depth.filter((depth) => depth === 0).length")
    box = shown.one("call-list")
    box.send_keys(Keys.HOME)
    first = shown.selected("call-list")
    box.send_keys(Keys.ARROW_RIGHT)
    assert shown.run(count) > roots
    box.send_keys(Keys.ARROW_DOWN)
    assert shown.selected("call-list") != first
    box.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert shown.run(count) == roots and shown.selected("call-list").split()[-1] == first.split()[-1]
    box.send_keys(Keys.ENTER)
    assert shown.selected("history-list").split()[0] == "1"


def test_the_profile_is_that_of_the_command(shown: Browser, reported: Reported) -> None:
    profile = profile_of(reported.debugger, reported.decoded, INSTRUCTIONS)
    expected = [
        [
            one.function.name,
            "{:,}".format(one.calls),
            "{:,}".format(one.own),
            "%.1f %%" % (100 * one.own / profile.total),
            "{:,}".format(one.inclusive),
            "%.1f %%" % (100 * one.inclusive / profile.total),
        ]
        for one in profile.functions()
    ]
    assert sorted(row[:6] for row in shown.table("profile-table")) == sorted(expected)
    costs = [int(row[2].replace(",", "")) for row in shown.table("profile-table")]
    assert costs == sorted(costs, reverse=True)
    shown.one("profile-table").find_element(By.XPATH, ".//button[text()='function']").click()
    names = [row[0] for row in shown.table("profile-table")]
    assert names == sorted(names, key=str.lower)


def _point(shown: Browser, canvas: str, x: float, y: float) -> Any:
    # Moves the mouse to a point of a canvas.
    element = shown.one(canvas)
    shown.run("arguments[0].scrollIntoView({block: 'center'})", element)
    size = element.size
    actions = webdriver.ActionChains(shown.driver, duration=0)
    actions.move_to_element_with_offset(element, int(x - size["width"] / 2), int(y - size["height"] / 2)).perform()
    return actions


def test_the_flame_graph_tells_a_function_s_share(shown: Browser, reported: Reported) -> None:
    profile = profile_of(reported.debugger, reported.decoded, INSTRUCTIONS)
    drawn = shown.run(
        "const {drawn, nodes} = report.flame; return drawn.map((one) =>"
        " [nodes[one.at].name, (one.left + one.right) / 2, one.top + 9, one.right - one.left])"
    )
    stacks = {node.name: node.inclusive() for node, _ in profile.root.walk() if node.name in ("main", "crc16", "parse")}
    for name, x, y, width in drawn:
        if name in stacks:
            _point(shown, "flame-canvas", x, y)
            share = 100 * stacks[name] / profile.total
            assert shown.text("flame-note").startswith(
                "%s: {:,} instructions, %.1f %%".format(stacks[name]) % (name, share)
            )
            assert width == pytest.approx(shown.run("return report.flame.width") * share / 100, abs=1)
    name, x, y, _ = next(one for one in drawn if one[0] == "crc16")
    _point(shown, "flame-canvas", x, y).click().perform()
    time.sleep(0.2)
    widths = (
        "return report.flame.drawn.filter((one) => report.flame.nodes[one.at].name === 'crc16').map((one) => one.right)"
    )
    assert shown.run(widths) == [shown.run("return report.flame.width")]
    shown.one("flame-canvas").send_keys(Keys.ESCAPE)
    time.sleep(0.2)
    assert shown.run("return report.flame.drawn.length") == len(drawn)


def test_the_timeline_shows_what_was_active(shown: Browser, reported: Reported) -> None:
    calls = reported.decoded.calls(reported.debugger.function_at)
    tracks = shown.run("return report.timeline.tracks.map((one) => [one.name, one.top])")
    width = shown.run("return report.timeline.width")
    for share in (0.2, 0.4, 0.5, 0.6, 0.7):
        number = int(reported.length * share)
        # As near as the mouse can point: an instruction has some pixels.
        shown.run("report.timeline.move(arguments[0] - 30, 60)", number - 0.5)
        time.sleep(0.1)
        chain = [calls.innermost(number), *calls.innermost(number).callers()]
        nested = sum(frame.is_exception for frame in chain)
        track = "exceptions" + (", depth %d" % nested if nested > 1 else "")
        # A handler's lanes begin with the exception.
        names = []
        for frame in chain:
            names.append(frame.event.name if frame.event is not None else frame.function.name if frame.function else "")
            if frame.is_exception:
                break
        (top,) = [top for name, top in tracks if (name == track if nested else not name.startswith("exceptions"))]
        for depth, function in enumerate(reversed(names)):
            _point(shown, "timeline-canvas", width / 2, top + 20 + 18 * depth + 9)
            found = re.match(r"(\S+) \(.*\): ([\d,]+) to ([\d,]+), ", shown.text("timeline-note"))
            assert found is not None, (number, function)
            assert found[1] == function
            assert int(found[2].replace(",", "")) < number + 1 and number <= int(found[3].replace(",", ""))


def test_the_timeline_zooms_by_keys_and_wheel(shown: Browser, reported: Reported) -> None:
    span = "return report.timeline.to - report.timeline.from"
    canvas = shown.one("timeline-canvas")
    assert shown.run(span) == reported.length
    canvas.send_keys("+")
    assert shown.run(span) == reported.length / 2
    begin = shown.run("return report.timeline.from")
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert shown.run("return report.timeline.from") > begin
    canvas.send_keys(Keys.HOME)
    assert shown.run(span) == reported.length
    origin = webdriver.common.actions.wheel_input.ScrollOrigin.from_element(canvas)
    shown.run("arguments[0].focus()", canvas)
    webdriver.ActionChains(shown.driver).scroll_from_origin(origin, 0, -100).perform()
    assert shown.run(span) == pytest.approx(0.8 * reported.length)
    canvas.send_keys(Keys.HOME, "+", Keys.ENTER)
    number = int(shown.selected("history-list").split()[0].replace(",", ""))
    assert abs(number - reported.length / 2) < 2


def test_the_source_has_its_counts(shown: Browser, reported: Reported) -> None:
    sources = ProgramSources([str(_FIRMWARE)])
    coverage = sources.coverage(count_all([reported.decoded]), reported.decoded.history.blocks)
    for row, file in zip(shown.table("coverage-table"), coverage.files):
        ratio = file.line_ratio
        assert row[:2] == [file.path, "%s  %.1f %%" % (ratio, ratio.percent)]
    (file,) = [one for one in coverage.files if one.path == "rx.c"]
    shown.one("coverage-table").find_element(By.XPATH, ".//button[text()='rx.c']").click()
    lines = Path(file.file).read_text("utf-8").splitlines()
    for line in file.lines:
        text = shown.run("return report.coverage.element(arguments[0]).textContent", line.line - 1)
        count = "{:,}".format(line.times) if line.times else "-"
        assert " ".join(text.split()).startswith(" ".join([count, str(line.line), *lines[line.line - 1].split()])), line


@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_it_is_drawn_in_light_and_in_dark(shown: Browser, scheme: str, tmp_path: Path) -> None:
    shown.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    time.sleep(0.3)
    brightness = (
        "const [r, g, b] = getComputedStyle(arguments[0])[arguments[1]].match(/\\d+/g).map(Number); return r + g + b"
    )
    body = shown.driver.find_element(By.TAG_NAME, "body")
    back, text = (shown.run(brightness, body, name) for name in ("backgroundColor", "color"))
    assert (back > 700 and text < 150) if scheme == "light" else (back < 100 and text > 600)
    for canvas in ("timeline-canvas", "flame-canvas"):
        # There are boxes of many colours on it.
        colours = shown.run(
            "const one = document.getElementById(arguments[0]); const found = new Set();"
            "const data = new Uint32Array(one.getContext('2d').getImageData(0, 0, one.width, one.height).data.buffer);"
            "for (const pixel of data) found.add(pixel); return found.size",
            canvas,
        )
        assert colours > 8
    assert shown.driver.save_screenshot(str(tmp_path / "page.png"))


def test_it_prints(shown: Browser) -> None:
    shown.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not shown.driver.find_element(By.TAG_NAME, "nav").is_displayed()
        assert shown.one("profile-table").is_displayed()
    finally:
        shown.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(shown.driver.print_page()) > 20_000


def test_nothing_from_outside_is_asked_for(reported: Reported) -> None:
    text = reported.page.read_text("utf-8")
    assert set(re.findall(r'(?:src|href|action|data)="([^"]*)"', text)) == set(re.findall(r'href="(#\w+)"', text))
    assert "default-src 'none'" in text and "http://" not in text and "https://" not in text
    assert not re.search(r"<[^>]*\son\w+=", text)


def test_what_comes_from_files_is_never_markup(browser: Browser, reported: Reported, tmp_path: Path) -> None:
    document = _hostile(document_of(reported.page), columns_of(reported.page))
    write("report", str(tmp_path / "index.html"), document)
    browser.open(tmp_path / "index.html")
    assert browser.driver.title == _HOSTILE + ": trace report"
    assert browser.driver.find_elements(By.TAG_NAME, "img") == []
    assert len(browser.driver.find_elements(By.TAG_NAME, "script")) == 2
    assert browser.text("fault").endswith(_HOSTILE)
    assert _HOSTILE in browser.text("missing")
    assert any(_HOSTILE in row for row in browser.rows("history-list"))
    assert browser.table("profile-table")[0][0] == _HOSTILE
    browser.one("call-search").send_keys("script>", Keys.ENTER)
    assert browser.selected("call-list").endswith(" " + _HOSTILE)
    assert any(row.endswith(_HOSTILE) for row in browser.rows("source-list"))


def _hostile(document: Dict[str, Any], columns: Dict[str, List[int]]) -> Dict[str, Any]:
    # The same document with hostile words in all places.
    del document["columns"]
    document["program"] = _HOSTILE
    document["fault"], document["hasFault"] = [_HOSTILE], True
    document["missing"] = list(grouped_gaps([(1, _HOSTILE)]))
    history, calls, timeline = document["history"], document["calls"], document["timeline"]
    history["symbols"] = [_HOSTILE] * len(history["symbols"])
    history["places"] = [[_HOSTILE, _HOSTILE]] * len(history["places"])
    for part, names in ((history, "events"), (calls, "names"), (timeline, "names"), (timeline, "tracks")):
        part[names] = [_HOSTILE] * len(part[names])
    for row in document["profile"]["functions"]:
        row[0] = _HOSTILE
    for file in document["coverage"]:
        file["path"], file["source"] = _HOSTILE, [_HOSTILE] * len(file["source"])
    owners = {"call": calls, "time": timeline, "track": timeline}
    for name, column in columns.items():
        owner = next((part for begin, part in owners.items() if name.startswith(begin)), history)
        owner.setdefault("columns", {})[name] = column
    return document


def test_a_fault_s_verdict_and_values_are_on_the_page(browser: Browser, tmp_path: Path) -> None:
    begin = ["etm connect board:m33 --elf %s" % _FIRMWARE, "etm start", "continue"]
    asked = ["echo >>>\\n", "etm fault", "echo >>>\\n", "etm report %s" % (tmp_path / "out")]
    text = run_gdb([*begin, *asked, "etm save %s" % (tmp_path / "saved")])
    verdict = text.split(">>>\n")[1].rstrip().splitlines()
    browser.open(tmp_path / "out" / "index.html")
    shown = browser.driver.find_element(By.CSS_SELECTOR, ".verdict").get_attribute("textContent")
    assert [line.rstrip() for line in shown.splitlines() if line.strip()] == verdict
    assert "==>" in browser.driver.find_element(By.CSS_SELECTOR, ".culprit").text
    # The branch to where no code is: the register that it takes was loaded right before.
    rows = browser.rows("history-list")
    (jump,) = [at for at, row in enumerate(rows) if " <dispatch+20> blx r3" in row and at + 4 > len(rows)]
    assert " r3=0x163333 " in rows[jump - 1]
    assert rows[jump + 1].startswith("<HardFault (exception 3)")
    assert browser.selected("call-list").endswith(" dispatch")
    # Of snapshots in a row there is one history, with the same twice.
    snapshot = str(tmp_path / "saved")
    assert main(["report", snapshot, snapshot, "--elf", str(_FIRMWARE), "-o", str(tmp_path / "two")]) == 0
    once, twice = (document_of(tmp_path / name / "index.html") for name in ("out", "two"))
    assert twice["instructions"] == 2 * once["instructions"]
    assert twice["fault"] and ["trace", "8 KiB in 2 captures"] in twice["summary"]
    first = next(after for _, _, after in twice["missing"] if after)
    assert first == once["instructions"]


def test_what_cannot_be_written_is_told_in_a_line(
    reported: Reported, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    words = [str(reported.snapshot), "--elf", str(_FIRMWARE)]
    assert main(["report", *words, "-o", str(tmp_path / "file" / "out")]) == 1
    assert capsys.readouterr().err.startswith("gdb-etm: cannot make %s" % (tmp_path / "file" / "out"))
    assert main(["report", str(reported.snapshot), "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("gdb-etm: --elf is missing")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(CommandError, match=r'jinja2 is missing for this format: pip install "gdb_etm\[report\]"'):
        write("report", str(tmp_path / "index.html"), {})


def test_numbers_of_a_column_are_four_bytes() -> None:
    data = zlib.decompress(packed({"one": {"text": "x", "columns": {"order": [1, 1 << 31], "time": [5, 7, 7]}}}))
    size = int.from_bytes(data[:4], "little")
    assert size % 4 == 0
    expected = {"one": {"text": "x"}, "columns": [["order", 2, False], ["time", 3, True]]}
    assert json.loads(data[4 : 4 + size]) == expected
    assert data[4 + size :].hex() == "0100000000000080" + "050000000200000000000000"
