"""The bound of installing: what the API server needs for the same objects if `kubectl apply --server-side` applies them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from devcluster import cluster as clusters
from devcluster.cluster import Cluster
from olmctl.authoring.images.contents import bundle_files
from rukpak.format import BadBundle, read_registry
from rukpak.format.objects import BundleObject
from rukpak.render.namespaces import install_namespace
from rukpak.render.phases import CRDS, CUSTOM_RESOURCES, NAMESPACES, phase_of
from rukpak.render.renderer import RenderOptions, render
from tests.bench.api_requests import api_server_cpu
from tests.bench.figures import Figure

_ESTABLISHED = (
    '{{range .items}}{{$established := "False"}}'
    '{{range .status.conditions}}{{if eq .type "Established"}}{{$established = .status}}{{end}}{{end}}'
    "{{$established}} {{end}}"
)
"""Of each CustomResourceDefinition, also of one without conditions yet."""


def rows(bundles: Iterable[Path], settled_seconds: float) -> Iterator[Figure]:
    """Objects of the bundles in these directories, on a cluster of their own. The CPU is counted until so many seconds after
    the last apply, as it is when rukpak installs them."""
    objects = _objects(bundles)
    with clusters.start(clusters.ClusterOptions("bench-apply"), print) as cluster:
        cpu, started = api_server_cpu(cluster), time.perf_counter()
        for phase in (NAMESPACES, CRDS, ""):
            _apply(cluster, [item for item in objects if _invocation(item) == phase])
            if phase == CRDS:
                _wait_for_crds(cluster)
        elapsed = time.perf_counter() - started
        time.sleep(settled_seconds)
        cpu = api_server_cpu(cluster) - cpu
    yield Figure(
        f"the bound: `kubectl apply --server-side` of the same {len(objects)} objects alone, CPU of the API server",
        f"{cpu:.1f} s; one kubectl took {elapsed:.0f} s",
    )


def _objects(bundles: Iterable[Path]) -> list[BundleObject]:
    """The objects of all bundles, each once, without those of kinds that neither Kubernetes nor the bundles have."""
    found: dict[tuple[str, ...], BundleObject] = {}
    for directory in bundles:
        bundle = read_registry(bundle_files(directory))
        namespace, _ = install_namespace(bundle)
        try:
            found |= {item.key: item for item in render(bundle, RenderOptions(namespace)) if item.key not in found}
        except BadBundle:
            continue
    specs = [item.body["spec"] for item in found.values() if phase_of(item.key) == CRDS]
    custom = {(spec["group"], spec["names"]["kind"]) for spec in specs}
    return [item for item in found.values() if phase_of(item.key) != CUSTOM_RESOURCES or item.key[:2] in custom]


def _invocation(item: BundleObject) -> str:
    phase = phase_of(item.key)
    return phase if phase in (NAMESPACES, CRDS) else ""


def _apply(cluster: Cluster, objects: list[BundleObject]) -> None:
    items = [dict(item.body) for item in objects]
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster.run_kubectl("apply", "--server-side", "--validate=false", "-f", "-", input=document)


def _wait_for_crds(cluster: Cluster) -> None:
    """Until all are served. `kubectl wait` asks for one after the other, which takes minutes."""
    while {*cluster.run_kubectl("get", "crds", "-o", f"go-template={_ESTABLISHED}").split()} != {"True"}:
        time.sleep(0.5)
