"""The board's truth: copies of objects, and copies that are too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.crashed import fault_of

FLAGS = ("-Os", "-fno-inline", "-fno-tree-loop-distribute-patterns")
TASKS = """
#include "lib.h"
struct task { uint32_t words[4]; void (*run)(struct task *); uint32_t left; uint32_t more[3]; };
static struct task *volatile where;
static struct task current, queue[6];
static unsigned head, tail;
static volatile unsigned ran;
NOINLINE void copy(void *to, const void *from, unsigned bytes)
{
    %s
}
NOINLINE void work(struct task *one)
{
    ran += one->words[1];
}
NOINLINE void put(unsigned number, void (*run)(struct task *))
{
    struct task *one = &queue[tail++ %% 6];
    for (unsigned at = 0; at < 4; ++at)
        one->words[at] = number + at;
    one->run = run;
}
NOINLINE void next(void)
{
    where = &current;
    copy(where, &queue[head], %d * sizeof current);
    ++head;
    current.run(&current);
}
int main(void)
{
    put(1, (void (*)(struct task *))0x30001001);
    next();
}
"""
BY_WORDS = "uint32_t *t = to; for (const uint32_t *f = from; bytes; bytes -= 4) *t++ = *f++;"
BY_BYTES = "char *t = to; for (const char *f = from; bytes; --bytes) *t++ = *f++;"
BY_THE_LIBRARY = "memcpy(to, from, bytes);"


@pytest.mark.parametrize("way", [BY_WORDS, BY_BYTES, BY_THE_LIBRARY], ids=["words", "bytes", "memcpy"])
def test_an_object_that_is_copied_whole_is_not_overrun(way: str, tmp_path: Path) -> None:
    text = fault_of(tmp_path, TASKS % (way, 1), flags=FLAGS)
    assert "past the end" not in text, text
    assert "==>    put, crash.c:" in text or "==>    main, crash.c:" in text, text


NAMED = """
#include "lib.h"
struct device { char name[12]; void (*changed)(struct device *); int number; };
static volatile unsigned seen;
NOINLINE void count(struct device *one)
{
    seen += one->number;
}
struct device device = { "", count, 7 };
NOINLINE void set(char *to, const char *from, unsigned bytes)
{
    memcpy(to, from, bytes);
}
int main(void)
{
    set(device.name, "door", 5);
    device.changed(&device);
    set(device.name, "living room left!", 18);
    device.changed(&device);
}
"""


def test_a_copy_to_where_the_data_begin_is_no_initialisation(tmp_path: Path) -> None:
    text = fault_of(tmp_path, NAMED, flags=FLAGS)
    assert "which writes past the end of device.name (12 bytes), over device.changed" in text, text


WIRE = """
#include "lib.h"
static volatile uint32_t alarms;
static uint8_t wire[40];
NOINLINE void ring(uint32_t value)
{
    alarms += value;
}
NOINLINE unsigned put(unsigned at, uint32_t value)
{
    for (; value > 0x7f; value >>= 7)
        wire[at++] = (uint8_t)value | 0x80;
    wire[at++] = (uint8_t)value;
    return at;
}
NOINLINE unsigned get(unsigned at, uint32_t *to)
{
    uint32_t value = 0;
    unsigned bit = 0;
    for (; wire[at] & 0x80; bit += 7)
        value |= (uint32_t)(wire[at++] & 0x7f) << bit;
    *to = value | (uint32_t)wire[at++] << bit;
    return at;
}
"""
REPORTS = """
struct report { uint32_t id, count, readings[4]; };
struct station { struct report report; const char *name; void (*alarm)(uint32_t); };
static struct station station;
NOINLINE void send(unsigned count)
{
    unsigned at = put(0, count);
    for (unsigned one = 0; one < count; ++one)
        at = put(at, 0x30001000 + 2 * one);
}
NOINLINE void receive(struct report *report)
{
    unsigned at = get(0, &report->count);
    for (unsigned one = 0; one < report->count; ++one)
        at = get(at, &report->readings[one]);
}
int main(void)
{
    station.alarm = ring;
    for (unsigned count = 2; ; count += 2) {
        send(count);
        receive(&station.report);
        station.alarm(station.report.readings[0]);
    }
}
"""


def test_elements_that_are_stored_one_a_call_run_past_their_array(tmp_path: Path) -> None:
    text = fault_of(tmp_path, WIRE + REPORTS, flags=FLAGS)
    assert (
        "==>    get, crash.c:22: writes past the end of station.report.readings (16 bytes), over station.alarm" in text
    ), text


SENT = """
struct order { uint32_t number; void (*done)(uint32_t); };
static struct order order;
NOINLINE void send(uint32_t value)
{
    put(0, value);
}
NOINLINE void receive(void)
{
    get(0, (uint32_t *)&order.done);
}
int main(void)
{
    send((uint32_t)ring);
    receive();
    order.done(1);
    send(0x30001081);
    receive();
    order.done(2);
}
"""


@pytest.mark.parametrize("level", ["-Os", "-O0"])
def test_a_number_that_is_sent_in_parts_is_not_cut(level: str, tmp_path: Path) -> None:
    text = fault_of(tmp_path, WIRE + SENT, flags=(level, *FLAGS[1:]))
    assert "0x30001081" in text and "cuts" not in text, text
