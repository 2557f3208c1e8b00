"""Checks whether a rendered bundle can be installed in a cluster, before anything is written.

The result lists faults (the bundle can never be installed as it is), missing kinds (the cluster does not serve them yet) and
objects that are left out (optional kinds of monitoring, autoscaling or console tools that the cluster does not serve). Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.api.names import is_dns1123_label
from olmkit.api.provisioner_classes import PLAIN, REGISTRY
from olmkit.gocompat.text import list_names
from rukpak.format.bundle import MAX_OBJECT_BYTES, Bundle, RegistryBundle
from rukpak.format.objects import BundleObject, ObjectKey, mapping, mappings
from rukpak.render import requirements
from rukpak.render.cluster_info import ClusterInfo, kind_text
from rukpak.render.endpoints import ADMISSION_GROUP, API_SERVICE, CONFIGURATION_KINDS, CRD

OPTIONAL_GROUPS = frozenset({"monitoring.coreos.com", "autoscaling.k8s.io", "console.openshift.io"})
"""API groups whose objects are optional: an operator works without them."""
SUITE_GROUPS = frozenset({"catalogd.operatorframework.io", "core.rukpak.io", "operators.operatorframework.io"})
"""The suite's API groups. No bundle may contain objects of them: writing them gives control of the cluster."""
MAX_ANNOTATIONS_BYTES = 256 * 1024
"""Bytes of all annotations of one object; the limit of the API server."""

_CSV = ("operators.coreos.com", "ClusterServiceVersion")
_WEBHOOK_KINDS = frozenset(CONFIGURATION_KINDS.values())
_POLICY_KINDS = frozenset({"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"})
_LEASES, _ALL_LEASES = "coordination.k8s.io", frozenset({"*", "*/*", "leases"})
"""The group of Leases, and the resources of a rule that match them."""
_LABEL_NAMES = frozenset({("", "Namespace"), ("", "Service")})


@dataclass(frozen=True)
class Preflight:
    """The result of the checks; each text is a message for users."""

    manifests: tuple[BundleObject, ...]
    """The objects to apply, in the order given."""
    faults: tuple[str, ...] = ()
    """The reasons why the bundle can never be installed as it is."""
    unsupported: tuple[str, ...] = ()
    """The part of the faults that apply to every cluster."""
    left_out: tuple[ObjectKey, ...] = ()
    """Optional objects whose kind the cluster does not serve."""
    missing: tuple[str, ...] = ()
    """Kinds that the cluster must serve first."""
    too_old: str = ""
    """That the cluster is too old for the bundle; empty: it is not."""


def check(
    manifests: Sequence[BundleObject], bundle: Bundle, facts: ClusterInfo, optional: Collection[ObjectKey] = ()
) -> Preflight:
    """Check the objects of a bundle against the facts of a cluster. `optional`: objects that the operator works without."""
    own = _own_kinds(manifests)
    absent = [manifest for manifest in manifests if not (_served(manifest, own, facts) or _is_obsolete(manifest))]
    left_out = {
        manifest.key
        for manifest in absent
        if manifest.group in OPTIONAL_GROUPS.difference(facts.failed_groups) or manifest.key in optional
    }
    csvs = [manifest for manifest in absent if manifest.key[:2] == _CSV and manifest.group not in facts.failed_groups]
    missing = {
        _missing_kind(manifest, facts) for manifest in absent if manifest.key not in left_out and manifest not in csvs
    }
    not_supported = obsolete(manifests)
    faults = [*not_supported, *_form_fault(csvs)]
    if isinstance(bundle, RegistryBundle):
        faults += filter(None, [requirements.invalid_version(bundle)])
        missing |= set(requirements.missing_kinds(bundle, own, facts))
    faults += _object_faults(manifests, facts)
    return Preflight(
        manifests=tuple(manifest for manifest in manifests if manifest.key not in left_out),
        faults=tuple(dict.fromkeys(faults)),
        unsupported=not_supported,
        left_out=tuple(sorted(left_out)),
        missing=tuple(sorted(missing)),
        too_old=requirements.too_old(bundle, facts.server_version) if isinstance(bundle, RegistryBundle) else "",
    )


def obsolete(manifests: Iterable[BundleObject]) -> tuple[str, ...]:
    """A message about CRDs in a form that today's Kubernetes does not read: waiting for it is useless."""
    found = {f"{manifest.name} ({manifest.version})" for manifest in manifests if _is_obsolete(manifest)}
    if not found:
        return ()
    return (
        "the bundle cannot run on Kubernetes 1.22 or newer, which serves CustomResourceDefinitions as v1 only: "
        f"{list_names(found)}; choose a newer version of the package",
    )


def _is_obsolete(manifest: BundleObject) -> bool:
    return manifest.key[:2] == CRD and manifest.version != "v1"


def _form_fault(csvs: Sequence[BundleObject]) -> Iterator[str]:
    """The fault of a plain bundle with ClusterServiceVersions, which the cluster does not serve: it is a registry+v1 bundle."""
    if csvs:
        named = list_names(manifest.name for manifest in csvs)
        yield (
            f"the content is a registry+v1 bundle (ClusterServiceVersion {named}), which {PLAIN} does not install: "
            f"set spec.template.spec.provisionerClassName to {REGISTRY}"
        )


