"""Transforms of informers, and conversions of objects to values of the World: identity, field managers, health.

A transformed object keeps the metadata that an informer needs, and the value; the rest is dropped. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from sys import intern
from typing import Any

import orjson

from olmkit.api import bundles, customresourcedefinitions, operator_condition_names
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.conditions import find_condition
from olmkit.api.content import SourceType
from olmkit.api.customresourcedefinitions import definition_of
from olmkit.api.meta import Object
from olmkit.api.ownership import MANAGER_PREFIX, apply_entries, is_adopted
from rukpak.bundledeployment.bundle_info import BundleInfo, UnpackState
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.health.health import has_health, health
from rukpak.bundledeployment.health.health_result import HEALTHY
from rukpak.bundledeployment.health.workload_health import WORKLOAD_RULES, replica_failure
from rukpak.bundledeployment.operator_condition import condition_state
from rukpak.bundledeployment.world import CustomResource, LabeledObject
from rukpak.format.objects import ObjectKey, group_of

RESOURCE_POLICY_ANNOTATION = "helm.sh/resource-policy"
"""Helm's annotation of objects that stay when their chart is removed; the value is "keep"."""

_TEMPLATE = "f:template"


def applied_fields(obj: Mapping[str, Any]) -> dict[str, str]:
    """Field manager -> hash of the fields it applied, and of the time of the last apply that changed something, of rukpak's
    managers. Without the time an apply of other values to the same fields would not be noticed."""
    found: dict[str, str] = {}
    for entry in apply_entries(obj):
        applied = [entry.get("apiVersion"), entry.get("time"), entry.get("fieldsV1")]
        digest = hashlib.sha256(orjson.dumps(applied, option=orjson.OPT_SORT_KEYS)).hexdigest()
        found[entry["manager"]] = digest[:16]
    return found


def last_changed_by(obj: Mapping[str, Any]) -> str:
    """The field manager, other than rukpak's, that wrote last to anything but the status; empty when there is none."""
    others = [
        (entry.get("time") or "", entry.get("manager", ""))
        for entry in obj["metadata"].get("managedFields") or ()
        if not entry.get("subresource") and not entry.get("manager", "").startswith(MANAGER_PREFIX)
    ]
    return intern(max(others)[1]) if others else ""


def owner_uid_index(obj: Mapping[str, Any]) -> Iterable[str]:
    """An index: the uid in the owner-uid label."""
    uid = (obj["metadata"].get("labels") or {}).get(OWNER_UID_LABEL)
    return (uid,) if uid else ()


def object_key(obj: Mapping[str, Any]) -> ObjectKey:
    """Group, kind, namespace and name of an object as read."""
    metadata = obj["metadata"]
    return ObjectKey(group_of(obj["apiVersion"]), obj["kind"], metadata.get("namespace") or "", metadata["name"])


def parse_time(text: str | None) -> datetime | None:
    """A time as the API server writes it."""
    return datetime.fromisoformat(text) if text else None


def labeled_object(obj: Object) -> Object:
    """Transform of an installed object; its LabeledObject is under "labeled"."""
    key = object_key(obj)
    metadata = obj["metadata"]
    state = health(obj) if has_health(key[:2]) else None
    value = LabeledObject(
        key=key,
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        applied_fields=applied_fields(obj),
        last_changed_by=last_changed_by(obj),
        deletion_timestamp=parse_time(metadata.get("deletionTimestamp")),
        finalizers=tuple(metadata.get("finalizers") or ()),
        is_scaled_by_others=_is_scaled(obj),
        health=state,
        is_kept=_is_kept(metadata),
        is_adopted=is_adopted(obj),
        has_refused_pods=key[:2] in WORKLOAD_RULES and bool(replica_failure(obj.get("status") or {})),
        pod_selector=_pod_selector(obj) if key[:2] in WORKLOAD_RULES and state not in (None, HEALTHY) else "",
        operator_condition=condition_state(obj) if key[:2] == operator_condition_names.GROUP_KIND else None,
        kept_template=_kept_template(obj) if key[:2] == ("apps", "Deployment") else None,
    )
    return {"metadata": _identity(metadata), "labeled": value}


def _is_kept(metadata: Mapping[str, Any]) -> bool:
    policy = (metadata.get("annotations") or {}).get(RESOURCE_POLICY_ANNOTATION)
    return isinstance(policy, str) and policy.strip().lower() == "keep"


def _kept_template(obj: Mapping[str, Any]) -> str | None:
    """The digest that rukpak has written; an annotation of others counts for nothing."""
    entries = [entry.get("fieldsV1") or {} for entry in apply_entries(obj)]
    if not entries or any(_TEMPLATE in (fields.get("f:spec") or {}) for fields in entries):
        return None
    annotations = [(fields.get("f:metadata") or {}).get("f:annotations") or {} for fields in entries]
    is_own = any(f"f:{KEEP_TEMPLATE_ANNOTATION}" in fields for fields in annotations)
    written = (obj["metadata"].get("annotations") or {}).get(KEEP_TEMPLATE_ANNOTATION)
    return str(written) if is_own and written else ""


