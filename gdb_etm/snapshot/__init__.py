"""Snapshots: a capture as a folder of ini files and dumps.

Arm Development Studio and OpenCSD read them too.

- ``folder.py``: the only place that opens such files: within the folder, with a bound for each size.
- ``ini.py``: their dialect; ``devices.py``, ``trace.py``: a device's file, and which source is in which buffer;
  ``pieces.py``: the parts of a buffer that was read at several halts.
- ``reader.py``: folder to captures; ``writer.py``, ``folder_writer.py``: capture to folder, all of it or nothing.
"""
