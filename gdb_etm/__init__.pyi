# What __init__.py gives by __getattr__, for type checkers.

from gdb_etm.api import *

__version__: str
