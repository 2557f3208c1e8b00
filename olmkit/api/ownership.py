"""Finds who applied an object: a BundleDeployment of ours, or operator-controller an Operator for others that require its
package.

A label alone proves nothing: people copy manifests, and controllers copy labels. Nor does every entry of a field manager: a copy
that is created with the entries of its original keeps the rest of them that its creator does not own, and backup tools patch them
into what they restore. An entry counts if it owns the label, and is not older than the object. An object whose entries were
removed counts as one that was not applied, so that it is never deleted by mistake; for what guards objects from being deleted
(`may_be_applied_by`) it counts as one that was. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from olmkit.api.bundledeployments import ADOPTED_ANNOTATION, OWNER_UID_LABEL
from olmkit.api.meta import controlling_owner
from olmkit.api.operators import INSTALLED_FOR_LABEL

MANAGER_PREFIX = "rukpak:"
"""The prefix of the field managers of BundleDeployments."""
MAX_CLOCK_DIFFERENCE = timedelta(minutes=5)
"""Between the clocks of API servers. A copy whose original was applied so shortly before may count as applied."""
OPERATOR_CONTROLLER = "operator-controller"
"""The field manager of what operator-controller applies."""
UNKNOWN_MANAGER = "before-first-apply"
"""The field manager that the API server gives what an object without entries has when it is applied."""
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation that `kubectl apply` writes, also if it changes no field."""


def manager_name(deployment: str) -> str:
    """The field manager of what a BundleDeployment applies."""
    return f"{MANAGER_PREFIX}{deployment}"


def _is_apply(entry: Mapping[str, Any]) -> bool:
    """Report whether it is an entry of an apply of the object itself, and not of a subresource."""
    return entry.get("operation") == "Apply" and not entry.get("subresource")


def has_applied(obj: Mapping[str, Any], manager: str, *path: str) -> bool:
    """Report whether this field manager has applied the object itself, and not an original of it: it has an entry of its apply,
    with the field at the path, such as "f:spec", that is not older than the object."""
    metadata = obj["metadata"]
    return any(
        _is_apply(entry) and entry.get("manager") == manager and _owns(entry, *path) and not _is_older(metadata, entry)
        for entry in metadata.get("managedFields") or ()
    )


def may_be_applied_by(obj: Mapping[str, Any], deployment: str, label: str) -> bool:
    """Report whether the BundleDeployment of this name applied the object, which has its label, or nothing shows who did."""
    return is_unattributed(obj, label) or any(
        entry["manager"] == manager_name(deployment) for entry in apply_entries(obj)
    )


def is_unattributed(obj: Mapping[str, Any], label: str) -> bool:
    """Report whether nothing shows that others have given the object this label: entries of field managers can be removed. False
    for a copy, whose label is its creator's."""
    entries = obj["metadata"].get("managedFields") or ()
    writers = {entry.get("manager") or "" for entry in entries if _owns(entry, *_label_path(label))}
    return UNKNOWN_MANAGER in writers or all(each.startswith(MANAGER_PREFIX) for each in writers)


def _owns(entry: Mapping[str, Any], *path: str) -> bool:
    """Report whether the field at the path is one of the entry."""
    fields = entry.get("fieldsV1")
    for step in path:
        if not isinstance(fields, Mapping) or step not in fields:
            return False
        fields = fields[step]
    return True


def _label_path(label: str) -> tuple[str, ...]:
    return "f:metadata", "f:labels", f"f:{label}"


def has_applied_since(obj: Mapping[str, Any], manager: str, since: str) -> bool:
    """Report whether this field manager has applied the object, and after `since`, a time as the API server writes it; False if
    `since` is empty. The label may be gone: `kubectl replace` with a manifest without labels removes it."""
    metadata = obj["metadata"]
    own = (each for each in metadata.get("managedFields") or () if _is_apply(each) and each.get("manager") == manager)
    times = (each.get("time") or "" for each in own if not _is_older(metadata, each))
    return bool(since) and any(time > since for time in times)


