"""CustomResourceDefinitions, and the descriptions of them in the ClusterServiceVersion. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from olmctl.validation.extra.report import Checked, Path, entries, found_at, shown
from olmctl.validation.extra.schema_faults import schema_faults
from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.loaded_bundle import Document
from rukpak.format.objects import mapping

MAX_FAULTS: Final = 20
"""Faults of one schema that are reported."""


def definition_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about definitions."""
    for crd in checked.bundle.v1beta1_crds:
        text = f"the CustomResourceDefinition {crd.name} is of v1beta1, which Kubernetes 1.22 removed"
        hint = "Write it as apiextensions.k8s.io/v1: the schema goes to spec.versions."
        yield found_at(ERROR, "crd-v1beta1", text, crd, ("apiVersion",), hint)
    for crd in checked.bundle.v1_crds:
        for index, version in entries(crd.spec.get("versions")):
            yield from _version_findings(crd, ("spec", "versions", index), version)
        if not any(version.get("served") is True for _, version in entries(crd.spec.get("versions"))):
            text = f"no version of {crd.name} is served, so that nobody can use it"
            yield found_at(ERROR, "crd-not-served", text, crd, ("spec", "versions"), "Set served: true for a version.")
    if checked.bundle.csv is not None:
        yield from _description_findings(checked)


def _version_findings(crd: Document, path: Path, version: Mapping[str, Any]) -> Iterator[Finding]:
    schema = mapping(version.get("schema")).get("openAPIV3Schema")
    place: Path = (*path, "schema", "openAPIV3Schema")
    if not isinstance(schema, Mapping):
        text = f"version {version.get('name')} of {crd.name} has no schema, which v1 requires"
        hint = "Add schema.openAPIV3Schema; `type: object` with x-kubernetes-preserve-unknown-fields takes everything."
        yield found_at(ERROR, "crd-schema-missing", text, crd, place, hint)
        return
    for where, problem in islice(schema_faults(schema), MAX_FAULTS):
        hint = "Correct the schema: the API server refuses the definition."
        yield found_at(ERROR, "crd-schema", f"{crd.name}: {problem}", crd, (*place, *where), hint)
    subresources = mapping(version.get("subresources"))
    has_status = isinstance(mapping(schema.get("properties")).get("status"), Mapping)
    if has_status and "status" not in subresources:
        text = f"version {version.get('name')} of {crd.name} has a status in its schema and no subresource for it"
        hint = "Add subresources: {status: {}}, unless users write the status."
        yield found_at(WARNING, "crd-status", text, crd, path, hint)
    scale = mapping(subresources.get("scale"))
    if scale and not str(scale.get("statusReplicasPath") or "").startswith(".status."):
        text = f"{crd.name}: must be a path below .status, such as .status.replicas"
        where = (*path, "subresources", "scale", "statusReplicasPath")
        yield found_at(
            ERROR, "crd-scale", text, crd, where, "Write .status. and the field with the number of replicas."
        )


def _description_findings(checked: Checked) -> Iterator[Finding]:
    names = {crd.name for crd in checked.crds}
    by_kind = {_group_kind(crd.spec): (crd, _unserved(crd.spec)) for crd in checked.crds}
    owned = {str(item.get("name")) for _, item in checked.owned()}
    for index, item in checked.owned():
        name, kind = str(item.get("name")), str(item.get("kind"))
        path: Path = ("spec", "customresourcedefinitions", "owned", index)
        found = by_kind.get((name.partition(".")[2], kind))
        if found is None:
            continue
        crd, unserved = found
        if name not in names:
            text = f"{kind} is described as {shown(name)}, and its definition in the bundle is {crd.name}"
            yield found_at(ERROR, "owned-name", text, checked.csv, (*path, "name"), f"Write {crd.name}.")
        version = str(item.get("version"))
        if version in unserved:
            text = f"{kind} is described in version {version}, which its definition does not serve"
            hint = "Describe a version that is served."
            yield found_at(WARNING, "owned-not-served", text, checked.csv, (*path, "version"), hint)
    for index, item in checked.owned("required"):
        if str(item.get("name")) in owned:
            path = ("spec", "customresourcedefinitions", "required", index)
            text = f"{item.get('name')} is required and owned: the bundle would require itself"
            yield found_at(WARNING, "required-owned", text, checked.csv, path, "Remove it from required.")


def _unserved(spec: Mapping[str, Any]) -> frozenset[str]:
    """The versions of a definition that are not served beside others that are; none if none is served."""
    served = {str(each.get("name")): each.get("served") for _, each in entries(spec.get("versions"))}
    return frozenset(name for name, value in served.items() if value is False) if any(served.values()) else frozenset()


def _group_kind(spec: Mapping[str, Any]) -> tuple[str, str]:
    return str(spec.get("group")), str(mapping(spec.get("names")).get("kind"))
