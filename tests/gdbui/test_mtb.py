"""Real GDB, real pyOCD: a Cortex-M0+ with an MTB, its truth."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import List

import pytest

from tests.firmware.build import elf as t32_elf
from tests.firmware.build import symbol
from tests.firmware.cortex_m0.build import elf, elf_m23
from tests.gdb_session import run_each, run_gdb
from tests.gdbui.test_board_m4 import addresses, instructions

BUFFER = "--buffer 0x20040000,64K"


def session(program: str, folder: Path, *commands: str) -> List[str]:
    """Connect, run commands, and disconnect."""
    place = "--elf %s --truth %s" % (elf(program), folder / "truth")
    output = run_gdb(["etm connect board:m0 " + place, *commands, "etm disconnect"])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output.splitlines()


def test_what_is_found(tmp_path: Path) -> None:
    lines = session("sort", tmp_path, "etm info")
    assert "Trace: MTB at 0x41006000, into the program's RAM" in lines
    assert "The trace unit has: branches alone, into RAM from 0x20000000 on (MTB_BASE)" in lines


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["nested", "tasks", "faults"])
def test_executed_is_decoded(program: str, tmp_path: Path) -> None:
    output = session(program, tmp_path, "etm start " + BUFFER, "continue", "etm history 1,1000000")
    assert addresses("\n".join(output)) == instructions(tmp_path)


def test_halts_and_steps_are_one_history(tmp_path: Path) -> None:
    commands = ["etm start --buffer 0x20040000,1K", "break PendSV_Handler", *["continue"] * 3, *["stepi"] * 4]
    # After "etm disconnect" the program runs on, maybe to a halt at its end.
    commands.append("shell cp %s %s" % (tmp_path / "truth", tmp_path / "traced"))
    output = session("nested", tmp_path, *commands, "etm history 1,1000000", "etm status")
    assert sum("1 instruction in PendSV_Handler" in line and line.endswith(" in 0 bytes") for line in output) >= 2
    found = addresses("\n".join(line for line in output if not line.startswith("0x")))
    lines = (tmp_path / "traced").read_text("ascii").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    end = max(at for at, line in enumerate(lines) if line.startswith("halt"))
    assert found == [int(line, 16) for line in lines[begin:end] if line.startswith("0x")]
    assert sum(line == "[halt in PendSV_Handler (breakpoint 1)]" for line in output) == 3


def test_calls_values_and_reverse_execution(tmp_path: Path) -> None:
    commands = [
        "etm start " + BUFFER,
        "break PendSV_Handler",
        "continue",
        "etm functions -4",
        "etm backtrace",
        "etm writes depth",
        "reverse-continue",
        "info registers pc",
        "continue",
        "info registers pc",
        "etm budget",
    ]
    output = session("nested", tmp_path, *commands)
    assert any(re.match(r"\d+ +<PendSV \(exception 14\), tail-chained>$", line) for line in output), output
    assert any(re.match(r"#1 +<PendSV \(exception 14\)>$", line) for line in output)
    assert any("in IRQ2" in line and "0x00000003 -> 0x00000002" in line for line in output)
    assert any(line.startswith("ID 0x00, mtb instructions") for line in output)
    assert not any(line.startswith("options of") for line in output)
    places = [int(line.split()[1], 16) for line in output if line.startswith("pc ")]
    assert places == [symbol(elf("nested"), name) for name in ("Reset_Handler", "PendSV_Handler")]


def test_reverse_execution_begins_where_the_core_halted(tmp_path: Path) -> None:
    # Behind the last branch there is no packet of the instructions up to the halt.
    place = symbol(elf("nested"), "PendSV_Handler") + 20
    commands = ["etm start --buffer 0x20040000,1K", "tbreak *0x%x" % place, "continue"]
    back = ["reverse-stepi", "info registers pc", "etm history"]
    output = session("nested", tmp_path, *commands, *3 * back)
    places = [int(line.split()[1], 16) for line in output if line.startswith("pc ")]
    marked = [int(line.split()[2], 16) for line in output if line.startswith("=>")]
    # SUBS and LDR, STRB before them.
    assert places == marked == [place - 2, place - 4, place - 6]


def test_a_reset_is_no_end(tmp_path: Path) -> None:
    # The reset stops the trace; at the next halt it goes on.
    commands = ["etm start " + BUFFER, "tbreak run", "continue", "monitor reset halt", "tbreak run", "continue"]
    output = session("sort", tmp_path, *commands, "stepi", "stepi", "stepi", "etm history -2", "etm doctor")
    assert addresses("\n".join(output)), output
    assert "Nothing is wrong." in output


REFUSED = [
    ("", "an MTB writes into the program's RAM: where? etm start --buffer SYMBOL"),
    ("--buffer 0x20040000,1000", "1000 bytes are no buffer: a power of two, at least 64"),
    ("--buffer 0x20040100,4K", "a buffer of 4 KiB begins at a multiple of its size, such as 0x20040000"),
    ("--buffer 0x20000000,64", "the program's variables are at 0x20000000-"),
    ("--buffer 0x2007f000,4K", "the stack is in 0x2007f000-0x2007ffff: it reaches down to 0x2007"),
    ("--buffer nowhere", "nowhere"),
    (
        "--buffer 0x30000000,4K",
        "is not in the RAM that the MTB reaches: from 0x20000000 (MTB_BASE) on, 0x80000 bytes",
    ),
    (BUFFER + " --cycles 4", "cycle counts: a Micro Trace Buffer traces branches, and all of them"),
]


def test_what_is_refused() -> None:
    before = ["etm connect board:m0 --elf %s" % elf("sort"), "tbreak run", "continue"]
    for said, (start, message) in zip(run_each(["etm start " + start for start, _ in REFUSED], before), REFUSED):
        assert message in said and "Tracing" not in said, (start, said)


def test_beside_another_trace_unit(tmp_path: Path) -> None:
    # The other is the default; both tell the same.
    found = []
    for choice, start in (("", ""), (" --unit 1", " " + BUFFER)):
        place = "--elf %s%s" % (t32_elf("interrupts"), choice)
        output = run_gdb(["etm connect board:m33,mtb " + place, "etm start" + start, "continue", "etm history 1,99999"])
        assert ("Trace: MTB at 0xe0047000" in output) == bool(choice), output
        found.append(addresses(output))
    assert found[0] and found[0] == found[1]


def test_a_buffer_is_for_an_mtb_alone(tmp_path: Path) -> None:
    output = run_gdb(["etm connect board:m33 --elf %s" % elf("sort"), "etm start " + BUFFER])
    assert "--buffer is for a Micro Trace Buffer: this trace goes to ETF at 0xe0043000" in output


def test_a_crash_and_its_cause(tmp_path: Path) -> None:
    # On this board nothing is at the address that the program reads; Armv6-M has HardFault alone, and no fault status.
    output = session(
        "script", tmp_path, "etm start --buffer 0x20040000,4K", "continue", "etm fault", "etm functions -3"
    )
    assert 'etm: HardFault. "etm fault" says why' in output
    assert any(
        line.endswith("<HardFault (exception 3), in Unexpected_Handler>") or "HardFault" in line for line in output
    )
    assert any(
        "0x40006000" in line or "sample" in line
        for line in output[output.index('etm: HardFault. "etm fault" says why') :]
    )


def test_a_buffer_in_memory_and_wrong_words(tmp_path: Path) -> None:
    load = "etm load --memory 0x20040000,512 --unit mtb --position 0x40004"
    commands = ["etm start --buffer 0x20040000,512", "tbreak finished", "continue", load, "etm history -1", "etm load"]
    output = session(
        "script",
        tmp_path,
        *commands,
        "etm load --memory 0x20040000,500 --unit mtb --position 4",
        "etm load --raw /nowhere --unit mtb",
    )
    assert any(
        re.match(r"capture 2: \d+ instructions from \w+ to \w+, .* in 512 bytes; before", line) for line in output
    )
    assert "a snapshot's folder or a dump, or --memory, or --raw with a file" in output
    assert "0x20040000,500: 500 bytes are no buffer: packets have 8 bytes each" in output
    assert "/nowhere: No such file or directory" in output


def _ran(folder: Path, path: str) -> List[int]:
    # From the start of the trace to the end of the program.
    lines = (folder / "truth").read_text("ascii").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("resume"))
    end = lines.index("halt 0x%08x" % symbol(path, "finished"), begin)
    return [int(line, 16) for line in lines[begin:end] if line.startswith("0x")]


@pytest.mark.parametrize("board", ["m0", "m23"])
def test_a_recording_longer_than_the_buffer(board: str, tmp_path: Path) -> None:
    """The MTB halts the core at its watermark; nothing is lost."""
    path = elf("nested") if board == "m0" else elf_m23("nested")
    place = "0x41006000" if board == "m0" else "0xe0043000"
    commands = [
        "etm connect board:%s --elf %s --truth %s" % (board, path, tmp_path / "truth"),
        "etm start --buffer 0x20040000,1K",
        "x/3xw " + place,
        "etm record --stitch",
        "x/3xw " + place,
        "etm history 1,1000000",
        "etm disconnect",
    ]
    output = run_gdb(commands)
    found = re.search(
        r"^recorded ([\d,]+) instructions in (\d+) pieces, .*: nothing that ran is missing$", output, re.M
    )
    assert found is not None and int(found[2]) > 10 and output.count("Program received signal") == 1, output
    ran = _ran(tmp_path, path)
    assert int(found[1].replace(",", "")) == len(ran) > 10000
    assert addresses("\n".join(line for line in output.splitlines() if not line.startswith("0x"))) == ran
    # Afterwards it traces on as before, without a watermark.
    before, after = (line for line in output.splitlines() if line.startswith(place))
    assert before == after and before.endswith("0x00000000")


def test_no_recording_of_what_stops_itself(tmp_path: Path) -> None:
    output = session("nested", tmp_path, "etm start --buffer 0x20040000,1K --stop-after 256", "continue", "etm record")
    assert "Tracing everything: 1 KiB at 0x20040000-0x200403ff, until 256 bytes are filled." in output
    assert any(line.startswith("etm: ") and line.endswith("in 256 bytes") for line in output)
    assert 'the trace stops itself (--stop-after); "etm start" without that, and record then' in output
    output = session("nested", tmp_path, "etm start " + BUFFER, "etm record --sample 1000")
    assert any(line.startswith("--sample: this core has no cycle counter (DWT_CTRL.CYCCNTENA") for line in output)


def _with_symbols(folder: Path, **symbols: int) -> str:
    program = shutil.which("arm-none-eabi-objcopy")
    if program is None:
        pytest.skip("no arm-none-eabi-objcopy (Debian: binutils-arm-none-eabi)")
    made = folder / "limits.elf"
    words = ["--add-symbol=%s=%#x,global" % pair for pair in symbols.items()]
    subprocess.run([program, *words, elf("sort"), str(made)], check=True)
    return str(made)


def test_ram_that_the_program_leaves_free(tmp_path: Path) -> None:
    output = session("sort", tmp_path, "etm start --buffer free,1K", "tbreak run", "continue", "etm filter list")
    assert "Tracing everything: 1 KiB circular at 0x20000400-0x200007ff." in output
    note = "note: the stack may grow by 510 KiB more before it comes to the buffer; how deep it will be is not known"
    assert note in output
    # Whatever the stack is then, the buffer stays.
    output = session("sort", tmp_path, "etm start --buffer free", "tbreak run", "continue", "etm start --buffer free")
    assert output.count("Tracing everything: 4 KiB circular at 0x20001000-0x20001fff.") == 2


def _answer(path: str, words: str) -> str:
    return run_gdb(["etm connect board:m0 --elf %s" % path, "etm start --buffer %s" % words, "etm disconnect"])


def test_limits_that_the_linker_script_names(tmp_path: Path) -> None:
    path = _with_symbols(tmp_path, __StackLimit=0x20004000, __HeapLimit=0x20002100, _sbrk=0x101)
    output = _answer(path, "free")
    assert "4 KiB circular at 0x20003000-0x20003fff." in output
    assert "note: the buffer is below __StackLimit, where the stack ends by the linker script" in output
    assert "7,936 bytes are free between the variables and the stack (0x20002100-0x20003fff), too little" in _answer(
        path, "free,8K"
    )
    assert "the program has a heap (_sbrk), and no symbol tells where it ends (such as __HeapLimit)" in _answer(
        _with_symbols(tmp_path, _sbrk=0x101), "free"
    )


PLACES = [
    ("free,48", "too little for 48 bytes|power of two"),
    ("free,128K", "131072 bytes of lent RAM are not put back|128 KiB of lent RAM are not put back"),
    ("0x20020000,128K", "128 KiB of lent RAM are not put back"),
    ("free,x", "x"),
]


def test_places_that_cannot_be() -> None:
    before = ["etm connect board:m0 --elf %s" % elf("sort")]
    found = run_each(["etm start --buffer " + words for words, _ in PLACES], before)
    for said, (words, why) in zip(found, PLACES):
        assert "Tracing" not in said and re.search(why, said), (words, said)
