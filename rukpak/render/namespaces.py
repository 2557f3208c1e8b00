"""Where a bundle is installed: the namespace it suggests, or one made of its package's name. Called by
rukpak.bundledeployment.decide and the render command. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import orjson

from olmkit.api.names import MAX_LABEL_LENGTH, is_dns1123_label
from rukpak.format.bundle import RegistryBundle

TEMPLATE_ANNOTATION = "operatorframework.io/suggested-namespace-template"
NAME_ANNOTATION = "operatorframework.io/suggested-namespace"
SUITE_NAMESPACES = ("olm-suite-system", "olm-suite-keys")
"""Where the suite itself lives and where its keys are, unless it was started with others."""
MARKS = "core.rukpak.io"
"""The domain, with all below it, of the labels and annotations by which rukpak knows what is whose."""


def install_namespace(
    bundle: RegistryBundle, suite_namespaces: Collection[str] = SUITE_NAMESPACES
) -> tuple[str, tuple[str, ...]]:
    """The namespace, and for each suggestion that was passed over one sentence saying why.

    The suggested-namespace-template's name, else suggested-namespace, else `<package>-system`.
    """
    notes: list[str] = []
    template, problem = _template(bundle)
    if problem:
        notes.append(problem)
    suggestions = [
        (TEMPLATE_ANNOTATION, ((template.get("metadata") or {}).get("name") or "")),
        (NAME_ANNOTATION, bundle.csv_annotations.get(NAME_ANNOTATION) or ""),
    ]
    for source, name in suggestions:
        if not name:
            continue
        fault = why_not(name, suite_namespaces)
        if not fault:
            return name, tuple(notes)
        notes.append(f'annotation {source}: namespace "{name}" {fault}')
    name = namespace_for(bundle.package)
    fault = why_not(name, suite_namespaces)
    if fault:
        notes.append(f'namespace "{name}" {fault}')
        name = namespace_for(f"operator-{bundle.package}")
    return name, tuple(notes)


def why_not(name: str, suite_namespaces: Collection[str] = SUITE_NAMESPACES) -> str:
    """Why nothing may be installed into the namespace of this name; empty when it may."""
    if not isinstance(name, str) or not is_dns1123_label(name):
        return "is no name of a namespace (lower-case letters, digits and `-`, at most 63)"
    if name == "default" or name.startswith("kube-"):
        return "belongs to Kubernetes"
    return "is the suite's own" if name in suite_namespaces else ""


def namespace_for(name: str) -> str:
    """`<name>-system` as a DNS label: dots become `-`, and it is cut to 63."""
    suffix = "-system"
    base = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name.lower())
    return (base[: MAX_LABEL_LENGTH - len(suffix)].strip("-") or "operator") + suffix


def namespace_object(bundle: RegistryBundle | None, name: str) -> Mapping[str, Any]:
    """The Namespace to be applied, with the labels and annotations of the bundle's template."""
    template = _template(bundle)[0] if bundle else {}
    suggested = template.get("metadata") or {}
    metadata: dict[str, Any] = {"name": name}
    for field in ("labels", "annotations"):
        values = suggested.get(field)
        if isinstance(values, dict):
            texts = {key: value for key, value in sorted(values.items()) if isinstance(value, str)}
            metadata[field] = without_marks(texts)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def without_marks(values: Mapping[str, Any]) -> dict[str, Any]:
    """Labels or annotations of a bundle without those that only rukpak may write: nobody can claim what is another's."""
    return {key: value for key, value in values.items() if not _is_mark(key)}


def _is_mark(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    return domain == MARKS or domain.endswith(f".{MARKS}")


def _template(bundle: RegistryBundle) -> tuple[Mapping[str, Any], str]:
    """The template and, when there is one that cannot be used, why."""
    text = bundle.csv_annotations.get(TEMPLATE_ANNOTATION)
    if not text:
        return {}, ""
    try:
        template = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}, f"annotation {TEMPLATE_ANNOTATION} is no JSON"
    if not isinstance(template, dict) or not isinstance(template.get("metadata"), dict):
        return {}, f"annotation {TEMPLATE_ANNOTATION} is no Namespace as JSON"
    return template, ""
