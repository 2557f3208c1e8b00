"""Objects that the API server refuses, or that change more than the operator. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from olmctl.validation.extra.report import Checked, Path, found_at, shown
from olmctl.validation.finding import ERROR, Finding
from olmctl.validation.loaded_bundle import Document
from olmctl.validation.optional.removed_apis import removed_release
from olmkit.api.names import dns1123_subdomain_errors, is_dns1123_label
from olmkit.gocompat.base64_text import base64_error
from rukpak.format.objects import mapping
from rukpak.render.preflight import is_path_segment
from rukpak.render.rbac import RBAC_GROUP

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LABEL_NAMES: Final = frozenset({"Service", "Namespace"})
_HUNDRED = re.compile(r"100(?:\.0*)?%")


def object_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about objects that are no definitions and no roles."""
    for document in checked.bundle.objects:
        yield from _name_findings(document)
        if release := removed_release(document.gvk):
            text = (
                f"the {document.kind} {document.name} is of {document.api_version}, which Kubernetes {release} removed"
            )
            hint = "Write it with an API version that Kubernetes serves: a cluster without it refuses the bundle."
            yield found_at(ERROR, "removed-api", text, document, ("apiVersion",), hint)
        if check := _CHECKS.get((document.gvk.group, document.kind)):
            yield from check(document)


def _name_findings(document: Document) -> Iterator[Finding]:
    name = document.name
    if not name:
        return
    if document.gvk.group == RBAC_GROUP:
        is_right = is_path_segment(name)
    elif document.kind in _LABEL_NAMES and not document.gvk.group:
        is_right = is_dns1123_label(name)
    else:
        is_right = not dns1123_subdomain_errors(name)
    if not is_right:
        text = f"{shown(name)} is no name for a {document.kind}: the API server refuses it"
        hint = "Use lower-case letters, digits and dashes."
        yield found_at(ERROR, "object-name", text, document, ("metadata", "name"), hint)


def _secret(document: Document) -> Iterator[Finding]:
    yield from _data_findings(document, "data", is_base64=True)
    yield from _data_findings(document, "stringData", is_base64=False)


def _config_map(document: Document) -> Iterator[Finding]:
    yield from _data_findings(document, "data", is_base64=False)
    yield from _data_findings(document, "binaryData", is_base64=True)
    for key in mapping(document.body.get("data")).keys() & mapping(document.body.get("binaryData")).keys():
        text = f"the key {shown(key)} is in data too"
        yield found_at(ERROR, "object-data", text, document, ("binaryData", key), "Keep one of them.")


def _data_findings(document: Document, field: str, *, is_base64: bool) -> Iterator[Finding]:
    value = document.body.get(field)
    if value is not None and not isinstance(value, Mapping):
        text = f"{field} of a {document.kind} must be a mapping"
        yield found_at(ERROR, "object-data", text, document, (field,), "Write keys with their values.")
    for key, item in mapping(value).items():
        path: Path = (field, key)
        if not _KEY.fullmatch(key):
            text = f"{shown(key)} is no key of a {document.kind}"
            yield found_at(
                ERROR, "object-data", text, document, path, "Use letters, digits, dashes, dots and underscores."
            )
        if item is None:
            continue
        if not isinstance(item, str):
            text = f"the value of {key} is no text"
            yield found_at(ERROR, "object-data", text, document, path, "Write it in quotes.")
        elif is_base64 and (problem := base64_error(item)):
            text = f"the value of {key} is not base64: {problem}"
            hint = (
                "Encode it, or move it to stringData."
                if document.kind == "Secret"
                else "Encode it, or move it to data."
            )
            yield found_at(ERROR, "object-data", text, document, path, hint)


def _disruption_budget(document: Document) -> Iterator[Finding]:
    unavailable, available = document.spec.get("maxUnavailable"), document.spec.get("minAvailable")
    if unavailable in (0, "0", "0%") and not isinstance(unavailable, bool):
        text = f"maxUnavailable {unavailable} lets no pod be evicted: nodes cannot be drained"
        yield found_at(
            ERROR, "disruption-budget", text, document, ("spec", "maxUnavailable"), "Permit at least one pod."
        )
    if isinstance(available, str) and _HUNDRED.fullmatch(available):
        text = f"minAvailable {available} lets no pod be evicted: nodes cannot be drained"
        yield found_at(ERROR, "disruption-budget", text, document, ("spec", "minAvailable"), "Permit at least one pod.")


def _priority_class(document: Document) -> Iterator[Finding]:
    if document.body.get("globalDefault") is True:
        text = "globalDefault gives this priority to all pods of the cluster that name none"
        yield found_at(ERROR, "priority-class", text, document, ("globalDefault",), "Set globalDefault: false.")


_CHECKS: Final[Mapping[tuple[str, str], Callable[[Document], Iterator[Finding]]]] = {
    ("", "Secret"): _secret,
    ("", "ConfigMap"): _config_map,
    ("policy", "PodDisruptionBudget"): _disruption_budget,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
}
