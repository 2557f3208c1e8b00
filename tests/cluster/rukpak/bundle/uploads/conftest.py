"""A rukpak that takes uploads, at the address of its webhooks, and Bundles that wait for one."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from olmkit.api import bundles
from olmkit.api.bundles import UPLOAD_LABEL
from olmkit.api.provisioner_classes import PLAIN
from olmkit.tls.client_tls import client_context
from olmkit.tls.service import RUKPAK_SERVICE
from rukpak.bundle.uploads.stored_upload import CONFIG_MAPS
from tests.cluster.accounts import published_ca
from tests.cluster.rukpak.admission.conftest import Place, place
from tests.cluster.rukpak.harness import Object, config_map, namespace, plain
from tests.conditions import triple

__all__ = ["place"]


def digest_of(archive: bytes) -> str:
    return f"sha256:{hashlib.sha256(archive).hexdigest()}"


def packed(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    """A tar of the files."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return data.getvalue()


@dataclass
class Uploader:
    """Sends archives to the rukpak of a place, and reads what became of them."""

    place: Place
    http: aiohttp.ClientSession

    @property
    def name(self) -> str:
        """The name of the Bundle of the test."""
        return self.place.at.name

    def archive(self, version: str = "1") -> bytes:
        """A plain bundle with a ConfigMap."""
        return packed(plain(namespace(self.name), config_map("log", self.name, v=version)))

    async def create(self, digest: str = "", suffix: str = "") -> Object:
        """Create a Bundle that waits for the archive of this digest, or for any."""
        body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": f"{self.name}{suffix}"}}
        source = {"type": "upload", "upload": {"digest": digest} if digest else {}}
        return await self.place.at.create(
            bundles.KIND, {**body, "spec": {"provisionerClassName": PLAIN, "source": source}}
        )

    async def put(
        self,
        data: Any,
        digest: str | None = None,
        token: str = "",
        *,
        address: str = "",
        name: str = "",
        **headers: str,
    ) -> tuple[int, str]:
        """Status and text of the answer to an upload. It names the digest of `data` unless another one is given."""
        query = {"digest": digest_of(data) if digest is None else digest}
        url = self.url(name or self.name, address)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        body = io.BytesIO(data) if isinstance(data, bytes) else data
        async with self.http.put(
            url, data=body, params={k: v for k, v in query.items() if v}, headers=headers
        ) as answer:
            return answer.status, await answer.text()

    def url(self, name: str, address: str = "") -> str:
        return f"https://localhost:{(address or self.place.address).rpartition(':')[2]}/uploads/{name}.tgz"

    async def answers(self, address: str = "") -> None:
        """Return when the server has its certificate, which is published a moment before."""
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(aiohttp.ClientConnectionError):
                    async with self.http.get(self.url("nobody", address)):
                        return
                await asyncio.sleep(0.05)  # no event says so

    async def says(self, text: str, suffix: str = "") -> Object:
        """The Bundle, when its condition Unpacked has this message."""

        def check(raw: Object | None) -> bool:
            return raw is not None and text in triple(raw, "Unpacked")[2]

        found = await self.place.at.when(bundles.KIND, f"{self.name}{suffix}", "", check)
        assert found is not None
        return found

    async def unpacked(self, suffix: str = "") -> Object:
        """The Bundle when it is unpacked."""
        return await self.says("Successfully unpacked the upload Bundle", suffix)

    async def stored(self) -> dict[str, str]:
        """The ConfigMaps of uploads, name -> part or index."""
        found, _ = await self.place.at.client.list(CONFIG_MAPS, self.place.system, UPLOAD_LABEL, metadata_only=True)
        return {each["metadata"]["name"]: each["metadata"]["labels"][UPLOAD_LABEL] for each in found}


@asynccontextmanager
async def uploader(place: Place) -> AsyncIterator[Uploader]:
    """The Uploader of a rukpak that runs."""
    async with AsyncExitStack() as stack:
        context = client_context(await published_ca(place.at.client, place.system, RUKPAK_SERVICE), with_system=False)
        connector = aiohttp.TCPConnector(ssl=context)
        own = Uploader(place, await stack.enter_async_context(aiohttp.ClientSession(connector=connector)))
        await own.answers()
        yield own


@pytest.fixture
async def uploads(place: Place) -> AsyncIterator[Uploader]:
    """That of a rukpak of its own."""
    async with place.rukpak(), uploader(place) as own:
        yield own
