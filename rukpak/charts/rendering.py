"""The output of helm for a chart as objects, the differences between two renderings of one chart, and their form in memory.

    objects    the objects to apply, in the order in which helm prints them, and CustomResourceDefinitions of crds/ first
    changing   the values that differ each time the chart is rendered, such as generated passwords, by object

Hooks for tests are left out. Charts with other hooks are refused, because nothing runs them. Pure.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from olmkit.gocompat.text import list_names
from rukpak.format.bundle import MAX_BUNDLE_BYTES, Body, PlainBundle, size_problem
from rukpak.format.errors import BUNDLE_LOAD_FAILED, BadBundle
from rukpak.format.files import read_manifests
from rukpak.format.objects import BundleObject, ObjectKey, mapping

HOOK_ANNOTATION = "helm.sh/hook"
TEST_EVENTS = frozenset({"test", "test-success"})
PLACEHOLDER = "differs each time"
_SOURCE = re.compile(rb"^---\n# Source: ([^\n]+)\n", re.MULTILINE)

Path = tuple[str | int, ...]
"""The place of a value in an object."""


@dataclass(frozen=True)
class Rendering:
    """The objects of a chart."""

    objects: tuple[Body, ...]
    changing: Mapping[ObjectKey, tuple[Path, ...]] = field(default_factory=dict)
    """Object as rendered -> the places of the values that differ each time, sorted."""

    @property
    def bundle(self) -> PlainBundle:
        """The objects as a bundle."""
        return PlainBundle(self.objects)

    def digest(self) -> str:
        """The digest of the rendering: equal for two renderings that differ in nothing but `changing`."""
        bodies = [stable(body, self.changing.get(BundleObject(body).key, ())) for body in self.objects]
        return hashlib.sha256(orjson.dumps(bodies, option=orjson.OPT_SORT_KEYS)).hexdigest()


def read_output(output: bytes) -> PlainBundle:
    """The objects that helm has printed, without hooks for tests. Raises BadBundle, also for other hooks."""
    hooks: list[str] = []

    def is_applied(source: str, body: Body) -> bool:
        annotation = mapping(mapping(body.get("metadata")).get("annotations")).get(HOOK_ANNOTATION)
        if annotation is None:
            return True
        events = {event.strip().lower() for event in str(annotation).split(",")}
        if not events <= TEST_EVENTS:
            hooks.append(f"{BundleObject(body).key} ({', '.join(sorted(events - TEST_EVENTS))})")
        return False

    bundle = read_manifests(_sources(output), is_applied)
    if hooks:
        text = f"the chart has hooks, which rukpak does not run: {list_names(hooks)}; disable them by values, or remove them"
        raise BadBundle(BUNDLE_LOAD_FAILED, text, subject=hooks)
    return bundle


def compare(first: PlainBundle, second: PlainBundle) -> Rendering:
    """The first of two renderings of one chart, with what differs between them. Raises BadBundle if the objects themselves
    differ."""
    one, two = ({BundleObject(body).key: body for body in each.objects} for each in (first, second))
    if names := sorted(map(str, one.keys() ^ two.keys())):
        text = f"the chart gives objects other names each time it is rendered, so that they cannot be kept: {list_names(names)}"
        raise BadBundle(BUNDLE_LOAD_FAILED, text)
    changing = {key: tuple(sorted(_differences(body, two[key]), key=str)) for key, body in one.items()}
    return Rendering(first.objects, {key: paths for key, paths in changing.items() if paths})


def stable(body: Body, paths: Sequence[Path]) -> Body:
    """The body with a placeholder for the values at these places."""
    for path in paths:
        body = replaced(body, path, PLACEHOLDER)
    return body


def replaced(value: Any, path: Path, new: Any) -> Any:
    """The value with another one at a place; unchanged if it has nothing there."""
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(value, Mapping) and first in value:
        return {**value, first: replaced(value[first], rest, new)}
    if isinstance(value, list) and isinstance(first, int) and first < len(value):
        return [*value[:first], replaced(value[first], rest, new), *value[first + 1 :]]
    return value


def value_at(value: Any, path: Path) -> Any:
    """The value at a place; None if there is none."""
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def shown(path: Path) -> str:
    """The place for people, such as `data.password` or `spec.containers[0].image`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def packed(rendering: Rendering) -> bytes:
    """The rendering as compressed JSON. Raises BadBundle if it is too large."""
    changing = [[list(key), [list(path) for path in paths]] for key, paths in sorted(rendering.changing.items())]
    data = orjson.dumps({"objects": rendering.objects, "changing": changing})
    if problem := size_problem(data):
        raise BadBundle(BUNDLE_LOAD_FAILED, f"the rendering of the chart {problem}")
    return zlib.compress(data, 1)


def unpacked(content: bytes) -> Rendering:
    """The inverse of `packed`. Raises ValueError for other data."""
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(content, MAX_BUNDLE_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    raw = orjson.loads(data)
    changing = {ObjectKey(*key): tuple(tuple(path) for path in paths) for key, paths in raw["changing"]}
    return Rendering(tuple(raw["objects"]), changing)


def _sources(output: bytes) -> Iterator[tuple[str, bytes]]:
    """The documents that helm has printed, by the template that each is from."""
    starts = [*_SOURCE.finditer(output)]
    ends = [*(each.start() for each in starts), len(output)]
    yield "helm", output[: ends[0]]
    for found, end in zip(starts, ends[1:], strict=True):
        yield found[1].decode(errors="replace"), output[found.end() : end]


def _differences(one: Any, two: Any, path: Path = ()) -> Iterator[Path]:
    """The places at which two values differ."""
    if isinstance(one, Mapping) and isinstance(two, Mapping) and one.keys() == two.keys():
        for name, value in one.items():
            yield from _differences(value, two[name], (*path, name))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for number, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from _differences(left, right, (*path, number))
    elif one != two:
        yield path
