"""Runs that nobody watches: a script's checks of a program.

- ``script.py``: a TOML file as values: target, trace, runs and checks.
- ``figures.py``: what was measured, and verdicts; ``checks.py``, ``limits.py``, ``rules.py``: what is checked.
- ``runs.py``: connects, loads, traces, runs, and asks the checks.
- ``document.py``, ``junit.py``, ``text.py``: the result as JSON, for test servers, and for people.
- ``shell.py``: ``gdb-etm run``; ``plugin.py``: the same in pytest.

A figure that was not made from all that ran says so, in every format.  A check that may have been decided by what was
not seen is *uncertain*, unless the script accepts that.
"""
