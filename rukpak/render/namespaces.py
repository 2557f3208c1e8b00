"""The namespaces of a bundle: the one to install into, which it suggests or which is made from the name of its package, and those
that it needs and does not contain.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import orjson

from olmkit.api.crd_upgrade_rules import OPT_OUT_ANNOTATION
from olmkit.api.names import MAX_LABEL_LENGTH, is_dns1123_label, is_kubernetes_namespace
from rukpak.format.bundle import RegistryBundle
from rukpak.format.objects import BundleObject

TEMPLATE_ANNOTATION = "operatorframework.io/suggested-namespace-template"
NAME_ANNOTATION = "operatorframework.io/suggested-namespace"
SUITE_NAMESPACES = ("olm-suite-system", "olm-suite-keys")
"""The namespaces of the suite and of its keys, unless it was started with others."""
RESERVED_DOMAIN = "core.rukpak.io"
"""The domain, with its subdomains, of the labels and annotations that only rukpak may write: they record who owns an object."""


def install_namespace(
    bundle: RegistryBundle, suite_namespaces: Collection[str] = SUITE_NAMESPACES
) -> tuple[str, tuple[str, ...]]:
    """The install namespace, and a message for each suggestion of the bundle that cannot be used."""
    return suggested_namespace(bundle.csv_annotations, bundle.package, suite_namespaces)


def suggested_namespace(
    annotations: Mapping[str, str], package: str, suite_namespaces: Collection[str] = SUITE_NAMESPACES
) -> tuple[str, tuple[str, ...]]:
    """The install namespace by the annotations of a ClusterServiceVersion, and a message for each that cannot be used.

    The name in suggested-namespace-template, else suggested-namespace, else `<package>-system`.
    """
    notes: list[str] = []
    template, problem = _template(annotations)
    if problem:
        notes.append(problem)
    suggestions = [
        (TEMPLATE_ANNOTATION, ((template.get("metadata") or {}).get("name") or "")),
        (NAME_ANNOTATION, annotations.get(NAME_ANNOTATION) or ""),
    ]
    for source, name in suggestions:
        if not name:
            continue
        error = namespace_error(name, suite_namespaces)
        if not error:
            return name, tuple(notes)
        notes.append(f'annotation {source}: namespace "{name}" {error}')
    name = default_namespace(package)
    error = namespace_error(name, suite_namespaces)
    if error:
        notes.append(f'namespace "{name}" {error}')
        name = default_namespace(f"operator-{package}")
    return name, tuple(notes)


def namespace_error(
    name: str, suite_namespaces: Collection[str] = SUITE_NAMESPACES, *, must_exist: bool = False
) -> str:
    """The reason why nothing may be installed into the namespace of this name; "" when it may. One of Kubernetes may only be
    installed into if it is required to exist, and so is neither created nor changed."""
    if not isinstance(name, str) or not is_dns1123_label(name):
        return "is not a valid namespace name (lower-case letters, digits and `-`, at most 63)"
    if not must_exist and is_kubernetes_namespace(name):
        return "belongs to Kubernetes"
    return "is the suite's own" if name in suite_namespaces else ""


def external_namespaces(
    objects: Iterable[BundleObject], watched: Iterable[str], suite_namespaces: Collection[str] = SUITE_NAMESPACES
) -> list[str]:
    """The namespaces that are watched, and those of the objects of a bundle, if it does not contain them, sorted. Those of
    Kubernetes itself are left out, because they are always there."""
    used, included = set(watched) - {""}, set()
    for each in objects:
        if each.key[:2] == ("", "Namespace"):
            included.add(each.name)
        elif each.namespace:
            used.add(each.namespace)
    return [name for name in sorted(used - included) if not namespace_error(name, suite_namespaces)]


def default_namespace(name: str) -> str:
    """`<name>-system` as a DNS label: other characters become `-`, and the name is truncated to 63 characters."""
    suffix = "-system"
    base = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name.lower())
    return (base[: MAX_LABEL_LENGTH - len(suffix)].strip("-") or "operator") + suffix


def namespace_object(bundle: RegistryBundle | None, name: str) -> Mapping[str, Any]:
    """The Namespace object to apply, with the labels and annotations of the bundle's template."""
    template = _template(bundle.csv_annotations)[0] if bundle else {}
    suggested = template.get("metadata") or {}
    metadata: dict[str, Any] = {"name": name}
    for field in ("labels", "annotations"):
        values = suggested.get(field)
        if isinstance(values, dict):
            texts = {key: value for key, value in sorted(values.items()) if isinstance(value, str)}
            metadata[field] = without_reserved_keys(texts)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def without_reserved_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Labels or annotations of a bundle without those that only rukpak may write, so that no bundle can claim other objects."""
    return {key: value for key, value in values.items() if not _is_reserved(key)}


def _is_reserved(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key and key != OPT_OUT_ANNOTATION else ""
    return domain == RESERVED_DOMAIN or domain.endswith(f".{RESERVED_DOMAIN}")


def _template(annotations: Mapping[str, str]) -> tuple[Mapping[str, Any], str]:
    """The template, and the error of one that cannot be used."""
    text = annotations.get(TEMPLATE_ANNOTATION)
    if not text:
        return {}, ""
    try:
        template = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}, f"annotation {TEMPLATE_ANNOTATION} is not valid JSON"
    if not isinstance(template, dict) or not isinstance(template.get("metadata"), dict):
        return {}, f"annotation {TEMPLATE_ANNOTATION} is no Namespace as JSON"
    return template, ""
