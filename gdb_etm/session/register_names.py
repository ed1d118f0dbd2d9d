"""The names of the registers whose past values are worked out."""

from __future__ import annotations

from gdb_etm.errors import CommandError

# The core's registers.
CORE = ["r%d" % number for number in range(13)] + ["sp", "lr", "pc", "xpsr"]
# All of them; n, z, c and v are the flags in xpsr.
NAMES = CORE + ["n", "z", "c", "v", "msp", "psp", "control"] + ["s%d" % number for number in range(32)] + ["fpscr"]
_REGISTERS = "r0 to r12, sp, lr, %s, s0 to s31, fpscr" % ", ".join(NAMES[15:24])
_ALIASES = {"r13": "sp", "r14": "lr", "r15": "pc", "cpsr": "xpsr", "fp": "r11", "ip": "r12"}


def register_name(text: str) -> str:
    """Normalise a register's name: ``$R3`` is r3, r13 is sp.

    :raises CommandError: There is no such register.
    """
    name = text.lstrip("$").lower()
    name = _ALIASES.get(name, name)
    if name not in NAMES:
        raise CommandError('no register "%s"; there are %s' % (text, _REGISTERS))
    return name
