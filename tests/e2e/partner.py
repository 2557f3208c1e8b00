"""A registry that requires a login, as the suite of the tests reaches it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.cluster import Cluster
from devcluster.images import Catalog, Registry
from devcluster.suite import NAMESPACE
from devcluster.watch import Object
from tests.servers.registry import PASSWORD, USER, basic_auth, own_registry

HOST = "partner.example.com"


@dataclass(frozen=True)
class Partner:
    """The registry with a login: `HOST` for the suite, and `address` as it listens. It has the images of the cluster's one."""

    address: str
    cluster: Cluster

    def repository(self, name: str) -> Catalog:
        """The image of a catalog to push to, whose bundles require the login too."""
        return Catalog(Registry(self.cluster.registry), f"catalogs/{name}:latest", HOST)


@asynccontextmanager
async def partner_registry(cluster: Cluster, directory: Path) -> AsyncIterator[Partner]:
    """Run the registry, and have the suite reach it as `HOST`."""
    conf = cluster.directory / "registries-e2e.conf"  # read by each job
    before = conf.read_text()
    storage = {"filesystem": {"rootdirectory": str(cluster.directory / "registry")}}
    async with own_registry(directory / "partner", {**basic_auth(directory / "login"), "storage": storage}) as address:
        conf.write_text(f'{before}\n[[registry]]\nprefix = "{HOST}"\nlocation = "{address}"\ninsecure = true\n')
        try:
            yield Partner(address, cluster)
        finally:
            conf.write_text(before)


def login(partner: Partner, name: str, password: str = PASSWORD) -> Object:
    """A Secret of the suite's namespace with a login for the registry."""
    entry = {"username": USER, "password": password}
    config = json.dumps({"auths": {HOST: entry, partner.address: entry}})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": config},
    }
