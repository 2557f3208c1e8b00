"""The values of a chart: layers, of which later ones win, merged as helm merges the files of `--values`.

The values of Secrets are marked, so that they can be masked where a text is made for people. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.gocompat import documents
from olmkit.gocompat.parse_errors import ParseError
from rukpak.format.errors import INVALID_CONFIGURATION, BadBundle

MASK = "value-of-a-Secret"


@dataclass(frozen=True)
class ValuesLayer:
    """Values as YAML or JSON. `name` says where they are from, for messages."""

    name: str
    text: str
    is_secret: bool = False


def merged(layers: Sequence[ValuesLayer], *, is_masked: bool = False) -> dict[str, Any]:
    """The values of all layers: maps are merged, everything else is replaced, and null removes a default of the chart. With
    `is_masked`, the values of Secrets are replaced by others of the same type.

    Raises BadBundle for a layer that is no mapping.
    """
    result: dict[str, Any] = {}
    for layer in layers:
        values = _read(layer)
        result = _merge(result, _masked(values) if is_masked and layer.is_secret else values)
    return result


def _read(layer: ValuesLayer) -> dict[str, Any]:
    try:
        found = documents.read(layer.text.encode())
    except ParseError as error:
        # The text of the error may have a part of the values.
        where = f": {error}" if not layer.is_secret else ""
        raise BadBundle(INVALID_CONFIGURATION, f"{layer.name} is not valid YAML{where}", subject=[layer.name]) from None
    if not found:
        return {}
    if len(found) != 1 or not isinstance(found[0], dict):
        raise BadBundle(INVALID_CONFIGURATION, f"{layer.name} is not one mapping of values", subject=[layer.name])
    return found[0]


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for name, value in over.items():
        below = result.get(name)
        result[name] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _masked(value: Any) -> Any:
    match value:
        case dict():
            return {name: _masked(inner) for name, inner in value.items()}
        case list():
            return [_masked(inner) for inner in value]
        case str():
            return MASK
        case bool() | None:
            return value
        case int():
            return 0
        case _:
            return 0.5
