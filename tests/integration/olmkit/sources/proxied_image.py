"""An image behind a proxy that injects faults, and the registries that use it."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from olmkit.errors import Waiting
from olmkit.sources.network import Timeouts
from olmkit.sources.oci.registries_conf import Registries, parse
from tests import images
from tests.images import tar
from tests.servers.local_registry import LocalRegistry
from tests.servers.registry_proxy import RegistryProxy

NUMBERS = itertools.count()
SHORT_TIMEOUTS = Timeouts(connect=5, read=1, min_rate_window=0.2, min_rate_bytes=50 * 1024)
"""For registries that stall. Other tests use the default timeouts, because the machine may be busy."""
TEXT = os.urandom(100_000).hex()


@dataclass(frozen=True)
class ProxiedImage:
    """A proxy in front of the real registry, an image behind it, and the registries that use the proxy."""

    proxy: RegistryProxy
    registries: Registries
    repository: str
    digest: str

    @property
    def tag(self) -> str:
        return f"{self.proxy.address}/{self.repository}:v1"

    def message(self, error: Waiting) -> str:
        """The message with placeholders for what differs from run to run."""
        text = error.message.replace(self.tag, "IMAGE").replace(self.proxy.address, "REGISTRY")
        return text.replace(self.digest, "DIGEST")


def insecure_rule(location: str, prefix: str = "", more: str = "") -> str:
    return f'[[registry]]\nprefix = "{prefix or location}"\nlocation = "{location}"\ninsecure = true\n{more}\n'


@asynccontextmanager
async def run_proxied_image(local_registry: LocalRegistry) -> AsyncIterator[ProxiedImage]:
    repository = f"faults/{os.getpid()}-{next(NUMBERS)}"
    digest = images.push(local_registry.address, repository, "v1", [tar({"a": TEXT})], {"is": "it"})
    async with RegistryProxy(local_registry.address) as proxy:
        yield ProxiedImage(proxy, Registries(parse(insecure_rule(proxy.address))), repository, digest)


def empty_directory(directory: Path) -> Path:
    made = directory / f"into-{next(NUMBERS)}"
    made.mkdir()
    return made
