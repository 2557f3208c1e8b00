"""Which kinds and which version of Kubernetes are served, on a real API server that changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.cluster import rest_mapper, transforms
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, RestMapper
from tests.cluster import proxy


async def test_a_newer_kubernetes_is_noticed_while_something_waits_for_it(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_mapper, "DISCOVERY_RETRY_SECONDS", 0.0)
    async with proxy.run(cluster.kubeconfig, tmp_path) as between, Client(str(between.kubeconfig)) as client:
        crds = Informer(client, CRDS, transform=transforms.crd)
        mapper = RestMapper(client, crds, Informer(client, API_SERVICES, transform=transforms.api_service))
        await mapper.refresh()
        now = mapper.server_version
        newer = f"{now[:-1]}{(int(now[-1]) + 1) % 10}"
        between.touch(lambda chunk: chunk.replace(f'"{now}"'.encode(), f'"{newer}"'.encode()))
        await mapper.refresh()
        assert mapper.server_version == now, "nothing is requested while nothing waits"
        mapper.expect_changes()
        await mapper.refresh()
        assert mapper.server_version == newer
        between.touch(None)
        await mapper.refresh()
        assert mapper.server_version == newer
