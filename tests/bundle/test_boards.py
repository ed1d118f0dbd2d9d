"""Real pyOCD on the simulated boards, and their bundles without them.

A bundle gives the same findings and history.
"""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from gdb_etm.bundle.archive import read_bundle
from gdb_etm.errors import EtmError
from gdb_etm.history.store import TracedInstruction
from gdb_etm.program.image import load_elf
from tests.access.processes import DEMO, ROOT
from tests.bundle.boards import PROGRAMS, bundle, repeated, run, session_on

pytest.importorskip("unicorn")

SAME = "The same as recorded."


@pytest.mark.parametrize("board", PROGRAMS)
def test_a_bundle_of_each_board_gives_the_same_findings_and_history(board: str, tmp_path: Path) -> None:
    with session_on(board) as session:
        run(session, board)
        path, lines = bundle(session, tmp_path, "--with-program")
        (capture,) = session.captures
        own = [each.address for each in capture.history().instructions()]
    verdict = lines[1 : lines.index("The bundle holds:")]
    made, said = repeated(path)
    assert said[-1] == SAME and said[-1 - len(verdict) : -1] == verdict
    (kept,) = made.bundle.captures
    (record,) = made.session.captures
    assert kept.instructions == len(own) == record.instructions > 500
    history = made.session.decode(record).history
    assert [each.address for each in history.walk(1, len(history)) if isinstance(each, TracedInstruction)] == own
    assert not made.playback.divergences


def test_without_the_program_it_comes_from_elsewhere(tmp_path: Path) -> None:
    with session_on("m33") as session:
        run(session, "m33")
        path, _ = bundle(session, tmp_path)
    _, alone = repeated(path)
    assert alone[-1] == SAME and any("without the program" in line for line in alone)
    with_elf, said = repeated(path, PROGRAMS["m33"])
    assert said[-1] == SAME and len(with_elf.session.decode(with_elf.session.captures[0]).history) > 500
    # Of another program the same bytes are another history.
    other, _ = repeated(path, str(ROOT / "tests/firmware/sort.elf"))
    assert any("another program" in line for line in other.differences)


@pytest.mark.parametrize(
    "faults, first",
    [
        ("clock-gate", "components"),
        ("no-sink", "components"),
        ("no-authentication", "unit authentication"),
        ("os-lock,power-domain", ""),
        ("noise:20", "last capture"),
    ],
)
def test_a_board_that_fails(faults: str, first: str, tmp_path: Path) -> None:
    with session_on("m33", faults) as session:
        try:
            run(session, "m33")
        except EtmError:
            pass  # there is nothing to start
        path, lines = bundle(session, tmp_path)
    made, said = repeated(path)
    assert said[-1] == SAME
    bad = [each.subject for each in made.findings if each.verdict == "bad"]
    assert bad[:1] == ([first] if first else [])
    assert [line for line in lines if "  bad  " in line] == [line for line in said if "  bad  " in line]


def test_a_repair_is_repeated(tmp_path: Path) -> None:
    with session_on("m33") as session:
        session.command("start")
        session.command("reg FUNNELCONTROL=0x300")
        session.command("doctor --fix")
        session.run(60.0)
        path, _ = bundle(session, tmp_path)
    made, said = repeated(path)
    assert said[-1] == SAME and any(line.startswith("mend ") and "opened the funnel's ports" in line for line in said)


def test_a_lost_probe_is_lost_at_the_same_place(tmp_path: Path) -> None:
    with session_on("m33", "unplug-after:1200") as session:
        with pytest.raises(EtmError):
            run(session, "m33")
        path, lines = bundle(session, tmp_path)
        assert any("answers" in line or "is not connected any more" in line for line in lines)
    made, said = repeated(path)
    assert said[-1] == SAME
    assert any("not connected any more" in line for line in said)


def test_what_a_bundle_holds_is_listed_before_it_is_written(tmp_path: Path) -> None:
    with session_on("m33") as session:
        run(session, "m33")
        path, lines = bundle(session, tmp_path)
        at = lines.index("The bundle holds:")
        listed = lines[at + 1 : -1]
        assert lines[-1].startswith("Written: ") and all(line.startswith("  ") for line in listed)
        assert any("no program bytes, symbols, paths, memory or core registers" in line for line in listed)
        _, more = bundle(session, tmp_path, "--with-program")
        assert any("the program's bytes, and the core's registers" in line for line in more)
        with pytest.raises(EtmError, match="it is there already; only -f replaces"):
            session.command("doctor --bundle %s" % path)
        with pytest.raises(EtmError, match="go with --bundle"):
            session.command("doctor --with-program")
    versions = read_bundle(path).origin.versions
    assert {"gdb_etm", "debugger", "pyOCD", "Python in it", "Python beside GDB"} <= set(versions)


def test_no_name_and_no_byte_of_the_program_is_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home of lovelace" / "secret_project"
    home.mkdir(parents=True)
    program = home / "prototype.elf"
    program.write_bytes(DEMO.read_bytes())
    with session_on("m33", elf=(str(program),)) as session:
        session.command("on dwt 0 do mark")
        session.command("start --timestamps")
        session.run(60.0)
        path, _ = bundle(session, tmp_path)
    with ZipFile(path) as archive:
        content = b"\n".join(archive.read(name) for name in archive.namelist() if not name.endswith("trace.bin"))
        assert not any(name.rpartition("/")[2].startswith("memory") for name in archive.namelist())
    for word in (
        b"lovelace",
        b"secret",
        b"prototype",
        b"dispatch",
        b"HardFault_Handler",
        b"/tmp",
        b"/home",
        b"board:m33",
    ):
        assert word not in content, word
    for image in load_elf(str(program)):
        assert image.data[:64] not in content
        # Nor as words in hex.
        words = [hex(int.from_bytes(image.data[at : at + 4], "little")).encode() for at in range(256, 272, 4)]
        assert not all(word in content for word in words)
