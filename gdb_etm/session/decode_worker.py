"""The process that decodes a part of a capture.

It reads an errand from standard input and writes the result to standard output.

It writes messages of a kind and a size: :data:`PROGRESS` with the number of bytes decoded since the last one; at the
end :data:`RESULT` with the size of the recording, which follows.  It needs the standard library and this package only.
"""

from __future__ import annotations

import gc
import os
import struct
import sys

from gdb_etm.history.errand import run_errand

MESSAGE = struct.Struct("<BQ")
PROGRESS = 1
RESULT = 2


def main() -> int:
    """Do what standard input asks for.

    :returns: The exit status: 0 when the result was written.
    """
    gc.disable()  # nothing made here becomes garbage before the end
    output = sys.stdout.buffer

    def tell(size: int) -> None:
        output.write(MESSAGE.pack(PROGRESS, size))
        output.flush()

    try:
        result = run_errand(sys.stdin.buffer.read(), tell)
        output.write(MESSAGE.pack(RESULT, len(result)))
        output.write(result)
        output.flush()
    except BrokenPipeError:
        # Whoever asked is gone, or wants no more; nothing more can be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
