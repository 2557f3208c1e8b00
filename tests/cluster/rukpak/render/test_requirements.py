"""What a bundle requires of the cluster is waited for before anything is written, named, and taken up when it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from devcluster.operators.manifests import OLD
from devcluster.operators.manifests import bundles as operator_bundles
from olmkit.api import bundledeployments
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster import rest_mapper
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster import proxy
from tests.cluster.devcluster.operators.harness import (
    OperatorProcess,
    applied,
    certificates,
    deployment_of,
    namespace_object,
)
from tests.cluster.rukpak.harness import READY, Harness, Object, definition, kind_of, rukpak, says
from tests.conditions import triple
from tests.e2e.packages import labels, service_version

BOOKS = {"name": "books", "group": "library.example.com", "version": "v1alpha1", "kind": "Book"}


def files(package: str, **spec: Any) -> Mapping[str, bytes]:
    """A registry+v1 bundle of a Deployment alone, with these fields of the spec of its ClusterServiceVersion."""
    csv = service_version(package)
    csv["spec"] |= {"customresourcedefinitions": {}, **spec}
    found = {"manifests/csv.yaml": csv, "metadata/annotations.yaml": {"annotations": labels(package)}}
    return {name: yaml.safe_dump(body).encode() for name, body in found.items()}


def required(group: str, version: str = "v1", kind: str = "Boat") -> Object:
    return {"name": f"{kind.lower()}s.{group}", "version": version, "kind": kind}


async def install(at: Harness, **spec: Any) -> None:
    await at.install(at.push(files(at.name, **spec)), provisioner=REGISTRY)


async def test_all_that_is_missing_is_named_before_anything_is_written(at: Harness, running: Client) -> None:
    await install(
        at,
        customresourcedefinitions={"required": [required(at.group), required(at.group, "v2", "Ship")]},
        apiservicedefinitions={"required": [required(at.group, "v1", "Harbour") | {"group": f"other.{at.group}"}]},
        nativeAPIs=[{"group": "apps", "version": "v9", "kind": "Deployment"}],
        minKubeVersion="1.99.0",
    )
    name = f'bundle "{at.name}.v1.0.0"'
    server = await at.client.version()
    text = "; ".join(
        [
            f"needs kinds that this cluster does not have: Boat ({at.group}/v1), which {name} requires",
            f"Deployment (apps/v9), which {name} requires: the cluster serves it as v1 only",
            f"Harbour (other.{at.group}/v1), an API service, which {name} requires",
            f"Ship ({at.group}/v2), which {name} requires",
            f"{name} needs Kubernetes 1.99.0 or newer, this cluster runs {server}",
        ]
    )
    raw = await at.until(says("Reconciling", "True", "WaitingForKind"))
    assert triple(raw, "Reconciling")[2] == text
    assert triple(raw, "HasValidBundle")[0] == "True"
    assert triple(raw, "Installed")[:2] == ("Unknown", "InstallPending")
    assert await at.find(NAMESPACES, f"{at.name}-system") is None


class Behind(Client):
    """Connects through a proxy instead of directly."""

    through: str

    @classmethod
    async def connect(
        cls, kubeconfig: str | None = None, *, context: str | None = None, impersonate: str | None = None
    ) -> Self:
        return await super().connect(cls.through if kubeconfig else None, context=context, impersonate=impersonate)


async def test_a_newer_version_of_kubernetes_is_taken_up(
    at: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next pass, which comes after ten minutes, and here with a change of the spec."""
    monkeypatch.setattr(rest_mapper, "DISCOVERY_RETRY_SECONDS", 0.0)
    now = await at.client.version()
    newer = f"{now[:-1]}{(int(now[-1]) + 1) % 10}"
    async with proxy.run(at.cluster.kubeconfig, tmp_path) as between:
        Behind.through = str(between.kubeconfig)
        async with rukpak(at.cluster, tmp_path, Behind):
            await install(at, minKubeVersion=newer)
            await at.until(says("Reconciling", "True", "WaitingForKind", f"{newer.removeprefix('v')} or newer"))
            between.touch(lambda chunk: chunk.replace(f'"{now}"'.encode(), f'"{newer}"'.encode()))
            await at.client.patch(bundledeployments.KIND, at.name, {"spec": {"progressDeadline": "5m"}})
            await at.until(READY)
            between.touch(None)


async def test_a_required_crd_is_taken_up_when_it_serves_the_version(at: Harness, running: Client) -> None:
    await install(at, customresourcedefinitions={"required": [required(at.group, "v2")]})
    await at.until(says("Reconciling", "True", "WaitingForKind", f"Boat ({at.group}/v2)"))
    await at.create(CRDS, definition(at.group, "Boat", "v1"))
    await at.until(says("Reconciling", "True", "WaitingForKind", "the cluster serves it as v1 only"))
    versions = definition(at.group, "Boat", "v1", "v2")["spec"]["versions"]
    versions[0]["storage"], versions[1]["storage"] = True, False
    await at.client.patch(CRDS, f"boats.{at.group}", {"spec": {"versions": versions}})
    await at.until(READY)


async def test_a_required_crd_whose_names_are_taken_is_not_there(at: Harness, running: Client) -> None:
    """It exists and is not Established, until the CRD with its names is gone."""
    await at.create(CRDS, definition(at.group, "Boat"))
    second = definition(at.group, "Boat")
    second["metadata"]["name"] = f"ships.{at.group}"
    second["spec"]["names"] = {"kind": "Ship", "plural": "ships", "shortNames": ["boat"], "listKind": "BoatList"}
    await at.create(CRDS, second)
    await install(at, customresourcedefinitions={"required": [required(at.group, "v1", "Ship")]})
    await at.until(says("Reconciling", "True", "WaitingForKind", f"Ship ({at.group}/v1)"))
    await at.read(kind_of(at.group))
    await at.client.delete(CRDS, f"boats.{at.group}")
    await at.until(READY)


async def test_a_required_api_service_has_to_answer_and_to_show_its_kind(
    at: Harness, running: Client, tmp_path: Path
) -> None:
    (bundle,) = [each for each in operator_bundles() if each.package == "library" and each.version == OLD]
    inside, group = f"{at.name}-library", BOOKS["group"]
    await install(at, apiservicedefinitions={"required": [BOOKS]})
    await at.until(says("Reconciling", "True", "WaitingForKind", f"Book ({group}/v1alpha1), an API service"))
    with (
        applied(at.cluster, [namespace_object(inside)]) as apply,
        OperatorProcess(at.cluster, bundle, inside, tmp_path / "library") as process,
    ):
        trusted = certificates(bundle, inside)
        process.write_certificate(trusted, "apiserver.crt", "apiserver.key")
        await asyncio.to_thread(apply, process.objects(trusted))
        await at.until(
            says("Reconciling", "True", "WaitingForKind", f"the API server of group {group} does not answer")
        )
        await asyncio.to_thread(process.run, deployment_of(process.rendered()))
        await at.until(READY)
