"""Reads about a kind of instances: its schema from the cluster, and its publisher's words from the catalog. Never writes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from console.forms.descriptors import Schema
from console.forms.examples import internal_kinds
from console.page import NotThere
from console.views.description import supported_modes
from console.views.operators import watched_namespaces
from olmctl.questions.catalogd import CatalogReadError, read_catalog
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, Forbidden, NotFound, Unavailable
from olmkit.fbc.bundle_objects import find_csv

CRDS: Final = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
NAMESPACES: Final = Kind("", "v1", "Namespace", "namespaces")
AT_ONCE: Final = 8
MAX_NAMES: Final = 1_000
"""Names of objects that a form offers."""


MAX_KNOWN: Final = 2_000
_known: dict[tuple[str, str, str], Kind] = {}
"""The kinds that were asked for, by group, version and plural: a page that was shown can be followed."""


def known_kind(group: str, version: str, plural: str) -> Kind | None:
    """The kind of a path that served_kind() has found before; None if there is none. Asks nobody."""
    return _known.get((group, version, plural))


@dataclass(frozen=True)
class Publisher:
    """The words of the publisher of a kind. Everything is empty if no installed Operator provides it, or its catalog is away."""

    operator: str = ""
    owned: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)
    install_modes: object = None
    problem: str = ""
    recorded_title: str = ""
    """The name of the kind that the status of the Operator has."""
    watched: tuple[str, ...] | None = None
    """The namespaces in which the Operator serves instances; None for all of them."""

    @property
    def title(self) -> str:
        """The name of the kind for people; "" if it has none."""
        return text_at(self.owned, "displayName") or self.recorded_title

    def is_internal(self, kind: Kind) -> bool:
        """Report whether the publisher does not offer the kind to people."""
        return f"{kind.plural}.{kind.group}" in internal_kinds(self.annotations)


def has_pages(group: str) -> bool:
    """Report whether kinds of a group can have pages: those of Kubernetes itself that have no dot in their group have none."""
    return "." in group


async def served_kind(session: Session, group: str, version: str, plural: str) -> Kind:
    """The kind of a path. Raises NotThere if the cluster does not serve it."""
    try:
        listed = await session.client.request("GET", f"/apis/{quote(group, safe='')}/{quote(version, safe='')}")
    except NotFound:
        listed = {}
    for each in listed.get("resources") or ():
        if isinstance(each, dict) and each.get("name") == plural and has_pages(group):
            found = Kind(group, version, text_at(each, "kind"), plural, each.get("namespaced") is True)
            if len(_known) >= MAX_KNOWN:
                _known.clear()
            _known[group, version, plural] = found
            return found
    brought = await _brought_by(session, group)
    raise NotThere(f"The cluster does not serve {plural}.{group} in version {version}.{brought}")


async def _brought_by(session: Session, group: str) -> str:
    try:
        found, _ = await session.client.list(operators.KIND)
    except ApiError:
        return ""
    names = [each["metadata"]["name"] for each in found if any(api.get("group") == group for api in apis_of(each))]
    return f" Kinds of {group} come from Operator {', '.join(names)}." if names else ""


def apis_of(operator: Object) -> list[Mapping[str, Any]]:
    """The kinds that the installed bundle of an Operator provides."""
    listed = part(operator, "status", "installed", "apis")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


async def schema_of(session: Session, kind: Kind) -> Schema:
    """The OpenAPI schema of the kind, from its definition, or as the API server publishes it; {} if neither may be read."""
    try:
        definition = await session.client.get(CRDS, f"{kind.plural}.{kind.group}")
    except (Forbidden, NotFound):
        return await _published_schema(session, kind)
    for version in part(definition, "spec", "versions") or ():
        if text_at(version, "name") == kind.version:
            schema = part(version, "schema", "openAPIV3Schema")
            return schema if isinstance(schema, dict) else {}
    return {}


async def _published_schema(session: Session, kind: Kind) -> Schema:
    path = f"/openapi/v3/apis/{quote(kind.group, safe='')}/{quote(kind.version, safe='')}"
    try:
        document = await session.client.request("GET", path)
    except (Forbidden, NotFound, Unavailable):
        return {}
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    for schema in (part(document, "components", "schemas") or {}).values():
        if isinstance(schema, dict) and wanted in (schema.get("x-kubernetes-group-version-kind") or ()):
            return schema
    return {}


async def publisher_of(session: Session, kind: Kind) -> Publisher:
    """The publisher's words about a kind."""
    try:
        listed, _ = await session.client.list(operators.KIND)
    except ApiError as error:
        return Publisher(problem=f"Operators cannot be listed: {error.message}")
    for operator in listed:
        versions = [text_at(api, "version") for api in apis_of(operator) if _is_of(api, kind)]
        if versions:
            return await publisher_in(session, operator, kind)
    return Publisher()


