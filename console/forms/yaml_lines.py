"""The lines of a YAML text in which fields stand, as the API server names these. Pure.

The text is read event by event: no depth of it needs a stack. It has been read as an object before, which limits its depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

MAX_STEPS = 64
"""The deepest field that is looked for."""
MAX_EVENTS = 200_000
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass
class _Holder:
    """A mapping or a list: its members with their lines, by key or number. `key` is that of the member that comes next."""

    is_mapping: bool
    members: dict[str, tuple[int, _Holder | None]] = field(default_factory=dict)
    key: str | None = None
    key_line: int = 0

    def put(self, event: Any, value: _Holder | None) -> None:
        """A scalar, or the beginning of a mapping or list: the next key, or the next member."""
        line = event.start_mark.line + 1
        if not self.is_mapping:
            self.members[str(len(self.members))] = line, value
        elif self.key is None:
            self.key, self.key_line = (event.value if isinstance(event, yaml.ScalarEvent) else ""), line
        else:
            self.members[self.key] = self.key_line, value
            self.key = None


def lines_of(text: str, fields: Iterable[str]) -> dict[str, int]:
    """The line of each field, such as `spec.tags[0].name`, or of the last of its parents that is there; 0 if there is none."""
    root = _root(text)
    return {each: _line(root, each) for each in fields}


def _root(text: str) -> _Holder | None:
    """The members of the first document; None if it is none."""
    top = _Holder(is_mapping=False)
    stack = [top]
    try:
        for number, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
            if isinstance(event, yaml.DocumentEndEvent) or number == MAX_EVENTS:
                break
            if isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
                stack[-1].put(event, None)
            elif isinstance(event, yaml.CollectionStartEvent):
                holder = _Holder(isinstance(event, yaml.MappingStartEvent))
                stack[-1].put(event, holder)
                stack.append(holder)
            elif isinstance(event, yaml.CollectionEndEvent):
                stack.pop()
    except yaml.YAMLError:
        return None
    return top.members["0"][1] if top.members else None


def _line(root: _Holder | None, name: str) -> int:
    node, line = root, 0
    for step in _steps(name):
        found = node.members.get(step) if node is not None else None
        if found is None:
            break
        line, node = found
    return line


def _steps(name: str) -> Iterator[str]:
    for number, match in enumerate(_STEP.finditer(name.strip("."))):
        if number == MAX_STEPS:
            return
        yield (match[1] if match[1] is not None else match[2]).strip('"')
