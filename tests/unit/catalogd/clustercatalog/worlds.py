"""Worlds of ClusterCatalogs in every state, for the tests of decide and report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from catalogd.clustercatalog.catalog_object import catalog_for
from catalogd.clustercatalog.world import ObservedCatalog, World
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.clustercatalogs import FINALIZER, KIND, ClusterCatalog
from olmkit.api.meta import Object, controller_reference

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
THEN = "2026-01-01T00:00:00Z"
TAG, DIGEST = "registry.example/c:v1", "registry.example/c@sha256:" + "a" * 64
RESOLVED = "registry.example/c@sha256:" + "1" * 64
OWNER = controller_reference(KIND, "c", "uid-c")
BASE_URL = "https://catalogd-service.olm.svc"


def cluster_catalog(ref: str = TAG, **changes: Any) -> Object:
    """A ClusterCatalog that is prepared, without a status. `deleting`, `metadata`, `conditions`, `status` and fields of its spec
    may differ, and `poll` is the interval in minutes."""
    poll, deleting = changes.pop("poll", None), changes.pop("deleting", False)
    metadata = {
        **{"name": "c", "uid": "uid-c", "resourceVersion": "5", "generation": 3},
        **{"labels": {NAME_LABEL: "c"}, "finalizers": [FINALIZER]},
        **({"deletionTimestamp": THEN} if deleting else {}),
        **changes.pop("metadata", {}),
    }
    status = {"conditions": changes.pop("conditions", []), **changes.pop("status", {})}
    image = {"ref": ref, **({"pollIntervalMinutes": poll} if poll else {})}
    spec = {"source": {"type": "Image", "image": image}, **changes}
    return {"metadata": metadata, "spec": spec, "status": status}


def condition(type: str, status: str = "True", reason: str = "Succeeded", message: str = "", seen: int = 3) -> Object:
    return {
        **{"type": type, "status": status, "reason": reason, "message": message},
        **{"observedGeneration": seen, "lastTransitionTime": THEN},
    }


def catalog(of: Object | None = None, **changes: Any) -> ObservedCatalog:
    """The Catalog as the ClusterCatalog wants it, with these conditions and fields of its status. `owners`, `metadata` and `spec`
    may differ."""
    desired = catalog_for(ClusterCatalog.load(of or cluster_catalog()))
    metadata = {
        **desired["metadata"],
        **{"uid": "uid-catalog", "resourceVersion": "7", "generation": 2},
        "labels": {**desired["metadata"]["labels"], NAME_LABEL: "c", **changes.pop("labels", {})},
        "ownerReferences": changes.pop("owners", [OWNER]),
        **changes.pop("metadata", {}),
    }
    status = {"observedGeneration": changes.pop("observed", 2), "conditions": changes.pop("conditions", [])}
    spec = {**desired["spec"], **changes.pop("spec", {})}
    return ObservedCatalog.load({"metadata": metadata, "spec": spec, "status": {**status, **changes}})


def serving(of: Object | None = None, *conditions: Object, **changes: Any) -> ObservedCatalog:
    """A Catalog that serves content, with further conditions."""
    image = {"type": "image", "image": {"ref": RESOLVED}}
    served = {"resolvedSource": image, "lastUnpacked": THEN, "contentURL": "https://x/catalogs/c/all.json"}
    both = [condition("Serving", reason="Available"), *conditions]
    return catalog(of, conditions=both, **served, **changes)


def world(raw: Object | None = None, existing: ObservedCatalog | None = None, **changes: Any) -> World:
    """The World of this ClusterCatalog and the Catalog of its name."""
    raw = raw or cluster_catalog()
    facts: dict[str, Any] = {"is_served": False, "leader": None, "base_url": BASE_URL, **changes}
    return World(now=NOW, raw=raw, cluster_catalog=ClusterCatalog.load(raw), existing=existing, **facts)
