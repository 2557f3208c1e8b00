"""The kinds of OLM v1, and what it leaves on a cluster for a ClusterExtension.

It installs with Helm: each object has a controller reference to the ClusterExtension, labels that name it, and Helm's marks.
Each release is a Secret beside its controllers, with more Secrets if it is large. Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.migration.controller_set import ControllerSet
from olmctl.migration.listing import Found
from olmctl.migration.records import DEPLOYMENT, Marks, pairs
from olmctl.migration.values import at, items, name_of, namespace_of, text
from olmkit.api import clusterextensions
from olmkit.api.clusterextensions import owner_labels
from olmkit.api.foreign_leader import UPSTREAM
from olmkit.api.meta import Kind, Object
from olmkit.api.operators import V1_MIGRATION_LABEL
from olmkit.api.ownership import OPERATOR_CONTROLLER

GROUP = clusterextensions.KIND.group
OBJECT_SETS = Kind(GROUP, "v1", "ClusterObjectSet", "clusterobjectsets")
"""The kind by which OLM v1 installs with its feature gate BoxcutterRuntime."""
CONTROLLERS = ControllerSet("OLM v1", dict(UPSTREAM.values()))
MARK = V1_MIGRATION_LABEL
RELEASE_SELECTOR = f"owner={OPERATOR_CONTROLLER}"
"""Selects the Secrets of releases."""
INDEX = "index"
"""The label `type` of the first Secret of a release; the others belong to it."""
_HELM_LABEL, _HELM = "app.kubernetes.io/managed-by", "Helm"
_HELM_NAME, _HELM_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_SDK_NAME, _SDK_KIND = "operator-sdk/primary-resource", "operator-sdk/primary-resource-type"
_ANNOTATIONS = frozenset({_HELM_NAME, _HELM_NAMESPACE, _SDK_NAME, _SDK_KIND})
_LABEL_FIELD: Object = {"f:metadata": {"f:labels": {f"f:{clusterextensions.OWNER_KIND_LABEL}": {}}}}
MARKS = Marks(MARK, "olm-migrate-v1", GROUP, lambda label: label == _HELM_LABEL, _ANNOTATIONS.__contains__)


@dataclass(frozen=True)
class Installation:
    """The identity of the objects that OLM v1 has installed for one ClusterExtension."""

    name: str
    uid: str
    namespace: str

    @property
    def label(self) -> str:
        """The name as the value of a label."""
        return owner_labels(self.name)[clusterextensions.OWNER_NAME_LABEL]

    def owns(self, obj: Object) -> bool:
        """Report whether the object was installed for the ClusterExtension, or is taken from it already. A Secret of a release is
        no such object."""
        labels = pairs(obj, "labels")
        if labels.get("owner") == OPERATOR_CONTROLLER and "key" in labels:
            return False
        references = at(obj, "metadata", "ownerReferences") or ()
        is_labeled = owner_labels(self.name).items() <= labels.items()
        return is_labeled or labels.get(MARK) == self.label or any(text(each, "uid") == self.uid for each in references)

    def detached(self, obj: Object) -> Object | None:
        """The patch that takes the object from OLM v1; None if there is nothing to take. The labels with its owner stay: the
        Operator of the ClusterExtension gives its objects the same. What Helm has written belongs to nobody then, so that the
        next version of the bundle removes what it does not have. `obj`: a Deployment whole, others with their metadata."""
        annotations = self._annotations(pairs(obj, "annotations"))
        labels = pairs(obj, "labels")
        is_helm = _HELM_NAME in annotations and labels.get(_HELM_LABEL) == _HELM
        entries = _without_helm(items(obj, "metadata", "managedFields"), is_deployment=_is_deployment(obj))
        more = {} if entries is None else {"managedFields": entries}
        taken = {_HELM_LABEL: _HELM} if is_helm else {}
        return MARKS.taken(obj, self.label, {self.uid}, taken, annotations, more)

    def _annotations(self, given: Mapping[str, str]) -> dict[str, str]:
        """The annotations by which Helm, and the library that OLM v1 uses it with, name the ClusterExtension."""
        helm = {_HELM_NAME: self.name, _HELM_NAMESPACE: self.namespace}
        sdk = {_SDK_NAME: f"/{self.name}", _SDK_KIND: f"{clusterextensions.KIND.kind}.{GROUP}"}
        return {key: each for marks in (helm, sdk) if marks.items() <= given.items() for key, each in marks.items()}


def installation_of(extension: Object) -> Installation:
    """The identity of the objects of a ClusterExtension."""
    return Installation(name_of(extension), text(extension, "metadata", "uid"), text(extension, "spec", "namespace"))


def _is_deployment(obj: Object) -> bool:
    return (text(obj, "apiVersion").partition("/")[0], text(obj, "kind")) == DEPLOYMENT


def _without_helm(entries: Sequence[Any], *, is_deployment: bool) -> list[Any] | None:
    """The entries of managedFields in which the controller of OLM v1 has the label of the owner alone; None if it has no other
    fields. Without any entry the API server would give all fields to a writer that nobody knows. Of a Deployment, the pod
    template stays its: rukpak takes it over when the bundle has another one."""
    kept: list[Any] = []
    for each in entries:
        is_helm = text(each, "manager") == OPERATOR_CONTROLLER and text(each, "operation") == "Update"
        if not is_helm or text(each, "subresource"):
            kept.append(each)
            continue
        template = at(each, "fieldsV1", "f:spec", "f:template") if is_deployment else None
        fields = {**_LABEL_FIELD, **({"f:spec": {"f:template": template}} if template is not None else {})}
        kept.append({**each, "fieldsV1": fields})
    return None if kept == list(entries) else kept


def installed_bundle(extension: Object) -> tuple[str, str]:
    """Name and version of the bundle that runs; both "" if none does."""
    bundle = at(extension, "status", "install", "bundle")
    return text(bundle, "name"), text(bundle, "version")


def condition(obj: Object, kind: str) -> Object:
    """A condition of an object of OLM v1; {} if it has none of this type."""
    found = (each for each in items(obj, "status", "conditions") if text(each, "type") == kind)
    return next(found, {})


@dataclass(frozen=True)
class OlmV1:
    """The objects of OLM v1 on the cluster, and those that the suite has already."""

    catalogs: Sequence[Object] = ()
    """ClusterCatalogs."""
    extensions: Sequence[Object] = ()
    """ClusterExtensions."""
    object_sets: Sequence[Object] = ()
    """ClusterObjectSets, their metadata."""
    releases: Sequence[Object] = ()
    """The Secrets of releases, their metadata."""
    controllers: Sequence[Object] = ()
    """The Deployments of its controllers."""
    own_catalogs: Sequence[Object] = ()
    """Catalogs of the suite."""
    operators: Sequence[Object] = ()
    """Operators of the suite."""
    objects: Mapping[str, Sequence[Found]] = field(default_factory=dict)
    """Name of a ClusterExtension -> what is installed for it."""
    system_namespace: str = ""
    """The namespace of the suite."""

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces of its controllers."""
        return frozenset(map(namespace_of, self.controllers))

    def releases_of(self, extension: Object) -> list[Object]:
        """The first Secret of each release of a ClusterExtension, the newest last."""
        uid = text(extension, "metadata", "uid")
        own = [each for each in self.releases if self._is_index(each) and _is_owned(each, uid)]
        return sorted(own, key=lambda each: _number(text(each, "metadata", "labels", "version")))

    def parts_of(self, release: Object) -> list[Object]:
        """The other Secrets of a release."""
        uid = text(release, "metadata", "uid")
        return [each for each in self.releases if not self._is_index(each) and _is_owned(each, uid)]

    def _is_index(self, secret: Object) -> bool:
        """Report whether it is the first Secret of a release. Elsewhere than beside the controllers anybody may have made it."""
        is_beside = not self.controllers or namespace_of(secret) in self.namespaces
        return is_beside and text(secret, "metadata", "labels", "type") == INDEX

    def operator(self, name: str) -> Object | None:
        """The Operator of this name."""
        return next((each for each in self.operators if name_of(each) == name), None)


def _is_owned(obj: Object, uid: str) -> bool:
    return any(text(each, "uid") == uid for each in at(obj, "metadata", "ownerReferences") or ())


def is_owned_by(obj: Object, owner: Object) -> bool:
    """Report whether the object has a reference to the owner."""
    return _is_owned(obj, text(owner, "metadata", "uid"))


def _number(version: str) -> int:
    return int(version) if version.isdecimal() and len(version) < 10 else 0
