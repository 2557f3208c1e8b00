"""Keeps the values that a chart gives anew each time it is rendered, such as generated passwords and certificates.

An object that exists keeps its own, as a template would that looks it up first. A value that stands in several places of one
rendering is kept in all of them, also in objects that do not exist yet: an authority in a Secret stays the one that a webhook
configuration names. Pure.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.charts.rendering import Path, replaced, value_at
from rukpak.format.objects import ObjectKey

SECRET = ("", "Secret")
MIN_LENGTH = 8
"""Characters of a generated value that is recognized in other objects; shorter ones may be equal by chance."""

Object = Mapping[str, Any]


@dataclass(frozen=True)
class KeptValues:
    """Values of objects that exist."""

    live: Mapping[ObjectKey, Object] = field(default_factory=dict, repr=False)
    """The objects that exist, as read."""
    substitutes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Generated value -> the value that an existing object has in its place."""

    @classmethod
    def of(
        cls, content: RenderedBundle, bodies: Mapping[ObjectKey, bytes], live: Mapping[ObjectKey, Object]
    ) -> KeptValues:
        """The values of `live`, the objects of the content that exist and are its own."""
        substitutes: dict[str, str] = {}
        for item in content.objects():
            if item.changing and item.key in live:
                body = orjson.loads(bodies[item.key])
                for path in item.changing:
                    substitutes |= dict(_pairs(value_at(body, path), _kept(item.key, live[item.key], path)))
        return cls(live, substitutes)

    def applied_to(self, item: RenderedObject, body: Object) -> dict[str, Any]:
        """The body to apply: with the values of the object if it exists, else with those that others have."""
        result: Any = body
        for path in item.changing:
            generated = value_at(body, path)
            kept = _kept(item.key, self.live[item.key], path) if item.key in self.live else None
            if kept is None and isinstance(generated, str):
                kept = self.substitutes.get(generated)
            if kept is not None and type(kept) is type(generated):
                result = replaced(result, path, kept)
        return dict(result)


NOTHING_KEPT = KeptValues()


def _kept(key: ObjectKey, live: Object, path: Path) -> Any:
    """The value that an object has at a place; the API server stores stringData of a Secret as data."""
    if key[:2] == SECRET and path[0] == "stringData" and len(path) > 1:
        return _decoded(value_at(live, ("data", *path[1:])))
    return value_at(live, path)


def _pairs(generated: Any, kept: Any) -> Iterator[tuple[str, str]]:
    """The generated value and the kept one, and both in the form that the other field of a Secret has."""
    if not isinstance(generated, str) or not isinstance(kept, str) or len(generated) < MIN_LENGTH:
        return
    yield generated, kept
    yield _encoded(generated), _encoded(kept)
    plain = _decoded(generated), _decoded(kept)
    if plain[0] is not None and plain[1] is not None and len(plain[0]) >= MIN_LENGTH:
        yield plain[0], plain[1]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(text: Any) -> str | None:
    """The text that base64 stands for; None if it stands for none."""
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
