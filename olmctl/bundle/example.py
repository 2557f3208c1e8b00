"""Finds the first custom resource to try of a bundle: in the examples that its ClusterServiceVersion has in `alm-examples`.

The text is the publisher's, so it may be anything: what is no custom resource of the bundle is passed over. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from olmkit.api.meta import Object
from rukpak.format.bundle import RegistryBundle

ANNOTATION = "alm-examples"
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class Example:
    """A custom resource, and the namespace to create it in; "" if it names its own, or has none."""

    body: Object
    namespace: str = ""


def first_example(bundle: RegistryBundle, watched: tuple[str, ...], install_namespace: str) -> Example | None:
    """The first example of a kind that the bundle defines; None if there is none. `watched` are the namespaces that the operator
    watches."""
    scopes = _scopes(bundle)
    for each in _examples(bundle.csv_annotations.get(ANNOTATION)):
        metadata, kind = each.get("metadata"), (each.get("apiVersion"), each.get("kind"))
        if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
            continue
        if kind in scopes:
            is_placed = scopes[kind] != "Namespaced" or bool(metadata.get("namespace"))
            return Example(each, "" if is_placed else _namespace(watched, install_namespace))
    return None


def _namespace(watched: tuple[str, ...], install_namespace: str) -> str:
    if not watched or watched == ("",):
        return DEFAULT_NAMESPACE
    return install_namespace if install_namespace in watched else watched[0]


def _examples(text: object) -> list[Object]:
    """The objects in the annotation, which is a JSON list or one object."""
    try:
        found = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return []
    items = found if isinstance(found, list) else [found]
    return [each for each in items if isinstance(each, dict)]


def _scopes(bundle: RegistryBundle) -> dict[tuple[object, object], object]:
    """(apiVersion, kind) of what the CustomResourceDefinitions of the bundle serve -> scope."""
    return {
        (f"{spec.get('group')}/{version.get('name')}", (spec.get("names") or {}).get("kind")): spec.get("scope")
        for spec in (each.get("spec") or {} for each in bundle.crds)
        for version in spec.get("versions") or ()
    }
