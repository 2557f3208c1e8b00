"""Worlds of one Operator `alpha` that requests package `p`, for the tests of this directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from olmkit.api import clusterextensions
from olmkit.api.bundle_annotations import (
    BUNDLE_NAME_ANNOTATION,
    CATALOG_ANNOTATION,
    CHANNEL_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
)
from olmkit.api.meta import controller_reference
from olmkit.api.operators import FINALIZER, Operator
from operator_controller.operator.resolution_request import make_request
from operator_controller.operator.running_bundle import read_running
from operator_controller.operator.world import ObservedBundleDeployment, PackageClaim, World
from operator_controller.resolve.answers.answer import Answer, AnswerState
from operator_controller.resolve.answers.component_solver import solve_components
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, OperatorRequest
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GVK = {"type": "olm.gvk", "value": {"group": "g.example.com", "version": "v1", "kind": "Thing"}}
OTHER = {"type": "olm.maxOpenShiftVersion", "value": "4.14"}


@dataclass(frozen=True)
class CatalogOffer:
    """What a catalog offers of package p: its document, None if it does not have it."""

    catalog: str
    state: CatalogState = CatalogState.SERVING
    package: Mapping[str, Any] | None = None
    message: str = ""


def catalog(status: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A served Catalog as the API server's JSON; `status` replaces fields of its status."""
    serving = {
        "type": "Serving",
        "status": "True",
        "reason": "Available",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    served = {
        "conditions": [serving],
        "contentURL": "http://h/catalogs/c/all.json",
        "contentDigest": "sha256:1",
        "observedGeneration": 1,
    }
    source = {"type": "image", "image": {"ref": "r:v1"}}
    return {
        "metadata": {"name": "c", "uid": "u", "generation": 1},
        "spec": {"source": source, **spec},
        "status": {**served, **(status or {})},
    }


def image(version: str) -> str:
    return f"registry/p@{version}"


def bundle_annotations(version: str, **changes: str) -> dict[str, str]:
    """The template's annotations for a version of p in catalog community, channel stable."""
    return {
        PACKAGE_ANNOTATION: changes.get("package", "p"),
        BUNDLE_NAME_ANNOTATION: f"p.v{version}",
        VERSION_ANNOTATION: version,
        CATALOG_ANNOTATION: changes.get("catalog", "community"),
        CHANNEL_ANNOTATION: changes.get("channel", "stable"),
        PROPERTIES_ANNOTATION: '[{"type":"olm.gvk","value":{"group":"g.example.com","kind":"Thing","version":"v1"}}]',
    }


def operator(spec: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """The Operator; changes: generation, finalizers, annotations, deleting, status, name, extension."""
    metadata = {
        "name": changes.get("name", "alpha"),
        "uid": "uid-alpha",
        "resourceVersion": "7",
        "generation": changes.get("generation", 1),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": changes.get("finalizers", [FINALIZER]),
        "annotations": changes.get("annotations", {}),
    }
    if extension := changes.get("extension"):
        metadata["ownerReferences"] = [controller_reference(clusterextensions.KIND, extension, "uid-of-extension")]
    if changes.get("deleting"):
        metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    return {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "metadata": metadata,
        "spec": {"packageName": "p", **(spec or {})},
        "status": changes.get("status", {"observedGeneration": -1}),
    }


def offer(*versions: str, **changes: Any) -> CatalogOffer:
    """A catalog with a chain of versions in channel stable."""
    bundles = [
        {"name": f"p.v{one}", "version": one, "image": image(one), "properties": [GVK, OTHER]}
        | changes.get("bundle", {})
        for one in versions
    ]
    entries = [
        {"name": f"p.v{one}"} | ({"replaces": f"p.v{versions[index - 1]}"} if index else {})
        for index, one in enumerate(versions)
    ]
    document = {
        "package": "p",
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
        "bundles": bundles,
    }
    return CatalogOffer(
        catalog=changes.get("catalog", "community"),
        state=changes.get("state", CatalogState.SERVING),
        package=document if versions else None,
        message=changes.get("message", ""),
    )


def deployment(
    version: str, conditions: Sequence[tuple[str, str, str, str]] = (), **changes: Any
) -> ObservedBundleDeployment:
    """The BundleDeployment that requests a version; changes: generation, observed, active, owner, deleting, annotations,
    losses, hold, pull_secret, verify, spec.
    """
    generation = changes.get("generation", 1)
    metadata: dict[str, Any] = {
        "name": "alpha",
        "uid": "uid-deployment",
        "resourceVersion": "7",
        "generation": generation,
        "ownerReferences": changes.get("owners", [owner()]),
    }
    if changes.get("deleting"):
        metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    names = {"pull_secret": "pullSecret", "verify": "verify"}
    handed_on = {field: changes[name] for name, field in names.items() if name in changes}
    spec = {
        "provisionerClassName": "core-rukpak-io-registry",
        "source": {"type": "image", "image": {"ref": image(version), **handed_on}},
    }
    status: dict[str, Any] = {
        "observedGeneration": changes.get("observed", generation),
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for kind, status, reason, message in conditions
        ],
    }
    reported = {"active": "activeBundle", "losses": "losses", "hold": "upgradeHold"}
    status |= {field: changes[name] for name, field in reported.items() if changes.get(name)}
    template = {"metadata": {"annotations": changes.get("annotations", bundle_annotations(version))}, "spec": spec}
    return ObservedBundleDeployment.load(
        {
            "metadata": metadata,
            "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": template, **changes.get("spec", {})},
            "status": status,
        }
    )


