"""The description of a bundle by its publisher: olm.csv.metadata of its blob, or the CSV among its objects. Pure.

Everything here is a stranger's: fields of another form are ignored, and long ones are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from console.links import External, external, mail_link
from olmkit.fbc import bundle_objects
from olmkit.gocompat.json_depth import is_deeper

MAX_LISTED = 50
MAX_NAME_LENGTH = 200
MAX_TEXT_LENGTH = 2_000
MAX_DESCRIPTION_LENGTH = 65_537
"""One more than markdown.py shows, so that it says that it cuts."""
MAX_EXAMPLES_BYTES = 256 * 1024
MAX_EXAMPLE_DEPTH = 32
CSV_METADATA, BUNDLE_OBJECT = "olm.csv.metadata", "olm.bundle.object"
UNINSTALL_MESSAGE = "operator.openshift.io/uninstall-message"
INTERNAL_OBJECTS = "operators.operatorframework.io/internal-objects"


@dataclass(frozen=True)
class Example:
    """An object of a kind that the publisher shows."""

    title: str
    value: Any


@dataclass(frozen=True)
class ProvidedKind:
    """A kind that the bundle provides. `is_internal`: people are not to create it. `other_versions` provide it too."""

    group: str
    version: str
    kind: str
    title: str
    description: str
    is_internal: bool
    examples: tuple[Example, ...]
    other_versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedLink:
    """A link or an address with its name; `link` is None if it is none that may be followed."""

    name: str
    text: str
    link: External | None


@dataclass(frozen=True)
class Description:
    """The publisher's words about one bundle."""

    title: str = ""
    short: str = ""
    text: str = ""
    provider: str = ""
    capability: str = ""
    created: str = ""
    image: str = ""
    categories: tuple[str, ...] = ()
    links: tuple[NamedLink, ...] = ()
    maintainers: tuple[NamedLink, ...] = ()
    install_modes: tuple[str, ...] = ()
    """The names of the supported ones."""
    min_kube_version: str = ""
    native_apis: tuple[tuple[str, str, str], ...] = ()
    kinds: tuple[ProvidedKind, ...] = ()
    images: tuple[str, ...] = ()
    """All images that the bundle names."""


def description(blob: Any) -> Description:
    """The description in an olm.bundle blob."""
    spec, annotations = _csv(blob)
    return Description(
        title=_text(spec.get("displayName")),
        short=_text(annotations.get("description"), MAX_TEXT_LENGTH),
        text=_raw(spec.get("description"), MAX_DESCRIPTION_LENGTH),
        provider=_text(_mapping(spec.get("provider")).get("name")),
        capability=_text(annotations.get("capabilities")),
        created=_text(annotations.get("createdAt")),
        image=_text(annotations.get("containerImage"), MAX_TEXT_LENGTH),
        categories=tuple(filter(None, map(str.strip, _text(annotations.get("categories"), 1_000).split(",")))),
        links=tuple(_links(spec, annotations)),
        maintainers=tuple(_maintainers(spec)),
        install_modes=supported_modes(spec.get("installModes")),
        min_kube_version=_text(spec.get("minKubeVersion")),
        native_apis=tuple(
            (_text(each.get("group")), _text(each.get("version")), _text(each.get("kind")))
            for each in _mappings(spec.get("nativeAPIs"))
        ),
        kinds=tuple(_kinds(spec, annotations)),
        images=tuple(_images(blob)),
    )


def supported_modes(install_modes: object) -> tuple[str, ...]:
    """The types of the installModes of a ClusterServiceVersion that are supported."""
    return tuple(_text(each.get("type")) for each in _mappings(install_modes) if each.get("supported") is True)


def uninstall_message(annotations: Mapping[str, Any]) -> str:
    """The publisher's words for people who uninstall it; "" without any."""
    return _text(annotations.get(UNINSTALL_MESSAGE), MAX_TEXT_LENGTH)


