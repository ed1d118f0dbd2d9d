"""The patterns of mistakes, one file each.

Each looks at one step of a slice, and names what is wrong with it or says nothing.  A pattern accuses only where the
step cannot be right: what is merely unusual is none.

- ``alignment.py``: addresses that are not aligned.
- ``bounds.py``: stores and loads outside of what their pointer was made from; ``elements.py``: stores through an index
  outside of its array; ``torn.py``: pointers of which a part was overwritten; ``wraps.py``: indices below zero.
- ``heap.py``: memory that was freed.
- ``masters.py``: memory that another master wrote.
- ``no_memory.py``: blocks that allocators did not give.
- ``pure_virtual.py``: pure virtual functions of what is being destroyed.
- ``races.py``: updates that another context has interrupted.
- ``returned.py``: threads' functions that return.
- ``stacks.py``: stacks that outgrow their memory; pointers to frames that are gone.
- ``unset.py``: values that nobody has set.

Two say what is odd and accuse nobody: ``narrowing.py`` of values that are cut, ``rings.py`` of lists without end.
"""
