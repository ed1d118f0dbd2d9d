"""The board's truth: events from a script outside GDB."""

from __future__ import annotations

import pytest

import gdb_etm
from gdb_etm.errors import CommandError, EtmError, UnsupportedError
from gdb_etm.protocols.elements import TraceEvent
from tests.firmware.build import elf, symbol

SECONDS = 60
PATH = elf("interrupts")


def test_marks_counters_and_what_they_mean() -> None:
    note = symbol(PATH, "note")
    with gdb_etm.connect("board:m33", elf=PATH, etb_size=1 << 20, option=["board.resources=full"]) as session:
        session.command("on exec failed do mark 3")
        session.configure(
            on=[("exec note", "count 0"), ("counter 0", "mark"), ("exec note or exec *0x%x" % note, "mark")],
            counters=[gdb_etm.Counter(0, 4, is_periodic=True)],
            trigger_position=10,
        )
        plan = session.plan()
        assert plan.value("TRCCNTCTLR0") == 0x10002 and plan.value("TRCEVENTCTL1R") == 0xB
        assert len(session.command("on list")) == 5
        session.start()
        session.run(SECONDS)
        history = session.capture().history()
        assert history.marks == {0: "counter 0", 1: "exec note or exec *0x%x" % note, 3: "exec failed"}
        numbers = [event.number for _, event in history.events() if isinstance(event, TraceEvent)]
        calls = [one.address for one in history.instructions()].count(note)
        assert (numbers.count(0), numbers.count(1), numbers.count(3)) == (calls // 5, calls, 0)
        # What a script chose before is forgotten; what "etm on" chose is not.
        session.configure(on=[("exec note", "mark")])
        assert [line.split()[0] for line in session.command("on list")] == ["Num", "1", "5"]


def test_what_makes_no_sense_changes_nothing() -> None:
    with gdb_etm.connect("board:m33", elf=PATH) as session:
        with pytest.raises(CommandError, match='"jump" is no action'):
            session.configure(on=[("exec note", "jump")])
        with pytest.raises(EtmError, match="counter 0 is used but not set"):
            session.configure(on=[("counter 0", "mark")])
        with pytest.raises(EtmError, match="trigger position 101: must be from 0 to 100 percent"):
            session.configure(trigger_position=101)
        assert session.command("on list")[0].startswith("no events")
        session.configure(on=[("input 0", "next-state")])
        with pytest.raises(UnsupportedError, match="TRCIDR5.NUMSEQSTATE"):
            session.plan()


def test_filters_in_the_words_of_the_command() -> None:
    note = symbol(PATH, "note")
    with gdb_etm.connect("board:m33", elf=PATH, etb_size=1 << 20, option=["board.resources=full"]) as session:
        session.command("filter exclude pend")
        session.configure(filters=[("include", "note"), ("exceptions", "only")])
        with pytest.raises(CommandError, match='"includes" is no filter; they are: include, '):
            session.configure(filters=[("includes", "note")])
        session.start()
        session.run(SECONDS)
        ran = [one.address for one in session.capture().history().instructions()]
        assert ran and ran[0] == note and set(ran) < set(range(note, symbol(PATH, "pend")))
        session.configure(filters=[("level", "thread")])
        assert [line.split()[:2] for line in session.command("filter list")[1:]] == [["1", "exclude"], ["4", "level"]]
