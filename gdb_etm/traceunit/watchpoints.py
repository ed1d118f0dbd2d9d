"""The comparators of a Cortex-M's DWT while its trace unit borrows them."""

from __future__ import annotations

from typing import Dict, List, Optional

from gdb_etm.coresight.borrowed import Borrowed, Restoration
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError
from gdb_etm.registers import dwt, dwt_v8
from gdb_etm.traceunit.apply import apply, differences
from gdb_etm.traceunit.plan import Plan

_LARGEST_MASK = 0x1F


class Watchpoints:
    """The comparators of a DWT.

    :param component: Where it is; None where the processor has none.
    """

    def __init__(self, component: Optional[Component], deadline: Deadline) -> None:
        self._registers = None if component is None else Borrowed(component.port, component.address)
        self._deadline = deadline

    def probe(self) -> Dict[str, int]:
        """Read the number of comparators, free ones and mask widths.

        :returns: The registers by name, those of the masks with the most they take.
        """
        registers = self._registers
        if registers is None:
            return {}
        values = {dwt.DWT_CTRL.name: registers.read(dwt.DWT_CTRL)}
        for n in range(min(dwt.DWT_CTRL.get(values[dwt.DWT_CTRL.name], "NUMCOMP"), len(dwt.DWT_COMP))):
            function = values[dwt.DWT_FUNCTION[n].name] = registers.read(dwt.DWT_FUNCTION[n])
            is_v8 = dwt_v8.DWT_FUNCTION[n].get(function, "ID")
            if not is_v8 and not dwt.DWT_FUNCTION[n].get(function, "FUNCTION"):
                mask = dwt.DWT_MASK[n]
                found = registers.read(mask)
                registers.write(mask, _LARGEST_MASK)
                values[mask.name] = registers.read(mask)
                registers.command(mask, found)
        return values

    def take(self, plan: Plan) -> None:
        """Remember the plan's comparators; restore those of the last plan."""
        if self._registers is not None:
            self._registers.remember(write.offset for write in plan.dwt)
            for step in self._registers.restoration():
                step.port.write32(step.address, step.value)

    def program(self, plan: Plan) -> None:
        """Write a plan's comparators."""
        if plan.dwt and self._registers is not None:
            apply(Plan(plan.dwt), self._registers.port, self._registers.base, self._deadline)

    def check(self, plan: Plan) -> None:
        """See that a plan's comparators are still ours.

        :raises CaptureError: A watchpoint took one.
        """
        # A debugger that needs a watchpoint takes the next comparator that its own books call free.
        for write in plan.dwt:
            if self._registers is not None and write.name.startswith("DWT_FUNCTION") and write.value:
                function = self._registers.port.read32(self._registers.base + write.offset) & write.mask
                if function not in (0, write.value):
                    raise CaptureError(
                        "a watchpoint took the comparator of the trace filter (%s): delete it, or start"
                        ' anew with another filter ("etm start")' % write.name
                    )

    def differ(self, plan: Plan) -> bool:
        """Whether they differ from what a plan wrote."""
        registers = self._registers
        return registers is not None and bool(differences(Plan(plan.dwt), registers.port, registers.base))

    def restoration(self) -> List[Restoration]:
        """List the writes that put them back as they were found."""
        return [] if self._registers is None else self._registers.restoration()

    def restore(self) -> None:
        """Put them back as they were found."""
        if self._registers is not None:
            self._registers.restore()
