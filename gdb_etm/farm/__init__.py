"""Many captures at once: what each says, as Parquet files.

``gdb-etm analyse`` works on a cluster of Dask.  In reading order:

- ``shell.py``: the command; ``run.py``: what is done, in which order.
- ``tables.py``: the tables and their columns, with units; the guide's page has the same.
- ``identity.py``: hashes, by which work that was done before is known.
- ``store.py``: the folder of Parquet files.
- ``cluster.py``: the border to Dask: processes of this computer behind TLS, or the user's own scheduler.
- ``work.py``: what a worker does with a batch of captures, by ``measure.py``, which makes the rows of one.
- ``samples.py``: profiles for compilers, of the tables.
- ``libraries.py``: libraries of the extra ``farm``, imported when they are used.

Workers write what they find; to the scheduler they return numbers.  The tables' rows are of a capture's content, so
the same content under other names is worked on once.
"""
