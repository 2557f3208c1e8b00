"""Patches that take an object of a ClusterServiceVersion from OLM v0, and that give it back.

One patch takes everything away and records it in an annotation of the object itself, so that no object is between two states. The
label names the package, by which the objects are found again. What is given back is limited to what OLM v0 writes: the annotation
is data of whoever may change the object. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmctl.migration.v0 import GROUP, at, items, text
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.api.operators import MIGRATION_LABEL
from olmkit.api.ownership import has_applied

MARK = MIGRATION_LABEL
"""The label and the annotation."""
MARK_FIELD = ("f:metadata", "f:annotations", f"f:{MARK}")
MARK_MANAGER = "olm-migrate-v0"
"""The field manager of the marks of what the Operator has created."""
REMOVING = "removing"
"""The beginning of the annotation of a ClusterServiceVersion of which nothing is given back any more. The CatalogSource follows,
for the time when its Subscription is gone."""
ALONGSIDE_PREFIX = "operatorframework.io/installed-alongside-"
OWNER, OWNER_KIND, OWNER_NAMESPACE = "olm.owner", "olm.owner.kind", "olm.owner.namespace"
_LABELS = frozenset({
    "olm.managed", OWNER, OWNER_KIND, OWNER_NAMESPACE, "olm.deployment-spec-hash", "olm.permissions.hash",
    "olm.webhook-description-generate-name", "olm.webhook-description-hash",
})  # fmt: skip
MAX_RECORD_CHARACTERS = 65_536
DEPLOYMENT = ("apps", "Deployment")


def is_being_removed(version: Object | None) -> bool:
    """Report whether the objects of OLM v0 of this ClusterServiceVersion are being deleted."""
    return text(version, "metadata", "annotations", MARK).partition(" ")[0] == REMOVING


def is_past_undo(version: Object | None) -> bool:
    """Report whether nothing of this ClusterServiceVersion can be given back: it is being deleted, or its objects are."""
    return is_being_removed(version) or bool(at(version, "metadata", "deletionTimestamp"))


@dataclass(frozen=True)
class Installation:
    """The identity of the objects that OLM v0 has installed of one package."""

    package: str
    namespace: str
    version: str
    """The name of the ClusterServiceVersion."""
    component: str
    """The label of the components of the package."""
    owners: frozenset[str] = frozenset()
    """The uids of the ClusterServiceVersion, of its copies, and of its OperatorCondition."""
    copied_to: frozenset[str] = frozenset()
    """The namespaces of its copies."""

    def owns(self, obj: Object) -> bool:
        """Report whether the object is one of the ClusterServiceVersion, or of its package."""
        labels = _texts(obj, "labels")
        is_labeled = labels.get(OWNER) == self.version and labels.get(OWNER_KIND, "ClusterServiceVersion") in (
            "ClusterServiceVersion",
            "OperatorCondition",
        )
        references = at(obj, "metadata", "ownerReferences") or ()
        return (
            (is_labeled and self._is_namespace(obj, labels))
            or self.component in labels
            or any(text(each, "uid") in self.owners for each in references)
        )

    def _is_namespace(self, obj: Object, labels: Mapping[str, str]) -> bool:
        """Report whether the label of the owner names the ClusterServiceVersion, or its copy beside the object: another namespace
        may have a ClusterServiceVersion of the same name that is none of its copies."""
        named = labels.get(OWNER_NAMESPACE, "")
        is_beside = named == text(obj, "metadata", "namespace") and named in self.copied_to
        return named == self.namespace or is_beside

    def takes(self, label: str) -> bool:
        """Report whether a label of an object that it owns is taken away."""
        return label in _LABELS or label == self.component


@dataclass(frozen=True)
class Record:
    """The labels, annotations and owner references that were taken from an object."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    references: tuple[Mapping[str, Any], ...] = ()
    is_new: bool = False
    """True if the object was not there before the migration."""
    template: str = ""
    """A digest of the pod template of a Deployment."""

    def dump(self) -> str:
        """The value of the annotation."""
        value = {
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "ownerReferences": [dict(each) for each in self.references],
            "isNew": self.is_new,
            "template": self.template,
        }
        return json.dumps({name: each for name, each in value.items() if each}, sort_keys=True)


def record_of(obj: Object) -> Record | None:
    """The record of an object, with nothing in it that OLM v0 does not write; None if it has none that can be read."""
    written = text(obj, "metadata", "annotations", MARK)
    try:
        value = json.loads(written) if 0 < len(written) <= MAX_RECORD_CHARACTERS else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        return None
    labels = {key: each for key, each in _pairs(value.get("labels")) if key in _LABELS or key.startswith(f"{GROUP}/")}
    annotations = {key: each for key, each in _pairs(value.get("annotations")) if key.startswith(ALONGSIDE_PREFIX)}
    references = tuple(each for each in value.get("ownerReferences") or () if _is_reference(each))
    return Record(labels, annotations, references, value.get("isNew") is True, text(value, "template"))


