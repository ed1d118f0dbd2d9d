"""Real GDB, real pyOCD: where values came from, and went to."""

from __future__ import annotations

from tests.gdbui.test_values import session


def test_at_the_fault_and_at_a_position() -> None:
    commands = [
        "continue",
        "etm origin station.table[0].handler",
        "etm origin $r3",
        "etm goto 13594",
        "etm origin count",
        "etm origin text",
        "etm uses $r0",
        "etm origin 1 + 1",
        "etm race station.table[0].delivered",
        "etm writes --by dispatch station",
        "complete etm origin station.val",
        "help etm uses",
    ]
    found = dict(zip(commands, session(commands)))
    whole = found["etm origin station.table[0].handler"]
    assert whole[:3] == [
        "station.table[0].handler = 0x00163333 at the fault, after #18,364:",
        "#13,594  <parse_values+26>   rx.c:83  station.table[0].handler = 0x00163333: stored from r0",
        "#13,591  <parse_number+116>  rx.c:75  r0 = 0x00163333: computed from r0, r3",
    ]
    assert '"set etm history-size" sets how many are listed]' in whole[-2]
    assert len([line for line in whole if line.startswith("#")]) == 10
    assert found["etm origin $r3"][0] == "r3 = 0x00163333 at the fault, after #18,364:"
    assert found["etm origin count"][0] == "count in r5 = 0x00000009 before instruction 13,594, <parse_values+26>:"
    assert found["etm origin text"][0].endswith(" before instruction 13,594, <parse_values+26>:")
    assert found["etm uses $r0"][1].endswith("station.table[0].handler = 0x00163333: stored from r0")
    assert found["etm origin 1 + 1"][0].endswith("(or ask about a register, or ADDRESS,SIZE)")
    assert found["etm race station.table[0].delivered"][1].startswith("no update of it was interrupted by another")
    assert all("<dispatch+" in line for line in found["etm writes --by dispatch station"][1:-2])
    assert "etm origin station.values" in found["complete etm origin station.val"]
    assert 'The guide: "gdb-etm guide fault" in a shell.' in found["help etm uses"]
