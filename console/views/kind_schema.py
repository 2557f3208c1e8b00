"""The fields of a kind, for people who read about it: from the schema of its definition. Pure.

The schema is a publisher's, so it may be anything: what is too deep or too much is counted, and fields of another form are
ignored. Descriptions are those of a second schema where the first has none, because summaries of bundles leave them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 8
MAX_FIELDS: Final = 600
"""Fields of one kind that are shown."""
MAX_LISTED: Final = 200
"""Fields of one object that are shown."""
MAX_TEXT: Final = 400
MAX_VALUES: Final = 20
_OUTSIDE: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields that each object has."""

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class SchemaField:
    """One field. `facts` are its limits in words, `more` says what of it is not shown."""

    name: str
    type: str
    is_required: bool
    description: str
    facts: tuple[str, ...] = ()
    fields: tuple[SchemaField, ...] = ()
    more: str = ""


@dataclass(frozen=True)
class KindSchema:
    """The fields of a kind. `source` says where the schema is from, `problem` why there is none."""

    fields: tuple[SchemaField, ...] = ()
    source: str = ""
    problem: str = ""
    more: str = ""


def kind_schema(schema: object, texts: object = None, source: str = "") -> KindSchema:
    """The fields of the schema of a kind; `texts` is another schema of it, whose descriptions are used where it has none."""
    reader = _Reader()
    fields, more = reader.below(_mapping(schema), _mapping(texts), 0, _OUTSIDE)
    if not fields:
        return KindSchema(source=source, problem="Its definition names no fields: any are accepted.")
    return KindSchema(fields, source, more=more)


class _Reader:
    """Walks through a schema, and counts the fields that it has read."""

    def __init__(self) -> None:
        self._left = MAX_FIELDS

    def below(
        self, schema: Schema, texts: Schema, depth: int, left_out: frozenset[str] = frozenset()
    ) -> tuple[tuple[SchemaField, ...], str]:
        """The fields of an object, the required ones first, and a sentence about those that are not shown."""
        properties, required = _mapping(schema.get("properties")), _names(schema.get("required"))
        names = [each for each in properties if isinstance(each, str) and each not in left_out]
        if names and depth == MAX_DEPTH:
            return (), f"{len(names)} fields below it are not shown."
        ordered = sorted(names[: MAX_LISTED * 10], key=lambda name: (name not in required, name.casefold()))
        other = _mapping(texts.get("properties"))
        found = []
        for name in ordered[:MAX_LISTED]:
            if self._left == 0:
                break
            self._left -= 1
            is_required = name in required
            found.append(self._field(name, _mapping(properties[name]), _mapping(other.get(name)), depth, is_required))
        hidden = len(names) - len(found)
        return tuple(found), f"{hidden} more fields are not shown." if hidden else ""

    def _field(self, name: str, schema: Schema, texts: Schema, depth: int, is_required: bool) -> SchemaField:
        inner, inner_texts = _inner(schema), _inner(texts)
        fields, more = self.below(inner, inner_texts, depth + 1)
        text = schema.get("description") or texts.get("description")
        return SchemaField(
            name[:MAX_TEXT], type_of(schema), is_required, _line(text), tuple(_facts(schema)), fields, more
        )


def _inner(schema: Schema) -> Schema:
    """The schema whose fields are those of a value: of the items of lists, and of the values of maps."""
    for _ in range(MAX_DEPTH):
        following = schema.get("items") or schema.get("additionalProperties")
        if schema.get("properties") or not isinstance(following, Mapping):
            return schema
        schema = following
    return schema


def type_of(schema: Schema) -> str:
    """The type in a few words, such as `list of objects` or `map of texts`."""
    return _type(schema, 0)


def _type(schema: Schema, depth: int) -> str:
    if schema.get("x-kubernetes-int-or-string") is True:
        return "integer or text"
    name = schema.get("type")
    if depth < 3 and name == "array":
        return f"list of {_plural(_type(_mapping(schema.get('items')), depth + 1))}"
    values = schema.get("additionalProperties")
    if depth < 3 and name == "object" and isinstance(values, Mapping) and not schema.get("properties"):
        return f"map of {_plural(_type(values, depth + 1))}"
    if not isinstance(name, str) or not name:
        return "any value"
    is_open = name == "object" and not schema.get("properties")
    return {"string": "text", "object": "object of any fields" if is_open else "object"}.get(name, name[:30])


def _plural(name: str) -> str:
    word, _, rest = name.partition(" ")
    if name == "any value":
        return "any values"
    plural = word if word in ("integer", "boolean") and rest else f"{word}s"
    return f"{plural} {rest}".strip()


def _facts(schema: Schema) -> Iterator[str]:
    values = schema.get("enum")
    if isinstance(values, list) and values:
        shown = ", ".join(_value(each) for each in values[:MAX_VALUES])
        yield f"one of {shown}" + (f" and {len(values) - MAX_VALUES} more" if len(values) > MAX_VALUES else "")
    if "default" in schema:
        yield f"default {_value(schema['default'])}"
    for key, words in _LIMITS.items():
        limit = schema.get(key)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool):
            yield words.format(f"{limit:g}")
    for key, words in (("format", "format {}"), ("pattern", "must match {}")):
        text = schema.get(key)
        if isinstance(text, str) and text:
            yield words.format(_line(text))


_LIMITS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


def _value(value: Any) -> str:
    try:
        return _line(orjson.dumps(value).decode(), 100)
    except (orjson.JSONEncodeError, RecursionError):
        return "a value"


def _line(text: object, limit: int = MAX_TEXT) -> str:
    """One line of a text, cut."""
    if not isinstance(text, str):
        return ""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _names(value: object) -> frozenset[str]:
    listed = value[: MAX_LISTED * 10] if isinstance(value, list) else []
    return frozenset(each for each in listed if isinstance(each, str))


def _mapping(value: object) -> Schema:
    return value if isinstance(value, Mapping) else {}
