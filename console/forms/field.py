"""A form as a value: its fields, with the texts that they show. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from console.forms.checks import NO_LIMITS, Limits
from console.forms.descriptors import Reference
from console.forms.places import MISSING, Place

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_]+")


class Control(StrEnum):
    """The kinds of controls."""

    TEXT = "text"
    LONG_TEXT = "long-text"
    NUMBER = "number"
    PASSWORD = "password"
    SWITCH = "switch"
    CHECKBOX = "checkbox"
    RADIO = "radio"
    SELECT = "select"
    YAML = "yaml"
    GROUP = "group"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True)
class Choice:
    """A value that can be chosen, and the text that stands for it in the form."""

    text: str
    label: str
    value: Any


@dataclass(frozen=True)
class Depends:
    """The input that decides whether a field counts, its value then, and both in words."""

    name: str
    value: str
    words: str


@dataclass(frozen=True)
class Field:
    """A field, or a group, list or map of fields. `kind` is the type of the schema, `text` what the control shows."""

    name: str
    place: Place
    control: Control
    kind: str
    label: str
    text: str = ""
    description: str = ""
    default: str = ""
    choices: tuple[Choice, ...] = ()
    limits: Limits = NO_LIMITS
    reference: Reference | None = None
    depends: Depends | None = None
    children: tuple[Field, ...] = ()
    key: str | None = None
    """The key of a row of a map; None elsewhere."""
    problem: str = ""
    group: str = ""
    """The fieldset that its publisher names for it."""
    is_required: bool = False
    is_folded: bool = False
    is_changed: bool = False
    has_value: bool = False
    has_more: bool = False
    """True if a list or map may have another row."""

    @property
    def id(self) -> str:
        """The id of its element."""
        return "f" + "".join(each if each.isalnum() and each.isascii() else f"-{ord(each):x}-" for each in self.name)

    @property
    def is_leaf(self) -> bool:
        """True if it is one control."""
        return self.control not in (Control.GROUP, Control.LIST, Control.MAP)

    def leaves(self) -> Iterator[Field]:
        """Its controls, itself if it is one."""
        if self.is_leaf:
            yield self
        for child in self.children:
            yield from child.leaves()

    def all(self) -> Iterator[Field]:
        """It, and all fields in it."""
        yield self
        for child in self.children:
            yield from child.all()

    @property
    def sets(self) -> tuple[tuple[str, tuple[Field, ...]], ...]:
        """Its open children in fieldsets: (name, fields), "" for those of no other fieldset."""
        found: dict[str, list[Field]] = {}
        own = str(self.place[-1]) if self.place else ""
        for child in self.children:
            if not child.is_folded:
                found.setdefault("" if child.group in (own, "") or not child.is_leaf else child.group, []).append(child)
        return tuple((humanized(name) if name else "", tuple(fields)) for name, fields in found.items())

    @property
    def folded(self) -> tuple[Field, ...]:
        """Its children that are not open."""
        return tuple(child for child in self.children if child.is_folded)


@dataclass(frozen=True)
class Form:
    """The fields of an object beside its name; `omitted` are fields that only its YAML shows."""

    sections: tuple[Field, ...]
    omitted: int = 0

    def all(self) -> Iterator[Field]:
        """All fields."""
        for section in self.sections:
            yield from section.all()

    @property
    def references(self) -> tuple[Reference, ...]:
        """The kinds whose names are offered, each once."""
        return tuple(dict.fromkeys(each.reference for each in self.all() if each.reference is not None))


def humanized(name: str) -> str:
    """The name of a field as words: `storageClassName` is "Storage class name"."""
    words = _WORDS.findall(name)
    text = " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)
    return text[:1].upper() + text[1:] if text else name


def text_of(value: Any) -> str:
    """The text of a scalar; empty for none."""
    if value is MISSING or value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
