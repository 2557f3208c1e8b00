"""The token of this process is sent over HTTPS alone: a real token, servers on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from olmkit.tls.client_tls import ClientTls
from tests.integration.operator_controller.catalog_cache.test_client_session import (
    create_tls,
    get,
    serving,
    session_with,
)


@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_the_token_is_sent_over_https_only(tmp_path: Path, cluster: Cluster, scheme: str) -> None:
    tls, material = create_tls()
    (tmp_path / "ca.crt").write_bytes(material.ca_bundle())
    path = await asyncio.to_thread(cluster.token_kubeconfig, "default", "default")
    async with (
        await Client.connect(str(path)) as client,
        serving(tls.context if scheme == "https" else None) as server,
        session_with(ClientTls(tmp_path / "ca.crt"), client) as session,
    ):
        await get(session, server, scheme)
        (_, headers), *_ = server.requests
        if scheme == "https":
            assert headers["Authorization"] == f"Bearer {await client.bearer_token()}"
        else:
            assert "Authorization" not in headers
