"""Keeps the pods of a Deployment of another tool when it is taken over, until the bundle has something new for them.

OLM v0 writes more into a pod template than a bundle contains, and some of it in another order, so that an apply of the bundle's
template would replace all pods. A Deployment with the annotation KEEP_TEMPLATE is therefore taken over without its template and
its number of replicas. The annotation then has the digest of the template that was left out. As soon as another one is to be
applied (an upgrade, another config, another certificate), the fields of the template that others have written become fields of
the apply that follows, which removes those that are not in the bundle: the pods are replaced once.

The annotation counts when the Deployment is taken over with adoptionPolicy IfUnowned, before the first revision is installed: the
status names the Deployment before that. Afterwards it counts as rukpak has written it, as long as rukpak has not applied the
template, and only for the Deployments that the status names: entries of field managers can be forged, the status cannot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from olmkit.api.bundledeployments import Reason
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.api.ownership import MANAGER_PREFIX, UNKNOWN_MANAGER
from olmkit.errors import Conflict, NotFound
from olmkit.runtime.client import Client
from rukpak.bundledeployment.delays import CHANGED_RETRY_DELAY
from rukpak.bundledeployment.world import BriefWait

DEPLOYMENT = ("apps", "Deployment")
_TEMPLATE, _REPLICAS, _SPEC = "f:template", "f:replicas", "f:spec"


async def take_over(client: Client, kind: Kind, body: Object, *, dry_run: bool) -> Object:
    """The body with which a Deployment is taken over. The precondition in it is that nobody has changed the object: if a part of
    its template belongs to a BundleDeployment, it is given to nobody first. Raises BriefWait."""
    metadata = body["metadata"]
    live = await client.get(kind, metadata["name"], metadata["namespace"])
    kept = taken_over(body, live)
    entries = forgotten_template(live["metadata"].get("managedFields") or ())
    if kept is body or entries is None:
        return kept
    if dry_run:
        return body
    change = {**{name: metadata[name] for name in ("uid", "resourceVersion")}, "managedFields": entries}
    try:
        changed = await client.patch(kind, metadata["name"], {"metadata": change}, metadata["namespace"])
    except (Conflict, NotFound):
        raise _changed(kind, metadata) from None
    return {**kept, "metadata": {**kept["metadata"], **unchanged_precondition(changed)}}


def taken_over(body: Object, live: Mapping[str, Any]) -> Object:
    """The body with which a Deployment is taken over, which others have prepared with the annotation, or not."""
    return _without_template(body, digest(body)) if is_prepared(live) else body


def is_prepared(live: Mapping[str, Any]) -> bool:
    """Report whether others have asked to keep the pods of a Deployment when it is taken over."""
    return KEEP_TEMPLATE_ANNOTATION in (live["metadata"].get("annotations") or {})


def forgotten_template(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """The entries of managedFields in which the template that BundleDeployments have applied belongs to a writer that nobody
    knows: an apply without the template would remove it, and it can be handed over later. None if they have applied none."""
    kept: list[dict[str, Any]] = []
    unknown: dict[str, Any] = {}
    for each in entries:
        entry = dict(each)
        spec = (entry.get("fieldsV1") or {}).get(_SPEC) or {}
        is_ours = entry.get("manager", "").startswith(MANAGER_PREFIX) and not entry.get("subresource")
        if is_ours and _TEMPLATE in spec:
            template = _union((unknown.get("fieldsV1") or {}).get(_SPEC, {}).get(_TEMPLATE) or {}, spec[_TEMPLATE])
            fields = {_SPEC: {_TEMPLATE: template}}
            unknown = {**entry, "manager": UNKNOWN_MANAGER, "operation": "Update", "fieldsV1": fields}
            rest = {field: value for field, value in spec.items() if field not in (_TEMPLATE, _REPLICAS)}
            entry["fieldsV1"] = {**entry["fieldsV1"], _SPEC: rest}
        kept.append(entry)
    return [*kept, unknown] if unknown else None


async def with_kept(client: Client, kind: Kind, body: Object, noted: str, manager: str, *, dry_run: bool) -> Object:
    """The body to apply to a Deployment with this digest in its annotation: without the template if that is still the one that
    was left out. Else what others have written into the template is handed over first. Raises BriefWait if it has changed."""
    if noted == digest(body):
        return _without_template(body, noted)
    if not dry_run:
        await _hand_over(client, kind, body["metadata"], manager)
    return body


def digest(body: Mapping[str, Any]) -> str:
    """A digest of the pod template of a Deployment."""
    template = (body.get("spec") or {}).get("template")
    return hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def _without_template(body: Object, noted: str) -> Object:
    metadata = body["metadata"]
    annotations = {**(metadata.get("annotations") or {}), KEEP_TEMPLATE_ANNOTATION: noted}
    spec = {name: value for name, value in body["spec"].items() if name not in ("template", "replicas")}
    return {**body, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


async def _hand_over(client: Client, kind: Kind, metadata: Mapping[str, Any], manager: str) -> None:
    """Make the fields of the template fields of `manager`, and remove the annotation, in one write."""
    name, namespace = metadata["name"], metadata.get("namespace")
    try:
        live = await client.get(kind, name, namespace)
        change: Object = {
            **unchanged_precondition(live),
            "annotations": {KEEP_TEMPLATE_ANNOTATION: None},
            "managedFields": handed_over(live["metadata"].get("managedFields") or (), manager),
        }
        await client.patch(kind, name, {"metadata": change}, namespace)
    except (Conflict, NotFound):
        raise _changed(kind, metadata) from None


def _changed(kind: Kind, metadata: Mapping[str, Any]) -> BriefWait:
    text = f"{kind.kind} {metadata.get('namespace')}/{metadata['name']} changed"
    return BriefWait(Reason.RETRYING, text, CHANGED_RETRY_DELAY)


def handed_over(entries: Iterable[Mapping[str, Any]], manager: str) -> list[dict[str, Any]]:
    """The entries of managedFields in which the template belongs to `manager`, and the number of replicas to nobody that has
    written the template: the next apply decides about both."""
    kept: list[dict[str, Any]] = []
    template: dict[str, Any] = {}
    own: dict[str, Any] | None = None
    for each in entries:
        entry = dict(each)
        name, spec = entry.get("manager", ""), (entry.get("fieldsV1") or {}).get(_SPEC) or {}
        is_of_object = not entry.get("subresource")
        if name == manager and entry.get("operation") == "Apply" and is_of_object:
            own = entry
        elif is_of_object and not name.startswith(MANAGER_PREFIX) and _TEMPLATE in spec:
            template = _union(template, spec[_TEMPLATE])
            rest = {field: value for field, value in spec.items() if field not in (_TEMPLATE, _REPLICAS)}
            entry["fieldsV1"] = {**entry["fieldsV1"], _SPEC: rest}
        kept.append(entry)
    if own is not None and template:
        spec = (own.get("fieldsV1") or {}).get(_SPEC) or {}
        own["fieldsV1"] = {
            **(own.get("fieldsV1") or {}),
            _SPEC: {**spec, _TEMPLATE: _union(spec.get(_TEMPLATE) or {}, template)},
        }
    return kept


def _union(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _union(one.get(name) or {}, other.get(name) or {}) for name in dict.fromkeys([*one, *other])}
