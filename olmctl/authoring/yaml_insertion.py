"""One more item of a sequence in the text of a YAML document, or another one in the place of an item.

Everything else stays byte for byte: comments, the order of keys, quotes and indents. Only sequences in block style are changed.
For others there is no result, and the caller writes the document anew. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from olmctl.authoring.serialize import serialize

_KEY = "items"


def with_item(
    text: str,
    path: Sequence[str | int],
    item: Mapping[str, Any],
    *,
    after: int | None = None,
    instead: int | None = None,
) -> str | None:
    """The document with one more item in the sequence at `path`: after the item of this index, or at the end. With `instead` the
    item of that index is replaced. None if there is no such sequence in block style, or if it is empty.

    The caller checks that the result has the value that is meant: a text may be in a form that no line can be added to.
    """
    found = _sequence(text, path)
    if found is None:
        return None
    lines = text.splitlines(keepends=True)
    first = found.start_mark.line
    dash = lines[first].find("-")
    if dash < 0 or lines[first][:dash].strip():
        return None
    index = instead if instead is not None else after if after is not None else len(found.value) - 1
    node = found.value[index]
    last = min(_last_line(node), len(lines) - 1)
    if not lines[last].endswith("\n"):
        lines[last] += "\n"
    end = node.start_mark.line if instead is not None else last + 1
    return "".join(lines[:end]) + _lines(item, dash) + "".join(lines[last + 1 :])


def _lines(item: Mapping[str, Any], dash: int) -> str:
    """The item behind a dash in this column."""
    added = serialize({_KEY: [dict(item)]}, "yaml").decode().splitlines()[2:]
    return "".join(f"{' ' * dash}{each}\n" if each else "\n" for each in added)


def _sequence(text: str, path: Sequence[str | int]) -> yaml.SequenceNode | None:
    """The sequence at the path, if it has items in block style."""
    try:
        node: Any = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    for step in path:
        node = _member(node, step)
    return node if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style else None


def _member(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return node.value[step] if step < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None


def _last_line(node: yaml.Node) -> int:
    """The last line of a node. The end of a collection in block style is where the next token begins."""
    if isinstance(node, yaml.ScalarNode) or getattr(node, "flow_style", False):
        is_block = getattr(node, "style", None) in ("|", ">") and node.end_mark.column == 0
        return int(node.end_mark.line) - is_block
    parts = (part for each in node.value for part in (each if isinstance(each, tuple) else (each,)))
    return max(map(_last_line, parts), default=int(node.start_mark.line))