def _identity(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: metadata[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in metadata}
    label = (metadata.get("labels") or {}).get(OWNER_UID_LABEL)
    if label:
        kept["labels"] = {OWNER_UID_LABEL: label}
    return kept


def _pod_selector(obj: Object) -> str:
    """The label selector of a workload as the API server reads it; empty if it has none, or one of another form."""
    selector = (obj.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels") or {}
    return (
        ""
        if selector.get("matchExpressions")
        else ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
    )


def _is_scaled(obj: Object) -> bool:
    """Report whether another field manager owns spec.replicas. The API server records no owner when one scales to 0."""
    owners = {
        entry.get("manager", "")
        for entry in obj["metadata"].get("managedFields") or ()
        if "f:replicas" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
    }
    if not owners:
        return (obj.get("spec") or {}).get("replicas") == 0
    return not all(owner.startswith(MANAGER_PREFIX) for owner in owners)


def namespace(obj: Object) -> Object:
    """Transform of a Namespace; its NamespaceInfo is under "namespace"."""
    metadata = obj["metadata"]
    info = NamespaceInfo(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        applied_fields=applied_fields(obj),
        last_changed_by=last_changed_by(obj),
        deletion_timestamp=parse_time(metadata.get("deletionTimestamp")),
        finalizers=tuple(metadata.get("finalizers") or ()),
    )
    return {"metadata": _identity(metadata), "namespace": info}


def namespace_info_of(obj: Mapping[str, Any] | None) -> NamespaceInfo | None:
    """The NamespaceInfo of a transformed Namespace; None when there is none, or one that could not be read."""
    return obj.get("namespace") if obj is not None else None


def released_by_index(obj: Mapping[str, Any]) -> Iterable[str]:
    """An index of transformed CRDs and Namespaces: the BundleDeployment that released it."""
    crd, namespace = definition_of(obj), namespace_info_of(obj)
    name = crd.released_by if crd is not None else namespace.released_by if namespace is not None else ""
    return (name,) if name else ()


def remote_of(obj: Mapping[str, Any] | None) -> tuple[str, bool] | None:
    """The group of a transformed APIService and whether its API server is available; None if no other API server serves it."""
    return obj.get("remote") if obj is not None else None


def crd(obj: Object) -> Object:
    """Transform of a CRD; its LabeledObject is under "labeled", its facts are read by customresourcedefinitions.definition_of."""
    return {**customresourcedefinitions.trim(obj), **labeled_object(obj)}


def api_service(obj: Object) -> Object:
    """Transform of an APIService: whether another API server serves it, and whether that is available, under "remote"."""
    spec = obj.get("spec") or {}
    conditions = {entry["type"]: entry["status"] for entry in (obj.get("status") or {}).get("conditions") or ()}
    remote = (spec.get("group", ""), conditions.get("Available") == "True") if spec.get("service") else None
    return {"metadata": _identity(obj["metadata"]), "remote": remote}


def custom_resource(obj: Object) -> CustomResource:
    """A custom resource as listed, metadata-only."""
    metadata = obj["metadata"]
    return CustomResource(
        key=object_key(obj),
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        deletion_timestamp=parse_time(metadata.get("deletionTimestamp")),
        finalizers=tuple(metadata.get("finalizers") or ()),
    )


def _is_pending_upload(bundle: bundles.Bundle) -> bool:
    unpacked = find_condition(bundle.status.conditions, bundles.ConditionType.UNPACKED)
    is_pending = unpacked is not None and unpacked.reason == bundles.Reason.UNPACK_PENDING
    return is_pending and bundle.spec.source.type == SourceType.UPLOAD


def bundle_info(raw: Object) -> BundleInfo:
    """A Bundle as read."""
    bundle = bundles.Bundle.load(raw)
    conditions = bundle.status.conditions
    unpacked = find_condition(conditions, bundles.ConditionType.UNPACKED)
    if unpacked is not None and unpacked.status == "True":
        state = UnpackState.DONE
    elif find_condition(conditions, bundles.ConditionType.STALLED) is not None:
        state = UnpackState.FAILED
    elif unpacked is not None and unpacked.reason == bundles.Reason.UNPACK_FAILED:
        state = UnpackState.RETRYING
    else:
        state = UnpackState.PENDING
    metadata, source = bundle.metadata, bundle.status.resolved_source
    return BundleInfo(
        name=metadata.name,
        uid=metadata.uid,
        unpack_state=state,
        message=unpacked.message if unpacked else "",
        is_pending_upload=_is_pending_upload(bundle),
        labels=metadata.labels,
        annotations=metadata.annotations,
        is_deleting=metadata.deleting,
        spec=raw["spec"],
        chart=(bundle.status.chart.name, bundle.status.chart.version) if bundle.status.chart is not None else ("", ""),
        image=source.image.ref if source is not None and source.image is not None else "",
        resolved_source=source.dump() if source is not None and source.image is None else {},
    )