def is_adopted(obj: Mapping[str, Any]) -> bool:
    """Report whether a BundleDeployment has applied that the object was there before it: an annotation of others is a copy."""
    path = "f:metadata", "f:annotations", f"f:{ADOPTED_ANNOTATION}"
    is_annotated = bool((obj["metadata"].get("annotations") or {}).get(ADOPTED_ANNOTATION))
    return is_annotated and any(_owns(entry, *path) for entry in apply_entries(obj))


def without_manager(obj: Mapping[str, Any], manager: str) -> list[dict[str, Any]]:
    """The entries of managedFields of an object as they are when this field manager has given up its fields, which nobody owns
    then and which keep their values. If no other entry is left, it is one without anything: the API server takes an empty list
    for a client that does not know the field."""
    entries = obj["metadata"].get("managedFields") or ()
    return [dict(each) for each in entries if each.get("manager") != manager] or [{}]


def former_managers(obj: Mapping[str, Any], manager: str) -> list[str]:
    """The field managers of other BundleDeployments than that of `manager` that have applied to the object, sorted."""
    managers = {entry.get("manager", "") for entry in obj["metadata"].get("managedFields") or () if _is_apply(entry)}
    return sorted(each for each in managers if each.startswith(MANAGER_PREFIX) and each != manager)


def apply_entries(obj: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The entries of managedFields of what BundleDeployments applied, without subresources, and without those of an original of
    which the object is a copy."""
    metadata = obj["metadata"]
    for entry in metadata.get("managedFields") or ():
        is_ours = _is_apply(entry) and (entry.get("manager") or "").startswith(MANAGER_PREFIX)
        if is_ours and _owns_label(metadata, entry) and not _is_older(metadata, entry):
            yield entry


def _owns_label(metadata: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Report whether the label of the object, if it has it, was applied with the fields of the entry."""
    return OWNER_UID_LABEL not in (metadata.get("labels") or {}) or _owns(entry, *_label_path(OWNER_UID_LABEL))


def _is_older(metadata: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Report whether the entry was written before the object was created."""
    created, written = metadata.get("creationTimestamp"), entry.get("time") or ""
    if not created or written >= created:  # times of one format
        return False
    try:
        return datetime.fromisoformat(created) - datetime.fromisoformat(written) > MAX_CLOCK_DIFFERENCE
    except (TypeError, ValueError):  # no time, or a forged one
        return True


def is_applied_by(obj: Mapping[str, Any], uid: str, deployment: str) -> bool:
    """Report whether the BundleDeployment of that uid and name applied the object; its metadata is enough."""
    if (obj["metadata"].get("labels") or {}).get(OWNER_UID_LABEL) != uid:
        return False
    manager = manager_name(deployment)
    return any(entry["manager"] == manager for entry in apply_entries(obj))


def is_dependency(operator: Mapping[str, Any]) -> bool:
    """Report whether operator-controller created the Operator, given as JSON, for others, and no person has taken it over.

    The label proves nothing, because manifests are copied. The spec was applied by operator-controller, and by nobody else: an
    Operator whose entries of field managers were removed, or are those of an original, counts as a person's, so that it is never
    deleted by mistake. To exclude versions is no request for the package: who only did that has not taken it over. What another
    object controls, such as a ClusterExtension, was created for that.
    """
    metadata = operator["metadata"]
    if controlling_owner(operator) is not None:
        return False
    managed: list[Mapping[str, Any]] = metadata.get("managedFields") or []
    entries = [entry for entry in managed if _owns(entry, "f:spec") and not entry.get("subresource")]
    writers = {entry.get("manager") for entry in entries if not _only_excludes(entry["fieldsV1"]["f:spec"])}
    return (
        INSTALLED_FOR_LABEL in (metadata.get("labels") or {})
        and LAST_APPLIED_ANNOTATION not in (metadata.get("annotations") or {})
        and has_applied(operator, OPERATOR_CONTROLLER, "f:spec")
        and writers == {OPERATOR_CONTROLLER}
    )


def _only_excludes(fields: Any) -> bool:
    """Report whether an entry has no other field of the spec than spec.excludedVersions."""
    return isinstance(fields, Mapping) and {*fields} - {"."} == {"f:excludedVersions"}