def _images(blob: Any) -> Iterable[str]:
    listed = (_text(each.get("image"), MAX_TEXT_LENGTH) for each in _mappings(_mapping(blob).get("relatedImages")))
    return dict.fromkeys(filter(None, listed))


def _csv(blob: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The spec and the annotations."""
    properties = _mappings(_mapping(blob).get("properties"), 100_000)
    for each in properties:
        if each.get("type") == CSV_METADATA and isinstance(each.get("value"), Mapping):
            return each["value"], _mapping(each["value"].get("annotations"))
    csv = bundle_objects.find_csv(each.get("value") for each in properties if each.get("type") == BUNDLE_OBJECT) or {}
    return _mapping(csv.get("spec")), _mapping(_mapping(csv.get("metadata")).get("annotations"))


def _links(spec: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterable[NamedLink]:
    for each in _mappings(spec.get("links")):
        address = _text(each.get("url"), MAX_TEXT_LENGTH)
        if address:
            yield NamedLink(_text(each.get("name")) or "Link", address, external(address))
    repository = _text(annotations.get("repository"), MAX_TEXT_LENGTH)
    if repository:
        yield NamedLink("Source", repository, external(repository) or external(f"https://{repository}"))


def _maintainers(spec: Mapping[str, Any]) -> Iterable[NamedLink]:
    for each in _mappings(spec.get("maintainers")):
        name, address = _text(each.get("name")), _text(each.get("email"))
        if name or address:
            yield NamedLink(name or address, address, mail_link(address))


def _kinds(spec: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterable[ProvidedKind]:
    internal = _internal(annotations)
    examples = _examples(annotations.get("alm-examples"))
    for key in ("customresourcedefinitions", "crdDescriptions", "apiservicedefinitions", "apiServiceDefinitions"):
        is_api = key.casefold().startswith("api")
        for each in _mappings(_mapping(spec.get(key)).get("owned")):
            name, kind, version = _text(each.get("name")), _text(each.get("kind")), _text(each.get("version"))
            group = _text(each.get("group")) if is_api else name.partition(".")[2]
            if kind:
                yield ProvidedKind(
                    group,
                    version,
                    kind,
                    _text(each.get("displayName")) or kind,
                    _text(each.get("description"), MAX_TEXT_LENGTH),
                    name in internal,
                    examples.get((group, kind), ()),
                )


def _internal(annotations: Mapping[str, Any]) -> frozenset[str]:
    found = _json(annotations.get(INTERNAL_OBJECTS))
    return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()


def _examples(text: Any) -> dict[tuple[str, str], tuple[Example, ...]]:
    """The examples by group and kind."""
    found: dict[tuple[str, str], tuple[Example, ...]] = {}
    for each in _mappings(_json(text)):
        version, kind = _text(each.get("apiVersion")), _text(each.get("kind"))
        if not version or not kind or is_deeper(each, MAX_EXAMPLE_DEPTH):
            continue
        name = _text(_mapping(each.get("metadata")).get("name")) or kind
        key = version.rpartition("/")[0], kind
        found[key] = (*found.get(key, ()), Example(name, each))
    return found


def _json(text: Any) -> Any:
    """The JSON of an annotation; None if it is none, or too long."""
    if not isinstance(text, str) or len(text) > MAX_EXAMPLES_BYTES:
        return None
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, RecursionError, UnicodeEncodeError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any, limit: int = MAX_LISTED) -> list[Any]:
    return value[:limit] if isinstance(value, list) else []


def _mappings(value: Any, limit: int = MAX_LISTED) -> list[Mapping[str, Any]]:
    return [each for each in _list(value, limit) if isinstance(each, Mapping)]


def _text(value: Any, limit: int = MAX_NAME_LENGTH) -> str:
    """One line."""
    return " ".join(_raw(value, 2 * limit).split())[:limit]


def _raw(value: Any, limit: int) -> str:
    return value[:limit] if isinstance(value, str) else ""
