"""Access to the target's registers: ports, pyOCD, the process, and recordings.

What GDB's own Python loads needs the standard library only:

- ``port.py``: the one way to reach registers; ``memory_port.py``: through a debugger's reads and writes of memory.
- ``process.py``, ``client.py``, ``stream.py``, ``wire.py``: GDB's side of the process beside it.
- ``recording.py``: every access of a connection, recorded; ``playback.py``: the same repeated without hardware.

What runs in the process that has pyOCD:

- ``server.py``: the process; ``channels.py``, ``request_handler.py``: its clients' requests.
- ``pyocd_session.py``, ``pyocd_port.py``: pyOCD's session and its access ports.
- ``gdb_server.py``, ``guards.py``: pyOCD's GDB server, and guards of its connections, commands and files.
- ``core_control.py``: run and halt the core for a client without GDB.
- ``watched_probe.py``, ``watchdog.py``: nobody waits for ever, and the process ends when its client does.
- ``logs.py``: pyOCD's warnings; ``versions.py``: which pyOCD, and which firmware the probe has.
"""