def _own_kinds(manifests: Iterable[BundleObject]) -> frozenset[tuple[str, str, str]]:
    """(group, version, kind) of the kinds that the CRDs among the objects define."""
    return frozenset(
        (str(spec.get("group")), str(version.get("name")), str(mapping(spec.get("names")).get("kind")))
        for spec in _crd_specs(manifests)
        for version in mappings(spec.get("versions"))
        if version.get("served")
    )


def _crd_specs(manifests: Iterable[BundleObject]) -> Iterator[Mapping[str, Any]]:
    for manifest in manifests:
        if manifest.key[:2] == CRD:
            yield mapping(manifest.body.get("spec"))


def _served(manifest: BundleObject, own: Collection[tuple[str, str, str]], facts: ClusterInfo) -> bool:
    kind = (manifest.group, manifest.version, manifest.kind)
    return kind in facts.served or kind in own


def _missing_kind(manifest: BundleObject, facts: ClusterInfo) -> str:
    kind = (manifest.group, manifest.version, manifest.kind)
    return kind_text(kind) + facts.why_missing(kind)


def _object_faults(manifests: Sequence[BundleObject], facts: ClusterInfo) -> Iterator[str]:
    count = Counter(manifest.key for manifest in manifests)
    yield from (f"{key} is there {number} times" for key, number in sorted(count.items()) if number > 1)
    for manifest in manifests:
        yield from _name_faults(manifest)
        yield from _size_faults(manifest)
        yield from _trust_faults(manifest, facts)


def is_path_segment(name: str) -> bool:
    """Report whether the name is one segment of a URL path, which Kubernetes requires of the names of all kinds."""
    return 0 < len(name) <= 253 and name not in (".", "..") and not set(name) & set("/%") and name.isprintable()


def _name_faults(manifest: BundleObject) -> Iterator[str]:
    key = manifest.key
    if not is_path_segment(key.name):
        yield f"{key.kind} has a name that Kubernetes does not accept: {key.name[:300]!r}"
    elif key.namespace and not is_dns1123_label(key.namespace):
        yield f"{key.kind} {key.name} has a namespace that Kubernetes does not accept: {key.namespace[:300]!r}"
    elif key[:2] in _LABEL_NAMES and not is_dns1123_label(key.name):
        yield f"{key} has a name that Kubernetes does not accept: lower-case letters, digits and `-`, at most 63"


def _size_faults(manifest: BundleObject) -> Iterator[str]:
    size = len(orjson.dumps(manifest.body))
    if size > MAX_OBJECT_BYTES:
        yield f"{manifest.key} has {size:,} bytes of JSON; the API server takes {MAX_OBJECT_BYTES:,}"
    template = mapping(mapping(manifest.body.get("spec")).get("template"))
    for holder in (manifest.body, template):
        annotations = mapping(mapping(holder.get("metadata")).get("annotations"))
        total = sum(len(key.encode()) + len(str(value or "").encode()) for key, value in annotations.items())
        if total > MAX_ANNOTATIONS_BYTES:
            yield f"{manifest.key} has {total:,} bytes of annotations; the API server takes {MAX_ANNOTATIONS_BYTES:,}"


def _trust_faults(manifest: BundleObject, facts: ClusterInfo) -> Iterator[str]:
    key = manifest.key
    if (key.name if key[:2] == ("", "Namespace") else key.namespace) in facts.suite_namespaces:
        yield f"{key} is in the suite's own namespace: no bundle may write there"
    if key.group in SUITE_GROUPS:
        yield f"{key} is of the suite's own API: no bundle may bring one"
    if key[:2] in (CRD, API_SERVICE) and str(mapping(manifest.body.get("spec")).get("group")) in SUITE_GROUPS:
        yield f"{key} would replace the suite's own API: no bundle may bring it"
    if key.group == ADMISSION_GROUP and key.kind in _WEBHOOK_KINDS:
        for webhook in mappings(manifest.body.get("webhooks")):
            name = f'{key}: webhook "{webhook.get("name", "")}"'
            yield from _admission_faults(name, mappings(webhook.get("rules")))
    if key.group == ADMISSION_GROUP and key.kind in _POLICY_KINDS:
        constraints = mapping(mapping(manifest.body.get("spec")).get("matchConstraints"))
        yield from _admission_faults(str(key), mappings(constraints.get("resourceRules")))


def _admission_faults(name: str, rules: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Find what is wrong with the objects that a webhook or a policy matches.

    One that rejects writes of the suite's objects, or of Leases, could not be removed by the suite.
    """
    matched = [
        ({str(group) for group in _items(rule.get("apiGroups"))}, _items(rule.get("resources"))) for rule in rules
    ]
    groups = {group for found, _ in matched for group in found}
    if "*" in groups:
        yield f"{name} matches every API group: it must name those it is for"
    elif groups & SUITE_GROUPS:
        yield f"{name} matches the suite's own API: no bundle may"
    if any(_LEASES in found and not _ALL_LEASES.isdisjoint(map(str, resources)) for found, resources in matched):
        yield f"{name} matches Leases, by which controllers elect their leader: no bundle may"


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