def _pairs(value: Any) -> list[tuple[str, str]]:
    return [(key, each) for key, each in value.items() if isinstance(each, str)] if isinstance(value, Mapping) else []


def _texts(obj: Object, name: str) -> dict[str, str]:
    return dict(_pairs(at(obj, "metadata", name)))


def _is_reference(value: Any) -> bool:
    fields = ("apiVersion", "kind", "name", "uid")
    return text(value, "apiVersion").startswith(f"{GROUP}/") and all(text(value, name) for name in fields)


def detached(obj: Object, installation: Installation) -> Object | None:
    """The patch that takes the object from OLM v0; None if there is nothing to take. `obj`: a Deployment whole, others with their
    metadata."""
    labels = {key: each for key, each in _texts(obj, "labels").items() if installation.takes(key)}
    mine = f"{installation.namespace}/{installation.version}"
    annotations = {
        key: each
        for key, each in _texts(obj, "annotations").items()
        if key.startswith(ALONGSIDE_PREFIX) and each == mine
    }
    references = at(obj, "metadata", "ownerReferences") or ()
    taken = tuple(each for each in references if text(each, "uid") in installation.owners)
    if not (labels or annotations or taken):
        return None
    before = record_of(obj) or Record()
    is_deployment = (text(obj, "apiVersion").partition("/")[0], text(obj, "kind")) == DEPLOYMENT
    record = Record(
        {**before.labels, **labels},
        {**before.annotations, **annotations},
        (*(each for each in before.references if text(each, "uid") not in installation.owners), *taken)
        if taken
        else before.references,
        before.is_new,
        before.template or (template_digest(obj) if is_deployment else ""),
    )
    metadata: Object = {
        **unchanged_precondition(obj),
        "labels": {**dict.fromkeys(labels), MARK: installation.package},
        "annotations": {**dict.fromkeys(annotations), MARK: record.dump()},
    }
    if taken:
        metadata["ownerReferences"] = [each for each in references if each not in taken]
    if is_deployment:
        metadata["annotations"][KEEP_TEMPLATE_ANNOTATION] = KEEP
    return {"metadata": metadata}


KEEP = "until-the-bundle-changes"
"""The value of the annotation before rukpak replaces it."""


def marked_new(kind: Kind, obj: Object, package: str) -> Object:
    """The apply of MARK_MANAGER that marks an object which the Operator has created. rukpak gives up the fields of what it
    releases: the owner of the mark is what shows then that it is no mark of others."""
    place = {key: obj["metadata"][key] for key in ("name", "namespace") if obj["metadata"].get(key)}
    marks = {"labels": {MARK: package}, "annotations": {MARK: Record(is_new=True).dump()}}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**unchanged_precondition(obj), **place, **marks},
    }


def restored(obj: Object, version_uids: Collection[str]) -> Object:
    """The patch that gives the object back. References to a ClusterServiceVersion that is not there any more are left out: the
    garbage collector would delete the object."""
    record = record_of(obj) or Record()
    present = [each for each in at(obj, "metadata", "ownerReferences") or ()]
    known = {text(each, "uid") for each in present}
    back = [each for each in record.references if text(each, "uid") in version_uids and text(each, "uid") not in known]
    return {
        "metadata": {
            **unchanged_precondition(obj),
            "labels": {**record.labels, MARK: None},
            "annotations": {**record.annotations, MARK: None, KEEP_TEMPLATE_ANNOTATION: None},
            "ownerReferences": [*present, *map(dict, back)],
        }
    }


def marked_since(version: Object) -> str:
    """The time since when a ClusterServiceVersion has its mark, as the API server writes it; "" if nothing shows it."""
    entries = items(version, "metadata", "managedFields")
    times = [
        text(each, "time")
        for each in entries
        if at(each, "fieldsV1", "f:metadata", "f:labels", f"f:{MARK}") is not None
    ]
    return min(times, default="")


def is_created_by(obj: Object, manager: str, since: str, *path: str) -> bool:
    """Report whether this field manager has created the object, and not before `since`, a time as the API server writes it; False
    if `since` is empty. With a path, it has to own that field. The record of the object proves nothing: whoever may change the
    object can write it."""
    created = text(obj, "metadata", "creationTimestamp")
    return bool(since) and created >= since and has_applied(obj, manager, *path)


def unmarked(obj: Object) -> Object:
    """The patch that forgets what was taken away."""
    return {"metadata": {**unchanged_precondition(obj), "labels": {MARK: None}, "annotations": {MARK: None}}}


def template_digest(deployment: Object) -> str:
    """A digest of the pod template of a Deployment as it is on the cluster."""
    template = json.dumps(at(deployment, "spec", "template"), sort_keys=True)
    return hashlib.sha256(template.encode()).hexdigest()[:32]
