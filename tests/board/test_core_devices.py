"""Vectors worked by hand: serial port, sensor, and time asleep."""

from __future__ import annotations

from itertools import islice

from gdb_etm.board.uart import sentences, stream
from tests.board.assembly import program
from tests.board.witness import DHCSR, HALT, register

UART = """
    .equ UART, 0x40004000
"""


def test_sensor_says_what_it_should() -> None:
    said = [sentence.decode() for sentence in islice(sentences(), 26)]
    assert said[:4] == ["$TMP,21.4\n", "$HUM,45.2\n", "$PRS,1013.2\n", "$TMP,21.4\n"]
    bursts = [index + 1 for index, sentence in enumerate(said) if sentence.count(",") == 10]
    assert bursts == [12, 24]
    assert said[11] == "$TMP,21.4,21.5,21.6,21.7,21.8,21.9,22.0,22.1,22.2,22.3\n"
    assert bytes(islice(stream(), 14)) == b"$TMP,21.4\n$HUM"


def test_bytes_come_by_interrupt() -> None:
    run = program(
        UART
        + """
start:
    ldr r4, =0x20000000
    ldr r5, =UART
    store ISER, 1
    store UART + 8, 1
    store UART + 12, 50
sleep:
    wfi
    b sleep
irq0:
    ldrb r0, [r5]
    strb r0, [r4], #1
    strb r0, [r5]           @ transmitting takes nothing from the receiver
    bx lr
"""
    )
    run.machine.run(20000)
    wanted = bytes(islice(stream(), 1000))
    run.machine.write(DHCSR, 4, HALT)
    count = register(run.machine, 4) - 0x20000000
    assert count > 1000
    assert run.machine.read_block(0x20000000, 1000) == wanted
    assert all(number == 16 for name, number, _ in run.recorder.events[1:] if name == "exception")
    # Time goes on while it sleeps: a byte every fifty ticks.
    assert abs(run.machine.clock.now() - 50 * count) < 200


def test_a_byte_that_nobody_takes_is_lost() -> None:
    run = program(
        UART
        + """
start:
    ldr r5, =UART
    store UART + 12, 20
    movs r6, #30
wait:
    subs r6, #1
    bne wait
    ldr r0, [r5, #4]
    ldr r1, [r5]
    ldr r2, [r5, #4]
    movs r3, #2
    str r3, [r5, #4]
    ldr r3, [r5, #4]
    bkpt
"""
    )
    run.machine.run(200)
    assert [register(run.machine, number) for number in range(4)] == [3, ord("$"), 2, 0]


def test_polling_a_timer_register_sees_time_pass() -> None:
    run = program(
        """
start:
    store SYST + 4, 1000
    store SYST + 8, 0
    store SYST, 1
    ldr r5, =SYST + 8
    ldr r0, [r5]
    nop
    nop
    ldr r1, [r5]
    bkpt
"""
    )
    run.machine.run(200)
    assert register(run.machine, 0) - register(run.machine, 1) == 3
