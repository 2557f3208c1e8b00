"""A pod that serves webhooks and an API, as a server of the test: on an address that the API server reaches."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from olmkit.api.meta import Kind
from olmkit.runtime.api_server_addresses import ENDPOINT_SLICES
from olmkit.runtime.source_secrets import SECRETS
from rukpak.certificates import secrets
from tests.cluster.rukpak.harness import Harness, Object
from tests.servers.closing import close

REFUSED = "red is not a color for a boat"
MUTATED = "painted"
_NUMBERS = itertools.count(1)
_BETWEEN_SECONDS = 0.5
"""Between two calls of repeated(): without a pause they would take a processor of those that the change is made with."""


@contextlib.contextmanager
def reachable_address() -> Iterator[str]:
    """An address of an interface of its own: endpoints of a Service may not be loopback."""
    tool = shutil.which("ip")
    if os.geteuid() != 0 or tool is None:
        pytest.skip("needs root and ip, for an interface that the API server reaches")
    number = next(_NUMBERS)
    name, address = f"hooks{os.getpid() % 100000}-{number}", f"198.18.{os.getpid() % 250}.{number}"
    subprocess.run([tool, "link", "add", name, "type", "bridge"], check=True)
    try:
        subprocess.run([tool, "address", "add", f"{address}/32", "dev", name], check=True)
        subprocess.run([tool, "link", "set", name, "up"], check=True)
        yield address
    finally:
        subprocess.run([tool, "link", "delete", name], check=True)


class WebhookServer:
    """Refuses, mutates and converts boats, and serves an API. Each answer closes its connection."""

    def __init__(self, at: Harness, secret: str, directory: Path, kind: Kind, group: str) -> None:
        """`kind` is the boats' kind, `group` that of the API."""
        self._at, self._secret, self._directory = at, secret, directory
        self._kind, self._group = kind, group
        self._context = self._current = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.sni_callback = self._choose
        self.served: list[str] = []
        """Digests of the certificates that it has served, in order; those of rukpak are in an annotation of the Secret too."""

    async def load(self) -> None:
        """Serve what is in the Secret from now on, as a pod that was started with it."""
        secret = await self._at.client.get(SECRETS, self._secret, self._at.name)
        files = {name: base64.b64decode(secret["data"][name]) for name in ("tls.crt", "tls.key")}
        digest = secrets.digest(x509.load_pem_x509_certificate(files["tls.crt"]).fingerprint(SHA256()))
        if digest in self.served:
            return
        for name, content in files.items():
            (self._directory / name).write_bytes(content)
        self._current = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._current.load_cert_chain(self._directory / "tls.crt", self._directory / "tls.key")
        self.served.append(digest)

    def _choose(self, connection: ssl.SSLObject, _name: str, _context: ssl.SSLContext) -> None:
        """Serve the last certificate alone: one context would also serve an earlier one with another kind of key."""
        connection.context = self._current

    @contextlib.asynccontextmanager
    async def running(self, address: str, service: str, port: int) -> AsyncIterator[None]:
        """Serve as the endpoint of the Service, until the block ends."""
        await self.load()
        app = web.Application()
        app.router.add_post("/validate", self._validate)
        app.router.add_post("/mutate", self._mutate)
        app.router.add_post("/convert", self._convert)
        app.router.add_get(f"/apis/{self._group}/v1", self._discover)
        app.router.add_get(f"/apis/{self._group}/v1/parts", self._parts)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, address, port, ssl_context=self._context).start()
            await self._at.create(ENDPOINT_SLICES, self._slice(address, service, port))
            yield
        finally:
            await close(runner)

    def _slice(self, address: str, service: str, port: int) -> Object:
        return {
            "apiVersion": ENDPOINT_SLICES.api_version,
            "kind": ENDPOINT_SLICES.kind,
            "metadata": {
                "name": f"{service}-test",
                "namespace": self._at.name,
                "labels": {"kubernetes.io/service-name": service, "endpointslice.kubernetes.io/managed-by": "test"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [{"name": str(port), "port": port, "protocol": "TCP"}],
        }

    async def _validate(self, request: web.Request) -> web.Response:
        asked = (await request.json())["request"]
        is_red = asked["object"]["spec"]["color"] == "red"
        answer = {"uid": asked["uid"], "allowed": not is_red, "status": {"message": REFUSED}}
        return _answer({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})

    async def _mutate(self, request: web.Request) -> web.Response:
        asked = (await request.json())["request"]
        patch = json.dumps([{"op": "add", "path": f"/spec/{MUTATED}", "value": True}]).encode()
        answer = {"uid": asked["uid"], "allowed": True, "patchType": "JSONPatch"}
        answer["patch"] = base64.b64encode(patch).decode()
        return _answer({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})

    async def _convert(self, request: web.Request) -> web.Response:
        asked = (await request.json())["request"]
        wanted = asked["desiredAPIVersion"]
        converted = []
        for each in asked["objects"]:
            converted.append({**each, "apiVersion": wanted, "spec": {**each["spec"], "converted": wanted}})
        answer = {"uid": asked["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
        return _answer({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": answer})

    async def _discover(self, _: web.Request) -> web.Response:
        resource = {"name": "parts", "singularName": "part", "namespaced": False, "kind": "Part", "verbs": ["get"]}
        version = {"groupVersion": f"{self._group}/v1", "resources": [resource]}
        return _answer({"kind": "APIResourceList", "apiVersion": "v1", **version})

    async def _parts(self, _: web.Request) -> web.Response:
        return _answer({"kind": "PartList", "apiVersion": f"{self._group}/v1", "metadata": {}, "items": []})


def _answer(body: Object) -> web.Response:
    response = web.json_response(body)
    response.force_close()
    return response


@contextlib.asynccontextmanager
async def repeated(work: object) -> AsyncIterator[list[BaseException]]:
    """Call `work` again and again in the background; yields its errors."""
    errors: list[BaseException] = []

    async def run() -> None:
        while True:
            try:
                await work()  # type: ignore[operator]
            except Exception as error:
                errors.append(error)
            await asyncio.sleep(_BETWEEN_SECONDS)

    task = asyncio.create_task(run())
    try:
        yield errors
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
