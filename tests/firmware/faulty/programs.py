"""The faulty programs: what each is, and what is wrong with it."""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple


class Faulty(NamedTuple):
    """A program with one planted mistake."""

    # What kind of mistake it is.
    kind: str
    # For people: what is wrong.
    wrong: str
    # The function that it ends in.
    stop: str = "HardFault_Handler"
    # "c" or "cpp".
    language: str = "c"
    # Whether it is linked with newlib.
    hosted: bool = False
    # Whether it is linked with libstdc++, too.
    standard: bool = False
    # -mfloat-abi.
    floats: str = "soft"
    # For the compiler and the linker, in addition.
    options: Tuple[str, ...] = ()
    boards: Tuple[str, ...] = ("m33", "m7", "m4")
    # Whether the board has a write buffer.
    buffered: bool = False


C_LEVELS = ("O0", "Og", "O2", "Os")
CPP_LEVELS = ("Og", "O2", "O0", "Os")

PROGRAMS: Dict[str, Faulty] = {
    "inventory": Faulty(
        "heap-overrun-loop", "A name that is longer than its field runs into the header of the free block behind it."
    ),
    "weather": Faulty(
        "stack-overrun-loop", "A sentence of the sensor is longer than the line, and runs over the return address."
    ),
    "keypad": Faulty("null-call", "A screen's key handler is cleared while the screen is still below the one shown."),
    "motor": Faulty("wild-call", "An index is reset one too late, and the pointer behind the array is overwritten."),
    "thermostat": Faulty(
        "uninitialised-local", "Where every sensor of a room is silent, nobody has set the pointer to the best of them."
    ),
    "reminders": Faulty(
        "use-after-free", "A timer is freed while it is in the list; a message takes its memory.", hosted=True
    ),
    "slots": Faulty(
        "race-counter", "The main loop decrements a counter that a handler increments.", stop="assertion_failed"
    ),
    "rooms": Faulty(
        "stack-overflow-other-thread", "A local array of one thread is larger than its stack, and lies in the other's."
    ),
    "mailbox": Faulty(
        "double-free", "A letter that found no room was freed by post(), and again by who sent it.", hosted=True
    ),
    "frames": Faulty("stack-overrun-memcpy", "A frame's length is believed, and its payload is longer than the array."),
    "console": Faulty("stack-overrun-strcpy", "An argument longer than the array is copied over the return address."),
    "logger": Faulty("stack-overrun-sprintf", "A line with a warning is longer than the array for it.", hosted=True),
    "broker": Faulty(
        "heap-overrun-memcpy", "A size is cut to 8 bits, and more is copied than was allocated.", hosted=True
    ),
    "contacts": Faulty(
        "heap-overrun-strcpy", "A longer name is copied to where the shorter one was allocated.", hosted=True
    ),
    "labels": Faulty(
        "heap-overrun-sprintf", "A label with a long serial number runs over the job behind it.", hosted=True
    ),
    "canbus": Faulty("bss-overrun-memcpy", "A frame of CAN FD is longer than the 8 bytes that are kept of each."),
    "settings": Faulty("bss-overrun-strcpy", "A value longer than its field overwrites the pointer behind it."),
    "display": Faulty(
        "bss-overrun-sprintf", "A line longer than the screen overwrites the pointer to the driver.", hosted=True
    ),
    "scheduler": Faulty("off-by-one-structures", "A loop over the jobs goes one too far, and clears the idle job."),
    "units": Faulty("returned-frame-address", "A pointer into its own frame is returned where the text is long."),
    "lists": Faulty(
        "stack-overflow-recursion",
        "Each nested list takes a frame more, and nobody limits the depth.",
        options=("-Wl,--defsym=_low_stack=0x600",),
    ),
    "graph": Faulty(
        "stack-overflow-local",
        "A local picture is larger than the stack, and reaches into .bss.",
        options=("-Wl,--defsym=_mid_stack=0x200",),
    ),
    "alarm": Faulty(
        "stack-overflow-interrupt",
        "A handler's local array does not fit below a deep recursion.",
        options=("-Wl,--defsym=_mid_stack=0x300",),
    ),
    "events": Faulty("race-queue", "A handler puts an event while the main loop is putting one."),
    "ripples": Faulty("race-list", "A handler changes a list while the main loop takes from it or puts into it."),
    "packets": Faulty(
        "unaligned",
        "A record behind a text of odd length is read as a structure.",
        options=("-mno-unaligned-access",),
    ),
    "sandbox": Faulty(
        "mpu-fault", "A program stores past its memory into a protected table.", stop="MemManage_Handler"
    ),
    "encoder": Faulty("division-by-zero", "The times of a wheel that stalls are zero, and so is what is divided by."),
    "imu": Faulty("fpu-before-enabling", "On fast chips power_up() leaves the FPU off.", floats="hard"),
    "update": Faulty("wrong-vector", "A handler's address without its lowest bit is put into the vector table."),
    "kernel": Faulty("bad-exc-return", "A note behind the last one overwrites the thread's EXC_RETURN."),
    "belts": Faulty(
        "assert-kernel", "A parcel is taken back from an empty queue, whose count is then -1.", stop="vAssertCalled"
    ),
    "matrix": Faulty(
        "assert-newlib",
        "All samples are at one place, so that the matrix has no solution.",
        stop="__assert_func",
        hosted=True,
    ),
    "ledger": Faulty("abort", "A sum larger than 16 bits is cut where it is booked.", stop="_exit", hosted=True),
    "watch": Faulty(
        "watchdog-reset",
        "An order that waits already is put into the list again, which becomes a ring.",
        stop="reset_by_watchdog",
    ),
    "meter": Faulty(
        "stack-check",
        "A number has more digits than the array.",
        stop="__stack_chk_fail",
        options=("-fstack-protector-all",),
    ),
    "tuner": Faulty("index-from-input", "The length of a sentence is an index, and a long one reaches past the table."),
    "modem": Faulty("device-answer", "A modem that is busy says 255, which is taken for a length."),
    "elevator": Faulty("wrong-constant", "A table of states has a state that does not exist."),
    "flash": Faulty("null-store", "Pages are written after the cache was closed, which took the buffers away."),
    "widgets": Faulty(
        "vtable-overwritten", "A gauge's curve runs over its end, into the pointer of the next widget.", language="cpp"
    ),
    "pilot": Faulty(
        "uninitialised-member", "One constructor does not set the pointer to the limits.", language="cpp", hosted=True
    ),
    "scenes": Faulty(
        "use-after-delete", "The player holds an effect of a scene that it has deleted.", language="cpp", hosted=True
    ),
    "samples": Faulty(
        "double-delete", "A copy of a recording deletes the samples of the original.", language="cpp", hosted=True
    ),
    "route": Faulty("dangling-view", "A view of a local array is returned.", language="cpp"),
    "shapes": Faulty(
        "pure-virtual-call",
        "A destructor of the base calls what only derived classes have.",
        stop="__cxa_pure_virtual",
        language="cpp",
        hosted=True,
    ),
    "signals": Faulty("null-call", "A slot that was disconnected keeps its object, and is called.", language="cpp"),
    "stock": Faulty("heap-overrun-loop", "A vector grows one item too late.", language="cpp", hosted=True),
    "drivers": Faulty("vtable-overwritten", "A curve of six points is copied to where four have room.", language="cpp"),
    "messages": Faulty("wrong-cast", "An urgent level is marked as a command, and is taken for one.", language="cpp"),
    "ring": Faulty("off-by-one-structures", "A ring has one place more than its array.", language="cpp"),
    "scope": Faulty("bss-overrun-loop", "A zoomed sweep is longer than what is shown, and runs over a pointer."),
    "forest": Faulty(
        "stack-overflow-limit",
        "Keys that only grow make a tree of one branch, too high for a recursion.",
        boards=("m33",),
    ),
    "valves": Faulty(
        "imprecise-store",
        "An index is reset one too late, and the port behind the array is overwritten.",
        buffered=True,
    ),
    "mixer": Faulty("imprecise-store", "The newest of no blocks is number 65,535.", buffered=True),
    "lamps": Faulty(
        "imprecise-store", "A lamp that was given away is used by its floor.", language="cpp", buffered=True
    ),
    "survey": Faulty(
        "bss-overrun-loop", "A round has a value more than there are sensors, over a pointer.", stop="give_up"
    ),
    "camera": Faulty("dma-address", "A picture with a line too many goes over the pointer behind it."),
    "recorder": Faulty("dma-length", "Eight events are copied to where six have room."),
    "radio": Faulty("dma-stale-frame", "A receiver returns while DMA still copies into its frame."),
    "journal": Faulty(
        "stale-pointer", "A vector grows, and the pointers into it stay.", language="cpp", hosted=True, standard=True
    ),
    "agenda": Faulty(
        "use-after-delete",
        "A task that is cancelled is still the next one.",
        language="cpp",
        hosted=True,
        standard=True,
    ),
    "signs": Faulty(
        "heap-overrun-loop", "A string is written past its end.", language="cpp", hosted=True, standard=True
    ),
    "orders": Faulty(
        "exception-unsafe",
        "A pan is put down, and an exception keeps it from being taken up again.",
        language="cpp",
        hosted=True,
        standard=True,
    ),
    "intake": Faulty(
        "uncaught-exception",
        "A parcel that is too heavy for the last belt throws an exception that nothing catches.",
        stop="_exit",
        language="cpp",
        hosted=True,
        standard=True,
    ),
    "nested": Faulty(
        "stack-overflow-heap", "A list is nested too deep for a recursion, whose stack grows over another block."
    ),
    "intercom": Faulty("assert-faults", "A call that has ended is ended again, and the assertion's own output faults."),
    "boot": Faulty("erased-flash", "An erased slot has a version that is not 0, and its entry is called."),
    "couriers": Faulty(
        "heap-overrun-loop", "A note with many marks is longer than its field, in a block of a kernel's heap."
    ),
    "parking": Faulty("null-call", "A count that differs from what is shown clears the handler that shows it."),
    "relay": Faulty("bad-exc-return", "A thread's first frame has an EXC_RETURN to a handler."),
    "diary": Faulty("stale-frame-store", "A file is in a frame that is left, and its buffer is written to later."),
    "buoys": Faulty(
        "use-after-free-pool",
        "A buoy goes back to its pool while it is shown, with a link over its vtable.",
        language="cpp",
        hosted=True,
    ),
}

# Those that are built for a Cortex-M0+, too: their culprit is not far back.
ON_M0 = ("keypad", "motor", "frames", "settings")

# Builds that do not fault as they should, with the reason; of a whole level, or of a level on one board.
LEFT_OUT: Dict[Tuple[str, ...], str] = {
    ("radio", "O0"): "DMA overwrites a loop's counter, and the loop fills the history",
}


def levels_of(program: str) -> Tuple[str, ...]:
    """Return the levels of optimisation that a program is built at.

    :param program: One of PROGRAMS.
    """
    levels = CPP_LEVELS if PROGRAMS[program].language == "cpp" else C_LEVELS
    return tuple(level for level in levels if (program, level) not in LEFT_OUT)


def builds() -> Tuple[Tuple[str, str, str], ...]:
    """Return all builds: program, level, board; those on m0 last."""
    found = [
        (program, level, board)
        for program, faulty in PROGRAMS.items()
        for level in levels_of(program)
        for board in faulty.boards
        if (program, level, board) not in LEFT_OUT
    ]
    return (*found, *((program, level, "m0") for program in ON_M0 for level in C_LEVELS))
