"""Places in a document: as the names of inputs, and as the API server names fields in its errors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Place = tuple[str | int, ...]
"""The keys and indices from a document to one of its values."""


class Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""Stands for a value that is not there; null is one that is."""


def pointer(place: Place) -> str:
    """The JSON pointer of a place, which is the name of its input: `/spec/storage/0/name`."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in place)


def api_field(place: Place) -> str:
    """The place as the API server writes it in an error: `spec.storage[0].name`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".")


def value_at(document: Any, place: Place) -> Any:
    """The value at a place; MISSING if there is none."""
    for step in place:
        if isinstance(step, int):
            if not isinstance(document, list) or not 0 <= step < len(document):
                return MISSING
        elif not isinstance(document, Mapping) or step not in document:
            return MISSING
        document = document[step]
    return document


def with_value(document: Any, place: Place, value: Any) -> Any:
    """A copy of the document with this value at the place, MISSING to remove it; its parents are made as they are needed."""
    if not place:
        return value
    step, rest = place[0], place[1:]
    if isinstance(step, int):
        items = list(document) if isinstance(document, list) else []
        inner = with_value(items[step] if step < len(items) else MISSING, rest, value)
        items[step : step + 1] = [] if inner is MISSING else [inner]
        return items
    if value is MISSING and value_at(document, place) is MISSING:
        return document
    fields = dict(document) if isinstance(document, Mapping) else {}
    inner = with_value(fields.get(step, MISSING), rest, value)
    if inner is MISSING:
        fields.pop(step, None)
    else:
        fields[step] = inner
    return fields
