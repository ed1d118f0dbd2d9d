"""The source, read: ``import gdb_etm`` is documented, typed and cheap."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from typing import Any, Iterator, Set, Tuple

import pytest

import gdb_etm
from gdb_etm import api
from gdb_etm.commands.connect import CONNECT, WHERE
from gdb_etm.commands.declare import Command
from gdb_etm.commands.trace import START
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.session.connecting import ConnectRequest
from gdb_etm.session.request import TraceRequest
from tests.test_style import ROOT

# Of methods; the last three are the protocol's of ``with``.
IGNORED = {"self", "kind", "error", "where"}


def callables() -> Iterator[Tuple[str, Any]]:
    """Yield every public function and method by its dotted name."""
    for name in gdb_etm.__all__:
        found = getattr(gdb_etm, name)
        yield name, found
        if not inspect.isclass(found) or issubclass(found, EtmError):
            continue
        for member, value in vars(found).items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                yield "%s.%s" % (name, member), value


def test_the_package_offers_what_the_api_does() -> None:
    assert gdb_etm.__all__ == api.__all__ == sorted(api.__all__)
    for name in gdb_etm.__all__:
        assert getattr(gdb_etm, name) is getattr(api, name)
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        getattr(gdb_etm, "conect")


def test_type_checkers_see_the_same_names() -> None:
    assert "\nfrom gdb_etm.api import *\n" in (ROOT / "gdb_etm" / "__init__.pyi").read_text("utf-8")


@pytest.mark.parametrize("name, found", list(callables()))
def test_every_name_has_its_words(name: str, found: Any) -> None:
    text = inspect.getdoc(found) or ""
    assert text and text.splitlines()[0].endswith((".", ":")), name
    function = found.fget if isinstance(found, property) else found
    if inspect.isclass(function):
        is_tuple = issubclass(function, tuple)
        if is_tuple or function.__init__ is object.__init__ or issubclass(function, (EtmError, api.CallKind, api.Tier)):
            return
        function = function.__init__
    signature = inspect.signature(function)
    missing = [one for one in signature.parameters if one not in IGNORED and ":param %s:" % one not in text]
    assert not missing, "%s: %s" % (name, missing)
    hints = [one.annotation for key, one in signature.parameters.items() if key != "self"]
    assert inspect.Parameter.empty not in hints and signature.return_annotation is not inspect.Signature.empty, name


VALUES = ("Call", "Finding", "Instruction", "Step", "Stop", "Thread", "TracePlan", "Value", "Write", "Written")


@pytest.mark.parametrize("name", VALUES)
def test_every_field_of_a_value_is_explained(name: str) -> None:
    text = inspect.getsource(getattr(api, name))
    (body,) = [node.body for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    fields = [node for node in body if isinstance(node, ast.AnnAssign)]
    above = [text.splitlines()[field.lineno - 2].strip() for field in fields]
    assert fields and all(line.startswith("# ") for line in above), above


# Commands of their own: etm on, counter, sequencer, trigger.
EVENTS = {"filters", "on", "counters", "first_state", "trigger_position"}


@pytest.mark.parametrize(
    "function, command, positions",
    [(gdb_etm.connect, CONNECT, {WHERE.name.lower()}), (gdb_etm.Session.configure, START, EVENTS)],
)
def test_keywords_are_the_options_of_the_command(function: Any, command: Command, positions: Set[str]) -> None:
    options = {argument.name[2:].replace("-", "_") for argument in command.arguments if argument.is_option}
    assert set(inspect.signature(function).parameters) - {"self"} - positions == options


@pytest.mark.parametrize("value", [1.5, {1}, True, b"4", "4"])
def test_a_value_of_another_kind_is_refused(value: Any) -> None:
    with pytest.raises(CommandError, match="^cycles: .* is not a number$"):
        TraceRequest(cycles=value)


def wished(name: str, value: Any) -> Any:
    return {name: (value,)}


@pytest.mark.parametrize("name", ["include", "exclude", "broadcast_range", "data_range", "data_exclude"])
def test_an_address_of_another_kind_is_refused(name: str) -> None:
    for pair in ((1.5, 2), (0, "4")):
        with pytest.raises(CommandError, match="^%s: .* is not a number$" % name):
            TraceRequest(**wished(name, pair))
    with pytest.raises(CommandError, match="^%s: -1 is negative$" % name):
        TraceRequest(**wished(name, (-1, 4)))


@pytest.mark.parametrize("name", ["frequency", "unit", "buffer", "etb_size"])
def test_a_number_of_a_connection_is_not_negative(name: str) -> None:
    given: Any = {name: -1}
    with pytest.raises(CommandError, match="^%s: -1 is negative$" % name):
        ConnectRequest(**given)


def test_the_import_alone_brings_nothing_with_it() -> None:
    program = "import sys, gdb_etm; print(*sorted(one for one in sys.modules if one.startswith('gdb_etm')))"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True, cwd=str(ROOT))
    assert done.stdout.split() == ["gdb_etm"]
