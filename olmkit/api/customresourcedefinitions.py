"""The facts about CustomResourceDefinitions that controllers need: names, versions, conversion, who installed them.

A CustomResourceDefinition of a real operator has up to 1 MB, nearly all of it schemas. `trim` is the transform of an informer and
keeps the facts alone; `definition_of` reads them from a trimmed object. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from olmkit.api.bundledeployments import OWNER_UID_LABEL, RELEASED_ANNOTATION
from olmkit.api.meta import Kind, Object
from olmkit.api.ownership import MANAGER_PREFIX, apply_entries, is_unattributed

KIND = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
WEBHOOK = "Webhook"
"""The strategy of a conversion by a webhook."""
DEFAULT_PORT = 443
_DEFINITION = "definition"
"""The field of a trimmed object that holds its CustomResourceDefinition."""


class Conversion(NamedTuple):
    """The conversion of custom resources between versions, without the authority that the API server trusts for that."""

    strategy: str = "None"
    """None: only the version is replaced. Webhook: the fields below say where it is."""
    namespace: str = ""
    service: str = ""
    """The Service of the webhook; empty if it has a URL."""
    path: str = ""
    port: int = DEFAULT_PORT
    url: str = ""

    @property
    def endpoint(self) -> str:
        """The path and the port, or the URL."""
        return self.url or f"{self.path or '/'} on port {self.port}"

    @property
    def address(self) -> str:
        """The namespace and the name of the Service, or the URL."""
        return self.url or f"{self.namespace}/{self.service}"

    def __str__(self) -> str:
        """The address of the webhook, for messages."""
        return self.url or f"Service {self.address}"

    @property
    def is_webhook(self) -> bool:
        """True if a webhook converts."""
        return self.strategy == WEBHOOK


NO_WEBHOOK = Conversion()


def conversion_of(definition: Mapping[str, Any]) -> Conversion:
    """The conversion of a CustomResourceDefinition, as a bundle has it or as the API server returns it."""
    spec = definition.get("spec") or {}
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != WEBHOOK:
        return NO_WEBHOOK
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    service = client.get("service") or {}
    return Conversion(
        WEBHOOK,
        str(service.get("namespace") or ""),
        str(service.get("name") or ""),
        str(service.get("path") or ""),
        service.get("port") or DEFAULT_PORT,
        str(client.get("url") or ""),
    )


@dataclass(frozen=True)
class CustomResourceDefinition:
    """The facts of one CustomResourceDefinition. Two are equal when they differ in the resourceVersion alone."""

    name: str
    uid: str = ""
    resource_version: str = field(default="", compare=False)
    group: str = ""
    kind: str = ""
    plural: str = ""
    is_namespaced: bool = False
    served_versions: tuple[str, ...] = ()
    """In the order of spec.versions."""
    storage_version: str = ""
    stored_versions: tuple[str, ...] = ()
    """The versions in which custom resources may be stored, from the status."""
    conversion: Conversion = NO_WEBHOOK
    is_established: bool = False
    problem: str = ""
    """The reason why it cannot be established; empty if it is established, or only not established yet."""
    is_terminating: bool = False
    """True if it has a deletionTimestamp: the API server deletes its custom resources, and accepts no more of them."""
    owner_uid: str = ""
    """The uid in the label of the BundleDeployment that installed it; empty if there is none. The label may be a copy."""
    appliers: tuple[str, ...] = ()
    """The names of the BundleDeployments that applied it, sorted."""
    is_unattributed: bool = False
    """True if it has the label, and nothing shows who applied it."""
    released_by: str = ""
    """The BundleDeployment that had it, if it was released."""

    @property
    def group_kind(self) -> tuple[str, str]:
        """(group, kind) of its custom resources."""
        return self.group, self.kind

    @property
    def converted_versions(self) -> tuple[str, ...]:
        """The versions between which custom resources are converted, sorted; empty if there is one only."""
        versions = {*self.served_versions, *self.stored_versions}
        return tuple(sorted(versions)) if len(versions) > 1 else ()

    @property
    def is_installed(self) -> bool:
        """True if a BundleDeployment installed it: it has the label, and was applied by one."""
        return bool(self.owner_uid and self.appliers)

    def is_applied_by(self, uid: str, deployment: str) -> bool:
        """Report whether the BundleDeployment of that uid and name installed it; see olmkit.api.ownership."""
        return self.owner_uid == uid and deployment in self.appliers

    def may_be_applied_by(self, uid: str, deployment: str) -> bool:
        """The same for what guards it: also if nothing shows who applied it."""
        return self.is_applied_by(uid, deployment) or (self.owner_uid == uid and self.is_unattributed)

    @property
    def is_served(self) -> bool:
        """True if custom resources can be created: it is established, is not being deleted, and serves a version."""
        return self.is_established and not self.is_terminating and bool(self.served_versions)


def custom_resource_definition(obj: Mapping[str, Any]) -> CustomResourceDefinition:
    """The facts of a CustomResourceDefinition as the API server returns it."""
    metadata, spec = obj["metadata"], obj["spec"]
    conditions = {entry["type"]: entry for entry in (obj.get("status") or {}).get("conditions") or ()}
    is_established = conditions.get("Established", {}).get("status") == "True"
    versions = spec.get("versions") or ()
    return CustomResourceDefinition(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        group=spec["group"],
        kind=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        is_namespaced=spec.get("scope") == "Namespaced",
        served_versions=tuple(version["name"] for version in versions if version.get("served")),
        storage_version=next((version["name"] for version in versions if version.get("storage")), ""),
        stored_versions=tuple((obj.get("status") or {}).get("storedVersions") or ()),
        conversion=conversion_of(obj),
        is_established=is_established,
        problem="" if is_established else _problem(conditions),
        is_terminating=bool(metadata.get("deletionTimestamp")),
        owner_uid=(metadata.get("labels") or {}).get(OWNER_UID_LABEL, ""),
        appliers=tuple(sorted({entry["manager"].removeprefix(MANAGER_PREFIX) for entry in apply_entries(obj)})),
        is_unattributed=OWNER_UID_LABEL in (metadata.get("labels") or {}) and is_unattributed(obj, OWNER_UID_LABEL),
        released_by=(metadata.get("annotations") or {}).get(RELEASED_ANNOTATION, ""),
    )


def trim(obj: Object) -> Object:
    """The transform of an informer: the name, uid, resourceVersion and generation of the object, and its facts."""
    metadata = obj["metadata"]
    kept = {key: metadata[key] for key in ("name", "uid", "resourceVersion", "generation") if key in metadata}
    return {"metadata": kept, _DEFINITION: custom_resource_definition(obj)}


def definition_of(obj: Mapping[str, Any] | None) -> CustomResourceDefinition | None:
    """The facts of a trimmed object; None when there is none, or one that could not be read."""
    return obj.get(_DEFINITION) if obj is not None else None


def _problem(conditions: Mapping[str, Mapping[str, Any]]) -> str:
    accepted = conditions.get("NamesAccepted", {})
    return str(accepted.get("message", "")) if accepted.get("status") == "False" else ""
