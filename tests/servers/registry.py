"""Registries for single tests, with logins, TLS and tokens, and their token service.

For tests of olmkit.sources. Registries with the same directory have the same images: push to an open one, pull from a protected
one.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from devcluster import parent_death_signal, programs
from tests.servers.closing import close

USER, PASSWORD = "reader", "Op3n-Sesame"
HTPASSWD = f"{USER}:$2b$05$abcdefghijklmnopqrstuurRAo/gVd7J8X4rAnM5EYLh3VRcivYJu\n"
"""The bcrypt hash of the password, with the minimum cost."""
SERVICE, ISSUER = "own registry", "tests"
_LISTENING = re.compile(rb"listening on 127\.0\.0\.1:(\d+)")


@asynccontextmanager
async def own_registry(directory: Path, more: Mapping[str, Any] | None = None) -> AsyncIterator[str]:
    """Yield the "127.0.0.1:port" of a registry with the directory; `more` is added to its configuration."""
    found = programs.find(lambda line: None)
    assert found is not None, "the cluster's programs were built before the first test"
    more = dict(more or {})
    config = {
        "version": "0.1",
        "log": {"level": "info", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(directory)},
            "maintenance": {"uploadpurging": {"enabled": False}},
        },
        "http": {"addr": "127.0.0.1:0", "secret": "tests", **more.pop("http", {})},
        **more,
    }
    path = _written(directory, config)
    tied = (sys.executable, parent_death_signal.__file__, str(os.getpid()), str(int(signal.SIGKILL)))
    program = (str(found / "registry"), "serve", str(path))
    quiet = {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none"}
    process = await asyncio.create_subprocess_exec(
        *tied,
        *program,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=quiet,
    )
    reading = asyncio.create_task(asyncio.sleep(0))
    try:
        port = await asyncio.wait_for(_port(process), 30)
        assert process.stderr is not None
        reading = asyncio.create_task(_drain(process.stderr))
        yield f"127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


def basic_auth(directory: Path) -> dict[str, Any]:
    """Configuration of a registry that requires the login of USER."""
    directory.mkdir(exist_ok=True)
    (directory / "htpasswd").write_text(HTPASSWD)
    return {"auth": {"htpasswd": {"realm": "own", "path": str(directory / "htpasswd")}}}


def token_auth(realm: str, keys: Path) -> dict[str, Any]:
    """Configuration of a registry that requires tokens signed under keys/ca.crt."""
    bundle = str(keys / "ca.crt")
    return {"auth": {"token": {"realm": realm, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": bundle}}}


def tls(keys: Path) -> dict[str, Any]:
    """Configuration of a registry with TLS only."""
    pair = {"certificate": str(keys / "kube-apiserver.crt"), "key": str(keys / "kube-apiserver.key")}
    return {"http": {"tls": pair}}


@dataclass
class TokenService:
    """Issues tokens for USER with PASSWORD, for the `refresh` token, and for everyone for repositories below public/.

    `requests` are (method, query or form, headers).
    """

    keys: Path
    refresh: str = "r3fresh"
    lifetime: int = 300
    """Seconds that a token is valid."""
    requests: list[tuple[str, Mapping[str, str], Mapping[str, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        key = serialization.load_pem_private_key((self.keys / "kube-apiserver.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
        self._key = key
        certificate = x509.load_pem_x509_certificate((self.keys / "kube-apiserver.crt").read_bytes())
        self._chain = [base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The handler of the route."""
        form = {name: str(value) for name, value in (await request.post()).items()}
        asked = form or dict(request.query)
        self.requests.append((request.method, asked, dict(request.headers)))
        kind, _, rest = asked.get("scope", "").partition(":")
        name, _, actions = rest.rpartition(":")
        login = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if form:
            if form.get("refresh_token") != self.refresh or form.get("grant_type") != "refresh_token":
                return web.json_response({"error": "invalid_grant"}, status=400)
        elif "Authorization" in request.headers and request.headers["Authorization"] != login:
            return web.json_response({"errors": [{"code": "UNAUTHORIZED"}]}, status=401)
        known = bool(form) or "Authorization" in request.headers
        allowed = actions.split(",") if known or name.startswith("public/") else []
        access = [{"type": kind, "name": name, "actions": allowed}]
        return web.json_response(
            {"access_token" if form else "token": self._token(access), "expires_in": self.lifetime}
        )

    def _token(self, access: list[Any]) -> str:
        now = int(time.time())
        algorithm = "RS256" if isinstance(self._key, rsa.RSAPrivateKey) else "ES256"
        head = {"typ": "JWT", "alg": algorithm, "x5c": self._chain}
        claims = {
            "iss": ISSUER,
            "sub": USER,
            "aud": SERVICE,
            "exp": now + self.lifetime,
            "nbf": now - 60,
            "iat": now,
            "jti": str(time.monotonic_ns()),
            "access": access,
        }
        signed = f"{_encoded(json.dumps(head).encode())}.{_encoded(json.dumps(claims).encode())}"
        return f"{signed}.{_encoded(self._signature(signed.encode()))}"

    def _signature(self, data: bytes) -> bytes:
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(data, PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self._key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _written(directory: Path, config: Mapping[str, Any]) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / f"registry-{time.monotonic_ns()}.yaml"
    path.write_text(yaml.safe_dump(dict(config)))
    return path


async def _port(process: asyncio.subprocess.Process) -> int:
    assert process.stderr is not None
    lines = []
    async for line in process.stderr:
        lines.append(line)
        if found := _LISTENING.search(line):
            return int(found.group(1))
    raise AssertionError(f"the registry ended: {b''.join(lines)[-2000:]!r}")


async def _drain(stream: asyncio.StreamReader) -> None:
    async for _ in stream:
        pass


@asynccontextmanager
async def served(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]], context: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Yield the "127.0.0.1:port" of a web server that passes all requests to `handler`."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        host, port = runner.addresses[0][:2]
        yield f"{host}:{port}"
    finally:
        await close(runner)


def server_context(keys: Path) -> ssl.SSLContext:
    """The context of a server with the certificate of keys/."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "kube-apiserver.crt", keys / "kube-apiserver.key")
    return context
