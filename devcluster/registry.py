"""The OCI registry of the cluster: its command line, its configuration, and the registries.conf that makes it a mirror of all
registries in sample catalogs, so that no request leaves the machine.
"""

from collections.abc import Iterable
from pathlib import Path

import yaml

from devcluster.control_plane import Component

MIRRORED_HOSTS = (
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "k8s.gcr.io",
    "public.ecr.aws",
    "quay.io",
    "registry.access.redhat.com",
    "registry.connect.redhat.com",
    "registry.example.com",
    "registry.gitlab.com",
    "registry.k8s.io",
    "registry.redhat.io",
)


def component(directory: Path) -> Component:
    """The registry, with plain HTTP and without telemetry."""
    return Component(
        "registry",
        ("serve", str(directory / "registry.yaml")),
        {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none"},
    )


def configuration(directory: Path, address: str) -> str:
    """The registry's configuration: storage in `directory`/registry, listening on `address` ("127.0.0.1:5000"), deletion
    allowed."""
    config = {
        "version": "0.1",
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(directory / "registry")},
            "delete": {"enabled": True},
            "maintenance": {"uploadpurging": {"enabled": False}},
        },
        "http": {"addr": address, "secret": "devcluster"},
    }
    return yaml.safe_dump(config, sort_keys=False)


def registries_conf(local: str, hosts: Iterable[str] = MIRRORED_HOSTS) -> str:
    """A registries.conf (version 2) in which `local` speaks plain HTTP and is the mirror of all `hosts`.

    It is the `location`, not a `mirror`: after a mirror without the image the host itself would be requested, and no external
    host may be reached.
    """
    blocks = ['unqualified-search-registries = ["docker.io"]\n']
    for prefix in (local, *hosts):
        blocks.append(f'[[registry]]\nprefix = "{prefix}"\nlocation = "{local}"\ninsecure = true\n')
    return "\n".join(blocks)
