"""The commands, declared as data and free of GDB.

- ``declare.py``: what a command, an argument and a setting are; ``parse.py``: words to values;
  ``catalogue.py``: names and help as GDB has them before one is used.
- ``registry.py``: all commands, their abbreviations and settings; ``guide.py``: the page of each; ``overview.py``:
  plain ``etm``.
- One file a command, or a few that belong together: ``connect.py``, ``trace.py``, ``captures.py``, ``history.py``,
  ``threads.py``, ``packets.py``, ``frames.py``, ``moves.py``, ``replay.py``, ``values.py``, ``why.py``, ``fault.py``,
  ``filter.py``, ``on.py``, ``counter.py``, ``registers.py``, ``budget.py``, ``doctor.py``, ``settings.py``,
  ``writes.py``, ``origin.py``, ``race.py``, ``selftest.py``; ``value_objects.py``,
  ``listing_objects.py``, ``written_objects.py``: what these say as JSON.
- ``selftest_shell.py``: ``gdb-etm selftest``, which connects as well.
- ``anonymise.py`` and, in the shell, ``anonymise_shell.py``; ``blackbox_shell.py``: the C files that firmware links.
- ``coverage.py``, ``profile.py``, ``timeline.py``, which the shell has for many snapshots: ``merged.py``.
- ``record.py``: more than the buffer holds.
- ``compare.py``: two executions; ``compare_shell.py``: ``gdb-etm compare``.
- ``report.py``: all of that in a page; ``report_shell.py``: ``gdb-etm report``.
- ``options.py``: the options of ``etm start``, which ``etm plan`` and ``etm diff`` take as well.

A command reads its values, asks the session, and yields lines.  It never calls another command for its text.
"""
