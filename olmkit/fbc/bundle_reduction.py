"""Reduces the files of a bundle to those of its summary (olmkit.fbc.bundle_summary).

Fields are found by their names in any case, lists are flattened, and a definition has the form in which Kubernetes' types write
it, as rukpak.format reads them: so the summary and the bundle have the same permissions and definitions. Descriptions, data of
ConfigMaps and Secrets, and what containers run are left out. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from olmkit.errors import encodable
from olmkit.fbc.bundle_files import PACKAGE_KEY
from olmkit.fbc.bundle_summary import (
    ANNOTATIONS_FILE,
    CRD,
    CRD_API_VERSION,
    CSV,
    MANIFESTS,
    METADATA,
    BadSummary,
    Body,
    BundleSummary,
    StatedBy,
    deployment_identity,
    identity_of,
)
from olmkit.gocompat import documents
from olmkit.gocompat.fields import canonical_keys, canonical_object
from olmkit.gocompat.go_encoding import Mismatch, round_trip
from olmkit.gocompat.parse_errors import ParseError

DIGEST_CHARACTERS = 16

_CSV_ANNOTATIONS = ("operatorframework.io/suggested-namespace", "operatorframework.io/suggested-namespace-template")
_CRD_ANNOTATIONS = ("core.rukpak.io/safe-crd-upgrade-validation",)
_CSV_FIELDS = ("version", "minKubeVersion", "installModes", "nativeAPIs", "webhookdefinitions", "apiservicedefinitions")
_RBAC_GROUP, _ADMISSION_GROUP = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
_RBAC_FIELDS = ("rules", "subjects", "roleRef", "aggregationRule")
_POD_FIELDS = ("serviceAccountName", "serviceAccount", "hostNetwork", "hostPID", "hostIPC", "securityContext")
_CONTAINER_FIELDS = ("name", "image", "ports", "securityContext")
_NAMES = frozenset({"properties", "patternProperties", "definitions", "dependencies"})
"""Fields of a schema whose keys are names that authors choose: a property may be called description."""
_TEXTS = frozenset({"description", "externalDocs", "example"})
"""Fields of a schema for people."""
_VALUES = frozenset({"default", "enum"})
"""Fields of a schema with values, which are kept as they are."""
_WHOLE_SPECS = frozenset({("v1", "Service"), ("apiregistration.k8s.io/v1", "APIService")})
_TEMPLATED = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"})


def summarize(files: Mapping[str, bytes], read: Callable[[bytes], list[Any]] = documents.read) -> BundleSummary:
    """The summary of the bundle with these files, by their paths. Raises BadSummary if a file cannot be read, or has what is no
    object of Kubernetes; what else is wrong with a bundle, rukpak.format finds in the summary."""
    reduction = _Reduction(read)
    for path in sorted(files):
        if path.startswith(MANIFESTS) and not path.rpartition("/")[2].startswith("."):
            # A file of a subdirectory, for which rukpak.format refuses the bundle.
            reduction.add(path, b"" if "/" in path.removeprefix(MANIFESTS) else files[path])
    if any(path.startswith(METADATA) for path in files):
        reduction.files[ANNOTATIONS_FILE] = _annotations(files.get(ANNOTATIONS_FILE), read)
    return BundleSummary(reduction.files, reduction.digests)


def of_objects(
    package: str, objects: Sequence[bytes], read: Callable[[bytes], list[Any]] = documents.read
) -> BundleSummary:
    """The summary that properties olm.bundle.object give, as the catalog states it. Raises BadSummary."""
    annotations = {"annotations": {PACKAGE_KEY: package}}
    files = {f"{MANIFESTS}{number:05}.yaml": data for number, data in enumerate(objects)}
    found = summarize({**files, ANNOTATIONS_FILE: orjson.dumps(annotations)}, read)
    return replace(found, stated_by=StatedBy.CATALOG)


@dataclass
class _Reduction:
    """The reduced files so far."""

    read: Callable[[bytes], list[Any]]
    files: dict[str, list[Any]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, data: bytes) -> None:
        """Reduce a file of manifests/. Raises BadSummary."""
        path = encodable(path)
        found = self.files.setdefault(path, [])
        try:
            read = self.read(data)
        except ParseError as error:
            raise BadSummary(f"{path}: {error}") from error
        for document in read:
            for body in _flattened(path, document):
                found.append(self._reduced(path, body))

    def _reduced(self, path: str, body: dict[str, Any]) -> Body:
        spec = _typed_spec(path, body) if body["kind"] == CSV else {}
        reduced = _reduced(path, body) if body["kind"] != CSV else {**_identity(body), "spec": _csv(spec)}
        identity = identity_of(body)
        digest = _digest(body)
        if self._seen.setdefault(identity, digest) != digest:
            raise BadSummary(f"{path}: {identity} is there twice, and not the same each time")
        if body["kind"] != "Secret":  # the digest of a short text would tell it
            self.digests[identity] = digest
        for each in (spec.get("install", {}).get("spec") or {}).get("deployments") or ():
            self.digests[deployment_identity(each["name"])] = _digest(each)
        return reduced


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:DIGEST_CHARACTERS]


def _annotations(data: bytes | None, read: Callable[[bytes], list[Any]]) -> list[Any]:
    """The document of metadata/annotations.yaml with its texts alone; none if the file is missing or empty."""
    try:
        found = read(data) if data is not None else []
    except ParseError as error:
        raise BadSummary(f"{ANNOTATIONS_FILE}: {error}") from error
    annotations = (
        canonical_keys(found[0], ("annotations",)).get("annotations") if found and isinstance(found[0], dict) else None
    )
    if not isinstance(annotations, dict):
        return found[:1]
    return [{"annotations": {key: value for key, value in annotations.items() if isinstance(value, str)}}]


def _flattened(path: str, document: Any, inherited: Body | None = None) -> Iterator[dict[str, Any]]:
    """The object, or the items of a list. Raises BadSummary."""
    if not isinstance(document, dict):
        raise BadSummary(f"{path}: an object is a mapping with apiVersion, kind and metadata")
    body = {**(inherited or {}), **canonical_object(document)}
    kind = body.get("kind")
    if isinstance(kind, str) and kind.endswith("List"):
        items = canonical_keys(body, ("items",)).get("items")
        if isinstance(items, list):
            given = (
                {"apiVersion": body.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else None
            )
            for item in items:
                yield from _flattened(path, item, given)
            return
    metadata = body.get("metadata")
    is_named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and metadata["name"]
    has_place = is_named and isinstance(metadata.get("namespace") or "", str)  # type: ignore[union-attr]
    if not (has_place and all(isinstance(body.get(key), str) and body[key] for key in ("apiVersion", "kind"))):
        raise BadSummary(f"{path}: an object needs apiVersion, kind and metadata.name, which are texts")
    yield body


def _reduced(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Raises BadSummary."""
    identity = _identity(body)
    group, kind = body["apiVersion"].rpartition("/")[0], body["kind"]
    if kind == CRD:
        return identity | _crd(path, body)
    if group == _RBAC_GROUP:
        return identity | {name: body[name] for name in _RBAC_FIELDS if name in body}
    if group == _ADMISSION_GROUP:
        return identity | _without_certificates(body)
    if (body["apiVersion"], kind) in _WHOLE_SPECS:
        return identity | ({"spec": _without_certificates({"spec": body["spec"]})["spec"]} if "spec" in body else {})
    if kind in _TEMPLATED and isinstance(body.get("spec"), dict):
        return identity | {"spec": _templated(body["spec"])}
    if kind == "CronJob" and isinstance(body.get("spec"), dict) and isinstance(body["spec"].get("jobTemplate"), dict):
        job = body["spec"]["jobTemplate"].get("spec")
        return identity | ({"spec": {"jobTemplate": {"spec": _templated(job)}}} if isinstance(job, dict) else {})
    return identity


