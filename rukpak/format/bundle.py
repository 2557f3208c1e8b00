"""The two kinds of bundle as values, and their JSON form.

The store holds the JSON form, so that YAML is parsed once, in the job that unpacks the bundle. Bodies are never changed. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

Body = Mapping[str, Any]
"""A Kubernetes object, or a part of one, as JSON values."""

FORMAT_VERSION = 2
"""The version of the JSON form and of the checks before it was written; content of another version is unpacked again."""
MAX_OBJECT_BYTES = 1_500_000
"""Bytes of JSON of one object; etcd accepts 1.5 MiB, including what the API server adds."""
MAX_BUNDLE_BYTES = 32 * 1024**2
"""Bytes of the JSON form, and of the copies of the CSV's annotations on all Deployments of a bundle."""
MAX_BUNDLE_VALUES = 500_000
"""Approximate number of values in the JSON form: each takes a hundred bytes of memory or more when it is read."""


def size_problem(data: bytes) -> str:
    """Explain why a JSON form is too large for the controllers, which load it as a whole; empty if it is not."""
    if len(data) > MAX_BUNDLE_BYTES:
        return f"has {len(data):,} bytes of JSON; at most {MAX_BUNDLE_BYTES:,} are allowed"
    # An estimate: separators in strings count too. Ordinary bundles are far below the limit.
    values = sum(map(data.count, (b",", b"[", b"{")))
    return (
        f"has about {values:,} values; at most {MAX_BUNDLE_VALUES:,} are allowed" if values > MAX_BUNDLE_VALUES else ""
    )


@dataclass(frozen=True)
class RegistryBundle:
    """A registry+v1 bundle. The CSV's install strategy and the CRDs have the form in which Kubernetes' types write them."""

    package: str
    """The package of metadata/annotations.yaml; never empty."""
    csv: Body
    """The ClusterServiceVersion, whole."""
    crds: tuple[Body, ...]
    """CustomResourceDefinitions in file order."""
    others: tuple[Body, ...]
    """All other objects in file order, as written."""
    properties: tuple[Body, ...] = ()
    """metadata/properties.yaml: {type, value}."""
    annotations: Mapping[str, str] | None = None
    """metadata/annotations.yaml."""

    @property
    def csv_name(self) -> str:
        """metadata.name of the CSV; empty when it has none."""
        return self.csv["metadata"].get("name") or ""

    @property
    def csv_annotations(self) -> Mapping[str, str]:
        """metadata.annotations of the CSV."""
        return self.csv["metadata"].get("annotations") or {}

    @property
    def spec(self) -> Body:
        """spec of the CSV."""
        return self.csv.get("spec") or {}

    @property
    def install_spec(self) -> Body:
        """spec.install.spec of the CSV: deployments, permissions, clusterPermissions."""
        return (self.spec.get("install") or {}).get("spec") or {}

    @property
    def install_modes(self) -> tuple[str, ...]:
        """The supported install modes, sorted, those of unknown types included, which upstream names in its refusals."""
        modes = self.spec.get("installModes") or ()
        return tuple(sorted({mode.get("type") or "" for mode in modes if mode.get("supported")}))

    @property
    def webhooks(self) -> tuple[Body, ...]:
        """spec.webhookdefinitions of the CSV."""
        return tuple(self.spec.get("webhookdefinitions") or ())

    @property
    def owned_api_services(self) -> tuple[Body, ...]:
        """spec.apiservicedefinitions.owned of the CSV."""
        return tuple((self.spec.get("apiservicedefinitions") or {}).get("owned") or ())

    def owned(self) -> tuple[Body, ...]:
        """spec.customresourcedefinitions.owned of the CSV."""
        return tuple((self.spec.get("customresourcedefinitions") or {}).get("owned") or ())


@dataclass(frozen=True)
class PlainBundle:
    """A plain+v0 bundle: objects of any kind, in file order, at least one."""

    objects: tuple[Body, ...]


Bundle = RegistryBundle | PlainBundle


def to_json(bundle: Bundle) -> bytes:
    """The JSON form of a bundle, which the store holds."""
    if isinstance(bundle, PlainBundle):
        return orjson.dumps({"format": FORMAT_VERSION, "type": "plain+v0", "objects": bundle.objects})
    fields = {
        "package": bundle.package,
        "csv": bundle.csv,
        "crds": bundle.crds,
        "others": bundle.others,
        "properties": bundle.properties,
        "annotations": bundle.annotations,
    }
    return orjson.dumps({"format": FORMAT_VERSION, "type": "registry+v1", **fields})


def from_json(data: bytes) -> Bundle:
    """The bundle that `to_json` wrote. Raises ValueError for other data and for another FORMAT_VERSION."""
    raw = orjson.loads(data)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT_VERSION:
        raise ValueError("no bundle of this format")
    if raw["type"] == "plain+v0":
        return PlainBundle(objects=tuple(raw["objects"]))
    return RegistryBundle(
        package=raw["package"],
        csv=raw["csv"],
        crds=tuple(raw["crds"]),
        others=tuple(raw["others"]),
        properties=tuple(raw["properties"]),
        annotations=raw["annotations"],
    )