def _is_of(api: Mapping[str, Any], kind: Kind) -> bool:
    return (api.get("group"), api.get("kind")) == (kind.group, kind.kind)


async def publisher_in(session: Session, operator: Object, kind: Kind) -> Publisher:
    """The words about a kind in the bundle that an Operator has installed."""
    name = text_at(operator, "metadata", "name")
    titles = [text_at(api, "displayName") for api in apis_of(operator) if _is_of(api, kind)]
    title = next(filter(None, titles), "")
    try:
        annotations, owned, modes = await csv_parts(
            session,
            text_at(operator, "status", "installed", "catalog"),
            text_at(operator, "spec", "packageName"),
            text_at(operator, "status", "installed", "name"),
        )
    except CatalogReadError as error:
        return Publisher(name, problem=str(error), recorded_title=title, watched=watched_namespaces(operator))
    matching = [each for each in owned if each.get("kind") == kind.kind and _group(each) == kind.group]
    best = [each for each in matching if each.get("version") == kind.version] or matching
    watched = watched_namespaces(operator, supported_modes(modes))
    return Publisher(name, best[0] if best else {}, annotations, modes, recorded_title=title, watched=watched)


def _group(owned: Mapping[str, Any]) -> str:
    return text_at(owned, "name").partition(".")[2]


async def csv_parts(
    session: Session, catalog: str, package: str, bundle: str
) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]], object]:
    """Of the ClusterServiceVersion of a bundle, as its catalog has it: annotations, owned kinds, install modes. Raises
    CatalogReadError."""
    if not catalog or not bundle:
        return {}, (), None
    query = {"schema": "olm.bundle", "package": package, "name": bundle}
    blob = await read_catalog(session, catalog, "api/v1/metas", query)
    listed = blob.get("properties")
    properties = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    for each in properties:
        if each.get("type") == "olm.csv.metadata" and isinstance(value := each.get("value"), dict):
            return _mapping(value.get("annotations")), _owned(value.get("crdDescriptions")), value.get("installModes")
    csv = find_csv(each.get("value") for each in properties if each.get("type") == "olm.bundle.object") or {}
    spec = _mapping(csv.get("spec"))
    annotations = _mapping(part(dict(csv), "metadata", "annotations"))
    return annotations, _owned(spec.get("customresourcedefinitions")), spec.get("installModes")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _owned(definitions: object) -> list[Mapping[str, Any]]:
    listed = _mapping(definitions).get("owned")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


async def names_of(session: Session, kind: Kind, namespace: str | None, selector: str = "") -> tuple[str, ...] | None:
    """The names of objects to choose from; None if they may not be listed. Never more than names are read."""
    try:
        found, _ = await session.client.list(
            kind, namespace if kind.namespaced else None, selector or None, metadata_only=True, limit=MAX_NAMES
        )
    except ApiError:
        return None
    return tuple(sorted(each["metadata"]["name"] for each in found)[:MAX_NAMES])


async def gathered(jobs: Sequence[Any]) -> list[Any]:
    """The results of these coroutines, of which few run at once."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def run(job: Any) -> Any:
        async with limit:
            return await job

    return list(await asyncio.gather(*(run(job) for job in jobs)))
