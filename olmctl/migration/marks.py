"""The marks of `olm migrate v0`, and what OLM v0 writes on the objects of a ClusterServiceVersion. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from olmctl.migration.records import Marks, pairs
from olmctl.migration.v0 import GROUP
from olmctl.migration.values import at, text
from olmkit.api.meta import Object
from olmkit.api.operators import MIGRATION_LABEL

MARK = MIGRATION_LABEL
"""The label and the annotation."""
REMOVING = "removing"
"""The beginning of the annotation of a ClusterServiceVersion of which nothing is given back any more. The CatalogSource follows,
for the time when its Subscription is gone."""
ALONGSIDE_PREFIX = "operatorframework.io/installed-alongside-"
OWNER, OWNER_KIND, OWNER_NAMESPACE = "olm.owner", "olm.owner.kind", "olm.owner.namespace"
_LABELS = frozenset({
    "olm.managed", OWNER, OWNER_KIND, OWNER_NAMESPACE, "olm.deployment-spec-hash", "olm.permissions.hash",
    "olm.webhook-description-generate-name", "olm.webhook-description-hash",
})  # fmt: skip
MARKS = Marks(
    MARK,
    "olm-migrate-v0",
    GROUP,
    lambda label: label in _LABELS or label.startswith(f"{GROUP}/"),
    lambda annotation: annotation.startswith(ALONGSIDE_PREFIX),
)


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
        labels = pairs(obj, "labels")
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

    def detached(self, obj: Object) -> Object | None:
        """The patch that takes the object from OLM v0; None if there is nothing to take. `obj`: a Deployment whole, others with
        their metadata."""
        labels = {key: each for key, each in pairs(obj, "labels").items() if self.takes(key)}
        mine = f"{self.namespace}/{self.version}"
        annotations = {
            key: each
            for key, each in pairs(obj, "annotations").items()
            if key.startswith(ALONGSIDE_PREFIX) and each == mine
        }
        return MARKS.taken(obj, self.package, self.owners, labels, annotations)
