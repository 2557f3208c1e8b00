"""Finds the first custom resource to try of a bundle: in the examples that its ClusterServiceVersion has in `alm-examples`.

An example that kubectl or the API server would refuse is passed over, by the checks that `olm bundle validate` makes.

The text is the publisher's, so it may be anything: what is no custom resource of the bundle is passed over. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from olmctl.questions.operator_state import text_at
from olmctl.validation.extra.examples import MAX_EXAMPLES, refusal
from olmctl.validation.extra.schema_faults import lost_fields
from olmkit.api.meta import Object
from rukpak.format.bundle import RegistryBundle
from rukpak.format.objects import mapping, mappings

ANNOTATION = "alm-examples"
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class Example:
    """A custom resource, and the namespace to create it in; "" if it names its own, or has none."""

    body: Object
    namespace: str = ""


def first_example(bundle: RegistryBundle, watched: tuple[str, ...], install_namespace: str) -> Example | None:
    """The first example of a kind that the bundle defines, one with a spec before the others, and one of a deprecated version
    after them; None if there is none that fits its schema. `watched`: the namespaces that the operator watches."""
    served = _served(bundle)
    found = own_examples(bundle)
    found.sort(
        key=lambda each: (not isinstance(each.get("spec"), dict), served[_kind(each)][1].get("deprecated") is True)
    )
    chosen = next((each for each in found if _is_accepted(each, served[_kind(each)][1])), None)
    if chosen is None:
        return None
    is_placed = served[_kind(chosen)][0] != "Namespaced" or bool(chosen["metadata"].get("namespace"))
    return Example(chosen, "" if is_placed else _namespace(watched, install_namespace))


def own_examples(bundle: RegistryBundle) -> list[Object]:
    """The examples of kinds that the bundle defines."""
    served = _served(bundle)
    listed = _examples(bundle.csv_annotations.get(ANNOTATION))[:MAX_EXAMPLES]
    return [each for each in listed if _kind(each) in served and _is_named(each)]


def _kind(example: Object) -> tuple[str, str]:
    return text_at(example, "apiVersion"), text_at(example, "kind")


def _is_named(example: Object) -> bool:
    return bool(text_at(example, "metadata", "name") or text_at(example, "metadata", "generateName"))


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


def _is_accepted(example: Object, version: Object) -> bool:
    schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema"))
    is_status_dropped = "status" in mapping(version.get("subresources"))
    return not refusal(schema, example, is_status_dropped, "the example") and not lost_fields(schema, example)


def _served(bundle: RegistryBundle) -> dict[tuple[str, str], tuple[object, Object]]:
    """(apiVersion, kind) of what the CustomResourceDefinitions of the bundle serve -> scope, and the version."""
    specs = [mapping(each.get("spec")) for each in bundle.crds]
    return {
        (f"{text_at(spec, 'group')}/{text_at(version, 'name')}", text_at(spec, "names", "kind")): (
            spec.get("scope"),
            dict(version),
        )
        for spec in specs
        for version in mappings(spec.get("versions"))
    }
