"""The summary of a bundle: its files, reduced to what permissions, definitions and requirements depend on.

It is a small bundle: rukpak.format reads its files, and rukpak.render renders them, so a summary and the bundle have the same
permissions and definitions. catalogd makes it of images that nobody has installed (olmkit.fbc.bundle_reduction); `olm` and the
console read it. This module reads no manifests. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import orjson

from olmkit.errors import encodable

FORMAT = 1
"""The version of the JSON form."""
MANIFESTS, METADATA, ANNOTATIONS_FILE = "manifests/", "metadata/", "metadata/annotations.yaml"
CSV = "ClusterServiceVersion"
CONVERSION_WEBHOOK = "ConversionWebhook"
CRD, CRD_API_VERSION = "CustomResourceDefinition", "apiextensions.k8s.io/v1"
DIGEST_ANNOTATION = "summary.olm-suite/digest"
SCHEMAS = "schemas"
"""Left out of a summary that is too large with them."""

Body = Mapping[str, Any]


class StatedBy(StrEnum):
    """The origin of the manifests that a summary was made of."""

    IMAGE = "Image"
    CATALOG = "Catalog"
    """Of properties olm.bundle.object of the catalog: the image may have other manifests."""


class BadSummary(ValueError):
    """A bundle that cannot be summarized, or bytes that are no summary."""


@dataclass(frozen=True)
class BundleSummary:
    """The reduced files of one bundle."""

    files: Mapping[str, Sequence[Any]]
    """The documents of each file, by its path in the image. The annotations are those of metadata/annotations.yaml."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """A digest of the whole object, by its identity, of each object that is reduced and is no Secret."""
    image: str = ""
    """The reference of the image, by digest once it was read."""
    stated_by: StatedBy = StatedBy.IMAGE
    left_out: tuple[str, ...] = ()
    """Parts that made it too large: SCHEMAS."""

    @property
    def is_registry(self) -> bool:
        """True for a registry+v1 bundle, false for a plain+v0 bundle."""
        return any(path.startswith(METADATA) for path in self.files)

    def bundle_files(self, *, with_digests: bool = False) -> dict[str, bytes]:
        """The files as those of a bundle. `with_digests`: reduced objects have the annotation DIGEST_ANNOTATION, so that two
        bundles differ where what is left out differs."""
        documents = {
            path: [self._marked(body) for body in found] if with_digests and path.startswith(MANIFESTS) else found
            for path, found in self.files.items()
        }
        return {path: b"\n".join(map(orjson.dumps, found)) for path, found in documents.items()}

    def _marked(self, body: Any) -> Any:
        """The object with its digest; of a ClusterServiceVersion each Deployment has one."""
        if body["kind"] == CSV:
            spec = body["spec"]
            details = spec["install"]["spec"]
            deployments = [self._marked_deployment(each) for each in details.get("deployments") or ()]
            marked = {**details, "deployments": deployments} if details.get("deployments") is not None else details
            return {**body, "spec": {**spec, "install": {**spec["install"], "spec": marked}}}
        digest = self.digests.get(identity_of(body), "")
        metadata = body["metadata"]
        annotations = {**(metadata.get("annotations") or {}), DIGEST_ANNOTATION: digest}
        return {**body, "metadata": {**metadata, "annotations": annotations}} if digest else body

    def _marked_deployment(self, deployment: Body) -> Body:
        digest = self.digests.get(deployment_identity(deployment["name"]), "")
        template = deployment["spec"].get("template") or {}
        metadata = {**(template.get("metadata") or {}), "annotations": {DIGEST_ANNOTATION: digest}}
        return {**deployment, "spec": {**deployment["spec"], "template": {**template, "metadata": metadata}}}

    def definitions(self) -> dict[str, Body]:
        """The CustomResourceDefinitions of apiextensions.k8s.io/v1, by name. A webhook converts if the ClusterServiceVersion says
        so; its address is only known where the bundle is installed."""
        objects = [body for found in self.files.values() for body in found if isinstance(body, dict)]
        converted = {name for body in objects if body.get("kind") == CSV for name in _converted(body)}
        return {
            body["metadata"]["name"]: _with_webhook(body) if body["metadata"]["name"] in converted else body
            for body in objects
            if body.get("kind") == CRD and body.get("apiVersion") == CRD_API_VERSION
        }

    def without_schemas(self) -> BundleSummary:
        """The same without the schemas of its definitions."""
        files = {path: [_without_schemas(body) for body in found] for path, found in self.files.items()}
        return replace(self, files=files, left_out=(SCHEMAS,))

    def to_json(self) -> bytes:
        """The JSON form."""
        value = {
            "format": FORMAT,
            "image": self.image,
            "statedBy": self.stated_by,
            "leftOut": self.left_out,
            "files": self.files,
            "digests": self.digests,
        }
        return orjson.dumps(value)


def load(value: Any) -> BundleSummary:
    """The summary in a JSON form. Raises BadSummary."""
    match value:
        case {"format": 1, "image": str(image), "statedBy": stated_by, "leftOut": list(left_out), "files": dict(files)}:
            digests = value.get("digests")
            is_valid = (
                stated_by in tuple(StatedBy)
                and all(isinstance(each, str) for each in left_out)
                and all(isinstance(found, list) and _are_objects(path, found) for path, found in files.items())
                and isinstance(digests, dict)
                and all(isinstance(each, str) for each in digests.values())
            )
            if is_valid:
                return BundleSummary(files, digests, image, StatedBy(stated_by), tuple(left_out))
    raise BadSummary("this is no summary of a bundle in the format of this version")


def identity_of(body: Body) -> str:
    """The identity of an object, for BundleSummary.digests: `apps/v1 Deployment ns/name`."""
    metadata = body["metadata"]
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return encodable(f"{body['apiVersion']} {body['kind']} {place}{metadata['name']}")


def deployment_identity(name: str) -> str:
    """The identity of a Deployment of a ClusterServiceVersion."""
    return encodable(f"apps/v1 Deployment {name}")


def _are_objects(path: str, found: Sequence[Any]) -> bool:
    if not path.startswith(MANIFESTS):
        return True
    return all(
        isinstance(body, dict)
        and isinstance(body.get("metadata"), dict)
        and isinstance(body["metadata"].get("name"), str)
        for body in found
    )


def _converted(csv: Body) -> Iterator[str]:
    """The definitions that a webhook of the bundle converts."""
    for hook in csv["spec"].get("webhookdefinitions") or ():
        if hook.get("type") == CONVERSION_WEBHOOK:
            yield from hook.get("conversionCRDs") or ()


def _with_webhook(body: Body) -> Body:
    return {**body, "spec": {**(body.get("spec") or {}), "conversion": {"strategy": "Webhook"}}}


def _without_schemas(body: Any) -> Any:
    if not isinstance(body, dict) or body.get("kind") != CRD or not isinstance(body.get("spec"), dict):
        return body
    spec = body["spec"]
    versions = [
        {name: part for name, part in version.items() if name != "schema"} if isinstance(version, dict) else version
        for version in spec.get("versions") or ()
    ]
    return {**body, "spec": {**spec, "versions": versions}}
