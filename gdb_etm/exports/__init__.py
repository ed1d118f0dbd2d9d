"""Exports: coverage and profiles in other tools' formats.

Coverage, from :mod:`gdb_etm.analysis.coverage`:

- ``lcov.py``: a trace file of lcov (``genhtml``).
- ``gcovr.py``: JSON of gcovr.

Profiles, from :mod:`gdb_etm.analysis.profile`:

- ``collapsed.py``: collapsed stacks of FlameGraph.
- ``speedscope.py``: JSON of speedscope.
- ``callgrind.py``: Callgrind's format (KCachegrind, ``callgrind_annotate``).
- ``pprof.py``: pprof's protocol buffer.

Counts, from :mod:`gdb_etm.analysis.edges`, go to compilers by ``sample_profile.py``.

A timeline, from :mod:`gdb_etm.analysis.timeline`, goes to Perfetto by ``perfetto.py``.

All of it goes into one page: ``report.py`` makes its document, ``page.py`` the page, of the template, style and scripts
in ``page/``.

``formats.py`` chooses by a file's name; ``sources.py``: what they need of source lines.  What needs a library of the
extra ``report`` runs in a process of its own, ``encode.py``, so that GDB's Python needs none; such an export is first
made a document, which is plain data.
"""
