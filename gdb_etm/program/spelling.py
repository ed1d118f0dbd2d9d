"""Names of types, as GDB writes them.

Ref: DWARF Debugging Information Format, version 5, chapter 5 (types).
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

from gdb_etm.program.dies import DebugTree, has_flag, name_of, number_of, qualified, referred

_POINTERS = {"DW_TAG_pointer_type": "*", "DW_TAG_reference_type": "&", "DW_TAG_rvalue_reference_type": "&&"}
# In GDB's order.
_QUALIFIERS = {
    "DW_TAG_const_type": "const",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "restrict",
    "DW_TAG_atomic_type": "_Atomic",
}
_TAGGED = {
    "DW_TAG_structure_type": "struct",
    "DW_TAG_class_type": "class",
    "DW_TAG_union_type": "union",
    "DW_TAG_enumeration_type": "enum",
}
# DW_LANG_C_plus_plus and its later versions, DW_LANG_ObjC_plus_plus (DWARF 5, 7.12): there a tag is a name.
_CPLUSPLUS = (0x04, 0x11, 0x1A, 0x21, 0x2B, 0x2C)
_MOST_LEVELS = 32


def spell(tree: DebugTree, die: Optional[Any], dimension: int = 0) -> str:
    """Write a type's name.

    :param die: Its entry, as pyelftools has it; None: void.
    :param dimension: Of an array: how many of its dimensions are left out at the beginning.
    """
    return _Speller(tree).spell(die, "", dimension)


class _Speller:
    def __init__(self, tree: DebugTree) -> None:
        self._tree = tree

    def spell(
        self, die: Optional[Any], inner: str, dimension: int = 0, level: int = 0, outer: Sequence[str] = ()
    ) -> str:
        """Write a declaration of ``inner``, from the inside out.

        :param outer: Qualifiers besides its own.
        """
        if level > _MOST_LEVELS:
            return _leaf("...", inner)
        words = list(outer)
        while die is not None and die.tag in _QUALIFIERS and len(words) <= _MOST_LEVELS:
            words.append(_QUALIFIERS[die.tag])
            die = referred(die, "DW_AT_type")
        if die is not None and die.tag == "DW_TAG_array_type":
            # What holds for an array holds for its elements.
            target = referred(die, "DW_AT_type")
            return self.spell(target, inner + self._dimensions(die, dimension), 0, level + 1, words)
        before = " ".join(word for word in _QUALIFIERS.values() if word in words)
        if before and die is not None and die.tag in _POINTERS:
            gap = " " if inner[:1] in ("*", "&") else ""
            return self._unqualified(die, " %s%s%s" % (before, gap, inner), level)
        return (before + " " if before else "") + self._unqualified(die, inner, level)

    def _unqualified(self, die: Optional[Any], inner: str, level: int) -> str:
        if die is None:
            return _leaf("void", inner)
        target = referred(die, "DW_AT_type")
        is_wrapped = target is not None and target.tag in ("DW_TAG_array_type", "DW_TAG_subroutine_type")
        if die.tag in _POINTERS:
            inner = _POINTERS[die.tag] + inner
            return self.spell(target, "(%s)" % inner if is_wrapped else inner, 0, level + 1)
        if die.tag == "DW_TAG_ptr_to_member_type":
            holder = referred(die, "DW_AT_containing_type")
            inner = "%s::*%s" % (qualified(self._tree, holder) if holder is not None else "", inner)
            return self.spell(target, "(%s)" % inner if is_wrapped else inner, 0, level + 1)
        if die.tag == "DW_TAG_subroutine_type":
            return self.spell(target, "%s(%s)" % (inner, self._parameters(die, level)), 0, level + 1)
        return _leaf(self._name(die), inner)

    def _dimensions(self, die: Any, dimension: int) -> str:
        ranges = list(self._tree.children_of_kind(die, "DW_TAG_subrange_type", "DW_TAG_enumeration_type"))
        found = []
        for one in ranges[dimension:][:_MOST_LEVELS]:
            upper, count = number_of(one, "DW_AT_upper_bound"), number_of(one, "DW_AT_count")
            count = count if count is not None else upper + 1 if upper is not None else None
            found.append("[%s]" % ("" if count is None else count & 0xFFFFFFFF))
        return "".join(found)

    def _parameters(self, die: Any, level: int) -> str:
        found = []
        for one in self._tree.children_of_kind(die, "DW_TAG_formal_parameter", "DW_TAG_unspecified_parameters"):
            if one.tag == "DW_TAG_unspecified_parameters":
                found.append("...")
            elif not has_flag(one, "DW_AT_artificial"):
                found.append(self.spell(referred(one, "DW_AT_type"), "", 0, level + 1))
        is_told = has_flag(die, "DW_AT_prototyped") or self._is_cplusplus(die)
        return ", ".join(found) or ("void" if is_told else "")

    def _name(self, die: Any) -> str:
        word = _TAGGED.get(die.tag, "")
        name = name_of(die)
        if not name:
            return word + " {...}" if word else "?"
        if die.tag == "DW_TAG_base_type":
            return _short(name)
        if self._is_cplusplus(die):
            return qualified(self._tree, die)
        return "%s %s" % (word, name) if word else name

    def _is_cplusplus(self, die: Any) -> bool:
        return number_of(die.cu.get_top_DIE(), "DW_AT_language") in _CPLUSPLUS


def _leaf(name: str, inner: str) -> str:
    return "%s %s" % (name, inner) if inner else name


def _short(name: str) -> str:
    # Without words that say nothing: "long unsigned int" is "unsigned long".
    words = name.split()
    if "int" not in words or not {"short", "long"} & set(words):
        return name
    words.remove("int")
    return " ".join(sorted(words, key=lambda word: word in ("short", "long")))
