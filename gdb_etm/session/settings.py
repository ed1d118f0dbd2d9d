"""Changes of settings, told to those who use them."""

from __future__ import annotations

from gdb_etm.replay.reliance import RELIED_ON
from gdb_etm.session.background import BACKGROUND
from gdb_etm.session.messages import shared_settings
from gdb_etm.session.session import DebugSession


def change_setting(session: DebugSession, name: str, value: str) -> None:
    """Change a setting, and update those who show it.

    :raises EtmError: The process that uses it does not accept it.
    """
    keep_setting(session, name, value)
    session.on_setting(name)


def keep_setting(session: DebugSession, name: str, value: str) -> None:
    """Change a setting for the debugger, which shows it already.

    :raises EtmError: The process that uses it does not accept it.
    """
    before, session.settings[name] = session.settings.get(name), value
    if name == BACKGROUND:
        session.background.is_wanted = value == "on"
    if value != before:
        session.background.stop()
    if name not in RELIED_ON or value == before:
        return
    if session.connection is not None and session.connection.rely(shared_settings(session.settings)):
        session.debugger.refresh()
    elif session.replays is not None and session.replays == session.debugger.connection():
        session.debugger.monitor("%s %s" % (name, value))
        session.debugger.refresh()