def owner(**changes: Any) -> dict[str, Any]:
    """The ownerReference of Operator alpha."""
    return {
        "apiVersion": "operators.operatorframework.io/v1alpha1",
        "kind": "Operator",
        "name": "alpha",
        "uid": "uid-alpha",
        "controller": True,
        "blockOwnerDeletion": True,
    } | changes


def bundle(version: str, **changes: str) -> dict[str, Any]:
    """The Bundle of a version."""
    return {
        "metadata": {"name": f"alpha-{version}", "annotations": bundle_annotations(version, **changes)},
        "spec": {
            "provisionerClassName": "core-rukpak-io-registry",
            "source": {"type": "image", "image": {"ref": image(version)}},
        },
    }


def world(raw: dict[str, Any] | None = None, *, runs: str | dict[str, Any] = "", **changes: Any) -> World:
    """A World with its resolution; `runs` is the installed version (or Bundle), `offers` are those of the catalogs."""
    raw = raw if raw is not None else operator()
    found = read_running(bundle(runs) if isinstance(runs, str) else runs) if runs else (None, None)
    offers, needs_recheck = changes.pop("offers", (offer("1.0.0", "1.1.0"),)), changes.pop("needs_recheck", False)
    outdated = changes.pop("outdated_catalogs", ())
    fields = {
        "claims": (PackageClaim(is_new=True, is_idle=True, created="2026-01-01T00:00:00Z", name="alpha"),),
        "running": found[0],
        "installed_status": found[1],
    }
    observed = World(now=NOW, raw=raw, operator=Operator.load(raw), **(fields | changes))
    request = make_request(observed)
    if request is None or not request.is_resolvable or "resolution" in changes:
        return observed
    return replace(
        observed, resolution=AnswerState(answer_to(request, offers), needs_recheck, outdated_catalogs=outdated)
    )


def answer_to(request: OperatorRequest, offers: Sequence[CatalogOffer]) -> Answer:
    """The answer of resolution to the only Operator of a cluster."""
    documents = DocumentsInMemory()
    sources = [
        CatalogSource(
            name=one.catalog,
            state=one.state,
            content=documents.add({"p": one.package} if one.package is not None else {}),
            message=one.message,
        )
        for one in offers
    ]
    return solve_components(ClusterSnapshot((request,), tuple(sources)), documents)[0]
