"""The annotation alm-examples: the custom resources of the input as JSON, as Go writes it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from olmctl.project.collection import Collection
from olmkit.gocompat.numbers import float_text

_ESCAPED: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_INDENT: Final = "  "


def examples_of(collection: Collection, owned: Iterable[Mapping[str, Any]], base: Any) -> list[Any]:
    """The custom resources of the input, after those of the base's annotation for owned APIs that the input has no sample of."""
    sampled = {(each.api_version, each.kind) for each in collection.examples}
    wanted = {(f"{each['name'].partition('.')[2]}/{each['version']}", each["kind"]) for each in owned} - sampled
    kept = [each for each in _read(base) if (each.get("apiVersion"), each.get("kind")) in wanted]
    return [*kept, *(each.body for each in collection.examples)]


def _read(text: Any) -> Sequence[Mapping[str, Any]]:
    """The objects of an annotation; none if it cannot be read."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return ()
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else ()


def example_text(examples: Sequence[Any]) -> str:
    """The annotation."""
    return _json(list(examples), "\n")


def _json(value: Any, line: str) -> str:
    """JSON as encoding/json indents it; `line` is a line end with the indentation of the value."""
    inner = line + _INDENT
    if isinstance(value, dict) and value:
        members = (f"{_string(key)}: {_json(value[key], inner)}" for key in sorted(value))
        return "{" + inner + f",{inner}".join(members) + line + "}"
    if isinstance(value, list) and value:
        return "[" + inner + f",{inner}".join(_json(each, inner) for each in value) + line + "]"
    if isinstance(value, str):
        return _string(value)
    return float_text(value) if isinstance(value, float) else json.dumps(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPED)
