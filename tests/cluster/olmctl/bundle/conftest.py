"""`olm bundle` against a rukpak that runs: reached by the API server's proxy of its Service, and by forwarded ports of its pod.

rukpak runs in this process, so its pod is an object alone: it has an address of this machine, and kwok forwards its port.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from olmctl.questions.port_forward import RUKPAK
from olmkit.tls import certificate_authority
from tests.cluster.olmctl.conftest import Desk
from tests.cluster.olmctl.kubelet import Kubelet
from tests.cluster.rukpak.admission.conftest import Place, place
from tests.cluster.rukpak.bundle.uploads.conftest import Uploader, uploader
from tests.cluster.rukpak.conftest import at
from tests.cluster.rukpak.harness import config_map, namespace, plain
from tests.cluster.rukpak.webhook_server import reachable_address

__all__ = ["at", "place"]

POD = "rukpak"


@dataclass
class Workshop:
    """The command on the cluster of a place with rukpak, and the directory of a bundle."""

    desk: Desk
    place: Place
    uploads: Uploader
    directory: Path

    @property
    def name(self) -> str:
        """The name of the bundle, of its directory and of its BundleDeployment."""
        return self.place.at.name

    def save(self, version: str = "1") -> None:
        """Write the manifests of a version of the bundle."""
        for path, data in plain(namespace(self.name), config_map("log", self.name, v=version)).items():
            file = self.directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    async def olm(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, stdout and stderr of `olm bundle`."""
        where = f"--system-namespace={self.place.system}"
        return await asyncio.to_thread(self.desk.olm, "bundle", *arguments, where)


def _publish(desk: Desk, system: str, host: str, port: int) -> None:
    """Have the Service of rukpak lead to this address, which is that of its pod."""
    desk.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "rukpak", "namespace": system},
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]},
        }
    )
    target = {"kind": "Pod", "name": POD, "namespace": system}
    subsets = [{"addresses": [{"ip": host, "targetRef": target}], "ports": [{"name": "https", "port": port}]}]
    metadata = {"name": "rukpak", "namespace": system}
    # The proxy of the API server reads Endpoints, not EndpointSlices.
    desk.apply({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets})
    status = json.dumps({"status": {"podIP": host, "podIPs": [{"ip": host}]}})
    flags = (f"--namespace={system}", "--subresource=status", "--type=merge", "-p", status)
    desk.cluster.kubectl("patch", "pod", POD, *flags)


@pytest.fixture
async def workshop(desk: Desk, place: Place, tmp_path: Path) -> AsyncIterator[Workshop]:
    """The Workshop of a test."""
    port = int(place.address.rpartition(":")[2])
    issued = certificate_authority.create(["localhost"], datetime.now(UTC))
    cluster = place.at.cluster
    await asyncio.to_thread(
        cluster.kubectl,
        "wait",
        "--for=create",
        "--timeout=60s",
        "serviceaccount/default",
        f"--namespace={place.system}",
    )
    kubelet = await asyncio.to_thread(Kubelet, desk, tmp_path, issued, {POD: port}, RUKPAK, place.system)
    options: dict[str, Any] = {"address": f":{port}"}
    with reachable_address() as address:
        try:
            await asyncio.to_thread(kubelet.add_pods)
            await asyncio.to_thread(_publish, desk, place.system, address, port)
            async with place.rukpak(**options), uploader(place) as uploads:
                await place.configure()
                await place.answers()
                own = Workshop(desk, place, uploads, tmp_path / place.at.name)
                own.save()
                yield own
        finally:
            await asyncio.to_thread(kubelet.stop)
