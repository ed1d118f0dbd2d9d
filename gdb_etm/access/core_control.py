"""Run control of the core for clients without GDB.

It uses the same pyOCD core as the GDB server.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Dict, Iterator, List

from elftools.common.exceptions import ELFError
from pyocd.core import exceptions
from pyocd.core.target import Target
from pyocd.coresight.cortex_m import CortexM
from pyocd.flash.file_programmer import FileProgrammer
from pyocd.gdbserver import GDBServer

from gdb_etm.access.pyocd_port import access_error
from gdb_etm.errors import EtmError

# What :meth:`CoreControl.registers` reads, by pyOCD's names.
REGISTERS = (*("r%d" % number for number in range(13)), "sp", "lr", "pc", "xpsr")


class CoreControl:
    """One client's run control; :meth:`release` undoes what it left.

    :param core: The core that the GDB server is for.
    :param server: The server; while a GDB is attached to it, the core is GDB's.
    """

    def __init__(self, core: CortexM, server: GDBServer) -> None:
        self._core = core
        self._server = server
        self._breakpoints: List[int] = []
        self._touched = False
        self._ran_before = False

    def run(self) -> None:
        """Resume a halted core, past a breakpoint where it stands.

        A running core goes on.

        :raises AccessError: The target does not answer.
        :raises EtmError: GDB has the core.
        """
        with self._hold("run"):
            if self._core.get_state() is not Target.State.HALTED:
                return
            here = int(self._core.read_core_register("pc"))
            if here in self._breakpoints:
                self._core.remove_breakpoint(here)
                self._core.step()
                self._core.set_breakpoint(here, Target.BreakpointType.HW)
            self._core.resume()

    def halt(self) -> None:
        """Ask a running core to halt.

        :raises AccessError: The target does not answer.
        :raises EtmError: GDB has the core.
        """
        with self._hold("halt"):
            self._core.halt()

    def reset(self) -> None:
        """Reset the chip and halt at the first instruction; breakpoints stay.

        :raises AccessError: The target does not answer.
        :raises EtmError: GDB has the core.
        """
        with self._hold("reset"):
            self._core.reset_and_halt()
            for address in self._breakpoints:
                self._core.set_breakpoint(address, Target.BreakpointType.HW)

    def load(self, path: str) -> None:
        """Write a program, and halt at its first instruction.

        :param path: An ELF file.
        :raises AccessError: The target does not answer, or there is no memory for it.
        :raises EtmError: GDB has the core, or the file cannot be read.
        """
        if not os.path.isfile(path):
            raise EtmError("no file %s to load" % path)
        with self._hold("load a program into"):
            self._core.reset_and_halt()
            writer = FileProgrammer(self._core.session, progress=lambda share: None, no_reset=True)
            try:
                writer.program(path, file_format="elf")
            except ELFError as error:
                raise EtmError("%s is no ELF file: %s" % (path, error)) from None
        self.reset()

    def registers(self) -> Dict[str, int]:
        """Read :data:`REGISTERS` of a halted core.

        :raises AccessError: The target does not answer.
        :raises EtmError: The core runs.
        """
        with self._translated("read the registers of"):
            if self._core.get_state() is not Target.State.HALTED:
                raise EtmError("the core runs; halt it first")
            return {name: int(self._core.read_core_register(name)) for name in REGISTERS}

    def set_breakpoint(self, address: int) -> None:
        """Set a breakpoint on an instruction, in a halted or running core.

        :param address: Its byte address; bit 0 is not looked at.
        :raises AccessError: The target does not answer.
        :raises EtmError: GDB has the core, or no breakpoint is left.
        """
        address &= ~1
        with self._hold("set a breakpoint on"):
            if address in self._breakpoints:
                return
            # pyOCD sets breakpoints when the core is about to run, and passes over one that it then has no place for.
            # What it takes for RAM may be flash, so the unit comes first: a BKPT is written only where it cannot reach.
            accepted = self._core.set_breakpoint(address, Target.BreakpointType.HW)
            self._core.bp_manager.flush()
            if not accepted or self._core.bp_manager.get_breakpoint_type(address) is None:
                raise EtmError(
                    "no hardware breakpoint is left for 0x%08x; set so far: %d" % (address, len(self._breakpoints))
                )
            self._breakpoints.append(address)

    def clear_breakpoint(self, address: int) -> None:
        """Clear a breakpoint of ours; an absent one is no error.

        :raises AccessError: The target does not answer.
        :raises EtmError: GDB has the core.
        """
        address &= ~1
        if address not in self._breakpoints:
            return
        with self._hold("clear a breakpoint on"):
            self._breakpoints.remove(address)
            self._core.remove_breakpoint(address)
            self._core.bp_manager.flush()

    def release(self) -> None:
        """Clear our breakpoints and restore the core's run state.

        It runs again if it ran before our first request and no GDB has it.

        :raises AccessError: The target does not answer.
        """
        if not self._touched:
            return
        with self._translated("let go of"):
            for address in self._breakpoints:
                self._core.remove_breakpoint(address)
            self._breakpoints.clear()
            self._core.bp_manager.flush()
            if self._ran_before and not self._is_gdbs:
                self._core.resume()

    @property
    def _is_gdbs(self) -> bool:
        with self._server.client_sessions_lock:
            return any(client.is_attached_to_target for client in self._server.client_sessions)

    @contextmanager
    def _hold(self, what: str) -> Iterator[None]:
        # The lock keeps the server's threads from attaching a GDB meanwhile.
        with self._server.lock, self._translated(what):
            if self._is_gdbs:
                raise EtmError("cannot %s the core: GDB is attached to it; do so in GDB, or let it detach" % what)
            if not self._touched:
                self._ran_before = self._core.get_state() is not Target.State.HALTED
                self._touched = True
            yield

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except (exceptions.Error, OSError) as error:
            raise access_error(error, "%s the core" % what) from None
