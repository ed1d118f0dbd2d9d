"""Bundles: what happened on somebody's board, in one file that repeats it.

A bundle holds every access through the connection's ports, the captures and the doctor's findings.  It is made by
``etm doctor --bundle``, and ``gdb-etm replay-bundle`` repeats connecting, planning, draining, decoding and the doctor
against it, without hardware.  It comes from a stranger and goes to one: what is written is free of paths and names, and
what is read is bounded.  In reading order:

- ``contents.py``: what a bundle holds.
- ``privacy.py``: what is left out of it, and out of its texts.
- ``values.py``: requests and profiles as JSON, and back; ``lines.py``: the record as JSON lines, and back.
- ``archive.py``: the file, a zip archive with bounds.
- ``collect.py``: from a session to a bundle.
- ``repeat.py``: a bundle without hardware; ``shell.py``: the same from the shell.
"""