def _identity(body: Body) -> dict[str, Any]:
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": _metadata(body)}


def _metadata(body: Body) -> dict[str, Any]:
    """Name and namespace; of a role also its labels, by which others aggregate it; annotations that something depends on."""
    metadata, kind = body["metadata"], body["kind"]
    found = {name: metadata[name] for name in ("name", "namespace") if metadata.get(name)}
    if kind == "ClusterRole" and metadata.get("labels"):
        found["labels"] = metadata["labels"]
    known = {CSV: _CSV_ANNOTATIONS, CRD: _CRD_ANNOTATIONS}.get(kind, ())
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and any(name in annotations for name in known):
        found["annotations"] = {name: annotations[name] for name in known if name in annotations}
    return found


def _typed_spec(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The spec of a ClusterServiceVersion in the form of its type. Raises BadSummary."""
    try:
        spec: dict[str, Any] = round_trip("ClusterServiceVersionSpec", canonical_keys(body, ("spec",)).get("spec"))
    except Mismatch as error:
        raise BadSummary(f"{path}: {CSV}: {error.within('.spec')}") from error
    return spec


def _csv(spec: Body) -> dict[str, Any]:
    """The reduced spec of a ClusterServiceVersion."""
    kept = {name: spec[name] for name in _CSV_FIELDS if name in spec}
    owned = spec.get("customresourcedefinitions")
    if owned:
        kept["customresourcedefinitions"] = {
            side: [{name: item[name] for name in ("name", "version", "kind") if name in item} for item in items or ()]
            for side, items in owned.items()
        }
    install = spec["install"]
    details = install.get("spec") or {}
    deployments = details.get("deployments")
    reduced = {
        "deployments": None if deployments is None else [_deployment(each) for each in deployments],
        **{name: details[name] for name in ("permissions", "clusterPermissions") if name in details},
    }
    return {**kept, "install": {"strategy": install["strategy"], "spec": reduced}}


def _deployment(deployment: Body) -> dict[str, Any]:
    labels = {"label": deployment["label"]} if deployment.get("label") else {}
    return {"name": deployment["name"], **labels, "spec": _templated(deployment["spec"])}


def _templated(spec: Body) -> dict[str, Any]:
    """The spec of an object that makes pods: what selects them, and what they are run as."""
    found: dict[str, Any] = {"selector": spec["selector"]} if spec.get("selector") is not None else {}
    template = spec.get("template")
    if not isinstance(template, dict):
        return found
    metadata, pod = template.get("metadata"), template.get("spec")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    kept: dict[str, Any] = {"metadata": {"labels": labels}} if labels else {}
    if isinstance(pod, dict):
        kept["spec"] = {name: pod[name] for name in _POD_FIELDS if name in pod} | {
            name: [_container(each) for each in pod[name]]
            for name in ("initContainers", "containers")
            if isinstance(pod.get(name), list)
        }
    return {**found, "template": kept}


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    return {name: container[name] for name in _CONTAINER_FIELDS if container.get(name) is not None}


def _crd(path: str, body: dict[str, Any]) -> dict[str, Any]:
    if body["apiVersion"] == CRD_API_VERSION:
        try:
            body = round_trip(CRD, body)
        except Mismatch as error:
            raise BadSummary(f"{path}: {CRD} {body['metadata']['name']}: {error}") from error
    return {"spec": _without_texts(body["spec"])} if "spec" in body else {}


def _without_texts(value: Any, *, are_names: bool = False) -> Any:
    """A part of a definition without what is for people. `are_names`: the keys are those of authors."""
    if isinstance(value, dict):
        return {
            key: part
            if key in _VALUES and not are_names
            else _without_texts(part, are_names=key in _NAMES and not are_names)
            for key, part in value.items()
            if are_names or key not in _TEXTS
        }
    if isinstance(value, list):
        return [_without_texts(part) for part in value]
    return value


def _without_certificates(value: Body) -> dict[str, Any]:
    """The fields of an object without the bundles of certificates in them, and without those of its identity and its status."""
    left_out = ("caBundle", "metadata", "status", "apiVersion", "kind")
    return {key: _without_nested(part) for key, part in value.items() if key not in left_out}


def _without_nested(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nested(part) for key, part in value.items() if key != "caBundle"}
    if isinstance(value, list):
        return [_without_nested(part) for part in value]
    return value
