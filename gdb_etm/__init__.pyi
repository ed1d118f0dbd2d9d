# What __init__.py gives by __getattr__, for type checkers.

from gdb_etm.api import Breakpoint as Breakpoint
from gdb_etm.api import Call as Call
from gdb_etm.api import CallKind as CallKind
from gdb_etm.api import Capture as Capture
from gdb_etm.api import Counter as Counter
from gdb_etm.api import EtmError as EtmError
from gdb_etm.api import Finding as Finding
from gdb_etm.api import History as History
from gdb_etm.api import Instruction as Instruction
from gdb_etm.api import Session as Session
from gdb_etm.api import Step as Step
from gdb_etm.api import Stop as Stop
from gdb_etm.api import Tier as Tier
from gdb_etm.api import TracePlan as TracePlan
from gdb_etm.api import Value as Value
from gdb_etm.api import Write as Write
from gdb_etm.api import Written as Written
from gdb_etm.api import connect as connect
from gdb_etm.api import current as current
from gdb_etm.api import load as load

__version__: str
