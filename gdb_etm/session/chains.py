"""Where a value came from, and what was made of it."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node, Slice
from gdb_etm.diagnosis.uses import find_uses
from gdb_etm.errors import CommandError
from gdb_etm.recovery.makers import MakerKind, RegisterPlace
from gdb_etm.recovery.values import Tier
from gdb_etm.session.asked import Asked
from gdb_etm.views.fault import Words, place_words, says_more
from gdb_etm.views.steps import place_name, step_text, value_at
from gdb_etm.views.text import plural
from gdb_etm.views.tree import TreeStep
from gdb_etm.views.values import mark

# Why a way back ends.
_ENDS = {
    MakerKind.CONSTANT: "a constant of the program",
    MakerKind.DEVICE: "what a device, or another master, put there is in no trace of the core's",
}
_UNSURE = 'what it rests on is not followed; "etm why" says why'

# What an instruction does with a value of which it keeps nothing.
_LOOKED = {"branch": "goes there", "address": "accesses memory there", "compared": "compares it"}


class ChainStep(NamedTuple):
    """A step of a value's way."""

    # Of the instruction; None where it is none of the history.
    number: Optional[int]
    # The register, variable or address.
    what: str
    # What is there after it; None where that is not known.
    value: Optional[int]
    # How it came there: "loaded", "computed", "stored" and so on.
    made: str
    # What that rests on.
    tier: Tier
    # "<dispatch+34>" and "rx.c:121"; empty where unknown.
    place: str
    line: str
    text: str
    # The index of the step that it belongs to; None for the first.
    parent: Optional[int]
    # Whether it is about the address of an access, not about the value.
    is_address: bool


class Chain(NamedTuple):
    """The way of a value, backward or forward."""

    # "r3 = 0x00163333 (assumed)".
    title: str
    # Those that matter most first, each after its parent.
    steps: Tuple[ChainStep, ...]
    # Why it ends, in a line.
    end: str


def _title(asked: Asked) -> str:
    value = asked.scene.value(asked.place)
    text = value_at(asked.place, value, asked.scene)
    if text and value.tier is not Tier.EXACT:
        text += " " + mark(value.tier)
    name, held = asked.name, place_name(asked.place, asked.scene)
    if isinstance(asked.place, RegisterPlace):
        name = name.lstrip("$") if name.lstrip("$") == held else "%s in %s" % (name, held)
    elif name[:1].isdigit() and not held.startswith("0x"):
        name = "%s <%s>" % (name, held)
    return "%s%s %s" % (name, " = " + text if text else "", asked.moment)


def origin(asked: Asked, words: Words, addresses: bool = False) -> Chain:
    """Find the way of a value back to where it was first.

    :param addresses: Whether to tell, too, where the addresses of its loads and stores came from.
    """
    scene = asked.scene
    found = Slice(scene, [asked.place])
    kept: Dict[int, int] = {}
    steps: List[ChainStep] = []
    on_stack: Optional[Node] = None
    for node in found:
        parent = kept.get(node.parent) if node.parent is not None else None
        if node.parent is not None and (parent is None or node.is_address and not addresses):
            continue
        if _is_stack(node, found):
            on_stack = on_stack or node
            continue
        kept[node.at] = len(steps)
        steps.append(chain_step(node, scene, words)._replace(parent=parent))
    return Chain(_title(asked), tuple(steps), _end(found, on_stack, scene))


def _is_stack(node: Node, found: Slice) -> bool:
    # How SP came to be what it is takes many steps and tells nothing.
    is_pointer = isinstance(node.place, RegisterPlace) and node.place.name == "sp"
    return is_pointer and node.parent is not None and found.nodes[0].place.number != node.place.number


def _where(scene: Scene, words: Words, number: int) -> Tuple[Optional[int], str, str]:
    if not 1 <= number <= len(scene.history):
        return None, "", ""
    return (number, *place_words(words, scene.index.address(number)))


def chain_step(node: Node, scene: Scene, words: Words) -> ChainStep:
    """Give a node of a slice as a step, with its parent."""
    maker = node.maker
    number, place, line = _where(scene, words, maker.number)
    text = ("address: " if node.is_address else "") + step_text(node, scene)
    value = scene.value(node.place)
    name = place_name(node.place, scene)
    made = maker.kind.value
    return ChainStep(number, name, value.value, made, maker.tier, place, line, text, node.parent, node.is_address)


def _end(found: Slice, on_stack: Optional[Node], scene: Scene) -> str:
    ends = [node for node in found.nodes if node.maker.kind in _ENDS or node.maker.tier > Tier.ASSUMED]
    # What is not known says more than a constant.
    own = sorted([node for node in ends if not node.is_address], key=lambda node: node.maker.kind is MakerKind.CONSTANT)
    if own:
        text = _ENDS.get(own[0].maker.kind) or says_more(own[0], scene) or _UNSURE
        if own[0].maker.kind is MakerKind.BEFORE and not says_more(own[0], scene):
            text = "tracing started there"
        return "[ends at #{:,}: {}]".format(own[0].maker.number, text)
    if on_stack is not None:
        return "[ends at #{:,}: what the stack pointer was]".format(on_stack.place.number)
    return "[%s were looked at]" % plural(len(found.nodes), "step") if found.is_cut else ""


def uses(asked: Asked, words: Words) -> Chain:
    """Find what was made of a value.

    :raises CommandError: Nothing ran after its moment.
    """
    scene = asked.scene
    if asked.place.number > len(scene.history):
        raise CommandError("nothing ran after this position; say from where on: --at N")
    found = find_uses(scene, asked.place)
    steps: List[ChainStep] = []
    for use in found.uses:
        number, place, line = _where(scene, words, use.number)
        if use.place is None or use.maker is None:
            text = "%s: %s" % (_LOOKED[use.made], words.instruction(use.number))
            steps.append(ChainStep(number, "", None, use.made, Tier.EXACT, place, line, text, use.parent, False))
            continue
        node = Node(use.place, use.maker, None, False, 0)
        name, value = place_name(use.place, scene), scene.value(use.place).value
        text, tier = step_text(node, scene), use.maker.tier
        steps.append(ChainStep(number, name, value, use.made, tier, place, line, text, use.parent, False))
    last = asked.place.number + found.looked_at - 1
    held = "{} from here on were looked at".format(plural(found.looked_at, "instruction"))
    end = held if found.is_held else "nothing holds it after #{:,}".format(last)
    return Chain(_title(asked), tuple(steps), "[%s; loads and stores of unknown address are not followed]" % end)


def tree_steps(chain: Chain) -> List[TreeStep]:
    """Give a chain's steps as those of a tree."""
    return [
        TreeStep(one.number, one.place, one.line, one.text, one.parent, (one.place, one.what, one.made), one.is_address)
        for one in chain.steps
    ]
